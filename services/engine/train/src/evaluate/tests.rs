#![allow(clippy::unwrap_used)]
use super::*;
use crate::testing::{clicked, column, lambda_mart, record, store};
use crate::{Training, digest, metric};
use rankwright_clickthrough::{Clickthrough, MemoryStore, Rows};
use rankwright_config::Model as Definition;
use rankwright_config::model::{Metric, Split, SplitStrategy};
use rankwright_event::{Field, Timestamp, Value};
use rankwright_model::{Model, Shuffle, Version};

fn config(features: &[&str]) -> LambdaMart {
    let split = Split { strategy: SplitStrategy::Time, ratio: 0.5 };
    let eval = vec![Metric::Ndcg(Some(10)), Metric::Map(None), Metric::Mrr];
    LambdaMart { split, eval, ..lambda_mart(features) }
}

fn draw(list: usize, item: usize, seed: u64) -> f64 {
    digest::uniform((list * 10 + item) as u64, seed)
}

/// Rankings of ten items in an order of chance; a visitor looks at positions less and less, and clicks what has most of `liked`.
fn rankings(count: usize) -> Vec<Clickthrough> {
    let ranking = |id: usize| {
        let looks = |place: usize| draw(id, place, 7) < 1.0 / (1.0 + 0.5 * place as f64);
        let clicks: Vec<usize> = (0..10).filter(|&place| looks(place) && draw(id, place, 1) > 0.7).collect();
        let mut ranking = clicked(record(&format!("r{id}"), 10), &clicks);
        ranking.rows =
            Rows { width: 2, values: (0..10).flat_map(|item| [draw(id, item, 1) as f32, item as f32]).collect() };
        // the same items, at other places
        for (place, item) in ranking.items.iter_mut().enumerate() {
            item.id = format!("i{}", (place + id) % 10).into();
        }
        for click in &mut ranking.interactions {
            let place: usize = click.item.as_str().trim_start_matches("item").parse().unwrap();
            click.item = format!("i{}", (place + id) % 10).into();
        }
        ranking.timestamp = Timestamp::from_millis(id as i64 * 1000);
        ranking.user = Some(format!("u{}", id % 40).as_str().into());
        ranking
            .fields
            .push(Field::new("page", Value::Text(if id.is_multiple_of(3) { "home" } else { "search" }.into())));
        ranking
    };
    (0..count).map(ranking).collect()
}

fn shop(count: usize) -> MemoryStore {
    store(&["liked", "place"], rankings(count))
}

fn version(config: &LambdaMart, store: &MemoryStore) -> Version {
    let (model, columns) = (Definition::LambdaMart(config.clone()), [column("liked"), column("place")]);
    let now = Timestamp::from_millis(1_000_000);
    let training = Training {
        name: "shop",
        model: &model,
        columns: &columns,
        served: &BTreeMap::new(),
        embed: &crate::no_embeddings,
        now,
    };
    training.candidate(store, None, &mut |_| ()).unwrap().trained.version
}

/// A comparison of some models, with what tests change of it.
struct Case {
    config: LambdaMart,
    rankers: Vec<Ranker>,
    served: BTreeMap<String, f32>,
    by: Option<&'static str>,
    weighting: Weighting,
}

impl Case {
    fn of(rankers: Vec<Ranker>) -> Self {
        Self { config: config(&["liked"]), rankers, served: BTreeMap::new(), by: None, weighting: Weighting::default() }
    }

    fn run(&self, store: &MemoryStore) -> Result<Report, EvaluateError> {
        let evaluation = Evaluation {
            model: "shop",
            config: &self.config,
            rankers: &self.rankers,
            served: &self.served,
            by: self.by,
            weighting: &self.weighting,
            resamples: 200,
            seed: 1,
            worst: 5,
        };
        evaluation.run(store, &mut |_| ())
    }
}

fn trained(store: &MemoryStore) -> Ranker {
    Ranker::of_version("shop", &version(&config(&["liked"]), store)).unwrap()
}

