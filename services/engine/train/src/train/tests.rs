#![allow(clippy::unwrap_used)]
use super::*;
use crate::digest;
use crate::report::Weight;
use crate::testing::{backend, clicked, column, lambda_mart, record, store};
use rankwright_clickthrough::{Clickthrough, Kind as RecordKind, Rows};
use rankwright_config::Model as Definition;
use rankwright_config::model::{Backend, Booster, Learning, Selector, Split, SplitStrategy, Warmup};
use rankwright_event::{Event, Field, Value, json};
use rankwright_model::{MemoryVersions, Model, Place, Refusal, StoreError, Version};
use std::time::Duration;

fn config() -> LambdaMart {
    let warmup = Some(Warmup { sampled_requests: 5, duration: Duration::from_secs(1) });
    LambdaMart { warmup, ..lambda_mart(&["price", "ctr"]) }
}

fn columns() -> Vec<Column> {
    let of_ctr = |name| Column { feature: "ctr".to_owned(), ..column(name) };
    vec![of_ctr("ctr_7"), of_ctr("ctr_30"), column("price"), column("position")]
}

/// Rankings of ten items, of which visitors like those whose `ctr_7` is highest.
fn rankings(count: usize) -> Vec<Clickthrough> {
    let ranking = |id: usize| {
        let draw = |item: usize, column: u64| digest::uniform((id * 10 + item) as u64, column) as f32;
        let best = (0..10).max_by(|&left, &right| draw(left, 1).total_cmp(&draw(right, 1))).unwrap();
        let mut ranking = clicked(record(&id.to_string(), 10), &[best]);
        let row = |item| [draw(item, 1), draw(item, 2), draw(item, 3), item as f32];
        ranking.rows = Rows { width: 4, values: (0..10).flat_map(row).collect() };
        ranking.timestamp = Timestamp::from_millis(id as i64);
        ranking
    };
    (0..count).map(ranking).collect()
}

fn train(config: &LambdaMart, records: Vec<Clickthrough>, versions: &MemoryVersions) -> Result<Trained, Error> {
    let store = store(&["ctr_7", "ctr_30", "price", "position"], records);
    let now = Timestamp::from_millis(1_000_000);
    train_model("shop", &Definition::LambdaMart(config.clone()), &columns(), &store, versions, now, &mut |_| ())
}

fn refusal(config: &LambdaMart, records: Vec<Clickthrough>) -> String {
    let versions = MemoryVersions::default();
    let error = train(config, records, &versions).unwrap_err();
    assert_eq!(versions.current("shop").unwrap(), None, "nothing is published");
    error.to_string()
}

#[test]
fn a_trained_model_is_published_and_orders_by_what_visitors_like() {
    for booster in [Booster::LightGbm, Booster::XgBoost] {
        let versions = MemoryVersions::default();
        let config = LambdaMart { backend: backend(booster), ..config() };
        let trained = train(&config, rankings(300), &versions).unwrap();
        let published = versions.load("shop", None).unwrap().unwrap();
        assert!(published.id() == trained.version.id() && published.body() == trained.version.body());
        let rows = [0.5, 0.1, 0.5, 0.5, 0.9, 0.5, 0.5, 0.5, 0.5]; // price, ctr_7, ctr_30
        let scores = Model::load(&published).unwrap().score(1, &rows, 3, 3);
        assert!(scores[1] > scores[2] && scores[1] > scores[0], "{booster:?}: {scores:?}");
    }
}

#[test]
fn one_value_that_is_too_large_breaks_no_training() {
    for booster in [Booster::LightGbm, Booster::XgBoost] {
        let (versions, mut rankings) = (MemoryVersions::default(), rankings(300));
        let config = LambdaMart { backend: backend(booster), ..config() };
        rankings[7].rows.values[0] = f32::INFINITY;
        rankings[9].rows.values[4] = f32::NEG_INFINITY;
        train(&config, rankings, &versions).unwrap();
        let rows = [0.5, 0.1, 0.5, 0.5, 0.9, 0.5, 0.5, f32::INFINITY, 0.5]; // price, ctr_7, ctr_30
        let published = versions.load("shop", None).unwrap().unwrap();
        let scores = Model::load(&published).unwrap().score(1, &rows, 3, 3);
        assert!(scores[1] > scores[0] && scores[2] > scores[0], "{booster:?}: {scores:?}");
    }
}

