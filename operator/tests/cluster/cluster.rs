//! A namespace of a test's own, with an operator that looks at nothing else.

use futures_util::future::BoxFuture;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, PodSpec};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::NamespaceResourceScope;
use kube::runtime::{conditions, wait::await_condition};
use kube::{Client, Config, Resource};
use rankwright_crds::RankingService;
use rankwright_operator::ask::{Ask, Said, Store};
use rankwright_operator::build::pod::{CONFIGURATION, USER, config_map_of};
use rankwright_operator::controller;
use rankwright_operator::metrics::Metrics;
use rankwright_operator::reconcile::Context;
use rankwright_operator::validate::Defaults;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, OnceCell};
use tokio::task::JoinHandle;

/// Longer than anything takes on a busy machine, and one that stands still for a minute.
pub(crate) const PATIENCE: Duration = Duration::from_secs(180);

/// Between two looks.
pub(crate) const PAUSE: Duration = Duration::from_millis(50);

/// The image of a service that names none.
pub(crate) const IMAGE: &str = "cluster.test/rankwright:1";

/// A namespace of a test's own.
pub(crate) struct Cluster {
    pub(crate) client: Client,
    pub(crate) namespace: String,
    /// How long anything is waited for.
    pub(crate) patience: Duration,
    config: Config,
}

/// Rank servers that say what a test wants them to.
#[derive(Clone, Default)]
pub(crate) struct Servers(Arc<Mutex<Option<Said>>>);

impl Servers {
    pub(crate) fn say(&self, said: Said) {
        *self.0.lock().unwrap() = Some(said);
    }

    pub(crate) fn answering() -> Self {
        let servers = Self::default();
        servers.say(Said { store: Store { answers: true, ..Store::default() }, ..Said::default() });
        servers
    }
}

impl Ask for Servers {
    fn ask<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Option<Said>> {
        Box::pin(async { self.0.lock().unwrap().clone() })
    }
}

/// The configured cluster with a new namespace in it; nothing, and a line that says so, where there is none.
pub(crate) async fn in_own_namespace() -> Option<Cluster> {
    let config = configured().await?;
    let client = Client::try_from(config.clone()).unwrap();
    static CRD: OnceCell<()> = OnceCell::const_new();
    CRD.get_or_init(|| install(client.clone())).await;
    // whatever the operator makes has to get past the strictest standard
    let labels = json!({"pod-security.kubernetes.io/enforce": "restricted", "rankwright.dev/test": "operator"});
    let metadata = ObjectMeta {
        generate_name: Some("test-".to_owned()),
        labels: serde_json::from_value(labels).unwrap(),
        ..ObjectMeta::default()
    };
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let made =
        namespaces.create(&PostParams::default(), &Namespace { metadata, ..Namespace::default() }).await.unwrap();
    Some(Cluster { client, namespace: made.metadata.name.unwrap(), patience: PATIENCE, config })
}

async fn configured() -> Option<Config> {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let required =
        ["RANKWRIGHT_REQUIRE_ALL", "REQUIRE_CLUSTER"].iter().any(|name| std::env::var(name).as_deref() == Ok("1"));
    let Ok(path) = std::env::var("RANKWRIGHT_TEST_KUBECONFIG") else {
        assert!(!required, "RANKWRIGHT_TEST_KUBECONFIG is not set");
        println!("SKIPPED: RANKWRIGHT_TEST_KUBECONFIG names no cluster");
        return None;
    };
    let kubeconfig = Kubeconfig::read_from(&path).unwrap();
    Some(Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap())
}

async fn install(client: Client) {
    let api: Api<CustomResourceDefinition> = Api::all(client);
    let ours = PatchParams::apply("test").force();
    api.patch("rankingservices.rankwright.dev", &ours, &Patch::Apply(rankwright_crds::definition())).await.unwrap();
    let established = await_condition(api, "rankingservices.rankwright.dev", conditions::is_crd_established());
    tokio::time::timeout(PATIENCE, established).await.unwrap().unwrap();
}

/// An operator that runs until it is dropped.
pub(crate) struct Operator {
    pub(crate) ctx: Arc<Context>,
    stop: Arc<Notify>,
    task: JoinHandle<()>,
}

impl Operator {
    pub(crate) async fn end(self) {
        self.stop.notify_one();
        self.task.await.unwrap();
    }
}

impl Cluster {
    /// Whom the API server's log knows this test's operator as.
    pub(crate) fn operator_user(&self) -> String {
        format!("operator-of-{}", self.namespace)
    }

    /// How the operator reaches the cluster.
    pub(crate) fn operator_config(&self) -> Config {
        let mut config = self.config.clone();
        config.auth_info.impersonate = Some(self.operator_user());
        config.auth_info.impersonate_groups = Some(vec!["system:masters".to_owned()]);
        config.default_namespace.clone_from(&self.namespace);
        config
    }

