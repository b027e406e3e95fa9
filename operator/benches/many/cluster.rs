//! The cluster, and what is made in it beside the operator.

use futures_util::{StreamExt, stream};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Service, ServiceAccount};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, ListParams, ObjectMeta, Patch, PatchParams, PostParams,
};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::{conditions, wait::await_condition};
use kube::{Client, Config, ResourceExt};
use rankwright_crds::RankingService;
use serde_json::json;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Requests at the same time, as many as the operator reconciles.
const AT_A_TIME: usize = 16;

/// A namespace with services in it, and one for comparison.
pub(crate) struct Cluster {
    client: Client,
    pub(crate) namespace: String,
    /// Where the operator finds the cluster, under a name of its own.
    pub(crate) kubeconfig: PathBuf,
    /// Whom the API server's log knows the operator as.
    pub(crate) user: String,
}

impl Cluster {
    /// Makes a namespace, and installs the definition.
    pub(crate) async fn prepare() -> Self {
        let path = std::env::var("RANKWRIGHT_TEST_KUBECONFIG").expect("RANKWRIGHT_TEST_KUBECONFIG names a cluster");
        let mut kubeconfig = Kubeconfig::read_from(&path).unwrap();
        let config = Config::from_custom_kubeconfig(kubeconfig.clone(), &KubeConfigOptions::default()).await.unwrap();
        let client = Client::try_from(config).unwrap();
        install(client.clone()).await;
        let namespace = made(&client).await;
        let user = format!("operator-of-{namespace}");
        for info in kubeconfig.auth_infos.iter_mut().filter_map(|named| named.auth_info.as_mut()) {
            info.impersonate = Some(user.clone());
            info.impersonate_groups = Some(vec!["system:masters".to_owned()]);
        }
        let place = std::env::temp_dir().join(format!("{user}.conf"));
        std::fs::write(&place, serde_json::to_string(&kubeconfig).unwrap()).unwrap(); // JSON is YAML
        Self { client, namespace, kubeconfig: place, user }
    }

    /// Applies this number of services, and says how long that took.
    pub(crate) async fn apply(&self, services: usize) -> Duration {
        let api: &Api<RankingService> = &Api::namespaced(self.client.clone(), &self.namespace);
        let began = Instant::now();
        let apply = |number: usize| async move {
            let name = format!("shop-{number}");
            api.patch(&name, &PatchParams::apply("person").force(), &Patch::Apply(&sample(&name))).await.unwrap();
        };
        stream::iter(0..services).for_each_concurrent(AT_A_TIME, apply).await;
        began.elapsed()
    }

    /// Makes what the operator has made of one service `services` times by plain requests.
    pub(crate) async fn limit(&self, services: usize) -> (usize, Duration) {
        let namespace = made(&self.client).await;
        let mut objects = Vec::new();
        for resource in [
            ApiResource::erase::<ConfigMap>(&()),
            ApiResource::erase::<ServiceAccount>(&()),
            ApiResource::erase::<Deployment>(&()),
            ApiResource::erase::<Service>(&()),
            ApiResource::erase::<PodDisruptionBudget>(&()),
        ] {
            let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), &self.namespace, &resource);
            let of_one = ListParams::default().labels("app.kubernetes.io/instance=shop-0");
            for object in api.list(&of_one).await.unwrap() {
                objects.push((resource.clone(), bare(object)));
            }
        }
        let began = Instant::now();
        let (client, objects, namespace) = (&self.client, &objects, namespace.as_str());
        let make = |number: usize| async move {
            for (resource, object) in objects {
                let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, resource);
                let mut object = object.clone();
                object.metadata.name = Some(object.name_any().replace("shop-0", &format!("shop-{number}")));
                api.create(&PostParams::default(), &object).await.unwrap();
            }
        };
        stream::iter(0..services).for_each_concurrent(AT_A_TIME, make).await;
        let took = began.elapsed();
        self.delete(namespace).await;
        (objects.len() * services, took)
    }

    /// Has what was made deleted.
    pub(crate) async fn clear(self) {
        self.delete(&self.namespace).await;
        let _ = std::fs::remove_file(&self.kubeconfig);
    }

    async fn delete(&self, namespace: &str) {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let _ = namespaces.delete(namespace, &DeleteParams::background()).await;
    }
}

async fn install(client: Client) {
    let api: Api<CustomResourceDefinition> = Api::all(client);
    let ours = PatchParams::apply("bench").force();
    api.patch("rankingservices.rankwright.dev", &ours, &Patch::Apply(rankwright_crds::definition())).await.unwrap();
    await_condition(api, "rankingservices.rankwright.dev", conditions::is_crd_established()).await.unwrap();
}

async fn made(client: &Client) -> String {
    let metadata = ObjectMeta { generate_name: Some("bench-".to_owned()), ..ObjectMeta::default() };
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespace = Namespace { metadata, ..Namespace::default() };
    namespaces.create(&PostParams::default(), &namespace).await.unwrap().name_any()
}

fn sample(name: &str) -> serde_json::Value {
    json!({
        "apiVersion": "rankwright.dev/v1alpha1",
        "kind": "RankingService",
        "metadata": {"name": name},
        "spec": {
            "configuration": {"inline": {
                "features": [{"name": "price", "type": "number", "field": "item.price"}],
                "models": {"shop": {"type": "lambdamart", "weights": {"click": 1}, "features": ["price"]}},
            }},
            "stateStore": {"redis": {"host": "redis"}},
            "rank": {"replicas": 0},
            "ingest": {"replicas": 0},
        },
    })
}

/// An object as a client would make it that does not know of the existing one.
fn bare(mut object: DynamicObject) -> DynamicObject {
    let metadata = std::mem::take(&mut object.metadata);
    object.metadata = ObjectMeta { name: metadata.name, labels: metadata.labels, ..ObjectMeta::default() };
    if let Some(data) = object.data.as_object_mut() {
        data.remove("status");
    }
    for address in ["clusterIP", "clusterIPs"] {
        object.data.get_mut("spec").and_then(|spec| spec.as_object_mut()).map(|spec| spec.remove(address));
    }
    object
}
