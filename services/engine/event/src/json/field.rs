//! Fields and their values: boolean, number, string, list of strings, list of numbers.

use super::cursor::Cursor;
use super::error::{Fault, Within};
use crate::{Field, Value};
use compact_str::CompactString;

/// Reads a list of fields; null is an empty one.
pub(super) fn fields(cursor: &mut Cursor<'_>) -> Result<Vec<Field>, Fault> {
    if cursor.took_word("null") { Ok(Vec::new()) } else { cursor.array("an array of fields", field) }
}

fn field(cursor: &mut Cursor<'_>) -> Result<Field, Fault> {
    let start = cursor.at;
    let (mut name, mut value) = (None, None);
    cursor.object("a field: an object with `name` and `value`", |cursor, key| {
        match key {
            "name" => name = Some(CompactString::from(cursor.string("a string").at_key("name")?)),
            "value" => value = Some(self::value(cursor).at_key("value")?),
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    match (name, value) {
        (Some(name), Some(value)) => Ok(Field { name, value }),
        (None, Some(_)) => Err(Fault::new(start, "missing key `name`".to_owned())),
        (Some(_), None) => Err(Fault::new(start, "missing key `value`".to_owned())),
        (None, None) => Err(Fault::new(start, "missing keys `name`, `value`".to_owned())),
    }
}

fn value(cursor: &mut Cursor<'_>) -> Result<Value, Fault> {
    match cursor.peek() {
        Some(b'"') => cursor.string("a string").map(|text| Value::Text(text.into())),
        Some(b'-' | b'0'..=b'9') => cursor.number("a number").map(Value::Number),
        Some(b'[') => list(cursor),
        _ if cursor.took_word("true") => Ok(Value::Bool(true)),
        _ if cursor.took_word("false") => Ok(Value::Bool(false)),
        _ => Err(cursor.unexpected("a boolean, a number, a string, a list of strings or a list of numbers")),
    }
}

/// What a list may hold follows from its first element.
fn list(cursor: &mut Cursor<'_>) -> Result<Value, Fault> {
    let start = cursor.at;
    cursor.at += 1;
    let first = cursor.peek();
    cursor.at = start;
    match first {
        Some(b'"' | b']') => cursor.array("a list", text).map(Value::Texts),
        Some(b'-' | b'0'..=b'9') => cursor.array("a list", number).map(Value::Numbers),
        _ => {
            cursor.at += 1;
            Err(cursor.unexpected("a string or a number")).at_index(0)
        }
    }
}

fn text(cursor: &mut Cursor<'_>) -> Result<CompactString, Fault> {
    cursor.string("a string like those before it").map(CompactString::from)
}

fn number(cursor: &mut Cursor<'_>) -> Result<f64, Fault> {
    cursor.number("a number like those before it")
}
