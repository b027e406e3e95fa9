//! Names and labels of what the operator makes.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;
use rankwright_crds::RankingService;
use std::collections::BTreeMap;

/// Who applies, as the API server's managed fields name it.
pub const FIELD_MANAGER: &str = "rankwright-operator";

/// Holds a resource until its data are removed.
pub const FINALIZER: &str = "rankwright.dev/purge";

/// Digest of the configuration that a pod started with.
pub const CONFIGURATION_DIGEST: &str = "rankwright.dev/configuration";

/// Digest of the Secrets and ConfigMaps that a pod started with.
pub const REFERENCES_DIGEST: &str = "rankwright.dev/references";

/// Digest of the import that a Job does.
pub const IMPORT_DIGEST: &str = "rankwright.dev/import";

/// Digest of what a Job's pods should be.
pub const PODS_DIGEST: &str = "rankwright.dev/pods";

/// Which schedule a training is of: one that a model has for itself.
pub const SCHEDULE: &str = "rankwright.dev/schedule";

/// A rank server whose port is encrypted.
pub const ENCRYPTED: &str = "rankwright.dev/encrypted";

/// Which operator has a Lease: its own namespace.
pub const OPERATOR: &str = "rankwright.dev/operator";

/// The model that a schedule is for.
pub const MODEL: &str = "rankwright.dev/model";

const NAME: &str = "app.kubernetes.io/name";
const INSTANCE: &str = "app.kubernetes.io/instance";
const COMPONENT: &str = "app.kubernetes.io/component";
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// Which part of a service an object belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Component {
    /// The rank servers.
    Rank,
    /// The ingest workers.
    Ingest,
    /// The training.
    Training,
    /// The import.
    Import,
    /// The removal of data.
    Purge,
}

impl Component {
    /// As labels and names of objects have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rank => "rank",
            Self::Ingest => "ingest",
            Self::Training => "training",
            Self::Import => "import",
            Self::Purge => "purge",
        }
    }

    /// Whether it may read events from the stream.
    pub fn reads_the_stream(self) -> bool {
        matches!(self, Self::Ingest | Self::Import)
    }

    /// Name of this part's main object.
    pub fn of(self, service: &str) -> String {
        format!("{service}-{}", self.name())
    }
}

/// Name of the ConfigMap with the configuration of this digest.
pub fn config_map(service: &str, digest: &str) -> String {
    format!("{service}-config-{}", digest.get(..DIGITS).unwrap_or(digest))
}

/// Digits of a digest in the name of a ConfigMap.
const DIGITS: usize = 10;

/// Name of the ConfigMap with the dashboard.
pub fn dashboard(service: &str) -> String {
    format!("{service}-dashboard")
}

/// Name of what leads to the page.
pub fn page(service: &str) -> String {
    format!("{service}-page")
}

/// Labels of an object that belongs to all of a service.
pub fn common(service: &str) -> BTreeMap<String, String> {
    let labels = [(NAME, "rankwright"), (INSTANCE, service), (MANAGED_BY, FIELD_MANAGER)];
    labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}

/// Labels of an object that belongs to a part of a service.
pub fn of(service: &str, component: Component) -> BTreeMap<String, String> {
    let mut labels = common(service);
    labels.insert(COMPONENT.to_owned(), component.name().to_owned());
    labels
}

/// The labels by which pods of a part are found; they never change.
pub fn selector(service: &str, component: Component) -> BTreeMap<String, String> {
    let mut labels = of(service, component);
    labels.remove(MANAGED_BY);
    labels
}

/// Labels as a selector in text.
pub fn text(labels: &BTreeMap<String, String>) -> String {
    labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",")
}

/// Selects everything that the operator made, for any service.
pub fn managed() -> String {
    format!("{MANAGED_BY}={FIELD_MANAGER}")
}

/// Whether an object says that the operator made it.
pub fn is_managed<K: ResourceExt>(object: &K) -> bool {
    object.labels().get(MANAGED_BY).is_some_and(|name| name == FIELD_MANAGER)
}

/// The service that an object says it belongs to.
pub fn service_of<K: ResourceExt>(object: &K) -> Option<String> {
    object.labels().get(INSTANCE).cloned()
}

/// The part that an object says it belongs to.
pub fn is_of<K: ResourceExt>(object: &K, component: Component) -> bool {
    object.labels().get(COMPONENT).is_some_and(|name| name == component.name())
}

/// The schedule that a training says it is of; nothing for the one that models share.
pub fn schedule_of<K: ResourceExt>(object: &K) -> &str {
    object.labels().get(SCHEDULE).map(String::as_str).unwrap_or_default()
}

/// The name of the part that an object says it belongs to.
pub fn component_of(metadata: &ObjectMeta) -> Option<&str> {
    metadata.labels.as_ref()?.get(COMPONENT).map(String::as_str)
}

/// Whether an object is one that this service made.
pub fn owns<K: ResourceExt>(service: &RankingService, object: &K) -> bool {
    let uid = service.metadata.uid.as_deref();
    object.owner_references().iter().any(|owner| owner.controller == Some(true) && Some(owner.uid.as_str()) == uid)
}
