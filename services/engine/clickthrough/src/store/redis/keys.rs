//! Where parts are: `rw:<service>:parts:<name>` is a part, `rw:<service>:parts:index` tells which there are.
//!
//! The index is a sorted set of `<name> <bytes>` by the time, in milliseconds of the server's clock, at which the part
//! expires. The part itself lives [`GRACE`] longer, so a process that found it in the index can still read it. Expired
//! entries are removed whenever a part is put. A part is put before its entry: an entry whose part is gone
//! although its time has not come (it was evicted or deleted) is a loss, is told once, and goes from the index.
//!
//! Each step is one command, as a slot that is on its way to another node of a cluster takes no more than one. All of
//! them may be carried out twice.

use crate::Result;
use crate::store::remote::{Name, Place};
use rankwright_object::Bytes;
use rankwright_redis::Link;
use rankwright_redis::redis::{Cmd, FromRedisValue, cmd};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// Longer than a reading takes until it has read the oldest parts, and than clocks of nodes differ.
pub(super) const GRACE: Duration = Duration::from_secs(600);

/// The most there is; with more of them an expiry would not be a number that the server takes.
const FOREVER: Duration = Duration::from_secs(1000 * 365 * 86_400);

/// Entries of the index that are read at once.
const PAGE: usize = 1000;

/// The keys of a service's parts.
#[derive(Clone)]
pub struct Keys {
    link: Arc<Link>,
    prefix: String,
    ttl: Duration,
}

impl Keys {
    pub(super) fn new(link: Link, service: &str, ttl: Duration) -> Self {
        Self { link: Arc::new(link), prefix: format!("rw:{service}:parts:"), ttl: ttl.min(FOREVER) }
    }

    fn key(&self, name: &Name) -> String {
        format!("{}{name}", self.prefix)
    }

    fn index(&self) -> String {
        format!("{}index", self.prefix)
    }

    async fn send<T: FromRedisValue + Send>(&self, key: &str, command: &Cmd) -> Result<T> {
        let answer = self.link.send(key, |mut connection| async move { command.query_async(&mut connection).await });
        Ok(answer.await?)
    }

    /// Milliseconds since 1970, by the clock of the server that has the index.
    async fn now(&self) -> Result<u64> {
        let (seconds, micros): (u64, u64) = self.send(&self.index(), &cmd("TIME")).await?;
        Ok(seconds * 1000 + micros / 1000)
    }

    /// The first entries from a time on, with their times.
    async fn page(&self, from: &str, most: usize) -> Result<Vec<(Vec<u8>, u64)>> {
        let index = self.index();
        let mut page = cmd("ZRANGEBYSCORE");
        page.arg(&index).arg(from).arg("+inf").arg("WITHSCORES").arg("LIMIT").arg(0).arg(most);
        let entries: Vec<(Vec<u8>, f64)> = self.send(&index, &page).await?;
        Ok(entries.into_iter().map(|(entry, until)| (entry, until as u64)).collect())
    }

    /// Puts a part that is given up after this time.
    async fn put_for(&self, time: Duration, name: &Name, bytes: Bytes) -> Result<()> {
        let (key, index) = (self.key(name), self.index());
        let lives = (time + GRACE).as_millis() as u64;
        let part = cmd("SET").arg(&key).arg(&bytes[..]).arg("NX").arg("PX").arg(lives).clone();
        self.send::<Option<String>>(&key, &part).await?;
        let now = self.now().await?;
        let until = now + time.as_millis() as u64;
        let added = cmd("ZADD").arg(&index).arg("NX").arg(until).arg(entry(name, bytes.len() as u64)).clone();
        self.send::<()>(&index, &added).await?;
        if self.send::<i64>(&index, cmd("PTTL").arg(&index)).await? < lives as i64 {
            self.send::<()>(&index, cmd("PEXPIRE").arg(&index).arg(lives)).await?;
        }
        self.trim(now).await
    }

    /// Removes entries of parts that are given up.
    async fn trim(&self, now: u64) -> Result<()> {
        let index = self.index();
        self.send(&index, cmd("ZREMRANGEBYSCORE").arg(&index).arg("-inf").arg(now)).await
    }

