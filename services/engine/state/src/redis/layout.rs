//! What lies under which name, and how a value is framed.

use crate::{Entity, Error, Format, Key, Space, Writer, codec};

/// Names of everything that belongs to one generation of a service.
#[derive(Debug, Clone)]
pub(super) struct Names {
    service: String,
    prefix: String,
}

/// A service whose name cannot be part of a key.
#[derive(Debug, thiserror::Error)]
#[error("the service's name {0:?} may have letters, digits, '-', '_' and '.' only")]
pub(super) struct BadName(String);

/// Unique to the commit that wrote a value: two values under one key are the same exactly if their stamps are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp(pub(super) [u8; Stamp::LENGTH]);

impl Stamp {
    pub(super) const LENGTH: usize = 8;

    /// 48 random bits in letters that do no harm to a terminal.
    pub(super) fn random() -> Self {
        const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        Self(std::array::from_fn(|_| LETTERS[fastrand::usize(..LETTERS.len())]))
    }
}

impl Names {
    pub(super) fn new(service: &str, generation: u32) -> Result<Self, BadName> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if service.is_empty() || !service.bytes().all(fits) {
            return Err(BadName(service.to_owned()));
        }
        Ok(Self { service: service.to_owned(), prefix: format!("rw:{service}:{generation}:") })
    }

    pub(super) fn of_generation(&self, generation: u32) -> Self {
        Self { service: self.service.clone(), prefix: format!("rw:{}:{generation}:", self.service) }
    }

    /// What concerns all generations: the format, and which one is live.
    pub(super) fn meta(&self) -> String {
        format!("rw:{}:meta", self.service)
    }

    pub(super) fn slots(&self) -> String {
        format!("{}slots", self.prefix)
    }

    pub(super) fn writer(&self, writer: &Writer) -> String {
        format!("{}w:{}", self.prefix, writer.0)
    }

    /// Who holds a task.
    pub(super) fn task(&self, task: &str) -> String {
        format!("{}t:{task}", self.prefix)
    }

    /// The keys of a space, by the event time of their newest value. Values themselves have no index.
    pub(super) fn index(&self, space: Space) -> String {
        let name = match space {
            Space::Values => "values",
            Space::Joins => "joins",
            Space::Outbox => "outbox",
            Space::Seen => "seen",
            Space::Waiting => "waiting",
            Space::Watermarks => "watermarks",
        };
        format!("{}i:{name}", self.prefix)
    }

    pub(super) fn entity(&self, key: &Key) -> Vec<u8> {
        let mut name = format!("{}k:", self.prefix).into_bytes();
        name.extend_from_slice(&key.to_bytes());
        name
    }

    /// The key whose entity has this name.
    pub(super) fn key(&self, name: &[u8]) -> Option<Key> {
        Key::from_bytes(name.strip_prefix(self.prefix.as_bytes())?.strip_prefix(b"k:")?)
    }

    /// A pattern for `SCAN` that all entities of a space match.
    pub(super) fn pattern(&self, space: Space) -> Vec<u8> {
        let mut pattern = format!("{}k:", self.prefix).into_bytes();
        pattern.extend_from_slice(&[space.prefix(), b'*']);
        pattern
    }
}

pub(super) fn frame(stamp: Stamp, entity: &Entity, format: Format) -> Result<Vec<u8>, Error> {
    let mut bytes = stamp.0.to_vec();
    bytes.append(&mut codec::encode(entity, format)?);
    Ok(bytes)
}

pub(super) fn unframe(key: &Key, bytes: &[u8]) -> Result<(Stamp, Entity), Error> {
    let Some((stamp, value)) = bytes.split_first_chunk() else {
        return Err(Error::Damaged { key: key.to_string(), reason: format!("it has {} bytes", bytes.len()) });
    };
    Ok((Stamp(*stamp), codec::decode(key, value)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{item, stored};
    use crate::{Cell, Slot};

    #[test]
    fn names_lead_back_to_keys_of_their_own_generation() {
        let (one, two) = (Names::new("shop", 1).expect("a name"), Names::new("shop", 2).expect("a name"));
        let key = item("a:{b}*\0");
        assert_eq!(one.key(&one.entity(&key)), Some(key.clone()));
        assert_eq!(one.key(&two.entity(&key)), None);
    }

    #[test]
    fn a_service_that_would_blur_the_borders_of_names_is_refused() {
        for name in ["", "a:b", "a b", "a*", "ä"] {
            assert!(Names::new(name, 1).is_err(), "{name}");
        }
    }

    #[test]
    fn a_value_without_room_for_a_stamp_is_damaged() {
        let entity = Entity::one(Slot(3), stored(1, Cell::Counter(5)));
        let stamp = Stamp::random();
        let bytes = frame(stamp, &entity, Format::Binary).expect("encodes");
        assert_eq!(unframe(&item("a"), &bytes).expect("decodes"), (stamp, entity));
        assert!(matches!(unframe(&item("a"), b"short"), Err(Error::Damaged { .. })));
    }

    #[test]
    fn stamps_differ() {
        assert_ne!(Stamp::random(), Stamp::random());
    }
}
