//! What a state takes in Redis, by a sample of its keys.
//!
//! Each server is asked for random keys (`RANDOMKEY`, which takes no longer in a large database than in a small one),
//! those of other services among them: their share says how many keys of the database are ours. A database that is
//! hardly larger than the sample is looked at as a whole. What has an index is counted by it, and the first and last of
//! each index stand for the others. A key's size is the server's own word (`MEMORY USAGE`), or, where it refuses, an
//! estimate by lengths.
//!
//! Nothing here takes the server long: each command touches one key, and a few hundred of them go at once.

use super::layout::{Belongs, unframe};
use super::{Shared, failed};
use crate::usage::{Memory, Purpose, Sample};
use crate::{Error, Format, Space, Usage};
use futures_util::future::try_join_all;
use rankwright_redis::redis::aio::MultiplexedConnection;
use rankwright_redis::redis::{Pipeline, RedisResult, Value, cmd, from_redis_value, pipe};
use std::collections::{HashMap, HashSet};

/// What a key costs that `MEMORY USAGE` leaves out: its places in the tables of keys and of times to live. Measured
/// with Redis 7.0: 57 to 61 bytes.
const IN_TABLES: f64 = 60.0;
/// What name and value cost besides, with what the allocator rounds up: estimated as measured with Redis 7.0.
const HEADERS: f64 = 50.0;
const ROUNDED: f64 = 1.1;
/// A database of at most this many times the sample is looked at as a whole.
const HARDLY_LARGER: u64 = 2;
/// How many times as many random keys are asked for as are wanted, where most are those of other services.
const ROUNDS: usize = 8;
/// Commands that are sent at once.
const AT_ONCE: usize = 250;
/// Keys of an index, of its first and of its last ones, that are looked at in all shards together.
const LISTED: usize = 64;

const INDEXED: [Space; 5] = [Space::Joins, Space::Outbox, Space::Seen, Space::Waiting, Space::Watermarks];

/// What one server told.
struct Told {
    memory: Option<Memory>,
    /// About how many keys of this service it has.
    count: f64,
    whole: bool,
    keys: Vec<Looked>,
}

/// A key that was looked at.
struct Looked {
    belongs: Belongs,
    bytes: f64,
    /// How many keys of the database it stands for.
    stands_for: f64,
    /// Of values of features.
    value: Option<Vec<u8>>,
}

/// What an index told.
struct Counted {
    purpose: Purpose,
    count: u64,
    index: f64,
    keys: Vec<f64>,
}

impl Shared {
    pub(super) async fn usage(&self, keys: usize) -> Result<Usage, Error> {
        let told = self.link.each(|connection| self.ask(connection, keys));
        let told = told.await.map_err(failed("measure its size"))?;
        let (mut sample, mut all) = (Sample::default(), 0.0);
        let whole = told.iter().all(|told| told.whole);
        for server in &told {
            all += server.count;
            server.keys.iter().try_for_each(|key| self.note(&mut sample, key))?;
        }
        for counted in self.counted().await? {
            if counted.count > 0 {
                sample.note(Purpose::Indexes, counted.index, 1.0);
            }
            let stands_for = counted.count as f64 / counted.keys.len().max(1) as f64;
            counted.keys.iter().for_each(|bytes| sample.note(counted.purpose, *bytes, stands_for));
        }
        for name in [self.names.meta(), self.names.slots()] {
            let measured = self.link.send(&name, |connection| measured(connection, vec![name.clone().into_bytes()]));
            let measured = measured.await.map_err(failed("measure its size"))?;
            measured.into_iter().flatten().for_each(|bytes| sample.note(Purpose::Indexes, bytes, 1.0));
        }
        let servers = told.into_iter().map(|told| told.memory).collect::<Option<Vec<_>>>().unwrap_or_default();
        Ok(sample.usage(all, whole, servers))
    }

    fn note(&self, sample: &mut Sample, looked: &Looked) -> Result<(), Error> {
        let stands_for = looked.stands_for;
        match (&looked.belongs, &looked.value) {
            (Belongs::Value(key), Some(value)) => match unframe(key, value) {
                Ok((_, entity)) => {
                    let format = if value.get(8) == Some(&b'{') { Format::Json } else { Format::Binary };
                    sample.entity(key, &entity, (looked.bytes, format), stands_for)?;
                }
                Err(_) => sample.note(Purpose::Rest, looked.bytes, stands_for), // others complain of it
            },
            (Belongs::To(purpose), _) => sample.note(*purpose, looked.bytes, stands_for),
            _ => {}
        }
        Ok(())
    }

