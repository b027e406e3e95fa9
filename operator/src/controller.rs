//! Watches resources, what belongs to them and what they refer to, and has each that is concerned reconciled.

mod watches;

use crate::apis::{Apis, Discovery};
use crate::reconcile::{Context, error_policy, locked, reconcile};
use crate::resolve::{self, Kind};
use crate::scope::Scope;
use crate::{Error, apply, labels, observe, unreadable};
use futures_util::future::join_all;
use futures_util::{Stream, StreamExt, stream};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{Secret, Service, ServiceAccount};
use k8s_openapi::api::networking::v1::{Ingress, NetworkPolicy};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::ApiResource;
use kube::core::DeserializeGuard;
use kube::runtime::controller::{self, Action, Controller};
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::watcher;
use kube::{Client, Resource, ResourceExt};
use rankwright_crds::RankingService;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::Notify;
use tracing::{debug, info, warn};
use watches::Watches;

/// Resources that are reconciled at the same time, of all namespaces together.
pub(crate) const CONCURRENCY: u16 = 16;

/// How often rank servers are asked whether they have something new to say, such as that the state store went away.
const LISTEN: Duration = Duration::from_secs(8);

/// How often it is asked whether an API came or went.
const LOOK_FOR_APIS: Duration = Duration::from_secs(60);

/// A resource as the API server has it; one that cannot be read does not keep the others from being seen.
pub type Guarded = DeserializeGuard<RankingService>;

/// Runs until told to stop, over what the context looks at.
pub async fn run(ctx: Arc<Context>, stop: Arc<Notify>) {
    let stopped = stop.notified();
    let mut stopped = std::pin::pin!(stopped);
    loop {
        let apis = tokio::select! {
            apis = known_apis(&ctx.client) => apis,
            () = &mut stopped => return,
        };
        let (again, ended) = tokio::sync::watch::channel(false);
        let running = join_all(ctx.scopes().iter().map(|scope| watch(&ctx, scope, &apis, ended.clone())));
        let mut running = std::pin::pin!(running);
        tokio::select! {
            _ = &mut running => return,
            () = &mut stopped => {
                again.send_replace(true);
                running.await;
                return;
            }
            () = changed_apis(&ctx.client, &apis) => {
                info!("APIs of the cluster came or went: their objects are watched from now on");
                again.send_replace(true);
                running.await;
            }
        }
    }
}

