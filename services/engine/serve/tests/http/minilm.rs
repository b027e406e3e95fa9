//! Text models by themselves, with MiniLM.

use crate::service::{CONFIG, Service};
use rankwright_encoder::{Encoder, FileNames, Files, Runtime, Settings};
use serde_json::{Value, json};
use std::env;
use std::path::PathBuf;
use std::sync::Arc;

/// A service with `words`, which embeds, and `pairs`, which scores. Without the folder of models a test is skipped, or fails where
/// `RANKWRIGHT_REQUIRE_ALL` is 1.
async fn service() -> Option<Service> {
    let folder = env::var_os("RANKWRIGHT_ENCODERS_DIR").map(PathBuf::from).filter(|folder| folder.is_dir());
    let Some(folder) = folder else {
        let missing = "RANKWRIGHT_ENCODERS_DIR names no folder filled by services/engine/encoder/native/fetch.sh";
        assert!(env::var("RANKWRIGHT_REQUIRE_ALL").as_deref() != Ok("1"), "{missing}");
        eprintln!("SKIPPED: {missing}");
        return None;
    };
    let runtime = Runtime::open(&folder).unwrap();
    let open = |name: &str| {
        let files = Files::of(&folder.join("models/test").join(name), &FileNames::default()).unwrap();
        Arc::new(Encoder::open(&runtime, &files, Settings { threads: 1, batch: 1, ..Settings::default() }).unwrap())
    };
    let (words, pairs) = (open("minilm-f32"), open("minilm-cross"));
    Some(Service::start_with(CONFIG, |builder| builder.inference("words", words).inference("pairs", pairs)).await)
}

fn vectors(list: &Value) -> Vec<Vec<f64>> {
    let vector = |value: &Value| value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect();
    list.as_array().unwrap().iter().map(vector).collect()
}

fn cosine(left: &[f64], right: &[f64]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    dot(left, right) / (dot(left, left) * dot(right, right)).sqrt()
}

#[tokio::test]
async fn texts_that_mean_alike_have_embeddings_that_are_near() {
    let Some(service) = service().await else { return };
    let long = "running ".repeat(12_500);
    let texts = json!({"texts": ["running shoes", "sneakers for jogging", "a cheese cake", "", long]});
    let json = service.post("/inference/encoder/words", texts.to_string()).await.json();
    let found = vectors(&json["embeddings"]);
    assert!(found.len() == 5 && found.iter().all(|vector| vector.len() == 384), "{}", found.len());
    assert!(cosine(&found[0], &found[1]) > cosine(&found[0], &found[2]) + 0.2);
    let openai = json!({"model": "words", "input": ["running shoes"]}).to_string();
    let openai = service.post("/v1/embeddings", openai).await.json();
    assert_eq!(openai["data"][0]["embedding"], json["embeddings"][0]);
}

#[tokio::test]
async fn scores_are_the_same_at_each_path_and_relevance_has_their_order() {
    let Some(service) = service().await else { return };
    let documents = ["a cheese cake", "sneakers for jogging", "", "running shoes"];
    let pairs: Vec<Value> = documents.iter().map(|text| json!({"query": "running shoes", "text": text})).collect();
    let scores = service.post("/inference/cross/pairs", json!({"input": pairs}).to_string()).await.json();
    let scores: Vec<f64> = scores["scores"].as_array().unwrap().iter().map(|score| score.as_f64().unwrap()).collect();
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&left, &right| scores[right].total_cmp(&scores[left]));
    let body = json!({"model": "pairs", "query": "running shoes", "documents": documents}).to_string();
    for path in ["/v1/rerank", "/v2/rerank"] {
        let json = service.post(path, body.clone()).await.json();
        let found: Vec<(usize, f64)> = json["results"].as_array().unwrap().iter().map(found).collect();
        assert_eq!(found.iter().map(|(index, _)| *index).collect::<Vec<_>>(), order);
        for (index, relevance) in found {
            assert!(
                (relevance - 1.0 / (1.0 + (-scores[index]).exp())).abs() < 1e-6,
                "{relevance} of {}",
                scores[index]
            );
        }
    }
}

fn found(result: &Value) -> (usize, f64) {
    (result["index"].as_u64().unwrap() as usize, result["relevance_score"].as_f64().unwrap())
}
