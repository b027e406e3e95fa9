//! What the server does in one step.

use rankwright_redis::redis::Script;

pub(super) struct Scripts {
    pub(super) acquire: Script,
    pub(super) commit: Script,
    pub(super) slots: Script,
}

impl Default for Scripts {
    fn default() -> Self {
        Self { acquire: Script::new(ACQUIRE), commit: Script::new(COMMIT), slots: Script::new(SLOTS) }
    }
}

/// How many keys of [`COMMIT`] come before those of entities.
pub(super) const FIXED_KEYS: usize = 4;
/// Answers of [`COMMIT`].
pub(super) const APPLIED: i64 = 0;
pub(super) const LOST: i64 = 1;

/// The writer's epoch is raised: whoever held it before can no longer commit.
const ACQUIRE: &str = "
local epoch = redis.call('HINCRBY', KEYS[1], 'epoch', 1)
return {epoch, redis.call('HGET', KEYS[1], 'position') or ''}";

/// KEYS: the writer; indexes of joins, outbox and seen events; then entities.
/// ARGV: epoch, position before, position after, stamp of the batch, milliseconds that keys live; then for each entity
/// the stamp it must have ('' for none, '*' for any), its new value ('' to remove it), the number of its index (0 for
/// none) and its place there.
const COMMIT: &str = "
local writer = redis.call('HMGET', KEYS[1], 'epoch', 'position', 'stamp')
if writer[1] ~= ARGV[1] then return {1} end
if writer[3] == ARGV[4] then return {0} end
if (writer[2] or '') ~= ARGV[2] then return {1} end
local moved = {2}
for i = 5, #KEYS do
    local wanted = ARGV[i * 4 - 14]
    if wanted ~= '*' and redis.call('GETRANGE', KEYS[i], 0, 7) ~= wanted then
        moved[#moved + 1] = i - 5
        moved[#moved + 1] = redis.call('GET', KEYS[i])
    end
end
if #moved > 1 then return moved end
for i = 5, #KEYS do
    local at = i * 4 - 14
    local value, index = ARGV[at + 1], tonumber(ARGV[at + 2])
    if value == '' then
        redis.call('DEL', KEYS[i])
        if index > 0 then redis.call('ZREM', KEYS[1 + index], KEYS[i]) end
    else
        redis.call('SET', KEYS[i], value, 'PX', ARGV[5])
        if index > 0 then redis.call('ZADD', KEYS[1 + index], ARGV[at + 3], KEYS[i]) end
    end
end
redis.call('HSET', KEYS[1], 'position', ARGV[3], 'stamp', ARGV[4])
return {0}";

/// Numbers for fingerprints; those that are new get the next ones, or none does where they do not fit.
const SLOTS: &str = "
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
