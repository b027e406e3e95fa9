#![allow(clippy::unwrap_used)]

use super::*;
mod encrypted;
mod page;

use crate::apis::{Apis, OptionalApi};
use crate::testing::{planned, planned_with};
use kube::ResourceExt;
use serde_json::{Value, json};

/// A service that uses every field that leads to objects.
fn whole() -> Plan {
    let key = |key: &str| json!({"name": "redis", "key": key});
    let login =
        json!({"mechanism": "ScramSha256", "usernameSecretRef": key("user"), "passwordSecretRef": key("password")});
    let kafka = json!({"brokers": ["kafka:9092"], "topic": "events", "groupId": "shop", "auth": login});
    planned_with(
        Apis::of(OptionalApi::ALL),
        json!({
            "stateStore": {"redis": {
                "auth": {"usernameSecretRef": key("user"), "passwordSecretRef": key("password")},
                "tls": {"ca": {"secretRef": key("user")}},
            }},
            "clickThroughStore": {"s3": {"bucket": "events", "prefix": "shop", "region": "eu-central-1", "credentialsSecretRef": {"name": "s3"}}},
            "rank": {
                "autoscaling": {"maxReplicas": 8, "cpuUtilization": 70, "requestsPerSecond": 200},
                "ingress": {"host": "rank.example.org", "tlsSecretName": "rank-tls", "ingressClassName": "nginx"},
                "tokenSecretRef": {"name": "admin", "key": "token"},
                "page": {
                    "item": {"title": "title", "image": "picture"},
                    "imageOrigins": ["https://cdn.example.org"],
                    "ingress": {"host": "page.example.org", "tlsSecretName": "page-tls", "ingressClassName": "nginx"},
                },
                "service": {"type": "LoadBalancer", "port": 80},
                "pod": {
                    "labels": {"team": "search"},
                    "env": [{"name": "RUST_LOG", "value": "debug"}],
                    "volumes": [{"name": "cache", "mountPath": "/cache", "emptyDir": {"sizeLimit": "1Gi"}}],
                    "resources": {"requests": {"cpu": "1"}, "limits": {"memory": "1Gi"}},
                },
            },
            "ingest": {"source": {"kafka": kafka}, "autoscaling": {"maxReplicas": 4, "authenticationRef": "kafka"}},
            "configuration": {"inline": {"models": {"popular": {"type": "trending", "weights": [{"interaction": "click"}]}}}},
            "training": {
                "schedule": "0 3 * * *", "timeZone": "Europe/Berlin", "models": ["shop"],
                "modelSchedules": [{"model": "popular", "schedule": "*/10 * * * *"}],
            },
            "import": {"from": {"s3": {"bucket": "events", "prefix": "2026"}}},
            "serviceAccount": {"annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/shop"}},
            "monitoring": {
                "podMonitor": {"labels": {"release": "prometheus"}},
                "alertRules": {"labels": {"release": "prometheus"}},
                "dashboard": {},
            },
            "networkPolicy": {"rankFrom": [{"namespaceSelector": {"matchLabels": {"team": "web"}}}]},
        }),
    )
}

fn rendered(children: &[Child]) -> String {
    let object = |child: &Child| serde_saphyr::to_string(&child.object).unwrap();
    children.iter().map(object).collect::<Vec<_>>().join("---\n")
}

#[test]
fn a_whole_service_is_rendered_as_the_file_beside_this_one_has_it() {
    let found = rendered(&desired(&whole()));
    let file = "src/build/tests/whole.yaml";
    if std::env::var_os("UPDATE_RENDERED").is_some() {
        std::fs::write(file, &found).unwrap();
    }
    let kept = std::fs::read_to_string(file).unwrap();
    assert!(found == kept, "look at the difference that UPDATE_RENDERED=1 makes in {file}");
}

