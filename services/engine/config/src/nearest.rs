//! The known word that is nearest to an unknown one.

/// The candidate that `word` most probably stands for, if any is near.
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = plain(word);
    let bound = (word.len() / 3).max(1);
    within(&word, bound, candidates)
}

/// The candidate that `word` stands for almost certainly, if any does: one letter away, and so to be read in its place.
pub(crate) fn close<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    within(&plain(word), 1, candidates)
}

/// The only candidate that is one letter away from `word`, or two from one of eight letters and more.
pub(crate) fn surely<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = plain(word);
    let bound = (word.len() / 4).clamp(1, 2);
    let mut near = candidates.into_iter().filter(|candidate| distance(&word, &plain(candidate), bound) <= bound);
    near.next().filter(|_| near.next().is_none())
}

fn within<'a>(word: &[char], bound: usize, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let scored = candidates.into_iter().map(|candidate| (distance(word, &plain(candidate), bound), candidate));
    // the first of equally near ones, so that the hint does not depend on chance
    let (best, candidate) = scored.min_by_key(|&(distance, _)| distance)?;
    (best <= bound).then_some(candidate)
}

/// Letters and digits in lower case: `bucketSize`, `bucket-size` and `bucket_size` are one word.
fn plain(word: &str) -> Vec<char> {
    word.chars().take(100).filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment); over `bound` it stops.
fn distance(a: &[char], b: &[char], bound: usize) -> usize {
    if a.len().abs_diff(b.len()) > bound {
        return usize::MAX;
    }
    let (mut before, mut above) = (vec![0; b.len() + 1], (0..=b.len()).collect::<Vec<_>>());
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        if row.iter().all(|&cost| cost > bound) {
            return usize::MAX; // no row below holds less than the least of this one
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::{nearest, surely};

    const KEYS: [&str; 4] = ["bucket_size", "windows", "interaction", "ttl"];

    #[test]
    fn a_slip_of_the_fingers_finds_the_word_that_was_meant() {
        for (slip, meant) in [
            ("bucket_sze", "bucket_size"),
            ("bucketSize", "bucket_size"),
            ("widnows", "windows"),
            ("Interactions", "interaction"),
            ("tll", "ttl"),
        ] {
            assert_eq!(nearest(slip, KEYS), Some(meant), "{slip}");
        }
    }

    #[test]
    fn a_word_of_its_own_finds_nothing() {
        for word in ["color", "", "x", "window_of_opportunity"] {
            assert_eq!(nearest(word, KEYS), None, "{word}");
        }
        assert_eq!(nearest("ttl", []), None);
    }

    #[test]
    fn a_word_that_may_be_two_others_is_surely_neither() {
        assert_eq!(surely("tll", KEYS), Some("ttl"));
        assert_eq!(surely("intreacton", KEYS), Some("interaction"));
        assert_eq!(surely("node", ["mode", "nodes"]), None);
        assert_eq!(surely("tl", ["color", "xyz"]), None);
    }
}
