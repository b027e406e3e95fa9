//! A small shop for tests of features: say what happens, then look at the rows.

pub(crate) mod letters;

use crate::{ClosedInteraction, Effects, Encoded, Encoders, NoEncoders, Plan, Purpose, Texts};
use rankwright_config::Config;
use rankwright_event::{
    Event, Field, Interaction, ItemId, ItemUpdate, RankedItem, Ranking, Tenant, Timestamp, UserUpdate, Value,
};
use rankwright_state::{Entity, Fetched, Key, MemoryStore, Rows, Slot, Store, Stored};
use std::collections::HashMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// One visitor, one visit, a few items, and features over them.
pub(crate) struct Shop {
    plan: Plan,
    state: State,
    now: Timestamp,
    context: Vec<Field>,
    sent: Vec<(&'static str, Field)>,
    events: u32,
}

/// Everything that was written.
#[derive(Default)]
struct State(HashMap<Key, Arc<Entity>>);

impl State {
    fn fetched(&self, keys: &[Key]) -> Fetched {
        Fetched::new(self.entities(keys))
    }

    fn entities(&self, keys: &[Key]) -> Rows {
        keys.iter().map(|key| self.0.get(key).cloned()).collect()
    }
}

impl Effects for State {
    fn write(&mut self, key: &Key, slot: Slot, stored: Stored) {
        Arc::make_mut(self.0.entry(key.clone()).or_default()).absorb_value(slot, &stored);
    }
}

/// Result of a future that never waits, as those of the memory store.
pub(crate) fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the memory store never waits"),
    }
}

/// An error with all its causes.
pub(crate) fn told(error: &dyn std::error::Error) -> String {
    let cause = error.source().map(|cause| format!(": {}", told(cause)));
    format!("{error}{}", cause.unwrap_or_default())
}

/// Compares rows; NaN equals NaN.
pub(crate) fn assert_rows<const N: usize>(rows: &[Vec<f32>], expected: impl AsRef<[[f32; N]]>) {
    let same =
        |left: f32, right: f32| left == right || (left - right).abs() < 1e-6 || (left.is_nan() && right.is_nan());
    let expected = expected.as_ref();
    let equal = rows.len() == expected.len()
        && rows
            .iter()
            .zip(expected)
            .all(|(row, expected)| row.len() == N && row.iter().zip(expected).all(|(&left, &right)| same(left, right)));
    assert!(equal, "\n  found {rows:?}\nexpected {expected:?}");
}

impl Shop {
    pub(crate) fn new(feature: &str) -> Self {
        Self::with(&[feature])
    }

    pub(crate) fn with(features: &[&str]) -> Self {
        Self::encoded(features, &NoEncoders)
    }

    /// With models of texts.
    pub(crate) fn encoded(features: &[&str], encoders: &dyn Encoders) -> Self {
        let listed: String = features.iter().map(|feature| format!("  - {feature}\n")).collect();
        let (config, _) = Config::parse(&format!("features:\n{listed}models:\n  none: {{type: noop}}\n"), "test")
            .expect("valid features");
        let store = MemoryStore::default();
        let plan = ready(Plan::compile_with(&config.features, &store as &dyn Store, encoders)).expect("compiles");
        Self { plan, state: State::default(), now: Timestamp::from_millis(0), context: vec![], sent: vec![], events: 0 }
    }

    pub(crate) fn columns(&self) -> Vec<&str> {
        self.plan.columns().iter().map(|column| column.name.as_str()).collect()
    }

    pub(crate) fn at(mut self, seconds: i64) -> Self {
        self.now = Timestamp::from_millis(seconds * 1000);
        self
    }

    pub(crate) fn item<const N: usize>(self, id: &str, fields: [(&str, Value); N]) -> Self {
        self.event(|id_of_event, timestamp| {
            Event::Item(ItemUpdate {
                id: id_of_event.as_str().into(),
                timestamp,
                tenant: Tenant::default(),
                item: id.into(),
                fields: named(fields),
            })
        })
    }

    pub(crate) fn user<const N: usize>(self, fields: [(&str, Value); N]) -> Self {
        self.event(|id, timestamp| {
            Event::User(UserUpdate {
                id: id.as_str().into(),
                timestamp,
                tenant: Tenant::default(),
                user: "u".into(),
                fields: named(fields),
            })
        })
    }

    pub(crate) fn interaction(self, kind: &str, item: &str) -> Self {
        let interaction = self.one_interaction(kind, item);
        self.event(|_, _| Event::Interaction(interaction))
    }

    /// An interaction that has a field.
    pub(crate) fn interaction_with(self, kind: &str, item: &str, name: &str, value: impl Into<Value>) -> Self {
        let fields = vec![Field::new(name, value.into())];
        let interaction = Interaction { fields, ..self.one_interaction(kind, item) };
        self.event(|_, _| Event::Interaction(interaction))
    }

    /// An interaction without a ranking, in full.
    pub(crate) fn unranked(mut self, kind: &str, item: &str) -> Self {
        let interaction = self.one_interaction(kind, item);
        let fetched = self.state.fetched(self.plan.unranked_reads(&interaction).as_slice());
        self.plan.unranked(&interaction, fetched.named(), &mut self.state);
        self.interaction(kind, item)
    }

