//! Rows as text: LibSVM for XGBoost, CSV for LightGBM.

use super::files::File;
use super::names::plain;
use super::part::{Part, Parts};
use super::{Error, Watch};
use rankwright_model::Column;
use std::fmt::Write;

/// LibSVM: label, `qid`, and values by column from 0. A missing value is left out, but for the first row's last column:
/// readers count columns by the highest number.
pub(super) fn svm(file: File, parts: &Parts<'_>, watch: &mut Watch<'_>) -> Result<(), Error> {
    lines(file, String::new(), parts, watch, |line, row, (group, label, values)| {
        let _ = write!(line, "{label} qid:{group}");
        for (column, value) in values.iter().enumerate() {
            let counts = row == 0 && column + 1 == values.len();
            if !value.is_nan() {
                let _ = write!(line, " {column}:{value}");
            } else if counts {
                let _ = write!(line, " {column}:nan");
            }
        }
    })
}

/// CSV with a header: `label`, `group`, then the features. A missing value is `nan`, the one form that
/// LightGBM's exact parser takes.
pub(super) fn csv(file: File, columns: &[Column], parts: &Parts<'_>, watch: &mut Watch<'_>) -> Result<(), Error> {
    let head = ["label".to_owned(), "group".to_owned()].into_iter().chain(header(columns));
    let head = head.collect::<Vec<_>>().join(",") + "\n";
    lines(file, head, parts, watch, |line, _, (group, label, values)| {
        let _ = write!(line, "{label},{group}");
        for value in values {
            let _ = if value.is_nan() { write!(line, ",nan") } else { write!(line, ",{value}") };
        }
    })
}

/// What the columns of features are called in CSV.
pub(super) fn header(columns: &[Column]) -> Vec<String> {
    plain(columns.iter().map(|column| column.name.as_str()), &["label", "group"])
}

/// The position of each row within its list, from 0: a line each.
pub(super) fn positions(mut file: File, parts: &Parts<'_>) -> Result<(), Error> {
    let mut text = String::new();
    for &length in parts.examples.lists.lengths {
        text.clear();
        (0..length).for_each(|position| {
            let _ = writeln!(text, "{position}");
        });
        file.write(text.as_bytes())?;
    }
    file.finish()
}

/// A head, then a line for each row.
fn lines(
    mut file: File,
    head: String,
    parts: &Parts<'_>,
    watch: &mut Watch<'_>,
    mut line: impl FnMut(&mut String, usize, (i64, f32, &[f32])),
) -> Result<(), Error> {
    let mut text = head;
    parts.each(|part: Part<'_>| {
        for (row, values) in (part.row..).zip(part.rows()) {
            line(&mut text, row, values);
            text.push('\n');
            file.write(text.as_bytes())?;
            text.clear();
        }
        let written = (part.row + part.groups.len()) as u64;
        if watch(written) { Ok(()) } else { Err(Error::Interrupted) }
    })?;
    file.finish()
}
