//! Schemas of values without parts.
//!
//! Readers take a number or a boolean in quotes as well, as templates write them, and any scalar as a text.

use crate::trace::Asked;
use serde_json::{Value, json};

const WHOLE: &str = r"^\+?[0-9]+(\.0*)?([eE]\+?[0-9]+)?$";
const NUMBER: &str = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$";
const BOOLEAN: &str = "^([tT][rR][uU][eE]|[yY][eE][sS]|[oO][nN]|[fF][aA][lL][sS][eE]|[nN][oO]|[oO][fF][fF])$";
const DURATION: &str = r"^\s*(0|([0-9.]+\s*[a-zA-Z]+\s*)+)$";

/// The schema of what is asked; none of what has parts.
pub(super) fn schema(asked: &Asked) -> Option<Value> {
    Some(match asked {
        Asked::Anything => json!({}),
        Asked::Text | Asked::Scalar => json!({"type": ["string", "number", "boolean"], "minLength": 1}),
        Asked::Whole(least, most) => whole(*least, *most),
        Asked::Number(accepted) => json!({"type": ["number", "string"], "pattern": NUMBER, "description": accepted}),
        Asked::Boolean => json!({"type": ["boolean", "string"], "pattern": BOOLEAN}),
        Asked::Duration => json!({
            "type": ["string", "integer"], "pattern": DURATION, "maximum": 0,
            "description": "a duration such as 500ms, 30s, 1h30m, 24h or 90d",
        }),
        Asked::Words(words) => words_of(words),
        Asked::Spelled(accepted, words) => {
            json!({"anyOf": [{"enum": words}, {"type": "string", "minLength": 1}], "description": accepted})
        }
        Asked::Url(schemes) => {
            json!({"type": "string", "pattern": format!("^({})", schemes.join("|").replace('+', r"\+"))})
        }
        Asked::List(_) | Asked::One | Asked::Named | Asked::Section | Asked::Again(_) => return None,
    })
}

fn whole(least: u64, most: u64) -> Value {
    let mut schema = json!({"type": ["integer", "string"], "pattern": WHOLE, "minimum": least});
    if most < u64::MAX {
        schema["maximum"] = json!(most);
    }
    schema
}

/// YAML of some editors takes `no` and `on` for booleans, and `-1` is a number.
fn words_of(words: &[String]) -> Value {
    let numbers = words.iter().filter_map(|word| word.parse::<i64>().ok()).map(Value::from);
    let no = words.iter().any(|word| word == "no").then_some(Value::Bool(false));
    json!({"enum": words.iter().cloned().map(Value::from).chain(numbers).chain(no).collect::<Vec<_>>()})
}
