//! Rates over an item field, as upstream recorded them, against ours.
//!
//! Upstream counts a click under the value at the click and an impression under that at the close; we count both under the value when
//! the ranking was shown. A change in between moves one impression and its clicks from a value to another: so much may differ.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Milliseconds after which a ranking closes, unless a case says otherwise.
const SESSION: i64 = 30 * 60 * 1000;

/// What was counted under a value of a field.
#[derive(Default)]
struct Counted {
    impressions: f64,
    /// Clicks and impressions that upstream counts under another value, or under this one instead.
    moved: f64,
}

/// The values of one field.
struct Field {
    /// Of each item, by time.
    updates: BTreeMap<String, Vec<(i64, BTreeSet<String>)>>,
    counted: BTreeMap<String, Counted>,
}

/// How many values agree; what does not is an error.
pub(crate) fn compare(case: &Path, expected: &Path, ours: &Path) -> Result<usize, String> {
    let config = json(&case.join("config.yml"));
    let rates: Vec<&Value> = each(&config["features"]).filter(|feature| is_over_item_field(feature)).collect();
    let requests = lines(&case.join("requests.jsonl"));
    let sends_events = requests.iter().any(|request| request["path"] == "/feedback");
    if rates.is_empty() || sends_events {
        return Ok(0);
    }
    let events = lines(&case.join("events.jsonl"));
    let (expected, ours) = (json(expected), json(ours));
    let mut agree = 0;
    for rate in rates {
        let (name, scope) = (text(&rate["name"]), text(&rate["scope"]));
        let field = Field::read(scope.trim_start_matches("item."), &events);
        let answers = each(&expected["answers"]).zip(each(&ours["answers"]));
        for (theirs, ours) in answers.filter(|(theirs, _)| text(&theirs["path"]).contains("explain=true")) {
            for item in each(&theirs["body"]["items"]) {
                let same = each(&ours["body"]["items"]).find(|ours| ours["item"] == item["item"]);
                let same = same.ok_or_else(|| format!("{name}: {} is not in our answer", item["item"]))?;
                let most = field.difference(text(&item["item"]));
                let (theirs, ours) = (values(item, name), values(same, name));
                if theirs.len() != ours.len() || !theirs.iter().zip(&ours).all(|(a, b)| is_within(*a, *b, most)) {
                    return Err(format!("{name} of {}: {theirs:?}, ours {ours:?}, within {most}", item["item"]));
                }
                agree += theirs.len();
            }
        }
    }
    Ok(agree)
}

fn is_over_item_field(feature: &Value) -> bool {
    let scope = feature["scope"].as_str().unwrap_or_default();
    feature["type"] == "rate" && scope.starts_with("item.") && feature["normalize"].is_null()
}

impl Field {
    fn read(name: &str, events: &[Value]) -> Self {
        let mut field = Self { updates: BTreeMap::new(), counted: BTreeMap::new() };
        for item in events.iter().filter(|event| event["event"] == "item" || event["event"] == "metadata") {
            if let Some(sent) = each(&item["fields"]).find(|sent| sent["name"] == name) {
                let update = (time(item), strings(&sent["value"]));
                field.updates.entry(text(&item["item"]).to_owned()).or_default().push(update);
            }
        }
        field.updates.values_mut().for_each(|updates| updates.sort());
        let interactions: Vec<&Value> = events.iter().filter(|event| event["event"] == "interaction").collect();
        let rankings: BTreeMap<&str, &Value> = events
            .iter()
            .filter(|event| event["event"] == "ranking")
            .map(|ranking| (text(&ranking["id"]), ranking))
            .collect();
        let ranking_of = |one: &Value| one["ranking"].as_str().and_then(|id| rankings.get(id));
        for one in interactions.iter().filter(|one| ranking_of(one).is_none()) {
            for value in field.at(text(&one["item"]), time(one)) {
                field.counted.entry(value).or_default().impressions += 1.0;
            }
        }
        for (id, ranking) in rankings {
            let own: Vec<&str> =
                interactions.iter().filter(|one| one["ranking"] == id).map(|one| text(&one["item"])).collect();
            let items: Vec<&str> = each(&ranking["items"]).map(|item| text(&item["id"])).collect();
            let seen = items.iter().rposition(|item| own.contains(item)).map_or(0, |lowest| lowest + 1);
            for item in &items[..seen] {
                let clicks = own.iter().filter(|clicked| *clicked == item).count();
                field.show(item, time(ranking), clicks as f64 + 1.0);
            }
        }
        field
    }

    /// An item is shown, with this count of clicks and impressions.
    fn show(&mut self, item: &str, shown: i64, counts: f64) {
        let then = self.at(item, shown);
        let later = self.updates.get(item).into_iter().flatten();
        let between = later.filter(|(at, values)| *at > shown && *at <= shown + SESSION && *values != then);
        let others: BTreeSet<String> = between.flat_map(|(_, values)| values.iter().cloned()).collect();
        for value in &then {
            self.counted.entry(value.clone()).or_default().impressions += 1.0;
        }
        if !others.is_empty() {
            for value in then.union(&others) {
                self.counted.entry(value.clone()).or_default().moved += counts;
            }
        }
    }

    fn at(&self, item: &str, time: i64) -> BTreeSet<String> {
        let updates = self.updates.get(item).into_iter().flatten();
        updates.rev().find(|(at, _)| *at <= time).map(|(_, values)| values.clone()).unwrap_or_default()
    }

    /// By how much rates of an item may differ.
    fn difference(&self, item: &str) -> f64 {
        let of = |value: &String| match self.counted.get(value) {
            Some(counted) if counted.moved > 0.0 => {
                2.0 * counted.moved / (counted.impressions - counted.moved).max(1.0)
            }
            _ => 0.0,
        };
        self.at(item, i64::MAX).iter().map(of).fold(0.0, f64::max)
    }
}

fn is_within(theirs: f64, ours: f64, most: f64) -> bool {
    (theirs.is_nan() && ours.is_nan()) || (theirs - ours).abs() <= most + 1e-4
}

/// The values of a feature: under its name, in an object of features or a list of them.
fn values(item: &Value, name: &str) -> Vec<f64> {
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let listed = each(&item["features"]).find(|feature| feature["name"] == name).map(|feature| &feature["value"]);
    match listed.unwrap_or(&item["features"][name]) {
        Value::Array(values) => values.iter().map(number).collect(),
        value => vec![number(value)],
    }
}

fn json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).expect("recorded lines are JSON")).collect()
}

fn each(values: &Value) -> impl DoubleEndedIterator<Item = &Value> {
    values.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn time(event: &Value) -> i64 {
    let time = &event["timestamp"];
    time.as_i64().or_else(|| time.as_str()?.parse().ok()).expect("recorded times are milliseconds")
}

fn strings(value: &Value) -> BTreeSet<String> {
    match value {
        Value::Array(values) => values.iter().map(|value| text(value).to_owned()).collect(),
        value => BTreeSet::from([text(value).to_owned()]),
    }
}
