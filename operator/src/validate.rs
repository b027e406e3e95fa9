//! Pure: what a resource asks for, and what was read for it, in; a checked plan, or the refusal that its author needs, out.

pub mod configuration;
mod credentials;
mod images;
mod pod_template;
mod refusal;
mod warnings;

pub use images::Images;
pub use rankwright_crds::ranking_service::RESERVED;
pub use refusal::Refusal;
pub use warnings::IDLE_NUMBER;

use crate::apis::{Apis, OptionalApi};
use crate::labels::{self, Component};
use crate::resolve::{self, Reference, Resolved};
use configuration::Rendered;
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{Resource, ResourceExt};
use rankwright_config::Offset;
use rankwright_crds::ranking_service::{ImportFrom, PodOptions};
use rankwright_crds::status::{ImportPhase, ImportStatus};
use rankwright_crds::{RankingService, RankingServiceSpec};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The variable with the token of rank servers; the operator sets it where the resource names a token.
pub const API_TOKEN: &str = "RANKWRIGHT_API_TOKEN";

/// What the operator is told about all services.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Defaults {
    /// Image of services that name none.
    pub image: String,
    /// The operator's own namespace, where it is known: network policies let it in.
    pub namespace: Option<String>,
    /// Whom programs run as; nothing where the cluster decides.
    pub user: Option<i64>,
    /// What tells this cluster from others, where the operator may know it: states carry it.
    pub cluster: Option<String>,
}

/// A resource that was checked, with everything that its objects are built from.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Makes an object go with it.
    pub owner: OwnerReference,
    /// What it asks for.
    pub spec: RankingServiceSpec,
    /// Name under which its data lie in Redis and S3.
    pub service: String,
    /// The engine's configuration.
    pub configuration: Rendered,
    /// The ConfigMap that ingest workers read: the one that they began with until they start again.
    pub ingest_config_map: String,
    /// Why that is the one of before, of a resource that is being deleted.
    pub outdated: Option<Refusal>,
    /// Digests of what pods refer to.
    pub references: Digests,
    /// What is merged over the pods of parts.
    pub templates: BTreeMap<Component, PodTemplateSpec>,
    /// The image of each part.
    pub images: Images,
    /// APIs that the cluster has.
    pub apis: Apis,
    /// The operator's own namespace.
    pub operator_namespace: Option<String>,
    /// Whom programs run as; nothing where the cluster decides.
    pub user: Option<i64>,
    /// What tells this cluster from others.
    pub cluster: Option<String>,
    /// The digest of the import that is done already.
    pub imported: Option<String>,
    /// The digest of the import that the status tells of.
    pub known_import: Option<String>,
    /// Why ingest does not run the image, or the configuration, that it should.
    pub held: Option<String>,
    /// Whether the Deployment of the ingest workers is left as it is: other settings may go with the new configuration alone.
    pub ingest_stays: bool,
    /// What works, and probably not as meant.
    pub warnings: Vec<String>,
}

/// Digests of the Secrets and ConfigMaps that parts refer to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Digests {
    /// Of the rank servers.
    pub rank: String,
    /// Of the ingest workers.
    pub ingest: String,
}

