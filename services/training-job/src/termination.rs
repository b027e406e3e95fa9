//! The report as Kubernetes takes it from a container that has ended: 4,096 bytes at most.
//!
//! It stays JSON as long as that is possible: first the metrics that decided nothing go, then messages are cut, then the
//! last models are left out and counted.

use crate::report::Report;
use serde_json::{Value, json};

/// What Kubernetes keeps of a container's termination message.
const LIMIT: usize = 4096;

/// The report within the limit.
pub(crate) fn message(report: &Report) -> String {
    within(serde_json::to_value(report).unwrap_or_default(), LIMIT)
}

fn within(mut report: Value, limit: usize) -> String {
    let fits = |report: &Value| report.to_string().len() <= limit;
    if !fits(&report) {
        for_each_model(&mut report, |model| drop(model.remove("quality")));
    }
    for length in [400, 100] {
        if !fits(&report) {
            for_each_model(&mut report, |model| shorten(model, length));
            shorten_whole(&mut report, length);
        }
    }
    let mut omitted = 0;
    while !fits(&report) && report["models"].as_array_mut().is_some_and(|models| models.pop().is_some()) {
        omitted += 1;
        report["omittedModels"] = json!(omitted);
    }
    let mut text = report.to_string();
    text.truncate(text.floor_char_boundary(limit));
    text
}

fn for_each_model(report: &mut Value, mut change: impl FnMut(&mut serde_json::Map<String, Value>)) {
    let models = report["models"].as_array_mut().into_iter().flatten();
    models.filter_map(Value::as_object_mut).for_each(&mut change);
}

fn shorten_whole(report: &mut Value, length: usize) {
    if let Some(report) = report.as_object_mut() {
        shorten(report, length);
    }
}

/// Cuts the messages of a model, its own and its decision's.
fn shorten(model: &mut serde_json::Map<String, Value>, length: usize) {
    let decision = model.get_mut("decision").and_then(Value::as_object_mut);
    if let Some(decision) = decision {
        decision.remove("message"); // the model's own says the same
    }
    if let Some(Value::String(message)) = model.get_mut("message")
        && message.len() > length
    {
        message.truncate(message.floor_char_boundary(length));
        message.push('…');
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::report::ModelReport;

    fn report(models: usize, message: usize) -> Report {
        let mut report = Report::new("shop".to_owned());
        for index in 0..models {
            let message = "ä".repeat(message / 2);
            report.models.push(ModelReport { message, ..ModelReport::of(&format!("model-{index}")) });
        }
        report
    }

    #[test]
    fn a_short_report_is_written_whole() {
        let report = report(2, 50);
        assert_eq!(serde_json::from_str::<Value>(&message(&report)).unwrap(), serde_json::to_value(&report).unwrap());
    }

    #[test]
    fn long_messages_are_cut_and_the_rest_stays_json() {
        let text = message(&report(3, 10_000));
        let json: Value = serde_json::from_str(&text).unwrap();
        assert!(text.len() <= LIMIT && json["models"].as_array().unwrap().len() == 3);
        assert!(json["models"][2]["message"].as_str().unwrap().ends_with('…'));
        let mut failed = report(0, 0);
        failed.message = "x".repeat(9000);
        assert!(serde_json::from_str::<Value>(&message(&failed)).is_ok());
    }

    #[test]
    fn models_that_find_no_room_are_counted() {
        let text = message(&report(100, 1000));
        let json: Value = serde_json::from_str(&text).unwrap();
        let shown = json["models"].as_array().unwrap().len() as u64;
        assert!(text.len() <= LIMIT && shown > 5 && shown + json["omittedModels"].as_u64().unwrap() == 100);
        assert_eq!(json["outcome"], "published", "what matters most stays");
    }
}
