//! Everything together: the store, those who hold a writer or once did.

use super::holder::Holder;
use super::rules::Rules;
use super::search::Model;
use super::step::Step;
use super::store::{Store, WRITERS};
use smallvec::SmallVec;

/// Everything that decides what can happen next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct World {
    store: Store,
    /// By writer and epoch; several of one writer where older ones do not know that they lost it.
    holders: SmallVec<[Holder; WRITERS + 2]>,
    /// How many more crashes, take-overs and repeated messages there may be.
    faults: u8,
}

/// What can happen.
#[derive(Clone, Copy, Debug)]
#[expect(dead_code, reason = "what it holds is printed with a counterexample")]
pub(crate) enum What {
    /// A step of a holder.
    Step(Step),
    /// A holder is gone, with all it had in memory.
    Crash,
    /// A process acquires the writer.
    Acquire,
    /// A holder sends its next operation twice; one of the two arrives some time later.
    SendTwice,
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
            next.extend((0..world.holders.len()).filter_map(|index| world.echoed(index)));
        }
        next
    }

    fn broken(&self, world: &World) -> Option<&'static str> {
        let idle = world.holders.iter().all(|holder| holder.choices(self).is_empty());
        let quiet = idle && (0..WRITERS as u8).all(|writer| world.held(writer));
        world.store.broken_now(self).or_else(|| quiet.then(|| world.store.broken_at_the_end(self)).flatten())
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
        if self.held(writer) {
            world.faults = self.faults.checked_sub(1)?;
        }
        let holder = Holder::acquire(rules, &mut world.store, writer);
        world.add(holder);
        Some((Action::of(&holder, What::Acquire), world))
    }

    fn echoed(&self, index: usize) -> Option<(Action, Self)> {
        let mut world = self.clone();
        let echo = self.holders[index].sent_twice()?;
        world.faults -= 1;
        world.add(echo);
        Some((Action::of(&echo, What::SendTwice), world))
    }

    fn add(&mut self, holder: Holder) {
        self.holders.push(holder);
        self.holders.sort_by_key(|holder| (holder.lease.writer, holder.lease.epoch, holder.echo));
    }

    fn crashed(&self, index: usize) -> (Action, Self) {
        let mut world = self.clone();
        world.faults -= 1;
        let holder = world.holders.remove(index);
        (Action::of(&holder, What::Crash), world)
    }
}

impl World {
    /// Whether the process lives that acquired the writer last.
    fn held(&self, writer: u8) -> bool {
        let epoch = self.store.rows[usize::from(writer)].epoch;
        let holders = self.holders.iter().filter(|holder| !holder.echo);
        holders.map(|holder| (holder.lease.writer, holder.lease.epoch)).any(|held| held == (writer, epoch))
    }
}
