//! A batch as it is kept in its writer's row until it is in all shards.

use crate::{Entity, Error, Key, Lease, Writer};
use hashbrown::HashMap;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

/// First byte of a record: its version.
const VERSION: u8 = 1;

/// A batch that any process can complete: its effect does not depend on what lies under its keys.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Batch {
    /// Where the writer stands afterwards.
    pub(super) to: String,
    /// What each key absorbs.
    pub(super) writes: Vec<(Key, Option<Entity>)>,
    /// Keys that have to be new.
    pub(super) absent: Vec<Key>,
}

impl Batch {
    pub(super) fn encode(&self) -> Result<Vec<u8>, Error> {
        let failed = |source| Error::Failed { action: "encode a batch", source: Box::new(source) };
        postcard::to_extend(self, vec![VERSION]).map_err(failed)
    }

    pub(super) fn decode(writer: &Writer, bytes: &[u8]) -> Result<Self, Error> {
        let damaged = |reason: String| Error::Damaged { key: format!("the redo record of {:?}", writer.0), reason };
        match bytes.split_first() {
            Some((&VERSION, record)) => match postcard::take_from_bytes(record) {
                Ok((batch, [])) => Ok(batch),
                Ok((_, rest)) => Err(damaged(format!("{} bytes are left over", rest.len()))),
                Err(error) => Err(damaged(error.to_string())),
            },
            Some((other, _)) => Err(damaged(format!("unknown version {other}"))),
            None => Err(damaged("it is empty".to_owned())),
        }
    }
}

/// Numbers of the last batches of writers, each with the epoch in which it was learnt.
#[derive(Default)]
pub(super) struct Numbers(Mutex<HashMap<Writer, (u64, u64), foldhash::fast::RandomState>>);

impl Numbers {
    /// What is known in a lease's epoch.
    pub(super) fn of(&self, lease: &Lease) -> Option<u64> {
        let known = self.0.lock().get(&lease.writer).copied();
        known.filter(|(epoch, _)| *epoch == lease.epoch).map(|(_, number)| number)
    }

    pub(super) fn note(&self, writer: &Writer, epoch: u64, number: u64) {
        self.0.lock().insert(writer.clone(), (epoch, number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scope;
    use crate::samples::{any_entity, any_key, kept, whole_entity};
    use proptest::prelude::*;

    #[test]
    fn the_sample_of_each_version_is_read() {
        let key = |scope| Key::new(&"shop".into(), scope);
        let (item, seen) = (key(Scope::Item("p1".into())), key(Scope::Seen("e1".into())));
        let writes = vec![(item, Some(whole_entity())), (key(Scope::Join("r1".into())), None)];
        let batch = Batch { to: "kafka:events/0 7".into(), writes, absent: vec![seen] };
        let kept = kept("redo-1.bin", &batch.encode().expect("encodes"));
        let read = Batch::decode(&Writer("kafka:events/0".into()), &kept).expect("decodes");
        assert_eq!((read.to, read.writes, read.absent), (batch.to, batch.writes, batch.absent));
    }

    proptest! {
        #[test]
        fn a_batch_comes_back_as_it_was(key in any_key(), entity in any_entity(), to in any::<String>(), cut in any::<u16>()) {
            let writes = vec![(key.clone(), None), (key.clone(), Some(entity))];
            let batch = Batch { to: to.clone(), writes: writes.clone(), absent: vec![key] };
            let (writer, bytes) = (Writer("w".into()), batch.encode().expect("encodes"));
            let back = Batch::decode(&writer, &bytes).expect("decodes");
            prop_assert_eq!((back.to, back.writes, back.absent), (to, writes, batch.absent));
            let cut = usize::from(cut) % bytes.len();
            let damaged = matches!(Batch::decode(&writer, &bytes[..cut]), Err(Error::Damaged { .. }));
            prop_assert!(damaged);
        }
    }
}
