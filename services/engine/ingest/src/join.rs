//! The join: which interactions belong to which ranking. It goes by event time alone.
//!
//! A ranking stays open until the watermark has passed its last activity by the session's length. An interaction whose ranking
//! has not come waits for it for a while, and then counts as one of an unknown ranking.
//!
//! With a durable state, records of the newest rankings are also kept here. Of the others, only the time until which they stay
//! open is kept; their records are read back when they are needed.

use crate::record::{JoinId, JoinRef, Open, Room};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use rankwright_event::{Interaction, Timestamp};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;
use std::time::Duration;

/// An open ranking that the state alone has takes about this many bytes of memory: its id here and in the index of the state, and when
/// it closes.
const STORED_BYTES: usize = 400;

/// What may be kept at most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Open rankings; the oldest is forced to close.
    pub(crate) open: usize,
    /// Open rankings that are here as a whole; of others, the state alone has the record.
    pub(crate) here: usize,
    /// About this many bytes of rankings that are here; one may be larger. As many again of what is known of those that the state alone has.
    pub(crate) bytes: usize,
    /// Rankings that are awaited; interactions of the one awaited longest give up.
    pub(crate) awaited: usize,
    /// About this many bytes of interactions that wait.
    pub(crate) awaited_bytes: usize,
}

/// Open rankings, and interactions that wait for theirs.
pub(crate) struct Join {
    session_length: Duration,
    ranking_wait: Duration,
    bounds: Bounds,
    open: HashMap<Arc<JoinId>, Held, RandomState>,
    /// Those that are here as a whole, in the order in which they came; not kept where there may be any number of them.
    here: BTreeMap<u64, Arc<JoinId>>,
    /// When each closes at the earliest; later activity is found when its turn comes.
    deadlines: BinaryHeap<Reverse<(Timestamp, Arc<JoinId>)>>,
    /// Bytes of those that are here.
    bytes: usize,
    waiting: HashMap<Arc<JoinId>, Vec<Interaction>, RandomState>,
    waiting_bytes: usize,
    /// When waiting ends, by time and arrival.
    patience: BTreeMap<(Timestamp, u64), Arc<JoinId>>,
    arrivals: u64,
    /// Interactions that had to stop waiting because too many waited.
    evicted_interactions: u64,
}

/// An open ranking.
enum Held {
    /// It is here.
    Here { open: Open, arrival: u64 },
    /// The state has it; time of its last activity, and whether a model could learn from it as it is.
    Stored { last: Timestamp, worth_keeping: bool },
}

/// What becomes of an interaction whose ranking has not come.
#[derive(Debug)]
pub(crate) enum Waits {
    /// It waits.
    Kept,
    /// It waits already.
    Known,
    /// As many wait as a ranking keeps.
    NoRoom(Interaction),
}

/// Where an open ranking is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Here.
    Here,
    /// In the state alone; see [`Join::put_back`].
    Stored,
}

/// A ranking whose time is over.
pub(crate) enum Due {
    /// It is here.
    Here(Open),
    /// The state alone has it, and whether a model could learn from it.
    Stored { id: Arc<JoinId>, worth_keeping: bool },
}

impl Held {
    fn last(&self) -> Timestamp {
        match self {
            Self::Here { open, .. } => open.last,
            Self::Stored { last, .. } => *last,
        }
    }
}

impl Bounds {
    fn all_are_here(&self) -> bool {
        self.here == usize::MAX
    }
}

impl Join {
    pub(crate) fn new(session_length: Duration, ranking_wait: Duration, bounds: Bounds) -> Self {
        Self {
            session_length,
            ranking_wait,
            bounds: Bounds { open: bounds.open.max(1), here: bounds.here.max(1), ..bounds },
            open: HashMap::default(),
            here: BTreeMap::new(),
            deadlines: BinaryHeap::new(),
            bytes: 0,
            waiting: HashMap::default(),
            waiting_bytes: 0,
            patience: BTreeMap::new(),
            arrivals: 0,
            evicted_interactions: 0,
        }
    }

    /// Number of open rankings.
    pub(crate) fn open_rankings(&self) -> usize {
        self.open.len()
    }