    /// The same cluster, seen from another namespace, which goes when this does.
    pub(crate) fn at(&self, namespace: &str) -> Self {
        let (client, config) = (self.client.clone(), self.config.clone());
        Self { client, namespace: namespace.to_owned(), patience: self.patience, config }
    }

    pub(crate) fn context(&self, client: Client, servers: &Servers) -> Arc<Context> {
        self.context_of(client, IMAGE, &[&self.namespace], servers)
    }

    fn context_of(&self, client: Client, image: &str, namespaces: &[&str], servers: &Servers) -> Arc<Context> {
        let namespace = Some("rankwright-system".to_owned());
        let defaults =
            Defaults { image: image.to_owned(), namespace, user: Some(USER), cluster: Some("c-1".to_owned()) };
        let metrics = Arc::new(Metrics::new().unwrap());
        let ctx = Context::new(client, Arc::new(servers.clone()), metrics, defaults);
        Arc::new(ctx.looking_at(&namespaces.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()))
    }

    /// Starts an operator for this namespace.
    pub(crate) fn operator(&self, servers: &Servers) -> Operator {
        self.started(self.context(Client::try_from(self.operator_config()).unwrap(), servers))
    }

    /// The same for these namespaces.
    pub(crate) fn operator_over(&self, namespaces: &[&str], servers: &Servers) -> Operator {
        let client = Client::try_from(self.operator_config()).unwrap();
        self.started(self.context_of(client, IMAGE, namespaces, servers))
    }

    /// The same of another release, whose pods have another image where their resource names none.
    pub(crate) fn operator_of(&self, image: &str, servers: &Servers) -> Operator {
        let client = Client::try_from(self.operator_config()).unwrap();
        self.started(self.context_of(client, image, &[&self.namespace], servers))
    }

    fn started(&self, ctx: Arc<Context>) -> Operator {
        let stop = Arc::new(Notify::new());
        let task = tokio::spawn(controller::run(ctx.clone(), stop.clone()));
        Operator { ctx, stop, task }
    }

    pub(crate) fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Applies an object as a person would.
    pub(crate) async fn try_apply<K>(&self, name: &str, object: &Value) -> kube::Result<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + DeserializeOwned + Debug,
    {
        let mut object = object.clone();
        object["apiVersion"] = json!(K::api_version(&()));
        object["kind"] = json!(K::kind(&()));
        object["metadata"]["name"] = json!(name);
        self.api::<K>().patch(name, &PatchParams::apply("person").force(), &Patch::Apply(&object)).await
    }

    pub(crate) async fn apply<K>(&self, name: &str, object: Value) -> K
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + DeserializeOwned + Debug,
    {
        self.try_apply(name, &object).await.unwrap()
    }

    pub(crate) async fn get<K>(&self, name: &str) -> K
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + DeserializeOwned + Debug,
    {
        self.api::<K>().get(name).await.unwrap()
    }

    pub(crate) async fn delete<K>(&self, name: &str)
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + DeserializeOwned + Debug,
    {
        self.api::<K>().delete(name, &DeleteParams::background()).await.unwrap();
    }

    pub(crate) async fn list<K>(&self, labels: &str) -> Vec<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + DeserializeOwned + Debug,
    {
        self.api::<K>().list(&ListParams::default().labels(labels)).await.unwrap().items
    }

