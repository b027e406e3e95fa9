//! What servers that share models tell each other: which versions they serve, and what they found of a version.
//!
//! A new version is tried by one server. The others take it up, or leave it, as that one has found.

use crate::store::StoreError;
use parking_lot::Mutex;
use rankwright_redis::redis::{Script, cmd};
use rankwright_redis::{Blocking, Settings};
use std::collections::BTreeMap;
use std::time::Duration;

/// What a server serves: versions by the names of models.
pub type Serves = BTreeMap<String, String>;

/// How long a server's report counts.
const TOLD_FOR: Duration = Duration::from_secs(30);

/// How long a server may try a version, beside what its trial takes, before another one does.
const TRIED_FOR: Duration = Duration::from_secs(120);

/// How long the verdict on a version is kept after its last trial.
const KNOWN_FOR: Duration = Duration::from_secs(90 * 86_400);

/// How many servers may end while they try a version.
const MOST_TRIES: u32 = 3;

/// How long that counts after the last of them: what ended them may have been something else, such as nodes that were drained.
const TRIES_COUNT_FOR: Duration = Duration::from_secs(86_400);

/// Whose turn it is with a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn {
    /// This server is the one to try it.
    Mine,
    /// Another server tries it now.
    Others,
    /// It works.
    Fit,
    /// It does not, for this reason.
    Unfit(String),
}

/// Servers that share models.
pub trait Fleet: Send + Sync {
    /// Tells what this server serves; what each of the others has told within the last half minute.
    ///
    /// # Errors
    /// When they cannot be reached.
    fn tell(&self, serves: &Serves) -> Result<Vec<Serves>, StoreError>;

    /// Takes back what this server has told, as it ends.
    ///
    /// # Errors
    /// When they cannot be reached.
    fn leave(&self) -> Result<(), StoreError>;

    /// Whose turn it is with a version. `subject` names it, with all that decides how it works on this server; a trial takes about
    /// this time.
    ///
    /// # Errors
    /// When they cannot be reached.
    fn turn(&self, subject: &str, takes: Duration) -> Result<Turn, StoreError>;

    /// Tells what this server has found of a version: that it works, or why not.
    ///
    /// # Errors
    /// When they cannot be reached.
    fn judge(&self, subject: &str, verdict: Result<(), &str>) -> Result<(), StoreError>;

    /// Gives the turn back without having found anything.
    ///
    /// # Errors
    /// When they cannot be reached.
    fn pass(&self, subject: &str) -> Result<(), StoreError>;
}

/// A server that shares its models with no other. It remembers what it found of the last versions.
#[derive(Debug, Default)]
pub struct Alone(Mutex<BTreeMap<String, Option<String>>>);

/// Number of versions of which such a server remembers what it found.
const REMEMBERED: usize = 64;

impl Fleet for Alone {
    fn tell(&self, _: &Serves) -> Result<Vec<Serves>, StoreError> {
        Ok(Vec::new())
    }

    fn leave(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn turn(&self, subject: &str, _: Duration) -> Result<Turn, StoreError> {
        Ok(match self.0.lock().get(subject) {
            None => Turn::Mine,
            Some(None) => Turn::Fit,
            Some(Some(reason)) => Turn::Unfit(reason.clone()),
        })
    }

    fn judge(&self, subject: &str, verdict: Result<(), &str>) -> Result<(), StoreError> {
        let mut known = self.0.lock();
        if known.len() >= REMEMBERED {
            known.clear(); // they are tried once more
        }
        known.insert(subject.to_owned(), verdict.err().map(str::to_owned));
        Ok(())
    }

    fn pass(&self, _: &str) -> Result<(), StoreError> {
        Ok(())
    }
}

/// The server's clock, in milliseconds.
const NOW: &str = "
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)";

