//! What the API server takes, and what it refuses, case by case.

use super::Case;
use crate::samples::with;
use serde_json::{Value, json};

/// Of all but the rank servers.
pub(super) fn cases() -> Vec<Case> {
    let redis = |redis: Value| json!({"spec": {"stateStore": {"redis": redis}}});
    let store = |store: Value| json!({"spec": {"clickThroughStore": store}});
    let rank = |rank: Value| json!({"spec": {"rank": rank}});
    let ingest = |ingest: Value| json!({"spec": {"ingest": ingest}});
    let peers = |peers: Value| json!({"spec": {"networkPolicy": {"rankFrom": peers}}});
    let training = |training: Value| json!({"spec": {"training": training}});
    let own = |models: Value| training(json!({"schedule": "@daily", "modelSchedules": models}));
    let key = json!({"name": "redis", "key": "password"});
    let s3 = json!({"bucket": "events", "prefix": "a", "region": "us-east-1"});
    let kafka = json!({"brokers": ["kafka:9092"], "topic": "t", "groupId": "g"});
    let pulsar = json!({"serviceUrl": "pulsar://pulsar:6650", "adminUrl": "http://pulsar:8080", "topic": "t", "subscriptionName": "s"});
    let kinesis = json!({"region": "us-east-1", "stream": "s"});
    let logs_in = |over: Value| ingest(json!({"source": {"kafka": with(kafka.clone(), over)}}));
    let secret = json!({"secretName": "certificates"});
    let events = json!({"bucket": "events", "prefix": "2026"});
    let events_at = |endpoint: &str| json!({"spec": {"import": {"from": {"s3": with(events.clone(), json!({"endpoint": endpoint}))}}}});
    let offset = |of: &str, offset: &str| match of {
        "import" => json!({"spec": {"import": {"from": {"s3": events}, "offset": offset}}}),
        _ => json!({"spec": {"ingest": {"source": {"kafka": kafka, "offset": offset}}}}),
    };
    // Secrets of click-throughs, of the stream, and of the events of an import
    let keyed = |kept: Option<&str>, streamed: Option<&str>, imported: Option<&str>| {
        let named = |base: &Value, name: Option<&str>| {
            with(base.clone(), json!({"credentialsSecretRef": name.map(|name| json!({"name": name}))}))
        };
        let import = json!({"from": {"s3": named(&events, imported)}});
        let source = json!({"kinesis": named(&kinesis, streamed)});
        json!({"spec": {"clickThroughStore": {"s3": named(&s3, kept)}, "ingest": {"source": source}, "import": import}})
    };
    vec![
        (
            "configuration by reference",
            json!({"spec": {"configuration": {"inline": null, "configMapRef": {"name": "a"}}}}),
            None,
        ),
        (
            "configuration twice",
            json!({"spec": {"configuration": {"configMapRef": {"name": "a"}}}}),
            Some("either inline or by configMapRef"),
        ),
        (
            "no configuration",
            json!({"spec": {"configuration": {"inline": null}}}),
            Some("either inline or by configMapRef"),
        ),
        ("sentinels", redis(json!({"host": null, "mode": "Sentinel", "nodes": ["a:26379"], "masterName": "m"})), None),
        (
            "sentinels without a master",
            redis(json!({"host": null, "mode": "Sentinel", "nodes": ["a:26379"]})),
            Some("masterName, what the sentinels call the server"),
        ),
        (
            "a master without sentinels",
            redis(json!({"masterName": "m"})),
            Some("masterName, what the sentinels call the server"),
        ),
        ("a cluster", redis(json!({"host": null, "mode": "Cluster", "nodes": ["a:6379"]})), None),
        (
            "a cluster with a host",
            redis(json!({"mode": "Cluster", "nodes": ["a:6379"]})),
            Some("a Standalone Redis has a host"),
        ),
        ("a host with its port", redis(json!({"host": "redis:6379"})), Some("a name or an address alone")),
        ("a host with a scheme", redis(json!({"host": "redis://redis"})), Some("a name or an address alone")),
        ("an address of version 6", redis(json!({"host": "fd00::1"})), None),
        (
            "workers that count after their deadline",
            ingest(json!({"rollout": {"minReadySeconds": 300}})),
            Some("ingest.rollout: minReadySeconds must be below"),
        ),
        (
            "a node with a scheme",
            redis(json!({"host": null, "mode": "Cluster", "nodes": ["redis://redis-1:6379"]})),
            Some("should match"),
        ),
        ("no host", redis(json!({"host": null})), Some("a Standalone Redis has a host")),
        (
            "a node without a port",
            redis(json!({"host": null, "mode": "Cluster", "nodes": ["redis-1"]})),
            Some("should match"),
        ),
        ("a login", redis(json!({"auth": {"usernameSecretRef": key, "passwordSecretRef": key}})), None),
        (
            "two names",
            redis(json!({"auth": {"username": "a", "usernameSecretRef": key, "passwordSecretRef": key}})),
            Some("either as username or by usernameSecretRef"),
        ),
        ("an authority", redis(json!({"tls": {"ca": {"secretRef": key}}})), None),
        (
            "two authorities",
            redis(json!({"tls": {"ca": {"secretRef": key, "configMapRef": key}}})),
            Some("exactly one of secretRef and configMapRef"),
        ),
        ("a bucket", store(json!({"s3": s3})), None),
        ("click-throughs in Redis", store(json!({"redis": {"ttl": "90d"}})), None),
        ("click-throughs in Redis for as long as nobody says", store(json!({"redis": {}})), None),
        ("two click-through stores", store(json!({"s3": s3, "redis": {}})), Some("exactly one of s3 and redis")),
        ("no click-through store", store(json!({})), Some("exactly one of s3 and redis")),
        (
            "connections of pods",
            json!({"spec": {"networkPolicy": {"egress": [{"ports": [{"port": 6379}], "to": [{"podSelector": {}}]}]}}}),
            None,
        ),
        (
            "a training that may not begin late",
            training(json!({"schedule": "@daily", "startingDeadlineSeconds": 5})),
            Some("spec.training.startingDeadlineSeconds"),
        ),
        (
            "a volume",
            rank(json!({"pod": {"volumes": [{"name": "a", "mountPath": "/certificates", "secret": secret}]}})),
            None,
        ),
        (
            "two volumes at one place",
            rank(json!({"pod": {"volumes": [
                {"name": "a", "mountPath": "/certificates", "secret": secret},
                {"name": "b", "mountPath": "/certificates", "secret": secret},
            ]}})),
            Some("two volumes have the same mountPath"),
        ),
        (
            "a volume over the configuration",
            rank(json!({"pod": {"volumes": [{"name": "a", "mountPath": "/etc/rankwright/config", "secret": secret}]}})),
            Some("not below /etc/rankwright"),
        ),
        (
            "a volume over the configuration, with a sign more",
            rank(
                json!({"pod": {"volumes": [{"name": "a", "mountPath": "//etc/rankwright/config", "secret": secret}]}}),
            ),
            Some("not below /etc/rankwright"),
        ),
        (
            "a volume beside the configuration",
            rank(json!({"pod": {"volumes": [{"name": "a", "mountPath": "/etc/rankwright-ca", "secret": secret}]}})),
            None,
        ),
        (
            "a volume over the folder for what is short-lived",
            rank(json!({"pod": {"volumes": [{"name": "a", "mountPath": "/tmp", "secret": secret}]}})),
            Some("mountPath /tmp is taken"),
        ),
        (
            "a monitor with a label that has no name",
            json!({"spec": {"monitoring": {"podMonitor": {"labels": {"-a": "b"}}}}}),
            Some("the name of a label has at most 63"),
        ),
        (
            "alerts with a label that has no name",
            json!({"spec": {"monitoring": {"alertRules": {"labels": {"-a": "b"}}}}}),
            Some("the name of a label has at most 63"),
        ),
        (
            "a dashboard with a label that has no name",
            json!({"spec": {"monitoring": {"dashboard": {"labels": {"-a": "b"}}}}}),
            Some("the name of a label has at most 63"),
        ),
        (
            "peers",
            peers(
                json!([{"podSelector": {}, "namespaceSelector": {}}, {"ipBlock": {"cidr": "fd00::/8", "except": ["fd00:1::/32"]}}]),
            ),
            None,
        ),
        (
            "a peer of two kinds",
            peers(json!([{"podSelector": {}, "ipBlock": {"cidr": "10.0.0.0/8"}}])),
            Some("who may send has ipBlock, or one or both"),
        ),
        ("a peer that is nobody", peers(json!([{}])), Some("who may send has ipBlock, or one or both")),
        ("a stream", ingest(json!({"source": {"kinesis": kinesis}})), None),
        (
            "two streams",
            ingest(json!({"source": {"kafka": kafka, "kinesis": kinesis}})),
            Some("exactly one of kafka, pulsar and kinesis"),
        ),
        (
            "a topic for what cannot be read",
            ingest(json!({"source": {"kafka": kafka, "deadLetter": {"topic": "unreadable"}}})),
            None,
        ),
        (
            "a topic of another kind of stream",
            ingest(json!({"source": {"kinesis": kinesis, "deadLetter": {"topic": "unreadable"}}})),
            Some("source.deadLetter.topic is a topic of Kafka"),
        ),
        (
            "two places for what cannot be read",
            ingest(
                json!({"source": {"kafka": kafka, "deadLetter": {"topic": "unreadable", "path": "/kept/unreadable"}}}),
            ),
            Some("exactly one of topic and path in source.deadLetter"),
        ),
        ("workers by lag", ingest(json!({"source": {"kafka": kafka}, "autoscaling": {"maxReplicas": 4}})), None),
        (
            "workers by the lag of nothing",
            ingest(json!({"autoscaling": {"maxReplicas": 4}})),
            Some("lag of a Kafka consumer group"),
        ),
        (
            "workers upside down",
            ingest(json!({"source": {"kafka": kafka}, "autoscaling": {"minReplicas": 9, "maxReplicas": 4}})),
            Some("ingest.autoscaling: minReplicas must not be above maxReplicas"),
        ),
        (
            "options of Kafka",
            ingest(json!({"source": {"kafka": with(kafka.clone(), json!({"options": {"security.protocol": "ssl"}}))}})),
            None,
        ),
        (
            "a password in the open",
            ingest(json!({"source": {"kafka": with(kafka.clone(), json!({"options": {"sasl.password": "x"}}))}})),
            Some("options hold no credentials: give auth, or mount a client certificate"),
        ),
        (
            "a login of the Java client in the open",
            ingest(json!({"source": {"kafka": with(kafka.clone(), json!({"options": {"sasl.jaas.config": "x"}}))}})),
            Some("options hold no credentials: give auth, or mount a client certificate"),
        ),
        ("a login to Kafka", logs_in(json!({"auth": {"username": "ann", "passwordSecretRef": key}})), None),
        (
            "a login to Kafka without encryption",
            logs_in(
                json!({"auth": {"mechanism": "ScramSha256", "usernameSecretRef": key, "passwordSecretRef": key}, "options": {"security.protocol": "sasl_plaintext"}}),
            ),
            None,
        ),
        (
            "a login to Kafka without a name",
            logs_in(json!({"auth": {"passwordSecretRef": key}})),
            Some("exactly one of username and usernameSecretRef"),
        ),
        (
            "a login to Kafka that says how twice",
            logs_in(
                json!({"auth": {"username": "ann", "passwordSecretRef": key}, "options": {"sasl.mechanism": "PLAIN"}}),
            ),
            Some("leave it out of options"),
        ),
        (
            "a login to Kafka that is not sent",
            logs_in(
                json!({"auth": {"username": "ann", "passwordSecretRef": key}, "options": {"security.protocol": "ssl"}}),
            ),
            Some("security.protocol is sasl_ssl"),
        ),
        (
            "a login of Pulsar in a file",
            ingest(
                json!({"source": {"pulsar": with(pulsar.clone(), json!({"options": {"authParams": "file:///token"}}))}}),
            ),
            None,
        ),
        (
            "a login of Pulsar in the open",
            ingest(json!({"source": {"pulsar": with(pulsar.clone(), json!({"options": {"authParams": "token:x"}}))}})),
            Some("set authParams to file:///path"),
        ),
        ("a schedule", training(json!({"schedule": "@daily", "timeZone": "Europe/Berlin"})), None),
        ("a schedule of five parts", training(json!({"schedule": "*/10 3-5 * * 1,2"})), None),
        ("a schedule by the hour", training(json!({"schedule": "@hourly"})), None),
        ("a schedule by an interval", training(json!({"schedule": "@every 1h"})), Some("schedule has five parts")),
        ("a schedule at a start", training(json!({"schedule": "@reboot"})), Some("schedule has five parts")),
        ("a schedule with a zone", training(json!({"schedule": "TZ=UTC 0 3 * * *"})), Some("give it in timeZone")),
        (
            "a schedule of ranges, steps and names",
            training(json!({"schedule": "0,30 0-23/2 1-15 JAN,jul Mon-Fri"})),
            None,
        ),
        (
            "a schedule at no minute",
            training(json!({"schedule": "61 3 * * *"})),
            Some("a part of schedule is no number"),
        ),
        ("a schedule of steps of none", training(json!({"schedule": "*/0 3 * * *"})), Some("a part of schedule is no")),
        ("a schedule on Sundays by 7", training(json!({"schedule": "0 3 * * 7"})), Some("0 for Sunday")),
        ("a zone", training(json!({"schedule": "@daily", "timeZone": "America/Argentina/Buenos_Aires"})), None),
        (
            "no zone",
            training(json!({"schedule": "@daily", "timeZone": "Europe/Berlim"})),
            Some("name of the IANA database"),
        ),
        ("a shift", training(json!({"schedule": "@daily", "timeZone": "+02:00"})), Some("name of the IANA database")),
        (
            "a zone of the server's",
            training(json!({"schedule": "@daily", "timeZone": "Local"})),
            Some("of the IANA database"),
        ),
        ("a schedule of a model", own(json!([{"model": "shop", "schedule": "*/10 * * * *"}])), None),
        (
            "two of them",
            own(json!([{"model": "a", "schedule": "@hourly"}, {"model": "b", "schedule": "@daily"}])),
            None,
        ),
        (
            "two of one model",
            own(json!([{"model": "a", "schedule": "@hourly"}, {"model": "a", "schedule": "@daily"}])),
            Some("duplicate entries for key"),
        ),
        ("one of no model", own(json!([{"schedule": "@hourly"}])), Some("model")),
        ("one of a model without a name", own(json!([{"model": "", "schedule": "@hourly"}])), Some("model")),
        ("one that is none", own(json!([{"model": "a", "schedule": "every day"}])), Some("schedule has five parts")),
        ("one at no minute", own(json!([{"model": "a", "schedule": "61 3 * * *"}])), Some("a part of schedule is no")),
        ("one with a zone", own(json!([{"model": "a", "schedule": "TZ=UTC 0 3 * * *"}])), Some("give it in timeZone")),
        ("no schedule", training(json!({"schedule": "every night"})), Some("schedule has five parts")),
        (
            "a gate",
            training(json!({"schedule": "@daily", "qualityGate": {"metric": "NDCG@10", "margin": "0.02"}})),
            None,
        ),
        ("a gate by the model's metric", training(json!({"schedule": "@daily", "qualityGate": {}})), None),
        ("an import", json!({"spec": {"import": {"from": {"s3": {"bucket": "events", "prefix": "2026"}}}}}), None),
        ("an import from a moment", offset("import", "ts=2026-11-01T00:00:00Z"), None),
        ("an import of some time", offset("import", "last=1d 12h"), None),
        ("an import from the end", offset("import", "latest"), Some("offset is earliest, ts=<Unix time")),
        ("an import of no time", offset("import", "last=7 moons"), Some("offset is earliest, ts=<Unix time")),
        ("a stream from its end", offset("source", "latest"), None),
        ("a stream from a second", offset("source", "ts=1700000000"), None),
        (
            "a stream from somewhere",
            offset("source", "ts=yesterday"),
            Some("offset is earliest, latest, ts=<Unix time"),
        ),
        ("an import from nowhere", json!({"spec": {"import": {"from": {}}}}), Some("exactly one of s3 and stream")),
        (
            "an import of no stream",
            json!({"spec": {"import": {"from": {"stream": {}}}}}),
            Some("import.from.stream reads the stream of ingest.source"),
        ),
        ("one key for all", keyed(Some("a"), Some("a"), Some("a")), None),
        ("keys of other fields alone", keyed(None, Some("a"), Some("a")), None),
        (
            "two keys for workers",
            keyed(Some("a"), Some("b"), None),
            Some("ingest.source.kinesis.credentialsSecretRef must be that of clickThroughStore.s3"),
        ),
        (
            "two keys for an import",
            keyed(Some("a"), None, Some("b")),
            Some("import.from.s3.credentialsSecretRef must be that of clickThroughStore.s3"),
        ),
        (
            "two keys for an import beside a stream",
            keyed(None, Some("a"), Some("b")),
            Some("import.from.s3.credentialsSecretRef must be that of ingest.source.kinesis"),
        ),
        (
            "two addresses of S3",
            with(
                events_at("http://minio:9000"),
                store(json!({"s3": with(s3.clone(), json!({"endpoint": "http://minio:9001"}))})),
            ),
            None,
        ),
        (
            "an address of S3 beside Amazon",
            with(events_at("http://minio:9000"), store(json!({ "s3": s3 }))),
            Some("a pod has one address of S3"),
        ),
        (
            "an import of the stream",
            json!({"spec": {"import": {"from": {"stream": {}}}, "ingest": {"source": {"kafka": kafka}}}}),
            None,
        ),
        ("a pin", json!({"spec": {"modelVersion": {"shop": "20261114T162500000Z-1a2b3c4d"}}}), None),
        ("a pin on nothing", json!({"spec": {"modelVersion": {"shop": ""}}}), Some("modelVersion holds versions")),
        ("metrics", json!({"spec": {"monitoring": {"podMonitor": {}}}}), None),
        (
            "monitoring with labels",
            json!({"spec": {"monitoring": {"podMonitor": {"labels": {"a.example/b": "c"}}, "alertRules": {"labels": {"a": ""}}}}}),
            None,
        ),
        ("a dashboard alone", json!({"spec": {"monitoring": {"dashboard": {}}}}), None),
        ("monitoring by nothing", json!({"spec": {"monitoring": {}}}), Some("monitoring makes nothing by itself")),
        ("an account of one's own", json!({"spec": {"serviceAccount": {"name": "search"}}}), None),
        (
            "annotations of somebody else's account",
            json!({"spec": {"serviceAccount": {"name": "search", "annotations": {"a": "b"}}}}),
            Some("annotations are for the service account"),
        ),
    ]
}
