//! The identity of the pods: without rights in the cluster, and without a token for its API.

use super::child::{Child, metadata};
use crate::labels;
use crate::validate::Plan;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::ObjectMeta;

/// The service account, unless the resource names one that exists.
pub(super) fn account(plan: &Plan) -> Option<Child> {
    let asked = plan.spec.service_account.clone().unwrap_or_default();
    if asked.name.is_some() {
        return None;
    }
    let metadata = metadata(plan, plan.name.clone(), labels::common(&plan.name));
    Some(Child::of(&ServiceAccount {
        metadata: ObjectMeta { annotations: asked.annotations, ..metadata },
        automount_service_account_token: Some(false),
        ..ServiceAccount::default()
    }))
}
