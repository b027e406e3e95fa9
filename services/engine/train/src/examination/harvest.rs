//! Counts of what stood where and was clicked, gathered from click-throughs.

use super::fit::{Cell, fit};
use super::{Curve, Method, Point};
use crate::dataset::visitor;
use crate::digest;
use crate::fields::text_of;
use rankwright_clickthrough::Clickthrough;
use rankwright_config::model::Weighting;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Positions that are told apart; what stands behind the last one counts as standing there.
pub(super) const POSITIONS: usize = 256;
/// Groups of visitors, each of which is left out once.
pub(super) const GROUPS: u8 = 10;
/// The most counts that stay in memory, about 200 MB of them. Beyond, only a part of the items is looked at.
const MOST_CELLS: usize = 4_000_000;
/// A field with more values tells no rankers apart.
const MOST_ARMS: usize = 200;
/// Names of fields that an error lists.
const LISTED: usize = 20;
/// Keeps draws of groups apart from other uses of a visitor's digest.
const SALT: u64 = 0x6e0a_b1a5;

/// Why the examination of positions cannot be estimated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoCurve {
    /// The field that should tell rankers apart is in no ranking.
    #[error("no ranking has the field {field:?}; rankings have {}", some_of(known))]
    NoField {
        /// Its name.
        field: String,
        /// Fields that there are.
        known: Vec<String>,
    },
    /// No list is in random order.
    #[error("no ranking has {value:?} in the field {field:?}; there are {}", some_of(known))]
    NoneRandomized {
        /// Name of the field.
        field: String,
        /// The value of lists in random order.
        value: String,
        /// Values that there are.
        known: Vec<String>,
    },
    /// All lists come from one ranker.
    #[error("the field {field:?} has the same value {value:?} in all rankings: it tells no rankers apart")]
    OneRanker {
        /// Name of the field.
        field: String,
        /// Its value.
        value: String,
    },
    /// The field names no rankers.
    #[error("the field {field:?} has more than {MOST_ARMS} values: it tells no rankers apart")]
    TooManyRankers {
        /// Name of the field.
        field: String,
    },
    /// All labels are judgements.
    #[error("no ranking has clicks: labels that rankings bring along do not depend on positions")]
    NoClicks,
    /// The same items always stood at the same positions, or there are too few clicks.
    #[error(
        "only {clicks} clicks are on items that {stood} at several positions, and {least} are needed at two of them: show some lists in \
         another order, and name the ranking field that tells them apart (`--arm`)"
    )]
    TooFew {
        /// Clicks that can be compared.
        clicks: u64,
        /// In what way they did.
        stood: &'static str,
        /// How many clicks a position needs.
        least: u64,
    },
}

fn some_of(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// What stood where, counted as click-throughs are read.
#[derive(Debug)]
pub struct Harvest<'a> {
    by: &'a Weighting,
    cells: HashMap<Key, Count>,
    /// Items whose digest is not above this are looked at.
    below: u64,
    most: usize,
    arms: BTreeMap<String, u8>,
    too_many_arms: bool,
    /// Names of fields, while none had the one that is looked for.
    fields: BTreeSet<String>,
    found: bool,
    positions: Vec<Count>,
}

/// An item at a position, as visitors of a group saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Key {
    unit: u64,
    arm: u8,
    position: u16,
    group: u8,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Count {
    shown: u64,
    clicks: u64,
}

impl Count {
    fn add(&mut self, clicked: bool) {
        self.shown += 1;
        self.clicks += u64::from(clicked);
    }
}

/// How a list takes part.
struct Part {
    arm: u8,
    /// What items are told apart by, besides their ids.
    context: u64,
}

impl<'a> Harvest<'a> {
    /// Nothing counted yet.
    pub fn new(by: &'a Weighting) -> Self {
        let (cells, arms, fields, positions) = Default::default();
        Self {
            by,
            cells,
            below: u64::MAX,
            most: MOST_CELLS,
            arms,
            too_many_arms: false,
            fields,
            found: false,
            positions,
        }
    }

