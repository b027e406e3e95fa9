//! Each type of feature that the schema names has an example that parses and makes columns, and is documented.
#![allow(missing_docs, reason = "a test says what it shows by its name")]

use rankwright_config::Config;
use rankwright_config::schema::FEATURE_TYPES;
use rankwright_event::{RankedItem, Ranking, Tenant, Timestamp};
use rankwright_feature::{Plan, Purpose};
use rankwright_state::{Fetched, MemoryStore};

fn ranking() -> Ranking {
    let item = |id: &str| RankedItem { id: id.into(), fields: vec![], label: None, score: None };
    Ranking {
        id: "r".into(),
        timestamp: Timestamp::from_millis(1_636_907_100_000),
        tenant: Tenant::default(),
        user: Some("u".into()),
        session: Some("s".into()),
        fields: vec![],
        items: vec![item("a"), item("b")],
    }
}

#[tokio::test]
async fn every_type_has_an_example_that_parses_and_makes_columns() {
    for kind in FEATURE_TYPES {
        let (config, _) = Config::parse(&kind.configuration(), kind.name).expect("the example is valid");
        let plan = Plan::compile(&config.features, &MemoryStore::default()).await.expect("the example compiles");
        let rows = plan.rows(&ranking(), &Fetched::default(), Purpose::Serving);
        assert!(plan.width() > 0, "{} has columns", kind.name);
        assert_eq!(rows.len(), 2 * plan.width(), "{} fills a row for each item", kind.name);
    }
}

#[test]
fn every_type_is_documented_with_its_example() {
    let page = include_str!("../../../../docs/features.md");
    for kind in FEATURE_TYPES {
        assert!(page.contains(&format!("## {}", kind.name)), "docs/features.md has a section on {}", kind.name);
        let example = format!("- {}", kind.example);
        assert!(page.contains(&example), "docs/features.md shows the example of {}: {example}", kind.name);
        kind.aliases.iter().for_each(|alias| assert!(page.contains(alias), "docs/features.md names {alias}"));
    }
}
