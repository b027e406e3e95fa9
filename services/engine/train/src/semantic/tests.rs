#![allow(clippy::unwrap_used)]
use crate::recommending::tests::{clicks, shelves};
use crate::testing::store;
use crate::{Embed, EmbedError, Error, Progress, Reason, Running, Training, decide};
use rankwright_clickthrough::Clickthrough;
use rankwright_config::model::Semantic;
use rankwright_config::{Config, Model};
use rankwright_event::Timestamp;
use rankwright_model::{MemoryVersions, Recommender, VersionStore};
use rankwright_recommend::ItemVectors;
use std::collections::{BTreeMap, HashSet};

fn model(text: &str) -> Model {
    let (config, _) = Config::parse(&format!("models: {{m: {text}}}"), "test").unwrap();
    config.models["m"].clone()
}

const BERT: &str = "{type: semantic, encoder: {type: bert, model: a/b, dim: 8}, itemFields: [title, text]}";

/// Items of one shelf (ten each, as [`shelves`] has them) point nearly the same way, and there are `apart` more without clicks.
fn by_shelf(apart: usize) -> ItemVectors {
    let mut items = ItemVectors::new(8);
    for item in (0..50 + apart).rev() {
        let mut vector = [0.01 * (item % 10) as f32; 8];
        vector[item / 10] = 1.0;
        items.push(&format!("i{item}"), &vector);
    }
    items
}

fn training<'a>(model: &'a Model, embed: &'a Embed<'a>, served: &'a BTreeMap<String, f32>) -> Training<'a> {
    Training { name: "m", model, columns: &[], served, embed, now: Timestamp::from_millis(1) }
}

fn train(
    model: &Model,
    embed: &Embed<'_>,
    records: Vec<Clickthrough>,
) -> Result<(MemoryVersions, crate::Trained), Error> {
    let (versions, served) = (MemoryVersions::default(), BTreeMap::new());
    let trained = training(model, embed, &served).run(&store(&[], records), &versions, &mut |_| ())?;
    Ok((versions, trained))
}

type Vectors = Result<ItemVectors, EmbedError>;

#[test]
fn items_are_similar_by_their_embeddings_and_one_that_nobody_clicked_is_recommended_as_well() {
    let embed = |_: &Semantic, _: &mut dyn FnMut(usize, usize)| -> Vectors { Ok(by_shelf(5)) };
    let (versions, trained) = train(&model(BERT), &embed, shelves()).unwrap();
    let version = versions.load("m", None).unwrap().unwrap();
    assert_eq!(version.metadata().kind.type_name(), "semantic");
    assert_eq!(version.metadata().metrics["RECALL@10"], 1.0);
    let quality = &trained.quality[0];
    // of the nine others on the shelf, three at most were seen
    assert!(quality.metric == "HIT@10" && quality.reranked > 0.8 && quality.random < 0.3, "{quality:?}");
    assert!(trained.answer.iterations.is_empty() && trained.answer.warnings.is_empty(), "{:?}", trained.answer);
    let served = Recommender::load(&version).unwrap();
    let found = |items: &[&str]| -> Vec<String> {
        let found = served.recommend(items, &HashSet::from(["i7"]), 4).unwrap();
        found.into_iter().map(|(item, _)| item.to_owned()).collect()
    };
    let shelf = found(&["i3"]);
    assert!(shelf.len() == 4 && shelf.iter().all(|item| item.len() == 2 && !["i3", "i7"].contains(&&**item)));
    assert_eq!(found(&["i54"]), ["i53", "i52", "i51", "i50"], "nobody clicked them");
    assert!(served.recommend(&["unknown"], &HashSet::new(), 4).is_err());
}

#[test]
fn without_any_interaction_there_is_a_version_all_the_same() {
    let embed = |_: &Semantic, _: &mut dyn FnMut(usize, usize)| -> Vectors { Ok(by_shelf(0)) };
    let (semantic, served) = (model(BERT), BTreeMap::new());
    let candidate = training(&semantic, &embed, &served).candidate(&store(&[], vec![]), None, &mut |_| ()).unwrap();
    let decision = decide(&semantic.learning().unwrap().gate, &candidate);
    assert!(decision.publish && decision.reason == Reason::FirstVersion, "{decision:?}");
    assert!(decision.message.contains("of only 0 visitors"), "{decision:?}");
}

