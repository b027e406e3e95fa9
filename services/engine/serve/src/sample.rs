//! The newest rank requests, kept in memory to look at and to rank again.
//!
//! Each model has its own, so that a busy one leaves others theirs. Once a model has as many as are kept, it takes a new one
//! at most each second: those that are listed then stay long enough to be looked at, and traffic costs nothing.

use crate::plugin::WorstRequest;
use crate::rank::Answered;
use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Requests of all models together take no more: with lists, versions and reports, the page stays within 5 MB.
const MOST_BYTES: usize = 3 << 20;

/// Lists that an evaluation found take no more.
const MOST_BYTES_OF_LISTS: usize = 512 << 10;

/// That a request takes beside its texts: its record, and what points to it.
const RECORD: usize = size_of::<Sampled>() + 4 * size_of::<usize>();

/// Between two requests that a model takes, once it has as many as are kept.
const PACE: Duration = Duration::from_secs(1);

/// The newest rank requests of each model.
pub(crate) struct Sample {
    /// For each model.
    requests: usize,
    /// For each model.
    bytes: usize,
    number: AtomicU64,
    models: BTreeMap<String, Mutex<Kept>>,
    /// The lists that the last evaluation found worst.
    lists: Mutex<Vec<Arc<Sampled>>>,
    /// How often all was cleared.
    cleared: AtomicU64,
}

/// Those of one model, the oldest first.
#[derive(Default)]
struct Kept {
    requests: VecDeque<Arc<Sampled>>,
    bytes: usize,
    /// When the next one may come, once one had to go.
    next: Option<Instant>,
}

/// A rank request, and how it was answered.
pub(crate) struct Sampled {
    pub(crate) number: u64,
    /// When it came, in milliseconds since 1970.
    pub(crate) time: u64,
    pub(crate) model: String,
    pub(crate) items: usize,
    /// Milliseconds.
    pub(crate) took: u64,
    pub(crate) fallback: Option<String>,
    /// Ids of the items that the visitor chose, where it is a list of a click-through and was never asked for.
    pub(crate) relevant: Option<Vec<String>>,
    pub(crate) body: Box<[u8]>,
}

impl Sample {
    /// A sample of `requests` requests for each of these models. Numbers begin at `first`: a process with another one does not
    /// repeat the numbers of an earlier process.
    pub(crate) fn new<'n>(requests: usize, models: impl Iterator<Item = &'n str>, first: u64) -> Self {
        let models: BTreeMap<_, _> = models.map(|name| (name.to_owned(), Mutex::default())).collect();
        Self {
            requests,
            bytes: MOST_BYTES / models.len().max(1),
            number: AtomicU64::new(first),
            models,
            lists: Mutex::default(),
            cleared: AtomicU64::new(0),
        }
    }

    /// Keeps a request that came at `began`, unless it is too large, or there are enough for now.
    pub(crate) fn note(&self, model: &str, body: &[u8], answered: &Answered, began: Instant) {
        let bytes = RECORD + model.len() + answered.fallback.as_ref().map_or(0, String::len) + body.len();
        let Some(kept) = self.models.get(model).filter(|_| self.requests > 0 && bytes <= self.bytes) else {
            return;
        };
        if kept.lock().next.is_some_and(|next| began < next) {
            return;
        }
        let took = began.elapsed();
        let time = SystemTime::now().checked_sub(took).and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let sampled = Sampled {
            number: self.number.fetch_add(1, Ordering::Relaxed),
            time: time.unwrap_or_default().as_millis() as u64,
            model: model.to_owned(),
            items: answered.items,
            took: took.as_millis() as u64,
            fallback: answered.fallback.clone(),
            relevant: None,
            body: body.into(),
        };
        let gone = kept.lock().push(Arc::new(sampled), self.requests, self.bytes, began);
        drop(gone); // without the lock
    }

    /// How often all was cleared.
    pub(crate) fn cleared(&self) -> u64 {
        self.cleared.load(Ordering::SeqCst)
    }

    /// Keeps the lists that an evaluation found, in place of those of the one before; those that there is room for. None, where
    /// all was cleared since it began to read: they may name a forgotten visitor.
    pub(crate) fn keep_lists(&self, lists: Vec<WorstRequest>, cleared: u64) {
        let mut room = if self.requests == 0 { 0 } else { MOST_BYTES_OF_LISTS };
        let fits = |list: &Arc<Sampled>| {
            let left = room.checked_sub(list.bytes());
            room = left.unwrap_or(room);
            left.is_some()
        };
        let sampled = |WorstRequest { model, time, relevant, items, body }| {
            let number = self.number.fetch_add(1, Ordering::Relaxed);
            Arc::new(Sampled { number, time, model, items, took: 0, fallback: None, relevant: Some(relevant), body })
        };
        let kept: Vec<_> = lists.into_iter().map(sampled).filter(fits).collect();
        let mut lists = self.lists.lock();
        *lists = if self.cleared() == cleared { kept } else { Vec::new() };
    }

    /// All that are kept, the newest first, and behind them lists of the last evaluation, the worst first.
    pub(crate) fn all(&self) -> Vec<Arc<Sampled>> {
        let mut all: Vec<_> = self.models.values().flat_map(|kept| kept.lock().requests.clone()).collect();
        all.sort_unstable_by_key(|sampled| std::cmp::Reverse(sampled.number));
        all.extend(self.lists.lock().iter().cloned());
        all
    }

    /// Keeps none of them any longer.
    pub(crate) fn clear(&self) {
        self.models.values().for_each(|kept| drop(std::mem::take(&mut *kept.lock())));
        let mut lists = self.lists.lock();
        self.cleared.fetch_add(1, Ordering::SeqCst);
        lists.clear();
    }

    /// One that is kept.
    pub(crate) fn get(&self, number: u64) -> Option<Arc<Sampled>> {
        let of = |kept: &Mutex<Kept>| kept.lock().requests.iter().find(|sampled| sampled.number == number).cloned();
        let list = || self.lists.lock().iter().find(|sampled| sampled.number == number).cloned();
        self.models.values().find_map(of).or_else(list)
    }
}

