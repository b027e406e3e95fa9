//! What the server does in one step.

mod cluster;

use super::bugs::{Bug, unguarded, unmarked};
use super::meta::Answer;
use rankwright_redis::redis::aio::MultiplexedConnection;
use rankwright_redis::redis::{Cmd, ErrorKind, RedisResult, Script, ServerErrorKind, ToRedisArgs};

#[derive(Clone)]
pub(super) struct Scripts {
    pub(super) hold: Script,
    pub(super) acquire: Script,
    pub(super) commit: Script,
    pub(super) slots: Script,
    /// Of a state in shards.
    pub(super) begin: Script,
    pub(super) part: Script,
    pub(super) refuse: Script,
    pub(super) finish: Script,
}

impl Scripts {
    /// Those of a state in shards, or of one server.
    pub(super) fn new(sharded: bool) -> Self {
        let commit = [COMMIT, PUT, COMMITTED].concat();
        let commit = if Bug::NoLease.is_in() { unguarded(&commit) } else { commit };
        let part = [cluster::PART, PUT, cluster::PUT_PART].concat();
        let part = if Bug::NoMarkers.is_in() { unmarked(&part) } else { part };
        Self {
            hold: Script::new(HOLD),
            acquire: Script::new(if sharded { cluster::ACQUIRE } else { ACQUIRE }),
            commit: Script::new(&commit),
            slots: Script::new(SLOTS),
            begin: Script::new(cluster::BEGIN),
            part: Script::new(&part),
            refuse: Script::new(cluster::REFUSE),
            finish: Script::new(cluster::FINISH),
        }
    }
}

/// A script with all its keys, and all its arguments behind them. What a commit has of both, a [`Script`] would copy one by one.
pub(super) struct Call<'s> {
    script: &'s Script,
    command: Cmd,
}

impl<'s> Call<'s> {
    /// With this number of keys; keys and arguments have about this number of bytes.
    pub(super) fn of(script: &'s Script, keys: usize, bytes: usize) -> Self {
        let mut command = Cmd::with_capacity(16 + 5 * keys, 1024 + bytes);
        command.arg("EVALSHA").arg(script.get_hash()).arg(keys);
        Self { script, command }
    }

    /// A key or, when all of them are there, an argument.
    pub(super) fn add(&mut self, part: impl ToRedisArgs) -> &mut Self {
        self.command.arg(part);
        self
    }

    /// Has it carried out by a server, which is told the script where it does not know it.
    pub(super) async fn invoke(&self, mut connection: MultiplexedConnection) -> RedisResult<Vec<Answer>> {
        match self.command.query_async(&mut connection).await {
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                self.script.load_async(&mut connection).await?;
                self.command.query_async(&mut connection).await
            }
            said => said,
        }
    }
}

/// How many indexes there are: their keys come right before those of entities.
pub(super) const INDEXES: usize = 5;
/// Answers of both.
pub(super) const APPLIED: i64 = 0;
pub(super) const LOST: i64 = 1;
pub(super) const MOVED: i64 = 2;
pub(super) use cluster::{PASSED, REFUSED, SKIPPED};

/// The task is the holder's if it was free or its own.
const HOLD: &str = "
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1";

/// The writer's epoch is raised: its previous holder can no longer commit. ARGV: what epochs begin above.
const ACQUIRE: &str = "
redis.call('HSETNX', KEYS[1], 'epoch', ARGV[1])
local epoch = redis.call('HINCRBY', KEYS[1], 'epoch', 1)
redis.call('PEXPIRE', KEYS[1], 31536000000)
return {epoch, redis.call('HGET', KEYS[1], 'position') or ''}";

/// KEYS: the pointer to the live generation; the batch that others wait for; the writers; indexes of joins, outbox, seen events, waiting interactions and
/// watermarks; then entities. ARGV: how many writers, stamp of the batch, its generation; for each writer its epoch, position
/// before and position after; 1 where others are to wait if this one is refused; milliseconds that keys live, and those that seen events do; then what [`PUT`] wants.
const COMMIT: &str = "
if redis.call('HGET', KEYS[1], 'live') ~= ARGV[3] then return {1} end
local writers = tonumber(ARGV[1])
local applied = false
for i = 1, writers do
    local writer = redis.call('HMGET', KEYS[2 + i], 'epoch', 'position', 'stamp')
    if writer[1] ~= ARGV[1 + 3 * i] then return {1} end
    applied = applied or writer[3] == ARGV[2]
    if not applied and (writer[2] or '') ~= ARGV[2 + 3 * i] then return {1} end
end
if applied then return {0} end
local first, fixed = 8 + writers, 6 + 3 * writers
local wait, live, remembered = ARGV[fixed - 2] == '1', ARGV[fixed - 1], ARGV[fixed]";

