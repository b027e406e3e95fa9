//! Features and endpoints that compute with models of texts, in the program as users start it.

use rankwright_e2e::Launch;
use rankwright_e2e::events::{feature, item, lines, ranking};
use rankwright_e2e::program::{self, models_for_tests};
use serde_json::{Value, json};

const CONFIG: &str = "
state: {type: file, path: ./state}
features:
  - name: meaning
    type: field_match
    rankingField: ranking.query
    itemField: item.title
    method: {type: bi-encoder, model: test/minilm-int8, dim: 384}
models:
  m: {type: lambdamart, weights: {click: 1}, features: [meaning]}
inference:
  words: {type: bi-encoder, model: test/minilm-int8, dim: 384}
";

#[test]
fn titles_are_compared_with_queries_by_their_meaning() {
    let Some(_) = models_for_tests() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let title = |text: &str| [("title", json!(text))];
    let events = [
        item("boots", 0, &title("waterproof boots for the mountains")),
        item("mixer", 0, &title("kitchen mixer with three bowls")),
        item("untitled", 0, &[]),
    ];
    let data = folder.path().join("events.jsonl");
    std::fs::write(&data, lines(&events)).expect("can be written");
    let cache = folder.path().join("cache").display().to_string();
    let environment = [("RANKWRIGHT_ENCODERS_CACHE", cache.as_str())];
    let launch = Launch {
        subcommand: "standalone",
        config: CONFIG,
        data: Some(&data),
        folder: folder.path(),
        environment: &environment,
    };
    let service = launch.start();
    let ask = |query: &str| {
        let mut request = ranking("list", 60, "u", &["mixer", "boots", "untitled"]);
        request["fields"] = json!([{"name": "query", "value": query}]);
        service.post("/rank/m?explain=true", &request).json()
    };
    let of = |answer: &Value, item: &str| feature(answer, item, "meaning").as_f64();
    let hiking = ask("shoes for hiking");
    assert!(of(&hiking, "boots") > of(&hiking, "mixer"), "{hiking}");
    let baking = ask("a machine that stirs dough");
    assert!(of(&baking, "mixer") > of(&baking, "boots"), "{baking}");
    assert_eq!(of(&hiking, "untitled"), None, "{hiking}");
    // the same text has the same vector, which is stored in a byte for each number
    let same = of(&ask("kitchen mixer with three bowls"), "mixer").expect("it has both");
    assert!((same - 1.0).abs() < 0.01, "{same}");

    let texts = json!({"texts": ["kitchen mixer with three bowls", "boots"]});
    let answer = service.post("/inference/encoder/words", &texts).json();
    let embedding = answer["embeddings"][1].as_array().map(Vec::len);
    assert_eq!(embedding, Some(384), "{answer}");
}

#[test]
fn a_model_that_is_not_there_is_told_with_its_place() {
    let Some(_) = models_for_tests() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let config = folder.path().join("config.yml");
    std::fs::write(&config, CONFIG.replace("minilm-int8", "no-such-model")).expect("can be written");
    let mut command = program::command(&["serve", "--config", &config.to_string_lossy()]);
    command.current_dir(folder.path()).env("RANKWRIGHT_ENCODERS_CACHE", folder.path().join("cache"));
    let refused = rankwright_e2e::Ended::of(&mut command).refused().stderr;
    assert!(refused.contains("features[0].method.model") && refused.contains("test/no-such-model"), "{refused}");
}
