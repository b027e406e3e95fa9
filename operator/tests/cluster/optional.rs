//! APIs that not every cluster has. One test, as they are there for a whole cluster or not at all.

use crate::cluster::{Cluster, PATIENCE, PAUSE, Servers, in_own_namespace};
use crate::cut::cut_at_any_with_optional_apis;
use crate::samples::{minimal, with};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::runtime::{conditions, wait::await_condition};
use rankwright_crds::RankingService;
use rankwright_operator::apis::{Discovery, OptionalApi};
use serde_json::{Value, json};
use std::time::Instant;

/// What a service says to have objects of all these APIs.
pub(crate) fn asking() -> Value {
    let kafka = json!({"brokers": ["kafka:9092"], "topic": "t", "groupId": "g"});
    let route = json!({"parentRefs": [{"name": "gateway"}], "hostnames": ["rank.test"]});
    json!({"spec": {
        "ingest": {"source": {"kafka": kafka}, "autoscaling": {"minReplicas": 2, "maxReplicas": 4}},
        "rank": {"ingress": null, "gatewayRoute": route},
        "monitoring": {
            "podMonitor": {"labels": {"release": "prometheus"}},
            "alertRules": {"labels": {"release": "prometheus"}},
            "dashboard": {},
        },
    }})
}

impl Cluster {
    /// Objects of one of these APIs; none where the cluster has none.
    pub(crate) async fn list_optional(&self, api: OptionalApi, labels: &str) -> Vec<DynamicObject> {
        let objects: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), &self.namespace, &api.resource());
        match objects.list(&ListParams::default().labels(labels)).await {
            Err(kube::Error::Api(answer)) if answer.code == 404 => Vec::new(),
            found => found.unwrap().items,
        }
    }
}

/// Defines an API with the fields of the real one that are used: the API server refuses any other.
async fn define(cluster: &Cluster, api: OptionalApi) -> String {
    let resource = api.resource();
    let name = format!("{}.{}", resource.plural, resource.group);
    let file = format!("../e2e/cluster/apis/{name}.yaml");
    let definition: Value = serde_saphyr::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let definitions: Api<CustomResourceDefinition> = Api::all(cluster.client.clone());
    definitions.patch(&name, &PatchParams::apply("test").force(), &Patch::Apply(&definition)).await.unwrap();
    await_condition(definitions, &name, conditions::is_crd_established()).await.unwrap();
    // the API server lists it a little later, and an operator looks once when it starts
    let end = Instant::now() + PATIENCE;
    while !Discovery::default().apis(&cluster.client).await.is_ok_and(|apis| apis.has(api)) {
        assert!(Instant::now() < end, "{name} is not served");
        tokio::time::sleep(PAUSE).await;
    }
    name
}

/// One of these APIs that is there, if any is.
async fn defined(cluster: &Cluster) -> Option<String> {
    let definitions: Api<CustomResourceDefinition> = Api::all(cluster.client.clone());
    for resource in OptionalApi::ALL.map(OptionalApi::resource) {
        let name = format!("{}.{}", resource.plural, resource.group);
        let found = definitions.get_opt(&name).await.unwrap();
        // what charts/check.sh has taken away may be going
        if found.is_some_and(|found| found.metadata.deletion_timestamp.is_none()) {
            return Some(name);
        }
    }
    None
}

