//! The description of the interface.

use crate::service::{CONFIG, Service};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const PAGE: &str = include_str!("../../../../../docs/http.md");

async fn described(config: &str) -> Value {
    Service::start_with(config, |builder| builder).await.get("/openapi.json").await.json()
}

/// Method and path of every operation.
fn operations(document: &Value) -> BTreeSet<(String, String)> {
    let paths = document["paths"].as_object().unwrap();
    let methods = |(path, methods): (&String, &Value)| {
        methods.as_object().unwrap().keys().map(|method| (method.to_uppercase(), path.clone())).collect::<Vec<_>>()
    };
    paths.iter().flat_map(methods).collect()
}

/// Every string under a key, wherever it is.
fn all<'v>(value: &'v Value, key: &str, found: &mut Vec<&'v str>) {
    match value {
        Value::Object(entries) => {
            found.extend(entries.get(key).and_then(Value::as_str));
            entries.values().for_each(|value| all(value, key, found));
        }
        Value::Array(values) => values.iter().for_each(|value| all(value, key, found)),
        _ => {}
    }
}

#[tokio::test]
async fn every_path_of_the_service_is_described_and_has_its_place_on_the_page() {
    let service = Service::start().await;
    let (about, document) = (service.get("/").await.json(), service.get("/openapi.json").await.json());
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let entry = |entry: &Value| (text(&entry["method"]), text(&entry["path"]));
    let listed: BTreeSet<_> = about["paths"].as_array().unwrap().iter().map(entry).collect();
    assert_eq!(operations(&document), listed);
    for (_, path) in &listed {
        let shown = path.replace("{model}", "<model>").replace("{name}", "<name>").replace("{number}", "<number>");
        let shown = shown.replace("{id}", "<id>");
        assert!(
            PAGE.contains(&format!("{shown}`")) || PAGE.contains(&format!("{shown}?")),
            "{shown} is not on the page"
        );
    }
}

#[tokio::test]
async fn the_description_refers_to_what_it_has_and_names_each_operation_once() {
    let document = described(CONFIG).await;
    assert_eq!(document["openapi"], "3.1.0");
    let (mut references, mut names) = (Vec::new(), Vec::new());
    all(&document, "$ref", &mut references);
    all(&document["paths"], "operationId", &mut names);
    assert!(references.len() > 20);
    for reference in references {
        assert!(document.pointer(reference.strip_prefix('#').unwrap()).is_some(), "{reference}");
    }
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
}

#[tokio::test]
async fn every_operation_tells_its_success_and_its_errors() {
    let document = described(CONFIG).await;
    for (method, path) in operations(&document) {
        let operation = &document["paths"][&path][method.to_lowercase()];
        let answers = operation["responses"].as_object().unwrap();
        assert!(answers.contains_key("200") && answers.contains_key("403"), "{method} {path}");
        assert_eq!(operation.get("requestBody").is_some(), answers.contains_key("413"), "{method} {path}");
    }
    let rank = &document["paths"]["/rank/{model}"]["post"]["responses"];
    let codes = |status: &str| {
        rank[status]["content"]["application/json"]["schema"]["allOf"][1]["properties"]["error"]["properties"]["code"]["enum"]
            .clone()
    };
    assert_eq!(codes("404"), json!(["unknown_model", "wrong_model_type"]));
    assert_eq!(codes("409"), json!(["cannot_explain"]));
    assert_eq!(rank["503"]["headers"]["retry-after"]["example"], "1");
}

#[tokio::test]
async fn names_limits_and_the_token_are_those_of_the_service() {
    let limits = "api: {token: secret, limits: {maxItemsPerRequest: 7, maxEventsPerBatch: 3, maxBodyBytes: 5000}}";
    let document = described(&format!("{CONFIG}{limits}")).await;
    assert_eq!(document["x-limits"]["maxBodyBytes"], 5000);
    let schemas = &document["components"]["schemas"];
    assert_eq!(schemas["Ranking"]["properties"]["items"]["maxItems"], 7);
    assert_eq!(schemas["RecommendRequest"]["properties"]["items"]["maxItems"], 7);
    assert_eq!(schemas["Events"]["anyOf"][1]["maxItems"], 3);
    let path = |path: &str| document["paths"][path]["post"].clone();
    assert_eq!(path("/rank/{model}")["parameters"][0]["schema"]["enum"], json!(["dice", "new", "plain", "shop"]));
    assert_eq!(path("/recommend/{model}")["parameters"][0]["schema"]["enum"], json!(["similar"]));
    assert_eq!(path("/train/{model}")["security"], json!([{"bearer": []}]));
    assert_eq!(path("/rank/{model}").get("security"), None);
    assert_eq!(described(CONFIG).await["paths"]["/train/{model}"]["post"].get("security"), None);
}

#[tokio::test]
async fn an_event_has_the_keys_that_are_decoded() {
    let schemas = described(CONFIG).await["components"]["schemas"].clone();
    let required = |name: &str| {
        let mut keys: Vec<_> = schemas[name]["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        keys.sort_unstable();
        keys
    };
    assert_eq!(required("ItemUpdate"), ["id", "item", "timestamp"]);
    assert_eq!(required("UserUpdate"), ["id", "timestamp", "user"]);
    assert_eq!(required("Ranking"), ["id", "items", "timestamp"]);
    assert_eq!(required("Interaction"), ["id", "item", "timestamp", "type"]);
    assert_eq!(required("RankRequest"), ["id", "items", "timestamp"]);
    assert_eq!(required("RankedItem"), ["id"]);
    assert_eq!(required("Field"), ["name", "value"]);
}
