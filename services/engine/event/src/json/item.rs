//! Items of a ranking.

use super::cursor::Cursor;
use super::error::{Fault, Within};
use super::field::fields;
use crate::{ItemId, RankedItem};

/// Reads the items of a ranking: one or more.
pub(super) fn items(cursor: &mut Cursor<'_>) -> Result<Vec<RankedItem>, Fault> {
    cursor.peek();
    let start = cursor.at;
    let items = cursor.array("an array of items", item)?;
    if items.is_empty() {
        Err(Fault::new(start, "expected one item or more, found none".to_owned()))
    } else {
        Ok(items)
    }
}

fn item(cursor: &mut Cursor<'_>) -> Result<RankedItem, Fault> {
    let start = cursor.at;
    let (mut id, mut fields, mut label, mut score) = (None, Vec::new(), None, None);
    cursor.object("an item: an object with `id`", |cursor, key| {
        match key {
            "id" => id = Some(ItemId::from(cursor.name().at_key("id")?)),
            "fields" => fields = self::fields(cursor).at_key("fields")?,
            "label" => label = self::label(cursor).at_key("label")?,
            "score" => score = self::score(cursor).at_key("score")?,
            _ => cursor.skip()?,
        }
        Ok(())
    })?;
    let id = id.ok_or_else(|| Fault::new(start, "missing key `id`".to_owned()))?;
    Ok(RankedItem { id, fields, label, score })
}

/// A judgement: a number, or whether the item is relevant (1) or not (0).
fn label(cursor: &mut Cursor<'_>) -> Result<Option<f64>, Fault> {
    match () {
        () if cursor.took_word("null") => Ok(None),
        () if cursor.took_word("true") => Ok(Some(1.0)),
        () if cursor.took_word("false") => Ok(Some(0.0)),
        () => cursor.number("a number, a boolean or null").map(Some),
    }
}

fn score(cursor: &mut Cursor<'_>) -> Result<Option<f64>, Fault> {
    if cursor.took_word("null") { Ok(None) } else { cursor.number("a number or null").map(Some) }
}
