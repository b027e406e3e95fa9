//! The shards of a stream, and in which order they are read.
//!
//! A shard that is split or merged is closed, and its children go on where it ends. So a child is read when its parents are
//! read to their ends, and the records of one key stay in order.

use super::client::{Fault, fault};
use aws_sdk_kinesis::Client;
use aws_sdk_kinesis::types::Shard as Listed;
use std::collections::{BTreeMap, BTreeSet};

/// The shards that there are, by their ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Shards {
    /// Each with its parents.
    parents: BTreeMap<String, Vec<String>>,
    /// Read to their ends.
    finished: BTreeSet<String>,
}

/// All shards that the service still has something of.
pub(super) async fn list(client: &Client, stream: &str) -> Result<Vec<Listed>, Fault> {
    let mut shards = Vec::new();
    let mut next: Option<String> = None;
    loop {
        let named = next.is_none().then(|| stream.to_owned()); // a page's token stands for the name
        let page = client.list_shards().set_stream_name(named).set_next_token(next).send().await;
        let page = page.map_err(|error| fault(&error))?;
        shards.extend(page.shards.unwrap_or_default());
        next = page.next_token;
        if next.is_none() {
            return Ok(shards);
        }
    }
}

impl Shards {
    /// Takes what there is now; what is gone was read, or is lost.
    pub(super) fn update(&mut self, listed: &[Listed]) {
        let parents = |shard: &Listed| {
            let both = [shard.parent_shard_id(), shard.adjacent_parent_shard_id()];
            both.into_iter().flatten().map(str::to_owned).collect()
        };
        self.parents = listed.iter().map(|shard| (shard.shard_id().to_owned(), parents(shard))).collect();
        self.finished.retain(|shard| self.parents.contains_key(shard));
    }

    /// Notes that a shard is read to its end.
    pub(super) fn finish(&mut self, shard: &str) {
        self.finished.insert(shard.to_owned());
    }

    /// All shards, read to their ends or not.
    pub(super) fn all(&self) -> impl Iterator<Item = &str> {
        self.parents.keys().map(String::as_str)
    }

    /// Shards to read: their parents are read to their ends, or are gone.
    pub(super) fn ready(&self) -> impl Iterator<Item = &str> {
        let is_open = |shard: &String| self.parents.contains_key(shard) && !self.finished.contains(shard);
        let ready = self.parents.iter().filter(move |(shard, parents)| is_open(shard) && !parents.iter().any(is_open));
        ready.map(|(shard, _)| shard.as_str())
    }

    /// Whether the service still has something of a shard.
    pub(super) fn has(&self, shard: &str) -> bool {
        self.parents.contains_key(shard)
    }

    /// The parents of a shard, whether the service still has something of them or not.
    pub(super) fn parents(&self, shard: &str) -> impl Iterator<Item = &str> {
        self.parents.get(shard).into_iter().flatten().map(String::as_str)
    }

    /// Whether nothing is left to read.
    pub(super) fn are_finished(&self) -> bool {
        self.parents.keys().all(|shard| self.finished.contains(shard))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_kinesis::types::SequenceNumberRange;

    fn shard(id: &str, parent: Option<&str>, other: Option<&str>) -> Listed {
        let range = SequenceNumberRange::builder().starting_sequence_number("0").build().expect("has a start");
        let hashes =
            aws_sdk_kinesis::types::HashKeyRange::builder().starting_hash_key("0").ending_hash_key("1").build();
        let shard =
            Listed::builder().shard_id(id).sequence_number_range(range).hash_key_range(hashes.expect("a range"));
        let shard = shard.set_parent_shard_id(parent.map(str::to_owned));
        shard.set_adjacent_parent_shard_id(other.map(str::to_owned)).build().expect("is a shard")
    }

    fn ready(shards: &Shards) -> Vec<&str> {
        shards.ready().collect()
    }

    #[test]
    fn children_wait_for_their_parents() {
        let mut shards = Shards::default();
        let listed = [shard("0", None, None), shard("1", Some("0"), None), shard("2", Some("0"), None)];
        shards.update(&listed);
        assert_eq!(ready(&shards), ["0"]);
        shards.finish("0");
        assert_eq!(ready(&shards), ["1", "2"]);
        let merged = [listed.to_vec(), vec![shard("3", Some("1"), Some("2"))]].concat();
        shards.update(&merged);
        shards.finish("1");
        assert_eq!(ready(&shards), ["2"]);
        shards.finish("2");
        assert_eq!(ready(&shards), ["3"]);
        assert!(!shards.are_finished());
        shards.finish("3");
        assert!(shards.are_finished());
    }

    #[test]
    fn nobody_waits_for_a_parent_that_is_gone() {
        let mut shards = Shards::default();
        shards.update(&[shard("1", Some("0"), None)]);
        assert_eq!(ready(&shards), ["1"]);
    }
}
