//! Brings the cluster to what one RankingService asks for, and tells on it how that went.

mod retries;

use crate::apis::Discovery;
use crate::apply::{self, Applied, Seen};
use crate::ask::Ask;
use crate::build::{self, Child};
use crate::cache::{self, Cache};
use crate::controller::{CONCURRENCY, Guarded};
use crate::deletion::{self, Cleaning};
use crate::events::{self, News};
use crate::labels::{self, Component};
use crate::metrics::Metrics;
use crate::observe::{self, Listened, Observed};
use crate::resolve::{self, Resolved, Rival};
use crate::rolling::{self, Candidate, Rolling};
use crate::scope::Scope;
use crate::status::{self, Facts, Workloads};
use crate::validate::{self, Defaults, Plan, Refusal};
use crate::{Error, Result};
use k8s_openapi::jiff::Timestamp;
use kube::api::{DynamicObject, ObjectMeta};
use kube::runtime::controller::Action;
use kube::runtime::events::Recorder;
use kube::{Client, ResourceExt};
use rankwright_crds::RankingService;
use retries::Retries;
use serde::de::DeserializeOwned;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// What only rank servers tell, such as a store that went away, is asked for again after this time.
pub const RESYNC: Duration = Duration::from_secs(60);

/// Another owner's object may go at any time, a store come back, a server load a new version, and no watch shows that.
const SOON: Duration = Duration::from_secs(10);

/// A resource that is refused waits for a change; should the news of it be lost, it is looked at after this time.
const REFUSED: Duration = Duration::from_secs(300);

/// Events of a resource that are kept while the API server takes none, the newest ones.
const UNTOLD: usize = 50;

/// What reconciling needs, for all resources.
pub struct Context {
    /// The API server.
    pub client: Client,
    /// What was applied.
    pub seen: Seen,
    /// APIs that not every cluster has.
    pub discovery: Discovery,
    /// Asks rank servers.
    pub ask: Arc<dyn Ask>,
    /// Publishes events.
    pub recorder: Recorder,
    /// What is measured.
    pub metrics: Arc<Metrics>,
    /// What the operator is told about all services.
    pub defaults: Defaults,
    /// What is looked at.
    scopes: Vec<Scope>,
    /// Of namespaces that are not looked at, nothing is known.
    unwatched: Arc<Cache>,
    /// Resources as the API server returned them after the last write of their status, until the watch has shown that.
    told: Mutex<HashMap<String, Arc<RankingService>>>,
    /// Jobs that should have a pod and have none, by the uids of their services and of their own, and since when.
    pub(crate) podless: Mutex<HashMap<String, HashMap<String, Instant>>>,
    /// What rank servers said last, by the uids of their services.
    pub(crate) listened: Mutex<HashMap<String, Listened>>,
    /// Events that the API server did not take, by the uids of what they are about.
    untold: Mutex<HashMap<String, Vec<News>>>,
    /// When what could not be reconciled is tried again.
    retries: Retries,
    /// Services that are replaced because the operator is another one.
    rolling: Rolling,
    /// For those that are reconciled at the same time.
    pub(crate) turns: Semaphore,
}

impl Context {
    /// For a client, with nothing done yet.
    pub fn new(client: Client, ask: Arc<dyn Ask>, metrics: Arc<Metrics>, defaults: Defaults) -> Self {
        let recorder = Recorder::new(client.clone(), labels::FIELD_MANAGER.into());
        let (seen, discovery) = (Seen::default(), Discovery::default());
        Self {
            client,
            seen,
            discovery,
            ask,
            recorder,
            metrics,
            defaults,
            scopes: Scope::of(&[]),
            unwatched: Arc::default(),
            told: Mutex::default(),
            podless: Mutex::default(),
            listened: Mutex::default(),
            untold: Mutex::default(),
            retries: Retries::default(),
            rolling: Rolling::new(1),
            turns: Semaphore::new(CONCURRENCY.into()),
        }
    }