fn score<'r>(report: &'r Report, metric: &str, ranker: &str) -> &'r Score {
    report.scores.iter().find(|score| score.metric == metric && score.ranker == ranker).unwrap()
}

#[test]
fn figures_are_those_that_training_reports() {
    let store = shop(400);
    let (model, columns) = (Definition::LambdaMart(config(&["liked"])), [column("liked")]);
    let (served, now) = (BTreeMap::new(), Timestamp::from_millis(1));
    let training =
        Training { name: "shop", model: &model, columns: &columns, served: &served, embed: &crate::no_embeddings, now };
    let trained = training.candidate(&store, None, &mut |_| ()).unwrap().trained;
    let report = Case::of(vec![Ranker::of_version("shop", &trained.version).unwrap()]).run(&store).unwrap();
    assert_eq!((report.lists.train, report.lists.test), (trained.train, trained.test));
    for quality in &trained.quality {
        for (ranker, expected) in [("shop", quality.reranked), ("shown", quality.shown), ("random", quality.random)] {
            let found = score(&report, &quality.metric, ranker).figure.value;
            assert!((found - expected).abs() < 1e-12, "{} of {ranker}: {found}, not {expected}", quality.metric);
        }
    }
    assert!(report.notes.is_empty(), "{:?}", report.notes);
    let json = serde_json::to_value(&report).unwrap();
    let from = json["lists"]["from"].as_str().unwrap().to_owned();
    assert!(from.starts_with("1970-01-01T00:0") && from.ends_with('Z'), "{from}");
    assert_eq!(json["scores"][0]["low"].as_f64(), report.scores[0].figure.low);
}

#[test]
fn intervals_hold_their_figures_and_differences_are_tighter_than_the_orders_are() {
    let store = shop(400);
    let report = Case::of(vec![trained(&store)]).run(&store).unwrap();
    for score in &report.scores {
        let Figure { value, low, high } = score.figure;
        assert!(low.unwrap() <= value && value <= high.unwrap() && low < high, "{score:?}");
    }
    assert_eq!(report.differences.len(), 3, "the model and what was shown, by three metrics");
    let difference = &report.differences[0];
    assert_eq!((difference.ranker.as_str(), difference.than.as_str()), ("shop", "shown"));
    let expected = score(&report, "NDCG@10", "shop").figure.value - score(&report, "NDCG@10", "shown").figure.value;
    assert!((difference.figure.value - expected).abs() < 1e-12);
    assert!(difference.figure.low.unwrap() > 0.0, "the model is better for sure: {difference:?}");
}

#[test]
fn a_ranker_compared_with_itself_differs_by_nothing() {
    let store = shop(200);
    let (one, mut other) = (trained(&store), trained(&store));
    other.name = "same".to_owned();
    let report = Case::of(vec![one, other]).run(&store).unwrap();
    let same = report.differences.iter().find(|of| (of.ranker.as_str(), of.than.as_str()) == ("shop", "same")).unwrap();
    assert_eq!(same.figure, Figure { value: 0.0, low: Some(0.0), high: Some(0.0) });
}

#[test]
fn weighting_takes_back_what_the_position_gave_to_the_order_as_shown() {
    let store = shop(2000);
    let report = Case::of(vec![trained(&store)]).run(&store).unwrap();
    let (shown, random) = (score(&report, "NDCG@10", "shown"), score(&report, "NDCG@10", "random"));
    let plain = shown.figure.value - random.figure.value;
    let weighted = shown.weighted.unwrap().value - random.weighted.unwrap().value;
    assert!(plain > 0.1, "the order is one of chance, and clicks are on top: {plain}");
    assert!(weighted.abs() < 0.03, "as good as chance: {weighted}");
    let lists = report.weighted.effective_lists.unwrap();
    assert!(lists > 100.0 && lists < report.lists.test as f64, "{lists} of {}", report.lists.test);
    assert!(report.weighted.curve.unwrap().points[9].examination < 0.4);
}

