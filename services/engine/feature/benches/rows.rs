//! What the features of a rank request cost beside its store: `cargo bench -p rankwright-feature`.

#![allow(missing_docs)]

use divan::{Bencher, counter::ItemsCount};
use rankwright_config::{Config, TextModel};
use rankwright_encoder::{EncodeError, Task};
use rankwright_event::{Event, Field, Interaction, ItemUpdate, RankedItem, Ranking, Tenant, Timestamp, Value};
use rankwright_feature::{Encode, Encoders, Plan, Purpose};
use rankwright_state::{Commit, Fetched, MemoryStore, Overlay, Position, Store, Writer};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

/// About what a shop of films uses: numbers, a category, rates, the visitor's history, diversity.
const FEATURES: &str = "
features:
  - {name: popularity, type: number, source: item.popularity, scope: item}
  - {name: vote_avg, type: number, source: item.vote_avg, scope: item}
  - {name: vote_cnt, type: number, source: item.vote_cnt, scope: item}
  - {name: budget, type: number, source: item.budget, scope: item}
  - {name: year, type: number, source: item.year, scope: item}
  - {name: runtime, type: number, source: item.runtime, scope: item}
  - {name: title_length, type: word_count, source: item.title, scope: item}
  - {name: genre, type: string, source: item.genres, scope: item, encode: index, values: [g0, g1, g2, g3, g4, g5, g6]}
  - {name: ctr, type: rate, top: click, bottom: impression, bucket: 24h, periods: [7, 30], normalize: {weight: 10}}
  - {name: profile, type: interacted_with, interaction: click, scope: session, count: 100, duration: 24h,
     field: [item.genres, item.actors, item.tags]}
  - {name: position, type: position, position: 5}
  - {name: divers_genres, type: diversity, source: item.genres}
  - {name: divers_actors, type: diversity, source: item.actors}
  - {name: divers_tags, type: diversity, source: item.tags}
  - {name: divers_year, type: diversity, source: item.year}
  - {name: divers_popularity, type: diversity, source: item.popularity}
models:
  none: {type: noop}
";

/// Matches of a query with a text of 8 words, one at a time.
const MATCHES: [&str; 4] = [
    "{type: term, language: en}",
    "{type: ngram, language: en, n: 3}",
    "{type: bm25, language: en, termFreq: samples/termfreq.json}",
    "{type: bi-encoder, model: a/b, dim: 384}",
];

/// A model of texts to which all are known: what a request costs beside it.
struct Known;

impl Encode for Known {
    fn task(&self) -> Task {
        Task::Embed
    }

    fn dim(&self) -> usize {
        384
    }

    fn digest(&self) -> &str {
        "known"
    }

    fn recall(&self, key: u128) -> Option<Arc<[f32]>> {
        Some((0..384).map(|place| scrambled(key as u64 ^ place) as f32 / u64::MAX as f32 - 0.5).collect())
    }

    fn embed(&self, texts: &[&str], _: Option<Instant>) -> Result<Vec<Arc<[f32]>>, EncodeError> {
        Ok(texts.iter().filter_map(|text| self.recall(text.len() as u128)).collect())
    }

    fn score(&self, _: &[(&str, &str)], _: Option<Instant>) -> Result<Vec<f32>, EncodeError> {
        Ok(Vec::new())
    }
}

struct AllKnown;

impl Encoders for AllKnown {
    fn open(&self, _: &TextModel) -> Result<Arc<dyn Encode>, String> {
        Ok(Arc::new(Known))
    }
}

const ITEMS: u64 = 2500;
const HISTORY: u64 = 20;

fn main() {
    divan::main();
}

/// The memory store is ready at once.
fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("a store in memory does not wait"),
    }
}

