//! Environment variables: where the configuration is, whose data, and secrets by reference.

use super::volumes::{TLS_FOLDER, configuration_path};
use crate::build::rank::drain_seconds;
use crate::labels::Component;
use crate::validate::{API_TOKEN, Plan};
use k8s_openapi::api::core::v1::{EnvVar, EnvVarSource, SecretKeySelector};
use rankwright_crds::ranking_service::{PodOptions, S3Credentials};

/// Where Kubernetes reads what a container tells at its end.
const TERMINATION_LOG: &str = "/dev/termination-log";

pub(super) fn variables(plan: &Plan, component: Component, options: &PodOptions) -> Vec<EnvVar> {
    let mut variables =
        vec![value("SERVICE_CONFIG", configuration_path()), value("RANKWRIGHT_SERVICE", plan.service.clone())];
    variables.extend(plan.mark().map(|mark| value("RANKWRIGHT_OWNER", mark)));
    if plan.spec.state_store.take_over {
        variables.push(value("RANKWRIGHT_TAKE_OVER", "true".to_owned()));
    }
    if component == Component::Rank && !plan.spec.rank.rollout.abort {
        variables.push(value("RANKWRIGHT_READY_WITHOUT_MODELS", "true".to_owned()));
    }
    if let Some(login) = &plan.spec.state_store.redis.auth {
        if let Some(user) = &login.username_secret_ref {
            variables.push(secret("SERVICE_REDIS_USER", &user.name, &user.key));
        }
        let password = &login.password_secret_ref;
        variables.push(secret("SERVICE_REDIS_PASSWORD", &password.name, &password.key));
    }
    let kafka = plan.spec.ingest.source.as_ref().and_then(|source| source.kafka.as_ref());
    let login = kafka.and_then(|kafka| kafka.auth.as_ref()).filter(|_| component.reads_the_stream());
    if let Some(login) = login {
        if let Some(user) = &login.username_secret_ref {
            variables.push(secret("SERVICE_KAFKA_USER", &user.name, &user.key));
        }
        let password = &login.password_secret_ref;
        variables.push(secret("SERVICE_KAFKA_PASSWORD", &password.name, &password.key));
    }
    if let Some(credentials) = credentials(plan, component) {
        variables.push(secret("AWS_ACCESS_KEY_ID", &credentials.name, &credentials.access_key_id_key));
        variables.push(secret("AWS_SECRET_ACCESS_KEY", &credentials.name, &credentials.secret_access_key_key));
    }
    if component == Component::Import {
        variables.extend(events(plan));
        // the state remembers it, and outlives the status that tells of it
        variables.extend(plan.import_digest().map(|digest| value("RANKWRIGHT_IMPORT_ONCE", digest)));
    }
    if component == Component::Rank {
        variables.extend(plan.spec.rank.tls.as_ref().map(|_| value("RANKWRIGHT_API_TLS_DIR", TLS_FOLDER.to_owned())));
        let token = plan.spec.rank.token_secret_ref.as_ref();
        variables.extend(token.map(|token| secret(API_TOKEN, &token.name, &token.key)));
        variables.push(value("SERVICE_DRAIN_TIMEOUT", format!("{}s", drain_seconds(plan))));
    }
    if component == Component::Training {
        variables.push(value("TERMINATION_LOG", TERMINATION_LOG.to_owned()));
    }
    variables.extend(options.env.iter().cloned());
    variables
}

/// The access key of a part; there is one at most, which was checked.
fn credentials(plan: &Plan, component: Component) -> Option<&S3Credentials> {
    let spec = &plan.spec;
    let kept = spec.click_through_store.as_ref().and_then(|store| store.s3.as_ref());
    let kept = kept.and_then(|s3| s3.credentials_secret_ref.as_ref());
    let streamed = spec.ingest.source.as_ref().and_then(|source| source.kinesis.as_ref());
    let streamed = streamed.and_then(|kinesis| kinesis.credentials_secret_ref.as_ref());
    let imported = spec.import.as_ref().and_then(|import| import.from.s3.as_ref());
    let imported = imported.and_then(|events| events.credentials_secret_ref.as_ref());
    match component {
        Component::Ingest => kept.or(streamed),
        Component::Import => kept.or(streamed).or(imported),
        Component::Training | Component::Purge => kept,
        Component::Rank => None, // it has nothing to do with click-throughs
    }
}

/// Where an import finds a bucket of events.
fn events(plan: &Plan) -> Vec<EnvVar> {
    let Some(events) = plan.spec.import.as_ref().and_then(|import| import.from.s3.as_ref()) else { return Vec::new() };
    let kept = plan.spec.click_through_store.as_ref().and_then(|store| store.s3.as_ref());
    let region = events.region.clone().or_else(|| kept.map(|s3| s3.region.clone()));
    let mut variables = vec![value("AWS_REGION", region.unwrap_or_else(|| "us-east-1".to_owned()))];
    variables.extend(events.endpoint.clone().map(|endpoint| value("AWS_ENDPOINT_URL_S3", endpoint)));
    variables
}

fn value(name: &str, value: String) -> EnvVar {
    EnvVar { name: name.to_owned(), value: Some(value), value_from: None }
}

fn secret(name: &str, secret: &str, key: &str) -> EnvVar {
    let selector = SecretKeySelector { name: secret.to_owned(), key: key.to_owned(), optional: None };
    let from = EnvVarSource { secret_key_ref: Some(selector), ..EnvVarSource::default() };
    EnvVar { name: name.to_owned(), value: None, value_from: Some(from) }
}