/// Checks a resource.
///
/// # Errors
/// What its author has to change, or bring.
pub fn plan(service: &RankingService, resolved: &Resolved, defaults: &Defaults) -> Result<Plan, Refusal> {
    let (name, spec) = (service.name_any(), &service.spec);
    let namespace = service.namespace().unwrap_or_default();
    let owner = service.controller_owner_ref(&()).ok_or_else(|| Refusal::unfit("metadata.uid", "is missing"))?;
    match service.metadata.deletion_timestamp {
        None => right(spec, resolved, &namespace)?,
        Some(_) => removable(spec, resolved, &namespace)?,
    }
    let (mut configuration, outdated) = configured(&name, spec, resolved, &namespace)?;
    pins(spec, &configuration, resolved)?;
    let templates = pod_template::of(spec)?;
    let (images, held) = images::images(spec, resolved, defaults, former(service));
    let mut references =
        Digests { rank: digest(spec, resolved, Component::Rank), ingest: digest(spec, resolved, Component::Ingest) };
    let running = resolved.ingest.as_ref().and_then(|ingest| ingest.digests.clone());
    if let Some([configured, referred]) = running.filter(|_| held.is_some()) {
        // settings for a new image are no reason to make new pods of the old one
        (configuration.ingest_digest, references.ingest) = (configured, referred);
    }
    let unproven = unproven(resolved, &configuration);
    let mut warnings = configuration.warnings.clone();
    warnings.extend(warnings::of(&name, spec, resolved, &configuration.trained));
    Ok(Plan {
        service: spec.state_store.service.clone().unwrap_or_else(|| format!("{namespace}.{name}")),
        references,
        imported: imported(service),
        known_import: known_import(service).map(|import| import.digest.clone()),
        apis: resolved.apis.clone(),
        operator_namespace: defaults.namespace.clone(),
        user: defaults.user,
        cluster: defaults.cluster.clone(),
        spec: spec.clone(),
        ingest_config_map: ingest_config_map(&name, resolved, &configuration, &images.ingest),
        owner,
        name,
        namespace,
        configuration,
        outdated,
        templates,
        images,
        ingest_stays: unproven.is_some(),
        held: held.or(unproven),
        warnings,
    })
}

/// Whether a resource can be carried out.
fn right(spec: &RankingServiceSpec, resolved: &Resolved, namespace: &str) -> Result<(), Refusal> {
    all_there(resolve::of_service(spec), resolved, namespace)?;
    let training = spec.training.as_ref().map(|training| &training.pod);
    let import = spec.import.as_ref().map(|import| &import.pod);
    unreserved("rank", Some(&spec.rank.pod))?;
    unreserved("ingest", Some(&spec.ingest.pod))?;
    unreserved("training", training)?;
    unreserved("import", import)?;
    credentials::check(spec)?;
    credentials::token(spec, resolved)?;
    credentials::page(spec)?;
    has_request(spec)?;
    has_offset(spec)
}

/// A version that is not there would leave all servers without any.
fn pins(spec: &RankingServiceSpec, configuration: &Rendered, resolved: &Resolved) -> Result<(), Refusal> {
    for (model, versions) in &resolved.versions {
        let pinned = configuration.pins.get(model);
        let Some(pinned) = pinned.filter(|pinned| !versions.contains(pinned)) else { continue };
        return Err(Refusal::no_such_version(&configuration::pinned_by(spec, model), pinned, versions));
    }
    Ok(())
}

/// Whether the data of a resource that is being deleted can be removed: nothing else that it asks for matters any more.
fn removable(spec: &RankingServiceSpec, resolved: &Resolved, namespace: &str) -> Result<(), Refusal> {
    all_there(resolve::of_component(spec, Component::Purge), resolved, namespace)?;
    unreserved("rank", Some(&spec.rank.pod))
}

/// The configuration; that of before where it cannot be put together any more, with the reason, if pods were given one.
fn configured(
    service: &str,
    spec: &RankingServiceSpec,
    resolved: &Resolved,
    namespace: &str,
) -> Result<(Rendered, Option<Refusal>), Refusal> {
    let written = all_there(resolve::of_configuration(spec), resolved, namespace);
    match (written.and_then(|()| configuration::rendered(service, spec, resolved)), &resolved.kept) {
        (Ok(rendered), _) => Ok((rendered, None)),
        (Err(refusal), Some(text)) => Ok((configuration::kept(text), Some(refusal))),
        (Err(refusal), None) => Err(refusal),
    }
}

