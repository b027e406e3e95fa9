//! The schemas of our events for Snowplow's Iglu, made of the same types that are decoded.

use rankwright_event::json::decode;
use rankwright_event::{Interaction, ItemUpdate, Ranking, UserUpdate};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};
use std::path::Path;

const FOLDER: &str = "../../../docs/iglu/schemas/com.rankwright";

/// What Iglu keeps of an event: a schema of draft 4 that refers to no other.
fn schema<T: JsonSchema>(name: &str) -> Value {
    let settings = SchemaSettings::draft07().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema: Value = settings.into_generator().into_root_schema_for::<T>().into();
    simplify(&mut schema);
    schema["$schema"] =
        json!("http://iglucentral.com/schemas/com.snowplowanalytics.self-desc/schema/jsonschema/1-0-0#");
    schema["self"] = json!({"vendor": "com.rankwright", "name": name, "format": "jsonschema", "version": "1-0-0"});
    schema["properties"]["event"] = json!({"type": "string", "enum": [name]});
    schema.as_object_mut().expect("a schema").remove("title");
    schema
}

/// Without what draft 4 does not know.
fn simplify(schema: &mut Value) {
    match schema {
        Value::Object(entries) => {
            entries.retain(|key, value| key != "x-limit" && !(key == "format" && *value == json!("double")));
            entries.values_mut().for_each(simplify);
        }
        Value::Array(values) => values.iter_mut().for_each(simplify),
        _ => {}
    }
}

#[test]
fn what_names_something_is_bounded_as_it_is_decoded() {
    let kinds = [
        ("item", schema::<ItemUpdate>("item")),
        ("user", schema::<UserUpdate>("user")),
        ("ranking", schema::<Ranking>("ranking")),
        ("interaction", schema::<Interaction>("interaction")),
    ];
    let (longest, longer) = ("ä".repeat(4096), "ä".repeat(4097));
    for (kind, schema) in kinds {
        let whole = json!({"event": kind, "id": "e", "timestamp": 1, "tenant": "t", "item": "i", "user": "u",
            "session": "s", "ranking": "r", "type": "click", "items": [{"id": "a"}]});
        for key in ["id", "tenant", "item", "user", "session", "ranking", "type"] {
            let decoded = |name: &str| {
                let mut event = whole.clone();
                event[key] = json!(name);
                decode(event.to_string().as_bytes())
            };
            assert!(decoded(&longest).is_ok(), "{key} of {kind}");
            match schema["properties"].get(key) {
                Some(described) => {
                    let refused = decoded(&longer).expect_err(key).to_string();
                    let expected = format!("{key}: expected at most 4096 characters, found 4097 ");
                    assert!(refused.starts_with(&expected), "{kind}: {refused}");
                    assert_eq!(described["maxLength"], 4096, "{key} of {kind}");
                }
                None => assert!(decoded(&longer).is_ok(), "{kind} has no {key}"),
            }
        }
    }
}

#[test]
fn the_schemas_of_the_repository_are_those_of_what_is_decoded() {
    for (name, schema) in [
        ("item", schema::<ItemUpdate>("item")),
        ("user", schema::<UserUpdate>("user")),
        ("ranking", schema::<Ranking>("ranking")),
        ("interaction", schema::<Interaction>("interaction")),
    ] {
        let path = Path::new(FOLDER).join(name).join("jsonschema/1-0-0");
        let text = format!("{schema:#}\n");
        if std::env::var_os("UPDATE_RENDERED").is_some() {
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("the folder can be made");
            std::fs::write(&path, &text).expect("the file can be written");
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(kept, text, "{}: UPDATE_RENDERED=1 writes it", path.display());
        let wrong = ["$ref", "\"const\"", "$defs", "definitions"].into_iter().find(|word| text.contains(word));
        assert_eq!(wrong, None, "draft 4 does not know it");
    }
}
