//! An open ranking, in memory and as a durable store holds it.

use crate::rows::Promise;
use crate::short::short;
use crate::shown::{Shown, ShownRef};
use rankwright_clickthrough::{Click, Clickthrough, Rows};
use rankwright_event::{Field, Interaction, Ranking, RankingId, Tenant, Timestamp};
use rankwright_feature::{ClosedInteraction, Effects, IMPRESSION, Plan, Tag};
use rankwright_state::{Cell, Entity, Key, Parts, Scope, Slot, Stored};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::borrow::Cow;
use std::sync::{Arc, Once};
use std::time::Duration;

/// The impressions of one ranking, and the other interactions with it, take no more bytes than this and the last one each: a commit
/// writes all of them again.
const MOST_BYTES: usize = 4 << 20;

/// Slots of a stored join record.
const RANKING: Slot = Slot(0);
const INTERACTIONS: Slot = Slot(1);
const SEALED: Slot = Slot(2);

/// What interactions are joined by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct JoinId {
    pub(crate) tenant: Tenant,
    /// The short name of the ranking's id.
    pub(crate) ranking: RankingId,
}

/// A borrowed [`JoinId`], to look one up.
#[derive(Hash)]
pub(crate) struct JoinRef<'a> {
    tenant: &'a Tenant,
    ranking: Cow<'a, str>,
}

impl<'a> JoinRef<'a> {
    pub(crate) fn new(tenant: &'a Tenant, ranking: &'a RankingId) -> Self {
        Self { tenant, ranking: short(ranking.as_str()) }
    }
}

impl hashbrown::Equivalent<Arc<JoinId>> for JoinRef<'_> {
    fn equivalent(&self, id: &Arc<JoinId>) -> bool {
        self.ranking == id.ranking.as_str() && *self.tenant == id.tenant
    }
}

/// A ranking that still takes interactions, with its rows as they were when it was shown.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) ranking: Arc<Ranking>,
    pub(crate) width: usize,
    pub(crate) rows: Promise,
    pub(crate) interactions: Vec<Interaction>,
    /// Time of the ranking or of its newest interaction.
    pub(crate) last: Timestamp,
    /// About this many bytes it takes in memory.
    bytes: usize,
}

/// What takes no more interactions.
pub(crate) enum Closed {
    /// A ranking.
    Ranking(Open),
    /// Anything as it is stored, such as an interaction without a ranking.
    Written(Clickthrough),
}

/// A join record that was read back.
pub(crate) struct Restored {
    pub(crate) shown: Option<Shown>,
    pub(crate) interactions: Vec<Interaction>,
    /// Its effects were applied; only its click-through is owed. Records under [`Scope::Join`] say so that were left by a
    /// version before those closed had a key of their own.
    pub(crate) sealed: bool,
}

impl JoinId {
    pub(crate) fn new(tenant: &Tenant, ranking: &RankingId) -> Self {
        Self { tenant: tenant.clone(), ranking: short(ranking.as_str()).into() }
    }

    pub(crate) fn of(ranking: &Ranking) -> Self {
        Self::new(&ranking.tenant, &ranking.id)
    }

    pub(crate) fn borrowed(&self) -> JoinRef<'_> {
        JoinRef::new(&self.tenant, &self.ranking)
    }

    pub(crate) fn key(&self) -> Key {
        Key::new(&self.tenant, Scope::Join(self.ranking.clone()))
    }
}

impl Closed {
    /// About how many bytes it takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Ranking(open) => open.bytes(),
            Self::Written(record) => {
                let counted = bytes(record.items.len(), record.rows.values.len(), record.interactions.len());
                let visitor = record.user.as_ref().map_or(0, |user| user.as_str().len());
                let visit = record.session.as_ref().map_or(0, |session| session.as_str().len());
                let clicks =
                    record.interactions.iter().map(|click| click.id.as_str().len() + click.item.as_str().len());
                let ids = record.ranking.as_str().len() + visitor + visit + clicks.sum::<usize>();
                counted + ids + record.fields.iter().map(Field::bytes).sum::<usize>()
            }
        }
    }

    pub(crate) fn into_clickthrough(self) -> Clickthrough {
        match self {
            Self::Ranking(open) => open.into_clickthrough(),
            Self::Written(record) => record,
        }
    }
}