/// KEYS: the servers. ARGV: this one, what it serves, for how long that counts.
const TELL: &str = "
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', now + ARGV[3]) .. ' ' .. ARGV[2])
redis.call('PEXPIRE', KEYS[1], 10 * ARGV[3])
local told, others = redis.call('HGETALL', KEYS[1]), {}
for i = 1, #told, 2 do
    local until_, serves = string.match(told[i + 1], '^(%d+) (.*)$')
    if not until_ or tonumber(until_) < now then redis.call('HDEL', KEYS[1], told[i])
    elseif told[i] ~= ARGV[1] then others[#others + 1] = serves end
end
return others";

/// KEYS: what is known of a version. ARGV: this server, for how long it may try it, how many servers may, for how long their tries
/// count.
const TURN: &str = "
local known = redis.call('HMGET', KEYS[1], 'verdict', 'reason', 'server', 'until', 'tries')
if known[1] then return {known[1], known[2] or ''} end
local running = known[4] and tonumber(known[4]) > now
if running and known[3] ~= ARGV[1] then return {'others', ''} end
local tries = tonumber(known[5] or '0')
if not running then tries = tries + 1 end
if tries > tonumber(ARGV[3]) then return {'unfit', ARGV[3] .. ' servers ended, or took too long, while they tried it'} end
redis.call('HSET', KEYS[1], 'server', ARGV[1], 'until', string.format('%.0f', now + ARGV[2]), 'tries', tries)
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return {'mine', ''}";

/// KEYS: the same. ARGV: this server.
const PASS: &str = "
if redis.call('HGET', KEYS[1], 'server') == ARGV[1] and redis.call('HEXISTS', KEYS[1], 'verdict') == 0 then
    redis.call('HDEL', KEYS[1], 'server', 'until')
    redis.call('HINCRBY', KEYS[1], 'tries', -1)
end
return 0";

/// KEYS: the same. ARGV: the verdict, why, for how long it is remembered. The first one stays.
const JUDGE: &str = "
if redis.call('HSETNX', KEYS[1], 'verdict', ARGV[1]) == 1 then redis.call('HSET', KEYS[1], 'reason', ARGV[2]) end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 0";

/// Servers that tell each other by way of Redis.
pub struct RedisFleet {
    link: Blocking,
    prefix: String,
    server: String,
}

impl RedisFleet {
    /// Those of a service, seen from one of them. The server is not talked to yet.
    ///
    /// # Errors
    /// When the settings make no sense.
    pub fn open(settings: Settings, service: &str, server: &str) -> Result<Self, StoreError> {
        let (link, server) = (Blocking::new(settings)?, server.to_owned());
        Ok(Self { link, prefix: format!("rw:{service}:models:"), server })
    }

    fn servers(&self) -> String {
        format!("{}servers", self.prefix)
    }

    fn trial(&self, subject: &str) -> String {
        format!("{}trial:{subject}", self.prefix)
    }
}

impl Fleet for RedisFleet {
    fn tell(&self, serves: &Serves) -> Result<Vec<Serves>, StoreError> {
        let (key, script) = (self.servers(), Script::new(&format!("{NOW}{TELL}")));
        let text = serde_json::to_string(serves).unwrap_or_default();
        let mut tell = script.prepare_invoke();
        tell.key(&key).arg(&self.server).arg(text).arg(TOLD_FOR.as_millis() as u64);
        let others = self.link.send(&key, |connection| tell.invoke::<Vec<String>>(connection))?;
        // what cannot be read was written by another version
        Ok(others.iter().filter_map(|text| serde_json::from_str(text).ok()).collect())
    }

    fn leave(&self) -> Result<(), StoreError> {
        let key = self.servers();
        Ok(self.link.send(&key, |connection| cmd("HDEL").arg(&key).arg(&self.server).query::<()>(connection))?)
    }

    fn turn(&self, subject: &str, takes: Duration) -> Result<Turn, StoreError> {
        let (key, script) = (self.trial(subject), Script::new(&format!("{NOW}{TURN}")));
        let mut turn = script.prepare_invoke();
        turn.key(&key).arg(&self.server).arg((TRIED_FOR + takes).as_millis() as u64);
        turn.arg(MOST_TRIES).arg((TRIES_COUNT_FOR + takes).as_millis() as u64);
        let (said, reason) = self.link.send(&key, |connection| turn.invoke::<(String, String)>(connection))?;
        Ok(match said.as_str() {
            "mine" => Turn::Mine,
            "fit" => Turn::Fit,
            "unfit" => Turn::Unfit(reason),
            _ => Turn::Others,
        })
    }

    fn judge(&self, subject: &str, verdict: Result<(), &str>) -> Result<(), StoreError> {
        let key = self.trial(subject);
        let (word, reason) = verdict.map_or_else(|reason| ("unfit", reason), |()| ("fit", ""));
        let script = Script::new(JUDGE);
        let mut judge = script.prepare_invoke();
        judge.key(&key).arg(word).arg(reason).arg(KNOWN_FOR.as_millis() as u64);
        Ok(self.link.send(&key, |connection| judge.invoke::<()>(connection))?)
    }

    fn pass(&self, subject: &str) -> Result<(), StoreError> {
        let (key, script) = (self.trial(subject), Script::new(PASS));
        let mut pass = script.prepare_invoke();
        pass.key(&key).arg(&self.server);
        Ok(self.link.send(&key, |connection| pass.invoke::<()>(connection))?)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use rankwright_redis::testing;

    const SOON: Duration = Duration::from_secs(1);

    #[test]
    fn one_alone_remembers_what_it_found() {
        let server = Alone::default();
        assert_eq!(server.turn("shop:v1", SOON).unwrap(), Turn::Mine);
        server.judge("shop:v1", Err("a score is no number")).unwrap();
        server.judge("shop:v2", Ok(())).unwrap();
        assert_eq!(server.turn("shop:v1", SOON).unwrap(), Turn::Unfit("a score is no number".to_owned()));
        assert_eq!(server.turn("shop:v2", SOON).unwrap(), Turn::Fit);
        (0..2 * REMEMBERED).for_each(|number| server.judge(&format!("shop:{number}"), Ok(())).unwrap());
        assert!(server.0.lock().len() <= REMEMBERED);
    }

    /// Runs a test with two servers, over each kind of Redis that there is.
    fn with_two(test: impl Fn(&RedisFleet, &RedisFleet)) {
        for settings in [testing::server(), testing::older(), testing::cluster()].into_iter().flatten() {
            let service = format!("test-{:016x}", fastrand::u64(..));
            let [one, two] = ["one", "two"].map(|name| RedisFleet::open(settings.clone(), &service, name).unwrap());
            test(&one, &two);
        }
    }

    fn serves(version: &str) -> Serves {
        [("shop".to_owned(), version.to_owned())].into()
    }

    #[test]
    fn servers_know_what_the_others_serve_until_these_leave() {
        with_two(|one, two| {
            assert_eq!(one.tell(&serves("v1")).unwrap(), Vec::<Serves>::new());
            assert_eq!(two.tell(&Serves::new()).unwrap(), [serves("v1")]);
            assert_eq!(one.tell(&serves("v2")).unwrap(), [Serves::new()]);
            assert_eq!(two.tell(&Serves::new()).unwrap(), [serves("v2")]);
            one.leave().unwrap();
            assert_eq!(two.tell(&Serves::new()).unwrap(), Vec::<Serves>::new());
        });
    }

    #[test]
    fn one_server_tries_a_version_and_the_others_go_by_what_it_found() {
        with_two(|one, two| {
            assert_eq!(one.turn("shop:v1", SOON).unwrap(), Turn::Mine);
            assert_eq!(one.turn("shop:v1", SOON).unwrap(), Turn::Mine, "still");
            assert_eq!(two.turn("shop:v1", SOON).unwrap(), Turn::Others);
            one.judge("shop:v1", Ok(())).unwrap();
            assert_eq!(two.turn("shop:v1", SOON).unwrap(), Turn::Fit);
            assert_eq!(two.turn("shop:v2", SOON).unwrap(), Turn::Mine, "that is another one");
            two.judge("shop:v2", Err("a score is no number")).unwrap();
            one.judge("shop:v2", Ok(())).unwrap(); // too late
            assert_eq!(one.turn("shop:v2", SOON).unwrap(), Turn::Unfit("a score is no number".to_owned()));
            assert_eq!(one.turn("shop:v3", SOON).unwrap(), Turn::Mine);
            one.pass("shop:v3").unwrap();
            assert_eq!(two.turn("shop:v3", SOON).unwrap(), Turn::Mine, "the first one had no time");
        });
    }

    #[test]
    fn a_version_that_ends_the_servers_that_try_it_is_left() {
        let Some(settings) = testing::server() else { return };
        let service = format!("test-{:016x}", fastrand::u64(..));
        let killed = |name: &str| {
            let server = RedisFleet::open(settings.clone(), &service, name).unwrap();
            assert_eq!(server.turn("shop:v1", SOON).unwrap(), Turn::Mine);
            // as if its time were over
            let key = server.trial("shop:v1");
            server.link.send(&key, |link| cmd("HSET").arg(&key).arg("until").arg(1).query::<()>(link)).unwrap();
        };
        ["one", "two", "three"].into_iter().for_each(killed);
        let fourth = RedisFleet::open(settings.clone(), &service, "four").unwrap();
        assert!(matches!(fourth.turn("shop:v1", SOON).unwrap(), Turn::Unfit(reason) if reason.contains("3 servers")));
        // it is tried again later, unlike one that did not work
        let left = |subject: &str| {
            let key = fourth.trial(subject);
            fourth.link.send(&key, |link| cmd("PTTL").arg(&key).query::<u64>(link)).map(Duration::from_millis).unwrap()
        };
        assert!(left("shop:v1") <= TRIES_COUNT_FOR + SOON, "{:?}", left("shop:v1"));
        fourth.judge("shop:v1", Err("a score is no number")).unwrap();
        assert!(left("shop:v1") > TRIES_COUNT_FOR + SOON, "{:?}", left("shop:v1"));
    }
}
