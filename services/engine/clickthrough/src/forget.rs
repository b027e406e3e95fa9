//! Forgetting a visitor or an item: records without them, and parts without such records.

use crate::part::packing::{Compression, pack, pack_head};
use crate::part::{Encoder, Part, read_part};
use crate::{Clickthrough, Error, Kind, Result, Rows};
use rankwright_event::{ItemId, SessionId, Tenant, UserId};
use std::collections::HashSet;

/// Whom or what to forget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// Whose.
    pub tenant: Tenant,
    /// Which of theirs.
    pub who: Who,
}

/// A visitor or an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// A visitor: all records of theirs go.
    User(UserId),
    /// An item: it goes from the lists that it was shown in.
    Item(ItemId),
}

/// What was removed from a store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// Records that went, or became shorter.
    pub records: u64,
    /// Parts that were rewritten without them.
    pub parts: u64,
    /// Parts that were removed, whatever was in them: writing them had not come to its end, or removing them.
    pub unlisted: u64,
    /// Places of parts that were left alone: they cannot be read whole, or another process writes them.
    pub left: Vec<String>,
    /// Places of parts that were rewritten without what was damaged in them.
    pub damaged: Vec<String>,
    /// Visits that the records of a visitor name.
    pub sessions: HashSet<SessionId>,
}

/// What is left of a record.
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
enum Left {
    All,
    Some(Clickthrough),
    Nothing,
}

/// A part without a subject, as it is stored.
pub(crate) struct Rewritten {
    pub(crate) bytes: Vec<u8>,
    /// Records in it.
    pub(crate) records: u64,
}

impl Forgotten {
    /// Both together.
    pub fn and(mut self, other: Self) -> Self {
        self.left.extend(other.left);
        self.damaged.extend(other.damaged);
        self.sessions.extend(other.sessions);
        let unlisted = self.unlisted + other.unlisted;
        Self { records: self.records + other.records, parts: self.parts + other.parts, unlisted, ..self }
    }
}

impl Subject {
    fn left_of(&self, record: &Clickthrough) -> Left {
        if record.tenant != self.tenant {
            return Left::All;
        }
        match &self.who {
            Who::User(user) if record.user.as_ref() == Some(user) => Left::Nothing,
            Who::User(_) => Left::All,
            Who::Item(item) => without_item(record, item),
        }
    }
}

fn without_item(record: &Clickthrough, item: &ItemId) -> Left {
    let shown = record.items.iter().any(|shown| shown.id == *item);
    if !shown && record.interactions.iter().all(|click| click.item != *item) {
        return Left::All;
    }
    let places: Vec<usize> = (0..record.items.len()).filter(|&place| record.items[place].id != *item).collect();
    let interactions: Vec<_> = record.interactions.iter().filter(|click| click.item != *item).cloned().collect();
    if places.is_empty() && (record.kind == Kind::Ranking || interactions.is_empty()) {
        return Left::Nothing;
    }
    let rows = places.iter().flat_map(|&place| record.rows.row(place).iter().copied()).collect();
    Left::Some(Clickthrough {
        items: places.iter().map(|&place| record.items[place].clone()).collect(),
        rows: Rows { width: record.rows.width, values: rows },
        interactions,
        ..record.clone()
    })
}

/// The part without the subject, packed as it was; `None` where nothing of it is there. Notes what went.
pub(crate) fn rewritten(
    part: Part,
    service: Option<&str>,
    packing: Compression,
    subject: &Subject,
    forgotten: &mut Forgotten,
) -> Result<Option<Rewritten>> {
    let (format, place) = (part.format, part.place.clone());
    let failed = |error: std::io::Error| Error::Encode { reason: error.to_string() };
    let (mut reader, mut written, mut encoder) = (read_part(part), Vec::new(), None);
    let (mut records, mut touched) = (0, 0);
    while let Some(entry) = reader.next() {
        let (_, record) = entry?;
        let header = reader.header().expect("a record comes behind its header");
        if service.is_some_and(|service| header.service != service) {
            return Ok(None);
        }
        let encoder = encoder.get_or_insert_with(|| Encoder::new(format, header.clone()));
        let left = subject.left_of(&record);
        match &left {
            Left::All => encoder.push(&record)?,
            Left::Some(rest) => encoder.push(rest)?,
            Left::Nothing => {}
        }
        records += u64::from(!matches!(left, Left::Nothing));
        if !matches!(left, Left::All) {
            touched += 1;
            let of_user = matches!(subject.who, Who::User(_));
            forgotten.sessions.extend(record.session.filter(|_| of_user));
        }
        if encoder.is_full()
            && let Some(block) = encoder.take()?
        {
            written.extend(pack(&block.bytes, packing, format).map_err(failed)?);
        }
    }
    let Some(mut encoder) = encoder.filter(|_| touched > 0) else {
        if !reader.losses().is_empty() {
            forgotten.left.push(place); // a damaged part does not say who is in it
        }
        return Ok(None);
    };
    if !reader.losses().is_empty() {
        forgotten.damaged.push(place);
    }
    if let Some(block) = encoder.take()? {
        written.extend(pack(&block.bytes, packing, format).map_err(failed)?);
    }
    let mut bytes = pack_head(&encoder.head()?, packing, format).map_err(failed)?;
    bytes.append(&mut written);
    forgotten.records += touched;
    forgotten.parts += 1;
    Ok(Some(Rewritten { bytes, records }))
}
