//! The steps of a commit in shards.
//!
//! A row lives two years without a batch, a marker one: a row that starts again finds no marker above its numbers.

/// Answers of [`PART`] and [`REFUSE`]: the part is in; the batch was refused; a later batch of the writer is in.
pub(crate) const SKIPPED: i64 = 3;
pub(crate) const REFUSED: i64 = 4;
pub(crate) const PASSED: i64 = 5;

/// The writer's epoch is raised; its row with the redo record. ARGV: what epochs begin above.
pub(super) const ACQUIRE: &str = "
redis.call('HSETNX', KEYS[1], 'epoch', ARGV[1])
local epoch = redis.call('HINCRBY', KEYS[1], 'epoch', 1)
redis.call('PEXPIRE', KEYS[1], 63072000000)
local row = redis.call('HMGET', KEYS[1], 'position', 'sequence', 'redo')
return {epoch, row[1] or '', row[2] or '0', row[3] or ''}";

/// A batch becomes the writer's redo record and gets the next number, which is the answer; 0 where the lease is lost.
/// KEYS: the row. ARGV: epoch, position before, number of the last batch, stamp of this one, the record.
pub(super) const BEGIN: &str = "
local row = redis.call('HMGET', KEYS[1], 'epoch', 'position', 'sequence', 'stamp')
if row[1] ~= ARGV[1] then return 0 end
local number = tonumber(row[3] or '0')
if row[4] == ARGV[4] then return number end
if (row[2] or '') ~= ARGV[2] or number ~= tonumber(ARGV[3]) then return 0 end
if redis.call('HEXISTS', KEYS[1], 'redo') == 1 then return 0 end
redis.call('HSET', KEYS[1], 'sequence', number + 1, 'stamp', ARGV[4], 'redo', ARGV[5])
redis.call('PEXPIRE', KEYS[1], 63072000000)
return number + 1";

/// What a shard remembers of a writer: the number of its last batch here, with a mark where that one was refused.
/// KEYS: the marker; then those of a commit. ARGV: the batch's number, milliseconds that keys live, and those that seen events do.
pub(super) const PART: &str = "
local marker = redis.call('GET', KEYS[1])
if marker then
    local number = tonumber(string.match(marker, '^%d+'))
    if number > tonumber(ARGV[1]) then return {5} end
    if number == tonumber(ARGV[1]) then return {string.sub(marker, -1) == '!' and 4 or 3} end
end
local first, fixed, live, remembered, wait = 7, 3, ARGV[2], ARGV[3], false";

pub(super) const PUT_PART: &str = "
redis.call('SET', KEYS[1], ARGV[1], 'PX', 31536000000)
return {0}";

/// A key that should be new was found: the batch is refused for good, unless it is decided already.
pub(super) const REFUSE: &str = "
local marker = redis.call('GET', KEYS[1])
if marker then
    local number = tonumber(string.match(marker, '^%d+'))
    if number > tonumber(ARGV[1]) then return {5} end
    if number == tonumber(ARGV[1]) then return {string.sub(marker, -1) == '!' and 4 or 3} end
end
redis.call('SET', KEYS[1], ARGV[1] .. '!', 'PX', 31536000000)
return {4}";

/// The redo record goes; the position moves, unless the batch was refused. Whether the lease still holds.
/// KEYS: the row. ARGV: epoch, number, position, 1 where it moves.
pub(super) const FINISH: &str = "
local row = redis.call('HMGET', KEYS[1], 'epoch', 'sequence')
if row[1] ~= ARGV[1] or row[2] ~= ARGV[2] then return 0 end
if redis.call('HDEL', KEYS[1], 'redo') == 1 and ARGV[4] == '1' then
    redis.call('HSET', KEYS[1], 'position', ARGV[3])
end
return 1";
