//! Texts of items, from their stored fields: what models that embed items are trained on.

use crate::extractor::field_match::text;
use crate::slot::Meaning;
use rankwright_event::{ItemId, Tenant, Timestamp};
use rankwright_state::{Cell, Entity, Error, Key, Scope, Slot, Store, Stored, oldest};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Bytes after which a text is cut: models read a few hundred words.
const LONGEST: usize = 32 << 10;

/// The items of a state that have a text. Their texts are read some at a time.
#[derive(Debug)]
pub struct ItemTexts {
    slots: Vec<Slot>,
    /// Older texts do not count.
    since: Timestamp,
    /// In the order of ids.
    items: Vec<(ItemId, Tenant)>,
    /// How many others there are.
    pub without: usize,
}

/// Of an item: what decides which tenant's text counts, and from when the newest one is that says anything.
struct Found {
    of: (Timestamp, Reverse<Tenant>),
    newest: Option<Timestamp>,
}

impl ItemTexts {
    /// Looks for items whose text is in these fields (without `item.`). Texts that are older than `ttl` at the newest event of any item
    /// do not count. Of an item that several tenants have, the newest text does.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn find(store: &dyn Store, fields: &[String], ttl: Duration) -> Result<Self, Error> {
        let wanted: Vec<_> = fields.iter().map(|field| Meaning::ItemField(field.clone()).fingerprint()).collect();
        let slots = store.slots(&wanted).await?;
        let (mut found, mut newest) = (BTreeMap::<ItemId, Found>::new(), Timestamp::MIN);
        let mut show = |key: Key, entity: Arc<Entity>| {
            let Scope::Item(item) = &key.scope else { return };
            newest = newest.max(entity.newest());
            let parts = parts(&slots, entity.values());
            let at = parts.iter().map(|(at, _)| *at).max().unwrap_or(Timestamp::MIN);
            let says = parts.iter().filter(|(_, text)| !text.trim().is_empty());
            let of = Found { of: (at, Reverse(key.tenant.clone())), newest: says.map(|(at, _)| *at).max() };
            match found.get_mut(item) {
                None => drop(found.insert(item.clone(), of)),
                Some(known) if known.of < of.of => *known = of,
                Some(_) => {}
            }
        };
        store.each_item(&mut show).await?;
        let (all, since) = (found.len(), oldest(newest, ttl));
        let with = found.into_iter().filter(|(_, of)| of.newest.is_some_and(|newest| newest >= since));
        let items: Vec<_> = with.map(|(item, of)| (item, of.of.1.0)).collect();
        Ok(Self { slots, since, without: all - items.len(), items })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Reads the texts of the items from `first` on, `count` at most. An item's text is the values of its fields in their order, with a
    /// space between them. Items whose text has gone meanwhile are left out.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn read(&self, store: &dyn Store, first: usize, count: usize) -> Result<Vec<(ItemId, String)>, Error> {
        let some: Vec<_> = self.items.iter().skip(first).take(count).collect();
        let keys: Vec<_> = some.iter().map(|(item, tenant)| Key::new(tenant, Scope::Item(item.clone()))).collect();
        let text = |(entity, (item, _)): (Option<Arc<Entity>>, &&(ItemId, Tenant))| {
            let text = joined(&parts(&self.slots, entity?.values()), self.since)?;
            Some((item.clone(), text))
        };
        Ok(store.read(&keys).await?.into_iter().zip(&some).filter_map(text).collect())
    }
}

/// The texts of some slots, in their order, each with its time.
fn parts<'e>(slots: &[Slot], values: impl Iterator<Item = (Slot, &'e Stored)>) -> Vec<(Timestamp, String)> {
    let mut parts: Vec<_> = values
        .filter_map(|(slot, stored)| {
            let place = slots.iter().position(|wanted| *wanted == slot)?;
            let Cell::Field(value) = &stored.cell else { return None };
            let mut text = text(value)?.into_owned();
            text.truncate(text.floor_char_boundary(LONGEST));
            Some((place, (stored.at, text)))
        })
        .collect();
    parts.sort_by_key(|(place, _)| *place);
    parts.into_iter().map(|(_, part)| part).collect()
}