impl Open {
    /// What a store has of it, with rows of a plan's columns.
    pub(crate) fn restored(mut shown: Shown, interactions: Vec<Interaction>, plan: &Plan) -> Self {
        let rows = Promise::kept(shown.rows_of(plan.tags()));
        let mut open = Self::new(Arc::new(shown.ranking), plan.width(), rows);
        // all that was kept: how much there is room for was decided when it came
        for interaction in interactions {
            if !open.has(&interaction) {
                open.push(interaction);
            }
        }
        open
    }

    pub(crate) fn new(ranking: Arc<Ranking>, width: usize, rows: Promise) -> Self {
        let values = size_of::<f32>() * ranking.items.len() * width;
        let bytes = size_of::<Self>() + ranking.bytes() + values;
        Self { last: ranking.timestamp, ranking, width, rows, interactions: Vec::new(), bytes }
    }

    /// About how many bytes it takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// An interaction that is there already stays once. Where there is no room the first stay, as in a state that is shared the oldest do:
    /// a list that was stored only grows. Whether it stays.
    pub(crate) fn add(&mut self, interaction: Interaction) -> bool {
        let room = Room::among(&self.interactions, &interaction);
        match room {
            Room::Free => self.push(interaction),
            Room::None => self.last = self.last.max(interaction.timestamp),
            Room::Taken => {}
        }
        room == Room::Free
    }

    fn has(&self, interaction: &Interaction) -> bool {
        self.interactions.iter().any(|known| is_same(known, interaction))
    }

    fn push(&mut self, interaction: Interaction) {
        self.last = self.last.max(interaction.timestamp);
        self.bytes += interaction.bytes();
        self.interactions.push(interaction);
    }

    /// Takes out the interactions that came when it was over: those behind the first pause longer than `session_length`.
    pub(crate) fn split_off_late(&mut self, session_length: Duration) -> Vec<Interaction> {
        self.interactions.sort_by(|left, right| (left.timestamp, &left.id).cmp(&(right.timestamp, &right.id)));
        self.last = self.ranking.timestamp;
        let is_late = |interaction: &Interaction| {
            let late = interaction.timestamp > self.last.plus(session_length);
            self.last = self.last.max(interaction.timestamp);
            late
        };
        let place = self.interactions.iter().position(is_late).unwrap_or(self.interactions.len());
        self.interactions.split_off(place)
    }

    /// Whether a model could learn from it.
    pub(crate) fn is_worth_keeping(&self) -> bool {
        !self.interactions.is_empty() || self.ranking.items.iter().any(|item| item.label.is_some())
    }

    /// Keys of what [`Open::close`] needs.
    pub(crate) fn close_reads(&self, plan: &Plan) -> Vec<Key> {
        plan.closed_reads(&self.ranking, |item| self.interactions.iter().any(|one| one.item == *item))
    }

    /// Effects of its end on rates and impressions; `items` lie under [`Open::close_reads`].
    pub(crate) fn close(&mut self, plan: &Plan, items: &[Option<Arc<Entity>>], effects: &mut impl Effects) {
        let alike = |impressions| self.interactions.iter().filter(move |one| is_impression(one) == impressions);
        if are_enough(alike(true)) || are_enough(alike(false)) {
            say_full(&self.ranking.id);
        }
        self.interactions.sort_by(|left, right| (left.timestamp, &left.id).cmp(&(right.timestamp, &right.id)));
        let interactions: Vec<_> = self.interactions.iter().map(ClosedInteraction::from).collect();
        plan.closed(&self.ranking, items, &interactions, effects);
    }

    /// The stored form of what was shown and is closed, with the rows that were kept, which have these columns.
    pub(crate) fn shown_value(&self, columns: &[Tag]) -> (Slot, Stored) {
        shown_value(&self.ranking, columns, self.rows.kept_rows())
    }

    pub(crate) fn into_clickthrough(self) -> Clickthrough {
        let rows = Rows { width: self.width, values: self.rows.take() };
        let clicks = self.interactions.iter().map(Click::from).collect();
        Clickthrough::of_ranking(&self.ranking, rows, clicks)
    }
}

/// Whether interactions with a ranking have room for one more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// They have.
    Free,
    /// It is among them, by its time and id.
    Taken,
    /// There are [`Parts::MOST`] like it (impressions, or others), or they are large.
    None,
}