    /// The same, replacing the pods of at most this many services at once after an upgrade of the operator.
    #[must_use]
    pub fn rolling_at_most(self, services: usize) -> Self {
        Self { rolling: Rolling::new(services), ..self }
    }

    /// The same, looking at these namespaces; at all of them where none is named.
    #[must_use]
    pub fn looking_at(self, namespaces: &[String]) -> Self {
        Self { scopes: Scope::of(namespaces), ..self }
    }

    /// What is looked at.
    pub fn scopes(&self) -> &[Scope] {
        &self.scopes
    }

    /// What the watches show of a namespace.
    pub fn cache(&self, namespace: &str) -> &Cache {
        let scope = self.scopes.iter().find(|scope| scope.has(namespace));
        scope.map_or(&self.unwatched, |scope| &scope.cache)
    }

    /// A resource with the status that was written last, if the watch is behind that.
    fn caught_up(&self, service: Arc<RankingService>) -> Arc<RankingService> {
        let (uid, version) = (service.uid().unwrap_or_default(), cache::version(&service.metadata));
        let mut told = locked(&self.told);
        match told.get(&uid) {
            Some(told) if version.is_some() && version < cache::version(&told.metadata) => told.clone(),
            Some(_) => {
                told.remove(&uid);
                service
            }
            None => service,
        }
    }

    /// Other resources that name the same state, as far as they are watched.
    fn rivals(&self, service: &RankingService) -> Vec<Rival> {
        resolve::rivals(service, &self.services())
    }

    /// All resources, as far as they are watched.
    fn services(&self) -> Vec<Arc<Guarded>> {
        let stores = self.scopes.iter().filter_map(|scope| locked(&scope.services).clone());
        stores.flat_map(|store| store.state()).collect()
    }

    /// A namespace whose resources are not known, where several are looked at by themselves: one of them may be a rival.
    fn unlisted(&self) -> Option<&str> {
        let mut some = self.scopes.iter().filter(|_| self.scopes.len() > 1);
        some.find(|scope| !scope.listed.load(Ordering::Relaxed))?.namespace.as_deref()
    }

    fn tell(&self, mut written: RankingService) -> Arc<RankingService> {
        written.metadata.managed_fields = None;
        let (uid, written) = (written.uid().unwrap_or_default(), Arc::new(written));
        locked(&self.told).insert(uid, written.clone());
        written
    }

    /// Publishes events, first those that were not taken before. What is not taken now stays in its list.
    async fn publish(&self, service: &RankingService, before: &mut Vec<News>, news: &mut Vec<News>) -> Result<()> {
        *before = locked(&self.untold).remove(&service.uid().unwrap_or_default()).unwrap_or_default();
        let refused = match events::publish(&self.recorder, service, before).await {
            Err(error) if !error.is_refused_event() => return Err(error),
            outcome => outcome,
        };
        events::publish(&self.recorder, service, news).await.and(refused)
    }

    /// Keeps events for later.
    fn keep(&self, service: &RankingService, mut untold: Vec<News>) {
        untold.drain(..untold.len().saturating_sub(UNTOLD));
        if !untold.is_empty() {
            locked(&self.untold).insert(service.uid().unwrap_or_default(), untold);
        }
    }

    /// Forgets the resources that have gone, once the watches have listed those that there are.
    pub(crate) fn keep_listed(&self) {
        if self.scopes.iter().all(|scope| scope.listed.load(Ordering::Relaxed)) {
            self.keep_only(&self.services().iter().filter_map(|service| service.uid()).collect());
        }
    }

