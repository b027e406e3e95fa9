//! Values in few bytes, which are quick to write and to read.
//!
//! What the values of an entity have in common is written once. Most of an item's fields came with one event: its time and
//! digest stand before the first of them, and the others say which of the events before was theirs. Times are differences to
//! the time before, periods and ids likewise; digests, which nothing makes smaller, are eight bytes as they are.
//!
//! | part | bytes |
//! |---|---|
//! | entity | number of values; each: slot less the one before, event, kind, content |
//! | event | its place among the events so far; a new one is followed by the difference in time, and its digest |
//! | field | numbers in eight bytes, strings and bytes behind their length, lists behind their number |
//! | windows | how many are kept, their number; each: period less the one before, count |
//! | recent, items | how many are kept, their number; each: head, time, digest, what the id has in common with the one before, the rest of it |
//! | head | the difference in time with two bits below: 00, or 10 where the digest is the value's own and left out; or 1 where it is too large, and the time follows in eight bytes |
//! | parts | their number; each: difference in time, digest, bytes behind their length |
//!
//! Numbers are little-endian base 128 (LEB128), with a sign in their lowest bit where they may have one (zigzag).

use crate::entity::Ordered;
use crate::{Cell, Entity, FieldValue, Part, Parts, Recent, Slot, Stored, Term, Terms, Visit, Windows};
use compact_str::CompactString;
use rankwright_event::{ItemId, Timestamp};
use smallvec::SmallVec;

/// Whose value it is, and from when.
type Event = (i64, u64);

/// Most bytes that an id may share with the one before: decoded ids take at most this many times the bytes read.
const MOST_IN_COMMON: usize = 255;

/// Appends an entity.
pub(super) fn write(entity: &Entity, bytes: &mut Vec<u8>) {
    let mut events = SmallVec::<[Event; 8]>::new();
    let mut next = 0;
    put(bytes, entity.len() as u64);
    for (slot, stored) in entity.values() {
        put(bytes, u64::from(slot.0 - next));
        next = slot.0;
        put_event(bytes, (stored.at.millis(), stored.event), &mut events);
        put_cell(bytes, stored);
    }
}

/// The entity that bytes stand for.
pub(super) fn read(bytes: &[u8]) -> Result<Entity, String> {
    let mut source = Source { rest: bytes };
    let mut events = SmallVec::<[Event; 8]>::new();
    let count = source.count()?;
    let (mut ordered, mut next) = (Ordered::expecting(count.min(64)), 0u16);
    for _ in 0..count {
        let slot = u16::try_from(source.number()?).ok().and_then(|step| next.checked_add(step));
        next = slot.ok_or("a slot is too large")?;
        let (at, event) = source.event(&mut events)?;
        let cell = source.cell((at, event))?;
        if !ordered.push(Slot(next), Stored { at: Timestamp::from_millis(at), event, cell }) {
            return Err("slots are not in order".to_owned());
        }
    }
    match source.rest.len() {
        0 => Ok(ordered.entity()),
        left => Err(format!("{left} bytes are left over")),
    }
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// A number with a sign as one without: those near zero become small.
fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)).cast_unsigned()
}

fn from_zigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -((number & 1).cast_signed())
}

fn put_bytes(bytes: &mut Vec<u8>, some: &[u8]) {
    put(bytes, some.len() as u64);
    bytes.extend_from_slice(some);
}

fn put_event(bytes: &mut Vec<u8>, event: Event, events: &mut SmallVec<[Event; 8]>) {
    let place = events.iter().position(|known| *known == event).unwrap_or(events.len());
    put(bytes, place as u64);
    if place == events.len() {
        let before = events.last().map_or(0, |known| known.0);
        put(bytes, zigzag(event.0.wrapping_sub(before)));
        bytes.extend_from_slice(&event.1.to_le_bytes());
        events.push(event);
    }
}

/// Kinds of values; new ones go to the end.
mod kind {
    pub(super) const BOOL: u8 = 0;
    pub(super) const NUMBER: u8 = 1;
    pub(super) const TEXT: u8 = 2;
    pub(super) const NUMBERS: u8 = 3;
    pub(super) const TEXTS: u8 = 4;
    pub(super) const COUNTER: u8 = 5;
    pub(super) const WINDOWS: u8 = 6;
    pub(super) const RECENT: u8 = 7;
    pub(super) const FLAGS: u8 = 8;
    pub(super) const BLOB: u8 = 9;
    pub(super) const PARTS: u8 = 10;
    pub(super) const BYTES: u8 = 11; // a field
    pub(super) const ITEMS: u8 = 12;
}