impl Room {
    pub(crate) fn among(interactions: &[Interaction], one: &Interaction) -> Self {
        if interactions.iter().any(|known| is_same(known, one)) {
            return Self::Taken;
        }
        let alike = interactions.iter().filter(|known| is_impression(known) == is_impression(one));
        if are_enough(alike) { Self::None } else { Self::Free }
    }
}

/// Whether interactions of one kind are as many, or take as many bytes, as are kept of a ranking.
fn are_enough<'i>(alike: impl Iterator<Item = &'i Interaction>) -> bool {
    let (count, bytes) = alike.fold((0, 0), |(count, bytes), one| (count + 1, bytes + one.bytes()));
    count >= Parts::MOST || bytes >= MOST_BYTES
}

fn is_same(known: &Interaction, one: &Interaction) -> bool {
    known.timestamp == one.timestamp && known.id == one.id
}

/// Impressions that a sender reports have room of their own: they take none from clicks.
pub(crate) fn is_impression(interaction: &Interaction) -> bool {
    interaction.kind == IMPRESSION
}

/// Says once that a ranking has as many interactions as are kept.
fn say_full(ranking: &RankingId) {
    static SAID: Once = Once::new();
    let (ranking, most) = (ranking.as_str(), Parts::MOST);
    SAID.call_once(|| {
        tracing::warn!(
            ranking = ?ranking,
            most,
            most_bytes = MOST_BYTES,
            "a ranking has as many interactions as are kept of one (impressions and others are counted apart), or as many bytes of them: later ones are left out of features that count when it closes (rates, counts over a field) and of \
             its click-through; this is logged once"
        );
    });
}

/// About how many bytes a record takes, without its fields.
fn bytes(items: usize, values: usize, interactions: usize) -> usize {
    200 + 100 * items + 4 * values + 300 * interactions
}

/// The stored form of what was shown.
pub(crate) fn shown_value(ranking: &Ranking, columns: &[Tag], rows: &[f32]) -> (Slot, Stored) {
    (RANKING, blob(&ShownRef::new(ranking, columns, rows), 0))
}

/// The stored form of a record's interactions; a longer list takes the place of a shorter one.
pub(crate) fn interactions_value(interactions: &[Interaction]) -> (Slot, Stored) {
    (INTERACTIONS, blob(&interactions, interactions.len()))
}

/// Where a closed record lies until it is durable elsewhere; numbers go up from one to the next.
pub(crate) fn closed_key(tenant: &Tenant, number: u64, id: &str) -> Key {
    Key::new(tenant, Scope::Outbox(format!("closed {number:016x} {}", short(id)).into()))
}

/// The number of a closed record; none of one whose key was made by an older version.
pub(crate) fn closed_number(key: &Key) -> Option<u64> {
    let Scope::Outbox(name) = &key.scope else { return None };
    let (number, _) = name.as_str().strip_prefix("closed ")?.split_once(' ')?;
    u64::from_str_radix(number, 16).ok().filter(|number| *number < u64::MAX / 2)
}

/// The stored form of an interaction without a ranking.
pub(crate) fn alone_value(interaction: &Interaction) -> (Slot, Stored) {
    (INTERACTIONS, blob(&std::slice::from_ref(interaction), 1))
}

fn blob(value: &impl Serialize, version: usize) -> Stored {
    let bytes = postcard::to_stdvec(value).expect("plain data in memory can always be encoded");
    Stored { at: Timestamp::from_millis(version as i64), event: 0, cell: Cell::Blob(bytes.into()) }
}

/// Reads a stored record; the message says what is wrong with a damaged one.
pub(crate) fn restore(entity: &Entity) -> Result<Restored, String> {
    let shown = entity.blob(RANKING).map(Shown::read).transpose().map_err(|error| error.to_string())?;
    Ok(Restored {
        shown,
        interactions: part(entity, INTERACTIONS)?.unwrap_or_default(),
        sealed: entity.values().any(|(slot, _)| slot == SEALED),
    })
}

fn part<T: DeserializeOwned>(entity: &Entity, slot: Slot) -> Result<Option<T>, String> {
    let Some(bytes) = entity.blob(slot) else { return Ok(None) };
    postcard::from_bytes(bytes).map(Some).map_err(|error| error.to_string())
}
