//! Values of fields: those that a feature cannot read or, if it is a `string`, does not know, and features whose fields hold one
//! value alone.

use super::report::Fact;
use super::share;
use compact_str::CompactString;
use foldhash::fast::{FixedState, RandomState};
use rankwright_config::Config;
use rankwright_config::feature::{Encoding, Entity, Kind, Source};
use rankwright_event::{Event, Field, Value};
use rankwright_feature::can_read;
use serde_json::json;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash, Hasher};

/// Distinct unknown values that are counted of each feature.
const MOST: usize = 1000;
/// Unknown values that are reported.
const TOLD: usize = 3;
const HASHER: FixedState = FixedState::with_seed(0x7a1);
/// In place of a digest, where a feature reads nothing.
const NOTHING: u64 = 0;

/// Features, by the fields that they read.
#[derive(Debug, Default)]
pub(super) struct Values {
    watched: Vec<Watched>,
    /// By [`Carrier`].
    readers: [Readers; CARRIERS],
    /// What may carry fields, by [`Carrier`].
    carriers: [u64; CARRIERS],
}

/// What carries a field.
#[derive(Debug, Clone, Copy)]
enum Carrier {
    Item,
    User,
    Ranking,
    /// An item of a ranking.
    Shown,
}

const CARRIERS: usize = 4;

type Readers = HashMap<CompactString, Vec<usize>, RandomState>;

/// A feature and a field that it reads.
#[derive(Debug)]
struct Watched {
    feature: String,
    kind: Kind,
    source: Source,
    category: Option<Category>,
    /// Digest of the first value, and whether there was another one.
    first: Option<u64>,
    varies: bool,
    /// By [`Carrier`].
    seen: [u64; CARRIERS],
    /// Values of kinds that it cannot read.
    unreadable: u64,
}

/// What a `string` feature knows, and what it does not.
#[derive(Debug)]
struct Category {
    known: HashSet<CompactString, RandomState>,
    /// Whether it reads the first element of a list alone.
    first_alone: bool,
    values: u64,
    unknown: u64,
    counts: HashMap<CompactString, u64, RandomState>,
}

impl Values {
    pub(super) fn of(config: &Config) -> Self {
        let mut values = Self::default();
        for (place, feature) in config.features.iter().enumerate() {
            for source in feature.kind.sources() {
                values.watch(format!("features[{place}] '{}'", feature.name), &feature.kind, source);
            }
        }
        values
    }

    fn watch(&mut self, feature: String, kind: &Kind, source: Source) {
        let carriers: &[Carrier] = match source.entity {
            Entity::Item => &[Carrier::Item, Carrier::Shown],
            Entity::User => &[Carrier::User],
            Entity::Ranking => &[Carrier::Ranking, Carrier::Shown],
            Entity::Interaction(_) | Entity::Any => return,
        };
        for carrier in carriers {
            let readers = &mut self.readers[*carrier as usize];
            readers.entry(source.field.as_str().into()).or_default().push(self.watched.len());
        }
        self.watched.push(Watched::new(feature, kind, source));
    }

    pub(super) fn see(&mut self, event: &Event) {
        match event {
            Event::Item(update) => self.look(Carrier::Item, &update.fields),
            Event::User(update) => self.look(Carrier::User, &update.fields),
            Event::Ranking(ranking) => {
                self.look(Carrier::Ranking, &ranking.fields);
                ranking.items.iter().for_each(|item| self.look(Carrier::Shown, &item.fields));
            }
            Event::Interaction(_) => {}
        }
    }

    fn look(&mut self, carrier: Carrier, fields: &[Field]) {
        self.carriers[carrier as usize] += 1;
        let readers = &self.readers[carrier as usize];
        if readers.is_empty() {
            return;
        }
        for field in fields {
            for &place in readers.get(&field.name).into_iter().flatten() {
                self.watched[place].see(carrier, &field.value);
            }
        }
    }

    pub(super) fn facts(&self) -> Vec<Fact> {
        let unreadable = self.watched.iter().filter_map(Watched::unreadable);
        let unknown = self.watched.iter().filter_map(Watched::unknown);
        unreadable
            .chain(unknown)
            .chain(self.watched.iter().filter_map(|watched| watched.constant(&self.carriers)))
            .collect()
    }
}

impl Watched {
    fn new(feature: String, kind: &Kind, source: Source) -> Self {
        let (kind, category) = (kind.clone(), Category::of(kind));
        Self { feature, kind, source, category, first: None, varies: false, seen: [0; CARRIERS], unreadable: 0 }
    }

    fn see(&mut self, carrier: Carrier, value: &Value) {
        self.seen[carrier as usize] += 1;
        let is_readable = can_read(&self.kind, value);
        self.unreadable += u64::from(!is_readable);
        let digest = match &mut self.category {
            _ if !is_readable => NOTHING,
            Some(category) => category.see(value),
            None if self.varies => return,
            None => digest(value),
        };
        match self.first {
            None => self.first = Some(digest),
            Some(first) => self.varies |= first != digest,
        }
    }

