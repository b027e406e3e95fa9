//! The terms of a ranking's texts, which features of one analysis share.

use super::{Analysis, texts};
use compact_str::CompactString;
use rankwright_state::FieldValue;
use rankwright_text::{Bag, Language};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// Which text, and how it was analysed.
type Key = (*const FieldValue, Language, Option<usize>);

/// The terms of the texts of one ranking that were asked for.
#[derive(Default)]
pub(crate) struct Bags(RefCell<HashMap<Key, Rc<Bag>>>);

impl Bags {
    /// The terms of a text, which lives as long as these; `None` where the value is none.
    pub(super) fn of(&self, value: &FieldValue, analysis: &Analysis) -> Option<Rc<Bag>> {
        let key = (std::ptr::from_ref(value), analysis.analyzer.language(), analysis.grams);
        if let Some(known) = self.0.borrow().get(&key) {
            return Some(known.clone());
        }
        #[cfg(test)]
        ANALYSED.with(|analysed| analysed.set(analysed.get() + 1));
        let bag = Rc::new(analysis.bag(texts(value)?.iter().map(CompactString::as_str)));
        self.0.borrow_mut().insert(key, bag.clone());
        Some(bag)
    }
}

#[cfg(test)]
thread_local! {
    /// How many texts were analysed.
    pub(super) static ANALYSED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}
