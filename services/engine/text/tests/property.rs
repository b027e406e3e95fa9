//! Whatever a text or a stored bag is made of, reading it ends well and is the same each time.
#![allow(clippy::expect_used, missing_docs)]

use proptest::prelude::*;
use rankwright_text::{Analyzer, Bag, BagRef, Language};

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_breaks_an_analyzer(text in "\\PC{0,80}|[a-zıİşéßςא-ת一-鿿ぁ-ヿ '’\u{0}-\u{1f}]{0,80}") {
        for language in Language::all() {
            let analyzer = Analyzer::new(language);
            let terms = analyzer.terms(&text);
            prop_assert!(terms.iter().all(|term| !term.is_empty()), "{language}: {terms:?}");
            prop_assert_eq!(analyzer.terms(&text), terms);
        }
    }
}

fn bag(text: &str) -> Bag {
    Bag::of(&Analyzer::new(Language::Generic), [text])
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_stored_bag_is_the_bag(one in "[a-c]{0,2}( [a-z]{1,2}){0,60}", other in "[a-c]{0,2}( [a-z]{1,2}){0,9}") {
        let (one, other) = (bag(&one), bag(&other));
        let bytes = one.to_bytes();
        prop_assert_eq!(Bag::from_bytes(&bytes), Some(one.clone()));
        let stored = BagRef::new(&bytes).expect("is a bag");
        prop_assert_eq!((stored.len(), stored.total(), stored.is_empty()), (one.len(), one.total(), one.is_empty()));
        prop_assert!(stored.iter().eq(one.iter()));
        prop_assert_eq!(stored.similarity(&other), one.similarity(&other));
        prop_assert_eq!(other.similarity(&one), one.similarity(&other));
    }

    #[test]
    fn similarity_is_what_sets_say(one in "[a-c]( [a-f]){0,9}", other in "[a-c]( [a-f]){0,9}") {
        let terms = |text: &str| text.split(' ').map(str::to_owned).collect::<std::collections::HashSet<_>>();
        let (left, right) = (terms(&one), terms(&other));
        let expected = left.intersection(&right).count() as f64 / left.union(&right).count() as f64;
        prop_assert_eq!(bag(&one).similarity(&bag(&other)), expected);
    }

    #[test]
    fn bytes_that_are_read_as_a_bag_are_how_it_is_stored(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        if let Some(bag) = Bag::from_bytes(&bytes) {
            prop_assert!(bag.len() <= bytes.len());
            prop_assert_eq!(bag.to_bytes(), bytes);
        }
    }

    #[test]
    fn a_stored_bag_with_a_damage_is_refused_or_another(text in "[a-c]( [a-f]){0,9}", place in 0_usize..60, byte in any::<u8>()) {
        let mut bytes = bag(&text).to_bytes();
        let place = place % bytes.len();
        bytes[place] = byte;
        if let Some(bag) = Bag::from_bytes(&bytes) {
            prop_assert_eq!(bag.to_bytes(), bytes);
        }
    }
}