fn put_cell(bytes: &mut Vec<u8>, stored: &Stored) {
    match &stored.cell {
        Cell::Field(value) => put_field(bytes, value),
        Cell::Counter(count) => {
            bytes.push(kind::COUNTER);
            put(bytes, *count);
        }
        Cell::Windows(windows) => {
            bytes.push(kind::WINDOWS);
            put_windows(bytes, windows);
        }
        Cell::Recent(recent) => {
            bytes.push(kind::RECENT);
            put_recent(bytes, recent, (stored.at.millis(), stored.event));
        }
        Cell::Items(items) => {
            bytes.push(kind::ITEMS);
            put_recent(bytes, items, (stored.at.millis(), stored.event));
        }
        Cell::Flags(flags) => {
            bytes.push(kind::FLAGS);
            put(bytes, *flags);
        }
        Cell::Blob(blob) => {
            bytes.push(kind::BLOB);
            put_bytes(bytes, blob);
        }
        Cell::Parts(parts) => {
            bytes.push(kind::PARTS);
            put_parts(bytes, parts, stored.at.millis());
        }
    }
}

fn put_field(bytes: &mut Vec<u8>, value: &FieldValue) {
    match value {
        FieldValue::Bool(flag) => bytes.extend_from_slice(&[kind::BOOL, u8::from(*flag)]),
        FieldValue::Number(number) => {
            bytes.push(kind::NUMBER);
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        FieldValue::Text(term) => {
            bytes.push(kind::TEXT);
            put_bytes(bytes, term.as_str().as_bytes());
        }
        FieldValue::Numbers(numbers) => {
            bytes.push(kind::NUMBERS);
            put(bytes, numbers.len() as u64);
            numbers.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
        }
        FieldValue::Texts(terms) => {
            bytes.push(kind::TEXTS);
            put(bytes, terms.texts().len() as u64);
            terms.texts().iter().for_each(|text| put_bytes(bytes, text.as_bytes()));
        }
        FieldValue::Bytes(computed) => {
            bytes.push(kind::BYTES);
            put_bytes(bytes, computed);
        }
    }
}

fn put_windows(bytes: &mut Vec<u8>, windows: &Windows) {
    put(bytes, u64::from(windows.keep()));
    put(bytes, windows.counts().count() as u64);
    let mut before = 0i64;
    for (period, count) in windows.counts() {
        put(bytes, zigzag(period.wrapping_sub(before)));
        put(bytes, count);
        before = period;
    }
}

fn put_recent(bytes: &mut Vec<u8>, recent: &Recent, own: Event) {
    put(bytes, u64::from(recent.keep()));
    put(bytes, recent.visits().len() as u64);
    let (mut before, mut last) = (own.0, "");
    for visit in recent.visits() {
        // a difference of 64 bits and one bit more: what is too large for both takes the digest along
        let (difference, is_own) = (zigzag(before.wrapping_sub(visit.at.millis())), visit.event == own.1);
        let fits = difference <= u64::MAX >> 2;
        match (fits, is_own) {
            (true, true) => put(bytes, difference << 2 | 2),
            (true, false) => put(bytes, difference << 2),
            (false, _) => {
                put(bytes, 1);
                bytes.extend_from_slice(&visit.at.millis().to_le_bytes());
            }
        }
        if !(fits && is_own) {
            bytes.extend_from_slice(&visit.event.to_le_bytes());
        }
        let id = visit.item.as_str();
        let common = common(last, id);
        put(bytes, common as u64);
        put_bytes(bytes, &id.as_bytes()[common..]);
        (before, last) = (visit.at.millis(), id);
    }
}

/// How many bytes both begin with, whole characters of the second.
fn common(left: &str, right: &str) -> usize {
    let pairs = left.bytes().zip(right.bytes()).take(MOST_IN_COMMON);
    let same = pairs.take_while(|(left, right)| left == right).count();
    (0..=same).rev().find(|&place| right.is_char_boundary(place)).unwrap_or(0)
}

fn put_parts(bytes: &mut Vec<u8>, parts: &Parts, own: i64) {
    put(bytes, parts.all().len() as u64);
    let mut before = own;
    for part in parts.all() {
        put(bytes, zigzag(part.at.millis().wrapping_sub(before)));
        bytes.extend_from_slice(&part.event.to_le_bytes());
        put_bytes(bytes, &part.bytes);
        before = part.at.millis();
    }
}

/// Bytes that are read from their beginning on.
struct Source<'a> {
    rest: &'a [u8],
}