#[test]
fn a_version_knows_its_columns_metrics_and_weights() {
    let trained = train(&config(), rankings(300), &MemoryVersions::default()).unwrap();
    let metadata = trained.version.metadata();
    let names: Vec<&str> = metadata.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["price", "ctr_7", "ctr_30"]);
    assert_eq!(metadata.metrics.keys().collect::<Vec<_>>(), ["MRR", "NDCG@10"]);
    assert_eq!((metadata.iterations, metadata.model.as_str()), (trained.trees, "shop"));
    assert_eq!(metadata.weights.len(), 2);
    assert_eq!(metadata.created_at, Timestamp::from_millis(1_000_000));
}

#[test]
fn the_answer_lists_features_rounds_and_size() {
    let trained = train(&config(), rankings(300), &MemoryVersions::default()).unwrap();
    let [price, ctr] = trained.answer.features.as_slice() else { unreachable!("two features") };
    assert!(price.name == "price" && matches!(price.weight, Weight::One(_)));
    let Weight::Each(gains) = &ctr.weight else { unreachable!("two columns") };
    assert!(ctr.name == "ctr" && gains[0] > gains[1]);
    assert_eq!(trained.answer.size_bytes, trained.version.body().len());
    assert!(trained.answer.iterations.len() >= trained.trees);
}

#[test]
fn quality_is_told_for_the_shown_a_random_and_the_new_order() {
    let trained = train(&config(), rankings(300), &MemoryVersions::default()).unwrap();
    assert_eq!((trained.train, trained.test), (240, 60));
    let [ndcg, mrr] = trained.quality.as_slice() else { unreachable!("two metrics") };
    assert_eq!((ndcg.metric.as_str(), mrr.metric.as_str()), ("NDCG@10", "MRR"));
    for quality in [ndcg, mrr] {
        assert!(quality.reranked > 0.85, "{quality:?}");
        assert!((0.2..0.65).contains(&quality.shown) && (0.2..0.65).contains(&quality.random), "{quality:?}");
        assert_eq!(quality.served, None);
    }
    let reported = trained.answer.iterations[trained.trees - 1].test_metric;
    assert!((ndcg.reranked - reported).abs() < 1e-6);
}

#[test]
fn quality_as_served_puts_the_constants_of_serving_into_their_columns() {
    let config = LambdaMart { features: vec!["position".to_owned(), "ctr".to_owned()], ..config() };
    let store = store(&["ctr_7", "ctr_30", "price", "position"], rankings(300));
    let (columns, versions, now) = (columns(), MemoryVersions::default(), Timestamp::from_millis(1));
    let served = |feature: &str| {
        let served = BTreeMap::from([(feature.to_owned(), 0.0)]);
        let training = Training {
            name: "shop",
            model: &Definition::LambdaMart(config.clone()),
            columns: &columns,
            served: &served,
            embed: &crate::no_embeddings,
            now,
        };
        training.run(&store, &versions, &mut |_| ()).unwrap().quality[0].clone()
    };
    let position = served("position");
    assert!(position.served.unwrap() > 0.85, "{position:?}");
    let ctr = served("ctr");
    assert!(ctr.served.unwrap() < 0.7 && ctr.reranked > 0.85, "{ctr:?}");
}

#[test]
fn the_same_click_throughs_and_seed_give_the_same_version_whatever_their_order() {
    let forward = train(&config(), rankings(200), &MemoryVersions::default()).unwrap();
    let backward = rankings(200).into_iter().rev().collect();
    let backward = train(&config(), backward, &MemoryVersions::default()).unwrap();
    assert_eq!(forward.version.id(), backward.version.id());
}

