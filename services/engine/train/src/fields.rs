//! Ranking fields as texts.

use rankwright_clickthrough::Clickthrough;
use rankwright_event::Value;

/// A ranking field as one text: the texts or numbers of a list, joined by commas; `None` where there is none.
pub(crate) fn text_of(record: &Clickthrough, name: &str) -> Option<String> {
    let field = record.fields.iter().find(|field| field.name == name)?;
    Some(match &field.value {
        Value::Text(text) => text.to_string(),
        Value::Texts(texts) => texts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        Value::Bool(is) => is.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Numbers(numbers) => numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::record;
    use rankwright_event::Field;

    #[test]
    fn a_field_of_any_type_is_a_text() {
        let mut record = record("r", 1);
        record.fields = vec![
            Field::new("page", Value::Text("home".into())),
            Field::new("tags", Value::Texts(vec!["a".into(), "b".into()])),
            Field::new("depth", Value::Number(2.0)),
            Field::new("mobile", Value::Bool(true)),
            Field::new("box", Value::Numbers(vec![1.5, 2.0])),
        ];
        let texts = ["page", "tags", "depth", "mobile", "box"].map(|name| text_of(&record, name).expect("is there"));
        assert_eq!(texts, ["home", "a, b", "2", "true", "1.5, 2"]);
        assert_eq!(text_of(&record, "query"), None);
    }
}
