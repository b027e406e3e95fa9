//! One operator at a time: the one that holds a Lease. Time is that of the observer alone: a lease has ended when it was
//! not renewed for its duration since it was seen to change.

use crate::error::said;
use crate::labels::OPERATOR;
use k8s_openapi::api::authentication::v1::{SelfSubjectReview, UserInfo};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, OwnerReference};
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, ObjectMeta, PostParams};
use kube::{Client, ResourceExt};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tracing::{info, warn};

/// Name of the Lease.
pub const LEASE: &str = "rankwright-operator";

/// Annotation of the Lease with the id of the cluster. An operator that is confined to some namespaces may not ask for it: it marks
/// states as before, or by the id that it is given.
const CLUSTER: &str = "rankwright.dev/cluster";

/// How long a holder counts that does not renew, and how often it does.
#[derive(Debug, Clone, Copy)]
pub struct Timing {
    /// How long a holder counts that does not renew.
    pub duration: Duration,
    /// How often a holder renews, and others look.
    pub period: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self { duration: Duration::from_secs(15), period: Duration::from_secs(2) }
    }
}

/// Takes part in the election.
pub struct Candidate {
    api: Api<Lease>,
    /// Whose end is the Lease's.
    owner: Option<OwnerReference>,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    identity: String,
    timing: Timing,
}

/// The lease as it was when it was seen to change.
struct Sighting {
    version: Option<String>,
    at: Instant,
}

impl Candidate {
    /// Under a name that no other candidate has.
    pub fn new(client: Client, namespace: &str, identity: String, timing: Timing) -> Self {
        let api = Api::namespaced(client, namespace);
        Self { api, owner: None, labels: BTreeMap::new(), annotations: BTreeMap::new(), identity, timing }
    }

    /// Has the Lease go with the operator's own ServiceAccount, as when it is uninstalled. Who is no ServiceAccount of this namespace,
    /// or does not get to know its identity, leaves it.
    pub async fn owned_by_account(self, client: Client, namespace: &str) -> Self {
        let reviews: Api<SelfSubjectReview> = Api::all(client);
        let asked = reviews.create(&PostParams::default(), &SelfSubjectReview::default()).await;
        let user = asked.inspect_err(|error| warn!(error = said(error), "the Lease stays when the operator goes")).ok();
        let owner = user.and_then(|review| account(review.status?.user_info?, namespace));
        Self { owner, ..self }
    }

    /// Has the Lease say this of its holder.
    #[must_use]
    pub fn labelled(self, labels: BTreeMap<String, String>) -> Self {
        Self { labels, ..self }
    }

    /// Has the Lease keep the id of the cluster, where it is known.
    #[must_use]
    pub fn of_cluster(self, id: Option<String>) -> Self {
        Self { annotations: id.map(|id| (CLUSTER.to_owned(), id)).into_iter().collect(), ..self }
    }