    /// Forgets all resources but these, by their uids.
    fn keep_only(&self, there: &HashSet<String>) {
        locked(&self.told).retain(|uid, _| there.contains(uid));
        locked(&self.untold).retain(|uid, _| there.contains(uid));
        locked(&self.podless).retain(|uid, _| there.contains(uid));
        locked(&self.listened).retain(|uid, _| there.contains(uid));
        self.retries.keep_only(there);
        self.rolling.keep_only(there);
        self.seen.keep_only(there);
    }
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What became of a resource.
#[derive(Default)]
struct Outcome {
    plan: Option<Plan>,
    desired: Vec<Child>,
    /// Where nothing was refused.
    applied: Option<Applied>,
    /// What is there, also where something else was refused.
    there: Vec<Arc<DynamicObject>>,
    cleaning: Option<Cleaning>,
    /// Whether its pods are replaced later, as those of other services are now.
    waits: bool,
}

/// Brings the cluster to what one RankingService asks for, and reports success or failure on it.
///
/// # Errors
/// What could not be done; it is told in the status as well, where that can be written.
pub async fn reconcile(service: Arc<RankingService>, ctx: Arc<Context>) -> Result<Action> {
    // what other namespaces show counts as well: a resource there may have the same state
    for scope in ctx.scopes() {
        scope.cache.filled().await;
    }
    let (began, uid) = (Instant::now(), service.uid().unwrap_or_default());
    let result = Box::pin(attempt(&ctx.caught_up(service), &ctx)).await;
    if result.is_ok() {
        ctx.retries.succeeded(&uid);
    }
    ctx.metrics.reconciled(began.elapsed(), result.as_ref().err());
    result
}

async fn attempt(service: &RankingService, ctx: &Context) -> Result<Action> {
    if service.metadata.deletion_timestamp.is_some() {
        if !deletion::has_finalizer(service) {
            return Ok(Action::await_change()); // its objects go with it
        }
        if !deletion::wants_finalizer(service) {
            deletion::settle_finalizer(ctx, service, false).await?;
            return Ok(Action::await_change());
        }
    }
    let mut outcome = Outcome::default();
    let converged = Box::pin(converge(service, ctx, &mut outcome)).await;
    let told = Box::pin(tell(service, ctx, &outcome, converged.as_ref().err())).await;
    if let Err(Error::Refused(_)) = &converged {
        ctx.rolling.end(&service.uid().unwrap_or_default()); // others wait for no service that is refused
    }
    if let (Err(Error::Refused(_)), Ok(Told { published: Err(_), .. })) = (&converged, &told) {
        return told?.published.map(|()| Action::await_change()); // it is tried again sooner than what was refused
    }
    let renewed = match &told {
        Ok(told) => apply::renew(ctx, &outcome.desired, &outcome.there, &told.observed).await,
        Err(_) => Ok(false),
    };
    converged?;
    let Told { written, soon, published, .. } = told?;
    let renewed = renewed?;
    if outcome.cleaning == Some(Cleaning::Done) {
        // as it is now: the finalizers of an earlier version may not be all
        deletion::settle_finalizer(ctx, written.as_deref().unwrap_or(service), false).await?;
    }
    let soon = soon || outcome.waits;
    let applied = outcome.applied.unwrap_or_default();
    published?;
    Ok(Action::requeue(if renewed || soon || !applied.conflicts.is_empty() { SOON } else { RESYNC }))
}

async fn converge(service: &RankingService, ctx: &Context, outcome: &mut Outcome) -> Result<()> {
    let goes = service.metadata.deletion_timestamp.is_some();
    if goes {
        ctx.rolling.forget(&service.uid().unwrap_or_default());
    }
    // a state of a given name may be another's, and so may the data that go; what runs already is kept up
    let begins = service.status.as_ref().is_none_or(|status| status.rank.is_none());
    let in_doubt = goes || begins && service.spec.state_store.service.is_some();
    if let Some(namespace) = ctx.unlisted().filter(|_| in_doubt) {
        return Err(Error::Unlisted { namespace: namespace.to_owned() });
    }
    let rivals = ctx.rivals(service);
    if let Some(rival) = rivals.iter().find(|rival| rival.older) {
        if goes {
            outcome.cleaning = Some(Cleaning::Done); // the data are the other's
            return Ok(());
        }
        return Err(Refusal::state_taken(service, rival).into());
    }
    // what another one has written as well, before it was refused, would go with it
    if let Some(rival) = rivals.iter().find(|rival| goes && rival.ran) {
        return Err(Refusal::state_shared(service, rival).into());
    }
    // what it has written is there, also while it is refused
    let ran = service.status.as_ref().is_some_and(|status| status.rank.is_some());
    let held = !goes && ran && deletion::wants_finalizer(service);
    if held {
        deletion::settle_finalizer(ctx, service, true).await?;
    }
    let apis = ctx.discovery.apis(&ctx.client).await?;
    let resolved = resolve::references(ctx, service, apis).await?; // reads the cluster
    let plan = validate::plan(service, &resolved, &ctx.defaults)?; // pure: resource in, checked plan out
    let plan = outcome.plan.insert(plan);
    if goes {
        outcome.desired = vec![build::purge(plan)];
        let mut applied = Applied::default();
        let cleaning = deletion::clean_up(ctx, service, plan, &mut applied).await;
        outcome.there.clone_from(&applied.objects);
        outcome.cleaning = Some(cleaning?);
        outcome.applied = Some(applied);
        return Ok(());
    }
    if !held {
        // before anything is written that would have to be removed
        deletion::settle_finalizer(ctx, service, deletion::wants_finalizer(service)).await?;
    }
    outcome.desired = build::desired(plan); // pure: plan in, Kubernetes objects out
    let awaited = awaited(ctx, service, &resolved, &outcome.desired);
    if !awaited.is_empty() {
        plan.warnings.push(format!("{LATER} {}", awaited.join(", ")));
        plan.held = None; // nothing of it is on its way yet
        outcome.desired = rolling::held(std::mem::take(&mut outcome.desired));
        outcome.waits = true;
    }
    let mut applied = Applied::default();
    let all = apply::all(ctx, service, &outcome.desired, &plan.apis, &mut applied).await; // writes the cluster
    outcome.there.clone_from(&applied.objects);
    all?;
    outcome.applied = Some(applied);
    Ok(())
}

/// How the warning begins of a service that waits for others.
const LATER: &str =
    "the operator is another one and builds other pods: they are replaced (--max-rolling-services) after those of";

/// Services that are replaced before this one, because the operator is another one.
fn awaited(ctx: &Context, service: &RankingService, resolved: &Resolved, desired: &[Child]) -> Vec<String> {
    let (uid, generation) = (service.uid().unwrap_or_default(), service.metadata.generation);
    let name = format!("{}/{}", service.namespace().unwrap_or_default(), service.name_any());
    let present = [resolved.rank.as_ref(), resolved.ingest.as_ref()];
    ctx.rolling.awaited(Candidate {
        uid: &uid,
        name: &name,
        known: service.status.as_ref().is_some_and(|status| status.observed_generation == generation),
        differs: rolling::differs(desired, present),
        complete: present.iter().flatten().all(|rollout| rollout.complete),
    })
}

/// What was told.
struct Told {
    /// The resource, where its status was written.
    written: Option<Arc<RankingService>>,
    /// How the parts are.
    observed: Observed,
    /// Whether something is about to change that no watch shows.
    soon: bool,
    /// What became of the events.
    published: Result<()>,
}

/// Writes events and status.
async fn tell(service: &RankingService, ctx: &Context, outcome: &Outcome, failure: Option<&Error>) -> Result<Told> {
    let observed = observe::service(ctx, service).await?;
    let workloads = workloads(ctx, service, outcome, &observed).await?;
    let facts = Facts {
        service,
        plan: outcome.plan.as_ref(),
        applied: outcome.applied.as_ref(),
        cleaning: outcome.cleaning.as_ref(),
        failure,
        observed: &observed,
        workloads: &workloads,
    };
    let status = status::of(&facts, Timestamp::now());
    let mut news = events::between(&service.status.clone().unwrap_or_default(), &status);
    // before the status: if the operator dies in between, its successor publishes them, perhaps again. Those that are not taken
    // now are kept here, and hold nothing back
    let mut untold = Vec::new();
    let published = ctx.publish(service, &mut untold, &mut news).await;
    let soon = observed.lacks_store()
        || observed.begins
        || status::is_moving(&status)
        || status::awaits_servers(&status, Timestamp::now());
    let written = status::publish(&ctx.client, service, &status).await;
    // of a status that is not there, they are news the next time as well
    untold.extend(news.into_iter().filter(|_| written.is_ok()));
    ctx.keep(service, untold);
    let written = written?;
    Ok(Told { written: written.map(|written| ctx.tell(written)), observed, soon, published })
}

async fn workloads(
    ctx: &Context,
    service: &RankingService,
    outcome: &Outcome,
    observed: &Observed,
) -> Result<Workloads> {
    if let Some(applied) = &outcome.applied {
        let import = found(applied, "Job", |object| labels::is_of(object, Component::Import));
        let deployment = |component: Component| found(applied, "Deployment", |object| labels::is_of(object, component));
        let scaler = found(applied, "HorizontalPodAutoscaler", |object| labels::is_of(object, Component::Rank));
        return Ok(Workloads {
            rank: deployment(Component::Rank),
            ingest: deployment(Component::Ingest),
            import,
            scaler,
        });
    }
    // nothing was applied: the parts may run all the same
    let read = async |component: Component| {
        let found = resolve::deployment(ctx, service, component).await?;
        Ok::<_, Error>(found.filter(|deployment| labels::owns(service, deployment)))
    };
    let told = || service.status.as_ref()?.import.as_ref().map(|import| import.job.clone());
    let name = outcome.plan.as_ref().map_or_else(told, Plan::import_job);
    let mut imports = observed.imports.iter().filter(|job| labels::owns(service, *job));
    let import = imports.find(|job| job.metadata.name == name).cloned();
    let (rank, ingest) = (read(Component::Rank).await?, read(Component::Ingest).await?);
    Ok(Workloads { rank, ingest, import, scaler: None })
}

fn found<K: DeserializeOwned>(applied: &Applied, kind: &str, chosen: impl Fn(&DynamicObject) -> bool) -> Option<K> {
    let is_kind = |object: &DynamicObject| object.types.as_ref().is_some_and(|types| types.kind == kind);
    let object = applied.objects.iter().find(|object| is_kind(object) && chosen(object))?;
    serde_json::from_value(serde_json::to_value(&**object).ok()?).ok()
}

/// Leaves a resource that is refused to its author, and tries anything else again.
pub fn error_policy(ctx: &Context, resource: &ObjectMeta, error: &Error) -> Action {
    match error {
        // no watch shows when the other one goes
        Error::Refused(Refusal::StateTaken { .. }) => Action::requeue(SOON),
        Error::Refused(_) => Action::requeue(REFUSED),
        _ => Action::requeue(ctx.retries.after(resource, Instant::now())),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::ask::OverHttp;
    use crate::testing::{defaults, going, service};
    use kube::client::Body;
    use serde_json::json;
    use std::convert::Infallible;
    use tower::service_fn;

    #[tokio::test]
    async fn a_state_is_nobodys_and_no_data_go_before_all_namespaces_are_listed() {
        let silent = service_fn(|request: http::Request<Body>| async move {
            assert!(request.uri().path().is_empty(), "{} is asked", request.uri());
            Ok::<_, Infallible>(http::Response::new(Body::empty()))
        });
        let metrics = Arc::new(Metrics::new().unwrap());
        let ctx = Context::new(Client::new(silent, "default"), Arc::new(OverHttp::default()), metrics, defaults());
        let ctx = ctx.looking_at(&["blog".to_owned(), "search".to_owned()]);
        ctx.scopes()[1].listed.store(true, Ordering::Relaxed);
        let named = json!({"stateStore": {"service": "shop", "redis": {"host": "redis"}}});
        for service in [service(named), going(json!({"deletionPolicy": "Delete"}))] {
            let outcome = converge(&service, &ctx, &mut Outcome::default()).await;
            let told = outcome.unwrap_err();
            assert!(matches!(&told, Error::Unlisted { namespace } if namespace == "blog"), "{told}");
        }
        ctx.scopes()[0].listed.store(true, Ordering::Relaxed);
        assert_eq!(ctx.unlisted(), None);
    }
}