/// Spreads numbers: the finalizer of SplitMix64.
fn scrambled(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

fn name(item: u64) -> String {
    format!("{}", 1000 + item % ITEMS)
}

/// One of 500 words, of letters.
fn spelled(salt: u64) -> String {
    let number = scrambled(salt) % 500;
    (0..6).map(|place| char::from(b'a' + (scrambled(number * 10 + place) % 26) as u8)).collect()
}

fn film(item: u64) -> Event {
    let some = |word: &str, count: u64, kinds: u64| {
        let text = |place| format!("{word}{}", scrambled(item * 100 + place) % kinds).into();
        Value::Texts((0..count).map(text).collect())
    };
    let number = |salt: u64| Value::Number((scrambled(item + salt * 7919) % 10_000) as f64);
    let numbers = ["popularity", "vote_avg", "vote_cnt", "budget", "year", "runtime"];
    let mut fields: Vec<Field> = numbers.iter().zip(1..).map(|(name, salt)| Field::new(name, number(salt))).collect();
    fields.push(Field::new("title", "The Long Way to a Small Town".into()));
    let line = (0..8).map(|place| format!("{}ing", spelled(item * 100 + place))).collect::<Vec<_>>().join(" ");
    fields.push(Field::new("line", line.as_str().into()));
    fields.push(Field::new("genres", some("g", 1 + item % 4, 19)));
    fields.push(Field::new("actors", some("actor ", 3, 4000)));
    fields.push(Field::new("tags", some("tag ", 4 + item % 12, 3000)));
    let (id, timestamp) = (format!("film {item}").into(), Timestamp::from_millis(0));
    Event::Item(ItemUpdate { id, timestamp, tenant: Tenant::default(), item: name(item).into(), fields })
}

fn click(number: u64) -> Interaction {
    Interaction {
        id: format!("click {number}").into(),
        timestamp: Timestamp::from_millis(number as i64),
        tenant: Tenant::default(),
        ranking: None,
        user: None,
        session: Some("visit".into()),
        kind: "click".into(),
        item: name(scrambled(number)).into(),
        fields: vec![],
    }
}

/// A plan and the state that some events left.
fn shop(features: &str) -> (Plan, MemoryStore) {
    let (config, _) = Config::parse(features, "bench").expect("valid features");
    let store = MemoryStore::default();
    let plan = ready(Plan::compile_with(&config.features, &store, &AllKnown)).expect("compiles");
    let mut overlay = Overlay::default();
    (0..ITEMS).for_each(|item| plan.event(&film(item), &mut overlay));
    for number in 0..10 * ITEMS {
        let click = click(number);
        if number >= 10 * ITEMS - HISTORY {
            plan.interaction(&click, &mut overlay);
        }
        plan.unranked(&click, &[], &mut overlay);
    }
    let lease = ready(store.acquire(&Writer("bench".into()))).expect("acquires");
    let (commit, _): (Commit, _) = overlay.take(Position::default(), Position("1".into()));
    ready(store.commit(&lease, commit)).expect("commits");
    (plan, store)
}

fn request(number: u64, items: u64) -> Ranking {
    let item = |place| RankedItem {
        id: name(scrambled(number * 1000 + place)).into(),
        fields: vec![],
        label: None,
        score: None,
    };
    Ranking {
        id: format!("{number}").into(),
        timestamp: Timestamp::from_millis(10 * ITEMS as i64),
        tenant: Tenant::default(),
        user: None,
        session: Some("visit".into()),
        fields: vec![],
        items: (0..items).map(item).collect(),
    }
}

/// From a ranking to its matrix, reading included.
#[divan::bench(args = [24, 100])]
fn rows(bencher: Bencher<'_, '_>, items: u64) {
    let (plan, store) = shop(FEATURES);
    let requests: Vec<Ranking> = (0..500).map(|number| request(number, items)).collect();
    let mut turn = requests.iter().cycle();
    bencher.counter(ItemsCount::new(items)).bench_local(|| {
        let ranking = turn.next().expect("a cycle does not end");
        let mut fetched = Fetched::new(ready(store.read(&plan.reads(ranking))).expect("reads"));
        let keys = plan.follow(ranking, &fetched);
        let entities = ready(store.read(&keys)).expect("reads");
        fetched.add(keys, entities);
        plan.rows(ranking, &fetched, Purpose::Serving)
    });
}

/// The matrix of one `field_match` alone, by a query of 5 words: term, ngram, BM25, bi-encoder with stored vectors and a known query.
#[divan::bench(args = [0, 1, 2, 3])]
fn matches(bencher: Bencher<'_, '_>, method: usize) {
    let feature = format!(
        "{{name: m, type: field_match, rankingField: ranking.query, itemField: item.line, method: {}}}",
        MATCHES[method]
    );
    let (plan, store) = shop(&format!("features: [{feature}]\nmodels: {{none: {{type: noop}}}}"));
    let query = (0..5).map(spelled).collect::<Vec<_>>().join(" ");
    let asked = |number| Ranking { fields: vec![Field::new("query", query.as_str().into())], ..request(number, 100) };
    let read = |ranking: Ranking| (Fetched::new(ready(store.read(&plan.reads(&ranking))).expect("reads")), ranking);
    let requests: Vec<(Fetched, Ranking)> = (0..500).map(asked).map(read).collect();
    let mut turn = requests.iter().cycle();
    bencher.counter(ItemsCount::new(100_u64)).bench_local(|| {
        let (fetched, ranking) = turn.next().expect("a cycle does not end");
        let known = plan.texts(ranking, fetched).recall();
        plan.rows_with(ranking, fetched, &known, Purpose::Serving)
    });
}

/// From a configuration to its plan, with a column for each value of a category.
#[divan::bench(args = [1000, 100_000])]
fn compile(bencher: Bencher<'_, '_>, values: usize) {
    let listed = (0..values).map(|value| format!("value {value}")).collect::<Vec<_>>().join(", ");
    let feature = format!("{{name: v, type: string, source: item.v, encode: onehot, values: [{listed}]}}");
    let text = format!("features: [{feature}]\nmodels: {{none: {{type: noop}}}}");
    bencher.counter(ItemsCount::new(values)).bench_local(|| {
        let (config, _) = Config::parse(&text, "bench").expect("valid features");
        ready(Plan::compile(&config.features, &MemoryStore::default())).expect("compiles")
    });
}

/// The reading alone.
#[divan::bench(args = [24, 100])]
fn reading(bencher: Bencher<'_, '_>, items: u64) {
    let (plan, store) = shop(FEATURES);
    let requests: Vec<Ranking> = (0..500).map(|number| request(number, items)).collect();
    let mut turn = requests.iter().cycle();
    bencher.counter(ItemsCount::new(items)).bench_local(|| {
        let ranking = turn.next().expect("a cycle does not end");
        ready(store.read(&plan.reads(ranking))).expect("reads")
    });
}
