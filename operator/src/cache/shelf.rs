//! Things by where they are, and by what they belong to.
//!
//! Versions of a kind can be compared, as Kubernetes promises since 1.35 and has always kept; a version that is no number is
//! newer than all that was known.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// What lies on a shelf.
pub(super) trait Thing: Clone {
    /// What it belongs to.
    fn group(&self) -> Option<String>;
    /// Its version.
    fn version(&self) -> Option<u64>;
}

/// All things of a kind.
pub(super) struct Shelf<T> {
    things: HashMap<Arc<str>, T>,
    groups: HashMap<String, BTreeSet<Arc<str>>>,
    /// What a listing has shown so far.
    found: BTreeMap<Arc<str>, T>,
    /// How often everything was listed.
    fillings: usize,
    /// The newest version that the watch has shown.
    newest: u64,
}

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        let (things, groups, found) = (HashMap::new(), HashMap::new(), BTreeMap::new());
        Self { things, groups, found, fillings: 0, newest: 0 }
    }
}

impl<T: Thing> Shelf<T> {
    /// Whether it has been complete.
    pub(super) fn is_filled(&self) -> bool {
        self.fillings > 0
    }

    pub(super) fn fillings(&self) -> usize {
        self.fillings
    }

    /// Everything is about to be listed.
    pub(super) fn refill(&mut self) {
        self.found.clear();
    }

    /// The listing shows this. Readers that get the news look here, so a later listing than the first counts at once.
    pub(super) fn found(&mut self, place: String, thing: T) {
        let place: Arc<str> = place.into();
        if self.is_filled() {
            self.put_at(place.clone(), thing.clone());
        }
        self.found.insert(place, thing);
    }

    /// The listing is complete: what it has not shown is gone.
    pub(super) fn filled(&mut self) {
        let found = std::mem::take(&mut self.found);
        let gone: Vec<Arc<str>> = self.things.keys().filter(|&place| !found.contains_key(place)).cloned().collect();
        gone.iter().for_each(|place| self.remove(place));
        for (place, thing) in found {
            self.put_at(place, thing);
        }
        self.fillings += 1;
    }

    /// The watch shows this.
    pub(super) fn put(&mut self, place: String, thing: T) {
        self.put_at(place.into(), thing);
    }

    fn put_at(&mut self, place: Arc<str>, thing: T) {
        self.newest = self.newest.max(thing.version().unwrap_or(0));
        if !self.is_newer(&place, &thing) {
            self.insert(place, thing);
        }
    }

    /// The watch shows that this is gone.
    pub(super) fn take(&mut self, place: &str, thing: &T) {
        self.newest = self.newest.max(thing.version().unwrap_or(0));
        if !self.is_newer(place, thing) {
            self.remove(place);
        }
    }

    /// This was answered to ourselves. Where the watch has shown later things already, it has shown what became of this.
    pub(super) fn answered(&mut self, place: String, thing: T) {
        if self.is_filled() && thing.version().is_some_and(|version| version > self.newest) {
            self.insert(place.into(), thing);
        }
    }

    pub(super) fn get(&self, place: &str) -> Option<&T> {
        self.things.get(place)
    }

    /// What belongs to an owner.
    pub(super) fn group(&self, group: &str) -> impl Iterator<Item = (&str, &T)> {
        let places = self.groups.get(group).into_iter().flatten();
        places.filter_map(|place| Some((&**place, self.things.get(place)?)))
    }

    /// Whether what is known of a place is newer than this.
    fn is_newer(&self, place: &str, than: &T) -> bool {
        self.things.get(place).is_some_and(|known| known.version() > than.version() && than.version().is_some())
    }

    fn insert(&mut self, place: Arc<str>, thing: T) {
        self.remove(&place);
        if let Some(group) = thing.group() {
            self.groups.entry(group).or_default().insert(place.clone());
        }
        self.things.insert(place, thing);
    }

    fn remove(&mut self, place: &str) {
        let Some(group) = self.things.remove(place).and_then(|thing| thing.group()) else { return };
        if let Some(places) = self.groups.get_mut(&group) {
            places.remove(place);
            if places.is_empty() {
                self.groups.remove(&group);
            }
        }
    }
}
