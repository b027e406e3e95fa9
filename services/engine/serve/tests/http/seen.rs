//! Recommendations without what the visitor took already.

use crate::service::{Service, trained};
use rankwright_config::Config;
use rankwright_event::ItemId;
use rankwright_event::json::decode;
use rankwright_feature::{NoEncoders, Plan};
use rankwright_model::version::Kind;
use rankwright_model::{MemoryVersions, Place, Version, VersionStore};
use rankwright_recommend::{Trending, Weight};
use rankwright_serve::{App, Published};
use rankwright_state::forget::without_item;
use rankwright_state::{Commit, Key, Outcome, Overlay, Position, Scope, Space, Store, Writer};
use serde_json::{Value, json};
use std::sync::Arc;

const CONFIG: &str = "
models:
  fresh: {type: trending, weights: [{interaction: click}, {interaction: buy}], excludeSeen: true}
  bought: {type: trending, weights: [{interaction: click}], excludeSeen: [buy]}
  plain: {type: trending, weights: [{interaction: click}]}
  similar: {type: als, interactions: [click], excludeSeen: true}
";

/// Two hundred items, the most popular first.
fn popular() -> Vec<u8> {
    let weights: Vec<Weight> =
        (0..200).map(|place| Weight { weight: 1000.0 - f64::from(place), ..Weight::default() }).collect();
    let ids: Vec<String> = (0..200).map(id).collect();
    Trending::fit(ids.iter().enumerate().map(|(place, id)| (id.as_str(), place, 0)), &weights, 0).to_bytes()
}

fn id(place: usize) -> String {
    format!("p{place:03}")
}

fn version(model: &str) -> Version {
    trained(model, Kind::Trending, popular())
}

struct Shop {
    service: Service,
    plan: Plan,
}

impl Shop {
    async fn open() -> Self {
        let service = Service::cold(CONFIG, |builder| builder).await;
        let (config, _) = Config::parse(CONFIG, "test").unwrap();
        let plan = Plan::of(&config, &*service.state, &NoEncoders).await.unwrap();
        let versions = Arc::<MemoryVersions>::default();
        ["fresh", "bought", "plain"].iter().for_each(|model| versions.publish(&version(model), Place::Any).unwrap());
        let loader = Arc::new(Published::new(&config.features, service.state.clone(), versions));
        let builder = App::builder(&config, service.state.clone(), loader);
        let told = config.models.iter().filter_map(|(name, model)| Some((name, plan.seen(model)?)));
        let app = told.fold(builder, |builder, (name, slot)| builder.seen(name, slot)).build().unwrap();
        app.prepare().await;
        Self { service: Service { app, ..service }, plan }
    }

    /// Takes in interactions: type, visitor, item, in the order of time.
    async fn interact(&self, interactions: &[(&str, &str, usize)]) {
        let lease = self.service.state.acquire(&Writer("test".into())).await.unwrap();
        let mut overlay = Overlay::default();
        for (second, (kind, user, item)) in interactions.iter().enumerate() {
            let event = json!({
                "event": "interaction", "id": format!("{kind}-{second}"), "timestamp": (1000 * second).to_string(),
                "user": user, "type": kind, "item": id(*item),
            });
            self.plan.event(&decode(event.to_string().as_bytes()).unwrap(), &mut overlay);
        }
        let to = Position(format!("{}.", lease.position.0));
        let (commit, _): (Commit, u64) = overlay.take(lease.position.clone(), to);
        assert_eq!(self.service.state.commit(&lease, commit).await.unwrap(), Outcome::Applied);
    }

    async fn answer(&self, model: &str, request: Value) -> Value {
        let answer = self.service.post(&format!("/recommend/{model}"), request.to_string()).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }

    /// Places of the items that three recommendations name.
    async fn three(&self, model: &str, request: Value) -> Vec<usize> {
        let mut request = request;
        request["count"] = json!(3);
        places(&self.answer(model, request).await)
    }
}

fn places(answer: &Value) -> Vec<usize> {
    let items = answer["items"].as_array().unwrap();
    items.iter().map(|item| item["item"].as_str().unwrap()[1..].parse().unwrap()).collect()
}

