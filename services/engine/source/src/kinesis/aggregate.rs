//! Records that Amazon's producer library (KPL) has put together into one.

/// What such records begin with; no JSON does.
const MAGIC: [u8; 4] = [0xf3, 0x89, 0x9a, 0xc2];
/// They end with a checksum (MD5), which says no more than that of the transport.
const CHECKSUM: usize = 16;
/// Numbers of fields, as the library's protocol buffers name them.
const RECORDS: u64 = 3;
const DATA: u64 = 3;

/// The messages of a record: itself, or those that were put together.
pub(super) fn messages(record: &[u8]) -> Result<Vec<&[u8]>, String> {
    let Some(body) = record.strip_prefix(&MAGIC) else { return Ok(vec![record]) };
    let damaged = || "the aggregated record is damaged".to_owned();
    let body = body.split_last_chunk::<CHECKSUM>().map(|(body, _)| body).ok_or_else(damaged)?;
    let records = fields(body, RECORDS).ok_or_else(damaged)?;
    let data = records.into_iter().map(|record| fields(record, DATA).and_then(|data| data.first().copied()));
    data.collect::<Option<Vec<_>>>().ok_or_else(damaged)
}

/// The bytes of all fields with a number; `None` where the bytes are no message.
fn fields(mut rest: &[u8], wanted: u64) -> Option<Vec<&[u8]>> {
    let mut found = Vec::new();
    while !rest.is_empty() {
        let tag = varint(&mut rest)?;
        match tag & 7 {
            0 => {
                varint(&mut rest)?;
            }
            2 => {
                let length = usize::try_from(varint(&mut rest)?).ok()?;
                let (field, left) = rest.split_at_checked(length)?;
                rest = left;
                if tag >> 3 == wanted {
                    found.push(field);
                }
            }
            _ => return None, // of a kind that these messages do not have
        }
    }
    Some(found)
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for place in 0..10 {
        let (&byte, left) = rest.split_first()?;
        *rest = left;
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field of bytes.
    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2, bytes.len() as u8], bytes].concat()
    }

    fn aggregated(messages: &[&str]) -> Vec<u8> {
        let key = field(1, b"key");
        let records = messages.iter().map(|text| field(3, &[vec![8, 0], field(3, text.as_bytes())].concat()));
        [MAGIC.to_vec(), key, records.collect::<Vec<_>>().concat(), vec![0; CHECKSUM]].concat()
    }

    #[test]
    fn a_plain_record_is_one_message() {
        assert_eq!(messages(b"{}"), Ok(vec![&b"{}"[..]]));
        assert_eq!(messages(b""), Ok(vec![&b""[..]]));
    }

    #[test]
    fn aggregated_records_are_taken_apart() {
        assert_eq!(messages(&aggregated(&["a", "bc"])), Ok(vec![&b"a"[..], &b"bc"[..]]));
    }

    #[test]
    fn what_is_damaged_is_said_so() {
        let whole = aggregated(&["a", "bc"]);
        assert!(messages(&whole[..whole.len() - 1]).is_err());
        assert!(messages(&MAGIC).is_err());
    }
}
