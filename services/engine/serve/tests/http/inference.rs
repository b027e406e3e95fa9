//! Text models by themselves, at each of the paths, with models that count letters.

use crate::service::{Answer, CONFIG, Service};
use axum::body::Body;
use rankwright_encoder::{EncodeError, Task};
use rankwright_serve::{Embedding, TextModel};
use serde_json::{Value, json};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

/// An embedding has the numbers of letters and blanks; a score is the number of words in common less the others.
pub(crate) struct Letters(pub(crate) Task);

impl TextModel for Letters {
    fn task(&self) -> Task {
        self.0
    }

    fn dim(&self) -> usize {
        2
    }

    fn embed(&self, texts: &[&str], deadline: Instant) -> Result<Vec<Embedding>, EncodeError> {
        texts.iter().map(|text| troubled(text, deadline).map(|()| vector(text))).collect()
    }

    fn score(&self, pairs: &[(&str, &str)], deadline: Instant) -> Result<Vec<f32>, EncodeError> {
        let one = |&(query, text): &(&str, &str)| {
            troubled(query, deadline)?;
            let common = text.split(' ').filter(|word| query.split(' ').any(|other| other == *word)).count();
            Ok(common as f32 * 2.0 - text.split(' ').count() as f32)
        };
        pairs.iter().map(one).collect()
    }
}

fn vector(text: &str) -> Embedding {
    let blanks = text.matches(' ').count();
    Arc::from([(text.chars().count() - blanks) as f32, blanks as f32])
}

/// Texts that stand for what may happen.
fn troubled(text: &str, deadline: Instant) -> Result<(), EncodeError> {
    match text {
        "late" => {
            thread::sleep(deadline.saturating_duration_since(Instant::now()));
            Err(EncodeError::OutOfTime)
        }
        "busy" => Err(EncodeError::Busy { waiting: 64 }),
        "broken" => Err(EncodeError::Failed { cause: "a secret of the machine".to_owned() }),
        "panic" => panic!("a fault of the model"),
        _ => Ok(()),
    }
}

async fn service_with(limits: &str) -> Service {
    let config = format!("{CONFIG}\napi: {{limits: {{{limits}}}}}");
    let (words, pairs) = (Arc::new(Letters(Task::Embed)), Arc::new(Letters(Task::Score)));
    Service::start_with(&config, |builder| builder.inference("words", words).inference("pairs", pairs)).await
}

async fn service() -> Service {
    service_with("maxItemsPerRequest: 1000").await
}

impl Service {
    async fn send(&self, path: &str, body: Value) -> Answer {
        self.post(path, body.to_string()).await
    }
}

const ENCODER: &str = "/inference/encoder/words";
const CROSS: &str = "/inference/cross/pairs";

#[tokio::test]
async fn texts_become_embeddings_in_their_order() {
    let service = service().await;
    let json = service.send(ENCODER, json!({"texts": ["a b", "", "longer"]})).await.json();
    assert_eq!(json["embeddings"], json!([[2.0, 1.0], [0.0, 0.0], [6.0, 0.0]]));
    assert!(json["took"].is_u64(), "{json}");
}

#[tokio::test]
async fn pairs_become_scores_in_their_order() {
    let service = service().await;
    let input =
        json!({"input": [{"query": "red shoe", "text": "blue hat"}, {"query": "red shoe", "text": "red shoe"}]});
    let json = service.send(CROSS, input).await.json();
    assert_eq!(json["scores"], json!([-2.0, 2.0]));
    assert!(json["took"].is_u64(), "{json}");
}

#[tokio::test]
async fn names_that_no_model_has_are_not_found_and_the_answer_helps() {
    let service = service().await;
    let unknown = service.post("/inference/encoder/wrds", "").await.error(404, "unknown_model", None);
    assert!(unknown.contains("pairs, words"), "{unknown}");
    let body = json!({"model": "gpt", "query": "q", "documents": ["a"], "input": "a"});
    for path in ["/v1/rerank", "/v2/rerank", "/v1/embeddings"] {
        let unknown = service.send(path, body.clone()).await.error(404, "unknown_model", Some("model"));
        assert!(unknown.contains("\"gpt\"") && unknown.contains("pairs, words"), "{unknown}");
    }
    assert!(!service.get("/metrics").await.text().contains("wrds"), "unknown names become no labels");
    let none = Service::start().await.post("/inference/cross/sbert", "").await.error(404, "unknown_model", None);
    assert!(none.contains("there are none"), "{none}");
}

