//! What readers ask of a configuration, noted while they read: the schema is made of it, so that it cannot differ from them.
//!
//! While a trace is kept there is no text. Readers find every key, and values that are whatever they ask for. One reading
//! takes one way where the rest depends on it: on the word under `type`, or on whether a key is there. [`read_all`] reads
//! until every way was taken once.

mod seen;

pub(crate) use seen::{Asked, Key, Seen};

use crate::report::Report;
use crate::tree::{Data, Node, Place};
use crate::value::Value;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// Stands for every value.
pub(crate) static ANYTHING: Node =
    Node { place: Place { line: 1, column: 1 }, data: Data::Scalar { text: String::new(), plain: true } };

/// The key of values whose own keys the author chooses.
pub(crate) const ANY_NAME: &str = "*";

/// The text of a scalar, where a reader looks at it before it knows what it wants.
const SOME_TEXTS: [&str; 2] = ["probe", "item.probe"];

/// One reading: the ways that it is to take, and what it has met.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    ways: Ways,
    /// Forks that were met, with the number of ways from there.
    forks: RefCell<BTreeMap<String, usize>>,
    seen: RefCell<BTreeMap<String, Seen>>,
}

/// Which way to take at a fork; the first one where nothing is said.
type Ways = BTreeMap<String, usize>;

/// Reads until every way was taken, and hands over what each reading has seen, by path.
pub(crate) fn read_all(read: impl Fn(&Value<'_>), mut take: impl FnMut(BTreeMap<String, Seen>)) {
    let (mut known, mut waiting) = (BTreeSet::new(), vec![Ways::new()]);
    while let Some(ways) = waiting.pop() {
        let report = Report::tracing(Trace { ways, ..Trace::default() });
        read(&Value::root(&ANYTHING, &report));
        let Some(Trace { ways, forks, seen }) = report.into_trace() else { return };
        for (fork, count) in forks.into_inner() {
            let new = (1..count).filter(|way| known.insert((fork.clone(), *way))).collect::<Vec<_>>();
            waiting.extend(new.into_iter().map(|way| {
                let mut ways = ways.clone();
                ways.insert(fork.clone(), way);
                ways
            }));
        }
        take(seen.into_inner());
    }
}

impl Trace {
    /// Notes that a reader asks for this at a path.
    pub(crate) fn asks(&self, path: &str, asked: Asked) {
        self.at(path, |seen| _ = seen.asked.insert(asked));
    }

    /// Notes a key of a section.
    pub(crate) fn knows(&self, path: &str, key: &'static str) {
        self.at(path, |seen| _ = seen.key(key));
    }

    /// Whether a key is there; a reader that looks does without it as well.
    pub(crate) fn has(&self, path: &str, key: &'static str) -> bool {
        let there = self.way(&format!("{path}.{key} is there"), 2) == 0;
        self.at(path, |seen| seen.key(key).absent |= !there);
        there
    }

    /// Notes that a key must be there.
    pub(crate) fn requires(&self, path: &str, key: &'static str) {
        self.at(path, |seen| seen.key(key).required = true);
    }

    /// Notes that a key does nothing, and why.
    pub(crate) fn ignores(&self, path: &str, key: &'static str, reason: &str) {
        self.at(path, |seen| seen.key(key).ignored = Some(reason.to_owned()));
    }

    /// Notes that several keys are one; the first one stands for all.
    pub(crate) fn equates(&self, path: &str, keys: &[&'static str]) {
        if let Some((first, others)) = keys.split_first() {
            self.at(path, |seen| seen.key(first).aliases = others.to_vec());
        }
    }

    /// Notes that a section may hold keys that begin with `x-`.
    pub(crate) fn leaves_free(&self, path: &str) {
        self.at(path, |seen| seen.free = true);
    }

    /// One of these words. Under `type` each of them is a way of its own.
    pub(crate) fn word<'w>(&self, path: &str, words: &[&'w str]) -> Option<&'w str> {
        self.asks(path, Asked::Words(words.iter().map(|&word| word.to_owned()).collect()));
        let Some(section) = path.strip_suffix(".type") else { return words.first().copied() };
        let word = words.get(self.way(path, words.len())).copied()?;
        self.at(section, |seen| seen.kind = Some(word.to_owned()));
        Some(word)
    }

    /// Whether a value is this, where it may be something else as well.
    pub(crate) fn is(&self, path: &str, asked: Asked) -> bool {
        let is = self.way(&format!("{path} is {asked:?}"), 2) == 1;
        if is {
            self.asks(path, asked);
        }
        is
    }

    /// The text of a scalar, or nothing of what is none.
    pub(crate) fn scalar(&self, path: &str) -> Option<&'static str> {
        let text = self.way(&format!("{path} is a scalar"), 1 + SOME_TEXTS.len()).checked_sub(1)?;
        self.asks(path, Asked::Scalar);
        SOME_TEXTS.get(text).copied()
    }

    /// Whether a section of this name is not inside of one of the same name; such a one is not read again.
    pub(crate) fn enters(&self, path: &str, name: &'static str) -> bool {
        let inside = self.seen.borrow().iter().any(|(outer, seen)| seen.name == Some(name) && is_within(path, outer));
        if inside {
            self.asks(path, Asked::Again(name));
        } else {
            self.at(path, |seen| seen.name = Some(name));
        }
        !inside
    }

    /// The way to take at a fork. The same place under another `type` is another fork.
    fn way(&self, place: &str, count: usize) -> usize {
        let kinds: String = {
            let seen = self.seen.borrow();
            let kinds = seen.iter().filter(|(outer, seen)| seen.kind.is_some() && is_within(place, outer));
            kinds.filter_map(|(outer, seen)| Some(format!(" {outer}={}", seen.kind.as_ref()?))).collect()
        };
        let fork = format!("{place}{kinds}");
        let way = self.ways.get(&fork).copied().unwrap_or(0);
        self.forks.borrow_mut().insert(fork, count);
        way
    }

    fn at(&self, path: &str, note: impl FnOnce(&mut Seen)) {
        note(self.seen.borrow_mut().entry(path.to_owned()).or_default());
    }
}

/// Whether a path is below another one.
fn is_within(path: &str, outer: &str) -> bool {
    outer.is_empty() || path.strip_prefix(outer).is_some_and(|rest| rest.starts_with(['.', '[']))
}
