//! The engine's configuration as the pods mount it.
//!
//! Each configuration has a ConfigMap of its own, which never changes: a pod that begins again, or a retry of a Job, begins as
//! before, whatever was changed meanwhile. Old ones go when no pod can begin with them (`apply::configurations`).

use super::child::{Child, metadata};
use super::pod::CONFIGURATION;
use crate::labels;
use crate::validate::Plan;
use k8s_openapi::api::core::v1::ConfigMap;

/// The newest one, and that of ingest workers where they need not start again for the newest.
pub(super) fn children(plan: &Plan) -> Vec<Child> {
    let mut children = vec![newest(plan)];
    if plan.ingest_config_map != plan.config_map() {
        children.push(Child::of(&named(plan, plan.ingest_config_map.clone())).kept());
    }
    children
}

pub(super) fn newest(plan: &Plan) -> Child {
    Child::of(&ConfigMap {
        data: Some([(CONFIGURATION.to_owned(), plan.configuration.text.clone())].into()),
        immutable: Some(true),
        ..named(plan, plan.config_map())
    })
}

fn named(plan: &Plan, name: String) -> ConfigMap {
    ConfigMap { metadata: metadata(plan, name, labels::common(&plan.name)), ..ConfigMap::default() }
}
