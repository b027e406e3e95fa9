//! The engine's configuration as the pods mount it.

use super::child::{Child, metadata};
use super::pod::CONFIGURATION;
use crate::labels;
use crate::validate::Plan;
use k8s_openapi::api::core::v1::ConfigMap;

pub(super) fn config_map(plan: &Plan) -> Child {
    Child::of(&ConfigMap {
        metadata: metadata(plan, labels::config_map(&plan.name), labels::common(&plan.name)),
        data: Some([(CONFIGURATION.to_owned(), plan.configuration.text.clone())].into()),
        ..ConfigMap::default()
    })
}
