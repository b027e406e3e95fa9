//! Services to begin with.

use serde_json::{Value, json};

/// The least that a service can say.
pub(crate) fn minimal() -> Value {
    json!({
        "spec": {
            "configuration": {
                "inline": {
                    "features": [{"name": "price", "type": "number", "field": "item.price"}],
                    "models": {"shop": {"type": "lambdamart", "weights": {"click": 1}, "features": ["price"]}},
                },
            },
            "stateStore": {"redis": {"host": "redis"}},
        },
    })
}

/// One with every part.
pub(crate) fn whole() -> Value {
    with(
        minimal(),
        json!({
            "spec": {
                "clickThroughStore": {"s3": {"bucket": "events", "prefix": "shop", "region": "us-east-1", "endpoint": "http://minio:9000"}},
                "rank": {"replicas": 3, "ingress": {"host": "rank.test"}},
                "ingest": {"source": {"kafka": {"brokers": ["kafka:9092"], "topic": "events", "groupId": "shop"}}},
                "training": {"schedule": "0 3 * * *"},
                "networkPolicy": {},
            },
        }),
    )
}

/// A value with another laid over it.
pub(crate) fn with(mut value: Value, over: Value) -> Value {
    merge(&mut value, over);
    value
}

fn merge(value: &mut Value, over: Value) {
    match (value, over) {
        (Value::Object(value), Value::Object(over)) => {
            for (key, part) in over {
                if part.is_null() {
                    value.remove(&key);
                } else {
                    merge(value.entry(key).or_insert(Value::Null), part);
                }
            }
        }
        (value, over) => *value = over,
    }
}
