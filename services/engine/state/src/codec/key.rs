//! Keys as bytes: part of the keys, tenant, scope, and what the scope names.
//!
//! Text ends with `00 01`, and a zero byte inside it is written `00 FF`. So a text is never a prefix of another one's
//! bytes, the shorter text comes first, and the order of bytes is the order of texts. The first byte is the part of
//! the keys (see [`Space`]), which makes each part one range.

use crate::{Key, Scope, Slot, Space};
use rankwright_event::Tenant;
use std::fmt;

const END: u8 = 1;
const ZERO: u8 = 0xFF;

impl Space {
    /// The byte with which all keys of this part begin.
    pub fn prefix(self) -> u8 {
        match self {
            Self::Values => 1,
            Self::Joins => 2,
            Self::Outbox => 3,
            Self::Seen => 4,
            Self::Waiting => 5,
            Self::Watermarks => 6,
        }
    }
}

impl Key {
    /// This key as bytes, which are in the order of keys within a [`Space`].
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(48);
        bytes.push(self.scope.space().prefix());
        put_text(&mut bytes, self.tenant.as_str());
        bytes.push(tag(&self.scope));
        match &self.scope {
            Scope::Global => {}
            Scope::Item(id) => put_text(&mut bytes, id.as_str()),
            Scope::User(id) => put_text(&mut bytes, id.as_str()),
            Scope::Session(id) => put_text(&mut bytes, id.as_str()),
            Scope::FieldValue(slot, value) => put_field(&mut bytes, *slot, value),
            Scope::ItemWithin(slot, value, item) => {
                put_field(&mut bytes, *slot, value);
                put_text(&mut bytes, item.as_str());
            }
            Scope::Join(id) | Scope::Outbox(id) => put_text(&mut bytes, id.as_str()),
            Scope::Seen(id) | Scope::Waiting(id) => put_text(&mut bytes, id.as_str()),
            Scope::Watermark(writer) => put_text(&mut bytes, writer),
        }
        bytes
    }

    /// The key that bytes stand for; `None` where [`Key::to_bytes`] does not write such bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (&space, mut rest) = bytes.split_first()?;
        let tenant = Tenant::from(take_text(&mut rest)?);
        let scope = take_scope(&mut rest)?;
        (rest.is_empty() && scope.space().prefix() == space).then_some(Self { tenant, scope })
    }
}

fn tag(scope: &Scope) -> u8 {
    match scope {
        Scope::Global => 1,
        Scope::Item(_) => 2,
        Scope::User(_) => 3,
        Scope::Session(_) => 4,
        Scope::FieldValue(..) => 5,
        Scope::ItemWithin(..) => 6,
        Scope::Join(_) => 7,
        Scope::Outbox(_) => 8,
        Scope::Seen(_) => 9,
        Scope::Waiting(_) => 10,
        Scope::Watermark(_) => 11,
    }
}

fn take_scope(rest: &mut &[u8]) -> Option<Scope> {
    let (&tag, after) = rest.split_first()?;
    *rest = after;
    Some(match tag {
        1 => Scope::Global,
        2 => Scope::Item(take_text(rest)?.into()),
        3 => Scope::User(take_text(rest)?.into()),
        4 => Scope::Session(take_text(rest)?.into()),
        5 => Scope::FieldValue(take_slot(rest)?, take_text(rest)?.into()),
        6 => Scope::ItemWithin(take_slot(rest)?, take_text(rest)?.into(), take_text(rest)?.into()),
        7 => Scope::Join(take_text(rest)?.into()),
        8 => Scope::Outbox(take_text(rest)?.into()),
        9 => Scope::Seen(take_text(rest)?.into()),
        10 => Scope::Waiting(take_text(rest)?.into()),
        11 => Scope::Watermark(take_text(rest)?.into()),
        _ => return None,
    })
}

fn put_field(bytes: &mut Vec<u8>, slot: Slot, value: &str) {
    bytes.extend_from_slice(&slot.0.to_be_bytes());
    put_text(bytes, value);
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    for (place, run) in text.as_bytes().split(|&byte| byte == 0).enumerate() {
        if place > 0 {
            bytes.extend_from_slice(&[0, ZERO]);
        }
        bytes.extend_from_slice(run);
    }
    bytes.extend_from_slice(&[0, END]);
}

