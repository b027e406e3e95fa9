//! A value of the text together with its path, and readers for what it may be.
//!
//! A reader that finds something else reports it and gives `None`; its caller goes on with a default, because the
//! whole is refused anyway once a mistake is known.

use crate::error::{Invalid, Mistake, shown};
use crate::nearest::{close, nearest};
use crate::report::Report;
use crate::section::Section;
use crate::trace::{ANY_NAME, ANYTHING, Asked, Trace};
use crate::tree::{Data, Node, Place};
use crate::{duration, scalar};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

/// A value, its path, and where to report to.
#[derive(Debug, Clone)]
pub(crate) struct Value<'a> {
    pub(crate) node: &'a Node,
    pub(crate) path: String,
    pub(crate) report: &'a Report,
}

impl<'a> Value<'a> {
    pub(crate) fn root(node: &'a Node, report: &'a Report) -> Self {
        Self { node, path: String::new(), report }
    }

    pub(crate) fn place(&self) -> Place {
        self.node.place
    }

    /// Where to tell what is asked, with the path, if there is no text.
    fn trace(&self) -> Option<(&'a Trace, &str)> {
        Some((self.report.trace()?, &self.path))
    }

    /// Tells what is asked; whether there is no text to answer it.
    fn is_traced(&self, asked: impl FnOnce() -> Asked) -> bool {
        let trace = self.trace();
        if let Some((trace, path)) = trace {
            trace.asks(path, asked());
        }
        trace.is_some()
    }

    /// Whether nothing was written: `key:`, `null` or `~`.
    pub(crate) fn is_nothing(&self) -> bool {
        self.trace().is_none() && matches!(&self.node.data, Data::Scalar { text, plain: true } if scalar::is_null(text))
    }

    /// Reports that this value is wrong.
    pub(crate) fn wrong(&self, problem: impl Into<String>, accepted: impl Into<String>) {
        self.wrong_near(problem, accepted, None);
    }

    pub(crate) fn wrong_near(&self, problem: impl Into<String>, accepted: impl Into<String>, near: Option<String>) {
        self.report.mistake(Mistake {
            line: self.node.place.line,
            column: self.node.place.column,
            path: self.path.clone(),
            problem: problem.into(),
            accepted: Some(accepted.into()),
            nearest: near,
        });
    }

    pub(crate) fn warn(&self, message: impl Into<String>) {
        self.report.warning(self.node.place, &self.path, message.into());
    }

    /// Any scalar as text, as written: `on`, `2020` and `"a"` alike. Empty text is refused.
    pub(crate) fn text(&self) -> Option<String> {
        if self.is_traced(|| Asked::Text) {
            return None;
        }
        match &self.node.data {
            Data::Scalar { text, .. } if !self.is_nothing() && !text.is_empty() => Some(text.clone()),
            _ => self.other("a text"),
        }
    }

    /// A whole number within `range`. One in quotes is accepted, as templates often write it.
    pub(crate) fn whole<T: TryFrom<u64>>(&self, range: RangeInclusive<u64>) -> Option<T> {
        if self.is_traced(|| Asked::Whole(*range.start(), *range.end())) {
            return None;
        }
        let accepted = match *range.end() {
            u64::MAX => format!("a whole number, {} or more", range.start()),
            end => format!("a whole number from {} to {end}", range.start()),
        };
        let whole = self.scalar().and_then(scalar::whole).filter(|whole| range.contains(whole));
        whole.and_then(|whole| T::try_from(whole).ok()).or_else(|| self.other(&accepted))
    }

    /// A finite number that `fits`.
    pub(crate) fn number(&self, accepted: &str, fits: impl Fn(f64) -> bool) -> Option<f64> {
        if self.is_traced(|| Asked::Number(accepted.to_owned())) {
            return None;
        }
        let number = self.scalar().and_then(scalar::number).filter(|&number| fits(number));
        number.or_else(|| self.other(accepted))
    }

    /// True or false; in quotes as well, as templates often write it.
    pub(crate) fn boolean(&self) -> Option<bool> {
        if self.is_traced(|| Asked::Boolean) {
            return None;
        }
        self.scalar().and_then(scalar::boolean).or_else(|| self.other("true or false"))
    }

