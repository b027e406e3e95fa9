//! How often each visitor interacted with each item: a sparse matrix of counts, by rows and by columns.

use compact_str::CompactString;
use hashbrown::HashMap;

/// More visitors, items or interactions than a matrix holds: 2^32 - 1 of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many {0} for one matrix, at most {max} fit", max = u32::MAX)]
pub struct Full(pub(crate) &'static str);

/// Collects interactions in any order; eight bytes for each, and each id once.
#[derive(Default)]
pub struct MatrixBuilder {
    users: Names,
    items: Names,
    pairs: Vec<(u32, u32)>,
}

/// Visitors times items. Ids are sorted, so that the numbers of rows do not depend on the order of interactions.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// Ids of visitors, in the order of rows of [`by_user`](Self::by_user).
    pub users: Vec<CompactString>,
    /// Ids of items, in the order of rows of [`by_item`](Self::by_item).
    pub items: Vec<CompactString>,
    /// A row for each visitor, a column for each item.
    pub by_user: Sparse,
    /// The same numbers with a row for each item.
    pub by_item: Sparse,
}

/// A sparse matrix in compressed rows; columns of a row ascend.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Sparse {
    starts: Vec<u32>, // of rows in the other two, and their end
    columns: Vec<u32>,
    counts: Vec<f32>,
}

impl MatrixBuilder {
    /// Counts one interaction.
    ///
    /// # Errors
    /// When the matrix has no room.
    pub fn add(&mut self, user: &str, item: &str) -> Result<(), Full> {
        if self.pairs.len() >= u32::MAX as usize {
            return Err(Full("interactions"));
        }
        let user = self.users.number(user).ok_or(Full("visitors"))?;
        let item = self.items.number(item).ok_or(Full("items"))?;
        self.pairs.push((user, item));
        Ok(())
    }

    /// The matrix of all interactions so far.
    pub fn build(self) -> Matrix {
        let (users, user_of) = self.users.sorted();
        let (items, item_of) = self.items.sorted();
        let mut pairs = self.pairs;
        for (user, item) in &mut pairs {
            (*user, *item) = (user_of[*user as usize], item_of[*item as usize]);
        }
        pairs.sort_unstable();
        let by_user = Sparse::of_sorted(&pairs, users.len());
        drop(pairs);
        let by_item = by_user.transposed(items.len());
        Matrix { users, items, by_user, by_item }
    }
}

impl Sparse {
    /// Equal pairs become one number, their count.
    fn of_sorted(pairs: &[(u32, u32)], rows: usize) -> Self {
        let mut sparse = Self { starts: Vec::with_capacity(rows + 1), ..Self::default() };
        for equal in pairs.chunk_by(|a, b| a == b) {
            let (row, column) = equal[0];
            sparse.starts.resize(row as usize + 1, sparse.columns.len() as u32);
            sparse.columns.push(column);
            sparse.counts.push(equal.len() as f32);
        }
        sparse.starts.resize(rows + 1, sparse.columns.len() as u32);
        sparse
    }

    /// Columns become rows.
    fn transposed(&self, columns: usize) -> Self {
        let mut starts = vec![0_u32; columns + 1];
        for &column in &self.columns {
            starts[column as usize + 1] += 1;
        }
        for column in 0..columns {
            starts[column + 1] += starts[column];
        }
        let mut next = starts.clone();
        let mut turned = Self { starts, columns: vec![0; self.columns.len()], counts: vec![0.0; self.counts.len()] };
        for row in 0..self.rows() {
            let (columns, counts) = self.row(row);
            for (&column, &count) in columns.iter().zip(counts) {
                let place = &mut next[column as usize];
                turned.columns[*place as usize] = row as u32;
                turned.counts[*place as usize] = count;
                *place += 1;
            }
        }
        turned
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// How many numbers are not zero.
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// Whether all numbers are zero.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Columns of a row that are not zero, and their counts.
    ///
    /// # Panics
    /// When there is no such row.
    #[inline]
    pub fn row(&self, row: usize) -> (&[u32], &[f32]) {
        let range = self.starts[row] as usize..self.starts[row + 1] as usize;
        (&self.columns[range.clone()], &self.counts[range])
    }

    /// At most `count` columns of the numbers that come `ahead` behind the beginning of a row, in its own or later rows.
    #[inline]
    pub(crate) fn coming(&self, row: usize, ahead: usize, count: usize) -> &[u32] {
        let begin = (self.starts[row] as usize + ahead).min(self.columns.len());
        &self.columns[begin..(begin + count).min(self.columns.len())]
    }
}

/// Ids, numbered as they come.
#[derive(Default)]
pub(crate) struct Names {
    numbers: HashMap<CompactString, u32, foldhash::fast::RandomState>,
    names: Vec<CompactString>,
}

impl Names {
    /// The number of an id; `None` where there is no number left.
    pub(crate) fn number(&mut self, name: &str) -> Option<u32> {
        if let Some(&number) = self.numbers.get(name) {
            return Some(number);
        }
        let number = u32::try_from(self.names.len()).ok().filter(|&number| number < u32::MAX)?;
        self.numbers.insert(CompactString::new(name), number);
        self.names.push(CompactString::new(name));
        Some(number)
    }

    /// The id of a number.
    ///
    /// # Panics
    /// Where there is none.
    pub(crate) fn name(&self, number: u32) -> &str {
        &self.names[number as usize]
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    /// Sorted ids, and the place of each number among them.
    fn sorted(self) -> (Vec<CompactString>, Vec<u32>) {
        let mut names: Vec<(CompactString, u32)> = self.names.into_iter().zip(0..).collect();
        names.sort_unstable();
        let mut places = vec![0; names.len()];
        for (place, (_, number)) in names.iter().enumerate() {
            places[*number as usize] = place as u32;
        }
        (names.into_iter().map(|(name, _)| name).collect(), places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(pairs: &[(&str, &str)]) -> Matrix {
        let mut builder = MatrixBuilder::default();
        pairs.iter().for_each(|(user, item)| builder.add(user, item).expect("there is room"));
        builder.build()
    }

    #[test]
    fn interactions_are_counted_by_visitor_and_by_item() {
        let matrix = matrix(&[("v", "b"), ("u", "c"), ("u", "a"), ("v", "b"), ("v", "a")]);
        assert_eq!(
            (&matrix.users[..], &matrix.items[..]),
            (&["u".into(), "v".into()][..], &["a".into(), "b".into(), "c".into()][..])
        );
        assert_eq!(
            [0, 1].map(|user| matrix.by_user.row(user)),
            [(&[0, 2][..], &[1.0, 1.0][..]), (&[0, 1], &[1.0, 2.0])]
        );
        let by_item = [(&[0, 1][..], &[1.0, 1.0][..]), (&[1], &[2.0]), (&[0], &[1.0])];
        assert_eq!([0, 1, 2].map(|item| matrix.by_item.row(item)), by_item);
        assert_eq!((matrix.by_user.len(), matrix.by_item.rows()), (4, 3));
    }

    #[test]
    fn the_order_of_interactions_changes_nothing() {
        let mut pairs = [("v", "b"), ("u", "c"), ("u", "a"), ("v", "b"), ("w", "a")];
        let expected = matrix(&pairs);
        for _ in 0..pairs.len() {
            pairs.rotate_left(1);
            assert_eq!(matrix(&pairs), expected);
        }
    }

    #[test]
    fn a_matrix_of_nothing_has_no_rows() {
        let empty = matrix(&[]);
        assert_eq!((empty.by_user.rows(), empty.by_item.rows(), empty.by_item.is_empty()), (0, 0, true));
    }
}
