//! What a state knows about itself, as readable JSON under readable names.
//!
//! | name | holds |
//! |---|---|
//! | `format` | version of the layout |
//! | `service` | whose state it is |
//! | `live` | number of the generation that is read |
//! | `<generation>/entities` | number of keys that hold values |
//! | `<generation>/swept` | event time when outdated values were last looked for, in milliseconds |
//! | `<generation>/slots` | number of slots given out |
//! | `<generation>/slot/<fingerprint>` | a slot |
//! | `<generation>/writer/<name>` | epoch and position of a writer |

use super::disk::{Refusal, cannot_open, failed};
use crate::{Error, Fingerprint, Position, Slot, Writer};
use fjall::{Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch};
use rankwright_event::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use std::path::Path;

/// Version of the layout that is written here, and the newest that is read.
///
/// Values are compact since version 2; a state of version 1 keeps those that it was begun with.
const FORMAT: u32 = 2;
pub(super) const FORMAT_ENTRY: &str = "format";
const FIRST_GENERATION: u32 = 1;
pub(super) const BUFFER_BYTES: u64 = 4 << 20;
const LONGEST_NAME: usize = 32 << 10;

/// The key space `meta`, for one generation.
pub(super) struct Meta {
    entries: Keyspace,
    /// Version of the layout.
    pub(super) format: u32,
    pub(super) generation: u32,
}

impl Meta {
    /// Opens the entries, or makes those of a new state, and refuses those of newer versions and other services.
    pub(super) fn open(db: &Database, path: &Path, service: &str, is_new: bool) -> Result<Self, Error> {
        let options = || KeyspaceCreateOptions::default().max_memtable_size(BUFFER_BYTES);
        let entries = db.keyspace("meta", options).map_err(cannot_open(path))?;
        let mut meta = Self { entries, format: FORMAT, generation: FIRST_GENERATION };
        match meta.get(FORMAT_ENTRY)? {
            None if is_new => meta.create(db, service)?,
            None => return Err(cannot_open(path)(Refusal::Blank)),
            Some(found) if found > FORMAT => {
                return Err(Error::Newer { place: path.display().to_string(), found, known: FORMAT });
            }
            Some(found) => {
                meta.format = found;
                meta.check_service(path, service)?;
            }
        }
        meta.generation = meta.get("live")?.unwrap_or(FIRST_GENERATION);
        Ok(meta)
    }

    pub(super) fn keyspace(&self) -> &Keyspace {
        &self.entries
    }

    fn create(&self, db: &Database, service: &str) -> Result<(), Error> {
        let mut batch = db.batch();
        self.put(&mut batch, FORMAT_ENTRY, &FORMAT)?;
        self.put(&mut batch, "service", &service)?;
        self.put(&mut batch, "live", &FIRST_GENERATION)?;
        batch.commit().map_err(failed("begin a state"))
    }

    fn check_service(&self, path: &Path, wanted: &str) -> Result<(), Error> {
        let found: String = self.get("service")?.unwrap_or_default();
        if found == wanted {
            return Ok(());
        }
        Err(cannot_open(path)(Box::new(Refusal::Service { found, wanted: wanted.to_owned() }) as Box<_>))
    }

    /// Epoch and position of a writer, if it was ever acquired.
    pub(super) fn writer(&self, writer: &Writer) -> Result<Option<(u64, Position)>, Error> {
        self.get(&self.name_of(writer)?)
    }

    pub(super) fn put_writer(
        &self,
        batch: &mut OwnedWriteBatch,
        writer: &Writer,
        epoch: u64,
        position: &Position,
    ) -> Result<(), Error> {
        self.put(batch, &self.name_of(writer)?, &(epoch, position))
    }

    fn name_of(&self, writer: &Writer) -> Result<String, Error> {
        if writer.0.len() > LONGEST_NAME {
            let source = format!("the name of the writer has {} bytes, at most {LONGEST_NAME} fit", writer.0.len());
            return Err(Error::Failed { action: "name a writer", source: source.into() });
        }
        Ok(self.name(&format!("writer/{}", writer.0)))
    }

    pub(super) fn entities(&self) -> Result<u64, Error> {
        Ok(self.get(&self.name("entities"))?.unwrap_or(0))
    }

    pub(super) fn put_entities(&self, batch: &mut OwnedWriteBatch, entities: u64) -> Result<(), Error> {
        self.put(batch, &self.name("entities"), &entities)
    }

    /// Event time when outdated values were last looked for.
    pub(super) fn swept(&self) -> Result<Option<Timestamp>, Error> {
        Ok(self.get(&self.name("swept"))?.map(Timestamp::from_millis))
    }

    pub(super) fn put_swept(&self, batch: &mut OwnedWriteBatch, at: Timestamp) -> Result<(), Error> {
        self.put(batch, &self.name("swept"), &at.millis())
    }

    /// The slots of fingerprints; those that have none get one by the batch.
    pub(super) fn slots(&self, batch: &mut OwnedWriteBatch, wanted: &[Fingerprint]) -> Result<Vec<Slot>, Error> {
        let mut given: usize = self.get(&self.name("slots"))?.unwrap_or(0);
        let mut new = HashMap::new();
        let mut slots = Vec::with_capacity(wanted.len());
        for fingerprint in wanted {
            let name = self.name(&format!("slot/{:016x}", fingerprint.0));
            let known = new.get(fingerprint).copied().map_or_else(|| self.get(&name), |slot| Ok(Some(slot)))?;
            slots.push(match known {
                Some(slot) => slot,
                None => {
                    let slot = Slot(u16::try_from(given).map_err(|_| Error::Full(given))?);
                    self.put(batch, &name, &slot)?;
                    given += 1;
                    new.insert(*fingerprint, slot);
                    slot
                }
            });
        }
        if !new.is_empty() {
            self.put(batch, &self.name("slots"), &given)?;
        }
        Ok(slots)
    }

    /// All slots that were given out.
    pub(super) fn known_slots(&self) -> Result<Vec<(Fingerprint, Slot)>, Error> {
        let prefix = self.name("slot/");
        let mut known = Vec::new();
        for entry in self.entries.prefix(&prefix) {
            let (name, slot) = entry.into_inner().map_err(failed("list slots"))?;
            let damaged = || Error::Damaged {
                key: name.escape_ascii().to_string(),
                reason: "this is not the number of a slot".to_owned(),
            };
            let digits = std::str::from_utf8(&name[prefix.len()..]).ok();
            let fingerprint = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok()).ok_or_else(damaged)?;
            known.push((Fingerprint(fingerprint), serde_json::from_slice(&slot).map_err(|_| damaged())?));
        }
        Ok(known)
    }

    #[cfg(test)]
    pub(super) fn entry_for_tests(&self, name: &str, text: &str) {
        self.entries.insert(name, text).expect("writes an entry");
    }

    fn name(&self, rest: &str) -> String {
        format!("{:010}/{rest}", self.generation)
    }

    fn get<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Error> {
        let Some(text) = self.entries.get(name).map_err(failed("read"))? else { return Ok(None) };
        let damaged = |error: serde_json::Error| Error::Damaged { key: name.to_owned(), reason: error.to_string() };
        serde_json::from_slice(&text).map(Some).map_err(damaged)
    }

    fn put<T: Serialize>(&self, batch: &mut OwnedWriteBatch, name: &str, value: &T) -> Result<(), Error> {
        let text = serde_json::to_vec(value)
            .map_err(|error| Error::Failed { action: "encode an entry", source: Box::new(error) })?;
        batch.insert(&self.entries, name, text);
        Ok(())
    }
}
