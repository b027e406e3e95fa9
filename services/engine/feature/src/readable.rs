//! Which values of a field a feature makes something of.

use crate::lexicon::local_time;
use rankwright_config::feature::Kind;
use rankwright_event::Value;

/// Whether a feature reads such a value of its field. Any other one is as if it were missing.
pub fn can_read(kind: &Kind, value: &Value) -> bool {
    match (kind, value) {
        (Kind::Number(_) | Kind::Relevancy(_), value) => matches!(value, Value::Number(_)),
        (Kind::Boolean(_), value) => matches!(value, Value::Bool(_)),
        (Kind::Vector(_), Value::Texts(texts)) => texts.is_empty(), // nothing tells such a list from one of numbers
        (Kind::Vector(_), value) => matches!(value, Value::Number(_) | Value::Numbers(_)),
        (Kind::ListSize(_), value) => !matches!(value, Value::Bool(_)),
        (Kind::Diversity(_), value) => !matches!(value, Value::Bool(_) | Value::Numbers(_)),
        (Kind::WordCount(_) | Kind::UserAgent(_) | Kind::Referer(_), value) => matches!(value, Value::Text(_)),
        (Kind::LocalTime(of), Value::Text(text)) => local_time::part(text, of.parse).is_some(),
        (Kind::TimeDiff(_) | Kind::ItemAge(_), Value::Text(text)) => local_time::epoch_seconds(text).is_some(),
        (Kind::TimeDiff(_) | Kind::ItemAge(_), value) => matches!(value, Value::Number(_)),
        (Kind::LocalTime(_), _) => false,
        (_, value) => matches!(value, Value::Text(_) | Value::Texts(_)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Shop;
    use rankwright_config::Config;

    #[test]
    fn a_value_that_a_feature_cannot_read_is_missing() {
        let values = [
            Value::Bool(true),
            Value::Number(3.0),
            Value::Text("two words".into()),
            Value::Text("2022-01-07T23:30:00+02:00".into()),
            Value::Numbers(vec![1.0, 2.0]),
            Value::Texts(vec!["a".into(), "b".into()]),
        ];
        for definition in [
            "type: number, source: item.f",
            "type: boolean, source: item.f",
            "type: vector, source: item.f, reduce: [max]",
            "type: word_count, source: item.f",
            "type: list_size, source: item.f",
            "type: time_diff, source: item.f",
            "type: local_time, source: ranking.f, parse: day_of_month",
            "type: item_age, source: item.f",
            "type: diversity, source: item.f",
        ] {
            let feature = format!("{{name: f, {definition}}}");
            let text = format!("features:\n  - {feature}\nmodels:\n  none: {{type: noop}}\n");
            let (config, _) = Config::parse(&text, "test").expect("a valid configuration");
            for value in &values {
                let rows = Shop::new(&feature).asked("f", value.clone()).sent("a", "f", value.clone()).rows(["a"]);
                let reads = can_read(&config.features[0].kind, value);
                assert_eq!(reads, !rows[0][0].is_nan(), "{definition}: {value:?}");
            }
        }
    }
}
