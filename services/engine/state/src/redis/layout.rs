//! What lies under which name, and how a value is framed.
//!
//! In a cluster the names of a shard have its hash tag, so that one script can touch them together.

use super::shards::{Shard, Shards};
use crate::{Entity, Error, Format, Key, Purpose, Space, Writer, codec};

/// Names of everything that belongs to one generation of a service.
#[derive(Debug, Clone)]
pub(super) struct Names {
    service: String,
    generation: u32,
    prefix: String,
    /// Where keys are shared out among servers.
    shards: Option<Shards>,
}

/// A service whose name cannot be part of a key.
#[derive(Debug, thiserror::Error)]
#[error("the service's name {0:?} may have letters, digits, '-', '_' and '.' only")]
pub(super) struct BadName(String);

/// Unique to what was stored: two values under one key are the same exactly if their stamps are. What is moved keeps its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp(pub(super) [u8; Stamp::LENGTH]);

/// What a key of a service belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Belongs {
    /// Values of features.
    Value(Key),
    /// Something that an index, or a name that everybody knows, leads to.
    Listed,
    /// Anything else.
    To(Purpose),
}

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
        let prefix = format!("rw:{service}:{generation}:");
        Ok(Self { service: service.to_owned(), generation, prefix, shards: None })
    }

    /// Those of a generation; `shards` is the number of its shards, where it lies in shards.
    pub(super) fn of_generation(&self, generation: u32, shards: Option<u16>) -> Self {
        let (service, prefix) = (self.service.clone(), format!("rw:{}:{generation}:", self.service));
        Self { service, generation, prefix, shards: shards.map(Shards::new) }
    }

    pub(super) fn generation(&self) -> u32 {
        self.generation
    }

    /// How many shards there are, where there are some.
    pub(super) fn shards(&self) -> Option<u16> {
        self.shards.as_ref().map(Shards::number)
    }

    /// What the epochs of writers begin above: those of different generations are never the same.
    pub(super) fn first_epoch(&self) -> u64 {
        u64::from(self.generation.saturating_sub(1)) << 32
    }

    /// How all names of this generation begin.
    pub(super) fn prefix_of_all(&self) -> String {
        self.prefix.clone()
    }

    /// How the names of all keys of the service begin, whatever the generation.
    pub(super) fn of_service(&self) -> String {
        format!("rw:{}:", self.service)
    }

    /// What a key belongs to; `None` where it is another service's.
    pub(super) fn belongs(&self, name: &[u8]) -> Option<Belongs> {
        let own = name.strip_prefix(self.of_service().as_bytes())?;
        let Some(mut rest) = name.strip_prefix(self.prefix.as_bytes()) else {
            return Some(match own {
                b"meta" => Belongs::Listed,
                _ if own.starts_with(b"parts:") => Belongs::To(Purpose::Clickthroughs),
                _ if own.starts_with(b"models:") => Belongs::To(Purpose::Models),
                _ if own.first().is_some_and(u8::is_ascii_digit) => Belongs::To(Purpose::Generations),
                _ => Belongs::To(Purpose::Rest),
            });
        };
        if let Some(key) = self.key(name) {
            return Some(if key.scope.space() == Space::Values { Belongs::Value(key) } else { Belongs::Listed });
        }
        if let Some(end) = rest.windows(2).position(|two| two == b"}:").filter(|_| rest.starts_with(b"{")) {
            rest = &rest[end + 2..];
        }
        Some(match rest.first_chunk::<2>() {
            Some(b"w:" | b"m:" | b"t:") => Belongs::To(Purpose::Writers),
            Some(b"i:") => Belongs::Listed,
            _ if rest == b"slots" => Belongs::Listed,
            _ => Belongs::To(Purpose::Rest),
        })
    }

    /// A pattern for `SCAN` that all rows of writers match.
    pub(super) fn writers(&self) -> String {
        format!("{}w:*", self.prefix)
    }

    /// Where a key belongs; all keys are in one shard where there are none.
    pub(super) fn shard(&self, key: &Key) -> Shard {
        self.shards.as_ref().map_or(Shard::WHOLE, |shards| shards.of(key))
    }

    /// What concerns all generations: the format, and which one is live.
    pub(super) fn meta(&self) -> String {
        format!("rw:{}:meta", self.service)
    }

    /// The batch that others wait for, as it was refused again and again.
    pub(super) fn waits(&self) -> String {
        format!("{}waits", self.prefix)
    }

    pub(super) fn slots(&self) -> String {
        format!("{}slots", self.prefix)
    }

    pub(super) fn writer(&self, writer: &Writer) -> String {
        format!("{}w:{}", self.prefix, writer.0)
    }

    /// The writer whose row has this name.
    pub(super) fn writer_of(&self, name: &[u8]) -> Option<Writer> {
        let name = name.strip_prefix(self.prefix.as_bytes())?.strip_prefix(b"w:")?;
        String::from_utf8(name.to_vec()).ok().map(Writer)
    }

    /// The holder of a task.
    pub(super) fn task(&self, task: &str) -> String {
        format!("{}t:{task}", self.prefix)
    }

    /// The last batch of a writer in a shard.
    pub(super) fn marker(&self, shard: Shard, writer: &Writer) -> String {
        format!("{}m:{}", self.start(shard), writer.0)
    }

    /// The keys of a space in a shard, by the event time of their newest value. Values themselves have no index.
    pub(super) fn index(&self, space: Space, shard: Shard) -> String {
        let name = match space {
            Space::Values => "values",
            Space::Joins => "joins",
            Space::Outbox => "outbox",
            Space::Seen => "seen",
            Space::Waiting => "waiting",
            Space::Watermarks => "watermarks",
        };
        format!("{}i:{name}", self.start(shard))
    }

    /// The indexes of a space in all shards that may have keys of it.
    pub(super) fn indexes(&self, space: Space) -> Vec<String> {
        let shards = self.shards.as_ref().map_or_else(|| vec![Shard::WHOLE], |shards| shards.with(space));
        shards.into_iter().map(|shard| self.index(space, shard)).collect()
    }

    pub(super) fn entity(&self, key: &Key) -> Vec<u8> {
        let mut name = self.start(self.shard(key)).into_bytes();
        name.extend_from_slice(b"k:");
        name.extend_from_slice(&key.to_bytes());
        name
    }

    /// The key whose entity has this name.
    pub(super) fn key(&self, name: &[u8]) -> Option<Key> {
        let mut rest = name.strip_prefix(self.prefix.as_bytes())?;
        if self.shards.is_some() {
            let end = rest.windows(2).position(|two| two == b"}:")?;
            rest = &rest[end + 2..];
        }
        Key::from_bytes(rest.strip_prefix(b"k:")?)
    }

    /// A pattern for `SCAN` that all entities of a space match.
    pub(super) fn pattern(&self, space: Space) -> Vec<u8> {
        let tag = if self.shards.is_some() { "{*}:" } else { "" };
        let mut pattern = format!("{}{tag}k:", self.prefix).into_bytes();
        pattern.extend_from_slice(&[space.prefix(), b'*']);
        pattern
    }

    /// How all names of a shard begin.
    fn start(&self, shard: Shard) -> String {
        match &self.shards {
            None => self.prefix.clone(),
            Some(shards) => format!("{}{{{}}}:", self.prefix, shards.tag(shard)),
        }
    }
}

