//! Numbers of what features are known by, which every generation keeps.
//!
//! On one server the script that makes a generation live copies them in that moment. In a cluster they are copied before the
//! pointer moves, and some may be given out in between. The process that moves the pointer copies these afterwards. If it is
//! killed before that, the next process that needs the generation's numbers does it. After the pointer has moved, numbers that
//! the previous generation gives out do not count, so once is enough.

use super::generation::Begun;
use super::layout::Names;
use super::{Shared, failed};
use crate::{Error, Fingerprint, Slot};
use rankwright_redis::redis::{Script, cmd};

/// Slots that are asked for at once: a script has room for some thousands of values at a time.
const SLOTS_AT_ONCE: usize = 4_000;

/// Continues the numbers of the previous generation. A number that is taken keeps its meaning: in the previous generation it was
/// given out when that was no longer live. KEYS: the slots. ARGV: fingerprints, in the order of their numbers.
const BRING: &str = "
local count = redis.call('HLEN', KEYS[1])
for i, fingerprint in ipairs(ARGV) do
    if i == count + 1 and redis.call('HSETNX', KEYS[1], fingerprint, i - 1) == 1 then count = i end
end";

impl Shared {
    /// Numbers for fingerprints; none where another generation is live by now.
    pub(super) async fn allocate(&self, wanted: &[Fingerprint]) -> Result<Option<Vec<Slot>>, Error> {
        self.bring_slots().await?;
        let mut slots = Vec::with_capacity(wanted.len());
        for some in wanted.chunks(SLOTS_AT_ONCE) {
            let Some(some) = self.allocate_some(some).await? else { return Ok(None) };
            slots.extend(some);
        }
        let moved = self.link.is_cluster() && self.successor().await?.is_some(); // no script could look
        Ok(Some(slots).filter(|_| !moved))
    }

    async fn allocate_some(&self, wanted: &[Fingerprint]) -> Result<Option<Vec<Slot>>, Error> {
        let name = self.names.slots();
        let given = self.link.send(&name, |mut connection| {
            let mut script = self.scripts.slots.prepare_invoke();
            script.key(&name);
            if !self.link.is_cluster() {
                script.key(self.names.meta());
            }
            script.arg(self.names.generation());
            wanted.iter().for_each(|fingerprint| {
                script.arg(field(*fingerprint));
            });
            async move { script.invoke_async::<Option<Vec<u16>>>(&mut connection).await }
        });
        let Some(given) = given.await.map_err(failed("give out slots"))? else { return Ok(None) };
        if given.len() != wanted.len() {
            return Err(Error::Full(usize::from(u16::MAX) + 1));
        }
        Ok(Some(given.into_iter().map(Slot).collect()))
    }

    /// What slots mean, in the order of their numbers.
    pub(super) async fn all_slots(&self) -> Result<Vec<Fingerprint>, Error> {
        self.bring_slots().await?;
        self.slots_of(&self.names.slots()).await
    }

    /// Copies what the previous generation gave out while this one became live, where that was not done yet.
    pub(super) async fn bring_slots(&self) -> Result<(), Error> {
        if !self.link.is_cluster() {
            return Ok(());
        }
        let (Begun { live, former: Some(former), brought, .. }, own) = (self.begun().await?, self.names.generation())
        else {
            return Ok(());
        };
        if live != own || brought == Some(own) {
            return Ok(());
        }
        self.bring_between(&self.names.of_generation(former, self.names.shards()), &self.names).await
    }

    /// The same, of two generations of which the second one has just become live.
    pub(super) async fn bring_between(&self, former: &Names, live: &Names) -> Result<(), Error> {
        let (name, script) = (live.slots(), Script::new(BRING));
        let slots = self.slots_of(&former.slots()).await?;
        let brought = self.link.send(&name, |mut connection| {
            let mut bring = script.prepare_invoke();
            bring.key(&name);
            slots.iter().for_each(|fingerprint| {
                bring.arg(field(*fingerprint));
            });
            async move { bring.invoke_async::<()>(&mut connection).await }
        });
        brought.await.map_err(failed("bring slots to another generation"))?;
        self.remember("brought", live.generation()).await
    }

    async fn slots_of(&self, name: &str) -> Result<Vec<Fingerprint>, Error> {
        let listed = self.link.send(name, |mut connection| {
            let mut listing = cmd("HGETALL");
            listing.arg(name);
            async move { listing.query_async::<Vec<(String, u16)>>(&mut connection).await }
        });
        let mut listed = listed.await.map_err(failed("list slots"))?;
        listed.sort_by_key(|(_, number)| *number);
        let damaged =
            || Error::Damaged { key: name.to_owned(), reason: "these are not the numbers of slots".to_owned() };
        let in_order = listed.iter().enumerate().all(|(place, (_, number))| place == usize::from(*number));
        let slots = listed.iter().map(|(text, _)| u64::from_str_radix(text, 16).map(Fingerprint));
        slots.collect::<Result<_, _>>().ok().filter(|_| in_order).ok_or_else(damaged)
    }
}

/// What a fingerprint is called there.
pub(super) fn field(fingerprint: Fingerprint) -> String {
    format!("{:016x}", fingerprint.0)
}
