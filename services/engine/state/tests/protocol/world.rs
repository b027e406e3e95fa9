//! Everything together: the store, those who hold a writer or once did, and the promises.

use super::event::{Clicks, Kind, each};
use super::holder::{Holder, Step};
use super::rules::Rules;
use super::search::Model;
use super::store::{CLOSER, Row, Store, WRITERS};
use super::value::{Counts, IMPRESSION, Record, Values, clicked, plain, rated, unknown};
use smallvec::SmallVec;

/// Everything that decides what can happen next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct World {
    store: Store,
    /// By writer and epoch; several of one writer where older ones do not know that they lost it.
    holders: SmallVec<[Holder; WRITERS + 2]>,
    /// How many more crashes and take-overs there may be.
    faults: u8,
}

/// What can happen.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    /// A step of a holder.
    Step(Step),
    /// A holder is gone, with all it had in memory.
    Crash,
    /// Somebody acquires the writer.
    Acquire,
}

/// What happened, to which writer's holder of which epoch.
#[derive(Clone, Copy)]
pub(crate) struct Action {
    writer: u8,
    epoch: u8,
    what: What,
}

impl Action {
    fn of(holder: &Holder, what: What) -> Self {
        Self { writer: holder.lease.writer, epoch: holder.lease.epoch, what }
    }
}

impl std::fmt::Debug for Action {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let writer = ["partition 0", "partition 1", "closer"][usize::from(self.writer)];
        write!(formatter, "{writer}, epoch {}: {:?}", self.epoch, self.what)
    }
}

impl Model for Rules {
    type State = World;
    type Action = Action;

    fn start(&self) -> World {
        World { store: Store::default(), holders: SmallVec::new(), faults: self.faults }
    }

    fn next(&self, world: &World) -> Vec<(Action, World)> {
        let mut next = world.steps(self);
        for writer in 0..WRITERS as u8 {
            next.extend(world.acquired(self, writer));
        }
        if world.faults > 0 {
            next.extend((0..world.holders.len()).map(|index| world.crashed(index)));
        }
        next
    }

    fn broken(&self, world: &World) -> Option<&'static str> {
        let quiet = world.steps(self).is_empty() && (0..WRITERS as u8).all(|writer| world.holder_of(writer).is_some());
        world.broken_now(self).or_else(|| quiet.then(|| world.broken_at_the_end(self)).flatten())
    }
}

impl World {
    fn steps(&self, rules: &Rules) -> Vec<(Action, Self)> {
        let all = self.holders.iter().enumerate();
        all.flat_map(|(index, holder)| holder.choices(rules).into_iter().map(move |choice| (index, choice)))
            .map(|(index, choice)| self.stepped(rules, index, choice))
            .collect()
    }

    fn stepped(&self, rules: &Rules, index: usize, choice: u8) -> (Action, Self) {
        let mut world = self.clone();
        let before = self.holders[index];
        let (step, after) = before.step(rules, &mut world.store, choice);
        let (keys, new) = (before.written(rules, step), world.store.closable() != self.store.closable());
        world.holders.iter_mut().for_each(|holder| holder.notice(rules, keys, new));
        match after {
            Some(after) => world.holders[index] = after,
            None => drop(world.holders.remove(index)),
        }
        (Action::of(&before, What::Step(step)), world)
    }

    fn acquired(&self, rules: &Rules, writer: u8) -> Option<(Action, Self)> {
        let mut world = self.clone();
        if self.holder_of(writer).is_some() {
            world.faults = self.faults.checked_sub(1)?;
        }
        let holder = Holder::acquire(rules, &mut world.store, writer);
        world.holders.push(holder);
        world.holders.sort_by_key(|holder| (holder.lease.writer, holder.lease.epoch));
        Some((Action::of(&holder, What::Acquire), world))
    }

    fn crashed(&self, index: usize) -> (Action, Self) {
        let mut world = self.clone();
        world.faults -= 1;
        let holder = world.holders.remove(index);
        (Action::of(&holder, What::Crash), world)
    }
}

impl World {
    fn holder_of(&self, writer: u8) -> Option<&Holder> {
        self.holders.iter().find(|holder| holder.lease.writer == writer)
    }

    /// What must hold in every state.
    fn broken_now(&self, rules: &Rules) -> Option<&'static str> {
        let Values { item, .. } = self.store.values;
        let both = |click: u8| item.of(rated(click)) + item.of(unknown(click)) > 1;
        match () {
            () if item.any_twice() => Some("an effect takes place twice"),
            () if each(Clicks::MAX).any(both) => Some("a click counts with its ranking and without one"),
            () if self.store.log.count_ones() > 1 => Some("two copies of a click-through differ"),
            () => (0..2).find_map(|partition| self.broken_position(rules, partition)),
        }
    }

    /// Effects are there for events before the position, and for others that a redo record covers.
    fn broken_position(&self, rules: &Rules, partition: usize) -> Option<&'static str> {
        let row = &self.store.rows[partition];
        let covered = row.redo.map_or(row.position, |(_, batch)| batch.to);
        let mut events = (0..).zip(rules.story.partitions[partition]);
        events.find_map(|(index, event)| match self.has_effects(*event) {
            false if index < row.position => Some("a position is ahead of its effects"),
            true if index >= covered => Some("effects are there that no position covers"),
            _ => None,
        })
    }

    fn has_effects(&self, event: Kind) -> bool {
        let Values { item, record, waiting } = self.store.values;
        let closing = self.store.rows[usize::from(CLOSER)].redo.map_or(0, |(_, batch)| batch.writes.taken);
        match event {
            Kind::Ranking => record.ranking || self.store.log != 0,
            Kind::Click(click) => item.of(clicked(click)) > 0 || (waiting | closing) & (1 << click) != 0,
            Kind::Plain(event) => item.of(plain(event)) > 0,
        }
    }

    /// What must hold where nothing is left to do: the outcome is that of a run without faults.
    fn broken_at_the_end(&self, rules: &Rules) -> Option<&'static str> {
        let Store { rows, values, log, .. } = &self.store;
        let read = |(row, events): (&Row, &&[Kind])| usize::from(row.position) == events.len();
        let clicks = log.trailing_zeros() as Clicks; // the one content of the click-through, as a set
        match () {
            () if !rows.iter().zip(&rules.story.partitions).all(read) => Some("events stay unread"),
            () if rows.iter().any(|row| row.redo.is_some()) => Some("a redo record stays"),
            () if values.waiting != 0 => Some("a click waits for ever"),
            () if values.record != Record::default() => Some("a join record stays"),
            () if *log == 0 => Some("the click-through is lost"),
            () if each(!clicks & !rules.story.late).next().is_some() => Some("a click is missing in its click-through"),
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