/// For each entity, from the first on, with the indexes before it: the stamp it must have ('' for none, '*' for any), its new value ('' to remove it, '>' and a number for what lies under the key with that number, from 0 on, which goes), the number of its
/// index (0 for none) and its place there. What goes makes room first: a full server takes all that a script writes behind that. An index is changed a thousand names at a time, as a call costs as much as what it does. It lives as long as any key in it, whose writer may have let it live longer.
const PUT: &str = "
local moved = {2}
for i = first, #KEYS do
    local at = fixed + (i - first) * 4
    local wanted, value = ARGV[at + 1], ARGV[at + 2]
    local gone = string.byte(value) == 62 and redis.call('EXISTS', KEYS[first + tonumber(string.sub(value, 2))]) == 0
    if gone or wanted ~= '*' and redis.call('GETRANGE', KEYS[i], 0, 7) ~= wanted then
        moved[#moved + 1] = i - first
        moved[#moved + 1] = redis.call('GET', KEYS[i])
    end
end
if #moved > 1 then
    if wait then redis.call('SET', KEYS[2], ARGV[2], 'NX', 'PX', 500) end
    return moved
end
local seen, moves, removed, left, noted = false, {}, {}, {}, {}
for i = first, #KEYS do
    local value = ARGV[fixed + (i - first) * 4 + 2]
    if string.byte(value) == 62 then moves[first + tonumber(string.sub(value, 2))] = true end
end
for i = first, #KEYS do
    local at = fixed + (i - first) * 4
    local name, index = KEYS[i], ARGV[at + 3]
    if ARGV[at + 2] == '' then
        if not moves[i] then removed[#removed + 1] = name end
        if index ~= '0' then
            local names = left[index] or {}
            names[#names + 1] = name
            left[index] = names
        end
    end
end
for from = 1, #removed, 1000 do redis.call('DEL', unpack(removed, from, math.min(from + 999, #removed))) end
for i = first, #KEYS do
    local at = fixed + (i - first) * 4
    local name, value, index = KEYS[i], ARGV[at + 2], ARGV[at + 3]
    if value ~= '' then
        if string.byte(value) == 62 then
            local from = KEYS[first + tonumber(string.sub(value, 2))]
            local renamed = redis.pcall('RENAME', from, name)
            if renamed.err then
                redis.call('SET', name, redis.call('GET', from), 'PX', live)
                redis.call('DEL', from)
            else redis.call('PEXPIRE', name, live) end
        else
            redis.call('SET', name, value, 'PX', index == '3' and remembered or live)
        end
        if index ~= '0' then
            local places, place = noted[index] or {}, ARGV[at + 4]
            places[#places + 1] = place
            places[#places + 1] = name
            noted[index] = places
            if index == '3' then seen = tonumber(place) end
        end
    end
end
for index, names in pairs(left) do
    local name = KEYS[first - 6 + tonumber(index)]
    for from = 1, #names, 1000 do redis.call('ZREM', name, unpack(names, from, math.min(from + 999, #names))) end
end
for index, places in pairs(noted) do
    local name, time = KEYS[first - 6 + tonumber(index)], index == '3' and remembered or live
    for from = 1, #places, 1000 do redis.call('ZADD', name, unpack(places, from, math.min(from + 999, #places))) end
    if redis.call('PTTL', name) < tonumber(time) then redis.call('PEXPIRE', name, time) end
end
if seen then redis.call('ZREMRANGEBYSCORE', KEYS[first - 3], '-inf', seen - tonumber(remembered)) end";

/// The answer tells whether another batch is waited for.
const COMMITTED: &str = "
for i = 1, writers do
    redis.call('HSET', KEYS[2 + i], 'position', ARGV[3 + 3 * i], 'stamp', ARGV[2])
    redis.call('PEXPIRE', KEYS[2 + i], 31536000000)
end
local waiting = redis.call('GET', KEYS[2])
if waiting == ARGV[2] then redis.call('DEL', KEYS[2]) end
return {0, waiting and waiting ~= ARGV[2] and 1 or 0}";

/// Numbers for fingerprints; those that are new get the next ones, or none does where they do not fit. Nothing comes back where
/// another generation is live. KEYS: the slots, and the pointer unless it is on another server. ARGV: the generation, the
/// fingerprints.
const SLOTS: &str = "
local generation = table.remove(ARGV, 1)
if KEYS[2] and redis.call('HGET', KEYS[2], 'live') ~= generation then return false end
local found, missing = redis.call('HMGET', KEYS[1], unpack(ARGV)), {}
local count = redis.call('HLEN', KEYS[1])
for i, fingerprint in ipairs(ARGV) do
    if not found[i] then
        local number = missing[fingerprint]
        if not number then
            if count >= 65536 then return {} end
            number, count = count, count + 1
            missing[fingerprint] = number
        end
        found[i] = tostring(number)
    end
end
for fingerprint, number in pairs(missing) do redis.call('HSET', KEYS[1], fingerprint, number) end
return found";

#[cfg(test)]
mod tests {
    use super::*;

    /// A line that reads otherwise would leave a mistake out that the tests of faults are to notice.
    #[test]
    fn mistakes_on_purpose_take_their_lines_out_of_the_scripts() {
        let (commit, part) = ([COMMIT, PUT, COMMITTED].concat(), [cluster::PART, PUT, cluster::PUT_PART].concat());
        let lines = |script: &str| script.lines().count();
        assert_eq!(lines(&commit) - lines(&unguarded(&commit)), 2);
        assert_eq!(lines(&part) - lines(&unmarked(&part)), 1);
    }
}