pub(super) fn frame(stamp: Stamp, entity: &Entity, format: Format) -> Result<Vec<u8>, Error> {
    codec::encode_behind(&stamp.0, entity, format)
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
    use crate::{Cell, Scope, Slot};
    use rankwright_redis::slot_of;

    #[test]
    fn names_lead_back_to_keys_of_their_own_generation() {
        let (one, two) = (Names::new("shop", 1).expect("a name"), Names::new("shop", 2).expect("a name"));
        let key = item("a:{b}*\0");
        assert_eq!(one.key(&one.entity(&key)), Some(key.clone()));
        assert_eq!(one.key(&two.entity(&key)), None);
    }

    #[test]
    fn names_tell_what_they_belong_to() {
        let one = Names::new("shop", 1).expect("a name").of_generation(2, None);
        let many = one.of_generation(2, Some(8));
        let writer = Writer("a}:{b".into());
        let join = Key::new(&Default::default(), Scope::Join("r".into()));
        for names in [&one, &many] {
            let shard = names.shard(&item("a"));
            let belongs = |name: &[u8]| names.belongs(name);
            let to = |purpose| Some(Belongs::To(purpose));
            assert_eq!(belongs(&names.entity(&item("a}:k:"))), Some(Belongs::Value(item("a}:k:"))));
            assert_eq!(belongs(&names.entity(&join)), Some(Belongs::Listed));
            for listed in [names.index(Space::Joins, shard), names.meta(), names.slots()] {
                assert_eq!(belongs(listed.as_bytes()), Some(Belongs::Listed), "{listed}");
            }
            for writers in [names.writer(&writer), names.marker(shard, &writer), names.task("closer")] {
                assert_eq!(belongs(writers.as_bytes()), to(Purpose::Writers), "{writers}");
            }
            assert_eq!(belongs(&names.of_generation(1, None).entity(&item("a"))), to(Purpose::Generations));
            assert_eq!(belongs(b"rw:shop:parts:x"), to(Purpose::Clickthroughs));
            assert_eq!(belongs(b"rw:shop:models:{1}:current"), to(Purpose::Models));
            assert_eq!(belongs(b"rw:shop:2:z"), to(Purpose::Rest));
            assert_eq!(belongs(b"rw:shops:2:slots"), None);
        }
    }

    #[test]
    fn names_of_a_shard_are_in_one_slot_of_a_cluster() {
        let names = Names::new("shop", 1).expect("a name").of_generation(1, Some(8));
        let writer = Writer("a}{b".into());
        for id in ["a", "{a}", "a}:k:", "\0"] {
            let key = item(id);
            let (name, shard) = (names.entity(&key), names.shard(&key));
            assert_eq!(names.key(&name), Some(key));
            assert_eq!(slot_of(&name), slot_of(names.index(Space::Joins, shard).as_bytes()));
            assert_eq!(slot_of(&name), slot_of(names.marker(shard, &writer).as_bytes()));
            assert!(name.starts_with(b"rw:shop:1:{"), "users may be limited to a service's keys");
        }
    }

    #[test]
    fn a_service_that_would_blur_the_borders_of_names_is_refused() {
        for name in ["", "a:b", "a b", "a*", "ä"] {
            assert!(Names::new(name, 1).is_err(), "{name}");
        }
    }

    #[test]
    fn names_are_those_of_the_first_version() {
        let one = Names::new("shop", 1).expect("a name");
        let many = one.of_generation(1, Some(64));
        let tenant = rankwright_event::Tenant::from("t");
        let scopes = [
            Scope::Global,
            Scope::Item("p1".into()),
            Scope::User("u{1}".into()),
            Scope::Session("s:\0".into()),
            Scope::FieldValue(Slot(300), "red".into()),
            Scope::ItemWithin(Slot(1), "red".into(), "p1".into()),
            Scope::Join("r".into()),
            Scope::Outbox("r".into()),
            Scope::Seen("ranking r".into()),
            Scope::Waiting("c".into()),
            Scope::Watermark("kafka:e/0".into()),
        ];
        let names = |names: &Names| -> String {
            let line =
                |scope: &Scope| names.entity(&Key::new(&tenant, scope.clone())).escape_ascii().to_string() + "\n";
            let writer = names.writer(&Writer("kafka:e/0".into())).as_bytes().escape_ascii().to_string() + "\n";
            scopes.iter().map(line).chain([writer, names.meta() + "\n"]).collect()
        };
        let now = names(&one) + &names(&many);
        let kept = crate::samples::kept("redis-names-1.txt", now.as_bytes());
        assert_eq!(now.as_bytes(), kept, "other names need a new number of the format");
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
