//! Which server of a cluster has which keys: each key is in one of 16384 slots, each slot on one server.

use crate::Address;
use redis::Value;

/// Number of slots of every cluster.
pub const SLOTS: u16 = 16_384;

/// The slot of a key. Keys with the same text between the first `{` and the next `}` share one.
pub fn slot_of(key: &[u8]) -> u16 {
    crc16(tag(key).unwrap_or(key)) % SLOTS
}

fn tag(key: &[u8]) -> Option<&[u8]> {
    let after = key.iter().position(|&byte| byte == b'{')? + 1;
    let length = key[after..].iter().position(|&byte| byte == b'}')?;
    (length > 0).then(|| &key[after..after + length])
}

/// CRC-16/XMODEM.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, &byte| {
        (0..8).fold(crc ^ u16::from(byte) << 8, |crc: u16, _| match crc & 0x8000 {
            0 => crc << 1,
            _ => crc << 1 ^ 0x1021,
        })
    })
}

/// A run of slots, and who has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) first: u16,
    pub(crate) last: u16,
    pub(crate) owner: Address,
}

/// The answer to `CLUSTER SLOTS` in order of slots; a server that does not know its own name is `asked`.
pub(crate) fn ranges(answer: &Value, asked: &Address) -> Option<Vec<Range>> {
    let Value::Array(answer) = answer else { return None };
    let mut ranges = answer.iter().map(|range| one(range, asked)).collect::<Option<Vec<_>>>()?;
    ranges.sort_by_key(|range| range.first);
    Some(ranges)
}

fn one(range: &Value, asked: &Address) -> Option<Range> {
    let Value::Array(range) = range else { return None };
    let [first, last, Value::Array(owner), ..] = range.as_slice() else { return None };
    let number = |value: &Value| match value {
        Value::Int(number) => u16::try_from(*number).ok(),
        _ => None,
    };
    let host = text(owner.first()?).filter(|host| !host.is_empty() && host != "?");
    let host = host.unwrap_or_else(|| asked.host.clone());
    Some(Range { first: number(first)?, last: number(last)?, owner: Address::new(host, number(owner.get(1)?)?) })
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::BulkString(bytes) => String::from_utf8(bytes.clone()).ok(),
        Value::SimpleString(text) => Some(text.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_servers() {
        assert_eq!(crc16(b"123456789"), 0x31C3);
        assert_eq!(slot_of(b"foo"), 12182);
        assert_eq!(slot_of(b"{user1000}.following"), slot_of(b"user1000"));
        assert_eq!(slot_of(b"foo{bar}{zap}"), slot_of(b"bar"));
        assert_eq!(slot_of(b"foo{{bar}}zap"), slot_of(b"{bar"));
        assert_eq!(slot_of(b"foo{}{bar}"), crc16(b"foo{}{bar}") % SLOTS, "an empty tag is none");
    }

    #[test]
    fn a_server_without_a_name_is_the_one_that_was_asked() {
        let text = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let server = |host: Value, port| Value::Array(vec![host, Value::Int(port), text("id")]);
        let range = |first, last, server| Value::Array(vec![Value::Int(first), Value::Int(last), server]);
        let answer = Value::Array(vec![range(9, 16_383, server(text("b"), 2)), range(0, 8, server(Value::Nil, 1))]);
        let found = ranges(&answer, &Address::new("a", 7)).expect("is an answer");
        let owners: Vec<_> = found.iter().map(|range| (range.first, range.last, range.owner.to_string())).collect();
        assert_eq!(owners, [(0, 8, "a:1".to_owned()), (9, 16_383, "b:2".to_owned())]);
        assert_eq!(ranges(&Value::Nil, &Address::new("a", 7)), None);
    }
}