async fn known_apis(client: &Client) -> Apis {
    loop {
        match Discovery::default().apis(client).await {
            Ok(apis) => return apis,
            Err(error) => warn!(error = error.chain(), "the API server does not answer"),
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

async fn changed_apis(client: &Client, known: &Apis) {
    loop {
        tokio::time::sleep(LOOK_FOR_APIS).await;
        if Discovery::default().apis(client).await.is_ok_and(|apis| apis != *known) {
            return;
        }
    }
}

async fn watch(ctx: &Arc<Context>, scope: &Scope, apis: &Apis, mut ended: tokio::sync::watch::Receiver<bool>) {
    scope.cache.begin(apply::kinds(apis).into_iter().map(|resource| resource.kind));
    let watches = Watches { client: &ctx.client, cache: &scope.cache, namespace: scope.namespace.as_deref() };
    let (keeping, listed) = (ctx.clone(), scope.listed.clone());
    let (store, services) = watches.services(move || {
        listed.store(true, Ordering::Relaxed);
        keeping.keep_listed();
    });
    ctx.metrics.describe(scope.namespace.as_deref().unwrap_or_default(), store.clone());
    *locked(&scope.services) = Some(store.clone());
    let (secrets, maps) = (store.clone(), store.clone());
    let mut controller = Controller::for_stream(services, store)
        .with_config(controller::Config::default().concurrency(CONCURRENCY))
        .owns_stream_with(watches.content::<Deployment>(), ApiResource::erase::<Deployment>(&()))
        // those of trainings belong to the CronJob
        .watches_stream_with(watches.content::<Job>(), |job| by_labels(&job), ApiResource::erase::<Job>(&()))
        .owns_stream(watches.metadata::<CronJob>())
        .owns_stream_with(
            watches.content::<HorizontalPodAutoscaler>(),
            ApiResource::erase::<HorizontalPodAutoscaler>(&()),
        )
        .owns_stream(watches.metadata::<PodDisruptionBudget>())
        .owns_stream(watches.metadata::<Service>())
        .owns_stream(watches.metadata::<ServiceAccount>())
        .owns_stream(watches.metadata::<Ingress>())
        .owns_stream(watches.metadata::<NetworkPolicy>());
    for api in apis.iter() {
        controller = controller.owns_stream_with(watches.optional(api), api.resource());
    }
    let (listed, cache, mut told) = (scope.listed.clone(), scope.cache.clone(), ended.clone());
    let controlling = controller
        .watches_stream(watches.pods(), |pod| by_labels(&pod))
        .watches_stream(watches.every::<Secret>(), move |secret| referring(&secrets, Kind::Secret, &secret))
        // those that are referred to, and those that are made
        .watches_stream(watches.config_maps(), move |map| {
            referring(&maps, Kind::ConfigMap, &map).into_iter().chain(of_owner(&map)).collect::<Vec<_>>()
        })
        .reconcile_on(heard(ctx.clone(), scope.namespace.clone()))
        .graceful_shutdown_on(async move { drop(ended.wait_for(|ended| *ended).await) })
        .run(guarded, |service, error, ctx| error_policy(&ctx, service.meta(), error), ctx.clone())
        .for_each(async |outcome| log(outcome));
    // a controller waits for its first list however it is told to end; before that it has begun nothing
    let unbegun = async {
        drop(told.wait_for(|ended| *ended).await);
        if listed.load(Ordering::Relaxed) {
            cache.end(); // nothing fills it any more: what has begun asks the API server, and waits for no watch
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = controlling => {}
        () = unbegun => {}
    }
    *locked(&scope.services) = None;
    scope.listed.store(false, Ordering::Relaxed);
    scope.cache.end();
}

/// The resources of a namespace, or of all, whose rank servers say something new.
fn heard(ctx: Arc<Context>, namespace: Option<String>) -> impl Stream<Item = ObjectRef<Guarded>> + Send + 'static {
    let rounds = stream::unfold((ctx, namespace), async |(ctx, namespace)| {
        tokio::time::sleep(LISTEN).await;
        let changed = observe::changed(&ctx, namespace.as_deref());
        Some((changed, (ctx, namespace)))
    });
    rounds.flatten().map(|(namespace, name)| ObjectRef::new(&name).within(&namespace))
}

fn by_labels<K: ResourceExt>(object: &K) -> Option<ObjectRef<Guarded>> {
    let service = labels::service_of(object)?;
    Some(ObjectRef::new(&service).within(&object.namespace()?))
}

fn of_owner<K: Resource>(object: &K) -> Option<ObjectRef<Guarded>> {
    let kind = RankingService::kind(&());
    let owner = object.meta().owner_references.iter().flatten().find(|owner| owner.kind == kind)?;
    Some(ObjectRef::new(&owner.name).within(object.meta().namespace.as_deref()?))
}

/// The resources that refer to an object.
fn referring<K: ResourceExt>(services: &Store<Guarded>, kind: Kind, object: &K) -> Vec<ObjectRef<Guarded>> {
    let (name, namespace) = (object.name_any(), object.namespace());
    let refers = |service: &RankingService| {
        service.namespace() == namespace
            && resolve::of_service(&service.spec)
                .iter()
                .any(|reference| reference.kind == kind && reference.name == name)
    };
    let services = services.state().into_iter();
    services
        .filter(|service| service.0.as_ref().is_ok_and(refers))
        .map(|service| ObjectRef::from_obj(&*service))
        .collect()
}

/// Of a resource that cannot be read, its status says so. The rest is left to its author.
async fn guarded(service: Arc<Guarded>, ctx: Arc<Context>) -> Result<Action, Error> {
    let turns = ctx.clone();
    let _turn = turns.turns.acquire().await; // it is never closed
    match &service.0 {
        Ok(service) => reconcile(Arc::new(service.clone()), ctx).await,
        Err(invalid) => {
            let (name, namespace) = (service.name_any(), service.namespace());
            warn!(
                name,
                namespace,
                error = invalid.error,
                "the resource cannot be read: apply it again as the CRD describes it"
            );
            ctx.metrics.unreadable();
            let told = unreadable::tell(&ctx, &invalid.metadata, &invalid.error).await;
            told.inspect_err(|error| ctx.metrics.failed(error))?;
            Ok(Action::await_change())
        }
    }
}

type Outcome = Result<(ObjectRef<Guarded>, Action), controller::Error<Error, watcher::Error>>;

fn log(outcome: Outcome) {
    match outcome {
        Ok((service, _)) => debug!(name = service.name, namespace = service.namespace, "reconciled"),
        // it went while it waited for its turn
        Err(controller::Error::ObjectNotFound(_)) => {}
        Err(controller::Error::ReconcilerFailed(error, service)) => {
            warn!(
                name = service.name,
                namespace = service.namespace,
                reason = error.reason(),
                error = error.chain(),
                "not reconciled"
            );
        }
        Err(error) => warn!(%error, "a watch was interrupted"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::ask::OverHttp;
    use crate::metrics::Metrics;
    use crate::testing::defaults;
    use http::{Request, Response};
    use kube::client::Body;
    use std::convert::Infallible;
    use tower::service_fn;

    /// An API server that has no optional APIs, and never ends a list; tells that one was asked for.
    fn without_lists(asked: Arc<Notify>) -> Client {
        let answer = move |request: Request<Body>| {
            let asked = asked.clone();
            async move {
                if request.uri().path() != "/apis" {
                    asked.notify_one();
                    std::future::pending::<()>().await;
                }
                let groups = br#"{"kind": "APIGroupList", "apiVersion": "v1", "groups": []}"#;
                Ok::<_, Infallible>(Response::new(Body::from(groups.to_vec())))
            }
        };
        Client::new(service_fn(answer), "default")
    }

    #[tokio::test]
    async fn an_operator_that_is_told_to_end_before_its_first_list_ends() {
        let (asked, stop) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let metrics = Arc::new(Metrics::new().unwrap());
        let ctx = Context::new(without_lists(asked.clone()), Arc::new(OverHttp::default()), metrics, defaults());
        let ctx = Arc::new(ctx.looking_at(&["blog".to_owned(), "shop".to_owned()]));
        let running = tokio::spawn(run(ctx, stop.clone()));
        asked.notified().await;
        stop.notify_one();
        tokio::time::timeout(Duration::from_secs(60), running).await.expect("it ends").unwrap();
    }
}
