//! A mapping with known keys. Reading a key makes it known; at the end, whatever was not read is a mistake.
//!
//! Keys that are missing are held back until then: a misspelt one explains a missing one, and is reported alone. One that
//! can stand for a single absent key only is taken for it when the text is read once more, so that what hangs on it is
//! looked at in the same run.
//!
//! Keys of the upstream service that mean nothing here are named by [`Section::ignored`]: each is one warning.

use crate::error::{Mistake, shown};
use crate::left_out::{LeftOut, Written};
use crate::nearest::{nearest, surely};
use crate::report::Report;
use crate::trace::{ANYTHING, Asked};
use crate::tree::{Data, Entry, Place};
use crate::value::Value;
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// A mapping that is being read.
#[derive(Debug)]
pub(crate) struct Section<'a> {
    pub(crate) path: String,
    pub(crate) report: &'a Report,
    place: Place,
    entries: Vec<Given<'a>>,
    known: RefCell<Vec<&'static str>>,
    /// Keys that do nothing, which no message offers.
    idle: RefCell<Vec<&'static str>>,
    missing: RefCell<Vec<(&'static str, String)>>,
    /// Whether all keys that belong here are known.
    read: bool,
}

/// An entry, and the key that its own stands for where that is misspelt.
#[derive(Debug, Clone, Copy)]
struct Given<'a> {
    entry: &'a Entry,
    meant: Option<&'static str>,
}

impl<'a> Given<'a> {
    /// What it is read as.
    fn key(&self) -> &'a str {
        self.meant.unwrap_or(&self.entry.key)
    }
}

impl<'a> Section<'a> {
    /// The mapping that `value` is. A key that comes twice is reported, and its first value taken.
    pub(crate) fn of(value: &Value<'a>) -> Option<Self> {
        let (path, report, place) = (value.path.clone(), value.report, value.place());
        let (known, idle, missing) = Default::default();
        if let Some(trace) = report.trace() {
            trace.asks(&path, Asked::Section);
            return Some(Self { path, report, place, entries: Vec::new(), known, idle, missing, read: true });
        }
        let Data::Map(entries) = &value.node.data else { return value.no_mapping() };
        let mut section = Self { path, report, place, entries: Vec::new(), known, idle, missing, read: false };
        let mut seen: HashMap<&str, Place> = HashMap::new();
        for entry in entries {
            match seen.get(entry.key.as_str()) {
                Some(first) => section.given_twice(entry, *first),
                None => {
                    seen.insert(&entry.key, entry.place);
                    let meant = section.report.meant(&section.path_of(&entry.key));
                    section.entries.push(Given { entry, meant });
                }
            }
        }
        Some(section)
    }