impl<'a> Source<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or("it is cut short")?;
        self.rest = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, String> {
        let (&byte, rest) = self.rest.split_first().ok_or("it is cut short")?;
        self.rest = rest;
        Ok(byte)
    }

    fn eight(&mut self) -> Result<[u8; 8], String> {
        let (eight, rest) = self.rest.split_first_chunk().ok_or("it is cut short")?;
        self.rest = rest;
        Ok(*eight)
    }

    #[inline]
    fn number(&mut self) -> Result<u64, String> {
        let first = self.byte()?;
        if first < 0x80 { Ok(u64::from(first)) } else { self.long_number(first) }
    }

    fn long_number(&mut self, first: u8) -> Result<u64, String> {
        let mut number = u64::from(first & 0x7f);
        for shift in (7..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err("a number is too large".to_owned())
    }

    /// Of things that take a byte each at least.
    fn count(&mut self) -> Result<usize, String> {
        let count = usize::try_from(self.number()?).unwrap_or(usize::MAX);
        if count > self.rest.len() { Err(format!("it claims to have {count} parts")) } else { Ok(count) }
    }

    fn keep(&mut self) -> Result<u32, String> {
        u32::try_from(self.number()?).map_err(|_| "a number is too large".to_owned())
    }

    fn bytes(&mut self) -> Result<&'a [u8], String> {
        let length = self.count()?;
        self.take(length)
    }

    fn text(&mut self) -> Result<&'a str, String> {
        std::str::from_utf8(self.bytes()?).map_err(|error| error.to_string())
    }

    fn double(&mut self) -> Result<f64, String> {
        self.eight().map(f64::from_le_bytes)
    }

    fn event(&mut self, events: &mut SmallVec<[Event; 8]>) -> Result<Event, String> {
        let place = usize::try_from(self.number()?).unwrap_or(usize::MAX);
        if let Some(event) = events.get(place) {
            return Ok(*event);
        }
        if place > events.len() {
            return Err("an event comes before the one it follows".to_owned());
        }
        let before = events.last().map_or(0, |known| known.0);
        let event = (before.wrapping_add(from_zigzag(self.number()?)), u64::from_le_bytes(self.eight()?));
        events.push(event);
        Ok(event)
    }

    fn cell(&mut self, own: Event) -> Result<Cell, String> {
        Ok(match self.byte()? {
            kind::BOOL => Cell::Field(FieldValue::Bool(match self.byte()? {
                0 => false,
                1 => true,
                other => return Err(format!("a boolean is {other}")),
            })),
            kind::NUMBER => Cell::Field(FieldValue::Number(self.double()?)),
            kind::TEXT => Cell::Field(FieldValue::Text(Term::from_text(self.text()?.into()))),
            kind::NUMBERS => {
                let count = self.count()?;
                let numbers: Vec<f64> = (0..count).map(|_| self.double()).collect::<Result<_, _>>()?;
                Cell::Field(FieldValue::Numbers(numbers.into()))
            }
            kind::TEXTS => {
                let count = self.count()?;
                let mut texts = Vec::<CompactString>::with_capacity(count.min(64));
                for _ in 0..count {
                    texts.push(self.text()?.into());
                }
                Cell::Field(FieldValue::Texts(Terms::from_texts(texts)))
            }
            kind::COUNTER => Cell::Counter(self.number()?),
            kind::WINDOWS => Cell::Windows(self.windows()?),
            kind::RECENT => Cell::Recent(self.recent(own)?),
            kind::FLAGS => Cell::Flags(self.number()?),
            kind::BLOB => Cell::Blob(self.bytes()?.into()),
            kind::PARTS => Cell::Parts(self.parts(own.0)?),
            kind::ITEMS => Cell::Items(self.recent(own)?),
            kind::BYTES => Cell::Field(FieldValue::Bytes(self.bytes()?.into())),
            other => return Err(format!("unknown kind {other}")),
        })
    }

    fn windows(&mut self) -> Result<Windows, String> {
        let (keep, count) = (self.keep()?, self.count()?);
        let mut counts = SmallVec::<[(i64, u64); 32]>::new();
        let mut before = 0i64;
        for _ in 0..count {
            before = before.wrapping_add(from_zigzag(self.number()?));
            counts.push((before, self.number()?));
        }
        Windows::from_parts(keep, &counts).ok_or_else(|| "periods are not in order".to_owned())
    }

    fn recent(&mut self, own: Event) -> Result<Recent, String> {
        let (keep, count) = (self.keep()?, self.count()?);
        let mut visits = Vec::with_capacity(count.min(1024));
        let (mut before, mut last) = (own.0, CompactString::default());
        for _ in 0..count {
            let head = self.number()?;
            let at = match head & 1 {
                0 => before.wrapping_sub(from_zigzag(head >> 2)),
                _ => i64::from_le_bytes(self.eight()?),
            };
            let event = if head & 3 == 2 { own.1 } else { u64::from_le_bytes(self.eight()?) };
            let common = usize::try_from(self.number()?).unwrap_or(usize::MAX);
            if common > MOST_IN_COMMON || !last.is_char_boundary(common) {
                return Err("an id has more in common with the one before than it may".to_owned());
            }
            last.truncate(common);
            last.push_str(self.text()?);
            visits.push(Visit { at: Timestamp::from_millis(at), event, item: ItemId::from(last.as_str()) });
            before = at;
        }
        Recent::from_parts(keep, visits).ok_or_else(|| "visits are not newest first".to_owned())
    }

    fn parts(&mut self, own: i64) -> Result<Parts, String> {
        let count = self.count()?;
        let mut parts = Vec::with_capacity(count.min(1024));
        let mut before = own;
        for _ in 0..count {
            before = before.wrapping_add(from_zigzag(self.number()?));
            let event = u64::from_le_bytes(self.eight()?);
            parts.push(Part { at: Timestamp::from_millis(before), event, bytes: self.bytes()?.into() });
        }
        Parts::from_parts(parts).ok_or_else(|| "parts are not in order".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_whatever_their_size() {
        for number in [0, 1, 127, 128, 300, u64::MAX >> 1, 1 << 63, u64::MAX] {
            let mut bytes = Vec::new();
            put(&mut bytes, number);
            assert_eq!(Source { rest: &bytes }.number(), Ok(number));
            let signed = number.cast_signed();
            assert_eq!(from_zigzag(zigzag(signed)), signed);
            assert_eq!(from_zigzag(zigzag(-(signed >> 1))), -(signed >> 1));
        }
        let beyond = [[0xff; 9].as_slice(), &[2]].concat();
        assert_eq!(Source { rest: &beyond }.number(), Err("a number is too large".to_owned()));
    }

    #[test]
    fn what_values_have_in_common_is_written_once() {
        let visit = |minute: i64, item: &str| {
            let at = Timestamp::from_millis(1_700_000_000_000 + minute * 60_000);
            Visit { at, event: u64::MAX - minute.cast_unsigned(), item: item.into() }
        };
        let visits: Vec<Visit> = (0..5).rev().map(|minute| visit(minute, &format!("item-{minute}0000"))).collect();
        let newest = visits[0].clone();
        let recent = Cell::Recent(Recent::from_parts(100, visits).expect("newest first"));
        let value = |cell| Stored { at: newest.at, event: newest.event, cell };
        let entity = Entity::from_values(vec![(Slot(3), value(Cell::Counter(5))), (Slot(9), value(recent))]);
        let entity = entity.expect("slots are in order");
        let mut bytes = Vec::new();
        write(&entity, &mut bytes);
        // 1 for the number; 1 + 1 + 6 + 8 + 2 for the counter with its event; 1 + 1 + 3 for the list, 13 for its first visit,
        // and 3 + 8 + 2 + 5 for each of the others
        assert_eq!(bytes.len(), 1 + 18 + 5 + 13 + 4 * 18);
        assert_eq!(read(&bytes), Ok(entity));
    }

    #[test]
    fn ids_share_whole_characters_alone() {
        assert_eq!(common("", "a"), 0);
        assert_eq!(common("abc", "abd"), 2);
        assert_eq!(common("aé", "aè"), 1, "both begin with the same byte");
        assert_eq!(common("a", "abc"), 1);
        let long = "é".repeat(200);
        assert_eq!(common(&long, &long), 254, "no more than a byte's worth, and no half a character");
    }

    #[test]
    fn few_bytes_do_not_become_many() {
        let id = "x".repeat(1 << 16);
        let at = |millis| Timestamp::from_millis(millis);
        let visits = vec![Visit { at: at(9), event: 1, item: id.as_str().into() }];
        let value = Cell::Recent(Recent::from_parts(5, visits).expect("one is in order"));
        let mut bytes = Vec::new();
        write(&Entity::one(Slot(0), Stored { at: at(9), event: 1, cell: value }), &mut bytes);
        let count =
            bytes.windows(3).position(|three| three == [5, 1, 2]).expect("one of at most five, of the value's event");
        bytes[count + 1] = 2;
        bytes.push(0b1010); // a millisecond before
        put(&mut bytes, id.len() as u64); // the same id
        bytes.push(0);
        assert_eq!(read(&bytes), Err("an id has more in common with the one before than it may".to_owned()));
    }
}
