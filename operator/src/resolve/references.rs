//! Which Secrets and ConfigMaps a resource names.

use crate::labels::Component;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use rankwright_crds::RankingServiceSpec;
use rankwright_crds::ranking_service::{KeyReference, PodOptions, S3Credentials, Source};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// Keys of a Secret with a certificate.
pub const TLS_KEYS: [&str; 2] = ["tls.crt", "tls.key"];

/// What is referred to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A Secret.
    Secret,
    /// A ConfigMap.
    ConfigMap,
}

/// A reference to a Secret or ConfigMap of the same namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// Of what kind it is.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// The key that is used; all of them where none is named.
    pub key: Option<String>,
    /// Whether the pods start without it.
    pub optional: bool,
    /// The field that names it.
    pub field: String,
}

/// What an object holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Content(BTreeMap<String, Vec<u8>>);

impl Kind {
    /// As messages name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Secret => "Secret",
            Self::ConfigMap => "ConfigMap",
        }
    }
}

impl Reference {
    /// The object that is referred to, in words.
    pub fn object(&self) -> String {
        format!("{} {}", self.kind.name(), self.name)
    }
}

impl Content {
    /// What a Secret holds.
    pub fn of_secret(secret: Secret) -> Self {
        Self(secret.data.unwrap_or_default().into_iter().map(|(key, value)| (key, value.0)).collect())
    }

    /// What a ConfigMap holds.
    pub fn of_config_map(map: ConfigMap) -> Self {
        let texts = map.data.unwrap_or_default().into_iter().map(|(key, text)| (key, text.into_bytes()));
        let binaries = map.binary_data.unwrap_or_default().into_iter().map(|(key, value)| (key, value.0));
        Self(texts.chain(binaries).collect())
    }

    /// From keys and texts.
    pub fn of_texts<const N: usize>(texts: [(&str, &str); N]) -> Self {
        Self(texts.map(|(key, text)| (key.to_owned(), text.as_bytes().to_vec())).into())
    }

    /// The text under a key.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(|bytes| std::str::from_utf8(bytes).ok())
    }

    /// Whether there is such a key.
    pub fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// Adds what a reference uses of it to a digest, which does not show the content.
    pub fn digest_into(&self, reference: &Reference, digest: &mut Sha256) {
        let used = self.0.iter().filter(|(key, _)| reference.key.as_ref().is_none_or(|wanted| wanted == *key));
        for (key, value) in used {
            for part in [key.as_bytes(), value.as_slice()] {
                digest.update((part.len() as u64).to_le_bytes());
                digest.update(part);
            }
        }
    }
}

/// All that a resource refers to, in the order of its fields.
pub fn of_service(spec: &RankingServiceSpec) -> Vec<Reference> {
    let mut found = Vec::from_iter(of_configuration(spec));
    for component in [Component::Rank, Component::Ingest, Component::Training, Component::Import] {
        found.extend(of_component(spec, component));
    }
    found.extend(certificate(spec));
    found.extend(besides(spec));
    found
}

/// What the configuration is written in, where that is not the resource.
pub fn of_configuration(spec: &RankingServiceSpec) -> Option<Reference> {
    let map = spec.configuration.config_map_ref.as_ref()?;
    Some(reference(Kind::ConfigMap, &map.name, Some(&map.key), "spec.configuration.configMapRef"))
}

/// Secrets that a resource names and pods start without, as others use them: those that pull images, or end TLS.
pub fn besides(spec: &RankingServiceSpec) -> Vec<Reference> {
    let pulling =
        spec.image_pull_secrets.iter().map(|secret| (&secret.name, format!("spec.imagePullSecrets[{}]", secret.name)));
    let rank = rank_certificate(spec).map(|name| (name, "spec.rank.ingress.tlsSecretName".to_owned()));
    let page = page_certificate(spec).map(|name| (name, "spec.rank.page.ingress.tlsSecretName".to_owned()));
    let spared =
        |(name, field): (&String, String)| Reference { optional: true, ..reference(Kind::Secret, name, None, &field) };
    pulling.chain(rank).chain(page).map(spared).collect()
}

fn rank_certificate(spec: &RankingServiceSpec) -> Option<&String> {
    spec.rank.ingress.as_ref()?.tls_secret_name.as_ref()
}

fn page_certificate(spec: &RankingServiceSpec) -> Option<&String> {
    spec.rank.page.as_ref()?.way_in()?.tls_secret_name.as_ref()
}

/// The certificate of rank servers. They take up a new one by themselves, so no digest has it.
fn certificate(spec: &RankingServiceSpec) -> Vec<Reference> {
    let Some(tls) = &spec.rank.tls else { return Vec::new() };
    TLS_KEYS.map(|key| reference(Kind::Secret, &tls.secret_name, Some(key), "spec.rank.tls.secretName")).into()
}

