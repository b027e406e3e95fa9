//! What the state holds of items and visitors.

use crate::service::{Answer, CONFIG, Service, ranking};
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use rankwright_config::Shown;
use rankwright_event::{Tenant, Timestamp};
use rankwright_serve::front::StoredAs;
use rankwright_serve::{Forget, ForgetError, Forgotten, Front};
use rankwright_state::{
    BoxFuture, Cell, Commit, Entity, FieldValue, Key, Outcome, Position, Recent, Scope, Slot, Store, Stored, Visit,
    Windows, Writer,
};
use serde_json::json;
use std::sync::Arc;

const PAGE: &str = "api: {page: {item: {title: name, price: price}}}";

fn stored_as(slot: u16, name: &str, feature: &str) -> StoredAs {
    StoredAs { slot: Slot(slot), name: name.to_owned(), features: vec![feature.to_owned()] }
}

/// A service that knows of three slots.
async fn service() -> Service {
    let mut front = Front::new(Router::new());
    front.stored = vec![
        stored_as(0, "item.price", "price"),
        stored_as(1, "item.name", "api.page"),
        stored_as(2, "recent \"click\" by user", "clicked"),
    ];
    Service::start_with(&format!("{CONFIG}\n{PAGE}"), |builder| builder.page(front)).await
}

/// Stores values of one entity, all of the same time.
async fn store(service: &Service, scope: Scope, values: Vec<(u16, Cell)>) {
    let state = &service.state.store;
    let lease = state.acquire(&Writer("values".into())).await.unwrap();
    let at = Timestamp::from_millis(7);
    let values = values.into_iter().map(|(slot, cell)| (Slot(slot), Stored { at, event: 0, cell })).collect();
    let writes = [(Key::new(&Tenant::default(), scope), Entity::from_values(values))].into_iter().collect();
    let to = Position(format!("{} more", lease.position.0));
    let commit = Commit { from: lease.position.clone(), to, writes, ..Commit::default() };
    assert_eq!(state.commit(&lease, commit).await.unwrap(), Outcome::Applied);
}

fn text(text: &str) -> Cell {
    Cell::Field(FieldValue::Text(text.into()))
}

#[tokio::test]
async fn values_have_their_names_their_readers_and_their_times() {
    let service = service().await;
    let price = Cell::Field(FieldValue::Number(7.5));
    let windows = Windows::of(3, 4, 9);
    store(&service, Scope::Item("a/b".into()), vec![(0, price), (1, text("A <b>")), (9, Cell::Windows(windows))]).await;
    let json = service.get("/items/a%2Fb").await.json();
    assert_eq!((&json["id"], json["bytes"].as_u64().is_some_and(|bytes| bytes > 10)), (&json!("a/b"), true));
    let expected = json!([
        {"name": "item.price", "features": ["price"], "value": 7.5, "time": 7},
        {"name": "item.name", "features": ["api.page"], "value": "A <b>", "time": 7},
        {"name": "of a feature that is no longer configured", "features": [], "value": 4, "time": 7},
    ]);
    assert_eq!(json["values"], expected);
}

#[tokio::test]
async fn a_visitor_is_looked_up_in_its_tenant() {
    let service = service().await;
    let visit = |millis, item: &str| Visit { at: Timestamp::from_millis(millis), event: 0, item: item.into() };
    let recent = Recent::from_parts(5, vec![visit(2, "b"), visit(1, "a")]).unwrap();
    store(&service, Scope::User("u".into()), vec![(2, Cell::Recent(recent))]).await;
    let json = service.get("/users/u").await.json();
    assert_eq!(json["values"][0]["value"], json!(["b", "a"]));
    assert_eq!(json["values"][0]["times"], json!([2, 1]), "when each of them was clicked");
    for path in ["/users/u?tenant=other", "/users/nobody", "/items/u"] {
        service.get(path).await.error(404, "not_found", None);
    }
    assert_eq!(service.get("/users/u?tenant=default").await.status, 200);
}

#[tokio::test]
async fn items_have_the_title_and_price_that_the_page_shows() {
    let service = service().await;
    store(&service, Scope::Item("a".into()), vec![(1, text("A"))]).await;
    store(&service, Scope::Item("b".into()), vec![(0, Cell::Field(FieldValue::Number(2.0)))]).await;
    store(&service, Scope::Item("c,d;e".into()), vec![(1, text("C"))]).await;
    let json = service.get("/items?id=a&id=b&id=nothing&id=c%2Cd%3Be").await.json();
    let expected = json!({
        "a": {"title": "A", "price": null, "image": null},
        "b": {"title": null, "price": 2.0, "image": null},
        "c,d;e": {"title": "C", "price": null, "image": null},
    });
    assert_eq!(json["items"], expected);
    for nothing in ["/items?id=", "/items?id=a&tenant=other"] {
        assert_eq!(service.get(nothing).await.json(), json!({"items": {}}), "{nothing}");
    }
    service.get("/items").await.error(400, "invalid_request", None);
    let many = "id=x&".repeat(1001);
    service.get(&format!("/items?{many}")).await.error(400, "invalid_request", Some("id"));
}