#[test]
fn every_pod_fulfils_the_restricted_standard_and_has_no_token() {
    let mut children = desired(&whole());
    children.push(purge(&whole()));
    let mut pods = 0;
    for child in &children {
        let spec = &child.object.data["spec"];
        let paths = ["/template/spec", "/jobTemplate/spec/template/spec"];
        let Some(pod) = paths.iter().find_map(|path| spec.pointer(path)) else { continue };
        pods += 1;
        let name = child.name();
        assert_eq!(pod["automountServiceAccountToken"], false, "{name}");
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true, "{name}");
        assert_eq!(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault", "{name}");
        for container in pod["containers"].as_array().unwrap() {
            let context = &container["securityContext"];
            assert_eq!(context["allowPrivilegeEscalation"], false, "{name}");
            assert_eq!(context["readOnlyRootFilesystem"], true, "{name}");
            assert_eq!(context["capabilities"], json!({"drop": ["ALL"]}), "{name}");
        }
    }
    assert_eq!(pods, 6, "rank, ingest, training, that of one model, import, purge");
}

#[test]
fn everything_belongs_to_its_service() {
    for child in desired(&whole()) {
        let (name, object) = (child.name(), child.object);
        assert_eq!(object.owner_references()[0].uid, "0-0", "{name}");
        assert_eq!(object.labels()["app.kubernetes.io/instance"], "shop", "{name}");
        assert_eq!(object.namespace().as_deref(), Some("search"), "{name}");
    }
}

#[test]
fn no_selector_finds_pods_of_another_part() {
    let children = desired(&whole());
    let pods = |child: &Child| child.object.data.pointer("/spec/template/metadata/labels").cloned();
    for child in &children {
        let Some(selector) = child.object.data.pointer("/spec/selector/matchLabels").and_then(Value::as_object) else {
            continue;
        };
        if child.resource.kind == "PodMonitor" {
            continue; // it is for two parts
        }
        let matches = |labels: &Value| selector.iter().all(|(key, value)| labels[key] == *value);
        let found = children.iter().filter_map(pods).filter(matches).count();
        assert_eq!(found, 1, "{}", child.name());
    }
}

#[test]
fn the_number_of_replicas_is_left_to_an_autoscaler() {
    let replicas = |plan: &Plan, name: &str| {
        let children = desired(plan);
        let found = children.iter().find(|child| child.name() == format!("Deployment {name}")).unwrap();
        found.object.data["spec"].get("replicas").cloned()
    };
    assert_eq!((replicas(&whole(), "shop-rank"), replicas(&whole(), "shop-ingest")), (None, None));
    let fixed = planned(json!({"rank": {"replicas": 5}})).unwrap();
    assert_eq!((replicas(&fixed, "shop-rank"), replicas(&fixed, "shop-ingest")), (Some(json!(5)), Some(json!(1))));
}

/// Name of the ConfigMap that an object's pods have as their configuration.
fn configuration_of(children: &[Child], name: &str) -> String {
    let data = &children.iter().find(|child| child.name() == name).unwrap().object.data;
    let pod = data.pointer("/spec/template/spec").or_else(|| data.pointer("/spec/jobTemplate/spec/template/spec"));
    pod.unwrap()["volumes"][0]["configMap"]["name"].as_str().unwrap().to_owned()
}

#[test]
fn each_configuration_has_a_config_map_of_its_own_which_never_changes() {
    let of = |over: Value| {
        let mut over = over;
        over["training"] = json!({"schedule": "@daily"});
        over["import"] = json!({"from": {"s3": {"bucket": "events", "prefix": "2026"}}});
        let plan = planned(over).unwrap();
        let mut children = desired(&plan);
        children.push(purge(&plan));
        let maps: Vec<_> = children.iter().filter(|child| child.resource.kind == "ConfigMap").collect();
        let name = plan.config_map();
        assert_eq!((maps.len(), maps[0].object.name_any(), maps[0].mode), (1, name.clone(), Mode::Apply));
        assert_eq!(maps[0].object.data["immutable"], true);
        assert_eq!(maps[0].object.data["data"]["config.yml"], json!(plan.configuration.text));
        let pods =
            children.iter().filter(|child| matches!(child.resource.kind.as_str(), "Deployment" | "CronJob" | "Job"));
        let read: Vec<String> = pods.map(|child| configuration_of(&children, &child.name())).collect();
        assert_eq!(read, [&name; 5].map(String::clone), "servers, workers, training, import, removal");
        name
    };
    assert_ne!(of(json!({})), of(json!({"modelVersion": {"shop": "v1"}})));
}

