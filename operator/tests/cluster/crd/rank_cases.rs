//! The same of rank servers: their pods, number, and ways in.

use super::Case;
use serde_json::{Value, json};

/// What the API server takes, and what it refuses, of `spec.rank`.
pub(super) fn cases() -> Vec<Case> {
    let rank = |rank: Value| json!({"spec": {"rank": rank}});
    vec![
        ("a rollout one by one", rank(json!({"rollout": {"maxSurge": 0, "maxUnavailable": "50%"}})), None),
        (
            "a rollout that replaces none",
            rank(json!({"rollout": {"maxSurge": "0%"}})),
            Some("maxUnavailable and maxSurge must not both be 0"),
        ),
        ("a share of nothing", rank(json!({"rollout": {"maxSurge": "half"}})), Some("should match")),
        (
            "servers that count after their deadline",
            rank(json!({"rollout": {"minReadySeconds": 300}})),
            Some("rank.rollout: minReadySeconds must be below"),
        ),
        (
            "an autoscaler",
            rank(json!({"autoscaling": {"minReplicas": 2, "maxReplicas": 4, "cpuUtilization": 70}})),
            None,
        ),
        (
            "an autoscaler upside down",
            rank(json!({"autoscaling": {"minReplicas": 5, "maxReplicas": 4, "cpuUtilization": 70}})),
            Some("rank.autoscaling: minReplicas must not be above maxReplicas"),
        ),
        (
            "an autoscaler without a target",
            rank(json!({"autoscaling": {"maxReplicas": 4}})),
            Some("without a target nothing scales"),
        ),
        ("a warm-up", rank(json!({"warmup": {}})), None),
        ("a route", rank(json!({"gatewayRoute": {"parentRefs": [{"name": "gateway"}]}})), None),
        (
            "a route of all hosts of a domain",
            rank(
                json!({"gatewayRoute": {"parentRefs": [{"name": "gateway", "namespace": "edge", "sectionName": "https"}], "hostnames": ["*.example.com"]}}),
            ),
            None,
        ),
        (
            "a route with a name that no host has",
            rank(json!({"gatewayRoute": {"parentRefs": [{"name": "gateway"}], "hostnames": ["Rank.example.com"]}})),
            Some("spec.rank.gatewayRoute.hostnames[0]"),
        ),
        (
            "a route to a namespace that cannot be",
            rank(json!({"gatewayRoute": {"parentRefs": [{"name": "gateway", "namespace": "edge.example"}]}})),
            Some("spec.rank.gatewayRoute.parentRefs[0].namespace"),
        ),
        (
            "a route to a listener that cannot be",
            rank(json!({"gatewayRoute": {"parentRefs": [{"name": "gateway", "sectionName": "HTTPS"}]}})),
            Some("spec.rank.gatewayRoute.parentRefs[0].sectionName"),
        ),
        (
            "an ingress with an address in the place of a host",
            rank(json!({"ingress": {"host": "https://rank.example.com"}})),
            Some("spec.rank.ingress.host"),
        ),
        ("an ingress for some paths", rank(json!({"ingress": {"host": "a", "paths": ["/rank", "/feedback"]}})), None),
        (
            "a path that does not begin with a slash",
            rank(json!({"ingress": {"host": "a", "paths": ["rank"]}})),
            Some("spec.rank.ingress.paths[0]"),
        ),
        ("a page", rank(json!({"page": {"item": {"title": "title"}, "ingress": {"host": "a"}}})), None),
        ("a page that keeps too much", rank(json!({"page": {"sample": 1001}})), Some("spec.rank.page.sample")),
        (
            "a page with an address in the place of a host",
            rank(json!({"page": {"ingress": {"host": "https://page.example.com"}}})),
            Some("spec.rank.page.ingress.host"),
        ),
        (
            "a share of servers that may be taken away",
            rank(json!({"disruptionBudget": {"maxUnavailable": "25%"}})),
            None,
        ),
        (
            "a load balancer for a service inside",
            rank(json!({"service": {"loadBalancerClass": "internal"}})),
            Some("need type LoadBalancer"),
        ),
        (
            "addresses for a load balancer that are none",
            rank(json!({"service": {"type": "LoadBalancer", "loadBalancerSourceRanges": ["10.0.0.0/99"]}})),
            Some("ranges of addresses"),
        ),
        (
            "a load balancer of one's own",
            rank(
                json!({"service": {"type": "LoadBalancer", "loadBalancerClass": "internal", "loadBalancerSourceRanges": ["10.0.0.0/8"], "externalTrafficPolicy": "Local"}}),
            ),
            None,
        ),
        (
            "a way for traffic from outside that there is not",
            rank(json!({"service": {"externalTrafficPolicy": "Local"}})),
            Some("externalTrafficPolicy needs type"),
        ),
        (
            "a pod template",
            rank(
                json!({"pod": {"template": {"spec": {"runtimeClassName": "gvisor", "containers": [{"name": "rank"}]}}}}),
            ),
            None,
        ),
        (
            "how fast an autoscaler goes",
            rank(
                json!({"autoscaling": {"maxReplicas": 4, "cpuUtilization": 70, "behavior": {"scaleUp": {"policies": [{"type": "Pods", "value": 2, "periodSeconds": 60}]}}}}),
            ),
            None,
        ),
        (
            "two ways in",
            rank(json!({"ingress": {"host": "a"}, "gatewayRoute": {"parentRefs": [{"name": "gateway"}]}})),
            Some("either ingress or gatewayRoute"),
        ),
        (
            "a disk",
            rank(
                json!({"pod": {"volumes": [{"name": "a", "mountPath": "/a", "persistentVolumeClaim": {"claimName": "a"}}]}}),
            ),
            None,
        ),
        (
            "a volume of nothing",
            rank(json!({"pod": {"volumes": [{"name": "a", "mountPath": "/certificates"}]}})),
            Some("exactly one of secret, configMap"),
        ),
        (
            "a volume of a size that is none",
            rank(json!({"pod": {"volumes": [{"name": "a", "mountPath": "/a", "emptyDir": {"sizeLimit": "1 GB"}}]}})),
            Some("emptyDir.sizeLimit"),
        ),
        ("a variable", rank(json!({"pod": {"env": [{"name": "RUST_LOG", "value": "debug"}]}})), None),
        (
            "a variable of the operator's",
            rank(json!({"pod": {"env": [{"name": "AWS_REGION", "value": "eu-central-1"}]}})),
            Some("env has a variable that the operator sets"),
        ),
        (
            "the variable with the mark of a state",
            rank(json!({"pod": {"env": [{"name": "RANKWRIGHT_OWNER", "value": "another"}]}})),
            Some("env has a variable that the operator sets"),
        ),
        (
            "a share of what is not requested",
            rank(json!({
                "autoscaling": {"maxReplicas": 4, "cpuUtilization": 70},
                "pod": {"resources": {"requests": {"memory": "1Gi"}}},
            })),
            Some("give rank.pod.resources.requests.cpu"),
        ),
        (
            "a share of a limit, which is requested as well",
            rank(json!({
                "autoscaling": {"maxReplicas": 4, "cpuUtilization": 70},
                "pod": {"resources": {"limits": {"cpu": "2"}}},
            })),
            None,
        ),
        ("a label", rank(json!({"pod": {"labels": {"team": "search"}}})), None),
        ("a label of a domain", rank(json!({"pod": {"labels": {"shop.example/team": "Search_1.a"}}})), None),
        (
            "a label that has no name",
            rank(json!({"pod": {"labels": {"-team": "search"}}})),
            Some("the name of a label has at most 63"),
        ),
        (
            "a label whose value is none",
            rank(json!({"pod": {"labels": {"team": "search and more"}}})),
            Some("rank.pod.labels.team"),
        ),
        (
            "a variable of both kinds",
            rank(
                json!({"pod": {"env": [{"name": "A", "value": "a", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]}}),
            ),
            Some("a variable has value or valueFrom, not both"),
        ),
        (
            "a variable without a name",
            rank(json!({"pod": {"env": [{"name": "", "value": "a"}]}})),
            Some("a variable has a name"),
        ),
        (
            "a variable of two sources",
            rank(json!({"pod": {"env": [{"name": "A", "valueFrom": {
                "secretKeyRef": {"name": "s", "key": "k"}, "fieldRef": {"fieldPath": "metadata.name"},
            }}]}})),
            Some("valueFrom has exactly one of"),
        ),
        (
            "a variable of no source",
            rank(json!({"pod": {"env": [{"name": "A", "valueFrom": {}}]}})),
            Some("valueFrom has exactly one of"),
        ),
        (
            "a variable from a file that nobody writes",
            rank(
                json!({"pod": {"env": [{"name": "A", "valueFrom": {"fileKeyRef": {"volumeName": "v", "path": "a", "key": "A"}}}]}}),
            ),
            Some("valueFrom has exactly one of"),
        ),
        (
            "a variable of the pod",
            rank(json!({"pod": {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}})),
            None,
        ),
        (
            "requests and limits",
            rank(json!({"pod": {"resources": {
                "requests": {"cpu": 1, "memory": "1Gi"}, "limits": {"cpu": "1000m", "memory": "2Gi", "ephemeral-storage": "1e9"},
            }}})),
            None,
        ),
        (
            "a request above its limit",
            rank(json!({"pod": {"resources": {"requests": {"memory": "1Gi"}, "limits": {"memory": "1G"}}}})),
            Some("a request in resources is above the limit"),
        ),
        (
            "an amount that is none",
            rank(json!({"pod": {"resources": {"requests": {"memory": "1 GB"}}}})),
            Some("rank.pod.resources.requests.memory"),
        ),
        (
            "a claim of a device",
            rank(json!({"pod": {"resources": {"claims": [{"name": "gpu"}]}}})),
            Some("which no pod here has"),
        ),
        (
            "an annotation that has no name",
            rank(json!({"pod": {"annotations": {"a/b/c": "x"}}})),
            Some("the name of an annotation has at most 63"),
        ),
        ("an annotation", rank(json!({"pod": {"annotations": {"Example.com/a_b": "any text: at all"}}})), None),
        ("nodes", rank(json!({"pod": {"nodeSelector": {"kubernetes.io/os": "linux"}}})), None),
        (
            "nodes with a label that has no name",
            rank(json!({"pod": {"nodeSelector": {"os/": "linux"}}})),
            Some("the name of a label has at most 63"),
        ),
        (
            "nodes with a label whose value is none",
            rank(json!({"pod": {"nodeSelector": {"kubernetes.io/os": "any text"}}})),
            Some("rank.pod.nodeSelector.kubernetes.io/os"),
        ),
        (
            "a label of the operator's",
            rank(json!({"pod": {"labels": {"app.kubernetes.io/name": "mine"}}})),
            Some("are set by the operator"),
        ),
    ]
}
