//! Artifacts come back as they were; bytes that were cut or changed are refused and break nothing.
#![allow(clippy::expect_used, missing_docs)]

use proptest::prelude::*;
use rankwright_recommend::{Build, DecodeError, Similar, Trending, Vectors, Weight};
use std::sync::LazyLock;

/// A small model with an index, one without, and one of nothing.
static SIMILAR: LazyLock<[Similar; 3]> = LazyLock::new(|| {
    let of = |count: usize, exact: usize| {
        let mut random = fastrand::Rng::with_seed(2);
        let mut vectors = Vectors::new(5);
        (0..count).for_each(|_| vectors.push(&[0; 5].map(|_| random.f32() - 0.5)));
        let ids = (0..count).map(|item| format!("item-{item}").into()).collect();
        Similar::from_vectors(ids, vectors, &Build { exact, ..Build::default() }).expect("is valid")
    };
    [of(60, 10), of(20, 100), of(0, 100)]
});

/// A header; ids, width, vectors, whether there is an index; its centroids, the list of each vector, probes and recall.
const SIMILAR_OF_FORMAT_1: &str = "
    52414e4b5753494d 01000000 4800000000000000 0035fa75
    0305626f6f7473056d697865720573686f6573
    02
    060000803f0000000000000000000080bfcdcc4c3f9a99193f
    01
    040000803f0000000000000000000080bf
    03000100
    02
    0000403f
";

/// A header; items with their scores, and how many were seen.
const TRENDING_OF_FORMAT_1: &str = "
    52414e4b57545244 01000000 1600000000000000 1574bb43
    0205626f6f7473000020400573686f65730000803f
    03
";

fn trending() -> Trending {
    let items: Vec<String> = (0..30).map(|item| format!("item-{item}")).collect();
    let weights = [Weight { decay: 0.9, ..Weight::default() }];
    Trending::fit(
        items.iter().enumerate().map(|(age, item)| (item.as_str(), 0, age as u64 * 50_000_000)),
        &weights,
        1 << 31,
    )
}

#[test]
fn artifacts_come_back_as_they_were() {
    for similar in &*SIMILAR {
        assert_eq!(Similar::from_bytes(&similar.to_bytes()).as_ref(), Ok(similar));
    }
    assert!(SIMILAR[0].neighbours().approximate().is_some());
    assert_eq!(Trending::from_bytes(&trending().to_bytes()), Ok(trending()));
}

#[test]
fn an_artifact_of_another_kind_is_refused() {
    assert_eq!(Trending::from_bytes(&SIMILAR[0].to_bytes()), Err(DecodeError::Other("RANKWTRD")));
    assert_eq!(Similar::from_bytes(&trending().to_bytes()), Err(DecodeError::Other("RANKWSIM")));
}

/// Bytes that are written as two digits each, with spaces between parts.
fn bytes(digits: &str) -> Vec<u8> {
    let digits: Vec<char> = digits.chars().filter(|digit| !digit.is_whitespace()).collect();
    let byte = |two: &[char]| u8::from_str_radix(&two.iter().collect::<String>(), 16).expect("are two digits");
    digits.chunks(2).map(byte).collect()
}

#[test]
fn versions_of_today_are_read_by_every_later_program() {
    let golden = bytes(SIMILAR_OF_FORMAT_1);
    let similar = Similar::from_bytes(&golden).expect("is of a known format");
    assert!(similar.ids().eq(["boots", "mixer", "shoes"]));
    let index = similar.neighbours().approximate().expect("has an index");
    assert_eq!((index.centroids().len(), index.probes(), index.recall()), (2, 2, 0.75));
    assert_eq!(similar.recommend(&["boots"], |_| false, 2).items, [("shoes", 0.8), ("mixer", 0.0)]);
    assert_eq!(similar.to_bytes(), golden, "versions of this content have other bytes: do earlier programs read them?");
    let golden = bytes(TRENDING_OF_FORMAT_1);
    let trending = Trending::from_bytes(&golden).expect("is of a known format");
    assert_eq!((trending.top(9, |_| false), trending.seen()), (vec![("boots", 2.5), ("shoes", 1.0)], 3));
    assert_eq!(trending.to_bytes(), golden);
}

/// Gives bytes the length and checksum of what they are now, as an attacker would.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    if let Some((header, content)) = bytes.split_first_chunk_mut::<24>() {
        header[12..20].copy_from_slice(&(content.len() as u64).to_le_bytes());
        header[20..].copy_from_slice(&crc32fast::hash(content).to_le_bytes());
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_cut_or_changed_artifact_is_refused(which in 0..4_usize, place in any::<prop::sample::Index>(), bit in 0..9_u32) {
        let mut bytes = if which < 3 { SIMILAR[which].to_bytes() } else { trending().to_bytes() };
        let place = place.index(bytes.len());
        match bit {
            8 => bytes.truncate(place),
            bit => bytes[place] ^= 1 << bit,
        }
        let error = if which < 3 { Similar::from_bytes(&bytes).err() } else { Trending::from_bytes(&bytes).err() };
        prop_assert!(error.is_some_and(|error| !error.to_string().is_empty()));
    }

    #[test]
    fn content_made_up_under_a_right_checksum_breaks_nothing(which in 0..4_usize, places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4), cut in prop::option::of(any::<prop::sample::Index>())) {
        let mut bytes = if which < 3 { SIMILAR[which].to_bytes() } else { trending().to_bytes() };
        for (place, byte) in places {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let bytes = sealed(bytes);
        if let Ok(similar) = Similar::from_bytes(&bytes) {
            let ids: Vec<&str> = similar.ids().collect();
            for id in &ids {
                let answer = similar.recommend(&[id], |_| false, 100);
                prop_assert!(answer.items.iter().all(|(item, score)| item != id && score.is_finite()));
            }
        }
        if let Ok(trending) = Trending::from_bytes(&bytes) {
            prop_assert!(trending.top(50, |_| false).len() <= trending.len());
        }
    }
}
