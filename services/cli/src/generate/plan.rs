//! What open visits have planned, in the order of time.

use super::events::Act;
use super::visit::Visit;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A next step of a visit.
pub(crate) enum Planned {
    /// The visitor sees a list.
    List(Box<Visit>),
    /// The visitor does something with an item of it.
    Act(Act),
}

/// All next steps.
#[derive(Default)]
pub(crate) struct Plans {
    plans: BinaryHeap<Reverse<Plan>>,
    made: u64,
}

/// Comes in the order of time, and of planning where times are equal.
struct Plan {
    at: i64,
    order: u64,
    what: Planned,
}

impl Plans {
    /// Plans one more step.
    pub(crate) fn add(&mut self, at: i64, what: Planned) {
        self.made += 1;
        self.plans.push(Reverse(Plan { at, order: self.made, what }));
    }

    /// When the next step is due.
    pub(crate) fn next(&self) -> Option<i64> {
        self.plans.peek().map(|plan| plan.0.at)
    }

    /// Takes the next step out.
    pub(crate) fn pop(&mut self) -> Option<Planned> {
        self.plans.pop().map(|plan| plan.0.what)
    }
}

impl Ord for Plan {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

impl PartialOrd for Plan {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Plan {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Plan {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_come_by_time_and_then_as_planned() {
        let mut plans = Plans::default();
        for (at, item) in [(5, 1), (3, 2), (5, 3), (3, 4)] {
            plans.add(at, Planned::Act(Act { ranking: 0, session: 0, user: None, item, kind: "click" }));
        }
        assert_eq!(plans.next(), Some(3));
        let items = std::iter::from_fn(|| plans.pop()).map(|planned| match planned {
            Planned::Act(act) => act.item,
            Planned::List(_) => 0,
        });
        assert_eq!(items.collect::<Vec<_>>(), [2, 4, 1, 3]);
    }
}
