//! Entities without an item.

use crate::{Cell, Entity, Key, Recent, Scope, Stored};
use rankwright_event::{ItemId, Tenant};

/// What is left of an entity when an item is forgotten; `None` where the item is not in it. Nothing is left of what belongs to
/// the item.
pub fn without_item(key: &Key, entity: &Entity, tenant: &Tenant, item: &ItemId) -> Option<Entity> {
    if key.tenant != *tenant {
        return None;
    }
    match &key.scope {
        Scope::Item(own) | Scope::ItemWithin(_, _, own) => (own == item).then(Entity::default),
        _ if !entity.values().any(|(_, stored)| remembers(stored, item)) => None,
        _ => {
            let values = entity.values().filter_map(|(slot, stored)| Some((slot, without(stored, item)?)));
            Entity::from_values(values.collect())
        }
    }
}

fn remembers(stored: &Stored, item: &ItemId) -> bool {
    visited(stored).is_some_and(|recent| recent.visits().iter().any(|visit| visit.item == *item))
}

/// The same value without the item; `None` where nothing is left of it.
fn without(stored: &Stored, item: &ItemId) -> Option<Stored> {
    let Some(recent) = visited(stored) else { return Some(stored.clone()) };
    let visits: Vec<_> = recent.visits().iter().filter(|visit| visit.item != *item).cloned().collect();
    let rest = Recent::from_parts(recent.keep(), visits).filter(|rest| !rest.visits().is_empty())?;
    let cell = if matches!(stored.cell, Cell::Items(_)) { Cell::Items(rest) } else { Cell::Recent(rest) };
    Some(Stored { cell, ..stored.clone() })
}

/// The items that a value names.
fn visited(stored: &Stored) -> Option<&Recent> {
    match &stored.cell {
        Cell::Recent(recent) | Cell::Items(recent) => Some(recent),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Slot, Visit};
    use rankwright_event::Timestamp;

    fn visit(item: &str, seconds: i64) -> Entity {
        visit_in(Cell::Recent, item, seconds)
    }

    fn visit_in(cell: fn(Recent) -> Cell, item: &str, seconds: i64) -> Entity {
        let at = Timestamp::from_millis(1000 * seconds);
        let recent = Recent::one(Visit { at, event: seconds as u64, item: item.into() }, 10);
        Entity::one(Slot(1), Stored { at, event: seconds as u64, cell: cell(recent) })
    }

    fn user() -> Key {
        Key::new(&Tenant::default(), Scope::User("u".into()))
    }

    fn left(key: &Key, entity: &Entity) -> Option<Entity> {
        without_item(key, entity, &Tenant::default(), &"gone".into())
    }

    #[test]
    fn visitors_keep_what_they_did_with_other_items() {
        for cell in [Cell::Recent, Cell::Items] {
            let mut entity = visit_in(cell, "gone", 3);
            entity.absorb(&visit_in(cell, "kept", 2));
            entity.absorb(&visit_in(cell, "gone", 1));
            let left = left(&user(), &entity).expect("it is in it");
            let (_, value) = left.values().next().expect("it keeps another one");
            let items: Vec<&str> =
                visited(value).iter().flat_map(|recent| recent.visits()).map(|visit| visit.item.as_str()).collect();
            assert_eq!(items, ["kept"]);
            assert_eq!(std::mem::discriminant(&value.cell), std::mem::discriminant(&cell(Recent::default())));
        }
    }

    #[test]
    fn nothing_is_left_of_what_belongs_to_the_item_or_remembers_it_alone() {
        let within = Scope::ItemWithin(Slot(0), "red".into(), "gone".into());
        for scope in [Scope::Item("gone".into()), within, Scope::User("u".into())] {
            let key = Key::new(&Tenant::default(), scope);
            assert_eq!(left(&key, &visit("gone", 1)), Some(Entity::default()), "{key}");
        }
    }

    #[test]
    fn what_does_not_know_the_item_stays_as_it_is() {
        let elsewhere = Key::new(&"other".into(), Scope::Item("gone".into()));
        for key in [elsewhere, Key::new(&Tenant::default(), Scope::Item("kept".into()))] {
            assert_eq!(left(&key, &visit("kept", 1)), None, "{key}");
        }
        assert_eq!(left(&user(), &visit("kept", 1)), None);
    }
}
