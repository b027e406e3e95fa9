#![allow(clippy::unwrap_used)]
use super::{Recommending, check_memory, slow};
use crate::testing::store;
use crate::{Error, Reason, Running, Training, decide};
use rankwright_clickthrough::testing::ranking;
use rankwright_clickthrough::{Click, Clickthrough, Kind as RecordKind, Rows};
use rankwright_config::{Config, Model};
use rankwright_event::{Field, RankingId, Tenant, Timestamp, Value};
use rankwright_model::{MemoryVersions, Recommender, VersionStore};
use rankwright_recommend::{Build, Similar, Vectors};
use std::collections::{BTreeMap, HashSet};
use std::num::NonZero;

const DAY: i64 = 86_400_000;

fn model(text: &str) -> Model {
    let (config, _) = Config::parse(&format!("models: {{m: {text}}}"), "test").unwrap();
    config.models["m"].clone()
}

/// Clicks of a visitor on items, a minute apart, without a ranking.
pub(crate) fn clicks(user: Option<usize>, items: &[usize], day: i64) -> Vec<Clickthrough> {
    let click = |(place, item): (usize, &usize)| {
        let timestamp = Timestamp::from_millis(day * DAY + place as i64 * 60_000);
        let id = format!("{user:?}-{item}-{day}-{place}");
        Clickthrough {
            tenant: Tenant::default(),
            kind: RecordKind::Interaction,
            ranking: RankingId::from(id.as_str()),
            timestamp,
            user: user.map(|user| format!("u{user}").as_str().into()),
            session: None,
            fields: Vec::new(),
            items: Vec::new(),
            rows: Rows::default(),
            interactions: vec![Click {
                timestamp,
                id: id.as_str().into(),
                kind: "click".into(),
                item: format!("i{item}").into(),
            }],
        }
    };
    items.iter().enumerate().map(click).collect()
}

/// Four hundred visitors, each of whom looks at four of the ten items of one of five shelves.
pub(crate) fn shelves() -> Vec<Clickthrough> {
    let mut random = fastrand::Rng::with_seed(3);
    let visitor = |user: usize| {
        let mut shelf: Vec<usize> = (0..10).map(|item| user % 5 * 10 + item).collect();
        random.shuffle(&mut shelf);
        clicks(Some(user), &shelf[..4], 1)
    };
    (0..400).flat_map(visitor).collect()
}

fn train(model: &Model, records: Vec<Clickthrough>, versions: &MemoryVersions) -> Result<crate::Trained, Error> {
    let now = Timestamp::from_millis(1_000 * DAY);
    crate::train_model("m", model, &[], &store(&[], records), versions, now, &mut |_| ())
}

fn served(versions: &MemoryVersions) -> Recommender {
    Recommender::load(&versions.load("m", None).unwrap().unwrap()).unwrap()
}

const ALS: &str = "{type: als, interactions: [click], factors: 8, iterations: 10}";

#[test]
fn similar_items_are_those_of_the_same_shelf() {
    let versions = MemoryVersions::default();
    let trained = train(&model(ALS), shelves(), &versions).unwrap();
    let quality = &trained.quality[0];
    assert_eq!(quality.metric, "HIT@10");
    // of the nine others on the shelf, three at most were seen
    assert!(quality.reranked > 0.8 && quality.random < 0.3 && trained.test > 50, "{quality:?} {}", trained.test);
    assert_eq!((trained.answer.iterations.len(), trained.answer.features.len()), (10, 0));
    let similar = served(&versions);
    let found = similar.recommend(&["i7"], &HashSet::from(["i3"]), 5).unwrap();
    let shelf = found.iter().all(|(item, _)| item.len() == 2 && !["i7", "i3"].contains(item));
    assert!(found.len() == 5 && shelf, "{found:?}");
}

#[test]
fn the_same_interactions_in_another_order_give_the_same_version() {
    let trained = |records| train(&model(ALS), records, &MemoryVersions::default()).unwrap().version;
    let mut turned = shelves();
    turned.reverse();
    assert_eq!(trained(shelves()).id(), trained(turned).id());
}

