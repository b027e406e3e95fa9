//! An answer for people: a line for each item and, where the answer explains scores, a line for each feature below it.

use anyhow::Result;
use serde::Deserialize;
use serde_json::Value;
use std::fmt::Write;

/// Features of an item that have a line each; what further ones bring is summed up.
const SHOWN: usize = 10;
/// The widest columns, so that a line fits into 80.
const NAME: usize = 28;
const VALUE: usize = 18;
const BAR: usize = 12;

#[derive(Deserialize)]
struct Answer {
    items: Vec<Item>,
    fallback: Option<String>,
    unexplained: Option<String>,
}

#[derive(Deserialize)]
struct Item {
    item: String,
    score: Option<f64>,
    #[serde(default)]
    features: Vec<Named<Value>>,
    #[serde(default)]
    contributions: Vec<Named<f64>>,
    bias: Option<f64>,
}

#[derive(Deserialize)]
struct Named<T> {
    name: String,
    value: T,
}

/// What one feature brings.
struct Line<'a> {
    name: String,
    value: String,
    brought: Option<&'a f64>,
}

/// The answer as a table.
///
/// # Errors
/// When it is none.
pub(super) fn of(answer: &Value) -> Result<String> {
    let answer = Answer::deserialize(answer)?;
    let mut told = String::new();
    if let Some(fallback) = &answer.fallback {
        writeln!(told, "not ranked by the model: {fallback}\n")?;
    }
    if let Some(unexplained) = &answer.unexplained {
        writeln!(told, "no contributions: {unexplained}\n")?;
    }
    let ids: Vec<String> = answer.items.iter().map(|item| shown(&item.item)).collect();
    let width = |texts: &[String]| texts.iter().map(|text| text.chars().count()).max().unwrap_or_default();
    let (digits, id) = (answer.items.len().to_string().len(), width(&ids).max(4));
    writeln!(told, "{:>digits$}  {:id$}  {:>12}", "#", "item", "score")?;
    for (place, (item, name)) in answer.items.iter().zip(&ids).enumerate() {
        let score = item.score.map_or_else(|| "-".to_owned(), |score| format!("{score:.6}"));
        writeln!(told, "{:>digits$}  {name:id$}  {score:>12}", place + 1)?;
        explain(&mut told, item)?;
    }
    Ok(told)
}

