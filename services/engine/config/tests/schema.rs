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
fn no_name_stands_for_two_types() {
    let mut names: Vec<_> = FEATURE_TYPES.iter().flat_map(|of| std::iter::once(&of.name).chain(of.aliases)).collect();
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all);
}
