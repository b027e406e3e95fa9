//! How the values of columns are spread over the rows that a model learns from.

use crate::examples::Examples;
use rankwright_model::{Column, Spread};
use std::collections::BTreeMap;
use std::io;

/// Rows that are looked at, evenly over all of them.
const ROWS: usize = 10_000;
/// Values that are looked at: of wide rows, fewer rows.
const VALUES: usize = 4 << 20;
/// Columns that a version records.
const COLUMNS: usize = 256;

/// Spreads by column; of many columns, of those with most gain.
pub(crate) fn of(examples: Examples<'_>, columns: &[Column], gains: &[f64]) -> io::Result<BTreeMap<String, Spread>> {
    let mut told: Vec<usize> = (0..columns.len()).collect();
    let gain = |column: usize| gains.get(column).copied().unwrap_or(0.0);
    told.sort_by(|left, right| gain(*right).total_cmp(&gain(*left))); // stable: of equals the earlier one
    told.truncate(COLUMNS);
    let mut values = vec![Vec::new(); told.len()];
    examples.pick(&evenly(examples.height(), examples.width()), |row| {
        told.iter().zip(&mut values).for_each(|(column, values)| values.push(row[*column]));
    })?;
    let spread = |(column, values): (usize, Vec<f32>)| {
        let Column { name, categorical, .. } = &columns[column];
        (name.clone(), Spread::of(values, *categorical))
    };
    Ok(told.into_iter().zip(values).map(spread).collect())
}

/// Numbers of rows: one of each stretch, at a place that changes from one to the next. The rows of a list follow each other, and
/// equal steps would find the same place of each list.
fn evenly(height: usize, width: usize) -> Vec<i32> {
    let count = ROWS.min(VALUES / width.max(1)).clamp(1, height.max(1));
    let stretch = height / count;
    let row = |place: usize| {
        let mixed = (place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33; // Fibonacci hashing (Knuth, volume 3, 6.4)
        place * height / count + mixed as usize % stretch
    };
    (0..count.min(height)).map(|place| row(place) as i32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lists::Lists;
    use crate::rows::Rows;
    use crate::testing::{column, random_lists};

    #[test]
    fn each_column_has_its_values() {
        let data = random_lists(7, 40);
        let named: Vec<Column> = ["a", "b", "c", "d", "e", "f"].map(column).into();
        let spreads = of(data.examples(), &named, &[0.0, 3.0, 1.0, 0.0, 0.0, 0.0]).expect("rows in memory");
        assert_eq!(spreads.len(), 6);
        let rows = data.examples().values().expect("rows in memory");
        for (place, column) in named.iter().enumerate() {
            let values = rows.iter().skip(place).step_by(6).copied().collect();
            assert_eq!(spreads[&column.name], Spread::of(values, column.categorical), "{}", column.name);
        }
    }

    #[test]
    fn of_too_many_columns_those_with_most_gain_are_told() {
        let width = COLUMNS + 2;
        let rows = Rows::in_memory(width, vec![1.0; width]);
        let lists = Lists { labels: &[1.0], lengths: &[1] };
        let columns: Vec<Column> = (0..width).map(|place| column(&format!("c{place}"))).collect();
        let gains: Vec<f64> = (0..width).map(|place| f64::from(u8::from(place + 2 > COLUMNS))).collect();
        let spreads = of(Examples::new(lists, &rows, &[0]), &columns, &gains).expect("rows in memory");
        assert_eq!(spreads.len(), COLUMNS);
        let told = |place: usize| spreads.contains_key(&format!("c{place}"));
        assert!(told(width - 1) && told(0) && !told(COLUMNS - 3), "{:?}", spreads.keys());
    }

    #[test]
    fn rows_are_looked_at_evenly_and_no_more_than_there_is_room_for() {
        assert_eq!(evenly(3, 6), [0, 1, 2]);
        assert!(evenly(0, 6).is_empty());
        let some = evenly(1_000_000, 6);
        assert_eq!(some.len(), ROWS);
        assert!(some.iter().zip(0..).all(|(row, stretch)| row / 100 == stretch), "one of each hundred");
        let mut places = [0; 10];
        some.iter().for_each(|row| places[(row % 10) as usize] += 1);
        assert!(places.iter().all(|count| (900..1100).contains(count)), "of lists of ten, each place: {places:?}");
        assert_eq!(evenly(1_000_000, 1 << 20).len(), 4);
    }
}
