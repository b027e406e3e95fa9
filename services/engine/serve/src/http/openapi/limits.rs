//! The limits of a service in its description: a type marks a list with `x-limit`, the name of the limit.

use crate::app::App;
use serde_json::{Map, Value, json as value};

/// The limits of this service, by their names in `api.limits`.
pub(super) fn all(app: &App) -> Value {
    let limits = app.limits().api;
    value!({
        "maxBodyBytes": limits.max_body_bytes,
        "maxItemsPerRequest": limits.max_items_per_request,
        "maxEventsPerBatch": limits.max_events_per_batch,
        "maxConcurrentRequests": limits.max_concurrent_requests,
        "requestTimeoutMillis": limits.request_timeout.as_millis() as u64,
    })
}

/// Says of every list that is marked how long it may be.
pub(super) fn apply(schema: &mut Value, limits: &Value) {
    match schema {
        Value::Object(entries) => {
            mark(entries, limits);
            entries.values_mut().for_each(|value| apply(value, limits));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| apply(value, limits)),
        _ => {}
    }
}

fn mark(schema: &mut Map<String, Value>, limits: &Value) {
    let Some(limit) = schema.get("x-limit").and_then(Value::as_str).and_then(|name| limits.get(name)) else { return };
    schema.insert("maxItems".to_owned(), limit.clone());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_marked_has_its_limit_however_deep_it_lies() {
        let mut schema = value!({"properties": {
            "items": {"type": ["array", "null"], "x-limit": "most"},
            "name": {"type": "string"},
        }});
        apply(&mut schema, &value!({"most": 7}));
        assert_eq!(schema["properties"]["items"]["maxItems"], 7);
        assert_eq!(schema["properties"]["name"], value!({"type": "string"}));
    }
}