#[test]
fn warm_up_rankings_are_stored_with_the_version() {
    let trained = train(&config(), rankings(100), &MemoryVersions::default()).unwrap();
    let events = json::decode_batch(trained.version.warmup()).unwrap();
    assert_eq!(events.len(), 5);
    assert!(events.iter().all(|event| matches!(event, Event::Ranking(ranking) if ranking.items.len() == 10)));
    let cold = LambdaMart { warmup: None, ..config() };
    assert!(train(&cold, rankings(100), &MemoryVersions::default()).unwrap().version.warmup().is_empty());
}

#[test]
fn progress_is_told_round_by_round() {
    let store = store(&["ctr_7", "ctr_30", "price", "position"], rankings(100));
    let (columns, versions, now) = (columns(), MemoryVersions::default(), Timestamp::from_millis(1));
    let mut rounds = Vec::new();
    let mut progress = |step: Progress<'_>| {
        if let Progress::Fitting { iteration, limit } = step {
            rounds.push((iteration.id, limit));
        }
    };
    let trained =
        train_model("shop", &Definition::LambdaMart(config()), &columns, &store, &versions, now, &mut progress)
            .unwrap();
    assert_eq!(rounds, (0..trained.answer.iterations.len()).map(|id| (id, 60)).collect::<Vec<_>>());
}

#[test]
fn old_versions_are_removed() {
    let versions = MemoryVersions::default();
    let quick =
        LambdaMart { backend: rankwright_config::model::Backend { iterations: 1, ..config().backend }, ..config() };
    let (store, columns) = (store(&["ctr_7"], rankings_of_ctr()), columns());
    for time in 0..12 {
        let now = Timestamp::from_millis(time);
        train_model("shop", &Definition::LambdaMart(quick.clone()), &columns, &store, &versions, now, &mut |_| ())
            .unwrap();
    }
    assert_eq!(versions.list("shop").unwrap().len(), 10);
}

#[test]
fn the_version_that_a_new_one_follows_is_never_removed() {
    let versions = MemoryVersions::default();
    let quick = rankwright_config::model::Backend { iterations: 1, ..config().backend };
    let quick = LambdaMart { backend: quick, learning: Learning { keep_versions: 1, ..config().learning }, ..config() };
    let (store, columns) = (store(&["ctr_7"], rankings_of_ctr()), columns());
    let train = |time| {
        let now = Timestamp::from_millis(time);
        train_model("shop", &Definition::LambdaMart(quick.clone()), &columns, &store, &versions, now, &mut |_| ())
            .unwrap()
            .version
            .id()
            .clone()
    };
    let (first, second) = (train(1), train(2));
    assert_eq!(versions.list("shop").unwrap(), [first.clone(), second]);
    versions.select("shop", &first).unwrap();
    let third = train(3);
    assert_eq!(versions.list("shop").unwrap(), [first, third], "the one that ran is the previous one now");
}

#[test]
fn a_version_that_the_configuration_names_is_never_removed() {
    let versions = MemoryVersions::default();
    let quick = rankwright_config::model::Backend { iterations: 1, ..config().backend };
    let mut quick =
        LambdaMart { backend: quick, learning: Learning { keep_versions: 1, ..config().learning }, ..config() };
    let (store, columns) = (store(&["ctr_7"], rankings_of_ctr()), columns());
    let mut train = |time, pinned: Option<&VersionId>| {
        quick.learning.version = pinned.map(ToString::to_string);
        let now = Timestamp::from_millis(time);
        train_model("shop", &Definition::LambdaMart(quick.clone()), &columns, &store, &versions, now, &mut |_| ())
            .unwrap()
            .version
            .id()
            .clone()
    };
    let first = train(1, None);
    let newer = [2, 3, 4].map(|time| train(time, Some(&first)));
    assert_eq!(versions.list("shop").unwrap(), [first, newer[1].clone(), newer[2].clone()]);
    let last = train(5, None);
    assert_eq!(versions.list("shop").unwrap(), [newer[2].clone(), last], "nothing names it any more");
}

/// A store that takes nothing, as a full one, or whose pointer cannot be read.
struct Broken {
    store: MemoryVersions,
    full: bool,
}

impl Broken {
    fn error() -> StoreError {
        StoreError::Unknown { model: "shop".to_owned(), version: "it is broken".to_owned() }
    }
}