#[tokio::test]
async fn what_a_visitor_took_is_left_out_by_the_models_that_say_so() {
    let shop = Shop::open().await;
    shop.interact(&[
        ("click", "ann", 0),
        ("buy", "ann", 2),
        ("view", "ann", 1),
        ("click", "bob", 1),
        ("click", "ann", 0),
    ])
    .await;
    let ann = json!({"user": "ann"});
    assert_eq!(shop.three("fresh", ann.clone()).await, [1, 3, 4], "views are none of what it learns from");
    assert_eq!(shop.three("bought", ann.clone()).await, [0, 1, 3]);
    assert_eq!(shop.three("plain", ann.clone()).await, [0, 1, 2]);
    assert_eq!(shop.three("fresh", json!({"user": "bob"})).await, [0, 2, 3]);
    for nobody in [json!({}), json!({"user": null}), json!({"user": "eve"}), json!({"user": "ann", "tenant": "other"})]
    {
        assert_eq!(shop.three("fresh", nobody.clone()).await, [0, 1, 2], "{nobody}");
    }
    let more = json!({"user": "ann", "tenant": "default", "items": ["p001"], "exclude": ["p003"]});
    assert_eq!(shop.three("fresh", more).await, [4, 5, 6]);
    // no version of its own: another model answers, and what is left out is still what this one says
    let instead = shop.answer("similar", json!({"user": "ann", "count": 3, "items": ["p005"]})).await;
    assert!(instead["fallback"].as_str().is_some_and(|why| why.ends_with("answers in its place")), "{instead}");
    assert_eq!(places(&instead), [1, 2, 3], "only the click");
}

#[tokio::test]
async fn a_hundred_items_are_left_out_and_the_answer_is_as_long_as_asked_for() {
    let shop = Shop::open().await;
    let clicks: Vec<_> = (0..130).map(|place| ("click", "ann", place)).collect();
    shop.interact(&clicks).await;
    let answer = shop.answer("fresh", json!({"user": "ann", "count": 90})).await;
    let expected: Vec<usize> = (0..30).chain(130..190).collect();
    assert_eq!(places(&answer), expected, "of 130 the newest 100 are known");
    assert!(answer.get("fallback").is_none(), "{answer}");
    let all = shop.answer("fresh", json!({"user": "ann", "count": 1000})).await;
    assert_eq!((places(&all).len(), all["fallback"].as_str()), (100, Some("the model has only 100 of 1000 items")));
}

#[tokio::test]
async fn a_visitor_and_an_item_that_are_forgotten_are_unknown() {
    let shop = Shop::open().await;
    shop.interact(&[("click", "ann", 0), ("click", "ann", 1), ("click", "bob", 0)]).await;
    let state = &shop.service.state;
    let (tenant, item) = (Default::default(), ItemId::from(id(0)));
    let rows = state.store.scan(Space::Values).await.unwrap();
    let left: Vec<(Key, Option<_>)> = rows
        .into_iter()
        .filter_map(|(key, entity)| Some((key.clone(), Some(without_item(&key, &entity, &tenant, &item)?))))
        .collect();
    assert_eq!(left.len(), 2, "both visitors know it");
    assert!(left.iter().any(|(key, _)| key.scope == Scope::User("ann".into())));
    for (_, entity) in left {
        let names: Vec<String> = entity.iter().map(|entity| format!("{entity:?}")).collect();
        assert!(!names.concat().contains("p000"), "{names:?}");
    }
}

#[tokio::test]
async fn while_the_state_does_not_answer_nothing_is_left_out_and_the_answer_says_so() {
    let shop = Shop::open().await;
    shop.interact(&[("click", "ann", 0)]).await;
    shop.service.break_state(true);
    let answer = shop.answer("fresh", json!({"user": "ann", "count": 3})).await;
    assert_eq!(places(&answer), [0, 1, 2]);
    let fallback = answer["fallback"].as_str().unwrap_or_default();
    assert!(fallback.ends_with("what the visitor took is not left out"), "{answer}");
    assert!(shop.answer("plain", json!({"user": "ann", "count": 3})).await.get("fallback").is_none());
    let instead = shop.answer("similar", json!({"user": "ann", "count": 3, "items": ["p005"]})).await;
    let why: Vec<&str> = instead["fallback"].as_str().unwrap_or_default().split("; ").collect();
    assert!(why.len() == 3 && why[0].ends_with("what the visitor took is not left out"), "{instead}");
    assert!(why[1].contains("not trained yet") && why[2].ends_with("answers in its place"), "{instead}");
    assert_eq!(places(&instead), [0, 1, 2]);
    let metrics = shop.service.get("/metrics").await;
    let counted = r#"service_recommend_fallbacks_total{model="fresh",reason="store"} 1"#;
    assert!(metrics.text().contains(counted), "{}", metrics.text());
}
