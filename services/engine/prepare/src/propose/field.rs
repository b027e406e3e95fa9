//! What a field of events holds.

use super::distinct::Distinct;
use super::frequent::Frequent;
use compact_str::CompactString;
use rankwright_event::{Timestamp, Value};

/// Number of texts of a field that are kept, to tell their language.
const SAMPLES: usize = 200;
/// So much of each.
const SAMPLE_CHARS: usize = 400;
/// Epoch seconds of 1973, below which numbers are amounts.
const EARLIEST: f64 = 1e8;
/// Epoch seconds of 2096, above which they are as well.
const LATEST: f64 = 4e9;

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Flag,
    Number,
    Text,
    Numbers,
    Texts,
}

/// The values of a field.
#[derive(Debug)]
pub(super) struct Field {
    /// Events that carry it.
    pub(super) events: u64,
    shapes: [u64; 5],
    pub(super) numbers: Numbers,
    pub(super) texts: Texts,
    pub(super) lists: Lists,
    distinct: Distinct,
}

/// Numbers, those of lists included.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    count: u64,
    /// The least and the greatest one.
    pub(super) span: Option<(f64, f64)>,
    /// Those that may be epoch seconds.
    times: u64,
}

/// Texts, those of lists included.
#[derive(Debug)]
pub(super) struct Texts {
    pub(super) count: u64,
    words: u64,
    /// Texts that are an ISO 8601 date and time with a zone,
    dates: u64,
    /// the address of a page,
    addresses: u64,
    /// or the name of a browser.
    agents: u64,
    pub(super) frequent: Frequent,
    pub(super) distinct: Distinct,
    pub(super) samples: Vec<CompactString>,
}

/// Lengths of lists.
#[derive(Debug, Default)]
pub(super) struct Lists {
    pub(super) span: Option<(usize, usize)>,
}

impl Field {
    /// Nothing yet; texts that are one in `most` are to be found.
    pub(super) fn new(most: usize) -> Self {
        Self {
            events: 0,
            shapes: [0; 5],
            numbers: Numbers::default(),
            texts: Texts {
                count: 0,
                words: 0,
                dates: 0,
                addresses: 0,
                agents: 0,
                frequent: Frequent::new(most),
                distinct: Distinct::default(),
                samples: Vec::new(),
            },
            lists: Lists::default(),
            distinct: Distinct::default(),
        }
    }

    pub(super) fn see(&mut self, value: &Value) {
        self.events += 1;
        let shape = match value {
            Value::Bool(flag) => {
                self.distinct.add(flag);
                Shape::Flag
            }
            Value::Number(number) => {
                self.distinct.add(number.to_bits());
                self.numbers.see(*number);
                Shape::Number
            }
            Value::Text(text) => {
                self.distinct.add(text);
                self.texts.see(text);
                Shape::Text
            }
            Value::Numbers(numbers) => {
                numbers.iter().for_each(|number| self.numbers.see(*number));
                self.distinct.add(numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>());
                self.lists.see(numbers.len());
                Shape::Numbers
            }
            Value::Texts(texts) => {
                texts.iter().for_each(|text| self.texts.see(text));
                self.distinct.add(texts);
                self.lists.see(texts.len());
                Shape::Texts
            }
        };
        self.shapes[shape as usize] += 1;
    }

    /// What nearly all values are.
    pub(super) fn shape(&self) -> Option<Shape> {
        let shapes = [Shape::Flag, Shape::Number, Shape::Text, Shape::Numbers, Shape::Texts];
        shapes.into_iter().find(|&shape| most(self.shapes[shape as usize], self.events))
    }

    /// About how many different values there are.
    pub(super) fn distinct(&self) -> u64 {
        self.distinct.count()
    }
}

/// Whether it is 95 % or more.
fn most(part: u64, all: u64) -> bool {
    all > 0 && part as f64 >= all as f64 * 0.95
}

impl Numbers {
    fn see(&mut self, number: f64) {
        self.count += 1;
        let (least, greatest) = self.span.unwrap_or((number, number));
        self.span = Some((least.min(number), greatest.max(number)));
        self.times += u64::from(number.fract() == 0.0 && (EARLIEST..LATEST).contains(&number));
    }

    /// Whether they look like epoch seconds.
    pub(super) fn are_times(&self) -> bool {
        most(self.times, self.count)
    }
}