impl VersionStore for Broken {
    fn publish(&self, version: &Version, place: Place) -> Result<(), StoreError> {
        if self.full { Err(Self::error()) } else { self.store.publish(version, place) }
    }

    fn add(&self, version: &Version) -> Result<(), StoreError> {
        self.publish(version, Place::Any)
    }

    fn list(&self, model: &str) -> Result<Vec<VersionId>, StoreError> {
        self.store.list(model)
    }

    fn current(&self, model: &str) -> Result<Option<VersionId>, StoreError> {
        if self.full { self.store.current(model) } else { Err(Self::error()) }
    }

    fn select(&self, model: &str, id: &VersionId) -> Result<(), StoreError> {
        self.store.select(model, id)
    }

    fn load(&self, model: &str, id: Option<&VersionId>) -> Result<Option<Version>, StoreError> {
        self.store.load(model, id)
    }

    fn keep(&self, model: &str, newest: usize, spared: &[VersionId]) -> Result<(), StoreError> {
        self.store.keep(model, newest, spared)
    }

    fn refuse(&self, model: &str, refusal: &Refusal) -> Result<(), StoreError> {
        self.store.refuse(model, refusal)
    }

    fn refusal(&self, model: &str) -> Result<Option<Refusal>, StoreError> {
        self.store.refusal(model)
    }
}

#[test]
fn a_version_tells_how_its_metric_rose_and_how_values_were_spread() {
    for booster in [Booster::LightGbm, Booster::XgBoost] {
        let versions = MemoryVersions::default();
        let config = LambdaMart { backend: backend(booster), ..config() };
        let trained = train(&config, rankings(300), &versions).unwrap();
        let record = versions.load("shop", None).unwrap().unwrap().metadata().record.clone();
        let (curve, rounds) = (record.curve.unwrap(), &trained.answer.iterations);
        assert_eq!(curve.metric, "NDCG@10");
        let last = curve.rounds.last().unwrap();
        assert_eq!((last.round, curve.rounds.len()), (rounds.len(), rounds.len().min(60)), "{booster:?}");
        assert!((last.test.unwrap() - rounds.last().unwrap().test_metric).abs() < 1e-6, "{booster:?}");
        let names: Vec<&str> = record.values.keys().map(String::as_str).collect();
        assert_eq!(names, ["ctr_30", "ctr_7", "price"], "columns of other features are not its own");
        let bins = &record.values["ctr_7"].bins;
        assert!(bins.len() == 10 && bins.iter().all(|bin| (bin.share - 0.1).abs() < 0.001), "{bins:?}");
        assert_eq!((record.values["ctr_7"].missing, record.gate), (0.0, None));
    }
}

#[test]
fn a_version_that_cannot_be_published_costs_no_other_and_a_damaged_pointer_no_training() {
    let quick = rankwright_config::model::Backend { iterations: 1, ..config().backend };
    let quick = LambdaMart { backend: quick, learning: Learning { keep_versions: 1, ..config().learning }, ..config() };
    let (store, columns, versions) = (store(&["ctr_7"], rankings_of_ctr()), columns(), MemoryVersions::default());
    let train = |versions: &dyn VersionStore, time| {
        let now = Timestamp::from_millis(time);
        train_model("shop", &Definition::LambdaMart(quick.clone()), &columns, &store, versions, now, &mut |_| ())
    };
    train(&versions, 1).unwrap();
    train(&versions, 2).unwrap();
    let before = versions.list("shop").unwrap();
    let full = Broken { store: versions, full: true };
    assert!(matches!(train(&full, 3), Err(Error::Publish { .. })));
    assert_eq!(full.list("shop").unwrap(), before);
    let damaged = Broken { full: false, ..full };
    let published = train(&damaged, 4).unwrap();
    let after = damaged.list("shop").unwrap();
    assert_eq!((after.len(), after.last()), (before.len() + 1, Some(published.version.id())), "nothing is removed");
}