#[test]
fn judgements_are_not_weighted() {
    let judged = |mut ranking: Clickthrough| {
        ranking.items.iter_mut().enumerate().for_each(|(place, item)| item.label = Some(f64::from(place == 3)));
        ranking
    };
    let records = rankings(400).into_iter().enumerate();
    let records = records.map(|(number, ranking)| if number >= 200 { judged(ranking) } else { ranking }).collect();
    let store = store(&["liked", "place"], records);
    let report = Case::of(vec![Ranker::baseline("noop", Model::Noop)]).run(&store).unwrap();
    let shown = score(&report, "MAP", "shown");
    assert_eq!((shown.figure.value, shown.weighted.unwrap().value), (0.25, 0.25));
}

#[test]
fn constants_of_serving_stand_in_their_columns() {
    let store = shop(400);
    let by_place = Ranker::of_version("place", &version(&config(&["place"]), &store)).unwrap();
    let mut case = Case::of(vec![by_place]);
    let free = score(&case.run(&store).unwrap(), "MRR", "place").figure.value;
    case.served = BTreeMap::from([("place".to_owned(), 3.0)]);
    let report = case.run(&store).unwrap();
    let (served, shown) = (score(&report, "MRR", "place").figure.value, score(&report, "MRR", "shown").figure.value);
    assert_eq!(served, shown, "all items score the same, and keep their order");
    assert!(free > 0.0);
}

#[test]
fn baselines_are_compared_without_any_column() {
    let store = shop(100);
    let shuffle = Model::Shuffle(Shuffle { max_position_change: 100, seed: 0 });
    let case = Case::of(vec![Ranker::baseline("noop", Model::Noop), Ranker::baseline("shuffle", shuffle)]);
    let report = case.run(&store).unwrap();
    let of = |name| score(&report, "NDCG@10", name).figure.value;
    assert_eq!(of("noop"), of("shown"));
    assert!((of("shuffle") - of("random")).abs() < 0.1);
}

#[test]
fn segments_have_figures_of_their_own() {
    let store = shop(300);
    let mut case = Case::of(vec![trained(&store)]);
    case.by = Some("page");
    let report = case.run(&store).unwrap();
    let segments = report.segments.unwrap();
    let values: Vec<_> = segments.segments.iter().map(|segment| segment.value.as_deref().unwrap()).collect();
    assert_eq!((values, segments.others), (vec!["search", "home"], 0));
    assert_eq!(segments.segments.iter().map(|segment| segment.lists).sum::<usize>(), report.lists.test);
    let weights = segments.segments.iter().map(|segment| (segment.lists as f64, segment.scores[0].figure.value));
    let (sum, lists) = weights.fold((0.0, 0.0), |sum, (lists, value)| (sum.0 + lists * value, sum.1 + lists));
    assert!((sum / lists - report.scores[0].figure.value).abs() < 1e-12);
    case.by = Some("query");
    assert_eq!(case.run(&store).unwrap_err().to_string(), "no ranking of the test split has the field \"query\"");
}

#[test]
fn of_many_segments_those_with_the_most_lists_are_shown() {
    let numbered = |(number, mut ranking): (usize, Clickthrough)| {
        let value = if number.is_multiple_of(2) { "often".to_owned() } else { format!("v{}", number % 101) };
        ranking.fields.push(Field::new("query", Value::Text(value.as_str().into())));
        ranking
    };
    let store = store(&["liked", "place"], rankings(400).into_iter().enumerate().map(numbered).collect());
    let mut case = Case::of(vec![Ranker::baseline("noop", Model::Noop)]);
    case.by = Some("query");
    let segments = case.run(&store).unwrap().segments.unwrap();
    assert_eq!((segments.segments.len(), segments.segments[0].value.as_deref()), (20, Some("often")));
    assert!(segments.others > 20 && segments.segments.is_sorted_by_key(|segment| std::cmp::Reverse(segment.lists)));
}

