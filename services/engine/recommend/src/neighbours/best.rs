//! The best of many scores.

use std::cmp::Ordering;

/// Keeps the highest scores; of equal ones, the lower numbers.
pub(super) struct Best {
    count: usize,
    found: Vec<(usize, f32)>,
    /// The worst that was kept when the others were last thrown away.
    floor: Option<(usize, f32)>,
}

impl Best {
    pub(super) fn new(count: usize) -> Self {
        Self { count, found: Vec::with_capacity(count.saturating_mul(2).min(1 << 12)), floor: None }
    }

    /// Takes a number with its score if it may be among the best and is not to be skipped.
    #[inline(always)]
    pub(super) fn offer(&mut self, number: usize, score: f32, skip: impl Fn(usize) -> bool) {
        let low = self.floor.is_some_and(|floor| score < floor.1);
        if !low && !skip(number) {
            self.take(number, score);
        }
    }

    #[inline(never)]
    fn take(&mut self, number: usize, score: f32) {
        if self.count == 0 {
            return;
        }
        self.found.push((number, score));
        if self.found.len() >= self.count.saturating_mul(2) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        if self.found.len() > self.count {
            let (_, worst, _) = self.found.select_nth_unstable_by(self.count - 1, better);
            self.floor = Some(*worst);
            self.found.truncate(self.count);
        }
    }

    /// How many are wanted.
    pub(super) fn wanted(&self) -> usize {
        self.count
    }

    /// The best, best first.
    pub(super) fn sorted(mut self) -> Vec<(usize, f32)> {
        self.cut();
        self.found.sort_unstable_by(better);
        self.found
    }
}

/// The order of what is found, best first.
pub(super) fn better(a: &(usize, f32), b: &(usize, f32)) -> Ordering {
    b.1.total_cmp(&a.1).then(a.0.cmp(&b.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_are_kept_and_equal_scores_come_by_number() {
        let scores = [0.1, 0.5, 0.3, 0.5, 0.9, 0.5, 0.2];
        for count in 0..9 {
            let mut best = Best::new(count);
            scores
                .iter()
                .enumerate()
                .rev()
                .for_each(|(number, &score)| best.offer(number, score, |number| number == 3));
            let expected = [(4, 0.9), (1, 0.5), (5, 0.5), (2, 0.3), (6, 0.2), (0, 0.1)];
            assert_eq!(best.sorted(), expected[..count.min(6)], "{count}");
        }
    }
}
