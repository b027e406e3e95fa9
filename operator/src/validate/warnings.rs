//! What a plan does not carry out as its author may expect, said in warnings.

use super::credentials;
use crate::apis::{Apis, OptionalApi};
use crate::resolve::{self, Reference, Resolved};
use crate::schedules;
use rankwright_crds::RankingServiceSpec;
use rankwright_crds::ranking_service::{Mechanism, Rank, ServiceType};

/// How the warning begins about a number of rank servers that is not used.
pub const IDLE_NUMBER: &str = "spec.rank.replicas";

/// All of a resource, beside those of its configuration.
pub(super) fn of(name: &str, spec: &RankingServiceSpec, resolved: &Resolved, trained: &[String]) -> Vec<String> {
    let mut warnings = missing_apis(spec, &resolved.apis);
    warnings.extend(blind_autoscaler(spec, &resolved.apis));
    warnings.extend(idle_number(spec));
    warnings.extend(bare_password(spec));
    warnings.extend(blind_alerts(spec));
    warnings.extend(closed_door(spec));
    warnings.extend(idle_schedule(name, spec, trained));
    warnings.extend(credentials::borrowed_key(spec));
    warnings.extend(lacking(spec, resolved));
    warnings
}

fn missing_apis(spec: &RankingServiceSpec, apis: &Apis) -> Vec<String> {
    let monitoring = spec.monitoring.as_ref();
    let wanted = [
        (
            spec.ingest.autoscaling.is_some(),
            OptionalApi::ScaledObject,
            "spec.ingest.autoscaling",
            "minReplicas workers run",
        ),
        (spec.rank.gateway_route.is_some(), OptionalApi::HttpRoute, "spec.rank.gatewayRoute", "there is no route"),
        (
            monitoring.is_some_and(|monitoring| monitoring.pod_monitor.is_some()),
            OptionalApi::PodMonitor,
            "spec.monitoring.podMonitor",
            "nothing reads the metrics",
        ),
        (
            monitoring.is_some_and(|monitoring| monitoring.alert_rules.is_some()),
            OptionalApi::PrometheusRule,
            "spec.monitoring.alertRules",
            "no alert is sent",
        ),
    ];
    let missing = wanted.into_iter().filter(|(wanted, api, ..)| *wanted && !apis.has(*api));
    let text = |(_, api, field, effect): (bool, OptionalApi, &str, &str)| {
        let resource = api.resource();
        format!("{field}: the cluster has no {} of {}, so {effect}", resource.kind, resource.api_version)
    };
    missing.map(text).collect()
}

/// A number of rank servers, as set by `kubectl scale`, where an autoscaler decides on it.
fn idle_number(spec: &RankingServiceSpec) -> Option<String> {
    let (rank, unsaid) = (&spec.rank, Rank::default().replicas);
    let autoscaling = rank.autoscaling.as_ref().filter(|_| rank.replicas != unsaid)?;
    Some(format!(
        "{IDLE_NUMBER}: {} is not used, rank.autoscaling decides between {} and {}: change minReplicas and maxReplicas",
        rank.replicas, autoscaling.min_replicas, autoscaling.max_replicas
    ))
}

/// KEDA reads the lag by itself, and knows nothing of how workers log in.
fn blind_autoscaler(spec: &RankingServiceSpec, apis: &Apis) -> Option<String> {
    let autoscaling = spec.ingest.autoscaling.as_ref().filter(|_| apis.has(OptionalApi::ScaledObject))?;
    let kafka = spec.ingest.source.as_ref()?.kafka.as_ref()?;
    let protocol = kafka.options.get("security.protocol");
    let secured = kafka.auth.is_some() || protocol.is_some_and(|protocol| !protocol.eq_ignore_ascii_case("plaintext"));
    (secured && autoscaling.authentication_ref.is_none()).then(|| {
        "spec.ingest.autoscaling: Kafka wants a login or TLS, and KEDA knows of neither to read the lag with: name a TriggerAuthentication in authenticationRef".to_owned()
    })
}