#[test]
fn visitors_of_a_segment_are_counted_one_by_one_where_sums_are_shared() {
    let most = clusters::MOST as usize;
    let numbered = |number: usize| {
        let mut ranking = clicked(record(&format!("r{number}"), 2), &[1]);
        ranking.timestamp = Timestamp::from_millis(number as i64);
        ranking.user = Some(format!("u{}", number / 2).as_str().into());
        ranking.fields.push(Field::new("page", Value::Text("home".into())));
        ranking
    };
    let store = store(&["liked"], (0..4 * most + 8_000).map(numbered).collect());
    let mut case = Case::of(vec![Ranker::baseline("noop", Model::Noop)]);
    case.by = Some("page");
    let report = case.run(&store).unwrap();
    let visitors = most + 2_000;
    assert_eq!((report.lists.visitors, report.segments.unwrap().segments[0].visitors), (visitors, visitors));
}

#[test]
fn a_column_that_is_defined_otherwise_is_missing_in_its_own_model_alone() {
    let store = shop(200);
    let stored = trained(&store);
    let mut changed = Ranker::of_version("changed", &version(&config(&["liked"]), &store)).unwrap();
    changed.columns[0].fingerprint = 9;
    let report = Case::of(vec![stored, changed]).run(&store).unwrap();
    let missing: Vec<&String> = report.notes.iter().filter(|note| note.contains("stored without")).collect();
    assert!(missing.len() == 1 && missing[0].starts_with("changed reads"), "{:?}", report.notes);
}

#[test]
fn the_worst_lists_come_first_with_their_ids() {
    let store = shop(300);
    let report = Case::of(vec![Ranker::baseline("noop", Model::Noop)]).run(&store).unwrap();
    let worst = &report.worst[0];
    assert_eq!((worst.ranker.as_str(), worst.lists.len()), ("noop", 5));
    assert!(worst.lists.is_sorted_by(|one, other| one.value <= other.value));
    let all = rankings(300);
    for list in &worst.lists {
        let record = all.iter().find(|record| record.ranking.as_str() == list.ranking).unwrap();
        assert_eq!((list.items, list.relevant), (10, record.interactions.len()));
        let labels: Vec<f32> =
            record.labels(&BTreeMap::from([("click".to_owned(), 1.0)])).into_iter().map(|label| label as f32).collect();
        let value = metric::of_ranked(Metric::Ndcg(Some(10)), &metric::unweighted(&labels));
        assert_eq!(list.value, value);
    }
}

#[test]
fn what_makes_figures_doubtful_is_said() {
    let store = shop(200);
    let mut all = trained(&store);
    all.trained_until = Some(Timestamp::from_millis(150_000));
    all.columns[0].fingerprint = 9;
    let report = Case::of(vec![all]).run(&store).unwrap();
    assert!(report.notes[0].contains("shop reads columns that rankings were stored without"), "{:?}", report.notes);
    assert!(report.notes[1].contains("learned from rankings up to 1970-01-01T00:02:30Z"), "{:?}", report.notes);
}

#[test]
fn weighting_that_was_asked_for_and_is_not_possible_is_an_error() {
    let store = shop(200);
    let mut case = Case::of(vec![Ranker::baseline("noop", Model::Noop)]);
    case.weighting.arm = Some("ranker".parse().unwrap());
    let EvaluateError::NoCurve(error) = case.run(&store).unwrap_err() else { panic!("another error") };
    assert_eq!(error.to_string(), "no ranking has the field \"ranker\"; rankings have page");
    // the same items at the same positions
    let fixed = rankings(200).into_iter().map(|mut ranking| {
        let places: Vec<_> = ranking.items.iter().map(|item| item.id.clone()).collect();
        for click in &mut ranking.interactions {
            let place = places.iter().position(|id| *id == click.item).unwrap();
            click.item = format!("item{place}").into();
        }
        ranking.items.iter_mut().enumerate().for_each(|(place, item)| item.id = format!("item{place}").into());
        ranking
    });
    case.weighting.arm = None;
    let report = case.run(&crate::testing::store(&["liked", "place"], fixed.collect())).unwrap();
    assert!(report.weighted.unavailable.unwrap().contains("on items that stood at several positions"));
    assert!(report.scores.iter().all(|score| score.weighted.is_none()));
}
