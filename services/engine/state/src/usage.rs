//! How much room a state takes, and what for: an estimate from some of its keys.
//!
//! A key's bytes are shared out among the slots under it in proportion to their encoded values; what a key costs
//! besides (its name, tables of the store) is spread with them. So the parts add up to the whole.

mod foreseen;

pub use foreseen::Foreseen;

use crate::{Entity, Error, Format, Key, Slot, Space, codec};
use std::collections::BTreeMap;

/// What room is taken for. Each store has those that it can tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Purpose {
    /// Values of features.
    Values(Slot),
    /// Open rankings.
    Joins,
    /// Click-throughs that are not durable elsewhere yet.
    Outbox,
    /// Ids of events.
    Seen,
    /// Interactions that wait for their ranking.
    Waiting,
    /// How far writers have come in event time.
    Watermarks,
    /// Positions of writers, what is under way of their batches, and tasks that one process holds.
    Writers,
    /// What keys there are, and what slots mean.
    Indexes,
    /// Click-throughs, where they lie in the same database.
    Clickthroughs,
    /// Models, where they lie in the same database.
    Models,
    /// Generations that are being filled, or were left.
    Generations,
    /// Anything else of the service.
    Rest,
}

/// How much of it there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Room {
    /// Number of values, or of keys where they hold no values of features.
    pub values: u64,
    /// What they take.
    pub bytes: u64,
}

/// The memory of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    /// Which one: another one after each start of the server.
    pub server: String,
    /// What everything in it takes, of all its users.
    pub used: u64,
    /// What it may take at most, where that is set.
    pub limit: Option<u64>,
}

/// What a state takes, by a sample of its keys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Usage {
    /// About how many keys there are, of this service alone.
    pub keys: u64,
    /// How many of them were looked at.
    pub sampled: u64,
    /// Whether these were all.
    pub whole: bool,
    /// What the room is taken for.
    pub room: BTreeMap<Purpose, Room>,
    /// The servers that hold it; none where they do not tell.
    pub servers: Vec<Memory>,
}

impl Purpose {
    /// What its keys are called in reports; values are called as their features.
    pub fn name(self) -> &'static str {
        match self {
            Self::Values(_) => "values",
            Self::Joins => "joins",
            Self::Outbox => "outbox",
            Self::Seen => "seen",
            Self::Waiting => "waiting",
            Self::Watermarks => "watermarks",
            Self::Writers => "writers",
            Self::Indexes => "indexes",
            Self::Clickthroughs => "clickthroughs",
            Self::Models => "models",
            Self::Generations => "generations",
            Self::Rest => "rest",
        }
    }

    /// What the keys of a part of the state are for; those of values depend on what is under them.
    pub(crate) fn of(space: Space) -> Option<Self> {
        match space {
            Space::Values => None,
            Space::Joins => Some(Self::Joins),
            Space::Outbox => Some(Self::Outbox),
            Space::Seen => Some(Self::Seen),
            Space::Waiting => Some(Self::Waiting),
            Space::Watermarks => Some(Self::Watermarks),
        }
    }
}

impl Usage {
    /// The sum of all parts.
    pub fn bytes(&self) -> u64 {
        self.room.values().map(|room| room.bytes).sum()
    }
}

/// A sample as it grows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sample {
    room: BTreeMap<Purpose, (f64, f64)>,
    sampled: u64,
}

impl Sample {
    /// Notes something that stands for `stands_for` like it.
    pub(crate) fn note(&mut self, purpose: Purpose, bytes: f64, stands_for: f64) {
        self.add(purpose, 1.0, bytes, stands_for);
        self.sampled += 1;
    }

    /// Notes an entity; one of features by its slots, `bytes` with all that its key costs.
    pub(crate) fn entity(
        &mut self,
        key: &Key,
        entity: &Entity,
        (bytes, format): (f64, Format),
        stands_for: f64,
    ) -> Result<(), Error> {
        if let Some(purpose) = Purpose::of(key.scope.space()) {
            self.note(purpose, bytes, stands_for);
            return Ok(());
        }
        let lengths = lengths(entity, format)?;
        let sum = lengths.iter().map(|(_, length)| length).sum::<f64>();
        self.sampled += 1;
        if sum == 0.0 {
            self.add(Purpose::Rest, 1.0, bytes, stands_for);
        }
        for (slot, length) in lengths {
            self.add(Purpose::Values(slot), 1.0, bytes * length / sum, stands_for);
        }
        Ok(())
    }

