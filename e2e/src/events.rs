//! Events and requests as tests write them.

use serde_json::{Value, json};

/// Sunday, 14 November 2021, 16:25 UTC, in milliseconds: when the events of tests begin.
pub const BEGIN: i64 = 1_636_907_100_000;

/// The time of an event, in seconds after the beginning.
pub fn at(seconds: i64) -> String {
    (BEGIN + seconds * 1000).to_string()
}

/// An item with fields.
pub fn item(id: &str, seconds: i64, fields: &[(&str, Value)]) -> Value {
    let fields: Vec<Value> = fields.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
    json!({"event": "item", "id": format!("e-{id}-{seconds}"), "timestamp": at(seconds), "item": id, "fields": fields})
}

/// A list shown to a visitor.
pub fn ranking(id: &str, seconds: i64, user: &str, items: &[&str]) -> Value {
    let items: Vec<Value> = items.iter().map(|id| json!({"id": id})).collect();
    json!({"event": "ranking", "id": id, "timestamp": at(seconds), "user": user, "session": user, "items": items})
}

/// A click on an item of a list.
pub fn click(id: &str, seconds: i64, ranking: &str, user: &str, item: &str) -> Value {
    json!({"event": "interaction", "id": id, "timestamp": at(seconds), "type": "click", "ranking": ranking,
        "user": user, "session": user, "item": item})
}

/// The value of a feature of an item in an answer with feature values; null where there is none.
pub fn feature<'a>(answer: &'a Value, item: &str, name: &str) -> &'a Value {
    let found = |list: &'a Value, key: &str, wanted: &str| {
        list.as_array().and_then(|list| list.iter().find(|entry| entry[key] == *wanted))
    };
    let item = found(&answer["items"], "item", item);
    item.and_then(|item| found(&item["features"], "name", name)).map_or(&Value::Null, |feature| &feature["value"])
}

/// The items of an answer, best first.
pub fn order(answer: &Value) -> Vec<String> {
    let items = answer["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(|item| item["item"].as_str().map(str::to_owned)).collect()
}

/// JSON lines.
pub fn lines(events: &[Value]) -> String {
    events.iter().map(|event| format!("{event}\n")).collect()
}

/// An event as a tracker of Snowplow sends it and Enrich hands it on.
///
/// # Panics
/// When the event has no kind.
pub fn tracked(event: &Value) -> Value {
    let kind = event["event"].as_str().expect("an event has a kind");
    let inner = json!({"schema": format!("iglu:com.rankwright/{kind}/jsonschema/1-0-0"), "data": event});
    json!({"schema": "iglu:com.snowplowanalytics.snowplow/unstruct_event/jsonschema/1-0-0", "data": inner})
}

/// An enriched event of Snowplow: a line of 131 columns, with what was tracked if it is not null.
pub fn columns(kind: &str, tracked: &Value) -> String {
    let tracked = if tracked.is_null() { String::new() } else { tracked.to_string() };
    let mut columns = vec![""; 131];
    (columns[0], columns[1], columns[5], columns[58], columns[130]) = ("shop", "web", kind, &tracked, "2021-11-14");
    columns.join("\t") + "\n"
}

/// A configuration for [`cheap_wins`]: a model `m` over file state in the folder where the service runs.
pub const DURABLE: &str = r"
state: {type: file, path: ./data}
core: {clickthrough: {maxSessionLength: 10s}}
models:
  m:
    type: lambdamart
    backend: {type: lightgbm, iterations: 20, seed: 0}
    weights: {click: 1}
    features: [price, clicks]
features:
  - {name: price, type: number, field: item.price}
  - {name: clicks, type: interaction_count, interaction: click, scope: item}
";

/// Twenty items `i0` to `i19` with their number as price, and `lists` lists of five of them, a second apart, each with
/// a click on the cheapest.
pub fn cheap_wins(lists: i64) -> Vec<Value> {
    let mut random = crate::random::Random(7);
    let mut events: Vec<Value> =
        (0..20).map(|price| item(&format!("i{price}"), 0, &[("price", json!(price))])).collect();
    let mut prices: Vec<usize> = (0..20).collect();
    for list in 0..lists {
        (0..5).for_each(|place| prices.swap(place, place + random.below(20 - place)));
        let shown = &prices[..5];
        let cheapest = shown.iter().min().expect("a list has items");
        let ids: Vec<String> = shown.iter().map(|price| format!("i{price}")).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let (id, user) = (format!("r{list}"), format!("u{}", list % 7));
        events.push(ranking(&id, list + 1, &user, &ids));
        events.push(click(&format!("c{list}"), list + 1, &id, &user, &format!("i{cheapest}")));
    }
    events
}
