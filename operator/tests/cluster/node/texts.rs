//! Text models that pods fetch from a bucket.

use super::http::post_once_there;
use super::learning::{recommended, trained};
use super::{file, in_own_namespace_with_pods, kubectl, service};
use crate::pods::labels;
use k8s_openapi::api::core::v1::{Pod, Secret};
use rankwright_crds::RankingService;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tokio::process::Command;

const BUCKET: &str = "rankwright";

/// The folder of a real model; nothing, and a line that says so, where there is none.
fn model() -> Option<PathBuf> {
    let folder =
        std::env::var_os("RANKWRIGHT_ENCODERS_DIR").map(|folder| Path::new(&folder).join("models/test/minilm-int8"));
    let folder = folder.filter(|folder| folder.is_dir());
    if folder.is_none() {
        assert!(std::env::var("RANKWRIGHT_REQUIRE_ALL").as_deref() != Ok("1"), "RANKWRIGHT_ENCODERS_DIR has no models");
        println!("SKIPPED: RANKWRIGHT_ENCODERS_DIR names no folder filled by services/engine/encoder/native/fetch.sh");
    }
    folder
}

/// Puts a file into the bucket of manifests/development.
async fn put(file: &Path, key: &str) {
    let address = ["-n", "rankwright-development", "get", "service", "s3", "-o", "jsonpath={.spec.clusterIP}"];
    let address = kubectl(&address).await;
    let mut curl = Command::new("curl");
    curl.args(["-sSf", "--retry", "20", "--retry-connrefused", "--retry-delay", "1", "--noproxy", "*"]);
    curl.args(["--aws-sigv4", "aws:amz:us-east-1:s3", "--user", "development:development"]);
    curl.args(["--header", "x-amz-content-sha256: UNSIGNED-PAYLOAD", "--upload-file"]).arg(file);
    let ended = curl.arg(format!("http://{address}:9000/{BUCKET}/{key}")).output().await.unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
}

/// Puts an encoder below a prefix of the bucket.
async fn bring(model: &Path, prefix: &str) {
    for name in ["model.onnx", "tokenizer.json"] {
        put(&model.join(name), &format!("{prefix}{name}")).await;
    }
}

/// Puts encoder and dictionary of the sample where that has them; whether there is an encoder.
pub(super) async fn of_the_sample() -> bool {
    let Some(model) = model() else { return false };
    bring(&model, "encoders/minilm/").await;
    put(&file("services/engine/feature/samples/termfreq.json"), "terms/title.json").await;
    true
}

/// What a pod needs to fetch from the bucket: its key as a file, where the server is, and room.
fn fetching() -> Value {
    let env = json!([
        {"name": "RANKWRIGHT_ENCODERS_CACHE", "value": "/models"},
        {"name": "AWS_ENDPOINT_URL", "value": "http://s3.rankwright-development:9000"},
        {"name": "AWS_SHARED_CREDENTIALS_FILE", "value": "/bucket/credentials"},
    ]);
    let volumes = json!([
        {"name": "models", "mountPath": "/models", "emptyDir": {"sizeLimit": "1Gi"}},
        {"name": "bucket", "mountPath": "/bucket", "secret": {"secretName": "models"}},
    ]);
    json!({"env": env, "volumes": volumes})
}

fn configuration(handle: &str) -> Value {
    let method = json!({"type": "bi-encoder", "model": handle, "dim": 384});
    let meaning = json!({"name": "meaning", "type": "field_match", "rankingField": "ranking.query", "itemField": "item.title", "method": method});
    let model = json!({"type": "lambdamart", "weights": {"click": 1}, "features": ["meaning"], "backend": {"type": "lightgbm"}});
    let encoder = json!({"type": "bert", "model": handle, "dim": 384});
    let alike = json!({"type": "semantic", "encoder": encoder, "itemFields": ["title"]});
    json!({
        "features": [meaning], "models": {"shop": model, "alike": alike},
        "inference": {"words": {"type": "bi-encoder", "model": handle, "dim": 384}},
    })
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn text_models_come_from_their_bucket_before_a_server_is_ready_and_for_a_training() {
    let Some(model) = model() else { return };
    let Some(cluster) = in_own_namespace_with_pods().await else { return };
    let prefix = format!("{}/minilm/", cluster.namespace);
    let key = "[default]\naws_access_key_id = development\naws_secret_access_key = development\n";
    cluster.apply::<Secret>("models", json!({"stringData": {"credentials": key}})).await;
    let handle = format!("s3://{BUCKET}/{prefix}");
    let training = json!({"schedule": "0 3 * * *", "models": ["alike"], "pod": fetching()});
    let over = json!({"spec": {
        "configuration": {"inline": configuration(&handle)}, "rank": {"pod": fetching()}, "ingest": {"pod": fetching()},
        "training": training,
    }});
    cluster.apply::<RankingService>("shop", service(over)).await;

    // no model yet: its servers end, and the status says which one they lack
    let why = cluster.told("shop", "Ready", "False", "PodEnds").await;
    assert!(why.contains(&handle) && why.contains("model.onnx"), "{why}");
    assert!(!cluster.list::<Pod>(&labels("shop", "rank")).await.iter().any(is_ready));
    bring(&model, &prefix).await;
    // pods that have ended wait longer and longer: new ones begin at once
    kubectl(&["-n", &cluster.namespace, "delete", "pods", "--all", "--wait=false"]).await;
    cluster.told("shop", "Ready", "True", "AllPartsWork").await;

    let address = cluster.address("shop").await;
    let (status, answer) = post_once_there(&address, "/inference/encoder/words", &json!({"texts": ["boots"]})).await;
    assert!(status == 200 && answer["embeddings"][0].as_array().map(Vec::len) == Some(384), "{answer}");
    let item = |id: &str, title: &str| json!({"event": "item", "id": id, "timestamp": "1741600000000", "item": id, "fields": [{"name": "title", "value": title}]});
    let items = json!([
        item("boots", "waterproof boots for the mountains"),
        item("mixer", "kitchen mixer with three bowls"),
        item("shoes", "light shoes for hiking"),
    ]);
    let (status, answer) = post_once_there(&address, "/feedback", &items).await;
    assert_eq!(status, 200, "{answer}");
    let query = json!([{"name": "query", "value": "shoes for hiking"}]);
    let request =
        json!({"id": "l", "timestamp": "1741600001000", "fields": query, "items": [{"id": "mixer"}, {"id": "boots"}]});
    let (status, answer) = post_once_there(&address, "/rank/shop?explain=true", &request).await;
    assert_eq!(status, 200, "{answer}");
    let meaning = |id: &str| {
        let item = answer["items"].as_array()?.iter().find(|item| item["item"] == id)?;
        item["features"].as_array()?.iter().find(|feature| feature["name"] == "meaning")?["value"].as_f64()
    };
    assert!(meaning("boots").is_some() && meaning("boots") > meaning("mixer"), "{answer}");

    trained(&cluster, "shop").await; // without a click-through: on texts alone
    let alike = recommended(&cluster, "shop", "alike", json!({"count": 1, "items": ["boots"]})).await;
    assert_eq!(alike["items"][0]["item"], "shoes", "{alike}");
}
