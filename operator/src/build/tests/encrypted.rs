//! An encrypted port of rank servers is known to everything that asks it.

use super::*;

fn encrypted(over: Value) -> Plan {
    let rank = json!({"tls": {"secretName": "port-tls"}, "tokenSecretRef": {"name": "admin", "key": "token"}});
    let mut spec = json!({"rank": rank, "monitoring": {"podMonitor": {}}});
    for (key, value) in over.as_object().unwrap() {
        spec["rank"][key] = value.clone();
    }
    planned_with(Apis::of(OptionalApi::ALL), spec)
}

fn object(plan: &Plan, name: &str) -> Value {
    let child = desired(plan).into_iter().find(|child| child.name() == name).unwrap();
    serde_json::to_value(child.object).unwrap()
}

#[test]
fn rank_servers_get_certificate_and_token_and_no_other_part_does() {
    let plan = encrypted(json!({}));
    let pod = &object(&plan, "Deployment shop-rank")["spec"]["template"];
    assert_eq!(pod["metadata"]["labels"]["rankwright.dev/encrypted"], "true");
    let container = &pod["spec"]["containers"][0];
    for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
        assert_eq!(container[probe]["httpGet"]["scheme"], "HTTPS", "{probe}");
    }
    let variable =
        |name: &str| container["env"].as_array().unwrap().iter().find(|one| one["name"] == name).unwrap().clone();
    assert_eq!(variable("RANKWRIGHT_API_TLS_DIR")["value"], "/etc/rankwright/tls");
    let token = json!({"secretKeyRef": {"name": "admin", "key": "token"}});
    assert_eq!(variable("RANKWRIGHT_API_TOKEN")["valueFrom"], token);
    let mounted = json!({"name": "certificate", "mountPath": "/etc/rankwright/tls", "readOnly": true});
    assert!(container["volumeMounts"].as_array().unwrap().contains(&mounted));
    let items = json!([{"key": "tls.crt", "path": "tls.crt"}, {"key": "tls.key", "path": "tls.key"}]);
    let volume = json!({"name": "certificate", "secret": {"secretName": "port-tls", "items": items}});
    assert!(pod["spec"]["volumes"].as_array().unwrap().contains(&volume));

    let others = desired(&plan).into_iter().filter(|child| child.name() != "Deployment shop-rank").collect::<Vec<_>>();
    let others = rendered(&others);
    assert!(!others.contains("port-tls") && !others.contains("RANKWRIGHT_API"), "{others}");
    let plain = rendered(&desired(&planned(json!({})).unwrap()));
    assert!(!plain.contains("HTTPS") && !plain.contains("certificate") && !plain.contains("encrypted"), "{plain}");
}

#[test]
fn ways_in_and_metrics_speak_tls_to_the_servers() {
    let plan = encrypted(json!({"ingress": {"host": "rank.example.org"}}));
    assert_eq!(plan.endpoint(), "https://shop-rank.search.svc:8080");
    let service = object(&plan, "Service shop-rank");
    assert_eq!(service["spec"]["ports"][0]["appProtocol"], "https");
    assert_eq!(service["metadata"]["annotations"]["traefik.ingress.kubernetes.io/service.serversscheme"], "https");
    let ingress = object(&plan, "Ingress shop-rank");
    assert_eq!(ingress["metadata"]["annotations"]["nginx.ingress.kubernetes.io/backend-protocol"], "HTTPS");
    let own = json!({"nginx.ingress.kubernetes.io/backend-protocol": "GRPCS"});
    let chosen = encrypted(json!({"ingress": {"host": "rank.example.org", "annotations": own}}));
    assert_eq!(object(&chosen, "Ingress shop-rank")["metadata"]["annotations"], own, "its author's goes first");

    let monitor = object(&plan, "PodMonitor shop");
    let endpoints = monitor["spec"]["podMetricsEndpoints"].as_array().unwrap();
    let of = |part: &str| {
        let keeps = json!({"action": "keep", "sourceLabels": ["component"], "regex": part});
        let found = endpoints.iter().find(|one| one["relabelings"].as_array().unwrap().contains(&keeps)).unwrap();
        (found.get("scheme").cloned(), found.get("tlsConfig").cloned())
    };
    assert_eq!(of("rank"), (Some(json!("https")), Some(json!({"insecureSkipVerify": true}))));
    assert_eq!(of("ingest"), (None, None));
    assert_eq!(endpoints.len(), 2);
}
