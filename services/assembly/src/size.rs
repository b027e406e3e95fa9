//! What the state takes, by feature.

mod forecast;
mod growth;
mod watch;

pub use growth::Growth;
pub(crate) use watch::Watch;

use rankwright_config::Config;
use rankwright_feature::{Error as Unread, Zeros, readers};
use rankwright_state::{Error, Fingerprint, Memory, Purpose, Room, Slot, Store, Usage};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};

/// Who reads what is stored, by names: as a [plan](rankwright_feature::Plan::readers) knows it, or a [configuration](readers).
pub(crate) type Readers = BTreeMap<Fingerprint, Vec<String>>;

/// Values that no feature of the configuration reads.
const UNUSED: &str = "unused";

/// What a state takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Size {
    /// As the store tells.
    pub usage: Usage,
    /// What each feature takes, and each model (`models.<name>`); those that store nothing are left out.
    pub features: BTreeMap<String, Room>,
    /// What takes the rest.
    pub other: BTreeMap<&'static str, Room>,
}

impl Size {
    /// Size of a state, from a sample of about `keys` keys of each server.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) async fn of(store: &dyn Store, readers: &Readers, keys: usize) -> Result<Self, Error> {
        let (usage, known) = (store.usage(keys).await?, store.known_slots().await?);
        Ok(Self::shared_out(usage, &known, readers))
    }

    /// What values will take that no state holds yet. Models of texts need not be there.
    ///
    /// # Errors
    /// When a file of a feature cannot be read.
    pub fn foreseen(usage: Usage, known: &[(Fingerprint, Slot)], config: &Config) -> Result<Self, Unread> {
        Ok(Self::shared_out(usage, known, &readers(config, &Zeros::of(config))?))
    }

    /// The bytes of a value that several features read are shared out evenly among them; each counts the value.
    fn shared_out(usage: Usage, known: &[(Fingerprint, Slot)], readers: &Readers) -> Self {
        let slots: HashMap<Slot, &Vec<String>> =
            known.iter().filter_map(|(meaning, slot)| Some((*slot, readers.get(meaning)?))).collect();
        let mut by_feature: BTreeMap<String, Room> = readers.values().flatten().map(|name| named(name)).collect();
        let mut other = BTreeMap::<_, Room>::new();
        for (purpose, room) in &usage.room {
            let read_by = match purpose {
                Purpose::Values(slot) => slots.get(slot),
                _ => None,
            };
            match (read_by, purpose) {
                (Some(names), _) => share(&mut by_feature, names, *room),
                (None, Purpose::Values(_)) => add(other.entry(UNUSED).or_default(), *room),
                (None, _) => add(other.entry(purpose.name()).or_default(), *room),
            }
        }
        Self { usage, features: by_feature, other }
    }

    /// For `GET /status` and `rankwright status --json`.
    pub fn json(&self) -> Value {
        let all = self.usage.bytes().max(1) as f64;
        let room = |room: &Room| {
            let share = (room.bytes as f64 / all * 1000.0).round() / 1000.0;
            json!({ "values": room.values, "bytes": room.bytes, "share": share })
        };
        let features: serde_json::Map<_, _> =
            self.features.iter().map(|(name, found)| (name.clone(), room(found))).collect();
        let other: serde_json::Map<_, _> =
            self.other.iter().map(|(name, found)| ((*name).to_owned(), room(found))).collect();
        let servers: Vec<_> = self.usage.servers.iter().map(memory).collect();
        json!({
            "bytes": self.usage.bytes(),
            "keys": self.usage.keys,
            "sampledKeys": self.usage.sampled,
            "wholeState": self.usage.whole,
            "features": features,
            "other": other,
            "servers": servers,
        })
    }
}

fn memory(memory: &Memory) -> Value {
    json!({ "usedBytes": memory.used, "limitBytes": memory.limit })
}

fn named(name: &str) -> (String, Room) {
    (name.to_owned(), Room::default())
}

fn add(sum: &mut Room, more: Room) {
    sum.values += more.values;
    sum.bytes += more.bytes;
}

fn share(features: &mut BTreeMap<String, Room>, names: &[String], room: Room) {
    let each = room.bytes / names.len() as u64;
    for (place, name) in names.iter().enumerate() {
        let rest = if place == 0 { room.bytes % names.len() as u64 } else { 0 };
        add(features.entry(name.clone()).or_default(), Room { values: room.values, bytes: each + rest });
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn config() -> Config {
        let text = "features: [{name: a, type: number, source: item.x, scope: item},
            {name: b, type: list_size, source: item.x, scope: item}, {name: now, type: relevancy},
            {name: c, type: interaction_count, interaction: click, scope: item}]
models: {none: {type: noop}}";
        Config::parse(text, "test").expect("a valid configuration").0
    }

    #[test]
    fn what_features_take_and_the_rest_add_up_to_the_whole() {
        let readers = readers(&config(), &Zeros::default()).expect("it needs no file");
        let meanings: BTreeMap<usize, Fingerprint> =
            readers.iter().map(|(meaning, names)| (names.len(), *meaning)).collect();
        let known = [(meanings[&2], Slot(0)), (meanings[&1], Slot(5)), (Fingerprint(1), Slot(7))];
        let room = |values, bytes| Room { values, bytes };
        let found = [
            (Purpose::Values(Slot(0)), room(10, 101)),
            (Purpose::Values(Slot(5)), room(3, 50)),
            (Purpose::Values(Slot(7)), room(2, 20)),
            (Purpose::Values(Slot(8)), room(2, 4)),
            (Purpose::Joins, room(1, 9)),
        ];
        let usage = Usage { room: found.into(), ..Usage::default() };
        let size = Size::shared_out(usage, &known, &readers);
        let named = |name: &str| size.features[name];
        assert_eq!((named("a"), named("b"), named("c")), (room(10, 51), room(10, 50), room(3, 50)));
        assert!(!size.features.contains_key("now"), "it stores nothing");
        assert_eq!(size.other, [("joins", room(1, 9)), ("unused", room(4, 24))].into());
        let sum: u64 = size.features.values().chain(size.other.values()).map(|room| room.bytes).sum();
        assert_eq!(sum, size.usage.bytes());
        assert_eq!(size.json()["features"]["c"]["share"], 0.272);
    }
}
