//! The rules against the cases that uap-core publishes beside them.

use super::super::{Agents, rules};
use super::{Browser, Os};
use serde::Deserialize;
use std::path::PathBuf;

#[derive(Deserialize)]
struct Cases {
    test_cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    user_agent_string: String,
    family: String,
}

/// The published cases, or `None` (and a line that says so) where this machine has none.
fn cases(file: &str) -> Option<Vec<Case>> {
    let beside = || PathBuf::from("../../../../shared");
    let shared = std::env::var_os("RANKWRIGHT_SHARED").map_or_else(beside, PathBuf::from);
    let path = shared.join("data/fixtures/uap-core-0.18.0").join(file);
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            let cases: Cases = serde_saphyr::from_str(&text).expect("the published cases are YAML");
            Some(cases.test_cases)
        }
        Err(_) if std::env::var_os("RANKWRIGHT_REQUIRE_ALL").is_some_and(|all| all == "1") => {
            panic!("{} is required and missing", path.display())
        }
        Err(_) => {
            eprintln!("SKIPPED: {} is missing", path.display());
            None
        }
    }
}

fn agrees(file: &str, least: usize, family: impl Fn(&str) -> Option<String>) {
    let Some(cases) = cases(file) else { return };
    assert!(cases.len() >= least, "{file} has only {} cases", cases.len());
    for Case { user_agent_string: agent, family: expected } in cases {
        let found = family(&agent).unwrap_or_else(|| String::from("Other"));
        assert_eq!(found, expected, "{file}: {agent}");
    }
}

#[test]
fn browser_families_are_the_published_ones() {
    let extractor = &Agents::shared().rules.extractor;
    let family = |agent: &str| extractor.ua.extract(agent).map(|found| found.family.into_owned());
    agrees("test_ua.yaml", 1000, family);
    agrees("firefox_user_agent_strings.yaml", 100, family);
    agrees("opera_mini_user_agent_strings.yaml", 100, family);
    agrees("podcasting_user_agent_strings.yaml", 50, family);
}

#[test]
fn operating_system_families_are_the_published_ones() {
    let extractor = &Agents::shared().rules.extractor;
    agrees("test_os.yaml", 300, |agent| extractor.os.extract(agent).map(|found| found.os.into_owned()));
}

#[test]
fn families_fall_into_their_classes() {
    for (family, class) in [
        ("iOS", Some(Os::Ios)),
        ("Windows Phone", Some(Os::Windows)),
        ("Ubuntu", Some(Os::Linux)),
        ("Kubuntu", Some(Os::Linux)),
        ("Mac OS", Some(Os::MacOs)),
        ("Chromecast", None),
        ("tvOS", None),
    ] {
        assert_eq!(rules::os(family), class, "{family}");
    }
    for (family, class) in [
        ("Mobile Safari UI/WKWebView", Browser::Safari),
        ("Chrome Mobile iOS", Browser::Chrome),
        ("Firefox (Shiretoko)", Browser::Firefox),
        ("Mozilla-Firefox-Spider", Browser::Other),
        ("Opera Mini", Browser::Opera),
        ("IE Mobile", Browser::Ie),
        ("IEditor", Browser::Other),
        ("Edge Mobile", Browser::Other),
    ] {
        assert_eq!(rules::browser(family), class, "{family}");
    }
}
