//! Which operator looks at which namespace. Two that look at the same one work on the same resources, and each undoes what the
//! other does; the second one warns.
//!
//! An operator of all namespaces has the Lease by which it leads labelled, and finds others by that label. An operator of some has rights
//! in those alone, so it labels a Lease in each of them, which the chart makes, and which other ones find there. The label names the operator by its
//! own namespace: in one namespace there is one operator, as its Lease has a fixed name.

use crate::error::said;
use crate::labels::{FIELD_MANAGER, OPERATOR};
use crate::lease::LEASE;
use crate::scope::Scope;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::runtime::events::{Event, EventType, Recorder};
use kube::{Client, Resource, ResourceExt};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tracing::warn;

/// Name of the Lease in each namespace that is looked at by itself.
pub const CLAIM: &str = "rankwright-operator-looks-here";

/// How often an operator renews its claims, and looks for those of others.
const LOOK: Duration = Duration::from_secs(60);

/// Seconds for which a claim counts that is not renewed.
const LASTS: i32 = 180;

/// Reason of the event.
const REASON: &str = "AnotherOperator";

/// What an operator looks at, for others to see.
pub struct Claims {
    client: Client,
    recorder: Recorder,
    /// The operator's own namespace.
    own: String,
    /// Namespaces that are looked at; all of them where none is named.
    namespaces: Vec<String>,
}

/// Another operator.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Other {
    /// Its own namespace.
    pub operator: String,
    /// The namespace that it looks at; all of them where none is named.
    pub namespace: Option<String>,
}

impl Claims {
    /// Of an operator in this namespace.
    pub fn new(client: Client, own: &str, scopes: &[Scope]) -> Self {
        let recorder = Recorder::new(client.clone(), FIELD_MANAGER.into());
        let namespaces = scopes.iter().filter_map(|scope| scope.namespace.clone()).collect();
        Self { client, recorder, own: own.to_owned(), namespaces }
    }

    /// Labels of the Lease by which the operator leads.
    pub fn of_leader(&self) -> BTreeMap<String, String> {
        if self.namespaces.is_empty() { self.label() } else { BTreeMap::new() }
    }

    fn label(&self) -> BTreeMap<String, String> {
        [(OPERATOR.to_owned(), self.own.clone())].into()
    }

