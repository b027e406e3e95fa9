//! `vector`: a list of numbers, reduced to columns.

use super::{Definition, Source, source};
use crate::error::shown;
use crate::nearest::nearest;
use crate::schema::{Key, key};
use crate::section::Section;
use crate::value::Value;

const LONGEST: usize = 4096;

/// A list of numbers, reduced; one or more columns a reducer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vector {
    /// Where the numbers are.
    pub source: Source,
    /// Reducers in order; never empty.
    pub reduce: Vec<Reducer>,
}

/// How a list of numbers becomes columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reducer {
    /// First element, 0 of an empty list.
    First,
    /// Last element, 0 of an empty list.
    Last,
    /// Smallest.
    Min,
    /// Largest.
    Max,
    /// Any one, chosen by the ranking's id.
    Random,
    /// Mean.
    Avg,
    /// Sum.
    Sum,
    /// Number of elements.
    Size,
    /// Root of the sum of squares.
    EuclideanDistance,
    /// The first N elements, padded with zeros; N columns.
    Vector(usize),
}

const WORDS: [(&str, Reducer); 9] = [
    ("first", Reducer::First),
    ("last", Reducer::Last),
    ("min", Reducer::Min),
    ("max", Reducer::Max),
    ("random", Reducer::Random),
    ("avg", Reducer::Avg),
    ("sum", Reducer::Sum),
    ("size", Reducer::Size),
    ("euclidean_distance", Reducer::EuclideanDistance),
];

impl Definition for Vector {
    const NAME: &str = "vector";
    const EXAMPLE: &str = "{name: sizes, type: vector, field: item.sizes, reduce: [min, max, vector3]}";
    const DOC: &str = "a list of numbers, reduced to a few: first, last, min, max, random, avg, sum, size, euclidean_distance, vectorN";
    const OF_FIELDS_ALONE: bool = true;
    #[rustfmt::skip] // a line for each key
    const KEYS: &[Key] = &[
        key("reduce", "", "what the list is reduced to: `first`, `last`, `min`, `max`, `random`, `avg`, `sum`, `size`, `euclidean_distance`, `vectorN` (the first N elements)"),
    ];

    fn read(section: &Section<'_>) -> Option<Self> {
        let source = source::scoped(section);
        let reduce = match section.get("reduce") {
            None => {
                let usual = vec![Reducer::Min, Reducer::Max, Reducer::Size, Reducer::Avg];
                section.leaves_out("reduce", &usual.iter().flat_map(|reducer| reducer.suffixes()).collect::<Vec<_>>());
                usual
            }
            Some(value) => value.one_or_none_or_more("a list of reducers").iter().filter_map(reducer).collect(),
        };
        Some(Self { source: source?, reduce })
    }

    fn suffixes(&self) -> Vec<String> {
        self.reduce.iter().flat_map(|reducer| reducer.suffixes()).collect()
    }

    fn sources(&self) -> Vec<Source> {
        vec![self.source.clone()]
    }
}

impl Reducer {
    fn suffixes(self) -> Vec<String> {
        match self {
            Self::Vector(length) => (0..length).map(|place| format!("vector{length}_{place}")).collect(),
            other => WORDS.iter().filter(|(_, reducer)| *reducer == other).map(|&(word, _)| word.to_owned()).collect(),
        }
    }
}

fn reducer(value: &Value<'_>) -> Option<Reducer> {
    let text = value.text()?;
    let word = match text.as_str() {
        "euclideanDistance" => Some(Reducer::EuclideanDistance),
        text => WORDS.iter().find(|&&(word, _)| word == text).map(|&(_, reducer)| reducer),
    };
    let length = |digits: &str| digits.parse().ok().filter(|length| (1..=LONGEST).contains(length));
    let found = word.or_else(|| text.strip_prefix("vector").and_then(length).map(Reducer::Vector));
    if found.is_none() {
        let words = WORDS.map(|(word, _)| word);
        let accepted = format!("{}, or vectorN with N from 1 to {LONGEST}", words.join(", "));
        let near = nearest(&text, words).map(|word| format!("`{word}`"));
        value.wrong_near(format!("unknown reducer `{}`", shown(&text)), accepted, near);
    }
    found
}
