//! What lies in stores: rows and keys of the state, parts of click-throughs.

use rankwright_clickthrough::part::Encoder;
use rankwright_clickthrough::{Click, Clickthrough, Column, Format, Header, Part, Rows, read_part};
use rankwright_event::{Event, Tenant, Timestamp, json};
use rankwright_state::{
    Cell, Entity, FieldValue, Format as ValueFormat, Key, Part as JoinPart, Parts, Recent, Scope, Slot, Stored, Visit,
    Windows, codec,
};
use std::io::Cursor;

fn at(second: i64) -> Timestamp {
    Timestamp::from_millis(1_636_907_100_000 + second * 1000)
}

fn visit(second: i64, item: &str) -> Visit {
    Visit { at: at(second), event: second as u64, item: item.into() }
}

/// A value of each kind.
fn cells() -> Vec<Cell> {
    let part = JoinPart { at: at(1), event: 9, bytes: b"bytes".as_slice().into() };
    vec![
        Cell::Field(FieldValue::Bool(true)),
        Cell::Field(FieldValue::Number(7.5)),
        Cell::Field(FieldValue::Text("red".into())),
        Cell::Field(FieldValue::Numbers([1.0, -2.5].as_slice().into())),
        Cell::Field(FieldValue::Bytes(b"vector".as_slice().into())),
        Cell::Counter(300),
        Cell::Windows(Windows::of(18_000, 5, 30)),
        Cell::Recent(Recent::one(visit(3, "p1"), 10)),
        Cell::Flags(0b1011),
        Cell::Blob(b"blob".as_slice().into()),
        Cell::Parts(Parts::one(part)),
        Cell::Items(Recent::one(visit(4, "p2"), 100)),
    ]
}

fn entity(cells: impl IntoIterator<Item = Cell>) -> Entity {
    let mut entity = Entity::default();
    for (place, cell) in cells.into_iter().enumerate() {
        entity.absorb_value(Slot(place as u16), &Stored { at: at(place as i64), event: 7, cell });
    }
    entity
}

/// The values under a key. What is read is written as bytes that mean the same.
pub(crate) fn row(bytes: &[u8]) -> bool {
    let key = Key::new(&Tenant::default(), Scope::Global);
    let Ok(entity) = codec::decode(&key, bytes) else { return false };
    for format in [ValueFormat::Binary, ValueFormat::First] {
        let written = codec::encode(&entity, format).expect("what was read can be written");
        let again = codec::decode(&key, &written).expect("and read again");
        let twice = codec::encode(&again, format).expect("and written again");
        assert_eq!(twice, written);
    }
    true
}

pub(crate) fn rows() -> Vec<Vec<u8>> {
    let formats = [ValueFormat::Binary, ValueFormat::First, ValueFormat::Json, ValueFormat::Packed];
    let alone = cells().into_iter().map(|cell| entity([cell]));
    let all: Vec<Entity> = alone.chain([entity(cells())]).collect();
    let written = |entity: &Entity| formats.map(|format| codec::encode(entity, format).expect("it has an encoding"));
    all.iter().flat_map(written).collect()
}

/// A key.
pub(crate) fn key(bytes: &[u8]) -> bool {
    let key = Key::from_bytes(bytes);
    assert_eq!(key.as_ref().and_then(|key| Key::from_bytes(&key.to_bytes())), key);
    key.is_some()
}

pub(crate) fn keys() -> Vec<Vec<u8>> {
    let scopes = [
        Scope::Global,
        Scope::Item("p1".into()),
        Scope::User("u".into()),
        Scope::Session("s".into()),
        Scope::FieldValue(Slot(3), "red".into()),
        Scope::ItemWithin(Slot(4), "a b".into(), "p1".into()),
        Scope::Join("r".into()),
        Scope::Outbox("closed 0000000000000001 r".into()),
        Scope::Waiting("i".into()),
    ];
    scopes.into_iter().map(|scope| Key::new(&Tenant::default(), scope).to_bytes()).collect()
}

fn read(format: Format, bytes: &[u8]) -> bool {
    let mut records = read_part(Part::new("part", format, Cursor::new(bytes.to_vec())).with_records(2));
    let read = records.by_ref().take_while(Result::is_ok).flatten().count() as u64;
    let _ = (records.losses(), records.header());
    assert!(read <= bytes.len() as u64, "each record takes a byte at least");
    read > 0
}

/// A part of click-throughs.
pub(crate) fn part(bytes: &[u8]) -> bool {
    read(Format::Binary, bytes)
}

/// The same as JSON.
pub(crate) fn part_json(bytes: &[u8]) -> bool {
    read(Format::Json, bytes)
}

fn written(format: Format) -> Vec<Vec<u8>> {
    let shown = br#"{"event":"ranking","id":"r","timestamp":"1636907100000","user":"u","fields":[{"name":"query","value":"a"}],"items":[{"id":"p1","label":1},{"id":"p2"}]}"#;
    let clicked =
        br#"{"event":"interaction","id":"i","ranking":"r","timestamp":"1636907101000","type":"click","item":"p2"}"#;
    let (Ok(Event::Ranking(ranking)), Ok(Event::Interaction(click))) = (json::decode(shown), json::decode(clicked))
    else {
        unreachable!("both are what they are called")
    };
    let rows = Rows { width: 2, values: vec![1.0, f32::NAN, 0.5, -3.0] };
    let columns = ["price", "ctr_7"].map(|name| Column { name: name.into(), fingerprint: 7 });
    let mut encoder = Encoder::new(format, Header { service: "shop".into(), columns: columns.to_vec().into() });
    let mut bytes = encoder.head().expect("a header");
    let records =
        [Clickthrough::of_ranking(&ranking, rows, vec![Click::from(&click)]), Clickthrough::of_interaction(&click)];
    for record in &records {
        encoder.push(record).expect("it fits");
    }
    bytes.extend(encoder.take().expect("packs").expect("two records").bytes);
    vec![bytes]
}

pub(crate) fn parts() -> Vec<Vec<u8>> {
    written(Format::Binary)
}

pub(crate) fn parts_json() -> Vec<Vec<u8>> {
    written(Format::Json)
}
