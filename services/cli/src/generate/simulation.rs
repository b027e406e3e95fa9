//! The shop from day to day: events in the order of their time.
//!
//! Four things happen: items are released, prices change, visits begin, and what open visits have planned falls due.
//! The first three come in order by themselves, so that the plans of open visits are all that is held.

use super::catalog::Catalog;
use super::choice::{Market, appeal, attraction, conversion, examination};
use super::clock::{DAY, SECOND, START, Wave, busy, time_of, told};
use super::events::{self, Act};
use super::listing::{Shown, listing};
use super::plan::{Planned, Plans};
use super::random::Random;
use super::visit::Visit;
use rankwright_event::{Event, Ranking};

/// How large the simulation is. All counts are one at least.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub(crate) items: usize,
    pub(crate) users: usize,
    pub(crate) rankings: u64,
    pub(crate) days: u32,
    /// Items of a list.
    pub(crate) length: usize,
    pub(crate) seed: u64,
}

/// A simulated shop; iterate over its events.
pub(crate) struct Simulation {
    size: Size,
    pub(crate) catalog: Catalog,
    pub(crate) market: Market,
    random: Random,
    plans: Plans,
    arrival: Option<Arrival>,
    /// Rankings that are promised to visits.
    allotted: u64,
    visits: u64,
    known: Vec<bool>,
    changes: u64,
    written: Written,
    now: i64,
    /// Days of the history, of which `size` has those with events.
    days: u32,
}

/// Events so far.
#[derive(Debug, Clone, Copy, Default)]
struct Written {
    metadata: u64,
    rankings: u64,
    interactions: u64,
}

/// The next visit: when, and of how many lists.
struct Arrival {
    at: i64,
    lists: u32,
}

enum Next {
    Release,
    Change,
    Arrival,
    Plan,
}

impl Simulation {
    /// A shop before its first event.
    pub(crate) fn new(size: Size) -> Self {
        let (days, size) = (size.days, Size { days: busy(size.days), ..size });
        let mut random = Random::of(size.seed, "shop", 0);
        let day = DAY as f64;
        let wave = |_| Wave { height: 0.5, period: random.between(4.0, 12.0) * day, phase: random.unit() };
        let market = Market { categories: std::array::from_fn(wave) };
        let mut simulation = Self {
            catalog: Catalog::new(size.seed, size.items, size.days),
            market,
            random,
            plans: Plans::default(),
            arrival: None,
            allotted: 0,
            visits: 0,
            known: vec![false; size.users],
            changes: 0,
            written: Written::default(),
            now: START,
            days,
            size,
        };
        simulation.expect_visit();
        simulation
    }

    /// A list that was not shown yet, a minute after the last event: what a rank request asks about.
    pub(crate) fn request(&self) -> Ranking {
        let mut visit = Visit::new(self.size.seed, self.visits, 1, self.size.users);
        visit.signed_in = true;
        let shown = listing(&self.catalog, &visit.query, self.size.length, &mut visit.random);
        events::ranking(self.written.rankings, self.told(self.now + 60 * SECOND), &visit, &shown, &self.catalog)
    }

    /// What comes next, and when; what is named first goes first where times are equal.
    fn upcoming(&self) -> Option<(i64, Next)> {
        let times = [
            (self.catalog.next_release(), Next::Release),
            (self.next_change(), Next::Change),
            (self.arrival.as_ref().map(|arrival| arrival.at), Next::Arrival),
            (self.plans.next(), Next::Plan),
        ];
        let times = times.into_iter().filter_map(|(at, what)| Some((at?, what)));
        times.min_by_key(|&(at, _)| at)
    }

    /// Prices change while there are visits: each item's about once in two weeks, and not more often than lists are shown.
    fn next_change(&self) -> Option<i64> {
        self.arrival.as_ref()?;
        let changes = (self.size.items as u64 * u64::from(self.size.days) / 14).min(self.size.rankings);
        let span = (i64::from(self.size.days) * DAY) as f64;
        let at = || START + (span * (self.changes as f64 + 0.5) / changes as f64) as i64;
        (self.changes < changes).then(at)
    }

    /// When something that happens at this time of the simulation has happened.
    fn told(&self, at: i64) -> i64 {
        told(at, self.days)
    }

    fn metadata(&mut self) -> u64 {
        self.written.metadata += 1;
        self.written.metadata
    }

    fn release(&mut self, at: i64) -> Event {
        let (item, number) = (self.catalog.release(), self.metadata());
        events::item(number, self.told(at), item, &self.catalog, self.size.seed)
    }

