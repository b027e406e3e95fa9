//! Volumes: the configuration, the authority that Redis' certificate comes from, room for temporary files, and those of the
//! resource.

use crate::labels::Component;
use crate::resolve::TLS_KEYS;
use crate::validate::Plan;
use k8s_openapi::api::core::v1::{
    ConfigMapVolumeSource, EmptyDirVolumeSource, KeyToPath, PersistentVolumeClaimVolumeSource, PodSpec,
    SecretVolumeSource, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use rankwright_crds::ranking_service::{ExtraVolume, PodOptions};

/// Key of the configuration in its ConfigMap, and its file.
pub const CONFIGURATION: &str = "config.yml";
/// File of the authority that Redis' certificate comes from.
pub const REDIS_AUTHORITY: &str = "/etc/rankwright/redis/ca.pem";

const CONFIGURATION_FOLDER: &str = "/etc/rankwright/config";
const REDIS_FOLDER: &str = "/etc/rankwright/redis";

/// Where a rank server finds its certificate.
pub(super) const TLS_FOLDER: &str = "/etc/rankwright/tls";

/// Names of the operator's own volumes; those of the resource get a sign in front.
const OWN: [&str; 4] = ["configuration", "redis-authority", "scratch", "certificate"];

pub(super) fn configuration_path() -> String {
    format!("{CONFIGURATION_FOLDER}/{CONFIGURATION}")
}

/// The volume of a pod with its configuration.
pub const CONFIGURATION_VOLUME: &str = OWN[0];

/// Name of the ConfigMap that a pod has its configuration from.
pub fn config_map_of(pod: &PodSpec) -> Option<&str> {
    let volume = pod.volumes.iter().flatten().find(|volume| volume.name == CONFIGURATION_VOLUME)?;
    Some(&volume.config_map.as_ref()?.name)
}

pub(super) fn volumes(plan: &Plan, component: Component, options: &PodOptions, scratch: Option<&str>) -> Vec<Volume> {
    let [configuration, _, temporary, _] = OWN;
    let map = match component {
        Component::Ingest => plan.ingest_config_map.clone(),
        _ => plan.config_map(),
    };
    let mut volumes = vec![
        Volume {
            name: configuration.to_owned(),
            config_map: Some(ConfigMapVolumeSource { name: map, ..Default::default() }),
            ..Volume::default()
        },
        Volume {
            name: temporary.to_owned(),
            empty_dir: Some(EmptyDirVolumeSource {
                size_limit: scratch.map(|size| Quantity(size.to_owned())),
                ..EmptyDirVolumeSource::default()
            }),
            ..Volume::default()
        },
    ];
    volumes.extend(authority(plan));
    volumes.extend(certificate(plan, component));
    volumes.extend(options.volumes.iter().map(volume));
    volumes
}

pub(super) fn mounts(plan: &Plan, component: Component, options: &PodOptions) -> Vec<VolumeMount> {
    let [configuration, redis, temporary, tls] = OWN;
    let mut mounts = vec![mount(configuration, CONFIGURATION_FOLDER, true), mount(temporary, "/tmp", false)];
    if authority(plan).is_some() {
        mounts.push(mount(redis, REDIS_FOLDER, true));
    }
    if certificate(plan, component).is_some() {
        mounts.push(mount(tls, TLS_FOLDER, true));
    }
    let writable = |volume: &ExtraVolume| {
        volume.empty_dir.is_some() || volume.persistent_volume_claim.as_ref().is_some_and(|claim| !claim.read_only)
    };
    mounts.extend(options.volumes.iter().map(|volume| mount(&named(volume), &volume.mount_path, !writable(volume))));
    mounts
}

fn authority(plan: &Plan) -> Option<Volume> {
    let authority = plan.spec.state_store.redis.tls.as_ref()?.ca.as_ref()?;
    let items = |key: &str| {
        let path = REDIS_AUTHORITY.rsplit('/').next().unwrap_or_default().to_owned();
        Some(vec![KeyToPath { key: key.to_owned(), path, mode: None }])
    };
    let secret = authority.secret_ref.as_ref().map(|secret| SecretVolumeSource {
        secret_name: Some(secret.name.clone()),
        items: items(&secret.key),
        ..SecretVolumeSource::default()
    });
    let config_map = authority.config_map_ref.as_ref().map(|map| ConfigMapVolumeSource {
        name: map.name.clone(),
        items: items(&map.key),
        ..ConfigMapVolumeSource::default()
    });
    Some(Volume { name: OWN[1].to_owned(), secret, config_map, ..Volume::default() })
}

/// The certificate of rank servers, whose files the node replaces while they run.
fn certificate(plan: &Plan, component: Component) -> Option<Volume> {
    let tls = plan.spec.rank.tls.as_ref().filter(|_| component == Component::Rank)?;
    let item = |key: &str| KeyToPath { key: key.to_owned(), path: key.to_owned(), mode: None };
    let secret = SecretVolumeSource {
        secret_name: Some(tls.secret_name.clone()),
        items: Some(TLS_KEYS.map(item).to_vec()),
        ..SecretVolumeSource::default()
    };
    Some(Volume { name: OWN[3].to_owned(), secret: Some(secret), ..Volume::default() })
}

fn named(volume: &ExtraVolume) -> String {
    format!("extra-{}", volume.name)
}

fn volume(extra: &ExtraVolume) -> Volume {
    let secret = extra.secret.as_ref();
    let claim = extra.persistent_volume_claim.as_ref();
    Volume {
        name: named(extra),
        secret: secret
            .map(|secret| SecretVolumeSource { secret_name: Some(secret.secret_name.clone()), ..Default::default() }),
        config_map: extra
            .config_map
            .as_ref()
            .map(|map| ConfigMapVolumeSource { name: map.name.clone(), ..Default::default() }),
        persistent_volume_claim: claim.map(|claim| PersistentVolumeClaimVolumeSource {
            claim_name: claim.claim_name.clone(),
            read_only: Some(claim.read_only),
        }),
        empty_dir: extra.empty_dir.as_ref().map(|folder| EmptyDirVolumeSource {
            size_limit: Some(Quantity(folder.size_limit.clone())),
            ..EmptyDirVolumeSource::default()
        }),
        ..Volume::default()
    }
}

fn mount(name: &str, path: &str, read_only: bool) -> VolumeMount {
    let read_only = read_only.then_some(true);
    VolumeMount { name: name.to_owned(), mount_path: path.to_owned(), read_only, ..VolumeMount::default() }
}
