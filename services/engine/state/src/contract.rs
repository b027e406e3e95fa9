//! What every state store promises, as one suite that each backend runs.

#[cfg(test)]
mod broken;
mod readers;
mod spaces;
mod values;
mod writers;

use crate::{Cell, Commit, Entity, FieldValue, Key, Outcome, Position, Scope, Store, Stored, Writer};
use rankwright_event::{ItemId, Tenant, Timestamp};
use std::sync::Arc;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

/// Runs the suite; `fresh` opens an empty store.
///
/// Some of it reads on threads of its own: a store that waits for a network needs a runtime of several threads.
///
/// # Panics
/// With the broken promise, where the store breaks one.
pub async fn state_store_contract<S: Store + 'static>(fresh: impl Fn() -> S) {
    every_promise(&|| Box::new(fresh())).await;
}

/// Not generic, as all below: compiled once for all stores, which takes the longer the more they do.
async fn every_promise(fresh: &dyn Fn() -> Box<dyn Store>) {
    values::reads_in_the_order_of_keys(&*fresh()).await;
    values::writes_are_absorbed(&*fresh()).await;
    values::tenants_share_nothing(&*fresh()).await;
    values::scopes_share_nothing(&*fresh()).await;
    values::a_removed_key_is_gone(&*fresh()).await;
    values::writes_under_one_key_apply_in_order(&*fresh()).await;
    values::a_large_batch_is_applied_whole(&*fresh()).await;
    writers::slots_are_given_out_once(&*fresh()).await;
    writers::slots_run_out_with_an_error(&*fresh()).await;
    writers::only_the_newest_lease_commits(&*fresh()).await;
    writers::nobody_commits_without_a_lease(&*fresh()).await;
    writers::a_position_that_moved_refuses_the_batch(&*fresh()).await;
    writers::writers_have_positions_of_their_own(&*fresh()).await;
    writers::several_writers_move_together_or_not_at_all(&*fresh()).await;
    writers::a_key_that_should_be_new_and_is_not_refuses_the_batch(&*fresh()).await;
    writers::a_commit_takes_place_when_it_is_due_or_never(&*fresh()).await;
    writers::what_moves_lies_under_its_new_key(&*fresh()).await;
    writers::what_is_wrongly_thought_to_be_new_absorbs_all_the_same(&*fresh()).await;
    spaces::spaces_are_listed_in_order(&*fresh()).await;
    spaces::items_are_shown_without_others(&*fresh()).await;
    spaces::the_oldest_of_a_space_come_first(&*fresh()).await;
    spaces::outdated_values_are_removed(&*fresh()).await;
    spaces::only_values_expire(&*fresh()).await;
    spaces::many_values_expire(&*fresh()).await;
    readers::readers_see_whole_entities(&*fresh()).await;
}

/// What stores promise that count as they go: [`Store::stats`] is exact at any time.
///
/// # Panics
/// Where a count is wrong.
pub async fn entities_are_counted(store: &dyn Store) {
    let write = |id: &str| (item(id), Some(Entity::one(crate::Slot(0), number(1, 1.0))));
    let join = Key::new(&Tenant::default(), Scope::Join("a".into()));
    put(store, vec![write("a"), write("b"), write("c"), (join, write("").1)]).await;
    assert_eq!(store.stats().await.expect("has a size").entities, 3, "joins are not counted");
    put(store, vec![write("a"), (item("b"), None), (item("d"), None), (item("c"), None), write("c")]).await;
    assert_eq!(store.stats().await.expect("has a size").entities, 2);
    store.expire(Timestamp::MAX, &[], HOUR).await.expect("expires");
    assert_eq!(store.stats().await.expect("has a size").entities, 0);
}

/// What stores promise that look through all values for outdated ones: they do so when as many keys were written as the last time were left,
/// so that it costs a constant per write.
///
/// # Panics
/// Where one looks more often, or never.
pub async fn sweeps_are_spaced_out(store: &dyn Store) {
    let write = |id: u64, seconds| (item(&id.to_string()), Some(Entity::one(crate::Slot(0), number(seconds, 1.0))));
    let expired = async || store.expire(Timestamp::from_millis(1_000_000), &[], HOUR).await.expect("expires");
    let old = -10_000;
    put(store, (0..100).map(|id| write(id, 1000)).chain([write(100, old)]).collect()).await;
    assert_eq!(expired().await, 1, "a store that was just opened is looked through");
    put(store, vec![write(100, old)]).await;
    assert_eq!(expired().await, 0, "one of a hundred was written");
    put(store, (0..99).map(|id| write(id, 1000)).collect()).await;
    assert_eq!(expired().await, 1, "all were");
}

/// The key of an item.
pub fn item(id: &str) -> Key {
    Key::new(&Tenant::default(), Scope::Item(ItemId::from(id)))
}

/// A value at a time in seconds.
pub fn stored(seconds: i64, cell: Cell) -> Stored {
    Stored { at: Timestamp::from_millis(seconds * 1000), event: seconds as u64, cell }
}

fn number(seconds: i64, value: f64) -> Stored {
    stored(seconds, Cell::Field(FieldValue::Number(value)))
}

/// Commits writes as a writer of its own.
pub async fn put(store: &dyn Store, writes: Vec<(Key, Option<Entity>)>) {
    let lease = store.acquire(&Writer("suite".into())).await.expect("acquires a lease");
    let to = Position(format!("{}+", lease.position.0));
    let commit = Commit { from: lease.position.clone(), to, writes, ..Commit::default() };
    assert_eq!(store.commit(&lease, commit).await.expect("commits"), Outcome::Applied);
}

async fn get(store: &dyn Store, key: &Key) -> Option<Arc<Entity>> {
    store.read(std::slice::from_ref(key)).await.expect("reads").pop().expect("one answer for one key")
}
