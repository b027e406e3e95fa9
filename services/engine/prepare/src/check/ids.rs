//! Ids that are there, and ids that others name: as digests of 64 bits. Of ten million ids, two share one with a probability of
//! one in four hundred thousand.

use super::EXAMPLES;
use foldhash::quality::FixedState;
use hashbrown::HashTable;
use rankwright_event::Tenant;
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};

const HASHER: FixedState = FixedState::with_seed(0x1d5);
/// Names that are kept as examples: some of them may turn out to be there.
const CANDIDATES: usize = 64;

/// Digest of an id of a tenant.
pub(super) fn of(tenant: &Tenant, id: &str) -> u64 {
    HASHER.hash_one((tenant.as_str(), id))
}

/// A digest is a hash already.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = HASHER.hash_one(bytes);
    }

    fn write_u64(&mut self, digest: u64) {
        self.0 = digest;
    }
}

/// An interaction that names something.
#[derive(Debug, Clone)]
pub(super) struct Example(String);

impl Example {
    pub(super) fn new(interaction: &str, what: &str, name: &str) -> Self {
        Self(format!("{interaction:?} ({what} {name:?})"))
    }

    pub(super) fn text(&self) -> &str {
        &self.0
    }
}

/// Names that nothing was found for yet.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    counts: HashMap<u64, u32, BuildHasherDefault<AsIs>>,
    candidates: Vec<(u64, Example)>,
}

impl Waiting {
    /// It is named, and not there yet.
    pub(super) fn add(&mut self, id: u64, example: impl FnOnce() -> Example) {
        let count = self.counts.entry(id).or_default();
        *count = count.saturating_add(1);
        if self.candidates.len() < CANDIDATES {
            self.candidates.push((id, example()));
        }
    }

    /// It is there: how often it was named before.
    pub(super) fn found(&mut self, id: u64) -> u64 {
        if self.counts.is_empty() {
            return 0;
        }
        let Some(count) = self.counts.remove(&id) else { return 0 };
        self.candidates.retain(|(candidate, _)| *candidate != id);
        u64::from(count)
    }

    /// How often something was named that never was there.
    pub(super) fn total(&self) -> u64 {
        self.counts.values().map(|&count| u64::from(count)).sum()
    }

    pub(super) fn examples(&self) -> Vec<String> {
        self.candidates.iter().take(EXAMPLES).map(|(_, example)| example.text().to_owned()).collect()
    }
}

/// What is there, and what is named, in any order.
#[derive(Debug, Default)]
pub(super) struct Referred {
    there: HashTable<u64>,
    waiting: Waiting,
}

impl Referred {
    /// This one is there.
    pub(super) fn there(&mut self, id: u64) {
        let entry = self.there.entry(id, |other| *other == id, |digest| *digest);
        if let hashbrown::hash_table::Entry::Vacant(vacant) = entry {
            vacant.insert(id);
            self.waiting.found(id);
        }
    }

    /// This one is named.
    pub(super) fn named(&mut self, id: u64, example: impl FnOnce() -> Example) {
        if self.there.find(id, |other| *other == id).is_none() {
            self.waiting.add(id, example);
        }
    }

    pub(super) fn known(&self) -> usize {
        self.there.len()
    }

    pub(super) fn missing(&self) -> u64 {
        self.waiting.total()
    }

    pub(super) fn examples(&self) -> Vec<String> {
        self.waiting.examples()
    }
}
