//! Texts of items, from their stored fields: what models that embed items are trained on.

use crate::extractor::field_match::text;
use crate::slot::Meaning;
use rankwright_event::{Tenant, Timestamp};
use rankwright_state::{Cell, Error, Key, Scope, Slot, Store, Stored, oldest};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

/// A text is cut behind so many bytes: models read a few hundred words.
const LONGEST: usize = 32 << 10;

/// Texts of the items of a state.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ItemTexts {
    /// By item id.
    pub texts: BTreeMap<String, String>,
    /// Items without a text.
    pub without: usize,
}

/// An item's text, and what decides which tenant's counts.
struct Found {
    of: (Timestamp, Reverse<Tenant>),
    parts: Vec<(Timestamp, String)>,
}

impl ItemTexts {
    /// Reads the items of a state. An item's text is the values of these fields (without `item.`) in their order, with a space
    /// between them; those that are no texts, or older than `ttl` at the newest event of any item, are left out. Of an item
    /// that several tenants have, the newest text counts.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn read(store: &dyn Store, fields: &[String], ttl: Duration) -> Result<Self, Error> {
        let wanted: Vec<_> = fields.iter().map(|field| Meaning::ItemField(field.clone()).fingerprint()).collect();
        let slots = store.slots(&wanted).await?;
        let (mut items, mut newest) = (BTreeMap::<String, Found>::new(), Timestamp::MIN);
        let mut show = |key: Key, entity: std::sync::Arc<rankwright_state::Entity>| {
            let Scope::Item(item) = &key.scope else { return };
            newest = newest.max(entity.newest());
            let parts = parts(&slots, entity.values());
            let at = parts.iter().map(|(at, _)| *at).max().unwrap_or(Timestamp::MIN);
            let found = Found { of: (at, Reverse(key.tenant.clone())), parts };
            match items.get_mut(item.as_str()) {
                None => drop(items.insert(item.as_str().to_owned(), found)),
                Some(known) if known.of < found.of => *known = found,
                Some(_) => {}
            }
        };
        store.each_item(&mut show).await?;
        let (all, since) = (items.len(), oldest(newest, ttl));
        let texts: BTreeMap<_, _> =
            items.into_iter().filter_map(|(item, found)| Some((item, joined(&found.parts, since)?))).collect();
        Ok(Self { without: all - texts.len(), texts })
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

    async fn read(events: &[String], ttl_days: u64) -> ItemTexts {
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
        ItemTexts::read(&store, fields, Duration::from_secs(ttl_days * 86_400)).await.expect("reads")
    }

    fn told(texts: &ItemTexts) -> Vec<(&str, &str)> {
        texts.texts.iter().map(|(item, text)| (item.as_str(), text.as_str())).collect()
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
        let found = read(&events, 90).await;
        assert_eq!(told(&found), [("one", "red shoe a b"), ("two", "a b")]);
        assert_eq!(found.without, 1);
    }

    #[tokio::test]
    async fn a_text_counts_as_long_as_it_is_configured() {
        let events = [item("t", "one", 1, TITLE), item("t", "one", 20, TAGS), item("t", "two", 1, TITLE)];
        let found = read(&events, 10).await;
        assert_eq!((told(&found), found.without), (vec![("one", "a b")], 1));
        assert_eq!(told(&read(&events, 19).await).len(), 2);
    }

    #[tokio::test]
    async fn the_newest_text_of_several_tenants_counts() {
        let blue = r#"{"name":"title","value":"blue"}"#;
        for events in [
            [item("a", "one", 1, TITLE), item("b", "one", 2, blue), item("c", "one", 1, TITLE)],
            [item("c", "one", 2, blue), item("b", "one", 1, TITLE), item("a", "one", 1, TITLE)],
            [item("b", "one", 2, TITLE), item("a", "one", 2, blue), item("c", "one", 2, TITLE)],
        ] {
            assert_eq!(told(&read(&events, 90).await), [("one", "blue")]);
        }
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
