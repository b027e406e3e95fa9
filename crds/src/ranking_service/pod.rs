//! What can be said of the pods of any part.

use super::any_object;
use k8s_openapi::api::core::v1::{EnvVar, ResourceRequirements, Toleration};
use kube::KubeSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An amount as Kubernetes writes it.
pub(super) const QUANTITY: &str = "^[0-9]+(\\.[0-9]+)?(k|Ki|[MGTPE]i?|[eE][0-9]+)?$";

/// The same where it may be a part of one.
const AMOUNT: &str = "^([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(m|u|n|k|Ki|[MGTPE]i?|[eE][-+]?[0-9]+)?$";

/// Environment variables that the operator sets.
pub const RESERVED: [&str; 20] = [
    "SERVICE_CONFIG",
    "RANKWRIGHT_SERVICE",
    "SERVICE_REDIS_USER",
    "SERVICE_REDIS_PASSWORD",
    "SERVICE_KAFKA_USER",
    "SERVICE_KAFKA_PASSWORD",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_REGION",
    "AWS_ENDPOINT_URL_S3",
    "TERMINATION_LOG",
    "SERVICE_DRAIN_TIMEOUT",
    "RANKWRIGHT_IMPORT_ONCE",
    "RANKWRIGHT_OWNER",
    "RANKWRIGHT_TAKE_OVER",
    "RANKWRIGHT_READY_WITHOUT_MODELS",
    "RANKWRIGHT_API_TLS_DIR",
    "METARANK_CONFIG",
    "METARANK_REDIS_USER",
    "METARANK_REDIS_PASSWORD",
];

const VARIABLES_HAVE_NAMES: &str = "self.all(variable, variable.name != '')";
const NO_NAME_OF_A_VARIABLE: &str = "a variable has a name";
const VARIABLES_HAVE_ONE_VALUE: &str =
    "self.all(variable, !(has(variable.value) && variable.value != '' && has(variable.valueFrom)))";
const TWO_VALUES: &str = "a variable has value or valueFrom, not both";
const VARIABLES_HAVE_ONE_SOURCE: &str = "self.all(variable, !has(variable.valueFrom) || [has(variable.valueFrom.secretKeyRef), has(variable.valueFrom.configMapKeyRef), has(variable.valueFrom.fieldRef), has(variable.valueFrom.resourceFieldRef)].exists_one(given, given))";
const NOT_ONE_SOURCE: &str =
    "valueFrom has exactly one of secretKeyRef, configMapKeyRef, fieldRef and resourceFieldRef";

const REQUESTS_ARE_WITHIN_LIMITS: &str = "!has(self.requests) || !has(self.limits) || self.requests.all(what, !(what in self.limits) || quantity(string(self.requests[what])).compareTo(quantity(string(self.limits[what]))) <= 0)";
const REQUEST_ABOVE_LIMIT: &str = "a request in resources is above the limit of the same name";
const CLAIMS: &str = "resources.claims names devices of a pod's resourceClaims, which no pod here has: leave it out";

/// A rule for a map of labels; values have a pattern of their own.
pub(super) const LABELS_HAVE_NAMES: &str = "self.all(key, key.size() < 318 && key.matches('^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'))";
pub(super) const NO_NAME_OF_A_LABEL: &str = "the name of a label has at most 63 letters, digits, - _ and ., with a letter or digit at both ends; before it may stand a domain and /";

const ANNOTATIONS_HAVE_NAMES: &str = "self.all(key, key.size() < 318 && key.matches('^([A-Za-z0-9]([-A-Za-z0-9.]{0,251}[A-Za-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'))";
const NO_NAME_OF_AN_ANNOTATION: &str = "the name of an annotation has at most 63 letters, digits, - _ and ., with a letter or digit at both ends; before it may stand a domain and /";

fn no_reserved_variable() -> String {
    let names = RESERVED.map(|name| format!("'{name}'")).join(", ");
    format!("self.all(variable, !(variable.name in [{names}]))")
}

