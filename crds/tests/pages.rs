//! What pages show of a `RankingService` has no field that the definition lacks.

use serde_json::Value;

fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The schema of `spec`.
fn definition() -> Value {
    yaml(&rankwright_crds::yaml())["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"].clone()
}

/// Paths of keys that a schema does not have.
fn unknown(value: &Value, schema: &Value, path: &str) -> Vec<String> {
    if schema["x-kubernetes-preserve-unknown-fields"] == true {
        return Vec::new();
    }
    match value {
        Value::Object(entries) => entries.iter().flat_map(|(key, value)| below(key, value, schema, path)).collect(),
        Value::Array(items) => items.iter().flat_map(|item| unknown(item, &schema["items"], path)).collect(),
        _ => Vec::new(),
    }
}

fn below(key: &str, value: &Value, schema: &Value, path: &str) -> Vec<String> {
    let path = format!("{path}.{key}");
    let schema = schema["properties"].get(key).unwrap_or(&schema["additionalProperties"]);
    if schema.is_object() { unknown(value, schema, &path) } else { vec![path] }
}

/// What a block of YAML says of `spec`: of a whole resource, of its `spec`, or of fields of it.
fn spec_of<'b>(block: &'b Value, definition: &Value) -> Option<&'b Value> {
    let other = block["apiVersion"].as_str().is_some_and(|version| !version.starts_with("rankwright.dev/"));
    let fields = || block.as_object()?.keys().all(|key| !definition["properties"][key].is_null()).then_some(block);
    block.get("spec").filter(|_| !other).or_else(fields)
}

#[test]
fn what_pages_show_of_a_ranking_service_has_only_fields_of_the_definition() {
    let definition = definition();
    let (mut found, mut wrong) = (0, Vec::new());
    for page in std::fs::read_dir("../docs").expect("there are pages") {
        let page = page.expect("folders can be read").path();
        let of_kubernetes = page.to_string_lossy().contains("kubernetes");
        let text = std::fs::read_to_string(&page).unwrap_or_default();
        for block in text.split("\n```yaml\n").skip(1).filter_map(|rest| rest.split("\n```").next()) {
            let whole = block.starts_with("apiVersion:") || block.starts_with("spec:");
            for part in block.split("\n---\n").filter(|_| whole || of_kubernetes) {
                let part = yaml(part);
                if let Some(spec) = spec_of(&part, &definition) {
                    found += 1;
                    let paths = unknown(spec, &definition, "spec");
                    wrong.extend(paths.into_iter().map(|path| format!("{}: {path}", page.display())));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "the definition lacks {wrong:#?}");
    assert!(found > 6, "{found} blocks");
}

#[test]
fn a_field_that_is_not_there_is_found() {
    let block =
        yaml("spec: {rank: {replicas: 2, repliccas: 3, pod: {env: [{nme: A}]}}, configuration: {inline: {x: 1}}}");
    let mut paths = unknown(&block["spec"], &definition(), "spec");
    paths.sort();
    assert_eq!(paths, ["spec.rank.pod.env.nme", "spec.rank.repliccas"]);
}
