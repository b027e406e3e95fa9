//! What the end of a ranking does to state: its interactions count in rates, with an impression of all that was looked
//! at.

use super::{Effects, IMPRESSION, Rules, Subject};
use crate::slot::{Meaning, Numbered, Target};
use compact_str::CompactString;
use rankwright_event::{Interaction, ItemId, Ranking, Tenant, Timestamp};
use rankwright_state::{Cell, FieldValue, Key, Scope, Slot, Stored, Windows};
use std::collections::HashSet;

/// An interaction of a closed ranking, or one without a ranking.
#[derive(Debug, Clone, PartialEq)]
pub struct ClosedInteraction {
    /// When.
    pub timestamp: Timestamp,
    /// Digest of its id.
    pub event: u64,
    /// Its type.
    pub kind: CompactString,
    /// The item.
    pub item: ItemId,
}

impl From<&Interaction> for ClosedInteraction {
    fn from(interaction: &Interaction) -> Self {
        Self {
            timestamp: interaction.timestamp,
            event: interaction.id.digest(),
            kind: interaction.kind.clone(),
            item: interaction.item.clone(),
        }
    }
}

#[derive(Debug)]
pub(super) struct ShownRule {
    pub(super) interaction: CompactString,
    /// Length of a period in milliseconds, and how many are kept; absent where all are counted together.
    pub(super) windows: Option<(i64, u32)>,
    pub(super) slot: Slot,
    pub(super) target: ShownTarget,
}

#[derive(Debug)]
pub(super) enum ShownTarget {
    Global,
    Item,
    /// Keys by values of the item field of this slot.
    ItemField(Slot),
    /// Keys by values of the ranking field that this slot names.
    RankingField(Slot),
}

impl ShownTarget {
    pub(super) fn new(target: &Target, slots: &Numbered) -> Self {
        match target {
            Target::Global => Self::Global,
            Target::Item => Self::Item,
            Target::ItemField(field) => Self::ItemField(slots.slot(&Meaning::ItemField(field.clone()))),
            Target::RankingField(field) => Self::RankingField(slots.slot(&Meaning::RankingField(field.clone()))),
        }
    }
}

impl ShownRule {
    fn cell(&self, at: Timestamp, times: u64) -> Cell {
        match self.windows {
            Some((bucket, keep)) => Cell::Windows(Windows::of(at.millis().div_euclid(bucket), times, keep)),
            None => Cell::Counter(times),
        }
    }
}

impl Rules {
    /// Effects of a ranking's end: its interactions at their times, and an impression of every item from the top down
    /// to the lowest one that was interacted with, at the ranking's time. Where the sender reports impressions itself, be it of
    /// items outside the list, these count instead, each item once.
    ///
    /// `values` gives what the item at a place counts under, by the slot of the field.
    pub(crate) fn closed(
        &self,
        ranking: &Ranking,
        values: impl Fn(Slot, usize) -> Vec<CompactString>,
        interactions: &[ClosedInteraction],
        effects: &mut impl Effects,
    ) {
        let (mut lowest, mut seen) = (None, HashSet::new());
        let reported = interactions.iter().any(|interaction| interaction.kind == IMPRESSION);
        for interaction in interactions {
            let is_impression = interaction.kind == IMPRESSION;
            if is_impression && !seen.insert(&interaction.item) {
                continue;
            }
            let place = ranking.items.iter().position(|item| item.id == interaction.item);
            lowest = lowest.max(place);
            let values = |slot| place.map_or_else(Vec::new, |place| values(slot, place));
            self.rated(&ranking.tenant, interaction, values, 1, effects);
            if is_impression {
                self.seen(ranking, interaction, effects);
            } else if place.is_none() && !reported {
                self.lone(&ranking.tenant, interaction, |_| Vec::new(), effects);
            }
        }
        let Some(lowest) = lowest.filter(|_| !reported) else { return };
        for (place, item) in ranking.items.iter().enumerate().take(lowest + 1) {
            let (timestamp, event) = (ranking.timestamp, ranking.id.digest());
            let impression = ClosedInteraction { timestamp, event, kind: IMPRESSION.into(), item: item.id.clone() };
            // Everything's row takes all impressions at once, with the first.
            let globally = if place == 0 { lowest as u64 + 1 } else { 0 };
            self.rated(&ranking.tenant, &impression, |slot| values(slot, place), globally, effects);
            self.seen(ranking, &impression, effects);
        }
    }

