//! Texts of similar length, computed together.

use super::Encoded;

/// Memory that a batch needs grows with this.
const MOST_TOKENS: usize = 2048;

/// Rows of one width, as a graph takes them.
pub(crate) struct Batch {
    /// The place of each row among the texts that were split.
    pub(crate) places: Vec<usize>,
    pub(crate) width: usize,
    pub(crate) ids: Vec<i64>,   // rows x width
    pub(crate) mask: Vec<i64>,  // 1 for a token, 0 behind the last
    pub(crate) types: Vec<i64>, // 1 for the second text of a pair
}

/// Splits texts into batches of about `size` rows, each of similar lengths and the longest first. Their number gives all
/// `threads` the same work.
pub(crate) fn split(texts: &[Encoded], size: usize, threads: usize, pad: u32) -> Vec<Batch> {
    let mut order: Vec<usize> = (0..texts.len()).collect();
    order.sort_by_key(|&place| usize::MAX - texts[place].ids.len());
    let fair = texts.len().div_ceil(size.max(1)).next_multiple_of(threads.max(1));
    let mut left = order.as_slice();
    let mut batches = Vec::with_capacity(fair);
    while let Some(&longest) = left.first() {
        let remaining = fair.saturating_sub(batches.len()).max(1);
        let width = texts[longest].ids.len();
        let rows = left.len().div_ceil(remaining).min(size).min(MOST_TOKENS / width).max(1);
        let (places, rest) = left.split_at(rows);
        batches.push(Batch::of(texts, places, width, pad));
        left = rest;
    }
    batches
}

impl Batch {
    fn of(texts: &[Encoded], places: &[usize], width: usize, pad: u32) -> Self {
        let cells = places.len() * width;
        let mut batch = Self {
            places: places.to_vec(),
            width,
            ids: Vec::with_capacity(cells),
            mask: Vec::with_capacity(cells),
            types: Vec::with_capacity(cells),
        };
        for &place in places {
            let Encoded { ids, types } = &texts[place];
            let empty = width - ids.len();
            batch.ids.extend(ids.iter().copied().map(i64::from).chain(std::iter::repeat_n(i64::from(pad), empty)));
            batch.mask.extend(std::iter::repeat_n(1, ids.len()).chain(std::iter::repeat_n(0, empty)));
            batch.types.extend(types.iter().copied().map(i64::from).chain(std::iter::repeat_n(0, empty)));
        }
        batch
    }

    pub(crate) fn rows(&self) -> usize {
        self.places.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(tokens: usize) -> Encoded {
        Encoded { ids: vec![7; tokens], types: vec![0; tokens] }
    }

    fn rows(lengths: impl IntoIterator<Item = usize>, size: usize, threads: usize) -> Vec<usize> {
        split(&lengths.into_iter().map(text).collect::<Vec<_>>(), size, threads, 0).iter().map(Batch::rows).collect()
    }

    #[test]
    fn threads_have_equally_much_to_do() {
        assert_eq!(rows([5; 10], 8, 2), [5, 5]);
        assert_eq!(rows([5; 100], 8, 2), [8, 8, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7]);
        assert_eq!(rows([5; 3], 8, 4), [1, 1, 1]);
        assert_eq!(rows([], 8, 2), [0; 0]);
    }

    #[test]
    fn long_texts_are_computed_few_at_a_time() {
        assert_eq!(rows([512; 8], 8, 1), [4, 4]);
        assert_eq!(rows([9000; 2], 8, 1), [1, 1]);
    }

    #[test]
    fn shorter_texts_are_filled_up_behind_their_end() {
        let batch = &split(&[text(1), text(3)], 8, 1, 9)[0];
        assert_eq!((&batch.places[..], batch.width), (&[1, 0][..], 3));
        assert_eq!(batch.ids, [7, 7, 7, 7, 9, 9]);
        assert_eq!(batch.mask, [1, 1, 1, 1, 0, 0]);
    }

    proptest! {
        #[test]
        fn each_text_is_in_one_batch(
            lengths in proptest::collection::vec(1usize..600, 0..200), size in 1usize..20, threads in 1usize..9,
        ) {
            let texts: Vec<Encoded> = lengths.iter().map(|&tokens| text(tokens)).collect();
            let batches = split(&texts, size, threads, 0);
            let mut places: Vec<usize> = batches.iter().flat_map(|batch| batch.places.iter().copied()).collect();
            places.sort_unstable();
            prop_assert_eq!(places, (0..texts.len()).collect::<Vec<_>>());
            for batch in &batches {
                prop_assert!(batch.rows() <= size && batch.ids.len() == batch.rows() * batch.width);
            }
        }
    }
}