    /// The value of a key, unless it is absent or nothing.
    pub(crate) fn get(&self, key: &'static str) -> Option<Value<'a>> {
        match self.report.trace() {
            Some(trace) if !trace.has(&self.path, key) => None,
            _ => self.given(key),
        }
    }

    /// The same, where nothing else depends on whether it is there.
    fn given(&self, key: &'static str) -> Option<Value<'a>> {
        if let Some(trace) = self.report.trace() {
            trace.knows(&self.path, key);
            return Some(Value { node: &ANYTHING, path: self.path_of(key), report: self.report });
        }
        if !self.known.borrow().contains(&key) {
            self.known.borrow_mut().push(key);
        }
        let given = self.entries.iter().find(|given| given.key() == key)?;
        Some(self.value(given.entry)).filter(|value| !value.is_nothing())
    }

    /// The value of a key that has two names.
    pub(crate) fn either(&self, key: &'static str, alias: &'static str) -> Option<Value<'a>> {
        self.any_of(&[key, alias])
    }

    /// The values of two keys. One alone is the whole setting; together each has a part of it.
    pub(crate) fn one_or_both(&self, key: &'static str, other: &'static str) -> (Option<Value<'a>>, Option<Value<'a>>) {
        if self.report.trace().is_some() {
            return (self.either(key, other), None);
        }
        (self.get(key), self.get(other))
    }

    /// The value of a key that has several names.
    pub(crate) fn any_of(&self, names: &[&'static str]) -> Option<Value<'a>> {
        if let (Some(trace), Some(first)) = (self.report.trace(), names.first()) {
            trace.equates(&self.path, names);
            return self.get(first);
        }
        let mut given = names.iter().filter_map(|name| Some((name, self.get(name)?)));
        let (key, first) = given.next()?;
        for (alias, second) in given {
            second.wrong(format!("`{key}` and `{alias}` are the same setting, given twice"), "one of them");
        }
        Some(first)
    }

    /// Takes note of keys that the upstream service knows and that do nothing here, each with the reason in a few words.
    /// Whatever stands under one is ignored, with a warning.
    pub(crate) fn ignored(&self, keys: &[(&'static str, &str)]) {
        for (key, reason) in keys {
            if let Some(trace) = self.report.trace() {
                trace.ignores(&self.path, key, reason);
            }
            self.idle.borrow_mut().push(key);
            if let Some(given) = self.entries.iter().find(|given| given.key() == *key) {
                self.value(given.entry).warn(format!("{key} is ignored: {reason}"));
            }
        }
    }

    /// The value of a key, `default` where it is absent (or wrong, which `read` has reported).
    pub(crate) fn or<T: Written>(&self, key: &'static str, default: T, read: impl FnOnce(Value<'a>) -> Option<T>) -> T {
        let given = self.given(key);
        if given.is_none() {
            self.leaves_out(key, &default);
        }
        given.and_then(read).unwrap_or(default)
    }

    /// The same of a key that has two names.
    pub(crate) fn either_or<T: Written>(
        &self,
        key: &'static str,
        alias: &'static str,
        default: T,
        read: impl FnOnce(Value<'a>) -> Option<T>,
    ) -> T {
        let given = self.either(key, alias);
        if given.is_none() {
            self.leaves_out(key, &default);
        }
        given.and_then(read).unwrap_or(default)
    }

    /// Notes that a key is left out, and this stands in its place.
    pub(crate) fn leaves_out(&self, key: &'static str, default: &impl Written) {
        self.report.leaves_out(&self.path, key, || LeftOut::Value(default.written()));
    }

    /// The value of a key that must be there; `what` says what belongs there.
    pub(crate) fn required(&self, key: &'static str, what: &str) -> Option<Value<'a>> {
        if let Some(trace) = self.report.trace() {
            trace.requires(&self.path, key);
        }
        self.given(key).or_else(|| self.missing(key, what))
    }

    /// Those keys that are not set: an unknown word is most likely meant as one of these.
    fn absent<'k>(&self, keys: &'k [&'static str]) -> impl Iterator<Item = &'static str> + use<'k, '_, 'a> {
        keys.iter().copied().filter(|key| self.entries.iter().all(|given| given.key() != *key))
    }

    /// Notes that `key` is missing.
    pub(crate) fn missing<T>(&self, key: &'static str, what: &str) -> Option<T> {
        if let Some(trace) = self.report.trace() {
            trace.requires(&self.path, key);
        }
        self.lacks(key, what)
    }

    /// The same for a key that only another key makes necessary. The schema does not require it.
    pub(crate) fn lacks<T>(&self, key: &'static str, what: &str) -> Option<T> {
        self.missing.borrow_mut().push((key, what.to_owned()));
        None
    }

    /// The kind of thing that this most probably is, where its `type` is missing: the one among `kinds` that has something to do
    /// with most of the keys, and lacks fewest. Of several, the first one, if all find the same wrong with it. `read`
    /// reads it as one of a kind.
    pub(crate) fn guess<T: Copy>(&self, kinds: &[T], read: impl Fn(&Section<'_>, T)) -> Option<T> {
        if self.report.trace().is_some() {
            return None;
        }
        let taken = |known: &[&'static str]| self.entries.iter().filter(|given| known.contains(&given.key())).count();
        let attempt = |&kind: &T| {
            let report = Report::default();
            let (known, idle, missing) = (self.known.clone(), self.idle.clone(), RefCell::default());
            let (path, place, entries) = (self.path.clone(), self.place, self.entries.clone());
            let section = Section { path, report: &report, place, entries, known, idle, missing, read: true };
            read(&section, kind);
            let (taken, lacking) = (taken(&section.known.borrow()), section.missing.borrow().len());
            drop(section);
            (taken, lacking, kind, report.into_mistakes())
        };
        let attempts: Vec<_> = kinds.iter().map(attempt).collect();
        let best = attempts.iter().map(|(taken, lacking, ..)| (*taken, Reverse(*lacking))).max()?;
        let mut likely = attempts.iter().filter(|(taken, lacking, ..)| (*taken, Reverse(*lacking)) == best);
        let (taken_at_best, _, kind, mistakes) = likely.next()?;
        let says_something = *taken_at_best > taken(&self.known.borrow());
        (says_something && likely.all(|(.., others)| others == mistakes)).then_some(*kind)
    }

    /// Reports that the keys do not go together.
    pub(crate) fn wrong(&self, problem: &str, accepted: &str) {
        let (Place { line, column }, path) = (self.place, self.path.clone());
        let (problem, accepted) = (problem.to_owned(), Some(accepted.to_owned()));
        self.report.mistake(Mistake { line, column, path, problem, accepted, nearest: None });
    }

    /// Warns of what the keys together mean.
    pub(crate) fn warn(&self, message: impl Into<String>) {
        self.report.warning(self.place, &self.path, message.into());
    }

    /// The mapping under a key; an empty one where the key is absent.
    pub(crate) fn section(&self, key: &'static str) -> Option<Section<'a>> {
        self.given(key).and_then(|value| value.section())
    }

    /// The same, where a key that is left out stands for an empty mapping: its defaults are noted.
    pub(crate) fn filled(&self, key: &'static str) -> Self {
        let given = self.given(key);
        if given.is_none() {
            self.report.leaves_out(&self.path, key, || LeftOut::Section);
        }
        given.and_then(|value| value.section()).unwrap_or_else(|| {
            let (entries, known, idle, missing) = Default::default();
            let (path, report, place) = (self.path_of(key), self.report, self.place);
            Self { path, report, place, entries, known, idle, missing, read: false }
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.report.trace().is_none() && self.entries.is_empty()
    }

    /// Reports every key that was not read.
    pub(crate) fn finish(self) {
        self.finish_except(|_| false);
    }

    /// Reports every key that was not read, unless it is `free`.
    pub(crate) fn finish_except(mut self, free: impl Fn(&str) -> bool) {
        if let Some(trace) = self.report.trace().filter(|_| free("x-")) {
            trace.leaves_free(&self.path);
        }
        self.unknown(|key, _| !free(key));
        self.read = true;
    }

    /// Reports those keys that were not read and that `told` accepts, by the key and the known one it stands for, and keys
    /// that are read as another one.
    fn unknown(&self, told: impl Fn(&str, Option<&str>) -> bool) {
        let (known, idle) = (self.known.borrow(), self.idle.borrow());
        for Given { entry, meant } in &self.entries {
            if meant.is_none() && known.iter().chain(&*idle).any(|key| *key == entry.key) {
                continue;
            }
            let near = meant.or_else(|| self.nearest(&entry.key, &known));
            if meant.is_none() && !told(&entry.key, near) {
                continue;
            }
            self.missing.borrow_mut().retain(|&(key, _)| Some(key) != near);
            if let Some(key) = near.filter(|_| meant.is_none()).and_then(|_| surely(&entry.key, self.absent(&known))) {
                self.report.means(self.path_of(&entry.key), key);
            }
            let near = near.map(|key| format!("`{key}`"));
            self.at(entry, format!("unknown key `{}`", shown(&entry.key)), known.join(", "), near);
        }
    }

    /// The known key that an unknown one stands for, most likely one that is missing.
    fn nearest(&self, key: &str, known: &[&'static str]) -> Option<&'static str> {
        let missing = nearest(key, self.missing.borrow().iter().map(|&(key, _)| key));
        missing.or_else(|| nearest(key, self.absent(known))).or_else(|| nearest(key, known.iter().copied()))
    }

    /// All entries by their names.
    pub(crate) fn into_named(mut self) -> BTreeMap<String, Value<'a>> {
        self.read = true;
        let named = |given: &Given<'a>| (given.entry.key.clone(), self.value(given.entry));
        self.entries.iter().map(named).collect()
    }

    fn value(&self, entry: &'a Entry) -> Value<'a> {
        Value { node: &entry.node, path: self.path_of(&entry.key), report: self.report }
    }

    fn path_of(&self, key: &str) -> String {
        match self.path.as_str() {
            "" => shown(key),
            path => format!("{path}.{}", shown(key)),
        }
    }

    fn given_twice(&self, entry: &Entry, first: Place) {
        let problem = format!("`{}` is given twice, first in line {}", shown(&entry.key), first.line);
        self.at(entry, problem, "each key once".to_owned(), None);
    }

    fn at(&self, entry: &Entry, problem: String, accepted: String, nearest: Option<String>) {
        let Place { line, column } = entry.place;
        let path = self.path_of(&entry.key);
        self.report.mistake(Mistake { line, column, path, problem, accepted: Some(accepted), nearest });
    }
}

impl Drop for Section<'_> {
    /// Reports what is missing, wherever the reader gave up, and what stands for a key that it knew by then.
    fn drop(&mut self) {
        if !self.read {
            self.unknown(|_, near| near.is_some());
        }
        for (key, what) in self.missing.take() {
            self.wrong(&format!("`{key}` is missing"), &what);
        }
    }
}
