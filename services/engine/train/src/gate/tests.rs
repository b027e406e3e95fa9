#![allow(clippy::unwrap_used)]
use super::*;
use crate::quality::Running;
use crate::testing::{backend, clicked, column, lambda_mart, record, store};
use crate::{Trained, Training, digest};
use rankwright_clickthrough::{Clickthrough, Rows};
use rankwright_config::Model;
use rankwright_config::model::{Booster, LambdaMart, Learning, Metric};
use rankwright_event::Timestamp;
use rankwright_model::{Column, StoreError, Version};
use std::collections::BTreeMap;

/// Rankings of ten items; visitors click the one whose `liked` is highest, and `noise` says nothing.
fn rankings() -> Vec<Clickthrough> {
    let ranking = |id: usize| {
        let draw = |item: usize, column: u64| digest::uniform((id * 10 + item) as u64, column) as f32;
        let best = (0..10).max_by(|&left, &right| draw(left, 1).total_cmp(&draw(right, 1))).unwrap();
        let mut ranking = clicked(record(&id.to_string(), 10), &[best]);
        let values = (0..10).flat_map(|item| [draw(item, 1), draw(item, 2)]).collect();
        ranking.rows = Rows { width: 2, values };
        ranking.timestamp = Timestamp::from_millis(id as i64);
        ranking
    };
    (0..200).map(ranking).collect()
}

fn candidate(config: &LambdaMart, columns: &[Column], running: Option<Running>) -> Candidate {
    let store = store(&["liked", "noise"], rankings());
    let now = Timestamp::from_millis(1_000_000);
    let model = Model::LambdaMart(config.clone());
    let training =
        Training { name: "shop", model: &model, columns, served: &BTreeMap::new(), embed: &crate::no_embeddings, now };
    training.candidate(&store, running, &mut |_| ()).unwrap()
}

fn columns() -> Vec<Column> {
    vec![column("liked"), column("noise")]
}

fn version(features: &[&str]) -> Version {
    candidate(&lambda_mart(features), &columns(), None).trained.version
}

fn running(version: Version) -> Option<Running> {
    Some(Running::Version(Box::new(version)))
}

/// The version that runs, as it would be had it learned from these rankings with its clicks on other items.
fn misled(features: &[&str]) -> Version {
    let wrong = rankings().into_iter().map(|ranking| {
        let worst =
            (0..10).min_by(|&left, &right| ranking.rows.row(left)[0].total_cmp(&ranking.rows.row(right)[0])).unwrap();
        let mut other = clicked(record(ranking.ranking.as_str(), 10), &[worst]);
        (other.rows, other.timestamp) = (ranking.rows, ranking.timestamp);
        other
    });
    let store = store(&["liked", "noise"], wrong.collect());
    let (model, columns, now) = (Model::LambdaMart(lambda_mart(features)), columns(), Timestamp::from_millis(1));
    let training = Training {
        name: "shop",
        model: &model,
        columns: &columns,
        served: &BTreeMap::new(),
        embed: &crate::no_embeddings,
        now,
    };
    training.candidate(&store, None, &mut |_| ()).unwrap().trained.version
}

#[test]
fn the_first_version_is_published() {
    let config = lambda_mart(&["liked"]);
    let decision = decide(&config.learning.gate, &candidate(&config, &columns(), None));
    assert!(decision.publish && decision.reason == Reason::FirstVersion && decision.running.is_none());
    assert_eq!(decision.metric, "NDCG@10");
}

#[test]
fn a_version_that_is_as_good_as_the_running_one_is_published() {
    let config = lambda_mart(&["liked"]);
    let decision = decide(&config.learning.gate, &candidate(&config, &columns(), running(version(&["liked"]))));
    assert!(decision.publish && decision.reason == Reason::NotWorse, "{decision:?}");
    assert_eq!(decision.running, Some(decision.candidate), "the same model on the same lists");
}

#[test]
fn a_version_that_is_worse_by_more_than_the_margin_is_not() {
    let good = LambdaMart { backend: backend(Booster::XgBoost), ..lambda_mart(&["liked", "noise"]) };
    let trained = |margin| {
        let config = LambdaMart {
            learning: Learning {
                gate: Gate { metric: Some(Metric::Mrr), margin, weighting: None },
                ..good.learning.clone()
            },
            ..good.clone()
        };
        let mut candidate = candidate(&config, &columns(), running(version(&["liked", "noise"])));
        candidate.trained.quality[1].reranked -= 0.2; // as if it had learned less
        decide(&config.learning.gate, &candidate)
    };
    let decision = trained(0.01);
    assert!(!decision.publish && decision.reason == Reason::Worse && decision.metric == "MRR", "{decision:?}");
    assert!(decision.message.contains("worse than") && decision.message.contains("0.01"), "{}", decision.message);
    assert!(trained(0.5).publish, "a wide margin lets it pass");
}

