//! Keys and values for tests, at random and by hand.

use crate::contract::stored;
use crate::{Cell, Entity, FieldValue, Key, Part, Parts, Recent, Scope, Slot, Stored, Term, Visit, Windows};
use proptest::prelude::*;
use rankwright_event::{ItemId, Tenant, Timestamp};
use std::sync::Arc;

/// Kinds of cells; a slot in these samples holds the kind of its number modulo this.
pub(crate) const KINDS: u16 = 13;
const KEEP: u32 = 3;
/// Fewer than there are.
const ITEMS: u32 = 2;

/// A file of `samples/`, which every later version has to read. `RANKWRIGHT_WRITE_SAMPLES` set, one that is not there yet
/// is written.
pub(crate) fn kept(name: &str, now: &[u8]) -> Vec<u8> {
    let path = std::path::Path::new("samples").join(name);
    if std::env::var_os("RANKWRIGHT_WRITE_SAMPLES").is_some() && !path.exists() {
        std::fs::write(&path, now).expect("the sample can be written");
    }
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// One value of every kind that the first version has.
pub(crate) fn whole_entity() -> Entity {
    let mut entity = Entity::default();
    let visit = Visit { at: Timestamp::from_millis(-5), event: u64::MAX, item: ItemId::from("p1") };
    let cells = [
        Cell::Field(FieldValue::Bool(true)),
        Cell::Field(FieldValue::Number(0.1)),
        Cell::Field(FieldValue::Text(Term::from("red"))),
        Cell::Field(FieldValue::Numbers([1.0, -2.5].into())),
        Cell::Field(FieldValue::Texts(["a", ""].into_iter().collect())),
        Cell::Counter(3),
        Cell::Windows(Windows::one(-7, 2)),
        Cell::Recent(Recent::one(visit, 5)),
        Cell::Flags(0b101),
        Cell::Blob([0, 255, 7].into()),
        Cell::Parts(Parts::one(Part { at: Timestamp::from_millis(3), event: 9, bytes: [1, 0].into() })),
    ];
    for (slot, cell) in (0..).zip(cells) {
        entity.absorb_value(Slot(slot), &stored(4, cell));
    }
    entity
}

/// A value of the kinds that came later.
pub(crate) fn computed_entity() -> Entity {
    Entity::one(Slot(1), stored(4, Cell::Field(FieldValue::Bytes([0, 255, 7].into()))))
}

/// Another one, which came after that.
pub(crate) fn items_entity() -> Entity {
    let visit = Visit { at: Timestamp::from_millis(4000), event: 4, item: ItemId::from("p1") };
    Entity::one(Slot(1), stored(4, Cell::Items(Recent::one(visit, 100))))
}

/// Keys of every scope, with ids that are short, long, and full of zeros.
pub(crate) fn any_key() -> impl Strategy<Value = Key> {
    let id = || prop_oneof![3 => "[a\\x00\\x01\u{ff}]{0,4}", 1 => any::<String>()];
    (id(), 0..11u8, 0..3u16, id(), id()).prop_map(|(tenant, scope, slot, id, other)| {
        let scope = match scope {
            0 => Scope::Global,
            1 => Scope::Item(id.into()),
            2 => Scope::User(id.into()),
            3 => Scope::Session(id.into()),
            4 => Scope::FieldValue(Slot(slot * 200), id.into()),
            5 => Scope::ItemWithin(Slot(slot * 200), id.into(), other.into()),
            6 => Scope::Join(id.into()),
            7 => Scope::Outbox(id.into()),
            8 => Scope::Seen(id.into()),
            9 => Scope::Waiting(id.into()),
            _ => Scope::Watermark(id.into()),
        };
        Key::new(&Tenant::from(tenant), scope)
    })
}

/// Values of any kind under any slot.
pub(crate) fn any_entity() -> impl Strategy<Value = Entity> {
    let value = (any::<u16>(), any::<i64>(), any::<u64>(), 0..KINDS);
    let values = value.prop_flat_map(|(slot, at, event, kind)| {
        let place = (Just(Slot(slot)), Just(Timestamp::from_millis(at)), Just(event));
        (place, any_cell_of_many(kind)).prop_map(|((slot, at, event), cell)| (slot, Stored { at, event, cell }))
    });
    prop::collection::vec(values, 0..6).prop_map(|mut values| {
        values.sort_by_key(|entry| entry.0);
        values.dedup_by_key(|entry| entry.0);
        Entity::from_values(values).expect("slots were sorted")
    })
}

/// A write of one value: few slots, times and events, so that writes meet and tie.
pub(crate) fn any_write() -> impl Strategy<Value = (Slot, Stored)> {
    (0..2 * KINDS).prop_flat_map(|slot| (Just(Slot(slot)), any_stored(slot % KINDS)))
}

/// A value of a kind: few times and events, so that they tie.
pub(crate) fn any_stored(kind: u16) -> impl Strategy<Value = Stored> {
    (0..4i64, 0..3u64, any_cell(kind)).prop_map(|(at, event, cell)| Stored {
        at: Timestamp::from_millis(at),
        event,
        cell,
    })
}

fn any_cell(kind: u16) -> BoxedStrategy<Cell> {
    let number = || prop_oneof![any::<f64>().prop_filter("NaN differs from itself", |n| !n.is_nan()), -2.0..2.0];
    let term = || prop_oneof!["[ab]{0,2}", any::<String>()].prop_map(Term::from);
    let field = |value: BoxedStrategy<FieldValue>| value.prop_map(Cell::Field).boxed();
    match kind {
        0 => field(any::<bool>().prop_map(FieldValue::Bool).boxed()),
        1 => field(number().prop_map(FieldValue::Number).boxed()),
        2 => field(term().prop_map(FieldValue::Text).boxed()),
        3 => field(prop::collection::vec(number(), 0..4).prop_map(|list| FieldValue::Numbers(list.into())).boxed()),
        4 => field(
            prop::collection::vec(term(), 0..4)
                .prop_map(|list| FieldValue::Texts(list.iter().map(Term::as_str).collect()))
                .boxed(),
        ),
        5 => prop_oneof![0..5u64, any::<u64>()].prop_map(Cell::Counter).boxed(),
        6 => (-4..4i64).prop_map(|period| Cell::Windows(Windows::one(period, KEEP))).boxed(),
        7 => any_visit().prop_map(|visit| Cell::Recent(Recent::one(visit, KEEP))).boxed(),
        8 => any::<u64>().prop_map(Cell::Flags).boxed(),
        9 => any_bytes().prop_map(Cell::Blob).boxed(),
        10 => any_part().prop_map(|part| Cell::Parts(Parts::one(part))).boxed(),
        11 => field(any_bytes().prop_map(FieldValue::Bytes).boxed()),
        _ => any_visit().prop_map(|visit| Cell::Items(Recent::one(visit, ITEMS))).boxed(),
    }
}

/// A value of a kind; lists of none or some, at any times.
fn any_cell_of_many(kind: u16) -> BoxedStrategy<Cell> {
    let at = || prop_oneof![0..4i64, 1_700_000_000_000..1_700_000_090_000i64, any::<i64>()];
    let event = || prop_oneof![0..2u64, any::<u64>()];
    match kind {
        6 => (any::<u32>(), prop::collection::btree_map(at(), any::<u64>(), 0..6))
            .prop_map(|(keep, counts)| {
                let counts: Vec<(i64, u64)> = counts.into_iter().collect();
                Cell::Windows(Windows::from_parts(keep, &counts).expect("periods are in order"))
            })
            .boxed(),
        7 | 12 => (any::<u32>(), prop::collection::btree_set((at(), event(), "[aéè]{0,3}"), 0..6))
            .prop_map(move |(keep, visits)| {
                let visit = |(at, event, item): (i64, u64, String)| Visit {
                    at: Timestamp::from_millis(at),
                    event,
                    item: item.into(),
                };
                let visits = visits.into_iter().rev().map(visit).collect();
                let recent = Recent::from_parts(keep, visits).expect("newest first");
                if kind == 7 { Cell::Recent(recent) } else { Cell::Items(recent) }
            })
            .boxed(),
        10 => prop::collection::btree_map((at(), event()), any_bytes(), 0..6)
            .prop_map(|parts| {
                let part = |((at, event), bytes)| Part { at: Timestamp::from_millis(at), event, bytes };
                Cell::Parts(Parts::from_parts(parts.into_iter().map(part).collect()).expect("in order"))
            })
            .boxed(),
        _ => any_cell(kind),
    }
}

fn any_bytes() -> impl Strategy<Value = Arc<[u8]>> {
    prop::collection::vec(any::<u8>(), 0..5).prop_map(Arc::from)
}

fn any_part() -> impl Strategy<Value = Part> {
    let part = |(at, event, bytes)| Part { at: Timestamp::from_millis(at), event, bytes };
    (0..4i64, 0..2u64, any_bytes()).prop_map(part)
}

fn any_visit() -> impl Strategy<Value = Visit> {
    (0..4i64, 0..2u64, "[abc]").prop_map(|(at, event, item)| Visit {
        at: Timestamp::from_millis(at),
        event,
        item: item.into(),
    })
}