    /// Keeps the claims, and warns of each other operator once, for as long as it is awaited.
    pub async fn keep(self: Arc<Self>) {
        let (mut told, mut failed) = (BTreeSet::new(), false);
        loop {
            let (leases, failure) = self.look().await;
            let now = Timestamp::now();
            let others = leases.iter().filter_map(|lease| Some((other(lease, &self.own, now)?, lease)));
            for (other, lease) in others {
                if told.insert(other.clone()) {
                    self.tell(&other, lease).await;
                }
            }
            if let Some(error) = failure.as_ref().filter(|_| !failed) {
                warn!(error = said(error), "another operator that looks at the same namespaces may not be seen");
            }
            failed = failure.is_some();
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Renews the claims; gives the Leases of operators, and why one could not be read or written.
    async fn look(&self) -> (Vec<Lease>, Option<kube::Error>) {
        if self.namespaces.is_empty() {
            let labelled = ListParams::default().labels(OPERATOR);
            let listed = Api::<Lease>::all(self.client.clone()).list(&labelled).await;
            return listed.map_or_else(|error| (Vec::new(), Some(error)), |leases| (leases.items, None));
        }
        let (mut found, mut failure) = (Vec::new(), None);
        for namespace in &self.namespaces {
            match self.claimed(namespace).await {
                Ok(lease) => found.push(lease),
                Err(error) => failure = Some(error),
            }
        }
        (found, failure)
    }

    /// The claim of a namespace: that of another operator which works, else our own.
    async fn claimed(&self, namespace: &str) -> kube::Result<Lease> {
        let api: Api<Lease> = Api::namespaced(self.client.clone(), namespace);
        let present = api.get_opt(CLAIM).await?;
        match present.filter(|lease| other(lease, &self.own, Timestamp::now()).is_some()) {
            Some(lease) => Ok(lease),
            None => api.patch(CLAIM, &PatchParams::apply(FIELD_MANAGER).force(), &Patch::Apply(self.claim())).await,
        }
    }

    fn claim(&self) -> Lease {
        let metadata = ObjectMeta { name: Some(CLAIM.to_owned()), labels: Some(self.label()), ..ObjectMeta::default() };
        let spec = LeaseSpec {
            holder_identity: Some(self.own.clone()),
            lease_duration_seconds: Some(LASTS),
            renew_time: Some(MicroTime(Timestamp::now())),
            ..LeaseSpec::default()
        };
        Lease { metadata, spec: Some(spec) }
    }

    async fn tell(&self, other: &Other, lease: &Lease) {
        let text = told(other, &self.own, self.namespaces.is_empty());
        warn!(other = other.operator, "{text}");
        let event = Event {
            type_: EventType::Warning,
            reason: REASON.to_owned(),
            note: Some(text),
            action: "LookForOthers".to_owned(),
            secondary: None,
        };
        if let Err(error) = self.recorder.publish(&event, &lease.object_ref(&())).await {
            warn!(error = said(&error), "the event about another operator was not published");
        }
    }

    /// Gives the claims up.
    pub async fn release(&self) {
        for namespace in &self.namespaces {
            if let Err(error) = self.leave(namespace).await {
                warn!(error = said(&error), namespace, "the claim of a namespace was not given up");
            }
        }
    }

    async fn leave(&self, namespace: &str) -> kube::Result<()> {
        let api: Api<Lease> = Api::namespaced(self.client.clone(), namespace);
        let ours = api.get_opt(CLAIM).await?.filter(|lease| lease.labels().get(OPERATOR) == Some(&self.own));
        let Some(lease) = ours else { return Ok(()) };
        // without the fields that are ours, unless another client has changed it since
        let (name, resource_version) = (Some(CLAIM.to_owned()), lease.resource_version());
        let metadata = ObjectMeta { name, resource_version, ..ObjectMeta::default() };
        let nothing = Lease { metadata, spec: None };
        match api.patch(CLAIM, &PatchParams::apply(FIELD_MANAGER).force(), &Patch::Apply(nothing)).await {
            Err(kube::Error::Api(answer)) if answer.code == 409 => Ok(()),
            answer => answer.map(drop),
        }
    }
}

/// Whose Lease this is, where that is another operator which works now. Clocks of different nodes are near enough for that.
fn other(lease: &Lease, own: &str, now: Timestamp) -> Option<Other> {
    let operator = lease.labels().get(OPERATOR).filter(|operator| *operator != own)?.clone();
    let spec = lease.spec.as_ref()?;
    spec.holder_identity.as_ref().filter(|holder| !holder.is_empty())?;
    let lasts = SignedDuration::from_secs(spec.lease_duration_seconds?.into());
    let works = now.duration_since(spec.renew_time.as_ref()?.0) < lasts;
    let namespace = (lease.name_any() != LEASE).then(|| lease.namespace()).flatten();
    works.then_some(Other { operator, namespace })
}

fn told(other: &Other, own: &str, all: bool) -> String {
    let place = match &other.namespace {
        Some(namespace) => format!("namespace {namespace}"),
        None => "all namespaces".to_owned(),
    };
    let ours = if all { "all namespaces" } else { "it" };
    format!(
        "the operator of namespace {} looks at {place}, and this one of namespace {own} looks at {ours} too: both change the same objects; uninstall one, or give each its own namespaces by --namespace",
        other.operator
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    /// A Lease that was renewed this many seconds ago, for 15.
    fn lease(name: &str, operator: Option<&str>, holder: Option<&str>, ago: i64, now: Timestamp) -> Lease {
        let labels = operator.map(|operator| json!({ OPERATOR: operator }));
        let renewed = MicroTime(now - SignedDuration::from_secs(ago));
        serde_json::from_value(json!({
            "metadata": {"name": name, "namespace": "shop", "labels": labels},
            "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed},
        }))
        .unwrap()
    }

    #[test]
    fn another_operator_counts_while_it_works() {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let found = |name, operator, holder, ago| other(&lease(name, operator, holder, ago, now), "own", now);
        let some = Some(Other { operator: "one".to_owned(), namespace: Some("shop".to_owned()) });
        assert_eq!(found(CLAIM, Some("one"), Some("one"), 14), some);
        assert_eq!(found(LEASE, Some("one"), Some("pod-1"), 1).unwrap().namespace, None, "one of all namespaces");
        assert_eq!(found(CLAIM, Some("one"), Some("one"), 15), None, "it has ended without a word");
        assert_eq!(found(LEASE, Some("one"), None, 1), None, "it has given its lease up");
        assert_eq!(found(LEASE, Some("own"), Some("pod-2"), 1), None, "that is this one");
        assert_eq!(found("theirs", None, Some("theirs"), 1), None, "that is no operator's");
    }

    #[test]
    fn the_warning_names_both_operators_and_what_they_look_at() {
        let other =
            |namespace: Option<&str>| Other { operator: "one".to_owned(), namespace: namespace.map(str::to_owned) };
        let text = told(&other(Some("shop")), "own", false);
        assert!(text.starts_with(
            "the operator of namespace one looks at namespace shop, and this one of namespace own looks at it too:"
        ));
        assert!(
            told(&other(Some("shop")), "own", true).contains("this one of namespace own looks at all namespaces too")
        );
        assert!(
            told(&other(None), "own", true)
                .contains("looks at all namespaces, and this one of namespace own looks at all namespaces too")
        );
    }
}
