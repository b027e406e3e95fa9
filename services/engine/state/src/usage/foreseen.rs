//! What values will take in Redis, before they are there: from a sample of their keys, of any number of writes.
//!
//! A key is in the sample if its hash begins with a number of zero bits. Whenever the sample is full, one more bit is wanted, and
//! about half of it goes (P. B. Gibbons, Distinct sampling for highly-accurate answers, VLDB 2001). Each key of the sample
//! has all that was written to it, and stands for as many keys as there are for one of such a hash.

use super::{Sample, Usage};
use crate::redis::room_of_key;
use crate::{Entity, Error, Format, Key, Slot, Stored, codec};
use foldhash::fast::FixedState;
use std::collections::HashMap;
use std::hash::BuildHasher;

/// Most keys of the sample.
const MOST: usize = 4096;
/// `rw:default:0:`, the start of every key's name.
const PREFIX: usize = 13;
/// The stamp before each value.
const STAMP: usize = 8;
const HASHER: FixedState = FixedState::with_seed(0x5eed);

/// Values as they are written, of a sample of keys.
#[derive(Debug, Default)]
pub struct Foreseen {
    sample: HashMap<Key, Entity, foldhash::fast::RandomState>,
    /// Leading zero bits of the sample's hashes.
    zeros: u32,
}

impl Foreseen {
    /// One value to be absorbed.
    pub fn write(&mut self, key: &Key, slot: Slot, stored: &Stored) {
        if self.belongs(key) {
            match self.sample.get_mut(key) {
                Some(entity) => entity.absorb_value(slot, stored),
                None => {
                    self.sample.insert(key.clone(), Entity::one(slot, stored.clone()));
                    self.thin_out();
                }
            }
        }
    }

    fn belongs(&self, key: &Key) -> bool {
        HASHER.hash_one((&key.tenant, &key.scope)).leading_zeros() >= self.zeros
    }

    fn thin_out(&mut self) {
        while self.sample.len() > MOST {
            self.zeros += 1;
            let mut sample = std::mem::take(&mut self.sample);
            sample.retain(|key, _| self.belongs(key));
            self.sample = sample;
        }
    }

    /// What all values will take, by their slots; none of them is expired.
    ///
    /// # Errors
    /// When a value cannot be encoded.
    pub fn usage(&self) -> Result<Usage, Error> {
        let (mut sample, stands_for) = (Sample::default(), f64::from(self.zeros).exp2());
        for (key, entity) in &self.sample {
            let (name, value) = (PREFIX + key.to_bytes().len(), STAMP + codec::encode(entity, Format::Binary)?.len());
            sample.entity(key, entity, (room_of_key(name, value), Format::Binary), stands_for)?;
        }
        Ok(sample.usage(self.sample.len() as f64 * stands_for, self.zeros == 0, Vec::new()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{item, stored};
    use crate::{Cell, FieldValue, Purpose};

    fn foreseen(items: u64) -> Usage {
        let mut foreseen = Foreseen::default();
        for number in 0..items {
            let key = item(&format!("item-{number:07}"));
            foreseen.write(&key, Slot(0), &stored(1, Cell::Counter(7)));
            foreseen.write(&key, Slot(1), &stored(2, Cell::Field(FieldValue::Number(0.5))));
            foreseen.write(&key, Slot(0), &stored(3, Cell::Counter(1)));
        }
        assert!(foreseen.sample.len() <= MOST);
        foreseen.usage().expect("values can be encoded")
    }

    #[test]
    fn a_sample_tells_of_all_keys_and_of_each_slot() {
        let few = foreseen(1000);
        assert_eq!((few.keys, few.sampled, few.whole), (1000, 1000, true));
        assert_eq!(few.room[&Purpose::Values(Slot(1))].values, 1000);
        let many = foreseen(300_000);
        assert!(!many.whole && many.sampled <= MOST as u64);
        let ratio = many.bytes() as f64 / few.bytes() as f64 / 300.0;
        assert!((0.93..1.07).contains(&ratio), "{ratio}"); // three standard deviations of a sample of 2,048 at least
        let keys = many.keys as f64 / 300_000.0;
        assert!((0.93..1.07).contains(&keys), "{keys}");
    }
}