    /// Removes the entry of a part that is gone.
    async fn forget(&self, name: &Name, bytes: u64) -> Result<()> {
        let index = self.index();
        self.send(&index, cmd("ZREM").arg(&index).arg(entry(name, bytes))).await
    }
}

impl Place for Keys {
    fn name(&self, name: &Name) -> String {
        format!("{} in {}", self.key(name), self.link.place())
    }

    /// Entries that are no names of parts are left alone.
    async fn list(&self) -> Result<Vec<(Name, u64)>> {
        let (mut parts, mut from, mut most) = (Vec::new(), format!("({}", self.now().await?), PAGE);
        loop {
            let entries = self.page(&from, most).await?;
            parts.extend(entries.iter().filter_map(|(entry, _)| parse(entry)));
            let Some((_, last)) = entries.last().filter(|_| entries.len() == most) else { break };
            // pages overlap, as there may be more entries of that time; counting them is no help, some may go meanwhile
            let last = last.to_string();
            most = if last == from { most * 2 } else { PAGE };
            from = last;
        }
        parts.sort_by_key(|(name, _)| name.order());
        parts.dedup();
        Ok(parts)
    }

    async fn put(&self, name: &Name, bytes: Bytes) -> Result<()> {
        self.put_for(self.ttl, name, bytes).await
    }

    /// One whose time is over by now is removed only.
    async fn replace(&self, (old, size): (&Name, u64), new: &Name, bytes: Bytes) -> Result<()> {
        let index = self.index();
        let until: Option<f64> = self.send(&index, cmd("ZSCORE").arg(&index).arg(entry(old, size))).await?;
        let left = (until.unwrap_or(0.0) as u64).saturating_sub(self.now().await?);
        if left > 0 {
            self.put_for(Duration::from_millis(left), new, bytes).await?;
        }
        self.remove(old, size).await
    }

    async fn get(&self, name: &Name, bytes: u64) -> Result<Option<Bytes>> {
        let key = self.key(name);
        let found: Option<Vec<u8>> = self.send(&key, cmd("GET").arg(&key)).await?;
        if found.is_none()
            && let Err(error) = self.forget(name, bytes).await
        {
            tracing::debug!(%error, key, "failed to forget a part that is gone"); // who may only read does not forget
        }
        Ok(found.map(Bytes::from))
    }

    async fn unlisted(&self) -> Result<Vec<Name>> {
        let keys = self.link.names(&self.prefix).await?;
        let part = |key: Vec<u8>| Name::parse(std::str::from_utf8(&key).ok()?.strip_prefix(&self.prefix)?);
        let listed: HashSet<String> = self.list().await?.into_iter().map(|(name, _)| name.to_string()).collect();
        Ok(keys.into_iter().filter_map(part).filter(|name| !listed.contains(&name.to_string())).collect())
    }

    /// First the entry, which must not promise what is gone.
    async fn remove(&self, name: &Name, bytes: u64) -> Result<()> {
        self.forget(name, bytes).await?;
        let key = self.key(name);
        self.send(&key, cmd("UNLINK").arg(&key)).await
    }
}

/// What the index says of a part.
fn entry(name: &Name, bytes: u64) -> String {
    format!("{name} {bytes}")
}

fn parse(entry: &[u8]) -> Option<(Name, u64)> {
    let (name, bytes) = std::str::from_utf8(entry).ok()?.split_once(' ')?;
    Some((Name::parse(name)?, bytes.parse().ok()?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_entry_leads_back_to_its_part_and_others_to_none() {
        let name = Name::parse("20261121T210401007Z-1024-000000000000000000000000000000ff.bin").unwrap();
        assert_eq!(parse(entry(&name, 7).as_bytes()), Some((name, 7)));
        for other in [&b""[..], b"x 7", b"\xff 7", name.to_string().as_bytes(), format!("{name} x").as_bytes()] {
            assert_eq!(parse(other), None, "{other:?}");
        }
    }
}