    /// Effects on rates of an interaction that belongs to no ranking: it counts with one impression of its item, unless it is
    /// one; `values` gives the item's present field values by the slot of the field.
    pub(crate) fn unranked(
        &self,
        interaction: &Interaction,
        values: impl Fn(Slot) -> Vec<CompactString>,
        effects: &mut impl Effects,
    ) {
        let (tenant, counted) = (&interaction.tenant, ClosedInteraction::from(interaction));
        self.rated(tenant, &counted, &values, 1, effects);
        if interaction.kind == IMPRESSION {
            self.counted(IMPRESSION, &Subject::of(interaction), counted.timestamp, counted.event, effects);
        } else {
            self.lone(tenant, &counted, values, effects);
        }
    }

    /// The impression that comes with an interaction without a place in a ranking.
    fn lone(
        &self,
        tenant: &Tenant,
        interaction: &ClosedInteraction,
        values: impl Fn(Slot) -> Vec<CompactString>,
        effects: &mut impl Effects,
    ) {
        let impression = ClosedInteraction { kind: IMPRESSION.into(), ..interaction.clone() };
        self.rated(tenant, &impression, values, 1, effects);
        let subject = Subject { tenant, item: Some(&interaction.item), user: None, session: None };
        self.counted(IMPRESSION, &subject, interaction.timestamp, interaction.event, effects);
    }

    /// An impression of a ranking in plain counters, for the ranking's visitor.
    fn seen(&self, ranking: &Ranking, impression: &ClosedInteraction, effects: &mut impl Effects) {
        let (user, session) = (ranking.user.as_ref(), ranking.session.as_ref());
        let subject = Subject { tenant: &ranking.tenant, item: Some(&impression.item), user, session };
        self.counted(IMPRESSION, &subject, impression.timestamp, impression.event, effects);
    }

    /// One interaction under all that it counts for; `globally` times under everything.
    fn rated(
        &self,
        tenant: &Tenant,
        interaction: &ClosedInteraction,
        values: impl Fn(Slot) -> Vec<CompactString>,
        globally: u64,
        effects: &mut impl Effects,
    ) {
        let (at, event) = (interaction.timestamp, interaction.event);
        for rule in self.shown.iter().filter(|rule| rule.interaction == interaction.kind) {
            let mut count = |scope, times| {
                let cell = rule.cell(at, times);
                effects.write(&Key::new(tenant, scope), rule.slot, Stored { at, event, cell });
            };
            let mut write = |scope| count(scope, 1);
            let item = || interaction.item.clone();
            match rule.target {
                ShownTarget::Global if globally == 0 => {}
                ShownTarget::Global => count(Scope::Global, globally),
                ShownTarget::Item => write(Scope::Item(item())),
                ShownTarget::ItemField(slot) => {
                    values(slot).into_iter().for_each(|value| write(Scope::FieldValue(slot, value)));
                }
                ShownTarget::RankingField(slot) => {
                    values(slot).into_iter().for_each(|value| write(Scope::ItemWithin(slot, value, item())));
                }
            }
        }
    }
}

/// What a value of a field counts under: its strings, each once.
pub(crate) fn texts(value: Option<&FieldValue>) -> Vec<CompactString> {
    let texts = value.map_or(&[][..], FieldValue::texts);
    let mut once: Vec<CompactString> = Vec::with_capacity(texts.len());
    for text in texts {
        if !once.contains(text) {
            once.push(text.clone());
        }
    }
    once
}