#[test]
fn a_version_does_not_take_the_place_of_one_that_it_was_not_compared_with() {
    let quick = rankwright_config::model::Backend { iterations: 1, ..config().backend };
    let config = Definition::LambdaMart(LambdaMart { backend: quick, ..config() });
    let (store, columns, versions) = (store(&["ctr_7"], rankings_of_ctr()), columns(), MemoryVersions::default());
    let served = BTreeMap::new();
    let training = |time| Training {
        name: "shop",
        model: &config,
        columns: &columns,
        served: &served,
        embed: &crate::no_embeddings,
        now: Timestamp::from_millis(time),
    };
    let [first, second] = [1, 2].map(|time| training(time).run(&store, &versions, &mut |_| ()).unwrap().version);
    let mut candidate = training(3).candidate(&store, None, &mut |_| ()).unwrap();
    let before = versions.current("shop");
    assert_eq!(before.as_ref().unwrap().as_ref(), Some(second.id()));
    versions.select("shop", first.id()).unwrap(); // the version is rolled back meanwhile
    let overtaken = training(3).publish(&mut candidate.trained, &before, &versions);
    assert!(matches!(overtaken, Err(Error::Publish { source: StoreError::Moved { .. }, .. })), "{overtaken:?}");
    assert_eq!(versions.current("shop").unwrap().as_ref(), Some(first.id()));
    training(3).publish(&mut candidate.trained, &versions.current("shop"), &versions).unwrap();
    assert_eq!(versions.current("shop").unwrap().as_ref(), Some(candidate.trained.version.id()));
    assert_eq!(versions.previous("shop").unwrap().as_ref(), Some(first.id()), "the second was gone back from");

    // two at once, each of which found no version
    let versions = MemoryVersions::default();
    let none = || Ok(None);
    candidate.trained.version = first;
    training(4).publish(&mut candidate.trained, &none(), &versions).unwrap();
    let mut other = training(5).candidate(&store, None, &mut |_| ()).unwrap();
    let overtaken = training(5).publish(&mut other.trained, &none(), &versions);
    assert!(matches!(overtaken, Err(Error::Publish { source: StoreError::Moved { .. }, .. })), "{overtaken:?}");
}

fn rankings_of_ctr() -> Vec<Clickthrough> {
    let mut rankings = rankings(20);
    for ranking in &mut rankings {
        ranking.rows = Rows { width: 1, values: ranking.rows.values.iter().step_by(4).copied().collect() };
    }
    rankings
}

#[test]
fn a_column_that_the_store_lacks_is_learned_as_missing() {
    let store = store(&["ctr_7"], rankings_of_ctr());
    let (columns, versions, now) = (columns(), MemoryVersions::default(), Timestamp::from_millis(1));
    let trained =
        train_model("shop", &Definition::LambdaMart(config()), &columns, &store, &versions, now, &mut |_| ()).unwrap();
    let missing: Vec<&str> = trained.reading.missing_columns.keys().map(|(name, _)| name.as_str()).collect();
    assert_eq!(missing, ["ctr_30", "price"]);
}

#[test]
fn an_unknown_feature_is_named() {
    let config = LambdaMart { features: vec!["cttr".to_owned()], ..config() };
    assert_eq!(refusal(&config, rankings(10)), "model \"shop\" uses feature \"cttr\", which is not defined");
    let config = LambdaMart { features: vec![], ..config };
    let message = refusal(&config, rankings(10));
    assert_eq!(message, "model \"shop\" has nothing to learn from: none of its features has columns");
}

#[test]
fn an_empty_store_is_told_apart_from_a_selector_that_accepts_nothing() {
    let message = refusal(&config(), vec![]);
    assert!(message.contains("no click-throughs are stored"), "{message}");
    let picky =
        LambdaMart { learning: Learning { selector: Selector::Accept(false), ..config().learning }, ..config() };
    let message = refusal(&picky, rankings(10));
    assert!(message.contains("its selector accepts none of 10 rankings"), "{message}");
}

#[test]
fn interactions_alone_are_nothing_to_learn_from() {
    let lone = |record: Clickthrough| Clickthrough {
        kind: RecordKind::Interaction,
        items: vec![],
        rows: Rows::default(),
        ..record
    };
    let message = refusal(&config(), rankings(3).into_iter().map(lone).collect());
    let expected = "no click-throughs of rankings are stored, but 3 interactions; all of them (100 %) belong to no ranking, such as those with the ids \"0\" and \"1\": ";
    assert!(message.contains(expected), "{message}");
}