    /// A duration of at least `shortest`.
    pub(crate) fn duration(&self, shortest: Duration) -> Option<Duration> {
        if self.is_traced(|| Asked::Duration) {
            return None;
        }
        let Some(text) = self.scalar() else { return self.other("a duration such as 30s, 24h or 90d") };
        match duration::parse(text) {
            Ok(length) if length >= shortest => Some(length),
            Ok(_) => self.other(&format!("a duration of at least {shortest:?}")),
            Err(invalid) => {
                let with_unit = scalar::whole(text).map(|number| format!("`{number}s`"));
                self.wrong_near(self.found(), invalid.accepted, with_unit);
                None
            }
        }
    }

    /// One of a few words; for one that is misspelt a little, which is reported, the right one, as more may hang on it.
    pub(crate) fn choice<T: Clone>(&self, what: &str, words: &[(&str, T)]) -> Option<T> {
        if let Some((trace, path)) = self.trace() {
            let all: Vec<_> = words.iter().map(|&(word, _)| word).collect();
            let chosen = trace.word(path, &all);
            return words.iter().find(|(word, _)| Some(*word) == chosen).map(|(_, value)| value.clone());
        }
        let all = words.iter().map(|&(word, _)| word);
        let accepted = all.clone().collect::<Vec<_>>().join(", ");
        let Some(text) = self.scalar() else { return self.other(&format!("{what}: {accepted}")) };
        let find = |wanted: &str| words.iter().find(|&&(word, _)| word == wanted).map(|(_, value)| value.clone());
        find(text).or_else(|| {
            let hint = nearest(text, all).map(|word| format!("`{word}`"));
            self.wrong_near(format!("unknown {what} `{}`", shown(text)), accepted, hint);
            close(text, words.iter().map(|&(word, _)| word)).and_then(find)
        })
    }

    /// A text with a spelling of its own.
    pub(crate) fn spelled<T: FromStr<Err = Invalid>>(&self, what: &str) -> Option<T> {
        if let Some(invalid) = self.trace().and_then(|_| "".parse::<T>().err()) {
            let is_one = |word: &&str| word.parse::<T>().is_ok();
            let words = invalid.accepted.split([' ', ',']).filter(is_one).map(str::to_owned).collect();
            self.is_traced(|| Asked::Spelled(invalid.accepted.to_owned(), words));
            return None;
        }
        let Some(text) = self.scalar() else { return self.other(what) };
        text.parse().map_err(|invalid: Invalid| self.wrong(self.found(), invalid.accepted)).ok()
    }

