//! Entities that were read or written here, until the server tells that another client changed them.
//!
//! The news that a value is outdated may arrive before an answer with this value. So each part of the keys has a counter, which
//! rises with such news. An answer is kept only if the counter is the same as when the question was sent. What this process
//! wrote stays as a guess, for commits that compare before they write: the server reports these changes like those of others
//! (once for what was read, and again when it was read again).

use super::layout::Stamp;
use crate::{CacheUse, Entity};
use foldhash::fast::RandomState;
use parking_lot::Mutex;
use quick_cache::sync::Cache as Entries;
use rankwright_redis::{Change, Watcher};
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What lies under a key: nothing, or an entity with its stamp.
pub(super) type Known = Option<(Stamp, Arc<Entity>)>;

/// Number of parts of the keys.
const PARTS: usize = 1024;

pub(super) struct Cache {
    entries: Option<Entries<Vec<u8>, Kept>>,
    ttl: Option<Duration>,
    hasher: RandomState,
    news: Vec<AtomicU64>,
    /// Held while an answer is kept or dropped: the two must not overtake each other.
    keeping: Vec<Mutex<()>>,
    hits: AtomicU64,
    misses: AtomicU64,
}

#[derive(Clone)]
struct Kept {
    known: Known,
    since: Instant,
    /// Whether the server will tell when it changes.
    followed: bool,
    /// Whether it will tell of a change that was made here.
    sent: bool,
}

impl Kept {
    fn of(known: Known) -> Self {
        Self { known, since: Instant::now(), followed: false, sent: false }
    }
}

/// Where the counter of a key's part stood when a question about it was asked.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    part: usize,
    count: u64,
}