#[test]
fn trending_learns_from_all_and_counts_whole_days_to_the_newest_event() {
    let text = "{type: trending, weights: [{interaction: click, decay: 0.5, window: 3d}]}";
    let records = [clicks(Some(1), &[1, 1, 1], 10), clicks(None, &[2, 2], 12), clicks(Some(2), &[3], 8)].concat();
    let versions = MemoryVersions::default();
    let trained = train(&model(text), records, &versions).unwrap();
    assert_eq!(trained.answer.iterations.len(), 0);
    let trending = served(&versions);
    let found = trending.recommend(&[], &HashSet::new(), 9).unwrap();
    // the newest is a minute past day 12: items 1 are 2 days and up to a minute old, or almost
    assert_eq!(found, [("i2", 2.0), ("i1", 1.0)].map(|(item, score)| (item, score)), "{found:?}");
}

#[test]
fn a_selector_sees_the_items_that_were_shown() {
    let shown = |number: u64, items: usize| {
        let record = clicks(None, &[items], number as i64).remove(0);
        Clickthrough { kind: RecordKind::Ranking, items: ranking(number, items, 0).items, ..record }
    };
    let learned = |selector: &str| {
        let text = format!("{{type: trending, weights: [{{interaction: click}}], selector: {selector}}}");
        let versions = MemoryVersions::default();
        train(&model(&text), vec![shown(1, 2), shown(2, 3), shown(3, 5)], &versions).unwrap();
        served(&versions).recommend(&[], &HashSet::new(), 9).unwrap().len()
    };
    assert_eq!(learned("{minItems: 3}"), 2);
    assert_eq!(learned("{and: [{not: {minItems: 3}}, {accept: true}]}"), 1);
    assert_eq!(learned("{accept: true}"), 3);
}

#[test]
fn what_is_in_demand_grows_old_by_events_of_other_types() {
    let text =
        "{type: trending, weights: [{interaction: purchase, window: 7d}], selector: {rankingField: page, value: shop}}";
    let purchases = |day, items: &[usize]| {
        let mut records = clicks(Some(1), items, day);
        records.iter_mut().for_each(|record| {
            record.interactions[0].kind = "purchase".into();
            record.fields = vec![Field::new("page", Value::Text("shop".into()))];
        });
        records
    };
    let recommended = |records: Vec<Clickthrough>| {
        let versions = MemoryVersions::default();
        train(&model(text), records, &versions).unwrap();
        served(&versions)
            .recommend(&[], &HashSet::new(), 9)
            .unwrap()
            .into_iter()
            .map(|(item, _)| item.to_owned())
            .collect()
    };
    let found: Vec<String> = recommended([purchases(0, &[1]), clicks(Some(2), &[2], 6)].concat());
    assert_eq!(found, ["i1"]);
    let later = [purchases(0, &[1]), purchases(55, &[3]), clicks(Some(2), &[2], 60)].concat();
    assert_eq!(recommended(later.clone()), ["i3"]);
    let impression =
        Clickthrough { kind: RecordKind::Ranking, interactions: Vec::new(), ..clicks(None, &[9], 90).remove(0) };
    assert_eq!(recommended([later, vec![impression]].concat()), Vec::<String>::new(), "a ranking is an event as well");
}