    /// About this many bytes of memory that open rankings and waiting interactions take.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes + self.stored_bytes() + self.waiting_bytes
    }

    /// Of those that the state alone has.
    fn stored_bytes(&self) -> usize {
        match self.bounds.all_are_here() {
            true => 0,
            false => self.open.len().saturating_sub(self.here.len()) * STORED_BYTES,
        }
    }

    /// Number of interactions that had to stop waiting because too many waited.
    pub(crate) fn evicted_interactions(&self) -> u64 {
        self.evicted_interactions
    }

    /// Number of rankings that interactions wait for.
    pub(crate) fn awaited_rankings(&self) -> usize {
        self.waiting.len()
    }

    /// Where a ranking is, if it is open.
    pub(crate) fn place(&self, id: &JoinRef<'_>) -> Option<Place> {
        self.open.get(id).map(|held| match held {
            Held::Here { .. } => Place::Here,
            Held::Stored { .. } => Place::Stored,
        })
    }

    /// Adds an interaction to a ranking that is here; whether it is kept there.
    pub(crate) fn add(&mut self, id: &JoinRef<'_>, interaction: Interaction) -> bool {
        let Some(Held::Here { open, .. }) = self.open.get_mut(id) else { return false };
        self.bytes -= open.bytes();
        let kept = open.add(interaction);
        self.bytes += open.bytes();
        kept
    }

    /// The interactions of a ranking that is here, or of one that is awaited.
    pub(crate) fn interactions(&self, id: &JoinRef<'_>) -> Option<&[Interaction]> {
        match self.open.get(id) {
            Some(Held::Here { open, .. }) => Some(&open.interactions),
            Some(Held::Stored { .. }) => None,
            None => self.waiting.get(id).map(Vec::as_slice),
        }
    }

    /// Opens a ranking that is not open. What [`Join::put_back`] gives, and the interactions that have waited for it.
    pub(crate) fn open(&mut self, open: Open) -> (Vec<Open>, Vec<Interaction>) {
        let id = Arc::new(JoinId::of(&open.ranking));
        self.deadlines.push(Reverse((open.last.plus(self.session_length), id.clone())));
        let let_go = self.hold(id.clone(), open);
        let mut waited = self.no_longer_waiting(&id);
        waited.sort_by(|left, right| (left.timestamp, &left.id).cmp(&(right.timestamp, &right.id)));
        (let_go, waited)
    }

    /// Takes back an open ranking that was read from the state. Those that had to make room for it: the state has to have all of
    /// them.
    pub(crate) fn put_back(&mut self, open: Open) -> Vec<Open> {
        self.hold(Arc::new(JoinId::of(&open.ranking)), open)
    }

    fn no_longer_waiting(&mut self, id: &Arc<JoinId>) -> Vec<Interaction> {
        let waited = self.waiting.remove(&id.borrowed()).unwrap_or_default();
        self.waiting_bytes -= waited.iter().map(Interaction::bytes).sum::<usize>();
        waited
    }

    /// Holds a ranking as a whole, as far as there is room.
    fn hold(&mut self, id: Arc<JoinId>, open: Open) -> Vec<Open> {
        self.arrivals += 1;
        let arrival = self.arrivals;
        if !self.bounds.all_are_here() {
            self.here.insert(arrival, id.clone());
        }
        self.bytes += open.bytes();
        self.open.insert(id, Held::Here { open, arrival });
        self.make_room()
    }

    /// Lets go of rankings that have been here longest while those here are too many, or take too much memory: the state has to
    /// have all of them.
    pub(crate) fn make_room(&mut self) -> Vec<Open> {
        let mut let_go = Vec::new();
        while self.here.len() > self.bounds.here || self.here.len() > 1 && self.bytes > self.bounds.bytes {
            let Some((_, oldest)) = self.here.pop_first() else { break };
            let Some(held) = self.open.get_mut(&oldest.borrowed()) else { continue };
            let Held::Here { open, .. } = &*held else { continue };
            self.bytes -= open.bytes();
            let stored = Held::Stored { last: open.last, worth_keeping: open.is_worth_keeping() };
            if let Held::Here { open, .. } = std::mem::replace(held, stored) {
                let_go.push(open);
            }
        }
        let_go
    }

    /// Whether interactions wait for a ranking.
    pub(crate) fn is_awaited(&self, id: &JoinRef<'_>) -> bool {
        self.waiting.contains_key(id)
    }

    /// Keeps an interaction until its ranking comes, as an open one would keep it.
    pub(crate) fn wait(&mut self, id: &JoinId, interaction: Interaction) -> Waits {
        let waiting = self.waiting.get(&id.borrowed()).map_or(&[][..], Vec::as_slice);
        match Room::among(waiting, &interaction) {
            Room::Taken => Waits::Known,
            Room::None => {
                self.evicted_interactions += 1;
                Waits::NoRoom(interaction)
            }
            Room::Free => {
                self.wait_anyhow(id.clone(), interaction);
                Waits::Kept
            }
        }
    }

    /// Keeps one that has waited in an earlier process.
    pub(crate) fn wait_anyhow(&mut self, id: JoinId, interaction: Interaction) {
        let id = Arc::new(id);
        self.arrivals += 1;
        self.patience.insert((interaction.timestamp.plus(self.ranking_wait), self.arrivals), id.clone());
        self.waiting_bytes += interaction.bytes();
        self.waiting.entry(id).or_default().push(interaction);
    }

    /// Takes a ranking that closes before `watermark`, the one with the earliest deadline first.
    pub(crate) fn close_before(&mut self, watermark: Timestamp) -> Option<Due> {
        loop {
            let Reverse((deadline, _)) = self.deadlines.peek()?;
            if *deadline >= watermark {
                return None;
            }
            if let Some(due) = self.pop() {
                return Some(due);
            }
        }
    }

    /// Takes the ranking with the earliest deadline while there are too many, or they take too much memory.
    pub(crate) fn evict(&mut self) -> Option<Due> {
        let too_large = |join: &Self| match join.bounds.all_are_here() {
            true => join.open.len() > 1 && join.bytes > join.bounds.bytes,
            false => join.stored_bytes() > join.bounds.bytes, // those that are here make room by themselves
        };
        while self.open.len() > self.bounds.open || too_large(self) {
            if let Some(due) = self.pop() {
                return Some(due);
            }
        }
        None
    }

    /// Takes the one whose deadline comes first; `None` where that had moved, and was corrected.
    fn pop(&mut self) -> Option<Due> {
        let Reverse((deadline, id)) = self.deadlines.pop()?;
        let actual = self.open.get(&id.borrowed())?.last().plus(self.session_length);
        if actual > deadline {
            self.deadlines.push(Reverse((actual, id)));
            return None;
        }
        Some(match self.open.remove(&id.borrowed())? {
            Held::Here { open, arrival } => {
                self.here.remove(&arrival);
                self.bytes -= open.bytes();
                Due::Here(open)
            }
            Held::Stored { worth_keeping, .. } => Due::Stored { id, worth_keeping },
        })
    }

    /// Takes interactions whose ranking has not come by `watermark`, those with the least patience first; also when
    /// more rankings are awaited than may be.
    pub(crate) fn give_up(&mut self, watermark: Timestamp) -> Option<(Arc<JoinId>, Vec<Interaction>)> {
        while let Some(first) = self.patience.first_entry() {
            let too_many = self.waiting.len() > self.bounds.awaited || self.waiting_bytes > self.bounds.awaited_bytes;
            let is_early = first.key().0 >= watermark;
            if is_early && !too_many {
                return None;
            }
            let id = first.remove();
            let interactions = self.no_longer_waiting(&id);
            self.evicted_interactions += if is_early { interactions.len() as u64 } else { 0 };
            if !interactions.is_empty() {
                return Some((id, interactions));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{Bounds, Due, Held, Join, Place, STORED_BYTES};
    use crate::record::{JoinId, JoinRef, Open};
    use crate::rows::Promise;
    use rankwright_event::{Field, Interaction, Ranking, Tenant, Timestamp};
    use std::sync::Arc;
    use std::time::Duration;

    const ANY: Bounds = Bounds {
        open: usize::MAX,
        here: usize::MAX,
        bytes: usize::MAX,
        awaited: usize::MAX,
        awaited_bytes: usize::MAX,
    };

    fn shown(id: &str, seconds: i64) -> Open {
        let (id, timestamp) = (id.into(), Timestamp::from_millis(seconds * 1000));
        let (tenant, fields, items) = (Tenant::default(), Vec::new(), Vec::new());
        let ranking = Ranking { id, timestamp, tenant, user: None, session: None, fields, items };
        Open::new(Arc::new(ranking), 0, Promise::kept(Vec::new()))
    }

    fn click(ranking: &str, seconds: i64) -> Interaction {
        Interaction {
            id: "c".into(),
            timestamp: Timestamp::from_millis(seconds * 1000),
            tenant: Tenant::default(),
            ranking: Some(ranking.into()),
            user: None,
            session: None,
            kind: "click".into(),
            item: "i".into(),
            fields: Vec::new(),
        }
    }

    fn id(ranking: &str) -> JoinId {
        JoinId { tenant: Tenant::default(), ranking: ranking.into() }
    }

    fn here(join: &Join) -> usize {
        join.open.values().filter(|held| matches!(held, Held::Here { .. })).count()
    }

    #[test]
    fn no_more_rankings_are_here_than_there_is_room_for() {
        let bounds = Bounds { here: 2, ..ANY };
        let mut join = Join::new(Duration::from_secs(60), Duration::from_secs(10), bounds);
        for number in 0..5 {
            join.open(shown(&format!("r{number}"), number));
            if number == 1 {
                assert!(join.add(&id("r1").borrowed(), click("r1", 30)));
            }
        }
        assert_eq!((here(&join), join.open_rankings()), (2, 5));
        assert_eq!(join.place(&id("r0").borrowed()), Some(Place::Stored), "the state alone has it");
        join.put_back(shown("r0", 0));
        assert!(join.add(&id("r0").borrowed(), click("r0", 40)));
        assert_eq!((here(&join), join.here.len(), join.open_rankings()), (2, 2, 5));
        assert!(!join.add(&id("r0").borrowed(), click("r0", 40)), "it is there already");
        let closed = std::iter::from_fn(|| join.close_before(Timestamp::MAX)).map(|due| match due {
            Due::Here(open) => (open.ranking.id.to_string(), None),
            Due::Stored { id, worth_keeping } => (id.ranking.to_string(), Some(worth_keeping)),
        });
        let expected = [("r2", Some(false)), ("r3", Some(false)), ("r4", None), ("r1", Some(true)), ("r0", None)];
        assert_eq!(closed.collect::<Vec<_>>(), expected.map(|(id, stored)| (id.to_owned(), stored)));
        assert_eq!((here(&join), join.here.len(), join.open_rankings()), (0, 0, 0));
    }

    #[test]
    fn a_ranking_that_the_state_alone_has_takes_little_memory_however_long_its_id_is() {
        let bounds = Bounds { here: 1, ..ANY };
        let mut join = Join::new(Duration::from_secs(60), Duration::from_secs(10), bounds);
        let long = |number: i64| format!("{number}{}", "x".repeat(4000));
        (0..5).for_each(|number| drop(join.open(shown(&long(number), number))));
        assert_eq!((here(&join), join.open_rankings()), (1, 5));
        assert!(join.open.keys().all(|id| id.ranking.as_str().len() < 100));
        let tenant = Tenant::default();
        let place = |number| join.place(&JoinRef::new(&tenant, &long(number).into()));
        assert_eq!([0, 4, 5].map(place), [Some(Place::Stored), Some(Place::Here), None]);
    }

    #[test]
    fn open_rankings_take_no_more_bytes_than_they_may() {
        let one = shown("r", 0).bytes();
        let durable = Bounds { here: 1000, bytes: 3 * one, ..ANY };
        let mut join = Join::new(Duration::from_secs(60), Duration::from_secs(10), durable);
        (0..5).for_each(|number| drop(join.open(shown(&format!("r{number}"), number))));
        assert_eq!((here(&join), join.open_rankings(), join.bytes()), (3, 5, 3 * one + 2 * STORED_BYTES));

        let mut join = Join::new(Duration::from_secs(60), Duration::from_secs(10), Bounds { bytes: 3 * one, ..ANY });
        let mut evicted = 0;
        for number in 0..5 {
            join.open(shown(&format!("r{number}"), number));
            evicted += std::iter::from_fn(|| join.evict()).count();
        }
        assert_eq!((evicted, join.open_rankings(), join.bytes()), (2, 3, 3 * one));
        let large = click("r4", 5);
        join.add(
            &id("r4").borrowed(),
            Interaction { fields: vec![Field::new("f", "x".repeat(9 * one).as_str().into())], ..large },
        );
        assert_eq!(std::iter::from_fn(|| join.evict()).count(), 2, "one may be larger");
        assert!(matches!(join.close_before(Timestamp::MAX), Some(Due::Here(_))));
        assert_eq!(join.bytes(), 0);
    }

    #[test]
    fn what_is_known_of_rankings_that_the_state_alone_has_takes_no_more_bytes_than_it_may() {
        let bounds = Bounds { here: 1, bytes: 3 * STORED_BYTES, ..ANY };
        let mut join = Join::new(Duration::from_secs(60), Duration::from_secs(10), bounds);
        let mut closed = Vec::new();
        for number in 0..10 {
            join.open(shown(&format!("r{number}"), number));
            closed.extend(std::iter::from_fn(|| join.evict()).map(|due| match due {
                Due::Here(open) => open.ranking.id.to_string(),
                Due::Stored { id, .. } => id.ranking.to_string(),
            }));
        }
        assert_eq!(closed, ["r0", "r1", "r2", "r3", "r4", "r5"], "the oldest close early");
        assert_eq!((here(&join), join.open_rankings()), (1, 4));
    }

    #[test]
    fn interactions_of_a_ranking_take_bounded_bytes_each_kind_its_own() {
        let fields = || vec![Field::new("f", "x".repeat(1 << 20).as_str().into())];
        let mut open = shown("r", 0);
        (0..9).for_each(|second| {
            assert_eq!(open.add(Interaction { fields: fields(), ..click("r", second) }), second < 4);
        });
        assert!(open.add(Interaction { id: "i".into(), kind: "impression".into(), ..click("r", 20) }));
        assert!(!open.add(click("r", 21)));
    }

    #[test]
    fn waiting_interactions_take_no_more_bytes_than_they_may() {
        let one = click("r0", 0).bytes();
        let bounds = Bounds { awaited_bytes: 3 * one, ..ANY };
        let mut join = Join::new(Duration::from_secs(60), Duration::from_secs(10), bounds);
        for number in 0..5 {
            join.wait(&id(&format!("r{number}")), click(&format!("r{number}"), number));
        }
        let given_up = std::iter::from_fn(|| join.give_up(Timestamp::MIN)).map(|(id, _)| id.ranking.to_string());
        assert_eq!(given_up.collect::<Vec<_>>(), ["r0", "r1"]);
        assert_eq!(join.evicted_interactions(), 2);
        assert_eq!(join.open(shown("r2", 2)).1.len(), 1);
        assert_eq!(join.bytes(), 2 * one + shown("r2", 2).bytes());
    }

    /// As where the state is shared: there the parts of a value that are kept are the oldest.
    #[test]
    fn of_too_many_interactions_with_a_ranking_the_first_stay() {
        let most = rankwright_state::Parts::MOST as i64;
        let mut open = shown("r", 0);
        (0..most + 50).for_each(|second| assert_eq!(open.add(click("r", second)), second < most));
        assert!(open.interactions.iter().map(|click| click.timestamp.millis() / 1000).eq(0..most));
        let seen = |second| Interaction { id: "i".into(), kind: "impression".into(), ..click("r", second) };
        (0..most + 50).for_each(|second| assert_eq!(open.add(seen(second)), second < most));
        let seconds = open.interactions.iter().skip(1000).map(|seen| seen.timestamp.millis() / 1000);
        assert!(seconds.eq(0..most), "impressions have room of their own");
    }
}