#[test]
fn a_running_version_is_measured_on_the_lists_of_the_new_one() {
    let config = lambda_mart(&["liked"]);
    let decision = decide(&config.learning.gate, &candidate(&config, &columns(), running(misled(&["liked"]))));
    assert!(decision.publish && decision.running.unwrap() < 0.5, "{decision:?}");
}

#[test]
fn with_other_columns_the_order_as_shown_is_what_to_beat() {
    let of = |features: &[&str]| {
        let config = lambda_mart(features);
        decide(&config.learning.gate, &candidate(&config, &columns(), running(version(&["liked", "noise"]))))
    };
    let better = of(&["liked"]);
    assert!(better.publish && better.reason == Reason::BetterThanShown && better.running.is_none(), "{better:?}");
    assert!(better.message.contains("noise"), "names what differs: {}", better.message);
    let config = lambda_mart(&["liked"]);
    let mut equal = candidate(&config, &columns(), running(version(&["liked", "noise"])));
    equal.trained.quality[0].reranked = equal.trained.quality[0].shown;
    let equal = decide(&config.learning.gate, &equal);
    assert!(!equal.publish && equal.reason == Reason::NotBetterThanShown, "{equal:?}");
}

#[test]
fn a_running_version_that_cannot_be_read_does_not_stand_in_the_way() {
    let config = lambda_mart(&["liked"]);
    let damaged = StoreError::Unknown { model: "shop".into(), version: "v1".into() };
    let decision = decide(&config.learning.gate, &candidate(&config, &columns(), Some(Running::Unreadable(damaged))));
    assert!(decision.publish && decision.message.contains("cannot be read"), "{decision:?}");
}

#[test]
fn a_version_that_splits_nowhere_is_not_published_though_it_were_the_first() {
    let config = lambda_mart(&["liked"]);
    let mut candidate = candidate(&config, &columns(), None);
    candidate.trained.learned_nothing = true;
    let decision = decide(&config.learning.gate, &candidate);
    assert!(!decision.publish && decision.reason == Reason::LearnedNothing, "{decision:?}");
    assert!(decision.message.contains("160 rankings with 1600 items"), "{}", decision.message);
}

#[test]
fn what_could_not_be_measured_is_not_published() {
    let config = lambda_mart(&["liked"]);
    let mut candidate = candidate(&config, &columns(), None);
    candidate.trained = Trained { quality: Vec::new(), ..candidate.trained };
    let decision = decide(&config.learning.gate, &candidate);
    assert!(!decision.publish && decision.reason == Reason::NotMeasured);
    let json = serde_json::to_value(decision).unwrap();
    assert!(json["candidate"].is_null() && json["reason"] == "NotMeasured");
}

/// The same rankings, whose items stand at another place in each, so that positions can be told apart.
fn moved() -> Vec<Clickthrough> {
    let turned = |(number, mut ranking): (usize, Clickthrough)| {
        let name = |place: usize| format!("i{}", (place + number) % 10);
        for click in &mut ranking.interactions {
            click.item = name(click.item.as_str().trim_start_matches("item").parse().unwrap()).into();
        }
        ranking.items.iter_mut().enumerate().for_each(|(place, item)| item.id = name(place).into());
        ranking
    };
    rankings().into_iter().enumerate().map(turned).collect()
}

fn weighted(records: Vec<Clickthrough>) -> Candidate {
    let mut config = lambda_mart(&["liked"]);
    config.learning.gate.weighting = Some(rankwright_config::model::Weighting::default());
    let (model, columns) = (Model::LambdaMart(config), columns());
    let (now, served) = (Timestamp::from_millis(1_000_000), BTreeMap::new());
    let training =
        Training { name: "shop", model: &model, columns: &columns, served: &served, embed: &crate::no_embeddings, now };
    training.candidate(&store(&["liked", "noise"], records), running(version(&["liked"])), &mut |_| ()).unwrap()
}

#[test]
fn a_weighted_gate_compares_weighted_metrics() {
    let gate = Gate { metric: None, margin: 0.01, weighting: Some(Default::default()) };
    let candidate = weighted(moved());
    let decision = decide(&gate, &candidate);
    let figures = candidate.trained.quality[0].weighted.unwrap();
    assert_eq!((decision.reason, decision.metric.as_str()), (Reason::NotWorse, "NDCG@10 weighted"));
    assert_eq!((decision.candidate, decision.shown), (figures.served, figures.shown));
    assert!(figures.effective_lists > 1.0 && decision.running.is_some(), "{decision:?}");
    assert!(decision.message.starts_with("NDCG@10, weighted, "), "{}", decision.message);
}

#[test]
fn a_weighted_gate_publishes_nothing_where_positions_cannot_be_told_apart() {
    let gate = Gate { metric: None, margin: 0.01, weighting: Some(Default::default()) };
    let decision = decide(&gate, &weighted(rankings()));
    assert_eq!((decision.publish, decision.reason), (false, Reason::NotMeasured));
    assert!(
        decision.message.contains("NDCG@10 is not weighted: the examination of positions cannot be estimated"),
        "{}",
        decision.message
    );
}