#[test]
fn click_throughs_without_a_positive_label_say_which_interactions_count() {
    let config = LambdaMart { weights: BTreeMap::from([("purchase".to_owned(), 1.0)]), ..config() };
    let message = refusal(&config, rankings(10));
    assert!(message.contains("in none of 10 rankings") && message.contains("[\"purchase\"]"), "{message}");
}

#[test]
fn boosters_take_a_fast_rate_trees_without_a_limit_and_weights_above_31() {
    for (booster, max_depth) in [(Booster::LightGbm, 0), (Booster::XgBoost, 8), (Booster::XgBoost, 0)] {
        let backend = Backend { learning_rate: 1.5, max_depth, num_leaves: 100, ..backend(booster) };
        let weights = BTreeMap::from([("click".to_owned(), 50.0)]);
        let trained =
            train(&LambdaMart { backend, weights, ..config() }, rankings(300), &MemoryVersions::default()).unwrap();
        assert!(trained.quality[0].reranked > 0.8, "{booster:?}: {:?}", trained.quality);
    }
}

#[test]
fn without_weights_labels_that_rankings_bring_along_are_learned() {
    let unweighted = LambdaMart { weights: BTreeMap::new(), ..config() };
    let judged = |mut ranking: Clickthrough| {
        let best = std::mem::take(&mut ranking.interactions).remove(0).item;
        ranking.items.iter_mut().filter(|item| item.id == best).for_each(|item| item.label = Some(1.0));
        ranking
    };
    let labelled = rankings(300).into_iter().map(judged).collect();
    let trained = train(&unweighted, labelled, &MemoryVersions::default()).unwrap();
    assert!(trained.quality[0].reranked > 0.85, "{:?}", trained.quality);
    let message = refusal(&unweighted, rankings(10));
    assert!(message.contains("none of its `weights` is over 0, and in none of 10 rankings"), "{message}");
    assert!(message.contains("`items[].label`"), "{message}");
}

/// The same rankings with a field that says on which side they are.
fn sided(count: usize, side: impl Fn(usize) -> &'static str) -> Vec<Clickthrough> {
    let field = |id| vec![Field::new("split", Value::Text(side(id).into()))];
    let with = |(id, ranking)| Clickthrough { fields: field(id), ..ranking };
    rankings(count).into_iter().enumerate().map(with).collect()
}

#[test]
fn a_ranking_field_says_what_is_trained_and_what_is_tested_on() {
    let config = LambdaMart { split: "field=split:train:test".parse().unwrap(), ..config() };
    let by_id = |id: usize| ["test", "train", "train", "other"][id % 4];
    let trained = train(&config, sided(300, by_id), &MemoryVersions::default()).unwrap();
    assert_eq!((trained.train, trained.test, trained.reading.on_no_side), (150, 75, 75));
    let message = refusal(&config, sided(10, |_| "train"));
    assert!(
        message.contains("the split field=split:train:test of model \"shop\" leaves none of 10 rankings to test on"),
        "{message}"
    );
    let message = refusal(&config, rankings(10));
    assert!(message.contains("in none of 10 rankings has the field of its split field=split:train:test"), "{message}");
}

#[test]
fn a_split_with_an_empty_side_says_which() {
    let split = |strategy, ratio| LambdaMart { split: Split { strategy, ratio }, ..config() };
    let message = refusal(&split(SplitStrategy::Time, 1.0), rankings(10));
    assert!(
        message.contains("the split time=100% of model \"shop\" leaves none of 10 rankings to test on"),
        "{message}"
    );
    let message = refusal(&split(SplitStrategy::Random, 0.0), rankings(10));
    assert!(message.contains("random=0%") && message.contains("to train on"), "{message}");
    let message = refusal(&split(SplitStrategy::HoldLast, 0.8), rankings(10));
    assert!(message.contains("hold_last=80%") && message.contains("to test on"), "{message}");
}

