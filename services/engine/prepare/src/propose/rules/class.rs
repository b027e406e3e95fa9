//! What a field is good for, by its values.

use crate::propose::field::{Field, Shape, Texts};
use crate::propose::yaml::{count, percent};

/// Lists that all have one length of so many numbers at least are embeddings.
const EMBEDDING: usize = 16;
/// Texts of so many different values and words on average are texts, however often some of them come.
const TEXT_VALUES: u64 = 50;
const TEXT_WORDS: f64 = 1.6;
/// Names of fields that hold what visitors search for.
const QUERIES: [&str; 6] = ["query", "q", "search", "keywords", "term", "terms"];
/// Names of fields that hold a user agent.
const AGENTS: [&str; 4] = ["ua", "useragent", "user_agent", "user-agent"];

#[derive(Debug, PartialEq)]
pub(super) enum Class<'f> {
    /// Useless, and why.
    Useless(String),
    Flag,
    Amount,
    /// Epoch seconds.
    Seconds,
    /// ISO 8601 dates and times.
    Date,
    /// Names of browsers.
    Agent,
    /// Addresses of pages.
    Address,
    /// A few values cover most events: those that are frequent enough.
    Category(Vec<(&'f str, u64)>),
    /// Lists with values that are frequent enough.
    Tags(Vec<(&'f str, u64)>),
    /// Values that many events share, though none of them is frequent: authors, brands of a large shop.
    Names,
    /// Words.
    Text,
    /// Lists of numbers.
    Vector,
}

impl<'f> Class<'f> {
    pub(super) fn of(name: &str, field: &'f Field, threshold: f64) -> Self {
        let Some(shape) = field.shape() else {
            return Self::Useless("its values are of several types".to_owned());
        };
        if field.distinct() <= 1 && field.events > 1 {
            return Self::Useless(format!("it has one value alone, in {} events", count(field.events)));
        }
        match shape {
            Shape::Flag => Self::Flag,
            Shape::Number if field.numbers.are_times() => Self::Seconds,
            Shape::Number => Self::Amount,
            Shape::Numbers => Self::vector(field),
            Shape::Text => Self::text(name, field, threshold),
            Shape::Texts => Self::texts(field, threshold),
        }
    }

    fn vector(field: &Field) -> Self {
        match field.lists.span {
            Some((least, greatest)) if least == greatest && least >= EMBEDDING => Self::Useless(format!(
                "lists of {least} numbers look like embeddings; field_match and models of type semantic read them from a file"
            )),
            _ => Self::Vector,
        }
    }

    fn text(name: &str, field: &'f Field, threshold: f64) -> Self {
        let (texts, lower) = (&field.texts, name.to_lowercase());
        if texts.are_agents() || AGENTS.contains(&lower.as_str()) {
            return Self::Agent;
        }
        if texts.are_dates() {
            return Self::Date;
        }
        if texts.are_addresses() {
            return Self::Address;
        }
        let many_words = texts.words() >= TEXT_WORDS && field.distinct() >= TEXT_VALUES;
        if many_words || QUERIES.contains(&lower.as_str()) {
            return Self::Text;
        }
        let categories = texts.categories(threshold, field.events);
        let covered: u64 = categories.iter().map(|(_, count)| count).sum();
        if covered * 2 >= field.events {
            return Self::Category(categories);
        }
        Self::names(texts)
    }

    fn texts(field: &'f Field, threshold: f64) -> Self {
        let categories = field.texts.categories(threshold, field.events);
        let covered: u64 = categories.iter().map(|(_, count)| count).sum();
        if categories.len() >= 2 && covered * 5 >= field.texts.count {
            return Self::Tags(categories);
        }
        Self::names(&field.texts)
    }

    fn names(texts: &Texts) -> Self {
        let repeated = texts.repeated();
        if repeated >= 0.1 {
            return Self::Names;
        }
        let different = percent(((1.0 - repeated) * 1000.0) as u64, 1000);
        Self::Useless(format!("{different} of its values are different, as ids are"))
    }

    /// Whether events share its texts.
    pub(super) fn is_shared(&self) -> bool {
        matches!(self, Self::Category(_) | Self::Tags(_) | Self::Names)
    }
}