#[test]
fn there_may_be_more_interactions_than_memory_has_room_for_where_old_ones_do_not_count() {
    let learned = |text: &str, a_day: usize| {
        let model = model(text);
        let (Model::Trending(by), Some(learning)) = (&model, model.learning()) else { panic!("{text}") };
        let records: Vec<_> = (0..20).flat_map(|day| clicks(Some(day), &vec![day; a_day], day as i64)).collect();
        let now = Timestamp::from_millis(1_000 * DAY);
        let training = Recommending { name: "m", learning, by, now, most: 20 };
        let candidate = training.candidate(&store(&[], records), None, &mut |_| ())?;
        let recommender = Recommender::load(&candidate.trained.version).unwrap();
        let found = recommender.recommend(&[], &HashSet::new(), 9).unwrap();
        Ok::<_, Error>(found.into_iter().map(|(item, score)| format!("{item} {score}")).collect::<Vec<_>>())
    };
    let of_days = "{type: trending, weights: [{interaction: click, window: 1d}, {interaction: click, window: 2d}]}";
    assert_eq!(learned(of_days, 2).unwrap(), ["i19 4", "i18 3", "i17 1"]);
    let refused = learned(of_days, 5).unwrap_err().to_string();
    assert!(refused.contains("more than 20 interactions"), "{refused}");
}

#[test]
fn visitors_with_one_item_each_leave_nothing_to_measure_and_a_version_all_the_same() {
    let als = model(ALS);
    let records = (0..5).flat_map(|user| clicks(Some(user), &[user % 2], 1)).collect();
    let now = Timestamp::from_millis(1_000 * DAY);
    let training =
        Training { name: "m", model: &als, columns: &[], served: &BTreeMap::new(), embed: &crate::no_embeddings, now };
    let candidate = training.candidate(&store(&[], records), None, &mut |_| ()).unwrap();
    let decision = decide(&als.learning().unwrap().gate, &candidate);
    assert!(decision.publish && decision.reason == Reason::FirstVersion, "{decision:?}");
    assert!(decision.message.contains("of only 0 visitors"), "{decision:?}");
    assert!(candidate.trained.answer.warnings.is_empty());
}

#[test]
fn a_type_that_stands_twice_in_weights_has_two_parts_of_the_score() {
    let text =
        "{type: trending, weights: [{interaction: click, window: 1d}, {interaction: click, weight: 0.5, window: 30d}]}";
    let versions = MemoryVersions::default();
    train(&model(text), [clicks(Some(1), &[1], 20), clicks(Some(1), &[2], 10)].concat(), &versions).unwrap();
    assert_eq!(served(&versions).recommend(&[], &HashSet::new(), 9), Ok(vec![("i1", 1.5), ("i2", 0.5)]));
}

#[test]
fn trending_on_the_same_data_is_as_good_as_the_running_version() {
    let (trending, versions) = (model("{type: trending, weights: [{interaction: click}]}"), MemoryVersions::default());
    train(&trending, shelves(), &versions).unwrap();
    let running = Some(Running::Version(Box::new(versions.load("m", None).unwrap().unwrap())));
    let now = Timestamp::from_millis(1_000 * DAY);
    let training = Training {
        name: "m",
        model: &trending,
        columns: &[],
        served: &BTreeMap::new(),
        embed: &crate::no_embeddings,
        now,
    };
    let candidate = training.candidate(&store(&[], shelves()), running, &mut |_| ()).unwrap();
    let decision = decide(&trending.learning().unwrap().gate, &candidate);
    assert!(decision.publish && decision.reason == Reason::NotWorse, "{decision:?}");
    assert_eq!(decision.running, Some(decision.candidate));
}

#[test]
fn a_version_of_another_type_is_no_running_one() {
    let versions = MemoryVersions::default();
    train(&model(ALS), shelves(), &versions).unwrap();
    let running = Some(Running::Version(Box::new(versions.load("m", None).unwrap().unwrap())));
    let trending = model("{type: trending, weights: [{interaction: click}]}");
    let now = Timestamp::from_millis(1_000 * DAY);
    let training = Training {
        name: "m",
        model: &trending,
        columns: &[],
        served: &BTreeMap::new(),
        embed: &crate::no_embeddings,
        now,
    };
    let candidate = training.candidate(&store(&[], shelves()), running, &mut |_| ()).unwrap();
    let decision = decide(&trending.learning().unwrap().gate, &candidate);
    assert!(decision.publish && decision.reason == Reason::FirstVersion, "{decision:?}");
}