/// Why workers go on as they are: all of them end for another configuration, and it may keep every program from starting. The first
/// rank server with it shows that.
fn unproven(resolved: &Resolved, configuration: &Rendered) -> Option<String> {
    let [configured, _] = resolved.ingest.as_ref()?.digests.as_ref()?;
    let changes = *configured != configuration.ingest_digest;
    let is_tried = resolved.rank.as_ref().is_some_and(|rank| rank.replicas > 0);
    let text = "goes on with the previous configuration, and all other changes of the workers wait, until a rank server has started with the new one";
    (changes && is_tried && !resolved.started.contains(&configuration.digest)).then(|| text.to_owned())
}

/// Another name would make new pods: workers keep theirs while nothing has changed that they work by. Those of another image
/// begin again anyhow, and may refuse what the old one reads.
fn ingest_config_map(name: &str, resolved: &Resolved, configuration: &Rendered, image: &str) -> String {
    let begun = resolved.ingest.as_ref().filter(|ingest| {
        let digests = ingest.digests.as_ref();
        ingest.image == image && digests.is_some_and(|[configured, _]| *configured == configuration.ingest_digest)
    });
    let kept = begun.and_then(|ingest| ingest.config_map.clone());
    kept.unwrap_or_else(|| labels::config_map(name, &configuration.digest))
}

/// The image that all rank servers ran when that was told last.
fn former(service: &RankingService) -> Option<&str> {
    service.status.as_ref()?.rank.as_ref()?.image.as_deref()
}

/// Everything that is named has to be there: pods would wait for it without a word.
fn all_there(named: impl IntoIterator<Item = Reference>, resolved: &Resolved, namespace: &str) -> Result<(), Refusal> {
    for Reference { kind, name, key, optional, field } in named {
        if optional {
            continue;
        }
        let object = format!("{} {name}", kind.name());
        match (resolved.objects.get(&(kind, name)), key) {
            (None, _) => return Err(Refusal::Missing { kind, object, namespace: namespace.to_owned(), field }),
            (Some(content), Some(key)) if !content.has(&key) => {
                return Err(Refusal::MissingKey { kind, object, key, field });
            }
            _ => {}
        }
    }
    Ok(())
}

/// The pattern of the field accepts times and durations that cannot be read.
fn has_offset(spec: &RankingServiceSpec) -> Result<(), Refusal> {
    let Some(import) = &spec.import else { return Ok(()) };
    let read = import.offset.parse::<Offset>();
    read.map(drop).map_err(|invalid| Refusal::unfit("spec.import.offset", invalid.to_string()))
}

fn unreserved(part: &str, options: Option<&PodOptions>) -> Result<(), Refusal> {
    let mut variables = options.iter().flat_map(|options| &options.env);
    let Some(variable) = variables.find(|variable| RESERVED.contains(&variable.name.as_str())) else { return Ok(()) };
    let field = format!("spec.{part}.pod.env[{}]", variable.name);
    Err(Refusal::unfit(field, "the operator sets this variable from other fields: leave it out"))
}

/// An autoscaler goes by the share of what was requested.
fn has_request(spec: &RankingServiceSpec) -> Result<(), Refusal> {
    let by_processor = spec.rank.autoscaling.as_ref().is_some_and(|autoscaling| autoscaling.cpu_utilization.is_some());
    let Some(resources) = spec.rank.pod.resources.as_ref().filter(|_| by_processor) else { return Ok(()) };
    // a limit without a request is one
    let mut given = [&resources.requests, &resources.limits].into_iter().flatten();
    match given.any(|quantities| quantities.contains_key("cpu")) {
        true => Ok(()),
        false => Err(Refusal::unfit(
            "spec.rank.pod.resources",
            "spec.rank.autoscaling.cpuUtilization is a share of the requested processor time: give requests.cpu",
        )),
    }
}

/// The digest of the import that the status tells to be complete.
fn imported(service: &RankingService) -> Option<String> {
    known_import(service)
        .filter(|import| matches!(import.phase, ImportPhase::Complete | ImportPhase::Lost))
        .map(|import| import.digest.clone())
}