fn take_slot(rest: &mut &[u8]) -> Option<Slot> {
    let (number, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(Slot(u16::from_be_bytes(*number)))
}

fn take_text(rest: &mut &[u8]) -> Option<String> {
    let mut text = Vec::new();
    loop {
        let zero = rest.iter().position(|&byte| byte == 0)?;
        text.extend_from_slice(&rest[..zero]);
        let mark = *rest.get(zero + 1)?;
        *rest = &rest[zero + 2..];
        match mark {
            END => return String::from_utf8(text).ok(),
            ZERO => text.push(0),
            _ => return None,
        }
    }
}

/// For messages: `item "p1" of tenant "default"`.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.scope {
            Scope::Global => f.write_str("the global values"),
            Scope::Item(id) => write!(f, "item {:?}", id.as_str()),
            Scope::User(id) => write!(f, "user {:?}", id.as_str()),
            Scope::Session(id) => write!(f, "session {:?}", id.as_str()),
            Scope::FieldValue(slot, value) => write!(f, "value {value:?} of slot {}", slot.0),
            Scope::ItemWithin(slot, value, item) => {
                write!(f, "item {:?} within value {value:?} of slot {}", item.as_str(), slot.0)
            }
            Scope::Join(id) => write!(f, "open ranking {:?}", id.as_str()),
            Scope::Outbox(id) => write!(f, "closed ranking {:?}", id.as_str()),
            Scope::Seen(id) => write!(f, "event {:?}", id.as_str()),
            Scope::Waiting(id) => write!(f, "waiting interaction {:?}", id.as_str()),
            Scope::Watermark(writer) => write!(f, "watermark of {writer:?}"),
        }?;
        write!(f, " of tenant {:?}", self.tenant.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::any_key;
    use proptest::prelude::*;

    #[test]
    fn ids_with_zeros_and_marks_do_not_collide() {
        let ids = ["", "\0", "\0\u{1}", "a", "a\0", "a\0\u{1}", "a\0b", "ab", "\u{1}", "\u{ff}"];
        let tenants = ["", "\0\u{1}\u{2}", "a"];
        let keys = tenants.iter().flat_map(|tenant| {
            ids.iter().map(move |id| Key::new(&Tenant::from(tenant), Scope::Item((*id).into())).to_bytes())
        });
        let distinct: std::collections::BTreeSet<_> = keys.collect();
        assert_eq!(distinct.len(), ids.len() * tenants.len());
    }

    #[test]
    fn bytes_that_no_key_has_are_refused() {
        for bytes in
            [&b""[..], b"\x01", b"\x01t\x00\x01", b"\x01t\x00\x01\x0a", b"\x02t\x00\x01\x01", b"\x01t\x00\x02\x01"]
        {
            assert_eq!(Key::from_bytes(bytes), None, "{bytes:?}");
        }
        let key = Key::new(&Tenant::default(), Scope::Global);
        assert_eq!(Key::from_bytes(&[key.to_bytes().as_slice(), b"x"].concat()), None);
    }

    proptest! {
        #[test]
        fn keys_come_back_as_they_were(key in any_key()) {
            prop_assert_eq!(Key::from_bytes(&key.to_bytes()), Some(key));
        }

        #[test]
        fn bytes_are_in_the_order_of_keys(left in any_key(), right in any_key()) {
            if left.scope.space() == right.scope.space() {
                prop_assert_eq!(left.to_bytes().cmp(&right.to_bytes()), left.cmp(&right));
            } else {
                prop_assert_ne!(left.to_bytes()[0], right.to_bytes()[0]);
            }
        }

        #[test]
        fn only_bytes_of_keys_are_read_as_keys(key in any_key(), place in any::<u16>(), byte in any::<u8>()) {
            let mut bytes = key.to_bytes();
            let place = usize::from(place) % bytes.len();
            bytes[place] = byte;
            if let Some(other) = Key::from_bytes(&bytes) {
                prop_assert_eq!(other.to_bytes(), bytes);
            }
        }
    }
}