#[tokio::test]
async fn objects_of_an_api_are_made_where_it_is_there_and_told_of_where_it_is_not() {
    let Some(cluster) = in_own_namespace().await else { return };
    if let Some(name) = defined(&cluster).await {
        assert!(std::env::var("REQUIRE_CLUSTER").as_deref() != Ok("1"), "the cluster has {name}");
        println!("SKIPPED: the cluster has {name}, whose objects are not to be taken away");
        return;
    }
    let asking = with(minimal(), asking());
    let operator = cluster.operator(&Servers::answering());
    cluster.apply::<RankingService>("shop", asking.clone()).await;
    cluster.told("shop", "ConfigurationValid", "True", "Valid").await;
    let service: RankingService = cluster.get("shop").await;
    let warnings = service.status.unwrap().warnings.join("\n");
    let scaling = "no ScaledObject of keda.sh/v1alpha1, so minReplicas workers run";
    for words in [scaling, "no HTTPRoute", "no PodMonitor", "no PrometheusRule"] {
        assert!(warnings.contains(words), "{words} in {warnings}");
    }
    let dashboard: ConfigMap = cluster.until("shop-dashboard", "was made", |_| true).await;
    assert_eq!(dashboard.labels()["grafana_dashboard"], "1");
    let file = format!("rankwright-{}.shop.json", cluster.namespace);
    assert!(dashboard.data.unwrap()[&file].contains("service_rank_requests_total"));
    let ingest: Deployment = cluster.until("shop-ingest", "was made", |_| true).await;
    assert_eq!(ingest.spec.unwrap().replicas, Some(2));
    operator.end().await;

    let mut names = Vec::new();
    for api in OptionalApi::ALL {
        names.push(define(&cluster, api).await);
    }
    let operator = cluster.operator(&Servers::answering());
    let object = async |api: OptionalApi, name: &str| {
        let objects: Api<DynamicObject> =
            Api::namespaced_with(cluster.client.clone(), &cluster.namespace, &api.resource());
        let made = await_condition(objects.clone(), name, |object: Option<&DynamicObject>| object.is_some());
        tokio::time::timeout(std::time::Duration::from_secs(60), made).await.unwrap().unwrap();
        objects.get(name).await.unwrap().data
    };
    let scaled = object(OptionalApi::ScaledObject, "shop-ingest").await;
    assert_eq!(scaled["spec"]["triggers"][0]["metadata"]["bootstrapServers"], "kafka:9092");
    let route = object(OptionalApi::HttpRoute, "shop-rank").await;
    assert_eq!(route["spec"]["rules"][0]["backendRefs"][0]["name"], "shop-rank");
    let monitor = object(OptionalApi::PodMonitor, "shop").await;
    assert_eq!(monitor["spec"]["podMetricsEndpoints"][0]["path"], "/metrics");
    let alerts = object(OptionalApi::PrometheusRule, "shop").await;
    let expression = alerts["spec"]["groups"][0]["rules"][0]["expr"].as_str().unwrap();
    let ours = format!("namespace=\"{}\",rankingservice=\"shop\"", cluster.namespace);
    assert!(expression.contains(&ours), "{expression}");
    for (api, name) in [
        (OptionalApi::ScaledObject, "shop-ingest"),
        (OptionalApi::HttpRoute, "shop-rank"),
        (OptionalApi::PodMonitor, "shop"),
        (OptionalApi::PrometheusRule, "shop"),
    ] {
        let resource = api.resource();
        let objects: Api<DynamicObject> = Api::namespaced_with(cluster.client.clone(), &cluster.namespace, &resource);
        let mistyped = json!({
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": name},
            "spec": {"mistyped": 1},
        });
        let refused = objects.patch(name, &PatchParams::apply("person"), &Patch::Apply(&mistyped)).await.unwrap_err();
        assert!(refused.to_string().contains(".spec.mistyped: field not declared in schema"), "{refused}");
        let before = objects.get(name).await.unwrap().metadata.uid;
        objects.delete(name, &DeleteParams::default()).await.unwrap();
        let again = |object: Option<&DynamicObject>| object.is_some_and(|object| object.metadata.uid != before);
        let back = await_condition(objects.clone(), name, again);
        tokio::time::timeout(std::time::Duration::from_secs(60), back).await.unwrap().unwrap();
    }
    cluster
        .until("shop", "warns no more", |service: &RankingService| service.status.as_ref().unwrap().warnings.is_empty())
        .await;
    cluster.writes_nothing_at_rest("shop", operator).await;
    let operator = cluster.operator(&Servers::answering());
    let unwatched = with(asking.clone(), json!({"spec": {"monitoring": {"alertRules": null, "dashboard": null}}}));
    cluster.apply::<RankingService>("shop", unwatched).await;
    cluster.until_gone::<ConfigMap>("shop-dashboard").await;
    let rules = OptionalApi::PrometheusRule.resource();
    let rules: Api<DynamicObject> = Api::namespaced_with(cluster.client.clone(), &cluster.namespace, &rules);
    let gone = await_condition(rules, "shop", |rule: Option<&DynamicObject>| rule.is_none());
    tokio::time::timeout(std::time::Duration::from_secs(60), gone).await.unwrap().unwrap();
    cluster.apply::<RankingService>("shop", asking).await;
    object(OptionalApi::PrometheusRule, "shop").await;
    cluster.delete::<RankingService>("shop").await;
    cluster.until_gone::<RankingService>("shop").await;
    let end = Instant::now() + PATIENCE;
    for api in OptionalApi::ALL {
        while let [left, ..] = &cluster.list_optional(api, "app.kubernetes.io/instance=shop").await[..] {
            assert!(Instant::now() < end, "never went: {left:#?}");
            tokio::time::sleep(PAUSE).await;
        }
    }
    operator.end().await;
    cut_at_any_with_optional_apis().await;
    let definitions: Api<CustomResourceDefinition> = Api::all(cluster.client.clone());
    for name in names {
        definitions.delete(&name, &DeleteParams::default()).await.unwrap();
    }
}