impl Texts {
    fn see(&mut self, text: &str) {
        self.count += 1;
        self.words += text.split_whitespace().count() as u64;
        self.frequent.add(text);
        self.distinct.add(text);
        let is_date = || text.starts_with(|char: char| char.is_ascii_digit()) && text.contains('T');
        self.dates += u64::from(is_date() && Timestamp::parse(text).is_ok());
        self.addresses += u64::from(text.starts_with("http://") || text.starts_with("https://"));
        self.agents += u64::from(text.starts_with("Mozilla/"));
        if self.samples.len() < SAMPLES {
            self.samples.push(text.chars().take(SAMPLE_CHARS).collect());
        }
    }

    pub(super) fn are_dates(&self) -> bool {
        most(self.dates, self.count)
    }

    pub(super) fn are_addresses(&self) -> bool {
        most(self.addresses, self.count)
    }

    /// Whether many name a browser; crawlers and apps are called anything.
    pub(super) fn are_agents(&self) -> bool {
        self.agents * 2 > self.count
    }

    /// Words of a text, on average.
    pub(super) fn words(&self) -> f64 {
        self.words as f64 / self.count.max(1) as f64
    }

    /// How many texts are those of others, as a part of all; events of an owner may repeat them.
    pub(super) fn shared(&self, events: u64, owners: u64) -> f64 {
        let once = (owners as f64 / events.max(1) as f64).min(1.0);
        1.0 - (self.distinct.count() as f64 / (self.count as f64 * once).max(1.0)).min(1.0)
    }

    /// Values that at least this part of `events` has, and at least two of them, the most frequent first.
    pub(super) fn categories(&self, threshold: f64, events: u64) -> Vec<(&str, u64)> {
        self.frequent.at_least(((threshold * events as f64).ceil() as u64).max(2))
    }
}

impl Lists {
    fn see(&mut self, length: usize) {
        let (least, greatest) = self.span.unwrap_or((length, length));
        self.span = Some((least.min(length), greatest.max(length)));
    }

    /// Whether they are of different lengths.
    pub(super) fn vary(&self) -> bool {
        self.span.is_some_and(|(least, greatest)| least < greatest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = Value>) -> Field {
        let mut field = Field::new(100);
        values.into_iter().for_each(|value| field.see(&value));
        field
    }

    fn texts(texts: &[&str]) -> Field {
        of(texts.iter().map(|text| Value::Text((*text).into())))
    }

    #[test]
    fn a_shape_is_that_of_nearly_all_values() {
        let number = |number: i32| Value::Number(f64::from(number));
        let mixed = |odd: i32| of((0..100 - odd).map(number).chain((0..odd).map(|_| Value::Bool(true))));
        assert_eq!((mixed(5).shape(), mixed(6).shape(), of([]).shape()), (Some(Shape::Number), None, None));
        assert_eq!(mixed(0).numbers.span, Some((0.0, 99.0)));
        let list = of([Value::Texts(vec!["a".into(), "b".into()]), Value::Texts(vec![])]);
        assert_eq!((list.shape(), list.lists.span, list.texts.count), (Some(Shape::Texts), Some((0, 2)), 2));
    }

    #[test]
    fn numbers_in_the_range_of_epoch_seconds_are_times() {
        let times =
            |first: f64| of((0..100).map(|day| Value::Number(first + f64::from(day) * 86_400.0))).numbers.are_times();
        assert_eq!(
            [times(1.6e9), times(8e8), times(0.0), times(1.6e12), times(1.6e9 + 0.5)],
            [true, true, false, false, false]
        );
    }

    #[test]
    fn texts_are_told_apart_by_what_they_hold() {
        let dates = texts(&["2024-01-01T12:00:00+02:00", "2024-01-01T12:00:00Z"]);
        assert!(dates.texts.are_dates() && !texts(&["2024"]).texts.are_dates());
        assert!(texts(&["https://example.com/", "http://x"]).texts.are_addresses());
        assert!(texts(&["Mozilla/5.0 (X11)", "Mozilla/5.0", "curl/7"]).texts.are_agents());
        assert_eq!(texts(&["a b c", "d"]).texts.words(), 2.0);
        let repeated = texts(&["a", "a", "a", "b"]).texts;
        assert_eq!((repeated.shared(4, 4), repeated.shared(4, 2), repeated.shared(4, 9)), (0.5, 0.0, 0.5));
    }

    #[test]
    fn categories_are_values_that_enough_events_have() {
        let field = texts(&["a", "a", "a", "b", "b", "c"]);
        assert_eq!(field.texts.categories(0.5, 6), [("a", 3)]);
        assert_eq!(field.texts.categories(0.0, 6), [("a", 3), ("b", 2)], "what is there once is none");
    }
}
