//! The table of feature types is complete.

use rankwright_config::Config;
use rankwright_config::schema::FEATURE_TYPES;

#[test]
fn every_type_of_feature_has_documentation_and_an_example_that_parses() {
    for of in FEATURE_TYPES {
        let text = of.configuration();
        let (config, _) = Config::parse(&text, of.name).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
        assert_eq!(config.features.len(), 1, "{text}");
        assert!(of.example.contains(&format!("type: {}", of.name)), "{}", of.example);
        assert!(of.doc.len() > 10, "{}", of.name);
    }
}

#[test]
fn every_alias_means_the_same_as_its_type() {
    for of in FEATURE_TYPES {
        for alias in of.aliases {
            let (own, other) = (format!("type: {}", of.name), format!("type: {alias}"));
            let text = of.configuration();
            assert_eq!(
                Config::parse(&text, "own").map(|(config, _)| config).ok(),
                Config::parse(&text.replace(&own, &other), "alias").map(|(config, _)| config).ok()
            );
        }
    }
}

#[test]
fn a_type_knows_the_fields_and_interactions_of_its_example() {
    for of in FEATURE_TYPES {
        let (config, _) = Config::parse(&of.configuration(), of.name).expect("an example is valid");
        let kind = &config.features[0].kind;
        let words = || of.example.split(|letter: char| !letter.is_ascii_alphanumeric() && !"_.".contains(letter));
        let mut fields: Vec<_> = words().filter(|word| word.contains('.')).map(str::to_owned).collect();
        let mut sources: Vec<_> = kind.sources().iter().map(ToString::to_string).collect();
        fields.sort();
        sources.sort();
        assert_eq!(sources, fields, "{}", of.example);
        let interactions: Vec<_> = words().filter(|word| ["click", "impression"].contains(word)).collect();
        assert_eq!(kind.interactions(), interactions, "{}", of.example);
    }
}

#[test]
fn no_name_stands_for_two_types() {
    let mut names: Vec<_> = FEATURE_TYPES.iter().flat_map(|of| std::iter::once(&of.name).chain(of.aliases)).collect();
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all);
}

mod of_configurations {
    use rankwright_config::schema::document;
    use serde_json::{Value, json};

    /// The schema of a section of this type.
    fn of_type<'s>(sections: &'s Value, word: &str) -> &'s Value {
        let sections = sections["anyOf"].get(0).unwrap_or(sections); // the section may be left out
        let ways = sections["allOf"].as_array().expect("the types are ways");
        let is_it = |way: &&Value| {
            way["if"]["properties"]["type"]["enum"].as_array().is_some_and(|words| words.contains(&json!(word)))
        };
        &ways.iter().find(is_it).unwrap_or_else(|| panic!("no type {word}"))["then"]
    }

    fn keys(section: &Value) -> Vec<&str> {
        section["properties"].as_object().expect("it has keys").keys().map(String::as_str).collect()
    }

    #[test]
    fn it_has_every_section_and_refuses_all_else() {
        let schema = document();
        let sections = ["api", "core", "features", "inference", "models", "source", "state", "train"];
        assert!(sections.iter().all(|section| keys(&schema).contains(section)), "{:?}", keys(&schema));
        assert_eq!(schema["additionalProperties"], false);
        assert_eq!(schema["patternProperties"], json!({"^x-": true}));
        assert_eq!(schema["properties"]["items"]["deprecated"], true);
        assert_eq!(schema["properties"]["input"]["anyOf"], schema["properties"]["source"]["anyOf"]);
        assert_eq!(schema["properties"]["input"]["description"], "Another name of `source`.");
    }

    #[test]
    fn a_type_of_feature_has_its_own_keys() {
        let schema = document();
        let feature = &schema["properties"]["features"]["items"];
        for of in super::FEATURE_TYPES {
            let section = of_type(feature, of.name);
            assert_eq!(section["description"], of.doc);
            assert!(
                ["name", "type", "refresh", "ttl", "scope"].iter().all(|key| keys(section).contains(key)),
                "{}",
                of.name
            );
        }
        let rate = of_type(feature, "rate");
        assert_eq!(
            keys(rate),
            [
                "bottom",
                "bucket",
                "bucket_size",
                "name",
                "normalize",
                "periods",
                "refresh",
                "scope",
                "top",
                "ttl",
                "type",
                "windows"
            ]
        );
        let required = rate["allOf"].as_array().expect("something is required");
        assert!(required.contains(&json!({"required": ["top"]})));
        assert!(required.contains(&json!({"anyOf": [{"required": ["bucket"]}, {"required": ["bucket_size"]}]})));
        assert!(!required.contains(&json!({"required": ["normalize"]})));
    }

    #[test]
    fn what_depends_on_another_key_is_not_required() {
        let schema = document();
        let redis = of_type(&schema["properties"]["state"], "redis");
        assert_eq!(redis.get("allOf"), None, "nodes may take the place of host and port");
        assert_eq!(redis["properties"]["mode"]["enum"], json!(["standalone", "sentinel", "cluster", null]));
        let semantic = of_type(&schema["properties"]["models"]["additionalProperties"], "semantic");
        assert_eq!(semantic["allOf"], json!([{"required": ["type"]}, {"required": ["encoder"]}]));
    }

    #[test]
    fn a_selector_may_hold_selectors() {
        let schema = document();
        let selector = &schema["definitions"]["selector"];
        assert!(["accept", "and", "not", "ratio"].iter().all(|key| keys(selector).contains(key)));
        assert_eq!(selector.get("allOf"), None, "the keys of one say which it is, and each may be left out");
        assert_eq!(selector["properties"]["not"]["anyOf"][0]["$ref"], "#/definitions/selector");
        assert_eq!(selector["properties"]["and"]["items"]["$ref"], "#/definitions/selector");
    }

    #[test]
    fn numbers_and_words_are_those_that_are_read() {
        let schema = document();
        let api = &schema["properties"]["api"]["properties"];
        assert_eq!((&api["port"]["minimum"], &api["port"]["maximum"]), (&json!(0), &json!(65_535)));
        let model = of_type(&schema["properties"]["models"]["additionalProperties"], "lambdamart");
        let booster = &model["properties"]["backend"]["anyOf"];
        assert!(booster.as_array().expect("a word or a section").contains(&json!({"enum": ["xgboost", "lightgbm"]})));
    }
}
