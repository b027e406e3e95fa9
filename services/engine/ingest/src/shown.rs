//! A ranking as it was shown, with its rows, as a durable store holds it.
//!
//! Its rows are those of the configuration of that time. If the configuration has changed since, or if two are in use while
//! programs are replaced one by one, the rows are converted to other columns: columns that both have are kept, and new ones are
//! missing.

use rankwright_event::Ranking;
use rankwright_feature::Tag;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// A ranking as it was shown.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) ranking: Ranking,
    rows: Vec<f32>,
    columns: Columns,
}

/// Columns of rows that were kept.
#[derive(Debug)]
enum Columns {
    /// These.
    Known(Vec<Tag>),
    /// This number of them: an older version wrote them without their ids.
    Unknown(usize),
}

/// The stored form of [`Shown`]. Versions that do not know its last parts leave them out.
#[derive(Serialize)]
pub(crate) struct ShownRef<'a> {
    ranking: &'a Ranking,
    width: usize,
    rows: &'a [f32],
    columns: &'a [Tag],
}

impl<'a> ShownRef<'a> {
    pub(crate) fn new(ranking: &'a Ranking, columns: &'a [Tag], rows: &'a [f32]) -> Self {
        Self { ranking, width: columns.len(), rows, columns }
    }
}

impl Shown {
    /// Reads the stored form.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, postcard::Error> {
        #[derive(Deserialize)]
        struct First {
            ranking: Ranking,
            width: usize,
            rows: Vec<f32>,
        }
        let (First { ranking, width, rows }, rest) = postcard::take_from_bytes(bytes)?;
        if rest.is_empty() {
            return Ok(Self { ranking, rows, columns: Columns::Unknown(width) });
        }
        let (columns, _) = postcard::take_from_bytes(rest)?; // an earlier version wrote more behind it
        Ok(Self { ranking, rows, columns: Columns::Known(columns) })
    }

    /// Its rows, a value for each of these columns: NaN for those that they did not have.
    pub(crate) fn rows_of(&mut self, columns: &[Tag]) -> Vec<f32> {
        let (width, wanted) = (columns.len(), self.ranking.items.len() * columns.len());
        let (former, same) = match &self.columns {
            Columns::Known(known) => (known.len(), known == columns),
            Columns::Unknown(known) => (*known, *known == width),
        };
        if same && self.rows.len() == wanted {
            return std::mem::take(&mut self.rows);
        }
        let known = match &self.columns {
            Columns::Known(known) => &known[..],
            Columns::Unknown(_) => &[],
        };
        let known: HashMap<_, _> = known.iter().enumerate().map(|(place, column)| (column, place)).collect();
        let places: Vec<_> = columns.iter().map(|column| known.get(column).copied()).collect();
        let mut rows = vec![f32::NAN; wanted];
        if width > 0 && former > 0 {
            for (row, kept) in rows.chunks_mut(width).zip(self.rows.chunks_exact(former)) {
                row.iter_mut()
                    .zip(&places)
                    .for_each(|(value, place)| *value = place.map_or(f32::NAN, |place| kept[place]));
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankwright_event::{RankedItem, Tenant, Timestamp};

    const OLD: [Tag; 2] = [[1; 4], [2; 4]];

    fn ranking() -> Ranking {
        let item = |id: &str| RankedItem { id: id.into(), fields: vec![], label: None, score: None };
        Ranking {
            id: "r".into(),
            timestamp: Timestamp::from_millis(1),
            tenant: Tenant::default(),
            user: None,
            session: None,
            fields: vec![],
            items: ["a", "b"].map(item).to_vec(),
        }
    }

    /// Rows that were stored with the columns [`OLD`], as those of others; bits, as NaN is not itself.
    fn seen_as(columns: &[Tag]) -> Vec<u32> {
        let ranking = ranking();
        let stored = postcard::to_stdvec(&ShownRef::new(&ranking, &OLD, &[1.0, 2.0, 3.0, 4.0])).expect("plain data");
        let mut shown = Shown::read(&stored).expect("whole");
        assert_eq!(shown.ranking, ranking);
        shown.rows_of(columns).into_iter().map(f32::to_bits).collect()
    }

    fn bits(rows: &[f32]) -> Vec<u32> {
        rows.iter().map(|value| value.to_bits()).collect()
    }

    #[test]
    fn rows_become_rows_of_other_columns() {
        let (one, two, new) = (OLD[0], OLD[1], [3; 4]);
        assert_eq!(seen_as(&[one, two]), bits(&[1.0, 2.0, 3.0, 4.0]));
        assert_eq!(seen_as(&[two, one]), bits(&[2.0, 1.0, 4.0, 3.0]));
        assert_eq!(seen_as(&[two, new, one]), bits(&[2.0, f32::NAN, 1.0, 4.0, f32::NAN, 3.0]));
        assert_eq!(seen_as(&[two]), bits(&[2.0, 4.0]));
        assert_eq!(seen_as(&[]), bits(&[]));
    }

    /// Column by column through all of the others, these would take minutes.
    #[test]
    fn rows_of_many_columns_become_rows_of_others_at_once() {
        let columns: Vec<Tag> = (0..400_000_u32).map(u32::to_le_bytes).collect();
        let (known, rows) = (columns[1..].to_vec(), vec![1.0; 2 * 399_999]);
        let mut shown = Shown { ranking: ranking(), rows, columns: Columns::Known(known) };
        let rows = shown.rows_of(&columns);
        assert_eq!(rows.iter().filter(|value| **value == 1.0).count(), 2 * 399_999);
        assert!(rows[0].is_nan() && rows[400_000].is_nan());
    }

    #[test]
    fn what_a_version_wrote_that_did_not_name_its_columns_is_kept_where_they_are_as_many() {
        let ranking = ranking();
        let stored = postcard::to_stdvec(&(&ranking, 2_usize, vec![1.0_f32, 2.0, 3.0, 4.0])).expect("plain data");
        let mut shown = Shown::read(&stored).expect("whole");
        assert_eq!(shown.rows_of(&[[7; 4], [8; 4]]), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(bits(&shown.rows_of(&[[7; 4]])), bits(&[f32::NAN; 2]));
    }

    #[test]
    fn what_is_cut_off_is_told() {
        let ranking = ranking();
        let whole = postcard::to_stdvec(&ShownRef::new(&ranking, &OLD, &[1.0, 2.0, 3.0, 4.0])).expect("plain data");
        let older = whole.len() - 9; // without its columns it is that of an older version
        for cut in (0..whole.len()).filter(|cut| *cut != older) {
            assert!(Shown::read(&whole[..cut]).is_err(), "{cut} of {}", whole.len());
        }
    }
}