    async fn ask(&self, mut connection: MultiplexedConnection, wanted: usize) -> RedisResult<Told> {
        let keys: u64 = cmd("DBSIZE").query_async(&mut connection).await?;
        let memory = memory(&mut connection).await;
        let whole = keys <= HARDLY_LARGER.saturating_mul(wanted as u64);
        let names = match whole {
            true => self.every(&mut connection).await?.into_iter().map(|name| (name, 1.0)).collect(),
            false => self.draw(&mut connection, wanted, keys).await?,
        };
        let count = names.iter().map(|(_, stands_for)| stands_for).sum();
        Ok(Told { memory, count, whole, keys: self.look(&mut connection, names).await? })
    }

    /// Names of all keys of this service.
    async fn every(&self, connection: &mut MultiplexedConnection) -> RedisResult<Vec<Vec<u8>>> {
        let (mut names, mut cursor) = (HashSet::new(), 0u64);
        loop {
            let mut page = cmd("SCAN");
            page.arg(cursor).arg("MATCH").arg(self.names.of_service() + "*").arg("COUNT").arg(AT_ONCE);
            let (next, some): (u64, Vec<Vec<u8>>) = page.query_async(connection).await?;
            names.extend(some);
            if next == 0 {
                return Ok(names.into_iter().collect());
            }
            cursor = next;
        }
    }

    /// Random keys, those of this service alone, and for how many of all `keys` each of them stands.
    async fn draw(
        &self,
        connection: &mut MultiplexedConnection,
        wanted: usize,
        keys: u64,
    ) -> RedisResult<Vec<(Vec<u8>, f64)>> {
        let (mut times, mut drawn) = (HashMap::<Vec<u8>, u32>::new(), 0);
        while times.len() < wanted && drawn < wanted.saturating_mul(ROUNDS) {
            let some = AT_ONCE.min(wanted);
            let asked = (0..some).fold(pipe(), |mut asked, _| {
                asked.cmd("RANDOMKEY");
                asked
            });
            let random: Vec<Option<Vec<u8>>> = asked.query_async(connection).await?;
            drawn += some;
            let ours = random.into_iter().flatten().filter(|name| self.names.belongs(name).is_some());
            ours.for_each(|name| *times.entry(name).or_default() += 1);
        }
        let each = keys as f64 / drawn.max(1) as f64;
        Ok(times.into_iter().map(|(name, times)| (name, f64::from(times) * each)).collect())
    }

    /// Sizes of keys, and what lies under those of features.
    async fn look(
        &self,
        connection: &mut MultiplexedConnection,
        names: Vec<(Vec<u8>, f64)>,
    ) -> RedisResult<Vec<Looked>> {
        let belongs = |(name, stands_for): (Vec<u8>, f64)| Some((self.names.belongs(&name)?, name, stands_for));
        let (mut looked, names): (_, Vec<_>) = (Vec::new(), names.into_iter().filter_map(belongs).collect());
        for some in names.chunks(AT_ONCE) {
            let values = some.iter().filter(|(belongs, ..)| matches!(belongs, Belongs::Value(_)));
            let values = values.map(|(_, name, _)| name.as_slice());
            let mut values = answers(of_each(values, &["GET"]), connection).await?.into_iter();
            let sizes = measured(connection.clone(), some.iter().map(|(_, name, _)| name.clone()).collect()).await?;
            for ((belongs, _, stands_for), bytes) in some.iter().zip(sizes) {
                let value = matches!(belongs, Belongs::Value(_)).then(|| bytes_of(values.next())).flatten();
                let Some(bytes) = bytes else { continue };
                looked.push(Looked { belongs: belongs.clone(), bytes, stands_for: *stands_for, value });
            }
        }
        // what is gone by now, or in another slot
        looked.retain(|looked| looked.value.is_some() || !matches!(looked.belongs, Belongs::Value(_)));
        Ok(looked)
    }