    fn change(&mut self, at: i64) -> Event {
        let item = self.random.below(self.catalog.released);
        let reduced = self.catalog.items[item].discount == 0.0;
        self.catalog.items[item].discount = if reduced { *self.random.pick(&[0.1, 0.2, 0.3, 0.4]) } else { 0.0 };
        self.changes += 1;
        let number = self.metadata();
        events::price(number, self.told(at), item, &self.catalog)
    }

    /// Decides when the next visit begins, as long as rankings are left.
    fn expect_visit(&mut self) {
        let mut lists: u64 = 1;
        while lists < 8 && self.random.chance(0.65) {
            lists += 1;
        }
        let lists = lists.min(self.size.rankings - self.allotted);
        let part = (self.allotted as f64 + self.random.unit() * lists as f64) / self.size.rankings as f64;
        let at = time_of(part, self.size.days);
        // where the next busy day is another week, visits are over by midnight
        let at = if self.days > self.size.days { at - (at - START).rem_euclid(DAY) / 24 } else { at };
        self.arrival = (lists > 0).then_some(Arrival { at, lists: lists as u32 });
        self.allotted += lists;
    }

    /// Begins a visit. A visitor who signs in for the first time gets a user event.
    fn arrive(&mut self, arrival: &Arrival) -> Option<Event> {
        let visit = Visit::new(self.size.seed, self.visits, arrival.lists, self.size.users);
        self.visits += 1;
        let known = &mut self.known[visit.user as usize];
        let new = visit.signed_in && !std::mem::replace(known, *known || visit.signed_in);
        let introduced = new.then(|| events::user(self.metadata(), self.told(arrival.at), &visit));
        self.plans.add(arrival.at + SECOND, Planned::List(Box::new(visit)));
        self.expect_visit();
        introduced
    }

    fn carry_out(&mut self, at: i64, planned: Planned) -> Event {
        match planned {
            Planned::List(visit) => Event::Ranking(self.show(at, visit)),
            Planned::Act(act) => {
                self.written.interactions += 1;
                events::interaction(self.written.interactions, self.told(at), &act, &self.catalog)
            }
        }
    }

    /// Shows a list, and plans what the visitor does with it and afterwards.
    fn show(&mut self, at: i64, mut visit: Box<Visit>) -> Ranking {
        let shown = listing(&self.catalog, &visit.query, self.size.length, &mut visit.random);
        let ranking = events::ranking(self.written.rankings, self.told(at), &visit, &shown, &self.catalog);
        let done = self.read(at, &mut visit, &shown);
        self.written.rankings += 1;
        if visit.lists > 1 {
            let next = done + visit.proceed();
            self.plans.add(next, Planned::List(visit));
        }
        ranking
    }

    /// Goes through a list as its visitor does; returns when that is over.
    fn read(&mut self, at: i64, visit: &mut Visit, shown: &[Shown]) -> i64 {
        let mut now = at;
        for (position, shown) in shown.iter().enumerate() {
            if visit.visitor.crawls() || !visit.random.chance(examination(position)) {
                continue;
            }
            now += visit.random.between(400.0, 2500.0) as i64;
            let item = &self.catalog.items[shown.item as usize];
            let appeal = appeal(item, visit, at, &self.market);
            if visit.random.chance(attraction(appeal)) {
                visit.remember(item.brand, item.color);
                let buys = visit.random.chance(conversion(appeal));
                now = self.plan_acts(now, visit, shown.item, buys);
            }
        }
        now
    }

    /// Plans a click, and the purchase that may follow it; returns when the visitor is back at the list.
    fn plan_acts(&mut self, now: i64, visit: &mut Visit, item: u32, buys: bool) -> i64 {
        let user = visit.signed_in.then_some(visit.user);
        let mut act = Act { ranking: self.written.rankings, session: visit.number, user, item, kind: "click" };
        self.plans.add(now, Planned::Act(act));
        let mut back = now + visit.random.between(4.0, 60.0) as i64 * SECOND;
        if buys {
            act.kind = "purchase";
            back += visit.random.between(20.0, 180.0) as i64 * SECOND;
            self.plans.add(back, Planned::Act(act));
        }
        back
    }
}

impl Iterator for Simulation {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        loop {
            let (at, next) = self.upcoming()?;
            self.now = at;
            let event = match next {
                Next::Release => Some(self.release(at)),
                Next::Change => Some(self.change(at)),
                Next::Arrival => self.arrival.take().and_then(|arrival| self.arrive(&arrival)),
                Next::Plan => self.plans.pop().map(|planned| self.carry_out(at, planned)),
            };
            if event.is_some() {
                return event;
            }
        }
    }
}