/// What the pods of a part refer to.
pub fn of_component(spec: &RankingServiceSpec, component: Component) -> Vec<Reference> {
    let Some(options) = options(spec, component) else { return Vec::new() };
    let mut found = of_redis(spec);
    let kept = spec.click_through_store.as_ref().and_then(|store| store.s3.as_ref());
    // rank servers have nothing to do with click-throughs
    if let Some(s3) = kept.filter(|_| component != Component::Rank) {
        found.extend(of_credentials(
            s3.credentials_secret_ref.as_ref(),
            "spec.clickThroughStore.s3.credentialsSecretRef",
        ));
    }
    if let Some(source) = spec.ingest.source.as_ref().filter(|_| component.reads_the_stream()) {
        found.extend(of_source(source));
    }
    let events = spec.import.as_ref().and_then(|import| import.from.s3.as_ref());
    if let (Component::Import, Some(events)) = (component, events) {
        found
            .extend(of_credentials(events.credentials_secret_ref.as_ref(), "spec.import.from.s3.credentialsSecretRef"));
    }
    let token = spec.rank.token_secret_ref.as_ref().filter(|_| component == Component::Rank);
    found.extend(token.map(|token| of_key(Kind::Secret, token, "spec.rank.tokenSecretRef")));
    // data are removed by a pod as those of rank servers are
    let part = if component == Component::Purge { Component::Rank } else { component };
    found.extend(of_pod(options, &format!("spec.{}.pod", part.name())));
    found
}

/// What is said of the pods of a part, where the resource has it.
fn options(spec: &RankingServiceSpec, component: Component) -> Option<&PodOptions> {
    match component {
        Component::Rank | Component::Purge => Some(&spec.rank.pod),
        Component::Ingest => Some(&spec.ingest.pod),
        Component::Training => spec.training.as_ref().map(|training| &training.pod),
        Component::Import => spec.import.as_ref().map(|import| &import.pod),
    }
}

fn of_redis(spec: &RankingServiceSpec) -> Vec<Reference> {
    let redis = &spec.state_store.redis;
    let mut found = Vec::new();
    if let Some(login) = &redis.auth {
        let field = "spec.stateStore.redis.auth";
        found.extend(
            login
                .username_secret_ref
                .as_ref()
                .map(|key| of_key(Kind::Secret, key, &format!("{field}.usernameSecretRef"))),
        );
        found.push(of_key(Kind::Secret, &login.password_secret_ref, &format!("{field}.passwordSecretRef")));
    }
    if let Some(authority) = redis.tls.as_ref().and_then(|tls| tls.ca.as_ref()) {
        let field = "spec.stateStore.redis.tls.ca";
        found.extend(authority.secret_ref.as_ref().map(|key| of_key(Kind::Secret, key, &format!("{field}.secretRef"))));
        found.extend(
            authority.config_map_ref.as_ref().map(|key| of_key(Kind::ConfigMap, key, &format!("{field}.configMapRef"))),
        );
    }
    found
}

fn of_source(source: &Source) -> Vec<Reference> {
    let kinesis = source.kinesis.as_ref().and_then(|kinesis| kinesis.credentials_secret_ref.as_ref());
    let mut found = of_credentials(kinesis, "spec.ingest.source.kinesis.credentialsSecretRef");
    if let Some(login) = source.kafka.as_ref().and_then(|kafka| kafka.auth.as_ref()) {
        let field = "spec.ingest.source.kafka.auth";
        let user = login.username_secret_ref.as_ref();
        found.extend(user.map(|key| of_key(Kind::Secret, key, &format!("{field}.usernameSecretRef"))));
        found.push(of_key(Kind::Secret, &login.password_secret_ref, &format!("{field}.passwordSecretRef")));
    }
    found
}

fn of_credentials(credentials: Option<&S3Credentials>, field: &str) -> Vec<Reference> {
    let Some(credentials) = credentials else { return Vec::new() };
    let keys = [&credentials.access_key_id_key, &credentials.secret_access_key_key];
    keys.map(|key| reference(Kind::Secret, &credentials.name, Some(key), field)).into()
}

fn of_pod(options: &PodOptions, field: &str) -> Vec<Reference> {
    let mut found = Vec::new();
    for variable in &options.env {
        let (place, Some(from)) = (format!("{field}.env[{}]", variable.name), &variable.value_from) else { continue };
        if let Some(secret) = &from.secret_key_ref {
            let optional = secret.optional.unwrap_or(false);
            found.push(Reference { optional, ..reference(Kind::Secret, &secret.name, Some(&secret.key), &place) });
        }
        if let Some(map) = &from.config_map_key_ref {
            let optional = map.optional.unwrap_or(false);
            found.push(Reference { optional, ..reference(Kind::ConfigMap, &map.name, Some(&map.key), &place) });
        }
    }
    for volume in &options.volumes {
        let place = format!("{field}.volumes[{}]", volume.name);
        found.extend(volume.secret.as_ref().map(|secret| reference(Kind::Secret, &secret.secret_name, None, &place)));
        found.extend(volume.config_map.as_ref().map(|map| reference(Kind::ConfigMap, &map.name, None, &place)));
    }
    found
}

fn of_key(kind: Kind, key: &KeyReference, field: &str) -> Reference {
    reference(kind, &key.name, Some(&key.key), field)
}

fn reference(kind: Kind, name: &str, key: Option<&str>, field: &str) -> Reference {
    let (name, key, field) = (name.to_owned(), key.map(str::to_owned), field.to_owned());
    Reference { kind, name, key, optional: false, field }
}