#[test]
fn what_cannot_be_learned_from_says_why() {
    let refusal =
        |text: &str, records| train(&model(text), records, &MemoryVersions::default()).unwrap_err().to_string();
    assert!(refusal(ALS, vec![]).contains("no click-throughs are stored"));
    let of_others = refusal("{type: als, interactions: [buy, like]}", clicks(Some(1), &[1, 2], 1));
    assert!(of_others.contains("none of 2 records has one of the interactions buy, like"), "{of_others}");
    let without = refusal(ALS, clicks(None, &[1, 2], 1));
    assert!(without.contains("`user` nor `session`"), "{without}");
    let selected = refusal("{type: als, interactions: [click], selector: {accept: false}}", clicks(Some(1), &[1], 1));
    assert!(selected.contains("selector accepts none"), "{selected}");
    assert!(refusal("{type: noop}", vec![]).contains("noop"));
}

#[test]
fn a_model_of_many_items_without_an_index_is_said_to_be_slow() {
    let told = |items: usize, exact| {
        let (ids, mut vectors) = ((0..items).map(|item| format!("i{item}").into()).collect(), Vectors::new(1));
        (0..items).for_each(|_| vectors.push(&[1.0]));
        let build = Build { exact, threads: NonZero::new(1), ..Build::default() };
        slow(&Recommender::Similar(Similar::from_vectors(ids, vectors, &build).unwrap()))
    };
    let message = told(10_001, usize::MAX).unwrap();
    assert!(message.contains("compares all 10001"), "{message}");
    assert_eq!((told(10_000, usize::MAX), told(10_001, 10_000)), (None, None), "few items, and an index");
}

#[test]
fn a_gate_compares_with_the_running_version_on_the_same_visitors() {
    let (als, versions) = (model(ALS), MemoryVersions::default());
    let worse = model("{type: als, interactions: [click], factors: 1, iterations: 1}");
    let gate = &als.learning().unwrap().gate;
    let candidate = |model: &Model, running| {
        let now = Timestamp::from_millis(1_000 * DAY);
        let training =
            Training { name: "m", model, columns: &[], served: &BTreeMap::new(), embed: &crate::no_embeddings, now };
        training.candidate(&store(&[], shelves()), running, &mut |_| ()).unwrap()
    };
    let first = decide(gate, &candidate(&als, None));
    assert!(first.publish && first.reason == Reason::FirstVersion && first.metric == "HIT@10", "{first:?}");
    train(&als, shelves(), &versions).unwrap();
    let running = || Some(Running::Version(Box::new(versions.load("m", None).unwrap().unwrap())));
    let same = decide(gate, &candidate(&als, running()));
    assert!(same.publish && same.running == Some(same.candidate), "{same:?}");
    let worse = decide(gate, &candidate(&worse, running()));
    assert!(!worse.publish && worse.reason == Reason::Worse, "{worse:?}");
}

#[test]
fn vectors_that_memory_has_no_room_for_are_refused_before_they_are_made_unless_the_configuration_allows_it() {
    let als = |over| {
        let Model::Als(als) = model(&format!("{{type: als, interactions: [click], overMemory: {over}}}")) else {
            panic!()
        };
        als
    };
    let fits = |over, available| check_memory("m", &als(over), 0, [1000, 0], available);
    let needed = 1000 * (112 * 4 + 100); // 100 factors have the room of 112, and 100 bytes are those of an id
    assert!(fits(false, None).is_ok() && fits(false, Some(needed)).is_ok());
    let Err(Error::OverMemory { needed: told, vectors: 1000, factors: 100, .. }) = fits(false, Some(needed - 1)) else {
        panic!("too large")
    };
    assert_eq!(told, needed);
    assert!(fits(true, Some(1)).is_ok(), "the configuration allows it");
    let refused = check_memory("m", &als(false), 0, [3_000_000, 1_000_000], Some(1 << 30)).unwrap_err().to_string();
    assert!(
        refused.contains("4000000 visitors and items") && refused.contains("has 1024 MiB: lower `factors`"),
        "{refused}"
    );
}