#[test]
fn what_was_shown_measures_nothing() {
    let embed = |_: &Semantic, _: &mut dyn FnMut(usize, usize)| -> Vectors { Ok(by_shelf(0)) };
    let shown = |mut record: Clickthrough| {
        record.interactions.iter_mut().for_each(|interaction| interaction.kind = "impression".into());
        record
    };
    let records = shelves().into_iter().map(shown).collect();
    assert_eq!(train(&model(BERT), &embed, records).unwrap().1.test, 0);
}

#[test]
fn a_version_depends_on_items_and_embeddings_alone() {
    let embed = |_: &Semantic, _: &mut dyn FnMut(usize, usize)| -> Vectors { Ok(by_shelf(0)) };
    let body = |records| {
        let versions = train(&model(BERT), &embed, records).unwrap().0;
        versions.load("m", None).unwrap().unwrap().body().to_vec()
    };
    assert_eq!(body(vec![]), body(shelves()));
}

#[test]
fn the_gate_compares_with_the_running_version_by_the_same_visitors() {
    let good = |_: &Semantic, _: &mut dyn FnMut(usize, usize)| -> Vectors { Ok(by_shelf(0)) };
    let bad = |_: &Semantic, _: &mut dyn FnMut(usize, usize)| -> Vectors {
        let mut items = ItemVectors::new(8);
        (0..50).for_each(|item| items.push(&format!("i{item}"), &[(item % 7) as f32, (item % 11) as f32, 1.0]));
        Ok(items)
    };
    let (semantic, served) = (model(BERT), BTreeMap::new());
    let (versions, _) = train(&semantic, &good, shelves()).unwrap();
    let running = || Some(Running::Version(Box::new(versions.load("m", None).unwrap().unwrap())));
    let decided = |embed: &Embed<'_>| {
        let candidate = training(&semantic, embed, &served).candidate(&store(&[], shelves()), running(), &mut |_| ());
        decide(&semantic.learning().unwrap().gate, &candidate.unwrap())
    };
    let same = decided(&good);
    assert!(same.publish && same.running == Some(same.candidate), "{same:?}");
    let worse = decided(&bad);
    assert!(!worse.publish && worse.reason == Reason::Worse, "{worse:?}");
}

#[test]
fn progress_is_told_and_failures_name_the_model() {
    let (semantic, served) = (model(BERT), BTreeMap::new());
    let embed = |model: &Semantic, told: &mut dyn FnMut(usize, usize)| -> Vectors {
        assert_eq!(model.item_fields, ["title", "text"]);
        told(50, 50);
        Ok(by_shelf(0))
    };
    let mut steps = Vec::new();
    let mut progress = |step: Progress<'_>| {
        if let Progress::Embedding { done, of } = step {
            steps.push((done, of));
        }
    };
    let clicks = clicks(Some(1), &[1, 2], 1);
    training(&semantic, &embed, &served).candidate(&store(&[], clicks), None, &mut progress).unwrap();
    assert_eq!(steps, [(50, 50)]);
    let broken = |_: &Semantic, _: &mut dyn FnMut(usize, usize)| -> Vectors { Err("no such file".into()) };
    let error = train(&semantic, &broken, vec![]).unwrap_err();
    assert_eq!(error.to_string(), "failed to embed the items of model \"m\"");
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "no such file");
}

#[test]
fn nothing_to_embed_says_what_to_do() {
    let none = |_: &Semantic, _: &mut dyn FnMut(usize, usize)| -> Vectors { Ok(ItemVectors::new(8)) };
    let error = train(&model(BERT), &none, shelves()).unwrap_err().to_string();
    assert!(
        error.contains("no item in the state has a text in title or text") && error.contains("--rebuild"),
        "{error}"
    );
    let csv = model("{type: semantic, encoder: {type: csv, path: /e.csv, dim: 8}}");
    let error = train(&csv, &none, shelves()).unwrap_err().to_string();
    assert!(error.contains("the file of embeddings /e.csv has no line"), "{error}");
}