    async fn counted(&self) -> Result<Vec<Counted>, Error> {
        let indexes = INDEXED.iter().flat_map(|space| {
            let indexes = self.names.indexes(*space);
            let most = LISTED.div_ceil(indexes.len());
            indexes.into_iter().filter_map(move |index| Some((Purpose::of(*space)?, index, most)))
        });
        let counted = indexes.map(|(purpose, index, most)| async move {
            let index = &index;
            self.link.send(index, |connection| count(connection, purpose, index, most)).await
        });
        try_join_all(counted).await.map_err(failed("measure its size"))
    }
}

async fn count(
    mut connection: MultiplexedConnection,
    purpose: Purpose,
    index: &str,
    most: usize,
) -> RedisResult<Counted> {
    let mut asked = pipe();
    asked.cmd("ZCARD").arg(index);
    asked.cmd("ZRANGE").arg(index).arg(0).arg(most - 1);
    asked.cmd("ZRANGE").arg(index).arg(-(most as i64)).arg(-1);
    let (count, first, last): (u64, Vec<Vec<u8>>, Vec<Vec<u8>>) = asked.query_async(&mut connection).await?;
    let names: HashSet<Vec<u8>> = first.into_iter().chain(last).collect();
    let sizes = measured(connection.clone(), names.into_iter().collect()).await?;
    let index = measured(connection, vec![index.as_bytes().to_vec()]).await?.into_iter().flatten().sum();
    Ok(Counted { purpose, count, index, keys: sizes.into_iter().flatten().collect() })
}

/// What keys take; `None` where there is none.
async fn measured(mut connection: MultiplexedConnection, names: Vec<Vec<u8>>) -> RedisResult<Vec<Option<f64>>> {
    let names = || names.iter().map(Vec::as_slice);
    let sizes = answers(of_each(names(), &["MEMORY", "USAGE"]), &mut connection).await?;
    if !sizes.iter().any(Result::is_err) {
        let size = |size: RedisResult<Value>| from_redis_value::<Option<f64>>(size.ok()?).ok().flatten();
        return Ok(sizes.into_iter().map(|told| size(told).map(|bytes| bytes + IN_TABLES)).collect());
    }
    let lengths = answers(of_each(names(), &["STRLEN"]), &mut connection).await?;
    Ok(names().zip(lengths).map(|(name, length)| estimated(name, length)).collect())
}

/// By lengths; a list has none, and is taken for one of no length.
fn estimated(name: &[u8], length: RedisResult<Value>) -> Option<f64> {
    let length = match length {
        Ok(Value::Int(0)) => return None,
        Ok(Value::Int(length)) => length as f64,
        _ => 0.0,
    };
    Some(room_of(name.len() as f64 + length))
}

/// Memory of a key whose name and value have this number of bytes.
pub(crate) fn room_of_key(name: usize, value: usize) -> f64 {
    room_of((name + value) as f64)
}

fn room_of(bytes: f64) -> f64 {
    IN_TABLES + HEADERS + ROUNDED * bytes
}

/// A command for each of these keys.
fn of_each<'a>(names: impl Iterator<Item = &'a [u8]>, words: &[&str]) -> Pipeline {
    names.fold(pipe(), |mut asked, name| {
        let command = asked.cmd(words[0]);
        words[1..].iter().for_each(|word| {
            command.arg(*word);
        });
        command.arg(name);
        asked
    })
}

/// Answers to commands, some of which a server may refuse.
async fn answers(mut asked: Pipeline, connection: &mut MultiplexedConnection) -> RedisResult<Vec<RedisResult<Value>>> {
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    asked.ignore_errors().query_async(connection).await
}

fn bytes_of(answer: Option<RedisResult<Value>>) -> Option<Vec<u8>> {
    from_redis_value(answer?.ok()?).ok().flatten()
}

/// Of the whole server; managed ones may refuse to tell.
async fn memory(connection: &mut MultiplexedConnection) -> Option<Memory> {
    let mut asked = pipe();
    asked.cmd("INFO").arg("memory").cmd("INFO").arg("server");
    let (memory, server): (String, String) = asked.query_async(connection).await.ok()?;
    let value = |text: &str, name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        Some(line.trim().to_owned())
    };
    let number = |name: &str| value(&memory, name)?.parse::<u64>().ok();
    let limit = number("maxmemory").filter(|limit| *limit > 0);
    Some(Memory { server: value(&server, "run_id").unwrap_or_default(), used: number("used_memory")?, limit })
}