    /// The id of the cluster that an earlier operator has left in the Lease.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn known_cluster(&self) -> kube::Result<Option<String>> {
        Ok(self.api.get_opt(LEASE).await?.and_then(|lease| lease.annotations().get(CLUSTER).cloned()))
    }

    /// Waits until the lease is held; when it was asked for, as others count from later on.
    pub async fn acquire(&self) -> Instant {
        let mut sighting = None;
        loop {
            let asked = Instant::now();
            match self.try_acquire(&mut sighting).await {
                Ok(true) => {
                    info!(identity = self.identity, "leading");
                    return asked;
                }
                Ok(false) => {}
                Err(error) => warn!(error = said(&error), "the lease was not acquired"),
            }
            tokio::time::sleep(self.timing.period).await;
        }
    }

    /// Renews the lease for as long as it is held, which it is since `acquired`; ends when it is lost.
    pub async fn keep(&self, acquired: Instant) {
        let mut renewed = acquired;
        loop {
            tokio::time::sleep(self.timing.period).await;
            // others count from when they see it: at this time at the earliest
            let asked = Instant::now();
            let attempt = tokio::time::timeout(self.timing.period, self.renew()).await;
            match attempt {
                Ok(Ok(true)) => renewed = asked,
                Ok(Ok(false)) => {
                    warn!("another operator leads");
                    return;
                }
                Ok(Err(error)) => warn!(error = said(&error), "the lease was not renewed"),
                Err(_) => warn!("the lease was not renewed in time"),
            }
            // others take it over when its duration has passed: be gone before
            if renewed.elapsed() + 2 * self.timing.period > self.timing.duration {
                warn!("the lease is lost");
                return;
            }
        }
    }

    /// Gives the lease up, so that another candidate has it at once.
    pub async fn release(&self) {
        let Ok(Some(mut lease)) = self.api.get_opt(LEASE).await else { return };
        if self.holds(&lease) {
            if let Some(spec) = &mut lease.spec {
                spec.holder_identity = None;
            }
            if let Err(error) = self.api.replace(LEASE, &PostParams::default(), &lease).await {
                warn!(error = said(&error), "the lease was not given up");
            }
        }
    }

    async fn try_acquire(&self, sighting: &mut Option<Sighting>) -> kube::Result<bool> {
        let Some(lease) = self.api.get_opt(LEASE).await? else {
            let metadata = ObjectMeta {
                name: Some(LEASE.to_owned()),
                owner_references: self.owner.clone().map(|owner| vec![owner]),
                labels: Some(self.labels.clone()),
                annotations: Some(self.annotations.clone()),
                ..ObjectMeta::default()
            };
            let lease = Lease { metadata, spec: Some(self.spec(0)) };
            return taken(self.api.create(&PostParams::default(), &lease).await);
        };
        let holder = lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default();
        let free = holder.is_empty() || holder == self.identity;
        if free || self.has_ended(&lease, sighting) {
            return taken(self.api.replace(LEASE, &PostParams::default(), &self.taken_over(lease)).await);
        }
        Ok(false)
    }

    /// Whether the holder has not renewed for as long as it had promised.
    fn has_ended(&self, lease: &Lease, sighting: &mut Option<Sighting>) -> bool {
        let version = lease.resource_version();
        let seen = sighting.take().filter(|seen| seen.version == version);
        let seen = sighting.insert(seen.unwrap_or_else(|| Sighting { version, at: Instant::now() }));
        let promised = lease.spec.as_ref().and_then(|spec| spec.lease_duration_seconds).unwrap_or(0);
        seen.at.elapsed() > Duration::from_secs(u64::try_from(promised).unwrap_or(0))
    }

    async fn renew(&self) -> kube::Result<bool> {
        let Some(mut lease) = self.api.get_opt(LEASE).await? else { return Ok(false) };
        if !self.holds(&lease) {
            return Ok(false);
        }
        if let Some(spec) = &mut lease.spec {
            spec.renew_time = Some(MicroTime(Timestamp::now()));
        }
        taken(self.api.replace(LEASE, &PostParams::default(), &lease).await)
    }

    fn holds(&self, lease: &Lease) -> bool {
        lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_ref()) == Some(&self.identity)
    }

    fn taken_over(&self, mut lease: Lease) -> Lease {
        if let Some(owner) = &self.owner {
            lease.metadata.owner_references = Some(vec![owner.clone()]);
        }
        let labels = lease.metadata.labels.get_or_insert_default();
        labels.remove(OPERATOR);
        labels.extend(self.labels.clone());
        lease.metadata.annotations.get_or_insert_default().extend(self.annotations.clone());
        let changes = lease.spec.as_ref().and_then(|spec| spec.lease_transitions).unwrap_or(0);
        Lease { spec: Some(self.spec(changes + 1)), ..lease }
    }

    fn spec(&self, transitions: i32) -> LeaseSpec {
        let now = MicroTime(Timestamp::now());
        LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: i32::try_from(self.timing.duration.as_secs()).ok(),
            acquire_time: Some(now.clone()),
            renew_time: Some(now),
            lease_transitions: Some(transitions),
            ..LeaseSpec::default()
        }
    }
}

/// Whether the lease is ours now. After a conflict it is not: another process was faster.
fn taken(answer: kube::Result<Lease>) -> kube::Result<bool> {
    match answer {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
        Err(error) => Err(error),
    }
}

/// The ServiceAccount that a user is, as an owner of objects of its namespace.
fn account(user: UserInfo, namespace: &str) -> Option<OwnerReference> {
    let name =
        user.username?.strip_prefix("system:serviceaccount:")?.strip_prefix(namespace)?.strip_prefix(':')?.to_owned();
    let (api_version, kind) = ("v1".to_owned(), "ServiceAccount".to_owned());
    Some(OwnerReference { api_version, kind, name, uid: user.uid?, controller: None, block_owner_deletion: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lease_goes_with_an_account_of_its_own_namespace_alone() {
        let owner = |username: &str| {
            let user =
                UserInfo { username: Some(username.to_owned()), uid: Some("1-2".to_owned()), ..UserInfo::default() };
            account(user, "system").map(|owner| (owner.name, owner.uid))
        };
        assert_eq!(owner("system:serviceaccount:system:operator"), Some(("operator".to_owned(), "1-2".to_owned())));
        assert_eq!(owner("system:serviceaccount:system-two:operator"), None);
        assert_eq!(owner("ann"), None);
    }
}