fn known_import(service: &RankingService) -> Option<&ImportStatus> {
    service.status.as_ref()?.import.as_ref()
}

fn digest(spec: &RankingServiceSpec, resolved: &Resolved, component: Component) -> String {
    let mut digest = Sha256::new();
    for reference in resolve::of_component(spec, component) {
        digest.update(reference.object());
        if let Some(content) = resolved.objects.get(&(reference.kind, reference.name.clone())) {
            content.digest_into(&reference, &mut digest);
        }
    }
    // clouds give a pod its role when it is made
    for annotation in spec.service_account.iter().flat_map(|account| account.annotations.iter().flatten()) {
        digest.update(format!("{annotation:?}"));
    }
    hex(&digest.finalize())
}

/// The first 16 signs of a digest: enough to tell contents apart.
pub(crate) fn hex(digest: &[u8]) -> String {
    digest.iter().take(8).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The digest of a text.
pub(crate) fn digest_of(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

impl Plan {
    /// What an import asks for, as a digest; its pod's options do not count.
    pub fn import_digest(&self) -> Option<String> {
        let import = self.spec.import.as_ref()?;
        let mut stream = import.from.stream.as_ref().and(self.spec.ingest.source.clone());
        // who reads a stream says nothing of what is in it
        if let Some(stream) = &mut stream {
            stream.kafka.iter_mut().for_each(|kafka| kafka.auth = None);
            stream.kinesis.iter_mut().for_each(|kinesis| kinesis.credentials_secret_ref = None);
            stream.dead_letter = None;
        }
        let digest = |from: &ImportFrom| {
            let events = serde_json::json!([from, import.offset, import.attempt]);
            digest_of(&format!("{events} {}", serde_json::json!(stream)))
        };
        // nor do the bucket's credentials and the address of its server; they did in a digest that an older status may have
        let told = digest(&import.from);
        if self.known_import.as_ref() == Some(&told) {
            return Some(told);
        }
        let mut from = import.from.clone();
        if let Some(events) = &mut from.s3 {
            (events.credentials_secret_ref, events.endpoint, events.region) = Default::default();
        }
        Some(digest(&from))
    }

    /// Name of the Job of that import.
    pub fn import_job(&self) -> Option<String> {
        Some(format!("{}-{}", self.named(Component::Import), &self.import_digest()?[..8]))
    }

    /// The mark of its state: of which cluster it is, and of which resource. A resource that replaces an earlier one of its name
    /// has the same mark, and its pods run on.
    pub fn mark(&self) -> Option<String> {
        let cluster = self.cluster.as_ref()?;
        Some(format!("{cluster}/{}/{}", self.namespace, self.name))
    }

    /// Name of a part's main object.
    pub fn named(&self, component: Component) -> String {
        component.of(&self.name)
    }

    /// Name of the ConfigMap with its configuration.
    pub fn config_map(&self) -> String {
        labels::config_map(&self.name, &self.configuration.digest)
    }

    /// Name of the service account of the pods.
    pub fn service_account(&self) -> &str {
        self.spec.service_account.as_ref().and_then(|account| account.name.as_deref()).unwrap_or(&self.name)
    }

    /// Where rank servers are reached in the cluster.
    pub fn endpoint(&self) -> String {
        let scheme = if self.spec.rank.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}.{}.svc:{}", self.named(Component::Rank), self.namespace, self.spec.rank.service.port)
    }

    /// The labels of the rank servers' pods, as text.
    pub fn rank_selector(&self) -> String {
        labels::text(&labels::selector(&self.name, Component::Rank))
    }

    /// Whether the number of ingest workers is left to KEDA.
    pub fn scales_ingest(&self) -> bool {
        self.spec.ingest.autoscaling.is_some() && self.apis.has(OptionalApi::ScaledObject)
    }
}

#[cfg(test)]
mod tests;