    /// Waits until an object is as it should be.
    pub(crate) async fn until<K>(&self, name: &str, what: &str, is: impl Fn(&K) -> bool) -> K
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + DeserializeOwned + Debug,
    {
        let end = Instant::now() + self.patience;
        loop {
            let found = self.api::<K>().get_opt(name).await.unwrap();
            if let Some(found) = found.clone().filter(&is) {
                return found;
            }
            assert!(Instant::now() < end, "{} {name} never {what}: {found:#?}", K::kind(&()));
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Waits until pods that a part of a service makes have such a configuration; its ConfigMap.
    pub(crate) async fn configured(&self, deployment: &str, what: &str, is: impl Fn(&str) -> bool) -> ConfigMap {
        let end = Instant::now() + self.patience;
        loop {
            let found = self.api::<Deployment>().get_opt(deployment).await.unwrap();
            let name = found.map(|found| read_by(&pod_of(&found)));
            let map = match &name {
                Some(name) => self.api::<ConfigMap>().get_opt(name).await.unwrap(),
                None => None,
            };
            if let Some(map) = map.filter(|map| is(written(map))) {
                return map;
            }
            assert!(Instant::now() < end, "the configuration of {deployment} never {what}: {name:?}");
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Waits until there is no such object.
    pub(crate) async fn until_gone<K>(&self, name: &str)
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + DeserializeOwned + Debug,
    {
        let end = Instant::now() + self.patience;
        while let Some(found) = self.api::<K>().get_opt(name).await.unwrap() {
            assert!(Instant::now() < end, "{} {name} never went: {found:#?}", K::kind(&()));
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Waits until a condition of a service has this status and reason; its message.
    pub(crate) async fn told(&self, name: &str, kind: &str, status: &str, reason: &str) -> String {
        let found: RankingService = self
            .until(name, &format!("told {kind} {status} {reason}"), |service| {
                condition(service, kind).is_some_and(|(is, why, _)| is == status && why == reason)
            })
            .await;
        condition(&found, kind).unwrap().2
    }

    /// Waits until a service is told not to be ready, as its pods are not; the message.
    pub(crate) async fn unready(&self, name: &str) -> String {
        let why = |service: &RankingService| {
            let (status, reason, message) = condition(service, "Ready")?;
            // pods find no node where there is none, and that is told after a while
            (status == "False" && ["NoneReady", "PodWithoutNode"].contains(&reason.as_str())).then_some(message)
        };
        why(&self.until(name, "told that no pod is ready", |service| why(service).is_some()).await).unwrap()
    }

    /// The notes of all warnings about a service.
    pub(crate) async fn warnings(&self, name: &str) -> Vec<String> {
        let events = self.api::<Event>().list(&ListParams::default()).await.unwrap();
        let about = |event: &&Event| {
            event.type_.as_deref() == Some("Warning")
                && event.regarding.as_ref().is_some_and(|object| {
                    object.kind.as_deref() == Some("RankingService") && object.name.as_deref() == Some(name)
                })
        };
        events.iter().filter(about).filter_map(|event| event.note.clone()).collect()
    }

    /// Waits until an event with this reason was published; its note.
    pub(crate) async fn event(&self, reason: &str) -> String {
        let end = Instant::now() + self.patience;
        loop {
            if let Some(note) = self.find_event(reason).await {
                return note;
            }
            assert!(Instant::now() < end, "there is no event {reason}");
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// The reasons of all events of a service, but for what is told after a while where there is no node.
    pub(crate) async fn told_of(&self, name: &str) -> BTreeSet<String> {
        let events = self.api::<Event>().list(&ListParams::default()).await.unwrap();
        let of_service = |event: &&Event| {
            event.regarding.as_ref().is_some_and(|object| {
                object.kind.as_deref() == Some("RankingService") && object.name.as_deref() == Some(name)
            })
        };
        let reasons = events.iter().filter(of_service).filter_map(|event| event.reason.clone());
        reasons.filter(|reason| reason != "PodWithoutNode").collect()
    }

    /// The note of an event with this reason.
    pub(crate) async fn find_event(&self, reason: &str) -> Option<String> {
        let events = self.api::<Event>().list(&ListParams::default()).await.unwrap();
        let of_service = |event: &&Event| {
            event.reason.as_deref() == Some(reason)
                && event.regarding.as_ref().is_some_and(|object| object.kind.as_deref() == Some("RankingService"))
        };
        events.iter().find(of_service).map(|event| event.note.clone().unwrap_or_default())
    }
}

/// What a Deployment makes.
pub(crate) fn pod_of(deployment: &Deployment) -> PodSpec {
    deployment.spec.as_ref().unwrap().template.spec.clone().unwrap()
}

/// Name of the ConfigMap with the configuration of a pod.
pub(crate) fn read_by(pod: &PodSpec) -> String {
    config_map_of(pod).unwrap().to_owned()
}

/// The configuration in its ConfigMap.
pub(crate) fn written(map: &ConfigMap) -> &str {
    &map.data.as_ref().unwrap()[CONFIGURATION]
}

/// Status, reason and message of a condition.
pub(crate) fn condition(service: &RankingService, kind: &str) -> Option<(String, String, String)> {
    let condition = service.status.as_ref()?.conditions.iter().find(|condition| condition.type_ == kind)?;
    // the status of an earlier generation does not count
    let current = condition.observed_generation == service.metadata.generation;
    current.then(|| (condition.status.clone(), condition.reason.clone(), condition.message.clone()))
}

impl Drop for Cluster {
    /// Takes the namespace away, on a thread of its own: the test's runtime is about to end.
    fn drop(&mut self) {
        let (config, namespace) = (self.config.clone(), self.namespace.clone());
        let deletion = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let namespaces: Api<Namespace> = Api::all(Client::try_from(config).unwrap());
                let _ = namespaces.delete(&namespace, &DeleteParams::background()).await;
            });
        });
        let _ = deletion.join();
    }
}
