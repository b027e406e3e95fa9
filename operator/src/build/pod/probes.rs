//! What tells a program that lives from one that takes requests.

use super::PORT_NAME;
use k8s_openapi::api::core::v1::{HTTPGetAction, Probe};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// The probes of a container.
pub(in crate::build) struct Probes {
    startup: Probe,
    liveness: Probe,
    readiness: Probe,
}

impl Probes {
    pub(super) fn into_parts(self) -> (Option<Probe>, Option<Probe>, Option<Probe>) {
        (Some(self.startup), Some(self.liveness), Some(self.readiness))
    }
}

/// Those of a program with a port. It answers before its state store does: a restart would not bring that back, so neither the
/// first probe nor the second asks for it. Between, models are loaded and warmed up, which may take ten minutes. Nodes take any
/// certificate of an encrypted port.
pub(in crate::build) fn serving(encrypted: bool) -> Probes {
    let probe = |path, period, failures| probe(path, period, failures, encrypted);
    Probes { startup: probe("/health", 2, 300), liveness: probe("/health", 10, 6), readiness: probe("/ready", 5, 2) }
}

fn probe(path: &str, period: i32, failures: i32, encrypted: bool) -> Probe {
    Probe {
        http_get: Some(HTTPGetAction {
            path: Some(path.to_owned()),
            port: IntOrString::String(PORT_NAME.to_owned()),
            scheme: Some(if encrypted { "HTTPS" } else { "HTTP" }.to_owned()),
            ..HTTPGetAction::default()
        }),
        period_seconds: Some(period),
        timeout_seconds: Some(3),
        failure_threshold: Some(failures),
        success_threshold: Some(1),
        ..Probe::default()
    }
}