#[test]
fn workers_that_need_not_start_again_keep_their_config_map() {
    let former = "shop-config-0123456789";
    let plan = Plan { ingest_config_map: former.to_owned(), ..planned(json!({})).unwrap() };
    for children in [desired(&plan), crate::rolling::held(desired(&plan))] {
        assert_eq!(configuration_of(&children, "Deployment shop-ingest"), former);
        assert_eq!(configuration_of(&children, "Deployment shop-rank"), plan.config_map());
        let map = children.iter().find(|child| child.object.name_any() == former).unwrap();
        assert_eq!(map.mode, Mode::Keep, "what was in it is not known any more");
    }
}

#[test]
fn an_import_that_is_done_is_kept_and_not_made_again() {
    let mode = |plan: &Plan| desired(plan).into_iter().find(|child| child.resource.kind == "Job").unwrap().mode;
    let mut plan = whole();
    assert_eq!(mode(&plan), Mode::Once);
    plan.imported = plan.import_digest();
    assert_eq!(mode(&plan), Mode::Keep);
}

/// Release 0.1 has made them so. An object of another name would be a second one, a selector cannot be changed, and an import
/// with another digest is done again: what stands here stays for good.
#[test]
fn objects_of_earlier_releases_are_known_again_and_can_be_changed() {
    let children = desired(&whole());
    let names: Vec<String> = children.iter().map(Child::name).collect();
    for name in [
        "ServiceAccount shop",
        "Deployment shop-rank",
        "Service shop-rank",
        "PodDisruptionBudget shop-rank",
        "HorizontalPodAutoscaler shop-rank",
        "Deployment shop-ingest",
        "ScaledObject shop-ingest",
        "CronJob shop-training",
        "Job shop-import-fc7cf51a",
        "Ingress shop-rank",
        "NetworkPolicy shop-rank",
        "NetworkPolicy shop-ingest",
        "PodMonitor shop",
        "PrometheusRule shop",
        "ConfigMap shop-dashboard",
    ] {
        assert!(names.contains(&name.to_owned()), "{name} is not among {names:?}");
    }
    for child in children.iter().filter(|child| child.resource.kind == "Deployment") {
        let component = child.object.name_any().replace("shop-", "");
        let labels = json!({
            "app.kubernetes.io/component": component,
            "app.kubernetes.io/instance": "shop",
            "app.kubernetes.io/name": "rankwright",
        });
        assert_eq!(child.object.data["spec"]["selector"], json!({ "matchLabels": labels }), "{}", child.name());
    }
    assert_eq!(whole().import_digest().as_deref(), Some("fc7cf51ad396f3aa"));
}

#[test]
fn what_may_be_reached_is_limited_until_data_are_removed() {
    let kept = |over: Value| kept_for_purge(&planned(over).unwrap()).iter().map(Child::name).collect::<Vec<_>>();
    let closed = kept(json!({"deletionPolicy": "Delete", "networkPolicy": {"egress": []}}));
    assert!(closed.contains(&"NetworkPolicy shop-purge".to_owned()), "{closed:?}");
    assert!(!kept(json!({"deletionPolicy": "Delete"})).iter().any(|name| name.starts_with("NetworkPolicy")));
}