/// Rankings of three items, of which visitors take the one whose `ctr_7` is highest.
fn short(count: usize) -> Vec<Clickthrough> {
    let ranking = |id: usize| {
        let best = digest::mix(id as u64, 5) as usize % 3;
        let mut ranking = clicked(record(&id.to_string(), 3), &[best]);
        let draw = |item: usize, column| digest::uniform((id * 3 + item) as u64, column) as f32;
        let row = |item: usize| [f32::from(item == best) + draw(item, 1), draw(item, 2), draw(item, 3), item as f32];
        ranking.rows = Rows { width: 4, values: (0..3).flat_map(row).collect() };
        ranking.timestamp = Timestamp::from_millis(id as i64);
        ranking
    };
    (0..count).map(ranking).collect()
}

#[test]
fn a_few_rankings_are_learned_from_two_being_the_least() {
    for booster in [Booster::LightGbm, Booster::XgBoost] {
        let config = LambdaMart { backend: backend(booster), ..config() };
        for rankings in [2, 3, 5, 10, 20, 60, 125].map(short) {
            let count = rankings.len();
            let trained = train(&config, rankings, &MemoryVersions::default()).unwrap();
            let model = Model::load(&trained.version).unwrap();
            assert!(!trained.learned_nothing && !model.is_constant(), "{booster:?}, {count} rankings");
            let better = model.score(1, &[0.5, 1.9, 0.5, 0.5, 0.1, 0.5], 3, 2); // price, ctr_7, ctr_30
            assert!(count < 20 || better[0] > better[1], "{booster:?}, {count} rankings: {better:?}");
        }
    }
    let message = refusal(&config(), short(1));
    assert!(message.contains("leaves none of 1 rankings to train on"), "{message}");
}

#[test]
fn a_model_that_splits_nowhere_is_told_with_how_much_data_there_was() {
    let alike = || {
        let mut rankings = short(20);
        rankings.iter_mut().for_each(|ranking| ranking.rows.values.fill(1.0));
        rankings
    };
    for booster in [Booster::LightGbm, Booster::XgBoost] {
        let config = LambdaMart { backend: backend(booster), ..config() };
        let trained = train(&config, alike(), &MemoryVersions::default()).unwrap();
        let expected = "model shop has learned nothing: no feature tells items apart in the 16 rankings with 48 items that \
                        it was trained on; import more events or add features, then train again";
        assert!(trained.learned_nothing, "{booster:?}");
        assert_eq!(serde_json::to_value(&trained.answer).unwrap()["warnings"], serde_json::json!([expected]));
    }
    let learned = train(&config(), short(60), &MemoryVersions::default()).unwrap();
    assert_eq!(serde_json::to_value(&learned.answer).unwrap().get("warnings"), None);
}

#[test]
fn a_model_that_is_worse_than_what_was_shown_is_told_with_what_to_read() {
    let first_is_taken = |count| {
        let of = |ranking: Clickthrough| clicked(ranking, &[0]);
        short(count).into_iter().map(of).collect::<Vec<_>>()
    };
    let trained = train(&config(), first_is_taken(60), &MemoryVersions::default()).unwrap();
    let ndcg = &trained.quality[0];
    assert!(ndcg.shown == 1.0 && ndcg.reranked < 1.0, "{ndcg:?}");
    let [warning] = trained.answer.warnings.as_slice() else { unreachable!("one warning") };
    let begins = format!("NDCG@10 {:.4} as served is below 1.0000 of the order as it was shown", ndcg.reranked);
    assert!(warning.starts_with(&begins) && warning.contains("docs/training.md"), "{warning}");
}

#[test]
fn a_random_order_is_told_by_what_is_to_be_expected_of_it() {
    let trained = train(&config(), short(3), &MemoryVersions::default()).unwrap();
    let [ndcg, mrr] = trained.quality.as_slice() else { unreachable!("two metrics") };
    assert_eq!(trained.test, 1, "one draw would be 1, 0.63 or 0.5");
    assert!((ndcg.random - (1.0 + 1.0 / 3f64.log2() + 0.5) / 3.0).abs() < 1e-12, "{ndcg:?}");
    assert!((mrr.random - (1.0 + 0.5 + 1.0 / 3.0) / 3.0).abs() < 1e-12, "{mrr:?}");
}
