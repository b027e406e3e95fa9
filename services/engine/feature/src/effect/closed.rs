//! What the end of a ranking does to state: its interactions count in rates, with an impression of all that was looked
//! at.

use super::{Effects, IMPRESSION, Rules, Subject};
use crate::candidates::Candidates;
use crate::extractor::field::FieldReader;
use crate::slot::{Meaning, Numbered, Target};
use compact_str::CompactString;
use rankwright_event::{ItemId, SessionId, Tenant, Timestamp, UserId};
use rankwright_state::{Cell, FieldValue, Key, Scope, Slot, Stored, Windows};

/// Field values of a ranking's items when it closes, for counters that are kept by field value: for each such counter,
/// for each item, the values.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Captured(Vec<Vec<Vec<CompactString>>>);

/// A ranking that takes no more interactions.
#[derive(Debug)]
pub struct Closed<'a> {
    /// Whose.
    pub tenant: &'a Tenant,
    /// When it was shown.
    pub timestamp: Timestamp,
    /// Digest of its id.
    pub event: u64,
    /// The visitor.
    pub user: Option<&'a UserId>,
    /// The visit.
    pub session: Option<&'a SessionId>,
    /// Items in the order shown.
    pub items: &'a [ItemId],
    /// Field values of its items.
    pub captured: &'a Captured,
}

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
    /// Keys by values of the item field of this slot; number of the capture.
    ItemField(Slot, usize),
    /// Keys by values of the ranking field that this slot names; number of the capture.
    RankingField(Slot, usize),
}

impl ShownTarget {
    /// `captures` are the targets whose values are captured, in order.
    pub(super) fn new(target: &Target, slots: &Numbered, captures: &[Target]) -> Self {
        let place = || captures.iter().position(|other| other == target).expect("its target was captured");
        match target {
            Target::Global => Self::Global,
            Target::Item => Self::Item,
            Target::ItemField(field) => Self::ItemField(slots.slot(&Meaning::ItemField(field.clone())), place()),
            Target::RankingField(field) => {
                Self::RankingField(slots.slot(&Meaning::RankingField(field.clone())), place())
            }
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

/// What must be noted when a ranking closes.
pub(crate) enum Capture {
    ItemField(FieldReader),
    RankingField(FieldReader),
}

impl Rules {
    /// Effects of a ranking's end: its interactions at their times, and an impression of every item from the top down
    /// to the lowest one that was interacted with, at the ranking's time.
    pub(crate) fn closed(&self, ranking: &Closed<'_>, interactions: &[ClosedInteraction], effects: &mut impl Effects) {
        let mut lowest = None;
        for interaction in interactions {
            let place = ranking.items.iter().position(|item| *item == interaction.item);
            if place.is_some() {
                lowest = lowest.max(place);
                let values = |capture| values(ranking.captured, capture, place);
                self.rated(ranking.tenant, interaction, values, 1, effects);
            } else {
                self.unranked(ranking.tenant, interaction, |_| &[], effects);
            }
        }
        let Some(lowest) = lowest else { return };
        for (place, item) in ranking.items.iter().enumerate().take(lowest + 1) {
            let (timestamp, event) = (ranking.timestamp, ranking.event);
            let impression = ClosedInteraction { timestamp, event, kind: IMPRESSION.into(), item: item.clone() };
            // Everything's row takes all impressions at once, with the first.
            let globally = if place == 0 { lowest as u64 + 1 } else { 0 };
            let values = |capture| values(ranking.captured, capture, Some(place));
            self.rated(ranking.tenant, &impression, values, globally, effects);
            let (user, session) = (ranking.user, ranking.session);
            let subject = Subject { tenant: ranking.tenant, item: Some(item), user, session };
            self.counted(IMPRESSION, &subject, timestamp, event, effects);
        }
    }

    /// Effects on rates of an interaction that belongs to no ranking: it counts with one impression of its item;
    /// `values` gives the item's present field values by number of the capture.
    pub(crate) fn unranked<'v>(
        &self,
        tenant: &Tenant,
        interaction: &ClosedInteraction,
        values: impl Fn(usize) -> &'v [CompactString],
        effects: &mut impl Effects,
    ) {
        self.rated(tenant, interaction, &values, 1, effects);
        let impression = ClosedInteraction { kind: IMPRESSION.into(), ..interaction.clone() };
        self.rated(tenant, &impression, &values, 1, effects);
        let subject = Subject { tenant, item: Some(&interaction.item), user: None, session: None };
        self.counted(IMPRESSION, &subject, interaction.timestamp, interaction.event, effects);
    }

    /// One interaction under all that it counts for; `globally` times under everything.
    fn rated<'v>(
        &self,
        tenant: &Tenant,
        interaction: &ClosedInteraction,
        values: impl Fn(usize) -> &'v [CompactString],
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
                ShownTarget::ItemField(slot, capture) => {
                    values(capture).iter().for_each(|value| write(Scope::FieldValue(slot, value.clone())));
                }
                ShownTarget::RankingField(slot, capture) => {
                    values(capture).iter().for_each(|value| write(Scope::ItemWithin(slot, value.clone(), item())));
                }
            }
        }
    }

    /// Whether an interaction of an unknown ranking needs its item's fields.
    pub(crate) fn captures_item_fields(&self) -> bool {
        self.shown.iter().any(|rule| matches!(rule.target, ShownTarget::ItemField(..)))
    }
}

fn values(captured: &Captured, capture: usize, item: Option<usize>) -> &[CompactString] {
    item.and_then(|item| captured.0.get(capture)?.get(item)).map_or(&[], Vec::as_slice)
}

impl Capture {
    /// The values of one item.
    pub(crate) fn values(&self, candidates: &Candidates<'_>, item: usize) -> Vec<CompactString> {
        let (Self::ItemField(reader) | Self::RankingField(reader)) = self;
        let texts = reader.of(candidates, item).map_or(&[][..], FieldValue::texts);
        let mut values: Vec<CompactString> = Vec::with_capacity(texts.len());
        for text in texts {
            if !values.contains(text) {
                values.push(text.clone());
            }
        }
        values
    }
}

impl Captured {
    /// Notes the values of a ranking's first items.
    pub(crate) fn of(captures: &[Capture], items: usize, candidates: &Candidates<'_>) -> Self {
        let items = items.min(candidates.len());
        let values = |capture: &Capture| (0..items).map(|item| capture.values(candidates, item)).collect();
        Self(captures.iter().map(values).collect())
    }
}
