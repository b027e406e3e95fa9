//! What models make of real lists and visitors: RankLens, the newest fifth of its lists, or visitors' last clicks, held back.

use rankwright_e2e::quality::{Quality, of_log};
use rankwright_e2e::{Service, shared};

/// Under this, something was lost on the way.
const WANTED: f64 = 0.600;

#[test]
fn both_boosters_order_films_far_better_than_they_were_shown() {
    let Some(data) = shared::path("data/ranklens_events.jsonl.gz") else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let service = Service::standalone(include_str!("../ranklens.yml"), &data, folder.path());
    let log = service.log();
    let found = of_log(&log);
    for model in ["lightgbm", "xgboost"] {
        let quality = found.iter().find(|quality| quality.model == model && quality.metric == "NDCG@10");
        let quality: &Quality = quality.unwrap_or_else(|| panic!("no quality of {model} in the log:\n{log}"));
        println!("{quality:?}");
        assert!((quality.shown - 0.378).abs() < 0.003, "{quality:?}");
        assert!(quality.reranked >= WANTED, "{quality:?}");
        assert!(quality.as_served.is_some_and(|served| served > 0.59), "{quality:?}");
    }
}

#[test]
fn films_that_visitors_clicked_last_are_like_those_that_they_clicked_before() {
    const CONFIG: &str = "
features: []
models:
  similar: {type: als, interactions: [click], factors: 100, iterations: 30}
  popular: {type: trending, weights: [{interaction: click}]}
";
    let Some(data) = shared::path("data/ranklens_events.jsonl.gz") else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let models = Service::standalone(CONFIG, &data, folder.path()).status()["models"].clone();
    let hits = |model: &str| models[model]["metrics"]["HIT@10"].as_f64().expect("it was measured");
    let (similar, popular) = (hits("similar"), hits("popular"));
    println!("HIT@10 {similar}, of popular films {popular}");
    assert!(similar >= 0.12 && similar > 2.0 * popular, "{similar}, of popular films {popular}");
}
