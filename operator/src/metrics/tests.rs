#![allow(clippy::unwrap_used)]

use crate::testing::{measured, measured_of};
use serde_json::json;

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
fn a_training_that_nobody_wants_any_more_is_told_to_nobody() {
    let text = measured_of(json!({}));
    assert!(text.contains("rankwright_operator_service_ready{"), "{text}");
    assert!(!text.contains("rankwright_operator_service_training_timestamp_seconds{"), "{text}");
    assert!(!text.contains("rankwright_operator_model_trained_timestamp_seconds{"), "{text}");
}