    /// What was noted stands for `stands_for` times as much.
    pub(crate) fn scale(&mut self, stands_for: f64) {
        for (values, bytes) in self.room.values_mut() {
            (*values, *bytes) = (*values * stands_for, *bytes * stands_for);
        }
    }

    /// How many keys were noted.
    pub(crate) fn sampled(&self) -> u64 {
        self.sampled
    }

    /// What all of them come to.
    pub(crate) fn usage(self, keys: f64, whole: bool, servers: Vec<Memory>) -> Usage {
        let room = |(values, bytes): (f64, f64)| Room { values: values.round() as u64, bytes: bytes.round() as u64 };
        let room = self.room.into_iter().map(|(purpose, sums)| (purpose, room(sums))).collect();
        Usage { keys: keys.round() as u64, sampled: self.sampled, whole, room, servers }
    }

    fn add(&mut self, purpose: Purpose, values: f64, bytes: f64, stands_for: f64) {
        let sums = self.room.entry(purpose).or_default();
        sums.0 += values * stands_for;
        sums.1 += bytes * stands_for;
    }
}

/// What each value adds to what is written of those before it: what they share counts for the first.
fn lengths(entity: &Entity, format: Format) -> Result<Vec<(Slot, f64)>, Error> {
    let mut part = Entity::default();
    let mut before = codec::encode(&part, format)?.len();
    let length = |(slot, stored): (Slot, &crate::Stored)| {
        part.absorb_value(slot, stored);
        let now = codec::encode(&part, format)?.len();
        Ok((slot, now.saturating_sub(std::mem::replace(&mut before, now)) as f64))
    };
    entity.values().map(length).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{item, stored};
    use crate::{Cell, FieldValue, Scope};
    use rankwright_event::Tenant;

    fn text(length: usize) -> Cell {
        Cell::Field(FieldValue::Text(crate::Term::from("x".repeat(length).as_str())))
    }

    fn entity(values: Vec<Cell>) -> Entity {
        let values = values.into_iter().enumerate().map(|(slot, cell)| (Slot(slot as u16), stored(1, cell)));
        Entity::from_values(values.collect()).expect("in order")
    }

    #[test]
    fn the_parts_of_a_key_add_up_to_it_in_proportion_to_their_values() {
        for format in [Format::Binary, Format::Json] {
            let mut sample = Sample::default();
            let entity = entity(vec![text(3_000), text(1_000), Cell::Counter(7)]);
            sample.entity(&item("a"), &entity, (8_400.0, format), 10.0).expect("encodes");
            let usage = sample.usage(10.0, false, Vec::new());
            assert!(usage.bytes().abs_diff(84_000) <= 2, "each part is rounded: {usage:?}");
            let bytes = |slot| usage.room[&Purpose::Values(Slot(slot))].bytes as f64;
            assert!((2.8..3.1).contains(&(bytes(0) / bytes(1))), "{format:?} {usage:?}");
            assert!(bytes(2) < 2_000.0, "{format:?} {usage:?}");
            assert_eq!((usage.sampled, usage.room[&Purpose::Values(Slot(2))].values), (1, 10));
        }
    }

    #[test]
    fn what_belongs_to_no_feature_has_names_of_its_own() {
        let mut sample = Sample::default();
        let mut note = |scope| {
            let key = Key::new(&Tenant::default(), scope);
            sample.entity(&key, &entity(vec![text(10)]), (100.0, Format::Binary), 1.0).expect("encodes");
        };
        let work = [Scope::Join("r".into()), Scope::Outbox("r".into()), Scope::Seen("e".into())];
        work.into_iter().for_each(&mut note);
        [Scope::Waiting("e".into()), Scope::Watermark("w".into()), Scope::Global].into_iter().for_each(&mut note);
        sample.entity(&item("empty"), &Entity::default(), (50.0, Format::Binary), 1.0).expect("encodes");
        let usage = sample.usage(7.0, true, Vec::new());
        let names: Vec<_> = usage.room.iter().map(|(purpose, room)| (purpose.name(), room.bytes)).collect();
        let hundred = ["values", "joins", "outbox", "seen", "waiting", "watermarks"].map(|name| (name, 100));
        assert_eq!(names, [&hundred[..], &[("rest", 50)]].concat());
    }
}