    #[cfg(test)]
    pub(super) fn with_room_for(by: &'a Weighting, most: usize) -> Self {
        Self { most, ..Self::new(by) }
    }

    /// Counts a list whose items have these labels, or no positive one. A list with labels of its own is no one's clicks.
    pub fn see(&mut self, record: &Clickthrough, labels: Option<&[f32]>) {
        if is_judged(record) {
            return;
        }
        let clicked = |place: usize| labels.is_some_and(|labels| labels[place] > 0.0);
        let longest = record.items.len().min(POSITIONS);
        self.positions.resize(self.positions.len().max(longest), Count::default());
        (0..record.items.len()).for_each(|place| self.positions[place.min(POSITIONS - 1)].add(clicked(place)));
        let Some(part) = self.part(record) else { return };
        let group = (digest::mix(visitor(record), SALT) % u64::from(GROUPS)) as u8;
        for (place, item) in record.items.iter().enumerate() {
            let unit = match self.method() {
                Method::Randomized => part.context, // the length of the list alone
                _ => digest::of_text(part.context, item.id.as_str()),
            };
            if digest::mix(unit, SALT) <= self.below {
                let position = place.min(POSITIONS - 1) as u16;
                self.cells.entry(Key { unit, arm: part.arm, position, group }).or_default().add(clicked(place));
            }
        }
        while self.cells.len() > self.most {
            self.below /= 2;
            let below = self.below;
            self.cells.retain(|key, _| digest::mix(key.unit, SALT) <= below);
        }
    }

    fn method(&self) -> Method {
        match &self.by.arm {
            Some(arm) if arm.randomized.is_some() => Method::Randomized,
            Some(_) => Method::Rankers,
            None => Method::Items,
        }
    }

    /// How a list takes part; `None` where a field that is needed is missing, or it is in no random order.
    fn part(&mut self, record: &Clickthrough) -> Option<Part> {
        let tenant = digest::of_text(0, record.tenant.as_str());
        let arm = match &self.by.arm {
            None => 0,
            Some(arm) => {
                let Some(value) = text_of(record, &arm.field) else {
                    self.note_fields(record);
                    return None;
                };
                self.found = true;
                let number = self.arm(value.clone())?;
                if arm.randomized.as_ref().is_some_and(|randomized| *randomized != value) {
                    return None;
                }
                number
            }
        };
        let context = match &self.by.context {
            None => tenant,
            Some(field) => match text_of(record, field) {
                Some(value) => {
                    self.found = true;
                    digest::mix(digest::of_text(tenant, &value), SALT)
                }
                None => {
                    self.note_fields(record);
                    return None;
                }
            },
        };
        // positions at the end exist in long lists alone, which are clicked in another way
        let length = matches!(self.method(), Method::Randomized).then_some(record.items.len() as u64);
        Some(Part { arm, context: length.map_or(context, |length| digest::mix(context, length)) })
    }

    fn arm(&mut self, value: String) -> Option<u8> {
        if let Some(&number) = self.arms.get(&value) {
            return Some(number);
        }
        if self.arms.len() == MOST_ARMS {
            self.too_many_arms = true;
            return None;
        }
        let number = self.arms.len() as u8;
        self.arms.insert(value, number);
        Some(number)
    }

    fn note_fields(&mut self, record: &Clickthrough) {
        if !self.found && self.fields.len() < LISTED {
            self.fields.extend(record.fields.iter().map(|field| field.name.to_string()));
        }
    }

