//! Whatever a text is made of, its analysis ends well and is the same each time.
#![allow(clippy::expect_used, missing_docs)]

use proptest::prelude::*;
use rankwright_text::{Analyzer, Language};

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