/// The features of an item, those first that bring the most, for or against it.
fn explain(told: &mut String, item: &Item) -> std::fmt::Result {
    let line = |(place, feature): (usize, &Named<Value>)| Line {
        name: cut(&shown(&feature.name), NAME),
        value: cut(&value(&feature.value), VALUE),
        brought: item.contributions.get(place).map(|brought| &brought.value),
    };
    let mut lines: Vec<(Line<'_>, f64)> = item
        .features
        .iter()
        .enumerate()
        .map(|feature| {
            let line = line(feature);
            let brought = line.brought.copied().unwrap_or_default();
            (line, brought)
        })
        .collect();
    lines.sort_by(|(_, left), (_, right)| right.abs().total_cmp(&left.abs()));
    let most = lines.first().map_or(0.0, |(_, brought)| brought.abs());
    let (first, rest) = lines.split_at(lines.len().min(SHOWN));
    for (Line { name, value, brought }, _) in first {
        let row = format!("      {name:NAME$}  {value:>VALUE$}");
        match brought {
            Some(brought) => {
                writeln!(told, "{}", format!("{row}  {brought:>+10.4}  {}", bar(**brought, most)).trim_end())?
            }
            None => writeln!(told, "{row}")?,
        }
    }
    if let Some(bias) = item.bias {
        if !rest.is_empty() {
            let sum: f64 = rest.iter().map(|(_, brought)| brought).sum();
            let name = format!("({} more)", rest.len());
            writeln!(told, "      {name:NAME$}  {:>VALUE$}  {sum:>+10.4}", "")?;
        }
        writeln!(told, "      {:NAME$}  {:>VALUE$}  {bias:>+10.4}", "(bias)", "")?;
    }
    Ok(())
}

/// A feature's value: a number, several, or none.
fn value(value: &Value) -> String {
    match value {
        Value::Null => "missing".to_owned(),
        Value::Array(values) => values.iter().map(self::value).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

/// As long as the share of the largest one.
fn bar(brought: f64, most: f64) -> String {
    let sign = if brought < 0.0 { "-" } else { "+" };
    let length = if most > 0.0 { (brought.abs() / most * BAR as f64).round() as usize } else { 0 };
    sign.repeat(length)
}

/// Ids come from outside: what would move the cursor of a terminal is shown as an escape.
fn shown(text: &str) -> String {
    let escaped = |sign: char| if sign.is_control() { sign.escape_default().collect() } else { sign.to_string() };
    text.chars().map(escaped).collect()
}

fn cut(text: &str, most: usize) -> String {
    match text.chars().count() > most {
        true => text.chars().take(most - 1).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn items_have_a_line_each() {
        let answer =
            json!({"items": [{"item": "p1", "score": 1.5}, {"item": "a\u{1b}[2Jb", "score": -0.25}], "took": 1});
        let told = of(&answer).expect("an answer");
        assert_eq!(told, "#  item                score\n1  p1               1.500000\n2  a\\u{1b}[2Jb     -0.250000\n");
    }

    #[test]
    fn features_that_bring_the_most_come_first_and_lines_fit_into_eighty_columns() {
        let (long, many) = ("a_feature_whose_name_is_longer_than_the_column", [1.0; 20]);
        let answer = json!({"items": [{"item": "p1", "score": 1.5, "bias": 0.5,
            "features": [{"name": "price", "value": 10.0}, {"name": long, "value": many}, {"name": "ctr", "value": null}],
            "contributions": [{"name": "price", "value": 0.25}, {"name": long, "value": 1.0}, {"name": "ctr", "value": -0.25}]}],
            "took": 1});
        let told = of(&answer).expect("an answer");
        let lines: Vec<&str> = told.lines().collect();
        assert!(
            lines[2].trim_start().starts_with("a_feature_whose_name_is_lon…  1.0 1.0 1.0 1.0 1…     +1.0000"),
            "{told}"
        );
        assert!(
            lines[2].ends_with("++++++++++++") && lines[3].ends_with("  +++") && lines[4].ends_with("  ---"),
            "{told}"
        );
        assert!(lines[4].contains("ctr") && lines[4].contains("missing"), "{told}");
        assert!(lines[5].trim_start().starts_with("(bias)") && lines[5].ends_with("+0.5000"), "{told}");
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{told}");
    }

    #[test]
    fn what_further_features_bring_is_summed_up() {
        let features: Vec<_> = (0..13).map(|number| json!({"name": format!("f{number}"), "value": number})).collect();
        let brought: Vec<_> =
            (0..13).map(|number| json!({"name": format!("f{number}"), "value": number as f64})).collect();
        let item = json!({"item": "p", "score": 78.0, "bias": 0.0, "features": features, "contributions": brought});
        let told = of(&json!({"items": [item]})).expect("an answer");
        assert_eq!(told.lines().count(), 2 + SHOWN + 2, "{told}");
        assert!(told.contains("(3 more)") && told.contains("+3.0000"), "{told}");
    }

    #[test]
    fn an_answer_without_a_model_says_why() {
        let answer = json!({"items": [{"item": "p", "score": 1.0, "features": [{"name": "price", "value": 2.0}]}],
            "fallback": "model m is not trained yet", "unexplained": "nothing was scored"});
        let told = of(&answer).expect("an answer");
        assert!(told.starts_with("not ranked by the model: model m is not trained yet\n"), "{told}");
        assert!(told.contains("no contributions: nothing was scored") && told.contains("price"), "{told}");
    }
}
