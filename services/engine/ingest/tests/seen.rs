//! What visitors took, as recommenders that leave it out have it stored.
#![allow(missing_docs, reason = "a test says what it shows by its name")]

mod common;

use common::{Service, apply};
use rankwright_clickthrough::MemoryStore as Clickthroughs;
use rankwright_config::Config;
use rankwright_event::{Event, Interaction, Tenant, Timestamp};
use rankwright_feature::seen;
use rankwright_state::{Entity, Key, MemoryStore, Scope};
use std::sync::Arc;

const MODELS: &str = "
features:
  - {name: clicks, type: interaction_count, interaction: click, scope: user}
models:
  similar: {type: als, interactions: [click, buy], excludeSeen: true}
";

fn took(id: usize, kind: &str, item: usize, seconds: usize) -> Event {
    Event::Interaction(Interaction {
        id: format!("e{id}").into(),
        timestamp: Timestamp::from_millis(1000 * seconds as i64),
        tenant: Tenant::default(),
        ranking: None,
        user: Some("u".into()),
        session: Some("s".into()),
        kind: kind.into(),
        item: format!("p{item}").into(),
        fields: vec![],
    })
}

/// Items 0 to 119, one each second; item 7 was clicked again at last, item 100 was bought before, and others were looked at.
fn events() -> Vec<Event> {
    let mut events: Vec<Event> = (0..120).map(|item| took(item, "click", item, 10 + item)).collect();
    events.extend([took(200, "click", 7, 500), took(201, "buy", 100, 1), took(202, "view", 300, 600)]);
    events
}

async fn service() -> Service {
    Service::with(MODELS, Arc::new(MemoryStore::default()), |header| {
        Arc::new(Clickthroughs::new(header).expect("memory"))
    })
    .await
}

async fn visitor(service: &Service) -> Arc<Entity> {
    let key = Key::new(&Tenant::default(), Scope::User("u".into()));
    service.state.read(&[key]).await.expect("reads").remove(0).expect("the visitor is known")
}

async fn items(service: &Service) -> Vec<String> {
    let (config, _) = Config::parse(MODELS, "test").expect("a valid configuration");
    let slot = service.plan.seen(&config.models["similar"]).expect("it is stored");
    let visitor = visitor(service).await;
    seen::items(&visitor, slot).map(str::to_owned).collect()
}

#[tokio::test]
async fn the_newest_hundred_items_are_kept_each_once() {
    let service = service().await;
    service.import(events()).await;
    let newest = std::iter::once(7).chain((21..120).rev());
    let expected: Vec<String> = newest.map(|item| format!("p{item}")).collect();
    assert_eq!(items(&service).await, expected);
}

#[tokio::test]
async fn order_batches_and_repetitions_make_no_difference() {
    let expected = service().await;
    expected.import(events()).await;
    let backwards: Vec<Event> = events().into_iter().rev().collect();
    let shuffled: Vec<Event> = (0..events().len()).map(|at| events().swap_remove(at * 50 % 123)).collect();
    for events in [backwards, shuffled] {
        let service = service().await;
        let mut ingest = service.ingest().await;
        for some in events.chunks(7) {
            apply(&mut ingest, some.to_vec()).await;
        }
        drop(ingest);
        let mut ingest = service.ingest().await;
        apply(&mut ingest, events[..40].to_vec()).await; // as a client that had no answer does
        ingest.finish().await.expect("finishes");
        assert_eq!(items(&service).await, items(&expected).await);
    }
}
