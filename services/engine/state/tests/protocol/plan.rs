//! What a holder decides from what it has read: the effects of events, and the closer's next piece of work.

use super::event::{CLICKED, Clicks, Kind, Time, WAIT, each};
use super::rules::{Bug, Rules};
use super::store::{Batch, Lease};
use super::value::{Effects, IMPRESSION, Values, Writes, clicked, plain, rated, unknown};

/// The effects of the next `count` events of a partition, with join record and known id as they were read.
pub(crate) fn events(rules: &Rules, lease: &Lease, known: Values, count: u8) -> Batch {
    let to = lease.position + count;
    let events = &rules.story.partitions[usize::from(lease.writer)][usize::from(lease.position)..usize::from(to)];
    let mut batch = Batch { writes: Writes::default(), to, watermark: lease.watermark };
    for event in events {
        batch.watermark = batch.watermark.max(event.time());
        one_event(rules, &mut batch, known, *event);
    }
    if batch.watermark > lease.watermark {
        batch.writes.marks[usize::from(lease.writer)] = batch.watermark;
    }
    batch
}

fn one_event(rules: &Rules, batch: &mut Batch, known: Values, event: Kind) {
    let own = known.absorb(batch.writes).record;
    let writes = &mut batch.writes;
    match event {
        Kind::Ranking => writes.ranking = true,
        Kind::Plain(event) => writes.effects |= plain(event),
        Kind::Once if known.seen => {}
        Kind::Once => {
            writes.effects |= plain(0);
            writes.seen = true;
        }
        // While this partition has not passed the deadline, no closer can seal the record before this batch is committed.
        Kind::Click(click) if own.open() && (batch.watermark <= own.deadline() || rules.has(Bug::NoGuard)) => {
            writes.effects |= clicked(click);
            writes.clicks |= 1 << click;
        }
        Kind::Click(click) => writes.wait |= 1 << click,
    }
}

/// What a closer finds to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Nothing for now.
    Nothing,
    /// A batch.
    Write(Writes),
    /// A sealed record with these clicks goes to the click-through store.
    Append(Clicks),
}

/// Goes by a watermark that was read before the values.
pub(crate) fn closing(rules: &Rules, watermark: Time, values: Values) -> Work {
    let Values { record, waiting, .. } = values;
    let time = |click| CLICKED[usize::from(click)];
    let over = record.open() && watermark > record.deadline();
    let members = subset(waiting, |click| record.open() && time(click) <= record.deadline());
    let lost = subset(waiting, |click| !record.open() && watermark > time(click) + WAIT);
    if members != 0 && !(over && rules.has(Bug::SealFirst)) {
        Work::Write(Writes { effects: all(members, clicked), clicks: members, taken: members, ..Writes::default() })
    } else if over {
        let effects = all(record.clicks, |click| rated(click) | IMPRESSION);
        Work::Write(Writes { effects, seal: true, ..Writes::default() })
    } else if lost != 0 {
        Work::Write(Writes {
            effects: all(lost, |click| clicked(click) | unknown(click)),
            taken: lost,
            ..Writes::default()
        })
    } else if record.sealed {
        Work::Append(record.clicks)
    } else {
        Work::Nothing
    }
}

fn subset(clicks: Clicks, matches: impl Fn(u8) -> bool) -> Clicks {
    each(clicks).filter(|&click| matches(click)).fold(0, |set, click| set | 1 << click)
}

fn all(clicks: Clicks, effects: impl Fn(u8) -> Effects) -> Effects {
    each(clicks).fold(0, |set, click| set | effects(click))
}
