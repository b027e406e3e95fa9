//! Lists of candidates as metrics read them: a label for each row, list after list.

/// Lists of candidates, borrowed: labels, and where each list ends.
///
/// The rows of a list stand in the order in which they were shown, so that a row's place is its position.
#[derive(Debug, Clone, Copy)]
pub struct Lists<'a> {
    /// Relevance of each row, never negative.
    pub labels: &'a [f32],
    /// Number of rows of each list, none of them 0.
    pub lengths: &'a [u32],
}

impl<'a> Lists<'a> {
    /// Number of rows.
    pub fn height(&self) -> usize {
        self.labels.len()
    }

    /// Position of each row within its list, from 0.
    pub fn positions(&self) -> Vec<i32> {
        self.lengths.iter().flat_map(|&length| 0..length as i32).collect()
    }

    /// Parts one value a row (such as a score) by list.
    pub fn split<'b, T>(&self, values: &'b [T]) -> impl Iterator<Item = &'b [T]> + use<'a, 'b, T> {
        let mut rest = values;
        self.lengths.iter().map(move |&length| {
            let (list, after) = rest.split_at(length as usize);
            rest = after;
            list
        })
    }
}
