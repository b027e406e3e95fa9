//! The engine's configuration as the pods mount it.
//!
//! Workers and Jobs begin with the newest one. Rank servers of an earlier revision go on while new ones are tried, and one of
//! them that restarts has to begin as it did before: so each configuration has a ConfigMap of its own for them.

use super::child::{Child, metadata};
use super::pod::CONFIGURATION;
use crate::labels::{self, Component};
use crate::validate::Plan;
use k8s_openapi::api::core::v1::ConfigMap;
use std::collections::BTreeMap;

pub(super) fn config_map(plan: &Plan) -> Child {
    Child::of(&ConfigMap {
        metadata: metadata(plan, labels::config_map(&plan.name), labels::common(&plan.name)),
        data: data(plan),
        ..ConfigMap::default()
    })
}

/// Those of rank servers: of this revision, and of former ones that may run.
pub(super) fn of_rank(plan: &Plan) -> Vec<Child> {
    let labels = labels::of(&plan.name, Component::Rank);
    let map = |name: String| ConfigMap { metadata: metadata(plan, name, labels.clone()), ..ConfigMap::default() };
    let wanted = map(plan.rank_configuration());
    let wanted = Child::of(&ConfigMap { data: data(plan), immutable: Some(true), ..wanted });
    let former = plan.former.iter().map(|name| Child::of(&map(name.clone())).kept());
    std::iter::once(wanted).chain(former).collect()
}

fn data(plan: &Plan) -> Option<BTreeMap<String, String>> {
    Some([(CONFIGURATION.to_owned(), plan.configuration.text.clone())].into())
}