    /// The curve of all that was counted.
    ///
    /// # Errors
    /// Where nothing tells the positions apart from the items.
    pub fn curve(&self) -> Result<Curve, NoCurve> {
        if !self.positions.iter().any(|count| count.clicks > 0) {
            return Err(NoCurve::NoClicks);
        }
        self.check()?;
        let fitted = fit(self.compared()).map_err(|(clicks, least)| {
            let stood = match self.method() {
                Method::Rankers => "different rankers showed",
                _ => "stood",
            };
            NoCurve::TooFew { clicks, stood, least }
        })?;
        let point = |(place, count): (usize, &Count)| {
            let (examination, interval) = fitted.at(place);
            let (low, high) = (interval.map(|(low, _)| low), interval.map(|(_, high)| high));
            Point { position: place + 1, examination, low, high, shown: count.shown, clicks: count.clicks }
        };
        let points = self.positions.iter().enumerate().map(point).collect();
        Ok(Curve { method: self.method(), estimated_from: self.sentence(), compared: fitted.units, points })
    }

    fn check(&self) -> Result<(), NoCurve> {
        let known = || self.fields.iter().cloned().collect();
        match (&self.by.arm, &self.by.context) {
            (Some(arm), _) if self.arms.is_empty() => {
                Err(NoCurve::NoField { field: arm.field.clone(), known: known() })
            }
            (None, Some(field)) if !self.found => Err(NoCurve::NoField { field: field.clone(), known: known() }),
            (Some(arm), _) => self.check_arms(&arm.field, arm.randomized.as_deref()),
            _ => Ok(()),
        }
    }

    fn check_arms(&self, field: &str, randomized: Option<&str>) -> Result<(), NoCurve> {
        let field = field.to_owned();
        match randomized {
            Some(value) if self.arms.contains_key(value) => Ok(()),
            Some(value) => {
                let known = self.arms.keys().take(LISTED).cloned().collect();
                Err(NoCurve::NoneRandomized { field, value: value.to_owned(), known })
            }
            None if self.too_many_arms => Err(NoCurve::TooManyRankers { field }),
            None if self.arms.len() == 1 => {
                let value = self.arms.keys().next().cloned().unwrap_or_default();
                Err(NoCurve::OneRanker { field, value })
            }
            None => Ok(()),
        }
    }

    /// The counts that tell positions apart: those of items at several positions, with rankers of items that another one showed
    /// elsewhere.
    fn compared(&self) -> Vec<Cell> {
        let mut cells: Vec<(Key, Count)> = self.cells.iter().map(|(&key, &count)| (key, count)).collect();
        cells.sort_unstable_by_key(|&(key, _)| key);
        let by_rankers = matches!(self.method(), Method::Rankers);
        let mut compared = Vec::new();
        for unit in cells.chunk_by(|(left, _), (right, _)| left.unit == right.unit) {
            let places: BTreeSet<(u8, u16)> = unit.iter().map(|(key, _)| (key.arm, key.position)).collect();
            let differs =
                |key: &Key| places.iter().any(|&(arm, place)| place != key.position && (!by_rankers || arm != key.arm));
            let kept = unit.iter().filter(|(key, _)| differs(key));
            compared.extend(kept.map(|(key, count)| Cell {
                unit: key.unit,
                position: key.position,
                group: key.group,
                shown: count.shown as f64,
                clicks: count.clicks as f64,
            }));
        }
        compared
    }

    fn sentence(&self) -> String {
        let within = self.by.context.as_ref().map_or_else(String::new, |field| format!(" within one value of {field}"));
        match (&self.by.arm, self.method()) {
            (Some(arm), Method::Randomized) => {
                let value = arm.randomized.as_deref().unwrap_or_default();
                format!("clicks on lists in random order, those whose field {} is {value}{within}", arm.field)
            }
            (Some(arm), _) => {
                let names = self.arms.keys().take(LISTED).cloned().collect::<Vec<_>>().join(", ");
                format!(
                    "clicks on items that several rankers showed at different positions{within}; the field {} tells the rankers apart: {names}",
                    arm.field
                )
            }
            (None, _) => format!(
                "clicks on items that were shown at several positions{within}, whatever brought them there; this assumes that an item \
                 pleases as much wherever it stands"
            ),
        }
    }
}

/// Whether labels came with the ranking: they are judgements, and depend on no position.
pub(crate) fn is_judged(record: &Clickthrough) -> bool {
    record.items.iter().any(|item| item.label.is_some())
}