#[tokio::test]
async fn a_model_that_computes_something_else_says_where_it_answers() {
    let service = service().await;
    let told = service.post("/inference/cross/words", "").await.error(404, "wrong_model_type", None);
    assert!(told.contains("bi-encoder") && told.contains("/inference/encoder/words"), "{told}");
    let told = service.post("/inference/encoder/pairs", "").await.error(404, "wrong_model_type", None);
    assert!(told.contains("cross-encoder") && told.contains("/inference/cross/pairs"), "{told}");
    let body = json!({"model": "words", "query": "q", "documents": ["a"]});
    let told = service.send("/v1/rerank", body).await.error(404, "wrong_model_type", Some("model"));
    assert!(told.contains("POST /v1/embeddings"), "{told}");
    let body = json!({"model": "pairs", "input": "a"});
    let told = service.send("/v1/embeddings", body).await.error(404, "wrong_model_type", Some("model"));
    assert!(told.contains("POST /v1/rerank"), "{told}");
}

#[tokio::test]
async fn bodies_that_are_not_what_is_expected_are_refused() {
    let service = service().await;
    for body in
        ["", "{", "[]", "null", "\u{0}", "{}", r#"{"texts": "a"}"#, r#"{"texts": [1]}"#, r#"{"texts": ["\ud800"]}"#]
    {
        service.post(ENCODER, body).await.error(400, "invalid_request", None);
    }
    for body in
        [r#"{"input": ["a"]}"#, r#"{"input": [{"query": "a"}]}"#, r#"{"input": [{"query": "\udfff", "text": "a"}]}"#]
    {
        service.post(CROSS, body).await.error(400, "invalid_request", None);
    }
    let refused = service.send("/v1/rerank", json!({"model": "pairs", "query": "q", "documents": [7]})).await;
    let message = refused.error(400, "invalid_request", None);
    assert!(message.contains("a document is a text"), "{message}");
    let zero = json!({"model": "pairs", "query": "q", "documents": ["a"], "top_n": 0});
    service.send("/v2/rerank", zero).await.error(400, "invalid_request", Some("top_n"));
}

#[tokio::test]
async fn lists_of_none_and_of_too_many_are_refused() {
    let service = service_with("maxItemsPerRequest: 3").await;
    let (none, four) = (json!([]), json!(["a", "b", "c", "d"]));
    for (list, told) in [(none, "empty"), (four, "4 items are too many: at most 3")] {
        let pairs: Vec<Value> =
            list.as_array().unwrap().iter().map(|text| json!({"query": "q", "text": text})).collect();
        let rerank = json!({"model": "pairs", "query": "q", "documents": list});
        for (path, body, at) in [
            (ENCODER, json!({"texts": list}), "texts"),
            (CROSS, json!({"input": pairs}), "input"),
            ("/v1/rerank", rerank.clone(), "documents"),
            ("/v2/rerank", rerank.clone(), "documents"),
            ("/v1/embeddings", json!({"model": "words", "input": list}), "input"),
        ] {
            let message = service.send(path, body).await.error(400, "invalid_request", Some(at));
            assert!(message.contains(told), "{path}: {message}");
        }
    }
}

#[tokio::test]
async fn texts_of_any_length_and_characters_are_taken() {
    let service = service().await;
    let long = "x".repeat(100_000);
    let body = json!({"texts": [long, "", "\u{0}\u{1}\n\u{7f}", "日本", "😀"], "whatever": {"is": ["ignored"]}});
    let json = service.send(ENCODER, body).await.json();
    assert_eq!(json["embeddings"], json!([[100_000.0, 0.0], [0.0, 0.0], [4.0, 0.0], [2.0, 0.0], [1.0, 0.0]]));
}

#[tokio::test]
async fn a_model_that_has_no_room_or_no_time_turns_requests_away() {
    let service = service_with("requestTimeout: 200ms").await;
    for (text, told) in [("busy", "64 batches are waiting"), ("late", "api.limits.requestTimeout")] {
        let answer = service.send(ENCODER, json!({"texts": [text]})).await;
        assert_eq!(answer.headers["retry-after"], "1");
        let message = answer.error(503, "overloaded", None);
        assert!(message.contains(told), "{message}");
    }
    let metrics = service.get("/metrics").await;
    for line in [
        "service_inference_failures_total{model=\"words\",reason=\"busy\"} 1",
        "service_inference_failures_total{model=\"words\",reason=\"time\"} 1",
        "service_inference_failures_total{model=\"pairs\",reason=\"busy\"} 0",
        "service_refused_requests_total{reason=\"overload\"} 1",
        "service_refused_requests_total{reason=\"time\"} 1",
    ] {
        assert!(metrics.text().contains(line), "{line}: {}", metrics.text());
    }
}

#[tokio::test]
async fn a_fault_of_a_model_is_one_internal_error_and_the_service_goes_on() {
    let service = service().await;
    for text in ["broken", "panic"] {
        let message = service.send(ENCODER, json!({"texts": [text]})).await.error(500, "internal", None);
        assert!(!message.contains("secret"), "{message}");
    }
    assert_eq!(service.send(ENCODER, json!({"texts": ["fine"]})).await.status, 200);
    assert!(service.get("/metrics").await.text().contains("service_refused_requests_total{reason=\"fault\"} 2"));
}

#[tokio::test]
async fn a_model_that_computes_for_long_keeps_nobody_from_asking_something_else() {
    let service = service_with("requestTimeout: 2s").await;
    let slow = service.send(ENCODER, json!({"texts": ["late"]}));
    let mut slow = std::pin::pin!(slow);
    assert!(futures_util::poll!(slow.as_mut()).is_pending(), "this thread is not blocked");
    assert_eq!(service.get("/health").await.status, 200);
    assert!(futures_util::poll!(slow.as_mut()).is_pending(), "it was answered meanwhile");
    slow.await.error(503, "overloaded", None);
}

#[tokio::test]
async fn requests_are_counted_by_model_and_models_are_told() {
    let service = service().await;
    service.send(ENCODER, json!({"texts": ["a", "b"]})).await;
    service.send("/v1/embeddings", json!({"model": "words", "input": "c"})).await;
    let metrics = service.get("/metrics").await;
    for line in [
        "service_inference_requests_total{model=\"words\"} 2",
        "service_inference_requests_total{model=\"pairs\"} 0",
        "service_inference_texts_total{model=\"words\"} 3",
        "service_inference_latency_seconds_count{model=\"words\"} 2",
    ] {
        assert!(metrics.text().contains(line), "{line}: {}", metrics.text());
    }
    let told = service.get("/status").await.json();
    assert_eq!(told["inference"]["words"], json!({"type": "bi-encoder", "dim": 2}));
    assert_eq!(told["inference"]["pairs"], json!({"type": "cross-encoder"}));
}

#[tokio::test]
async fn a_rerank_request_of_the_first_version_is_answered_best_first() {
    let service = service().await;
    let documents = json!(["blue hat", {"text": "red shoe", "id": 7}, "red hat"]);
    let body = json!({"model": "pairs", "query": "red shoe", "documents": documents, "top_n": 2});
    let json = service.send("/v1/rerank", body.clone()).await.json();
    assert_eq!((&json["model"], &json["usage"]["total_tokens"]), (&json!("pairs"), &json!(0)));
    let found = |place: usize| (&json["results"][place]["index"], &json["results"][place]["document"]);
    assert_eq!(found(0), (&json!(1), &json!({"text": "red shoe"})));
    assert_eq!(found(1), (&json!(2), &json!({"text": "red hat"})));
    assert_eq!(json["results"].as_array().unwrap().len(), 2);
    let relevance = |place: usize| json["results"][place]["relevance_score"].as_f64().unwrap();
    assert!((relevance(0) - 0.8808).abs() < 1e-4 && (relevance(1) - 0.5).abs() < 1e-9, "{json}");
    for (wanted, length) in [(json!(null), 3), (json!(true), 3), (json!(false), 2)] {
        let mut body = body.clone();
        body["return_documents"] = wanted;
        let json = service.send("/v1/rerank", body).await.json();
        assert_eq!(json["results"][0].as_object().unwrap().len(), length, "{json}");
    }
}

#[tokio::test]
async fn a_rerank_request_of_the_second_version_has_an_identity_and_no_texts() {
    let service = service().await;
    let body = json!({"model": "pairs", "query": "red", "documents": ["blue", "red", "green"], "max_tokens_per_doc": 4096, "return_documents": true});
    let json = service.send("/v2/rerank", body).await.json();
    let indexes: Vec<&Value> = json["results"].as_array().unwrap().iter().map(|found| &found["index"]).collect();
    assert_eq!(indexes, [1, 0, 2], "equal ones stay in their order");
    assert_eq!(json["results"][0].as_object().unwrap().len(), 2, "{json}");
    assert_eq!((json["id"].as_str().unwrap().len(), &json["meta"]["api_version"]["version"]), (36, &json!("2")));
    assert!(json.get("model").is_none() && json.get("usage").is_none(), "{json}");
}

#[tokio::test]
async fn embeddings_are_given_as_numbers_or_in_base64() {
    let service = service().await;
    let ask = |more: Value| {
        let mut body = json!({"model": "words", "input": ["a b", "c"], "user": "u"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        service.send("/v1/embeddings", body)
    };
    let json = ask(json!({"dimensions": 2})).await.json();
    let data = json!([{"object": "embedding", "index": 0, "embedding": [2.0, 1.0]},
        {"object": "embedding", "index": 1, "embedding": [1.0, 0.0]}]);
    let usage = json!({"prompt_tokens": 0, "total_tokens": 0});
    assert_eq!(json, json!({"object": "list", "data": data, "model": "words", "usage": usage}));
    let encoded = ask(json!({"encoding_format": "base64"})).await.json();
    assert_eq!(encoded["data"][0]["embedding"], "AAAAQAAAgD8=", "2 and 1 as 32-bit floats");
    assert_eq!(ask(json!({"encoding_format": null, "dimensions": null})).await.json(), json, "as if it were not there");
    ask(json!({"encoding_format": "hex"})).await.error(400, "invalid_request", None);
    let message = ask(json!({"dimensions": 3})).await.error(400, "invalid_request", Some("dimensions"));
    assert!(message.contains("2 dimensions"), "{message}");
    let tokens = ask(json!({"input": [[1, 2], [3]]})).await.error(400, "invalid_request", Some("input"));
    assert!(tokens.contains("send texts"), "{tokens}");
    ask(json!({"input": [1, 2]})).await.error(400, "invalid_request", Some("input"));
    ask(json!({"input": [1, "a"]})).await.error(400, "invalid_request", None);
    assert_eq!(ask(json!({"input": "a"})).await.json()["data"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn bodies_have_the_limits_of_other_requests() {
    let service = service_with("maxBodyBytes: 2000, maxConcurrentRequests: 1").await;
    let large = json!({"texts": ["x".repeat(2000)]}).to_string();
    service.post(ENCODER, large).await.error(413, "too_large", None);
    let slow = service.send(ENCODER, json!({"texts": ["a"]}));
    let never = Body::from_stream(futures_util::stream::pending::<Result<Vec<u8>, std::io::Error>>());
    let waiting = service.post(ENCODER, never);
    let mut waiting = std::pin::pin!(waiting);
    assert!(futures_util::poll!(waiting.as_mut()).is_pending());
    assert_eq!(slow.await.status, 200, "a body on its way takes no place");
}