fn reserved_variable() -> String {
    let [others @ .., last] = RESERVED;
    let names = others.join(", ");
    format!("env has a variable that the operator sets from other fields. Leave these out: {names} and {last}")
}

/// Has amounts of `resources` be amounts, a few: rules on more would take too long.
fn amounts(schema: &mut schemars::Schema) {
    for part in ["requests", "limits"] {
        let Some(amounts) = schema.pointer_mut(&format!("/properties/{part}")).and_then(|part| part.as_object_mut())
        else {
            continue;
        };
        amounts.insert("maxProperties".to_owned(), 16.into());
        if let Some(amount) = amounts.get_mut("additionalProperties").and_then(|amount| amount.as_object_mut()) {
            amount.insert("maxLength".to_owned(), 32.into());
            amount.insert("pattern".to_owned(), AMOUNT.into());
        }
    }
}

/// Leaves out the words about fields of Kubernetes: its own reference has them, and a definition may only be so large.
pub(super) fn without_words(schema: &mut schemars::Schema) {
    fn strip(value: &mut serde_json::Value) {
        match value {
            serde_json::Value::Object(entries) => {
                entries.retain(|name, value| name != "description" || !value.is_string());
                entries.values_mut().for_each(strip);
            }
            serde_json::Value::Array(entries) => entries.iter_mut().for_each(strip),
            _ => {}
        }
    }
    if let Some(entries) = schema.as_object_mut() {
        entries.iter_mut().filter(|(name, _)| *name != "description").for_each(|(_, value)| strip(value));
    }
}

/// The schema of a label's value.
pub(super) fn label_value() -> serde_json::Value {
    serde_json::json!({"type": "string", "maxLength": 63, "pattern": "^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$"})
}

/// What can be said of the pods of any part.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct PodOptions {
    /// Image of this part, in place of spec.image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    pub image: Option<String>,

    /// What the container requests and may use at most. A value here replaces the whole default, which suits a small shop. A rank server
    /// or an ingest worker requests 250m and 256Mi, a training or an import 500m and 1Gi. Where a text model computes in the pod, these are
    /// 1 and 1Gi, or 1 and 2Gi for a training or an import. A rank server or an ingest worker whose need is known has a memory
    /// limit of four times the request. A memory request in template removes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new(REQUESTS_ARE_WITHIN_LIMITS).message(REQUEST_ABOVE_LIMIT))]
    #[x_kube(validation = Rule::new("!has(self.claims)").message(CLAIMS))]
    #[schemars(transform = amounts)]
    pub resources: Option<ResourceRequirements>,

    /// Further environment variables, such as RUST_LOG. Names that the operator sets are refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    #[x_kube(validation = Rule::new(no_reserved_variable()).message(reserved_variable().as_str()))]
    #[x_kube(validation = Rule::new(VARIABLES_HAVE_NAMES).message(NO_NAME_OF_A_VARIABLE))]
    #[x_kube(validation = Rule::new(VARIABLES_HAVE_ONE_VALUE).message(TWO_VALUES))]
    #[x_kube(validation = Rule::new(VARIABLES_HAVE_ONE_SOURCE).message(NOT_ONE_SOURCE))]
    #[schemars(length(max = 64))]
    pub env: Vec<EnvVar>,

    /// Further volumes, each with the place where it is mounted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    #[x_kube(validation = Rule::new("self.all(one, self.exists_one(other, other.mountPath == one.mountPath))")
        .message("two volumes have the same mountPath: give each a place of its own"))]
    #[schemars(length(max = 16))]
    pub volumes: Vec<ExtraVolume>,

    /// Further labels of the pods.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[x_kube(validation = Rule::new("self.all(key, !key.startsWith('app.kubernetes.io/') && !key.startsWith('rankwright.dev/'))")
        .message("labels that begin with app.kubernetes.io/ or rankwright.dev/ are set by the operator"))]
    #[x_kube(validation = Rule::new(LABELS_HAVE_NAMES).message(NO_NAME_OF_A_LABEL))]
    #[schemars(extend("maxProperties" = 32, "additionalProperties" = label_value()))]
    pub labels: BTreeMap<String, String>,

    /// Further annotations of the pods.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[x_kube(validation = Rule::new(ANNOTATIONS_HAVE_NAMES).message(NO_NAME_OF_AN_ANNOTATION))]
    #[schemars(extend("maxProperties" = 32))]
    pub annotations: BTreeMap<String, String>,

    /// Labels of the nodes on which the pods may run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[x_kube(validation = Rule::new(LABELS_HAVE_NAMES).message(NO_NAME_OF_A_LABEL))]
    #[schemars(extend("maxProperties" = 32, "additionalProperties" = label_value()))]
    pub node_selector: BTreeMap<String, String>,

    /// Taints of nodes that the pods put up with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub tolerations: Vec<Toleration>,

    /// Name of the pods' PriorityClass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub priority_class_name: Option<String>,

    /// A pod template that the operator merges over its own, as `kubectl patch --type strategic` does: affinity, init containers,
    /// sidecars, runtimeClassName, dnsConfig and all else that has no field here. The program's container has the name of its part:
    /// rank, ingest, training or import. The result has to keep the restricted Pod Security Standard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_object")]
    pub template: Option<serde_json::Map<String, serde_json::Value>>,
}

