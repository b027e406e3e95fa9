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
