//! Taking in events where many processes share one state.
//!
//! An [`Intake`] is one writer: a partition of a source, or a replica's `/feedback`. Several of one process may bring their
//! batches in one step, and a [`Pipeline`] puts the next step together while those before it are committed. An intake keeps nothing of its own between two batches: rankings and their interactions lie in join
//! records of the store, which any writer may add to. What it cannot decide alone it leaves to the [`Closer`], of which there
//! is one at a time: interactions whose ranking it does not find, the end of rankings, and bringing click-throughs to their
//! store. `docs/protocol.md` has the reasons.

mod closer;
mod effects;
mod intake;
mod lane;
mod pipeline;
mod replica;
pub(crate) mod stored;
mod watermark;

pub use crate::outbox::Taken;
pub use closer::Closer;
pub(crate) use closer::WRITER;
pub use intake::{Intake, Share};
pub use lane::Origin;
pub use pipeline::{Pipeline, Prepared};
pub use replica::Replica;
pub use watermark::{Reached, deal_out, expect, reached};

use crate::error::Error;
use foldhash::fast::RandomState;
use hashbrown::HashSet;
use rankwright_state::{Key, Overlay, Rows, Store};

/// Each key once, in no order.
fn distinct(keys: impl IntoIterator<Item = Key>) -> Vec<Key> {
    keys.into_iter().collect::<HashSet<Key, RandomState>>().into_iter().collect()
}

/// What lies under the keys, with what the batch has written there.
async fn fetch(overlay: &mut Overlay, store: &dyn Store, keys: &[Key]) -> Result<Rows, Error> {
    let (mut found, unknown) = overlay.look_up(keys);
    if unknown.is_empty() {
        return Ok(found);
    }
    let wanted: Vec<Key> = unknown.iter().map(|&place| keys[place].clone()).collect();
    let entities = store.read(&wanted).await?;
    for ((place, key), entity) in unknown.into_iter().zip(&wanted).zip(entities) {
        found[place] = overlay.load(key, entity);
    }
    Ok(found)
}