#[test]
fn pods_that_have_text_models_open_ask_for_more() {
    let requests_of = |inline: Value, training: Value| {
        let import = json!({"from": {"s3": {"bucket": "events", "prefix": "2026"}}});
        let over = json!({"configuration": {"inline": inline}, "training": training, "import": import});
        let plan = planned(over).unwrap();
        let mut found = Vec::new();
        for child in desired(&plan) {
            let paths = ["/spec/template/spec", "/spec/jobTemplate/spec/template/spec"];
            let Some(pod) = paths.iter().find_map(|path| child.object.data.pointer(path)) else { continue };
            let of = &pod["containers"][0]["resources"];
            let quantities = [&of["requests"]["cpu"], &of["requests"]["memory"], &of["limits"]["memory"]];
            found.push(quantities.map(|quantity| quantity.as_str().unwrap_or("-")).join(" "));
            assert!(of["limits"]["cpu"].is_null(), "processor time is not limited");
        }
        found
    };
    let requests = |inline: Value| requests_of(inline, json!({"schedule": "@daily"}));
    let plain = ["250m 256Mi 1Gi", "250m 256Mi 1Gi", "500m 1Gi -", "500m 1Gi -"];
    assert_eq!(requests(json!({})), plain, "rank, ingest, training, import");
    let model = json!({"words": {"type": "bi-encoder", "model": "s3://models/minilm/"}});
    assert_eq!(requests(json!({"inference": model})), ["1 1Gi 4Gi", plain[1], plain[2], plain[3]]);
    let compared = |method: Value| {
        let fields = json!({"name": "match", "type": "field_match", "rankingField": "ranking.q", "itemField": "item.t", "method": method});
        let price = json!({"name": "price", "type": "number", "field": "item.price"});
        let ranks = |feature: &str| json!({"type": "lambdamart", "weights": {"click": 1}, "features": [feature]});
        requests(json!({"features": [price, fields], "models": {"m": ranks("match")}}))
    };
    assert_eq!(compared(json!({"type": "term", "language": "en"})), plain, "nothing is open for it");
    let computed = compared(json!({"type": "cross-encoder", "model": "s3://models/pairs/"}));
    assert_eq!(computed, ["1 1Gi 4Gi", "1 1Gi 4Gi", "1 2Gi -", "1 2Gi -"]);
    let encoder = json!({"type": "bert", "dim": 384, "model": "s3://models/minilm/"});
    let alike = json!({"alike": {"type": "semantic", "encoder": encoder, "itemFields": ["title"]}});
    let catalog = ["250m 256Mi -", plain[1], "1 2Gi -", plain[3]];
    assert_eq!(requests(json!({"models": alike})), catalog, "training embeds, and servers hold the vectors");
    let popular = json!({"type": "trending", "weights": [{"interaction": "click"}]});
    let models = json!({"popular": popular, "alike": alike["alike"]});
    let own = json!([{"model": "popular", "schedule": "@hourly"}]);
    let own = json!({"schedule": "@daily", "modelSchedules": own});
    assert_eq!(requests_of(json!({"models": models}), own)[2..4], ["1 2Gi -", "500m 1Gi -"], "popular opens none");
    let caches = json!({"type": "bi-encoder", "dim": 384, "itemFieldCache": "/files/items.csv", "rankingFieldCache": "/files/queries.csv"});
    let files = compared(caches);
    assert_eq!(files, ["250m 256Mi -", "250m 256Mi -", plain[2], plain[3]], "files may be of any size");
}

