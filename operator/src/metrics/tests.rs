#![allow(clippy::unwrap_used)]

use super::Metrics;
use crate::testing::{measured, measured_of, service};
use kube::core::{DeserializeGuard, error_boundary::InvalidObject};
use kube::runtime::{reflector, watcher};
use prometheus::IntGaugeVec;
use serde_json::json;
use std::io::Write;
use std::process::{Command, Stdio};

#[test]
fn services_are_told_by_name_with_what_alerts_go_by() {
    let text = measured();
    for line in [
        r#"rankwright_operator_resources{condition="Ready",status="False"} 1"#,
        r#"rankwright_operator_service_ready{rankingservice="shop",rankingservice_namespace="search"} 0"#,
        r#"rankwright_operator_service_training_timestamp_seconds{outcome="Failed",rankingservice="shop",rankingservice_namespace="search"} 1794798000"#,
        r#"rankwright_operator_model_trained_timestamp_seconds{model="shop",rankingservice="shop",rankingservice_namespace="search"} 1794787200"#,
        r#"rankwright_operator_reconcile_errors_total{reason="SpecInvalid"} 1"#,
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    assert!(!text.contains(r#"model="pinned""#), "nobody wants a pinned one to be young: {text}");
}

#[test]
fn a_lost_state_and_a_pin_that_is_not_served_are_told_until_they_are_mended() {
    let gauges = |told: &[(&str, &str, &str)]| {
        let condition = |(kind, status, reason): &(&str, &str, &str)| json!({"type": kind, "status": status, "reason": reason, "message": "", "lastTransitionTime": "2026-11-16T00:00:00Z"});
        let mut service = service(json!({}));
        let conditions: Vec<_> = told.iter().map(condition).collect();
        service.status = serde_json::from_value(json!({ "conditions": conditions })).unwrap();
        let metrics = Metrics::new().unwrap();
        metrics.services.note(&service);
        let value = |gauge: &IntGaugeVec| gauge.with_label_values(&["search", "shop"]).get();
        (value(&metrics.services.lost), value(&metrics.services.unpinned))
    };
    assert_eq!(gauges(&[("StateIntact", "True", "Intact"), ("ModelTrained", "True", "Served")]), (0, 0));
    assert_eq!(gauges(&[("StateIntact", "False", "StateLost")]), (1, 0));
    assert_eq!(gauges(&[("StateIntact", "Unknown", "NobodyToAsk")]), (0, 0));
    assert_eq!(gauges(&[("ModelTrained", "False", "PinNotServed")]), (0, 1));
    assert_eq!(gauges(&[("ConfigurationValid", "False", "NoSuchVersion")]), (0, 1), "it was refused");
}

#[test]
fn a_training_that_nobody_wants_any_more_is_told_to_nobody() {
    let text = measured_of(json!({}));
    assert!(text.contains("rankwright_operator_service_ready{"), "{text}");
    assert!(!text.contains("rankwright_operator_service_training_timestamp_seconds{"), "{text}");
    assert!(!text.contains("rankwright_operator_model_trained_timestamp_seconds{"), "{text}");
}

#[test]
fn one_that_cannot_be_read_is_not_ready() {
    let metadata = serde_json::from_value(json!({"name": "shop", "namespace": "search"})).unwrap();
    let (store, mut writer) = reflector::store();
    let unreadable = InvalidObject { error: "no number".to_owned(), metadata };
    writer.apply_watcher_event(&watcher::Event::Apply(DeserializeGuard(Err(unreadable))));
    let metrics = Metrics::new().unwrap();
    metrics.describe("", store);
    let text = metrics.render().unwrap();
    for line in [
        r#"rankwright_operator_resources{condition="Ready",status="Unknown"} 1"#,
        r#"rankwright_operator_service_ready{rankingservice="shop",rankingservice_namespace="search"} 0"#,
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
}

#[test]
fn promtool_finds_nothing_wrong_with_the_page() {
    if std::env::var("RANKWRIGHT_REQUIRE_ALL").as_deref() != Ok("1") {
        return println!("SKIPPED: RANKWRIGHT_REQUIRE_ALL=1 has promtool fetched");
    }
    let found = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/monitoring/promtool.sh")).output().unwrap();
    assert!(found.status.success(), "{found:?}");
    let mut checking = Command::new(String::from_utf8(found.stdout).unwrap().trim());
    checking.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut checking = checking.spawn().unwrap();
    checking.stdin.take().unwrap().write_all(measured().as_bytes()).unwrap();
    let checked = checking.wait_with_output().unwrap();
    let found = String::from_utf8([checked.stdout, checked.stderr].concat()).unwrap();
    assert!(checked.status.success() && found.is_empty(), "{found}");
}