    pub(crate) fn asked(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.context = vec![Field::new(name, value.into())];
        self
    }

    pub(crate) fn sent(mut self, item: &'static str, name: &str, value: impl Into<Value>) -> Self {
        self.sent.push((item, Field::new(name, value.into())));
        self
    }

    /// A ranking was shown.
    pub(crate) fn shown<const N: usize>(self, items: [&str; N]) -> Self {
        let ranking = self.ranking(items);
        self.event(|_, _| Event::Ranking(ranking))
    }

    /// A ranking was shown, clicked and closed.
    pub(crate) fn closed<const N: usize, const C: usize>(mut self, items: [&str; N], clicks: [&str; C]) -> Self {
        let ranking = self.ranking(items);
        let click =
            |item: &&str| ClosedInteraction { timestamp: self.now, event: 0, kind: "click".into(), item: item.into() };
        let clicks: Vec<_> = clicks.iter().map(click).collect();
        let clicked = |item: &ItemId| clicks.iter().any(|click| click.item == *item);
        let items = self.state.fetched(&self.plan.closed_reads(&ranking, clicked));
        self.plan.closed(&ranking, items.named(), &clicks, &mut self.state);
        self
    }

    pub(crate) fn rows<const N: usize>(&self, items: [&str; N]) -> Vec<Vec<f32>> {
        self.matrix(items, Purpose::Serving)
    }

    pub(crate) fn training_rows<const N: usize>(&self, items: [&str; N]) -> Vec<Vec<f32>> {
        self.matrix(items, Purpose::Training)
    }

    /// Texts that rows need computed.
    pub(crate) fn texts<const N: usize>(&self, items: [&str; N]) -> Texts {
        let ranking = self.ranking(items);
        self.plan.texts(&ranking, &self.state.fetched(&self.plan.reads(&ranking)))
    }

    /// Rows where models computed this.
    pub(crate) fn rows_with<const N: usize>(&self, items: [&str; N], encoded: &Encoded) -> Vec<Vec<f32>> {
        let ranking = self.ranking(items);
        let fetched = self.state.fetched(&self.plan.reads(&ranking));
        let rows = self.plan.rows_with(&ranking, &fetched, encoded, Purpose::Serving);
        rows.chunks(self.plan.width()).map(<[f32]>::to_vec).collect()
    }

    /// Texts that are known to be needed before a ranking of these items comes in.
    pub(crate) fn foreseen<const N: usize>(&self, items: [&str; N]) -> Texts {
        self.plan.foreseen(&[Event::Ranking(self.ranking(items))])
    }

    /// Seconds at which the newest of what each feature read of each item was stored.
    pub(crate) fn newest<const N: usize>(&self, items: [&str; N]) -> Vec<Vec<(String, i64)>> {
        let ranking = self.ranking(items);
        let newest = self.plan.newest(&ranking, &self.whole(&ranking));
        let seconds = |(feature, time): (&str, Timestamp)| (feature.to_owned(), time.millis() / 1000);
        newest.into_iter().map(|of_item| of_item.into_iter().map(seconds).collect()).collect()
    }

    /// All that a ranking reads.
    fn whole(&self, ranking: &Ranking) -> Fetched {
        let mut fetched = self.state.fetched(&self.plan.reads(ranking));
        let keys = self.plan.follow(ranking, &fetched);
        let entities = self.state.entities(&keys);
        fetched.add(keys, entities);
        fetched
    }

    fn matrix<const N: usize>(&self, items: [&str; N], purpose: Purpose) -> Vec<Vec<f32>> {
        let ranking = self.ranking(items);
        let fetched = self.whole(&ranking);
        let rows = self.plan.rows(&ranking, &fetched, purpose);
        rows.chunks(self.plan.width()).map(<[f32]>::to_vec).collect()
    }

    fn ranking<const N: usize>(&self, items: [&str; N]) -> Ranking {
        let fields =
            |item: &str| self.sent.iter().filter(|(id, _)| *id == item).map(|(_, field)| field.clone()).collect();
        let item = |id: &&str| RankedItem { id: id.into(), fields: fields(id), label: None, score: None };
        Ranking {
            id: "r".into(),
            timestamp: self.now,
            tenant: Tenant::default(),
            user: Some("u".into()),
            session: Some("s".into()),
            fields: self.context.clone(),
            items: items.iter().map(item).collect(),
        }
    }

    fn one_interaction(&self, kind: &str, item: &str) -> Interaction {
        Interaction {
            id: format!("interaction {}", self.events).into(),
            timestamp: self.now,
            tenant: Tenant::default(),
            ranking: None,
            user: Some("u".into()),
            session: Some("s".into()),
            kind: kind.into(),
            item: item.into(),
            fields: vec![],
        }
    }

    fn event(mut self, event: impl FnOnce(String, Timestamp) -> Event) -> Self {
        self.events += 1;
        let event = event(format!("event {}", self.events), self.now);
        self.plan.event(&event, &mut self.state);
        self
    }
}

fn named<const N: usize>(fields: [(&str, Value); N]) -> Vec<Field> {
    fields.into_iter().map(|(name, value)| Field::new(name, value)).collect()
}
