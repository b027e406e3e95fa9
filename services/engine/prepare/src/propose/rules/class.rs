//! What a field is good for, by its values.

use crate::propose::field::{Field, Shape};
use crate::propose::yaml::{count, percent};

/// Lists of one length, of at least this many numbers, are embeddings.
const EMBEDDING: usize = 16;
/// From this many different values and words on average on, a field holds texts, however often some of them come.
const TEXT_VALUES: u64 = 50;
const TEXT_WORDS: f64 = 1.6;
/// Short texts of which at least this part is shared by owners are names of something.
const SHARED: f64 = 0.2;
const NAME_WORDS: f64 = 4.0;
/// A list of texts has at most this many columns; other values are left to the visitor's profile.
const MOST_COLUMNS: usize = 50;
/// Names of fields of rankings that hold what visitors search for.
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
    /// Of a field with this name, with the number of owners whose events carry it; rankings alone have queries.
    pub(super) fn of(name: &str, field: &'f Field, owners: u64, threshold: f64, of_rankings: bool) -> Self {
        let Some(shape) = field.shape() else {
            return Self::Useless("its values are of several types".to_owned());
        };
        if field.distinct() <= 1 && field.events > 1 {
            return Self::Useless(format!("it always has the same value, in {} events", count(field.events)));
        }
        match shape {
            Shape::Flag => Self::Flag,
            Shape::Number if field.numbers.are_times() => Self::Seconds,
            Shape::Number => Self::Amount,
            Shape::Numbers => Self::vector(field),
            Shape::Text => Self::text(name, field, owners, threshold, of_rankings),
            Shape::Texts => Self::texts(field, owners, threshold),
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

    fn text(name: &str, field: &'f Field, owners: u64, threshold: f64, of_rankings: bool) -> Self {
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
        let are_names = texts.words() <= NAME_WORDS && texts.shared(field.events, owners) >= SHARED;
        if many_words && !are_names || of_rankings && QUERIES.contains(&lower.as_str()) {
            return Self::Text;
        }
        let categories = texts.categories(threshold, field.events);
        if covered(&categories) * 2 >= field.events { Self::Category(categories) } else { Self::names(field, owners) }
    }

    /// Tags are values of which an event has one on average, or that most elements are.
    fn texts(field: &'f Field, owners: u64, threshold: f64) -> Self {
        let mut categories = field.texts.categories(threshold, field.events);
        categories.truncate(MOST_COLUMNS);
        let covered = covered(&categories);
        let are_usual = covered >= field.events || covered * 2 >= field.texts.count;
        if are_usual && !categories.is_empty() { Self::Tags(categories) } else { Self::names(field, owners) }
    }

    fn names(field: &Field, owners: u64) -> Self {
        let shared = field.texts.shared(field.events, owners);
        if shared >= SHARED {
            return Self::Names;
        }
        let different = percent(((1.0 - shared) * 1000.0) as u64, 1000);
        Self::Useless(format!("{different} of its values are different, as ids are"))
    }

    /// Whether events share its texts.
    pub(super) fn is_shared(&self) -> bool {
        matches!(self, Self::Category(_) | Self::Tags(_) | Self::Names)
    }
}

/// How often values come, all of them together.
fn covered(values: &[(&str, u64)]) -> u64 {
    values.iter().map(|(_, count)| count).sum()
}
