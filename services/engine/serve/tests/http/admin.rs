//! `POST /train/{model}` and who may call it.

use crate::service::{CONFIG, Service, ranking};
use axum::body::Body;
use axum::http::Request;
use rankwright_config::Config;
use rankwright_serve::{App, Peer};
use serde_json::json;
use std::sync::Arc;

#[tokio::test]
async fn training_answers_with_its_summary_and_serves_the_new_version() {
    let service = Service::start().await;
    service.price(&[("a", 1.0), ("b", 2.0)]).await;
    assert_eq!(service.post("/rank/shop", ranking(&["a", "b"])).await.items(), ["b", "a"]);
    let answer = service.post("/train/shop", "").await;
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.json(),
        json!({"features": [{"name": "price", "weight": 1.0}], "iterations": [], "sizeBytes": 7})
    );
    assert_eq!(service.post("/rank/shop", ranking(&["a", "b"])).await.items(), ["a", "b"]);
    assert_eq!(service.get("/status").await.json()["models"]["shop"]["version"], "2");
}

#[tokio::test]
async fn training_that_cannot_be_done_says_why() {
    let service = Service::start().await;
    assert!(service.post("/train/new", "").await.error(409, "training_already", None).contains("already"));
    service.post("/train/dice", "").await.error(409, "cannot_train", None);
    assert!(service.post("/train/plain", "").await.error(500, "internal", None).contains("out of luck"));
    assert!(service.post("/train/shp", "").await.error(404, "unknown_model", None).contains("shop"));
}

#[tokio::test]
async fn a_process_without_boosters_names_the_command_that_trains() {
    let (config, _) = Config::parse(CONFIG, "test").unwrap();
    let service = Service::start().await;
    let app = App::builder(&config, service.state.clone(), service.loader.clone())
        .training_command("training-job --config shop.yml --model MODEL")
        .build()
        .unwrap();
    let service = Service { app, ..service };
    let message = service.post("/train/shop", "").await.error(409, "training_elsewhere", None);
    assert!(message.contains("training-job --config shop.yml --model shop"), "{message}");
    service.post("/feedback", "{}").await.error(409, "not_available", None);
}

#[tokio::test]
async fn admin_calls_need_the_token_where_there_is_one() {
    let service = Service::start_with(&format!("{CONFIG}\napi: {{token: s3cret}}"), |builder| builder).await;
    let call = |authorization: Option<&str>| {
        let mut request = Request::post("/train/shop");
        if let Some(value) = authorization {
            request = request.header("authorization", value);
        }
        service.ask(request.body(Body::empty()).unwrap())
    };
    for wrong in
        [None, Some("Bearer wrong"), Some("Bearer s3cre"), Some("Bearer s3cret2"), Some("Basic s3cret"), Some("s3cret")]
    {
        let answer = call(wrong).await;
        assert_eq!(answer.headers["www-authenticate"], "Bearer");
        answer.error(401, "unauthorized", None);
    }
    assert_eq!(call(Some("Bearer s3cret")).await.status, 200);
    assert_eq!(service.post("/rank/shop", ranking(&["a"])).await.status, 200, "others need none");
}

#[tokio::test]
async fn blanks_around_a_configured_token_are_no_part_of_it() {
    let config = format!("{CONFIG}\napi:\n  token: |\n    s3cret \n");
    let service = Service::start_with(&config, |builder| builder).await;
    let request = Request::post("/train/shop").header("authorization", "Bearer s3cret").body(Body::empty()).unwrap();
    assert_eq!(service.ask(request).await.status, 200);
}

#[tokio::test]
async fn the_log_s_level_is_changed_by_those_who_have_the_token() {
    fn set(filter: &str) -> Result<(), String> {
        if filter == "debug" { Ok(()) } else { Err(format!("no level: {filter}")) }
    }
    let service = Service::start_with(&format!("{CONFIG}\napi: {{token: s3cret}}"), |builder| builder.log(set)).await;
    let put = |token: &str, body: &'static str| {
        let request = Request::put("/log-level").header("authorization", format!("Bearer {token}"));
        request.body(Body::from(body)).unwrap()
    };
    service.ask(put("wrong", r#"{"filter": "debug"}"#)).await.error(401, "unauthorized", None);
    let answer = service.ask(put("s3cret", r#"{"filter": "debug"}"#)).await;
    assert_eq!((answer.status.as_u16(), answer.json()), (200, json!({"filter": "debug"})));
    let message =
        service.ask(put("s3cret", r#"{"filter": "trace"}"#)).await.error(400, "invalid_request", Some("filter"));
    assert_eq!(message, "no level: trace");
    let message =
        service.ask(put("s3cret", r#"{"filter": "loud"}"#)).await.error(400, "invalid_request", Some("filter"));
    assert!(message.contains("expected a level"), "{message}");
    service.ask(put("s3cret", "debug")).await.error(400, "invalid_request", None);
    let open = Service::start().await;
    let message = open.ask(put("any", r#"{"filter": "debug"}"#)).await.error(401, "unauthorized", None);
    assert!(message.contains("set api.token"), "{message}");
}

#[tokio::test]
async fn a_status_provider_has_its_entry() {
    struct Lag;
    impl rankwright_serve::Status for Lag {
        fn status(&self) -> serde_json::Value {
            json!({"lag": 3})
        }
    }
    let service = Service::start_with(CONFIG, |builder| builder.status("ingest", Arc::new(Lag))).await;
    assert_eq!(service.get("/status").await.json()["ingest"], json!({"lag": 3}));
}

#[tokio::test]
async fn ids_in_the_status_are_for_those_who_may_see_what_is_stored() {
    struct Named;
    impl rankwright_serve::Status for Named {
        fn status(&self) -> serde_json::Value {
            json!("list-7")
        }
        fn without_ids(&self) -> serde_json::Value {
            json!("hidden")
        }
    }
    let of = async |api: &str| {
        let config = format!("{CONFIG}\napi: {{{api}}}");
        Service::start_with(&config, |builder| builder.status("unknown", Arc::new(Named))).await
    };
    let told = async |service: &Service, peer: [u8; 4], authorization: &str| {
        let mut request = Request::get("/status").header("authorization", authorization).body(Body::empty()).unwrap();
        request.extensions_mut().insert(Peer(peer.into()));
        service.ask(request).await.json()["unknown"].clone()
    };
    let (here, elsewhere) = ([127, 0, 0, 1], [10, 0, 0, 7]);
    let service = of("").await;
    assert_eq!(told(&service, here, "").await, "list-7");
    assert_eq!(told(&service, elsewhere, "").await, "hidden");
    let service = of("token: s3cret").await;
    assert_eq!(told(&service, here, "").await, "hidden");
    assert_eq!(told(&service, elsewhere, "Bearer s3cret").await, "list-7");
}