    /// A URL that begins with one of `schemes`, and goes on. It is told in messages, so it must not have credentials in it.
    pub(crate) fn url(&self, schemes: &[&str]) -> Option<String> {
        if self.is_traced(|| Asked::Url(schemes.iter().map(|&scheme| scheme.to_owned()).collect())) {
            return None;
        }
        let text = self.text()?;
        // a password may have a '/' in it, and no path of these has an '@'
        if text.split_once("://").is_some_and(|(_, rest)| rest.contains('@')) {
            self.wrong(
                "a URL with user or password in it".to_owned(),
                "a URL without: credentials have keys of their own",
            );
            return None;
        }
        let fits = |scheme: &&str| text.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty());
        if schemes.iter().any(fits) {
            return Some(text);
        }
        self.other(&format!("a URL that begins with {}", schemes.join(" or ")))
    }

    /// The elements of a list that has some.
    pub(crate) fn elements(&self, what: &str) -> Vec<Value<'a>> {
        if self.is_traced(|| Asked::List(1)) {
            return self.indexed(std::slice::from_ref(&ANYTHING));
        }
        match &self.node.data {
            Data::List(items) if !items.is_empty() => self.indexed(items),
            Data::List(_) => self.other(what).unwrap_or_default(),
            _ => self.other(what).unwrap_or_default(),
        }
    }

    /// The elements of a list, which may be empty.
    pub(crate) fn list(&self, what: &str) -> Vec<Value<'a>> {
        if self.is_traced(|| Asked::List(0)) {
            return self.indexed(std::slice::from_ref(&ANYTHING));
        }
        match &self.node.data {
            Data::List(items) => self.indexed(items),
            _ => self.other(what).unwrap_or_default(),
        }
    }

    /// The elements of a list that has some, or the one value that stands in place of a list.
    pub(crate) fn one_or_more(&self, what: &str) -> Vec<Value<'a>> {
        if self.is_traced(|| Asked::One) {
            return self.elements(what);
        }
        match &self.node.data {
            Data::Scalar { .. } if !self.is_nothing() => vec![self.clone()],
            _ => self.elements(what),
        }
    }

    /// The elements of a list, which may be empty, or the one value that stands in place of a list.
    pub(crate) fn one_or_none_or_more(&self, what: &str) -> Vec<Value<'a>> {
        if self.is_traced(|| Asked::One) {
            return self.list(what);
        }
        match &self.node.data {
            Data::List(items) => self.indexed(items),
            _ => self.one_or_more(what),
        }
    }

    /// Non-empty texts.
    pub(crate) fn texts(&self, what: &str) -> Vec<String> {
        self.one_or_more(what).iter().filter_map(Value::text).collect()
    }

    /// A mapping whose keys are known.
    pub(crate) fn section(&self) -> Option<Section<'a>> {
        Section::of(self)
    }

    /// The same, which may hold others of its name.
    pub(crate) fn nested(&self, name: &'static str) -> Option<Section<'a>> {
        if self.trace().is_some_and(|(trace, path)| !trace.enters(path, name)) {
            return None;
        }
        self.section()
    }

    /// Whether this word stands here, where something else may as well.
    pub(crate) fn is_word(&self, word: &str) -> bool {
        match self.trace() {
            Some((trace, path)) => trace.is(path, Asked::Words(vec![word.to_owned()])),
            None => self.scalar() == Some(word),
        }
    }

    /// True or false, where something else may stand as well.
    pub(crate) fn is_boolean(&self) -> Option<bool> {
        match self.trace() {
            Some((trace, path)) => trace.is(path, Asked::Boolean).then_some(true),
            None => self.scalar().and_then(scalar::boolean),
        }
    }

    /// Notes that nothing is refused here.
    pub(crate) fn takes_anything(&self) {
        self.is_traced(|| Asked::Anything);
    }

    /// Of readers that look words up by themselves: one of these, where there is no text.
    pub(crate) fn traced<'w>(&self, words: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
        let (trace, path) = self.trace()?;
        trace.word(path, &words.into_iter().collect::<Vec<_>>())
    }

    /// A mapping whose keys are names that the author chose.
    pub(crate) fn named(&self, what: &str) -> BTreeMap<String, Value<'a>> {
        if self.is_traced(|| Asked::Named) {
            let path = format!("{}.{ANY_NAME}", self.path);
            return BTreeMap::from([(ANY_NAME.to_owned(), Value { node: &ANYTHING, path, report: self.report })]);
        }
        let Data::Map(_) = &self.node.data else { return self.other(what).unwrap_or_default() };
        self.section().map(Section::into_named).unwrap_or_default()
    }

    fn indexed(&self, items: &'a [Node]) -> Vec<Value<'a>> {
        let path = |index| format!("{}[{index}]", self.path);
        let value = |(index, node)| Value { node, path: path(index), report: self.report };
        items.iter().enumerate().map(value).collect()
    }

    /// The text of a scalar, unless it stands for nothing.
    pub(crate) fn scalar(&self) -> Option<&'a str> {
        if let Some((trace, path)) = self.trace() {
            return trace.scalar(path);
        }
        match &self.node.data {
            Data::Scalar { text, .. } if !self.is_nothing() => Some(text),
            _ => None,
        }
    }

    /// Reports that something else than `accepted` stands here.
    pub(crate) fn other<T>(&self, accepted: &str) -> Option<T> {
        self.wrong(self.found(), accepted);
        None
    }

    /// Reports that keys are expected here. What stands here is not told: it may be the password that one of them holds.
    pub(crate) fn no_mapping<T>(&self) -> Option<T> {
        let found = match self.scalar() {
            Some(text) if !text.is_empty() => "found a single value".to_owned(),
            _ => self.found(),
        };
        self.wrong(found, "a mapping (`key: value`)");
        None
    }

    fn found(&self) -> String {
        match &self.node.data {
            Data::Scalar { .. } if self.is_nothing() => "found nothing".to_owned(),
            Data::Scalar { text, .. } if text.is_empty() => "found an empty text".to_owned(),
            Data::Scalar { text, .. } => format!("found `{}`", shown(text)),
            Data::List(items) if items.is_empty() => "found an empty list".to_owned(),
            Data::List(_) => "found a list".to_owned(),
            Data::Map(_) => "found a mapping".to_owned(),
        }
    }
}
