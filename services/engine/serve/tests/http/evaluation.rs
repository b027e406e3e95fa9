//! Comparisons of models, which run in the background.

use crate::service::{Answer, CONFIG, Service, ranking};
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use parking_lot::Mutex;
use rankwright_serve::{Compared, Evaluated, Evaluation, Front, WorstRequest};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Ends as it is told to: with a list that was asked for by `u`, with a reason, or by a panic.
struct Told {
    unavailable: Option<String>,
    ends: Mutex<Receiver<Option<&'static str>>>,
}

impl Evaluation for Told {
    fn unavailable(&self) -> Option<String> {
        self.unavailable.clone()
    }

    fn evaluate(&self, compared: &Compared, progress: &mut (dyn FnMut(u64) + Send)) -> Result<Evaluated, String> {
        progress(5);
        match self.ends.lock().recv().expect("the test tells how it ends") {
            Some("panic") => panic!("as it was told"),
            Some(reason) => Err(reason.to_owned()),
            None => {
                let (model, relevant) = ("shop".to_owned(), vec!["b".to_owned()]);
                let list =
                    WorstRequest { model, time: 7, relevant, items: 2, body: ranking(&["a", "b"]).into_bytes().into() };
                Ok(Evaluated { report: json!({"model": "shop", "by": compared.by}), lists: vec![list] })
            }
        }
    }
}

type Ends = Sender<Option<&'static str>>;

async fn service(api: &str, unavailable: Option<&str>) -> (Service, Ends) {
    let (end, ends) = channel();
    let mut front = Front::new(Router::new());
    let told = Told { unavailable: unavailable.map(str::to_owned), ends: Mutex::new(ends) };
    front.evaluation = Some(Arc::new(told));
    (Service::start_with(&format!("{CONFIG}\n{api}"), |builder| builder.page(front)).await, end)
}

/// What `GET /evaluation` says once nothing runs.
async fn ended(service: &Service) -> Value {
    for _ in 0..10_000 {
        let now = service.get("/evaluation").await.json();
        if now["running"].is_null() {
            return now["last"].clone();
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("it does not end");
}

#[tokio::test]
async fn one_evaluation_runs_at_a_time_and_the_last_report_is_kept() {
    let (service, end) = service("", None).await;
    let nothing = json!({"unavailable": null, "running": null, "last": null});
    assert_eq!(service.get("/evaluation").await.json(), nothing);
    let begun = service.post("/evaluation", r#"{"models": ["shop"], "by": "query"}"#).await.json();
    assert_eq!(begun["running"]["compared"], json!({"models": ["shop"], "by": "query"}));
    assert!(begun["running"]["began"].as_u64().is_some_and(|time| time > 1_700_000_000_000), "{begun}");
    service.post("/evaluation", "{}").await.error(409, "evaluating_already", None);
    assert_eq!(service.post("/rank/shop", ranking(&["a"])).await.status, 200);
    end.send(None).unwrap();
    let last = ended(&service).await;
    assert_eq!((&last["report"], &last["problem"]), (&json!({"model": "shop", "by": "query"}), &Value::Null));
    service.post("/evaluation", "{}").await.json();
    end.send(Some("no ranking")).unwrap();
    let last = ended(&service).await;
    assert_eq!((&last["report"], &last["problem"]), (&Value::Null, &json!("no ranking")));
    service.post("/evaluation", "{}").await.json();
    end.send(Some("panic")).unwrap();
    assert_eq!(ended(&service).await["problem"], "the evaluation panicked: the log says where");
}

#[tokio::test]
async fn the_worst_lists_are_requests_to_look_at() {
    let (service, end) = service("api: {page: {sample: 3}}", None).await;
    service.price(&[("a", 1.0), ("b", 2.0)]).await;
    service.post("/rank/plain", ranking(&["a"])).await;
    service.post("/evaluation", "{}").await.json();
    end.send(None).unwrap();
    ended(&service).await;
    let requests = service.get("/requests").await.json()["requests"].clone();
    assert_eq!(requests[0]["relevant"], Value::Null, "what visitors asked for is before it");
    let list = &requests[1];
    assert_eq!((&list["relevant"], &list["model"], &list["time"]), (&json!(["b"]), &json!("shop"), &json!(7)));
    assert_eq!((&list["request"]["user"], &list["items"]), (&Value::Null, &json!(2)));
    let again = service.post(&format!("/requests/{}/rank/shop", list["number"]), "").await;
    assert_eq!(again.items(), ["b", "a"]);
}

#[tokio::test]
async fn what_cannot_be_evaluated_is_told() {
    let (none, _end) = service("", Some("there are no click-throughs")).await;
    assert_eq!(none.get("/evaluation").await.json()["unavailable"], "there are no click-throughs");
    let refused = none.post("/evaluation", "{}").await.error(409, "not_available", None);
    assert_eq!(refused, "there are no click-throughs");
    let front = Front::new(Router::new());
    let elsewhere = Service::start_with(CONFIG, |builder| builder.page(front)).await;
    let told = elsewhere.get("/evaluation").await.json();
    assert!(told["unavailable"].as_str().unwrap().contains("rankwright evaluate"), "{told}");
    elsewhere.post("/evaluation", "{}").await.error(409, "not_available", None);
    let (service, _end) = self::service("", None).await;
    service.post("/evaluation", "[]").await.error(400, "invalid_request", None);
    service.post("/evaluation", r#"{"model": "a"}"#).await.error(400, "invalid_request", None);
    let many = json!({"models": vec!["a"; 51]}).to_string();
    service.post("/evaluation", many).await.error(400, "invalid_request", Some("models"));
    assert_eq!(service.get("/evaluation").await.json()["running"], Value::Null, "none of them began");
}

#[tokio::test]
async fn an_evaluation_needs_the_token() {
    let (service, _end) = service("api: {token: secret}", None).await;
    for method in ["GET", "POST"] {
        let request = Request::builder().method(method).uri("/evaluation").body(Body::from("{}")).unwrap();
        let answer: Answer = service.ask(request).await;
        answer.error(401, "unauthorized", None);
    }
}
