//! A feature's definition becomes its extractor: names become numbers, stored values slots.

use super::Extractor;
use super::field::{FieldReader, Sources};
use crate::encode::Models;
use crate::plan::Error;
use crate::slot::{Numbered, Slots};
use rankwright_config::feature::{Kind, Source};
use std::time::Duration;

/// What a definition of the configuration becomes.
pub(crate) trait Compile {
    /// Collects what it needs to be stored, for this long.
    fn need(&self, _ttl: Duration, _slots: &mut Slots) {}

    /// What its numbers mean, in words that stay the same in every version.
    fn meaning(&self) -> String;

    /// Whether numbers stand for categories.
    fn is_categorical(&self) -> bool {
        false
    }

    /// What computes it.
    fn extractor(&self, compiler: &mut Compiler<'_>) -> Compiled;
}

/// An extractor, or why there is none.
pub(crate) type Compiled = Result<Box<dyn Extractor>, Error>;

/// A feature that is being compiled.
pub(crate) struct Compiler<'a> {
    pub(crate) name: &'a str,
    pub(crate) ttl: Duration,
    pub(crate) slots: &'a Numbered,
    pub(crate) sources: &'a mut Sources,
    pub(crate) models: &'a Models,
}

impl Compiler<'_> {
    pub(crate) fn reader(&mut self, source: &Source) -> FieldReader {
        FieldReader::new(source, self.ttl, self.slots, self.sources)
    }

    pub(crate) fn item(&mut self, field: &str) -> FieldReader {
        self.reader(&Source::item(field))
    }

    pub(crate) fn request(&mut self, field: &str) -> FieldReader {
        self.reader(&Source::ranking(field))
    }
}

/// How a definition is compiled.
pub(crate) fn definition(kind: &Kind) -> &dyn Compile {
    match kind {
        Kind::Number(of) => of,
        Kind::Boolean(of) => of,
        Kind::Vector(of) => of,
        Kind::Text(of) => of,
        Kind::WordCount(of) => of,
        Kind::ListSize(of) => of,
        Kind::TimeDiff(of) => of,
        Kind::FieldMatch(of) => of,
        Kind::UserAgent(of) => of,
        Kind::InteractedWith(of) => of,
        Kind::Referer(of) => of,
        Kind::Relevancy(of) => of,
        Kind::Position(of) => of,
        Kind::Diversity(of) => of,
        Kind::InteractionCount(of) => of,
        Kind::WindowCount(of) => of,
        Kind::Rate(of) => of,
        Kind::LocalTime(of) => of,
        Kind::ItemAge(of) => of,
        Kind::Random(of) => of,
    }
}

/// A duration in milliseconds, at least one.
pub(crate) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX).max(1)
}