/// What of an item's texts is young enough, if that says anything.
fn joined(parts: &[(Timestamp, String)], since: Timestamp) -> Option<String> {
    let young = parts.iter().filter(|(at, _)| *at >= since).map(|(_, text)| text.trim());
    let text = young.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plan;
    use rankwright_config::Config;
    use rankwright_event::json;
    use rankwright_state::{MemoryStore, Overlay, Writer};

    const CONFIG: &str = "models: {alike: {type: semantic, itemFields: [title, tags], \
                          encoder: {type: bert, model: a/b, dim: 2}}}";

    const DAY: i64 = 86_400_000;

    fn item(tenant: &str, id: &str, day: i64, fields: &str) -> String {
        format!(
            r#"{{"event":"item","id":"{tenant}{id}{day}","tenant":"{tenant}","timestamp":{},"item":"{id}","fields":[{fields}]}}"#,
            day * DAY
        )
    }

    /// A state after these events, and its texts.
    async fn found(events: &[String], ttl_days: u64) -> (MemoryStore, ItemTexts) {
        let config = Config::parse(CONFIG, "test").expect("a configuration").0;
        let store = MemoryStore::default();
        let plan = Plan::of(&config, &store, &crate::NoEncoders).await.expect("compiles");
        let mut effects = Overlay::default();
        for event in events {
            plan.event(&json::decode(event.as_bytes()).expect("an event"), &mut effects);
        }
        let lease = store.acquire(&Writer("test".to_owned())).await.expect("acquires");
        let (commit, _) = effects.take(lease.position.clone(), lease.position.clone());
        store.commit(&lease, commit).await.expect("commits");
        let (fields, _) = config.models["alike"].stored_fields();
        let ttl = Duration::from_secs(ttl_days * 86_400);
        let texts = ItemTexts::find(&store, fields, ttl).await.expect("reads");
        (store, texts)
    }

    /// Its texts, and how many items have none.
    async fn read(events: &[String], ttl_days: u64) -> (Vec<String>, usize) {
        let (store, texts) = found(events, ttl_days).await;
        (told(&texts, &store, 0, usize::MAX).await, texts.without)
    }

    async fn told(texts: &ItemTexts, store: &MemoryStore, first: usize, count: usize) -> Vec<String> {
        let read = texts.read(store, first, count).await.expect("reads");
        read.iter().map(|(item, text)| format!("{}: {text}", item.as_str())).collect()
    }

    const TITLE: &str = r#"{"name":"title","value":"red shoe"}"#;
    const TAGS: &str = r#"{"name":"tags","value":["a","b"]}"#;

    #[tokio::test]
    async fn a_text_is_the_fields_in_the_order_of_the_configuration() {
        let events = [
            item("t", "one", 1, TAGS),
            item("t", "one", 2, TITLE),
            item("t", "two", 2, TAGS),
            item("t", "none", 2, r#"{"name":"title","value":"  "},{"name":"tags","value":5}"#),
        ];
        let (found, without) = read(&events, 90).await;
        assert_eq!((found, without), (vec!["one: red shoe a b".to_owned(), "two: a b".to_owned()], 1));
    }

    #[tokio::test]
    async fn a_text_counts_as_long_as_it_is_configured() {
        let events = [item("t", "one", 1, TITLE), item("t", "one", 20, TAGS), item("t", "two", 1, TITLE)];
        assert_eq!(read(&events, 10).await, (vec!["one: a b".to_owned()], 1));
        assert_eq!(read(&events, 19).await.0.len(), 2);
    }

    #[tokio::test]
    async fn the_newest_text_of_several_tenants_counts() {
        let blue = r#"{"name":"title","value":"blue"}"#;
        for events in [
            [item("a", "one", 1, TITLE), item("b", "one", 2, blue), item("c", "one", 1, TITLE)],
            [item("c", "one", 2, blue), item("b", "one", 1, TITLE), item("a", "one", 1, TITLE)],
            [item("b", "one", 2, TITLE), item("a", "one", 2, blue), item("c", "one", 2, TITLE)],
        ] {
            assert_eq!(read(&events, 90).await.0, ["one: blue"]);
        }
    }

    #[tokio::test]
    async fn texts_are_read_some_at_a_time() {
        let events: Vec<_> = (0..5).map(|number| item("t", &format!("i{number}"), 1, TAGS)).collect();
        let (store, texts) = found(&events, 90).await;
        assert_eq!((texts.len(), texts.without), (5, 0));
        assert_eq!(told(&texts, &store, 0, 2).await, ["i0: a b", "i1: a b"]);
        assert_eq!(told(&texts, &store, 4, 2).await, ["i4: a b"]);
        assert!(told(&texts, &MemoryStore::default(), 0, 5).await.is_empty(), "they have gone");
    }

    #[test]
    fn a_long_text_is_cut_between_letters() {
        let long = "\u{e9}".repeat(LONGEST);
        let stored = Stored {
            at: Timestamp::from_millis(1),
            event: 1,
            cell: Cell::Field(rankwright_state::FieldValue::from(&rankwright_event::Value::Text(long.as_str().into()))),
        };
        let parts = parts(&[Slot(3)], [(Slot(3), &stored)].into_iter());
        assert_eq!(parts[0].1.len(), LONGEST);
    }
}
