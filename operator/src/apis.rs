//! APIs that some clusters have: those of KEDA, the Prometheus operator, and Gateways.

use crate::{Error, Result};
use kube::Client;
use kube::api::{ApiResource, GroupVersionKind};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How long an answer counts: APIs come and go seldom.
const FRESH: Duration = Duration::from_secs(60);

/// An API that not every cluster has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OptionalApi {
    /// A target of the Prometheus operator.
    PodMonitor,
    /// Alert rules of the Prometheus operator.
    PrometheusRule,
    /// A route of a Gateway.
    HttpRoute,
    /// An autoscaler of KEDA.
    ScaledObject,
}

impl OptionalApi {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::PodMonitor, Self::PrometheusRule, Self::HttpRoute, Self::ScaledObject];

    /// How it is spoken to.
    pub fn resource(self) -> ApiResource {
        let (group, version, kind, plural) = match self {
            Self::PodMonitor => ("monitoring.coreos.com", "v1", "PodMonitor", "podmonitors"),
            Self::PrometheusRule => ("monitoring.coreos.com", "v1", "PrometheusRule", "prometheusrules"),
            Self::HttpRoute => ("gateway.networking.k8s.io", "v1", "HTTPRoute", "httproutes"),
            Self::ScaledObject => ("keda.sh", "v1alpha1", "ScaledObject", "scaledobjects"),
        };
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
    }
}

/// Which of them a cluster has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Apis(Vec<OptionalApi>);

impl Apis {
    /// Those of a list.
    pub fn of(apis: impl IntoIterator<Item = OptionalApi>) -> Self {
        Self(apis.into_iter().collect())
    }

    /// Whether the cluster has it.
    pub fn has(&self, api: OptionalApi) -> bool {
        self.0.contains(&api)
    }

    /// All that it has.
    pub fn iter(&self) -> impl Iterator<Item = OptionalApi> + '_ {
        self.0.iter().copied()
    }
}

/// Asks the API server, at most once a minute.
#[derive(Default)]
pub struct Discovery(Mutex<Option<(Instant, Apis)>>);

impl Discovery {
    /// Which APIs the cluster has now.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn apis(&self, client: &Client) -> Result<Apis> {
        if let Some((_, apis)) = self.known().filter(|(at, _)| at.elapsed() < FRESH) {
            return Ok(apis);
        }
        let groups = client.list_api_groups().await.map_err(Error::reading("the list of API groups"))?;
        let mut found = Vec::new();
        for api in OptionalApi::ALL {
            let resource = api.resource();
            let Some(group) = groups.groups.iter().find(|group| group.name == resource.group) else { continue };
            if group.versions.iter().any(|version| version.version == resource.version)
                && has_kind(client, &resource).await?
            {
                found.push(api);
            }
        }
        let apis = Apis(found);
        *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some((Instant::now(), apis.clone()));
        Ok(apis)
    }

    fn known(&self) -> Option<(Instant, Apis)> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }
}

async fn has_kind(client: &Client, resource: &ApiResource) -> Result<bool> {
    let what = format!("the resources of {}", resource.api_version);
    match client.list_api_group_resources(&resource.api_version).await {
        Ok(listed) => Ok(listed.resources.iter().any(|known| known.kind == resource.kind)),
        Err(error) if is_absent(&error) => Ok(false), // it went since the groups were listed
        Err(error) => Err(Error::reading(what)(error)),
    }
}

/// Whether there is no such thing, or no such API at all.
pub(crate) fn is_absent(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}