impl Cache {
    pub(super) fn new(entries: usize, ttl: Option<Duration>) -> Self {
        Self {
            entries: (entries > 0).then(|| Entries::new(entries)),
            ttl,
            hasher: RandomState::default(),
            news: (0..PARTS).map(|_| AtomicU64::new(0)).collect(),
            keeping: (0..PARTS).map(|_| Mutex::default()).collect(),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// Counts keys that were known, and others.
    pub(super) fn count(&self, hits: usize, misses: usize) {
        self.hits.fetch_add(hits as u64, Ordering::Relaxed);
        self.misses.fetch_add(misses as u64, Ordering::Relaxed);
    }

    /// How many there were.
    pub(super) fn used(&self) -> CacheUse {
        CacheUse { hits: self.hits.load(Ordering::Relaxed), misses: self.misses.load(Ordering::Relaxed) }
    }

    /// What the connection tells of changes.
    pub(super) fn watcher(self: &Arc<Self>) -> Watcher {
        let cache = self.clone();
        Arc::new(move |change| match change {
            Change::Keys(keys) => keys.iter().for_each(|key| cache.forget(key)),
            Change::All => cache.forget_all(),
        })
    }

    /// What is known of a key, if it may be used: the server tells of changes (`watched`); where it does not, it is young enough.
    pub(super) fn get(&self, key: &[u8], watched: bool) -> Option<Known> {
        let kept = self.entries.as_ref()?.get(key)?;
        // where the server tells of changes, it does so of what was read alone, and not of what a commit has left here
        let fresh = match watched {
            true => kept.followed,
            false => self.ttl.is_some_and(|ttl| kept.since.elapsed() < ttl),
        };
        fresh.then_some(kept.known)
    }

    /// What was last known of a key, which a script will compare.
    pub(super) fn guess(&self, key: &[u8]) -> Option<Known> {
        self.entries.as_ref()?.get(key).map(|kept| kept.known)
    }

    /// To be called before a question is sent.
    pub(super) fn ask(&self, key: &[u8]) -> Asked {
        let part = self.part(key);
        Asked { part, count: self.news[part].load(Ordering::Acquire) }
    }

    /// Keeps an answer, unless news has overtaken it.
    pub(super) fn keep(&self, key: Vec<u8>, known: Known, asked: Asked) {
        let Some(entries) = &self.entries else { return };
        let _keeping = self.keeping[asked.part].lock();
        if self.news[asked.part].load(Ordering::Acquire) == asked.count {
            entries.insert(key, Kept { followed: true, ..Kept::of(known) });
        }
    }

    /// To be called before a change of what lies under a key is sent: of what was read, the server will tell that change, too.
    pub(super) fn sent(&self, key: &[u8]) {
        let Some(entries) = &self.entries else { return };
        let _keeping = self.keeping[self.part(key)].lock();
        if let Some(kept) = entries.get(key).filter(|kept| kept.followed && !kept.sent) {
            entries.insert(key.to_vec(), Kept { sent: true, ..kept });
        }
    }

    /// Keeps what a commit has written, which the server does not follow before it is read. Answers to earlier questions
    /// no longer count.
    pub(super) fn wrote(&self, key: Vec<u8>, known: Known) {
        let Some(entries) = &self.entries else { return };
        let part = self.part(&key);
        let _keeping = self.keeping[part].lock();
        self.news[part].fetch_add(1, Ordering::AcqRel);
        let sent = entries.get(&key).is_some_and(|kept| kept.sent); // the news of it is still to come
        entries.insert(key, Kept { sent, ..Kept::of(known) });
    }

    /// Keeps nothing of a key any more.
    pub(super) fn remove(&self, key: &[u8]) {
        let Some(entries) = &self.entries else { return };
        let part = self.part(key);
        let _keeping = self.keeping[part].lock();
        self.news[part].fetch_add(1, Ordering::AcqRel);
        entries.remove(key);
    }

    /// It has changed: what is known of it is but a guess from now on, and nothing at all where it was not changed here.
    pub(super) fn forget(&self, key: &[u8]) {
        let Some(entries) = &self.entries else { return };
        let part = self.part(key);
        let _keeping = self.keeping[part].lock();
        self.news[part].fetch_add(1, Ordering::AcqRel);
        let Some(kept) = entries.get(key) else { return };
        match kept.sent {
            true => {
                let since = self.ttl.and_then(|ttl| Instant::now().checked_sub(ttl)).unwrap_or(kept.since);
                entries.insert(key.to_vec(), Kept { since, followed: false, sent: false, ..kept });
            }
            false => drop(entries.remove(key)),
        }
    }

    fn forget_all(&self) {
        let Some(entries) = &self.entries else { return };
        self.news.iter().for_each(|count| {
            count.fetch_add(1, Ordering::AcqRel);
        });
        let held: Vec<_> = self.keeping.iter().map(Mutex::lock).collect();
        entries.clear();
        drop(held);
    }

    fn part(&self, key: &[u8]) -> usize {
        self.hasher.hash_one(key) as usize % PARTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Known {
        Some((Stamp(*b"AAAAAAAA"), Arc::new(Entity::default())))
    }

    fn cache(ttl: Option<Duration>) -> Arc<Cache> {
        Arc::new(Cache::new(16, ttl))
    }

    #[test]
    fn an_answer_that_news_has_overtaken_is_not_kept() {
        let cache = cache(None);
        let asked = cache.ask(b"a");
        cache.watcher()(Change::Keys(vec![b"a".to_vec()]));
        cache.keep(b"a".to_vec(), known(), asked);
        assert!(cache.get(b"a", true).is_none());
    }

    #[test]
    fn an_answer_is_kept_until_the_key_changes_or_the_connection_breaks() {
        for change in [Change::Keys(vec![b"a".to_vec()]), Change::All] {
            let cache = cache(None);
            cache.keep(b"a".to_vec(), known(), cache.ask(b"a"));
            assert!(cache.get(b"a", true).is_some());
            cache.watcher()(change);
            assert!(cache.get(b"a", true).is_none());
        }
    }

    #[test]
    fn an_answer_from_before_a_commit_does_not_take_the_place_of_what_it_wrote() {
        let cache = cache(None);
        let asked = cache.ask(b"a");
        cache.wrote(b"a".to_vec(), None);
        cache.keep(b"a".to_vec(), known(), asked);
        assert_eq!(cache.guess(b"a"), Some(None));
        assert!(cache.get(b"a", true).is_none(), "the server does not follow what was not read");
    }

    #[test]
    fn what_the_server_does_not_follow_is_no_answer_however_young_while_it_tells_of_the_rest() {
        let cache = cache(Some(Duration::from_secs(3600)));
        cache.wrote(b"a".to_vec(), known());
        assert!(cache.get(b"a", true).is_none() && cache.get(b"a", false).is_some());
    }

    fn news(cache: &Arc<Cache>) {
        cache.watcher()(Change::Keys(vec![b"a".to_vec()]));
    }

    #[test]
    fn what_was_changed_here_stays_as_a_guess_whenever_the_server_tells_of_it() {
        let other = Some((Stamp(*b"BBBBBBBB"), Arc::new(Entity::default())));
        for news_comes_first in [true, false] {
            let cache = cache(Some(Duration::from_secs(3600)));
            cache.keep(b"a".to_vec(), known(), cache.ask(b"a"));
            cache.sent(b"a");
            if news_comes_first {
                news(&cache);
                assert!(cache.get(b"a", true).is_none() && cache.get(b"a", false).is_none());
                assert_eq!(cache.guess(b"a"), Some(known()));
            }
            cache.wrote(b"a".to_vec(), other.clone());
            if !news_comes_first {
                news(&cache);
            }
            assert!(cache.get(b"a", true).is_none());
            assert_eq!(cache.guess(b"a"), Some(other.clone()));
            news(&cache);
            assert_eq!(cache.guess(b"a"), None, "that is another's change");
        }
    }

    #[test]
    fn what_was_changed_by_others_is_no_guess() {
        let cache = cache(Some(Duration::from_secs(3600)));
        cache.keep(b"a".to_vec(), known(), cache.ask(b"a"));
        news(&cache);
        assert_eq!(cache.guess(b"a"), None);
        cache.wrote(b"a".to_vec(), known());
        cache.sent(b"a"); // it was not read: the server tells nothing
        news(&cache);
        assert_eq!(cache.guess(b"a"), None);
    }

    #[test]
    fn nothing_is_kept_of_what_is_removed() {
        let cache = cache(None);
        let asked = cache.ask(b"a");
        cache.wrote(b"a".to_vec(), known());
        cache.remove(b"a");
        cache.keep(b"a".to_vec(), known(), asked);
        assert_eq!(cache.guess(b"a"), None);
    }

    #[test]
    fn all_that_a_commit_wrote_is_kept() {
        let cache = Cache::new(10_000, None);
        let keys: Vec<Vec<u8>> = (0..3000).map(|number| number.to_string().into_bytes()).collect();
        keys.iter().for_each(|key| cache.wrote(key.clone(), known()));
        assert!(keys.iter().all(|key| cache.guess(key).is_some()));
    }

    #[test]
    fn without_news_an_answer_counts_only_for_its_time() {
        let cache = cache(None);
        cache.keep(b"a".to_vec(), known(), cache.ask(b"a"));
        assert!(cache.get(b"a", false).is_none());
        let cache = self::cache(Some(Duration::from_secs(3600)));
        cache.keep(b"a".to_vec(), known(), cache.ask(b"a"));
        assert!(cache.get(b"a", false).is_some());
    }

    #[test]
    fn a_cache_without_room_keeps_nothing() {
        let cache = Cache::new(0, Some(Duration::from_secs(3600)));
        cache.keep(b"a".to_vec(), known(), cache.ask(b"a"));
        assert!(cache.get(b"a", true).is_none() && cache.guess(b"a").is_none());
    }
}
