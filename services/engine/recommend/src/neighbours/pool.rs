//! Rows that may be among the best. The similarity of each is known up to an error.

/// Keeps every row that may be among the best: how many these are follows from the errors, not from a number set before.
pub(super) struct Pool {
    count: usize,
    found: Vec<Near>,
    /// As many rows as are wanted are at least so similar.
    floor: f32,
    /// Rows at which those below the floor are thrown away.
    full: usize,
}

/// A row, and between which numbers its similarity is.
struct Near {
    row: usize,
    least: f32,
    most: f32,
}

impl Pool {
    /// For the best `count`.
    pub(super) fn new(count: usize) -> Self {
        let floor = if count == 0 { f32::INFINITY } else { f32::NEG_INFINITY };
        Self { count, found: Vec::new(), floor, full: count.saturating_mul(2).saturating_add(16) }
    }

    /// Takes a row if it may be among the best and is not to be skipped.
    #[inline(always)]
    pub(super) fn offer(&mut self, row: usize, similarity: f32, error: f32, skip: impl Fn(usize) -> bool) {
        if similarity + error >= self.floor && !skip(row) {
            self.take(Near { row, least: similarity - error, most: similarity + error });
        }
    }

    #[inline(never)]
    fn take(&mut self, near: Near) {
        self.found.push(near);
        if self.found.len() >= self.full {
            self.cut();
            self.full = self.full.max(self.found.len().saturating_mul(2));
        }
    }

    fn cut(&mut self) {
        if self.found.len() > self.count && self.count > 0 {
            let (_, last, _) = self.found.select_nth_unstable_by(self.count - 1, |a, b| b.least.total_cmp(&a.least));
            self.floor = last.least;
            self.found.retain(|near| near.most >= self.floor);
        }
    }

    /// Whether there are as many as are wanted.
    pub(super) fn is_enough(&self) -> bool {
        self.found.len() >= self.count
    }

    /// The rows, in no order.
    pub(super) fn rows(mut self) -> impl Iterator<Item = usize> {
        self.cut();
        self.found.into_iter().map(|near| near.row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(count: usize, error: f32, skip: impl Fn(usize) -> bool) -> Vec<usize> {
        let mut pool = Pool::new(count);
        (0..1000).for_each(|row| pool.offer(row, (row * 7 % 1000) as f32 / 1000.0, error, &skip));
        assert_eq!(pool.is_enough(), count <= 1000);
        let mut rows: Vec<usize> = pool.rows().map(|row| row * 7 % 1000).collect();
        rows.sort_unstable();
        rows
    }

    #[test]
    fn rows_stay_while_their_errors_let_them_be_among_the_best() {
        assert_eq!(kept(3, 0.0, |_| false), [997, 998, 999]);
        // the third is at least 0.9946, and 992 at most 0.9944
        assert_eq!(kept(3, 0.0024, |_| false), (993..1000).collect::<Vec<_>>());
        assert_eq!(kept(3, 2.0, |_| false).len(), 1000);
        assert_eq!(kept(3, 0.0, |row| row * 7 % 1000 >= 500), [497, 498, 499]);
        assert_eq!((kept(0, 1.0, |_| false).len(), kept(2000, 0.0, |_| false).len()), (0, 1000));
    }
}
