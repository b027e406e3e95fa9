//! Breadth-first search over every state that a model can reach, on two threads.
//!
//! Level by level, so that a counterexample is a shortest one and every figure is the same on each run. A state is
//! remembered by a fingerprint of 64 bits alone; among ten million states two share one with a chance of 1 in 300,000.

use foldhash::quality::FixedState;
use hashbrown::HashMap;
use parking_lot::Mutex;
use std::fmt::Debug;
use std::hash::{BuildHasher, Hash};

const THREADS: usize = 2;
const SHELVES: usize = 64;

/// What can be searched.
pub(crate) trait Model: Sync {
    /// Everything that decides what can happen next.
    type State: Clone + Hash + Send + Sync;
    /// What leads from one state to the next.
    type Action: Copy + Debug;

    /// Where it begins.
    fn start(&self) -> Self::State;
    /// Everything that can happen next.
    fn next(&self, state: &Self::State) -> Vec<(Self::Action, Self::State)>;
    /// The promise that a state breaks, where it breaks one.
    fn broken(&self, state: &Self::State) -> Option<&'static str>;
}

/// A whole search without a broken promise.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Explored {
    /// Number of states.
    pub(crate) states: usize,
    /// Number of states in which nothing can happen any more.
    pub(crate) ends: usize,
    /// Number of steps to the farthest state.
    pub(crate) depth: usize,
}

/// A shortest way to a broken promise.
#[derive(Debug)]
pub(crate) struct Counterexample<A> {
    /// Which promise.
    pub(crate) broken: &'static str,
    /// The way there.
    pub(crate) actions: Vec<A>,
}

/// Each state's fingerprint and that of the state it was first reached from.
struct Seen(Vec<Mutex<HashMap<u64, u64, FixedState>>>);

impl Seen {
    fn new() -> Self {
        Self((0..SHELVES).map(|_| Mutex::new(HashMap::with_hasher(FixedState::default()))).collect())
    }

    fn shelf(&self, print: u64) -> &Mutex<HashMap<u64, u64, FixedState>> {
        &self.0[(print % SHELVES as u64) as usize]
    }

    /// Whether the state is a new one.
    fn insert(&self, print: u64, from: u64) -> bool {
        let mut shelf = self.shelf(print).lock();
        let new = !shelf.contains_key(&print);
        if new {
            shelf.insert(print, from);
        }
        new
    }

    fn len(&self) -> usize {
        self.0.iter().map(|shelf| shelf.lock().len()).sum()
    }
}

/// What was found at one level.
struct Level<S> {
    next: Vec<S>,
    ends: usize,
    /// The promise that comes first in the alphabet, so that it is the same one on each run, and the state.
    broken: Option<(&'static str, u64)>,
}

impl<S> Level<S> {
    fn join(mut self, other: Self) -> Self {
        self.next.extend(other.next);
        let broken = self.broken.into_iter().chain(other.broken).min();
        Self { next: self.next, ends: self.ends + other.ends, broken }
    }
}

/// Visits every state, or ends at the first level with one that breaks a promise.
pub(crate) fn explore<M: Model>(model: &M) -> Result<Explored, Counterexample<M::Action>> {
    let (seen, start) = (Seen::new(), model.start());
    seen.insert(print(&start), print(&start));
    let (mut level, mut depth, mut ends) = (vec![start], 0, 0);
    loop {
        let found = expand(model, &seen, &level);
        ends += found.ends;
        if let Some((broken, print)) = found.broken {
            return Err(Counterexample { broken, actions: way_to(model, &seen, print) });
        }
        if found.next.is_empty() {
            return Ok(Explored { states: seen.len(), ends, depth });
        }
        (level, depth) = (found.next, depth + 1);
    }
}

fn expand<M: Model>(model: &M, seen: &Seen, level: &[M::State]) -> Level<M::State> {
    let shares = level.chunks(level.len().div_ceil(THREADS));
    std::thread::scope(|scope| {
        let threads: Vec<_> = shares.map(|share| scope.spawn(move || expand_share(model, seen, share))).collect();
        let found = threads.into_iter().map(|thread| thread.join().expect("the model does not panic"));
        found.reduce(Level::join).expect("a level is never empty")
    })
}

fn expand_share<M: Model>(model: &M, seen: &Seen, share: &[M::State]) -> Level<M::State> {
    let mut found = Level { next: Vec::new(), ends: 0, broken: None };
    for state in share {
        let from = print(state);
        if let Some(broken) = model.broken(state) {
            found.broken = found.broken.into_iter().chain([(broken, from)]).min();
            continue;
        }
        let next = model.next(state);
        found.ends += usize::from(next.is_empty());
        found.next.extend(next.into_iter().map(|(_, next)| next).filter(|next| seen.insert(print(next), from)));
    }
    found
}

/// Goes back from state to state, then forth again to learn the actions.
fn way_to<M: Model>(model: &M, seen: &Seen, print_of_last: u64) -> Vec<M::Action> {
    let mut prints = vec![print_of_last];
    let mut state = model.start();
    while let Some(&last) = prints.last().filter(|&&last| last != print(&state)) {
        prints.push(seen.shelf(last).lock()[&last]);
    }
    let forth = prints.into_iter().rev().skip(1);
    forth
        .map(|wanted| {
            let mut next = model.next(&state).into_iter();
            let (action, reached) = next.find(|(_, next)| print(next) == wanted).expect("it was reached before");
            state = reached;
            action
        })
        .collect()
}

fn print<S: Hash>(state: &S) -> u64 {
    FixedState::default().hash_one(state)
}