/// One mechanism sends the password itself.
fn bare_password(spec: &RankingServiceSpec) -> Option<String> {
    let kafka = spec.ingest.source.as_ref()?.kafka.as_ref()?;
    let login = kafka.auth.as_ref().filter(|login| login.mechanism == Mechanism::Plain)?;
    let protocol = kafka.options.get("security.protocol")?;
    protocol.eq_ignore_ascii_case("sasl_plaintext").then(|| {
        let user = login.username.as_deref().unwrap_or("the user");
        format!("spec.ingest.source.kafka.auth: the password of {user} goes over the network as it is: use sasl_ssl, or another mechanism")
    })
}

/// Alerts about series that are not read fire, as those of a service that is down.
fn blind_alerts(spec: &RankingServiceSpec) -> Option<String> {
    let monitoring = spec.monitoring.as_ref()?;
    let closed = spec.network_policy.as_ref().is_some_and(|policy| policy.metrics_from.is_empty());
    if closed && monitoring.alert_rules.is_none() {
        let text = "spec.networkPolicy.metricsFrom: is empty, so no Prometheus of another namespace may read what spec.monitoring.podMonitor is about: let it in";
        return monitoring.pod_monitor.as_ref().map(|_| text.to_owned());
    }
    monitoring.alert_rules.as_ref()?;
    if closed {
        let text = "spec.networkPolicy.metricsFrom: is empty, so no Prometheus of another namespace may read the metrics that spec.monitoring.alertRules is about, and alerts fire as if the service were down: let it in";
        return Some(text.to_owned());
    }
    monitoring.pod_monitor.is_none().then(|| {
        "spec.monitoring.alertRules: there is no podMonitor, and alerts fire as if the service were down, unless something else reads the metrics and gives series the labels rankingservice and component".to_owned()
    })
}

/// Requests from outside of the namespace need to be let in.
fn closed_door(spec: &RankingServiceSpec) -> Option<String> {
    spec.network_policy.as_ref().filter(|policy| policy.rank_from.is_empty())?;
    let rank = &spec.rank;
    let ways = [
        ("spec.rank.ingress", rank.ingress.is_some()),
        ("spec.rank.gatewayRoute", rank.gateway_route.is_some()),
        ("spec.rank.page.ingress", rank.page.as_ref().is_some_and(|page| page.way_in().is_some())),
        ("spec.rank.service.type", rank.service.type_ != ServiceType::ClusterIP),
    ];
    let (field, _) = ways.into_iter().find(|(_, open)| *open)?;
    Some(format!(
        "spec.networkPolicy.rankFrom: is empty, so what {field} lets in from outside of this namespace does not get through: let it in"
    ))
}

/// A schedule by which nothing is trained.
fn idle_schedule(name: &str, spec: &RankingServiceSpec, trained: &[String]) -> Option<String> {
    let training = spec.training.as_ref()?;
    let is_idle = schedules::of(name, training, trained).iter().all(|schedule| schedule.own.is_some());
    is_idle.then(|| {
        "spec.training.schedule: trains nothing, as each model that learns has a schedule in modelSchedules".to_owned()
    })
}

/// Secrets without which pods start: they are missed when an image cannot be pulled, or visitors see a wrong certificate.
fn lacking(spec: &RankingServiceSpec, resolved: &Resolved) -> Vec<String> {
    let gone =
        resolve::besides(spec).into_iter().filter(|one| !resolved.objects.contains_key(&(one.kind, one.name.clone())));
    let text = |Reference { name, field, .. }: Reference| {
        let effect = match field.as_str() {
            "spec.rank.ingress.tlsSecretName" | "spec.rank.page.ingress.tlsSecretName" => {
                "the Ingress has no certificate of its own"
            }
            _ => "images are pulled without it",
        };
        format!("{field}: Secret {name} does not exist, so {effect}: create it")
    };
    gone.map(text).collect()
}
