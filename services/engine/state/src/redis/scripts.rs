//! What the server does in one step.

mod cluster;

use super::bugs::{Bug, unguarded, unmarked};
use rankwright_redis::redis::Script;

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

/// How many indexes there are: their keys come right before those of entities.
pub(super) const INDEXES: usize = 5;
/// Answers of both.
pub(super) const APPLIED: i64 = 0;
pub(super) const LOST: i64 = 1;
pub(super) const MOVED: i64 = 2;
pub(super) use cluster::{PASSED, REFUSED, SKIPPED};

/// The task is the holder's if it was nobody's or its own.
const HOLD: &str = "
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1";

/// The writer's epoch is raised: whoever held it before can no longer commit. ARGV: what epochs begin above.
const ACQUIRE: &str = "
redis.call('HSETNX', KEYS[1], 'epoch', ARGV[1])
local epoch = redis.call('HINCRBY', KEYS[1], 'epoch', 1)
redis.call('PEXPIRE', KEYS[1], 31536000000)
return {epoch, redis.call('HGET', KEYS[1], 'position') or ''}";

/// KEYS: the pointer to the live generation; the writers; indexes of joins, outbox, seen events, waiting interactions and
/// watermarks; then entities. ARGV: how many writers, stamp of the batch, its generation; for each writer its epoch, position
/// before and position after; milliseconds that keys live, and those that seen events do; then what [`PUT`] wants.
const COMMIT: &str = "
if redis.call('HGET', KEYS[1], 'live') ~= ARGV[3] then return {1} end
local writers = tonumber(ARGV[1])
local applied = false
for i = 1, writers do
    local writer = redis.call('HMGET', KEYS[1 + i], 'epoch', 'position', 'stamp')
    if writer[1] ~= ARGV[1 + 3 * i] then return {1} end
    applied = applied or writer[3] == ARGV[2]
    if not applied and (writer[2] or '') ~= ARGV[2 + 3 * i] then return {1} end
end
if applied then return {0} end
local first, fixed = 7 + writers, 5 + 3 * writers
local live, remembered = ARGV[fixed - 1], ARGV[fixed]";

/// For each entity, from the first on, with the indexes before it: the stamp it must have ('' for none, '*' for any), its new value ('' to remove it), the number of its
/// index (0 for none) and its place there. An index lives as long as any key in it, whose writer may have let it live longer.
const PUT: &str = "
local moved = {2}
for i = first, #KEYS do
    local at = fixed + (i - first) * 4
    local wanted = ARGV[at + 1]
    if wanted ~= '*' and redis.call('GETRANGE', KEYS[i], 0, 7) ~= wanted then
        moved[#moved + 1] = i - first
        moved[#moved + 1] = redis.call('GET', KEYS[i])
    end
end
if #moved > 1 then return moved end
local seen, noted = false, {}
for i = first, #KEYS do
    local at = fixed + (i - first) * 4
    local value, index, place = ARGV[at + 2], tonumber(ARGV[at + 3]), ARGV[at + 4]
    if value == '' then
        redis.call('DEL', KEYS[i])
        if index > 0 then redis.call('ZREM', KEYS[first - 6 + index], KEYS[i]) end
    else
        redis.call('SET', KEYS[i], value, 'PX', index == 3 and remembered or live)
        if index > 0 then
            redis.call('ZADD', KEYS[first - 6 + index], place, KEYS[i])
            noted[index] = index == 3 and remembered or live
        end
        if index == 3 then seen = tonumber(place) end
    end
end
if seen then redis.call('ZREMRANGEBYSCORE', KEYS[first - 3], '-inf', seen - tonumber(remembered)) end
for index, time in pairs(noted) do
    local name = KEYS[first - 6 + index]
    if redis.call('PTTL', name) < tonumber(time) then redis.call('PEXPIRE', name, time) end
end";

const COMMITTED: &str = "
for i = 1, writers do
    redis.call('HSET', KEYS[1 + i], 'position', ARGV[3 + 3 * i], 'stamp', ARGV[2])
    redis.call('PEXPIRE', KEYS[1 + i], 31536000000)
end
return {0}";

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