#[tokio::test]
async fn a_store_that_is_away_is_told_as_such() {
    let service = service().await;
    service.break_state(true);
    for path in ["/items/a", "/users/u", "/items?id=a"] {
        assert!(service.get(path).await.error(503, "unavailable", None).contains("connection refused"), "{path}");
    }
}

#[tokio::test]
async fn the_configuration_is_shown_as_the_program_tells_it() {
    let mut front = Front::new(Router::new());
    let (configuration, defaults) = (json!({"api": {"token": "hidden", "port": 80}}), vec!["api.port".to_owned()]);
    let environment = [("api.token".to_owned(), "RANKWRIGHT_API_TOKEN".to_owned())].into();
    front.configuration = Shown { configuration, defaults, environment };
    front.warnings = vec!["careful".to_owned()];
    let service = Service::start_with(CONFIG, |builder| builder.page(front)).await;
    let expected = json!({
        "configuration": {"api": {"token": "hidden", "port": 80}}, "defaults": ["api.port"],
        "environment": {"api.token": "RANKWRIGHT_API_TOKEN"}, "warnings": ["careful"],
    });
    assert_eq!(service.get("/configuration").await.json(), expected);
}

/// Forgets users, and no items.
struct Users;

impl Forget for Users {
    fn forget(&self, key: Key) -> BoxFuture<'_, Result<Forgotten, ForgetError>> {
        Box::pin(async move {
            match key.scope {
                Scope::User(user) if user.as_str() == "broken" => Err(ForgetError::Failed("no answer".to_owned())),
                Scope::User(user) if user.as_str() == "late" => Err(ForgetError::Busy),
                Scope::User(user) => {
                    Ok(Forgotten { removed: vec![format!("{user} of {}", key.tenant)], ..Forgotten::default() })
                }
                _ => Err(ForgetError::Elsewhere("stop the service".to_owned())),
            }
        })
    }
}

async fn delete(service: &Service, path: &str) -> Answer {
    service.ask(Request::builder().method("DELETE").uri(path).body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn what_is_forgotten_is_in_no_kept_request_either() {
    let mut front = Front::new(Router::new());
    front.forget = Some(Arc::new(Users));
    let service = Service::start_with(CONFIG, |builder| builder.page(front)).await;
    service.post("/rank/shop", ranking(&["a"])).await;
    assert!(delete(&service, "/items/a").await.error(409, "not_available", None).contains("stop the service"));
    assert!(delete(&service, "/users/late").await.error(503, "overloaded", None).contains("try again later"));
    assert_eq!(service.get("/requests").await.json()["requests"].as_array().map(Vec::len), Some(1));
    assert!(delete(&service, "/users/broken").await.error(503, "unavailable", None).contains("no answer"));
    assert_eq!(service.get("/requests").await.json()["requests"], json!([]), "a part may be gone");
    service.post("/rank/shop", ranking(&["a"])).await;
    let forgotten = delete(&service, "/users/u?tenant=t").await.json();
    assert_eq!(forgotten, json!({"removed": ["u of t"], "left": []}));
    assert_eq!(service.get("/requests").await.json()["requests"], json!([]));
}

/// Of another tenant than the caller means, everything would be shown, or gone.
#[tokio::test]
async fn a_parameter_that_is_written_wrong_is_refused() {
    let mut front = Front::new(Router::new());
    front.forget = Some(Arc::new(Users));
    let service = Service::start_with(CONFIG, |builder| builder.page(front)).await;
    for path in ["/users/u?tennant=t", "/items/a?Tenant=t", "/users/u?tenant=t&all=true"] {
        let told = delete(&service, path).await.error(400, "invalid_request", None);
        assert!(told.contains("unknown field"), "{path}: {told}");
        service.get(path).await.error(400, "invalid_request", None);
    }
    for query in ["id=a&tennant=t", "id=a&tenant=t&tenant=u", "ids=a", "tenant=t"] {
        service.get(&format!("/items?{query}")).await.error(400, "invalid_request", None);
    }
}

#[tokio::test]
async fn a_program_that_does_not_forget_names_the_command_that_does() {
    let service = service().await;
    assert!(delete(&service, "/users/u").await.error(409, "not_available", None).contains("rankwright forget"));
}