/// A volume and where it is mounted.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[x_kube(
    validation = Rule::new("[has(self.secret), has(self.configMap), has(self.persistentVolumeClaim), has(self.emptyDir)].filter(given, given).size() == 1")
        .message("a volume has exactly one of secret, configMap, persistentVolumeClaim and emptyDir")
)]
#[serde(rename_all = "camelCase")]
pub struct ExtraVolume {
    /// Name of the volume.
    #[schemars(length(min = 1, max = 50), regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub name: String,
    /// Where it is mounted.
    #[x_kube(validation = Rule::new("self.startsWith('/') && !self.matches('^/+etc/+rankwright(/.*)?$') && !self.contains(':')")
        .message("mountPath is absolute, has no :, and is not below /etc/rankwright, where the operator mounts its own"))]
    #[x_kube(validation = Rule::new("!self.matches('^/+tmp/*$')")
        .message("mountPath /tmp is taken by the operator: mount it elsewhere, and name that place in the variable TMPDIR"))]
    #[schemars(length(min = 2, max = 1024))]
    pub mount_path: String,
    /// A Secret; a change of its content is rolled out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<SecretVolume>,
    /// A ConfigMap; a change of its content is rolled out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map: Option<ConfigMapVolume>,
    /// A claim of a persistent volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persistent_volume_claim: Option<VolumeClaim>,
    /// An empty folder that ends with the pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub empty_dir: Option<EmptyDirVolume>,
}

/// A Secret as files.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct SecretVolume {
    /// Name of the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub secret_name: String,
}

/// A ConfigMap as files.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct ConfigMapVolume {
    /// Name of the ConfigMap.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// A claim of a persistent volume.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct VolumeClaim {
    /// Name of the claim.
    #[schemars(length(min = 1, max = 253))]
    pub claim_name: String,
    /// Whether it is mounted for reading alone.
    #[serde(default)]
    pub read_only: bool,
}

/// An empty folder.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct EmptyDirVolume {
    /// How large it may grow, such as 1Gi.
    #[schemars(length(min = 1, max = 32), regex(pattern = QUANTITY))]
    pub size_limit: String,
}

/// A key of a Secret or ConfigMap.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct KeyReference {
    /// Name of the object, in the same namespace.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The key in it.
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::RESERVED;

    #[test]
    fn the_definition_refuses_each_variable_that_the_operator_sets() {
        let definition = serde_json::to_string(&crate::definition()).unwrap();
        let refused = |name: &str| definition.matches(&format!("'{name}'")).count();
        assert_eq!(RESERVED.map(refused), [4; RESERVED.len()], "in rank, ingest, training and import");
    }
}
