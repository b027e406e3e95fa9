//! What lies in the store for the join: records of rankings, waiting interactions, closed click-throughs.

use crate::error::Error;
use crate::record::{self, Closed, Open};
use crate::shown::{Shown, ShownRef};
use rankwright_clickthrough::Clickthrough;
use rankwright_event::{Interaction, Ranking, RankingId, Tenant, Timestamp};
use rankwright_feature::{Plan, Tag};
use rankwright_state::{Cell, Entity, Key, Part, Parts, Scope, Slot, Stored};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::time::Duration;

/// What was shown, in a join record or a closed one.
const SHOWN: Slot = Slot(0);
/// Interactions of what was shown.
const INTERACTIONS: Slot = Slot(1);
/// An interaction alone, waiting or closed.
const ALONE: Slot = Slot(2);
/// How the names of interactions alone begin where they wait to be durable elsewhere; a ranking that is called so is given
/// the other beginning.
const ALONE_BEGINS: &str = "interaction ";
const RANKING_BEGINS: &str = "ranking ";
/// That the effects of an interaction alone are there already.
const COUNTED: Slot = Slot(3);

/// Impressions of what was shown, as their sender reports them.
const IMPRESSIONS: Slot = Slot(4);

pub(super) fn join_key(tenant: &Tenant, ranking: &RankingId) -> Key {
    Key::new(tenant, Scope::Join(ranking.clone()))
}

pub(super) fn waiting_key(interaction: &Interaction) -> Key {
    Key::new(&interaction.tenant, Scope::Waiting(interaction.id.clone()))
}

/// Where a closed ranking waits until it is durable elsewhere.
pub(super) fn closed_key(ranking: &Ranking) -> Key {
    let id = &ranking.id;
    let taken = [ALONE_BEGINS, RANKING_BEGINS].iter().any(|begins| id.as_str().starts_with(begins));
    let name = if taken { format!("{RANKING_BEGINS}{id}").into() } else { id.clone() };
    Key::new(&ranking.tenant, Scope::Outbox(name))
}

/// The same for an interaction alone, whose id may be that of a ranking.
pub(super) fn closed_alone_key(interaction: &Interaction) -> Key {
    Key::new(&interaction.tenant, Scope::Outbox(format!("{ALONE_BEGINS}{}", interaction.id).into()))
}

pub(super) fn shown(ranking: &Ranking, columns: &[Tag], rows: &[f32]) -> (Slot, Stored) {
    let cell = Cell::Blob(bytes(&ShownRef::new(ranking, columns, rows)).into());
    (SHOWN, Stored { at: ranking.timestamp, event: ranking.id.digest(), cell })
}

pub(super) fn added(interaction: &Interaction) -> (Slot, Stored) {
    let (at, event) = (interaction.timestamp, interaction.id.digest());
    let part = Part { at, event, bytes: bytes(interaction).into() };
    let slot = if record::is_impression(interaction) { IMPRESSIONS } else { INTERACTIONS };
    (slot, Stored { at, event, cell: Cell::Parts(Parts::one(part)) })
}

pub(super) fn alone(interaction: &Interaction) -> (Slot, Stored) {
    let cell = Cell::Blob(bytes(interaction).into());
    (ALONE, Stored { at: interaction.timestamp, event: interaction.id.digest(), cell })
}

pub(super) fn counted(interaction: &Interaction) -> (Slot, Stored) {
    (COUNTED, Stored { at: interaction.timestamp, event: interaction.id.digest(), cell: Cell::Flags(1) })
}

/// When the ranking of a join record was shown; `None` where the record has none.
pub(super) fn shown_at(record: Option<&Arc<Entity>>) -> Option<Timestamp> {
    record?.values().find(|(slot, _)| *slot == SHOWN).map(|(_, stored)| stored.at)
}

/// Whether a join record takes an interaction: it has its ranking, which was shown early enough for it.
pub(super) fn takes(record: Option<&Arc<Entity>>, interaction: &Interaction, wait: Duration) -> bool {
    shown_at(record).is_some_and(|shown| shown <= interaction.timestamp.plus(wait))
}

/// Whether the effects of a waiting interaction are there already.
pub(super) fn is_counted(waiting: &Entity) -> bool {
    waiting.values().any(|(slot, _)| slot == COUNTED)
}

/// The ranking of a record; `None` where late interactions alone are left of it.
pub(crate) fn ranking(key: &Key, record: &Entity) -> Result<Option<Shown>, Error> {
    record.blob(SHOWN).map(|bytes| Shown::read(bytes).map_err(|error| damaged(key, &error))).transpose()
}

/// The same with its interactions, and rows of a plan's columns.
pub(super) fn open(key: &Key, record: &Entity, plan: &Plan) -> Result<Option<Open>, Error> {
    let Some(shown) = ranking(key, record)? else { return Ok(None) };
    Ok(Some(Open::restored(shown, late(key, record)?, plan)))
}

/// A waiting or closed interaction.
pub(super) fn interaction(key: &Key, entity: &Entity) -> Result<Interaction, Error> {
    let damaged = || Error::Damaged { ranking: key.to_string(), reason: "its interaction is missing".into() };
    read(key, entity.blob(ALONE).ok_or_else(damaged)?)
}

/// An interaction alone, be it waiting or closed; `None` where this is a ranking's record.
pub(crate) fn waiting(key: &Key, entity: &Entity) -> Result<Option<Interaction>, Error> {
    entity.blob(ALONE).map(|bytes| read(key, bytes)).transpose()
}

/// The interactions of a record, whether its ranking is there or not.
pub(crate) fn late(key: &Key, record: &Entity) -> Result<Vec<Interaction>, Error> {
    let parts = [INTERACTIONS, IMPRESSIONS].into_iter().flat_map(|slot| record.parts(slot));
    parts.map(|part| read(key, &part.bytes)).collect()
}

/// A closed click-through.
pub(super) fn closed(key: &Key, entity: &Entity, plan: &Plan) -> Result<Closed, Error> {
    Ok(match open(key, entity, plan)? {
        Some(open) => Closed::Ranking(open),
        None => Closed::Written(Clickthrough::of_interaction(&interaction(key, entity)?)),
    })
}

fn bytes(value: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(value).expect("plain data in memory can always be encoded")
}

fn read<T: DeserializeOwned>(key: &Key, bytes: &[u8]) -> Result<T, Error> {
    postcard::from_bytes(bytes).map_err(|error| damaged(key, &error))
}

fn damaged(key: &Key, error: &postcard::Error) -> Error {
    Error::Damaged { ranking: key.to_string(), reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used)]
    use super::*;
    use rankwright_event::{Event, json};
    use std::collections::BTreeSet;

    #[test]
    fn what_waits_to_be_durable_is_told_apart_whatever_its_id_is() {
        let ids = ["x", "interaction x", "interaction interaction x", "ranking x", "ranking interaction x", "ranking "];
        let mut keys = BTreeSet::new();
        for id in ids {
            let ranking = format!(r#"{{"event":"ranking","id":"{id}","timestamp":"1","items":[{{"id":"a"}}]}}"#);
            let click = format!(r#"{{"event":"interaction","id":"{id}","timestamp":"1","type":"click","item":"a"}}"#);
            for event in [ranking, click] {
                keys.insert(match json::decode(event.as_bytes()).expect("a valid event") {
                    Event::Ranking(ranking) => closed_key(&ranking),
                    Event::Interaction(interaction) => closed_alone_key(&interaction),
                    other => panic!("{other:?}"),
                });
            }
        }
        assert_eq!(keys.len(), 2 * ids.len(), "{keys:?}");
    }
}