#[test]
fn resources_of_the_author_take_the_place_of_all_that_is_asked_for_by_default() {
    let resources = |pod: Value| {
        let plan = planned(json!({"rank": {"pod": pod}})).unwrap();
        let child = desired(&plan).into_iter().find(|child| child.name() == "Deployment shop-rank").unwrap();
        child.object.data["spec"]["template"]["spec"]["containers"][0]["resources"].clone()
    };
    let (requests, limits) = (json!({"cpu": "250m", "memory": "256Mi"}), json!({"memory": "1Gi"}));
    assert_eq!(resources(json!({})), json!({"requests": requests, "limits": limits}));
    let own = json!({"requests": {"memory": "8Gi"}});
    assert_eq!(resources(json!({"resources": own})), own, "nobody is limited who has said what is needed");
    let merged =
        |own: Value| resources(json!({"template": {"spec": {"containers": [{"name": "rank", "resources": own}]}}}));
    let disk = merged(json!({"requests": {"ephemeral-storage": "1Gi"}}));
    assert_eq!((&disk["limits"], &disk["requests"]["memory"]), (&limits, &json!("256Mi")));
    assert_eq!(merged(own)["limits"], Value::Null, "the request would be above the limit");
    let both = json!({"requests": {"memory": "8Gi"}, "limits": {"memory": "9Gi"}});
    assert_eq!(merged(both)["limits"], json!({"memory": "9Gi"}));
}

/// The CronJobs of a service with three models that learn: each with its schedule and what its program is asked for.
fn cron_jobs(training: Value) -> Vec<(String, String, Vec<String>)> {
    let trending = json!({"type": "trending", "weights": [{"interaction": "click"}]});
    let models = json!({"popular": trending, "similar": {"type": "als", "interactions": ["click"]}});
    let plan = planned(json!({"configuration": {"inline": {"models": models}}, "training": training})).unwrap();
    let cron = |child: Child| {
        let spec = &child.object.data["spec"];
        let command = &spec["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["command"];
        let command = serde_json::from_value(command.clone()).unwrap();
        (child.object.name_any(), spec["schedule"].as_str().unwrap().to_owned(), command)
    };
    desired(&plan).into_iter().filter(|child| child.resource.kind == "CronJob").map(cron).collect()
}

#[test]
fn each_schedule_trains_its_models_and_no_model_is_trained_by_two() {
    let command = |models: &[&str]| {
        let asked = models.iter().flat_map(|model| ["--model".to_owned(), (*model).to_owned()]);
        std::iter::once("training-job".to_owned()).chain(asked).collect::<Vec<_>>()
    };
    let alone = cron_jobs(json!({"schedule": "@daily"}));
    assert_eq!(alone, [("shop-training".to_owned(), "@daily".to_owned(), command(&[]))]);
    let own = json!([{"model": "popular", "schedule": "*/10 * * * *"}]);
    let found = cron_jobs(json!({"schedule": "@daily", "modelSchedules": own}));
    assert_eq!(found.len(), 2);
    assert_eq!(found[0], ("shop-training".to_owned(), "@daily".to_owned(), command(&["shop", "similar"])));
    assert_eq!((found[1].1.as_str(), &found[1].2), ("*/10 * * * *", &command(&["popular"])));
}

#[test]
fn a_cluster_that_chooses_the_user_is_told_none() {
    let service = crate::testing::service(json!({}));
    let defaults = crate::validate::Defaults { user: None, ..crate::testing::defaults() };
    let plan = crate::validate::plan(&service, &crate::testing::resolved(), &defaults).unwrap();
    let found = rendered(&desired(&plan));
    assert!(!["runAsUser", "runAsGroup", "fsGroup"].iter().any(|field| found.contains(field)), "{found}");
    assert!(found.contains("runAsNonRoot: true"));
}

#[test]
fn every_job_waits_for_servers_that_are_away() {
    let mut children = desired(&whole());
    children.push(purge(&whole()));
    let paths = ["/spec/podFailurePolicy", "/spec/jobTemplate/spec/podFailurePolicy"];
    let policies: Vec<&Value> =
        children.iter().filter_map(|child| paths.iter().find_map(|path| child.object.data.pointer(path))).collect();
    for policy in &policies {
        let away = json!({"action": "Ignore", "onExitCodes": {"operator": "In", "values": [75]}});
        assert!(policy["rules"].as_array().unwrap().contains(&away), "{policy}");
    }
    assert_eq!(policies.len(), 4, "training, that of one model, import, purge");
}