impl Sampled {
    /// That it takes in memory.
    fn bytes(&self) -> usize {
        let relevant = self.relevant.iter().flatten().map(|id| size_of::<String>() + id.len()).sum::<usize>();
        RECORD + self.model.len() + self.fallback.as_ref().map_or(0, String::len) + relevant + self.body.len()
    }
}

impl Kept {
    /// Adds one; those that have to go for it.
    fn push(&mut self, sampled: Arc<Sampled>, requests: usize, bytes: usize, now: Instant) -> Vec<Arc<Sampled>> {
        self.bytes += sampled.bytes();
        self.requests.push_back(sampled);
        let mut gone = Vec::new();
        while self.requests.len() > requests || self.bytes > bytes {
            let Some(oldest) = self.requests.pop_front() else { break };
            self.bytes -= oldest.bytes();
            gone.push(oldest);
        }
        if !gone.is_empty() {
            self.next = Some(now + PACE);
        }
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered() -> Answered {
        Answered { text: Vec::new(), items: 2, fallback: None }
    }

    fn numbers(sample: &Sample) -> Vec<u64> {
        sample.all().iter().map(|sampled| sampled.number).collect()
    }

    #[test]
    fn each_model_keeps_its_newest_and_then_takes_one_a_second() {
        let (sample, began) = (Sample::new(2, ["a", "b"].into_iter(), 1), Instant::now());
        let note = |model, after: u64| sample.note(model, b"{}", &answered(), began + Duration::from_millis(after));
        note("b", 0);
        (0..3).for_each(|_| note("a", 0));
        assert_eq!(numbers(&sample), [4, 3, 1], "the quiet model has its own");
        note("a", 999);
        note("b", 999);
        assert_eq!(numbers(&sample), [5, 4, 3, 1], "the busy one waits");
        note("a", 1000);
        assert_eq!(numbers(&sample), [6, 5, 4, 1]);
        assert!(sample.get(3).is_none() && sample.get(4).is_some_and(|sampled| sampled.items == 2));
    }

    #[test]
    fn bodies_together_take_no_more_than_their_bound() {
        let (sample, began) = (Sample::new(1000, ["a", "b"].into_iter(), 1), Instant::now());
        let body = vec![b' '; MOST_BYTES / 2 / 3 - 2 * RECORD];
        (0..9).for_each(|at| sample.note("a", &body, &answered(), began + PACE * at));
        assert_eq!(numbers(&sample), [9, 8, 7], "they fill what one of two models has");
        sample.note("b", &vec![b' '; MOST_BYTES / 2 + 1], &answered(), began);
        assert_eq!(numbers(&sample), [9, 8, 7], "one that does not fit is not kept");
    }

    #[test]
    fn a_full_sample_leaves_room_within_five_megabytes_however_small_its_requests_are() {
        let names: Vec<String> = (0..30).map(|name| format!("model {name}")).collect();
        for size in [2, 100, 10_000] {
            let (sample, began) = (Sample::new(1000, names.iter().map(String::as_str), 1), Instant::now());
            let untrained = Answered { fallback: Some("model x is not trained yet".to_owned()), ..answered() };
            for name in &names {
                (0..1000).for_each(|at| sample.note(name, &vec![b' '; size], &untrained, began + PACE * at));
            }
            let relevant = || (0..50).map(|id| format!("item {id}")).collect();
            let worst = |_| WorstRequest { relevant: relevant(), ..list("model 1", size) };
            sample.keep_lists((0..10_000).map(worst).collect(), 0);
            let held: usize = sample.all().iter().map(|sampled| sampled.bytes()).sum();
            assert!((3_000_000..3_700_000).contains(&held), "{held} bytes with bodies of {size}");
        }
    }

    fn list(model: &str, bytes: usize) -> WorstRequest {
        let body = vec![b' '; bytes].into();
        WorstRequest { model: model.to_owned(), time: 7, relevant: vec!["i".to_owned()], items: 2, body }
    }

    #[test]
    fn lists_of_the_last_evaluation_stand_behind_requests() {
        let sample = Sample::new(2, ["a"].into_iter(), 1);
        sample.keep_lists(vec![list("old", 2)], 0);
        sample.note("a", b"{}", &answered(), Instant::now());
        sample.keep_lists(vec![list("a", 2), list("a", MOST_BYTES_OF_LISTS), list("a", 2)], 0);
        assert_eq!(numbers(&sample), [2, 3, 5], "one that does not fit is left out");
        assert!(sample.get(3).is_some_and(|sampled| sampled.relevant.is_some()) && sample.get(1).is_none());
        sample.clear();
        assert!(numbers(&sample).is_empty());
        sample.keep_lists(vec![list("a", 2)], 0);
        assert!(numbers(&sample).is_empty(), "it was read before all was cleared");
        let none = Sample::new(0, ["a"].into_iter(), 1);
        none.keep_lists(vec![list("a", 2)], 0);
        assert!(numbers(&none).is_empty(), "a service that keeps no requests keeps no lists");
    }

    #[test]
    fn nothing_is_kept_where_none_are_wanted() {
        let sample = Sample::new(0, ["a"].into_iter(), 1);
        sample.note("a", b"{}", &answered(), Instant::now());
        assert!(numbers(&sample).is_empty());
    }
}
