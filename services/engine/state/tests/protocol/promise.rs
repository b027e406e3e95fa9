//! The promises: what must hold in every state, and where nothing is left to do.

use super::event::{Clicks, Kind, each};
use super::rules::Rules;
use super::store::{CLOSER, Row, Store};
use super::value::{Counts, IMPRESSION, Record, Values, clicked, plain, rated, unknown};

impl Store {
    /// What must hold in every state.
    pub(crate) fn broken_now(&self, rules: &Rules) -> Option<&'static str> {
        let Values { item, .. } = self.values;
        let both = |click: u8| item.of(rated(click)) + item.of(unknown(click)) > 1;
        match () {
            () if item.any_twice() => Some("an effect takes place twice"),
            () if each(Clicks::MAX).any(both) => Some("a click counts with its ranking and without one"),
            () if self.log.count_ones() > 1 => Some("two copies of a click-through differ"),
            () => (0..2).find_map(|partition| {
                self.broken_position(rules, partition).or_else(|| self.broken_watermark(rules, partition))
            }),
        }
    }

    /// All events up to the first that is as new as the watermark have taken effect.
    fn broken_watermark(&self, rules: &Rules, partition: usize) -> Option<&'static str> {
        let (mark, events) = (self.values.marks[partition], rules.story.partitions[partition]);
        let first = events.iter().position(|event| event.time() >= mark)?;
        let ahead = mark > 0 && !events[..=first].iter().all(|event| self.has_effects(*event));
        ahead.then_some("a watermark is ahead of its effects")
    }

    /// Effects are there for events before the position, and for others that a redo record covers.
    fn broken_position(&self, rules: &Rules, partition: usize) -> Option<&'static str> {
        let row = &self.rows[partition];
        let covered = row.redo.map_or(row.position, |(_, batch)| batch.to);
        let mut events = (0..).zip(rules.story.partitions[partition]);
        events.find_map(|(index, event)| match self.has_effects(*event) {
            false if index < row.position => Some("a position is ahead of its effects"),
            // the other partition may have brought it
            true if index >= covered && *event != Kind::Once => Some("effects are there that no position covers"),
            _ => None,
        })
    }

    fn has_effects(&self, event: Kind) -> bool {
        let Values { item, record, waiting, .. } = self.values;
        let closing = self.rows[usize::from(CLOSER)].redo.map_or(0, |(_, batch)| batch.writes.taken);
        match event {
            Kind::Ranking => record.ranking || item.of(IMPRESSION) > 0 || self.log != 0,
            Kind::Click(click) => item.of(clicked(click)) > 0 || (waiting | closing) & (1 << click) != 0,
            Kind::Plain(event) => item.of(plain(event)) > 0,
            Kind::Once => item.of(plain(0)) > 0 || self.values.seen && self.brings_once(),
        }
    }

    /// A redo record covers the event that comes to both.
    fn brings_once(&self) -> bool {
        self.rows.iter().filter_map(|row| row.redo).any(|(_, batch)| batch.writes.seen)
    }

    /// What must hold where nothing is left to do: the outcome is that of a run without faults.
    pub(crate) fn broken_at_the_end(&self, rules: &Rules) -> Option<&'static str> {
        let Store { rows, values, log, .. } = self;
        let read = |(row, events): (&Row, &&[Kind])| usize::from(row.position) == events.len();
        let shown = rules.story.has_ranking();
        let clicks = if shown { log.trailing_zeros() as Clicks } else { 0 }; // what the one click-through contains
        match () {
            () if !rows.iter().zip(&rules.story.partitions).all(read) => Some("events stay unread"),
            () if rows.iter().any(|row| row.redo.is_some()) => Some("a redo record stays"),
            () if values.waiting != 0 => Some("a click waits for ever"),
            () if values.record != Record::default() => Some("a join record stays"),
            () if (*log != 0) != shown => Some("the click-through is lost"),
            () if each(rules.story.sure & !clicks).next().is_some() => Some("a click is missing in its click-through"),
            () if values.item != expected(clicks) => Some("effects are not those of a run without faults"),
            () => None,
        }
    }
}

/// The counters where these clicks, and no other, are in the click-through.
fn expected(clicks: Clicks) -> Counts {
    let member = |click: u8| if clicks & (1 << click) != 0 { rated(click) } else { unknown(click) };
    let of_clicks = each(Clicks::MAX).fold(0, |all, click| all | clicked(click) | member(click));
    let shown = if clicks != 0 { IMPRESSION } else { 0 };
    Counts::default().add(of_clicks | shown | plain(0) | plain(1))
}