    fn values(&self) -> u64 {
        self.seen.iter().sum()
    }

    fn unreadable(&self) -> Option<Fact> {
        let (unreadable, values) = (self.unreadable, self.values());
        (unreadable > 0).then(|| Fact {
            name: "unreadable values",
            warning: true,
            message: format!(
                "{} of type {} cannot read {} of {}: they count as missing",
                self.feature,
                self.kind.type_name(),
                share(unreadable, values, "values"),
                self.source
            ),
            details: json!({
                "feature": self.feature, "field": self.source.to_string(), "values": values, "unreadable": unreadable,
            }),
        })
    }

    fn unknown(&self) -> Option<Fact> {
        let category = self.category.as_ref().filter(|category| category.unknown > 0)?;
        let mut counts: Vec<_> = category.counts.iter().collect();
        counts.sort_by_key(|(value, count)| (u64::MAX - **count, (*value).clone()));
        let often: Vec<String> =
            counts.iter().take(TOLD).map(|(value, count)| format!("{value:?} ({count})")).collect();
        let share = category.unknown as f64 / category.values as f64 * 100.0;
        let mut message = format!(
            "{} does not know {} of {} values of {} ({share:.1} %)",
            self.feature, category.unknown, category.values, self.source
        );
        if !often.is_empty() {
            message += &format!(", such as {}", often.join(", "));
        }
        let examples: serde_json::Map<_, _> =
            counts.iter().take(TOLD).map(|(value, count)| (value.to_string(), (**count).into())).collect();
        let details = json!({
            "feature": self.feature, "field": self.source.to_string(), "values": category.values, "unknown": category.unknown,
            "distinct": category.counts.len(), "mostOften": examples,
        });
        Some(Fact { name: "unknown values", warning: true, message, details })
    }

    /// Where some of what may carry the field lacks it, its absence is another value.
    fn constant(&self, carriers: &[u64; CARRIERS]) -> Option<Fact> {
        let lacks = |(seen, all): (&u64, &u64)| (1..*all).contains(seen);
        let (seen, reads_nothing) = (self.values(), self.first == Some(NOTHING));
        let may_vary = || !self.kind.is_of_fields_alone() || self.seen.iter().zip(carriers).any(lacks);
        if seen < 2 || self.varies || (!reads_nothing && may_vary()) {
            return None;
        }
        let what = if reads_nothing {
            "has no value that the feature can use"
        } else {
            "always has the same value for the feature"
        };
        Some(Fact {
            name: "features that never vary",
            warning: true,
            message: format!(
                "{}: {} {what} in {seen} events and items of rankings, so no model can learn from it",
                self.feature, self.source
            ),
            details: json!({ "feature": self.feature, "field": self.source.to_string(), "seen": seen }),
        })
    }
}

impl Category {
    fn of(kind: &Kind) -> Option<Self> {
        let Kind::Text(text) = kind else { return None };
        Some(Self {
            known: text.values.iter().map(CompactString::from).collect(),
            first_alone: text.encode == Encoding::Index,
            values: 0,
            unknown: 0,
            counts: HashMap::default(),
        })
    }

    /// Counts values that are not known. A digest of those that are; nothing where none is.
    fn see(&mut self, value: &Value) -> u64 {
        let texts: &[CompactString] = match value {
            Value::Text(text) => std::slice::from_ref(text),
            Value::Texts(texts) if self.first_alone => texts.get(..1).unwrap_or_default(),
            Value::Texts(texts) => texts,
            Value::Bool(_) | Value::Number(_) | Value::Numbers(_) => &[],
        };
        let mut is_any_known = false;
        let mut hasher = HASHER.build_hasher();
        for text in texts {
            self.values += 1;
            if self.known.contains(text) {
                text.hash(&mut hasher);
                is_any_known = true;
                continue;
            }
            self.unknown += 1;
            if let Some(count) = self.counts.get_mut(text) {
                *count += 1;
            } else if self.counts.len() < MOST {
                self.counts.insert(text.clone(), 1);
            }
        }
        if is_any_known { hasher.finish() } else { NOTHING }
    }
}

fn digest(value: &Value) -> u64 {
    let mut hasher = HASHER.build_hasher();
    match value {
        Value::Bool(flag) => flag.hash(&mut hasher),
        Value::Number(number) => number.to_bits().hash(&mut hasher),
        Value::Text(text) => text.hash(&mut hasher),
        Value::Numbers(numbers) => numbers.iter().for_each(|number| number.to_bits().hash(&mut hasher)),
        Value::Texts(texts) => texts.hash(&mut hasher),
    }
    hasher.finish()
}
