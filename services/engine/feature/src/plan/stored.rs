//! What is stored, and who reads it.

use super::{Error, models};
use crate::encode::{Encoders, Models};
use crate::extractor::compiler::definition;
use crate::seen;
use crate::slot::{Meaning, Slots};
use rankwright_config::api::PageItem;
use rankwright_config::feature::Feature;
use rankwright_config::{Config, Model};
use rankwright_state::Fingerprint;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long fields are kept that only the page for browsers shows.
const SHOWN: Duration = Duration::from_secs(90 * 86_400);

/// What is stored for a configuration, and who reads it, as [`Plan::readers`](super::Plan::readers) of a plan that is not compiled.
/// What a model of texts computes is known where that is open.
///
/// # Errors
/// Names a feature whose file cannot be read, or whose model is of no use.
pub fn readers(config: &Config, encoders: &dyn Encoders) -> Result<BTreeMap<Fingerprint, Vec<String>>, Error> {
    let models = models::open(&config.features, encoders)?;
    Ok(of(&config.features, &config.models, config.api.page.shown(), &models))
}

/// The same with models and files that are open.
pub(super) fn of(
    features: &[Feature],
    served: &BTreeMap<String, Model>,
    shown: Option<&PageItem>,
    models: &Models,
) -> BTreeMap<Fingerprint, Vec<String>> {
    let mut readers = BTreeMap::<_, Vec<String>>::new();
    let mut note = |slots: Slots, name: &str| {
        slots.fingerprints().for_each(|stored| readers.entry(stored).or_default().push(name.to_owned()));
    };
    for feature in features {
        let mut slots = Slots::with(models);
        definition(&feature.kind).need(feature.ttl, &mut slots);
        note(slots, &feature.name);
    }
    for (name, model) in served {
        let mut slots = Slots::default();
        need(model, &mut slots);
        note(slots, &format!("models.{name}"));
    }
    let mut slots = Slots::default();
    need_shown(shown, &mut slots);
    note(slots, "api.page");
    readers
}

/// What a model is trained on, and what it leaves out.
pub(super) fn need(model: &Model, slots: &mut Slots) {
    let (fields, ttl) = model.stored_fields();
    fields.iter().for_each(|field| slots.need(Meaning::ItemField(field.clone()), ttl, 0));
    model.exclude_seen().into_iter().for_each(|seen| seen::need(seen, slots));
}

/// What the page for browsers shows of items.
pub(super) fn need_shown(shown: Option<&PageItem>, slots: &mut Slots) {
    let fields = shown.into_iter().flat_map(PageItem::fields);
    fields.for_each(|field| slots.need(Meaning::ItemField(field.to_owned()), SHOWN, 0));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::encode::NoEncoders;
    use crate::plan::Plan;
    use crate::testing::letters::Letters;
    use rankwright_encoder::Task;
    use rankwright_state::MemoryStore;
    use std::fs;

    const MODEL: &str = "{type: semantic, encoder: {type: bert, model: a/b, dim: 2}, itemFields: [x, title]}";

    #[test]
    fn a_value_that_several_features_read_is_named_by_all_of_them() {
        let features = "[{name: a, type: number, source: item.x, scope: item},
            {name: b, type: list_size, source: item.x, scope: item}, {name: now, type: relevancy},
            {name: c, type: interaction_count, interaction: click, scope: item}]";
        let page = "api: {page: {item: {title: title, price: cost}}}";
        let (config, _) = Config::parse(&format!("features: {features}\nmodels: {{alike: {MODEL}}}\n{page}"), "test")
            .expect("a valid configuration");
        let mut read: Vec<_> = readers(&config, &NoEncoders).unwrap().into_values().collect();
        read.sort();
        let expected = [vec!["a", "b", "models.alike"], vec!["api.page"], vec!["c"], vec!["models.alike", "api.page"]];
        assert_eq!(read, expected);
    }

    #[tokio::test]
    async fn what_the_page_shows_of_items_is_stored_unless_the_page_is_off() {
        let stored = async |page: &str| {
            let text = format!("features: [{{name: a, type: number, source: item.x}}]\napi: {{page: {page}}}");
            let (config, _) = Config::parse(&text, "test").expect("a valid configuration");
            let store = MemoryStore::default();
            let plan = Plan::of(&config, &store, &NoEncoders).await.expect("it compiles");
            assert_eq!(*plan.readers(), readers(&config, &NoEncoders).unwrap());
            assert!(plan.stored().iter().all(|stored| plan.readers().contains_key(&stored.meaning)));
            plan.stored().iter().map(|stored| stored.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(stored("{item: {title: title, image: x}}").await, ["item.title", "item.x"]);
        assert_eq!(stored("{enabled: false, item: {title: title}}").await, ["item.x"]);
    }

    #[tokio::test]
    async fn a_plan_knows_who_reads_what_it_stores_when_a_file_was_replaced_or_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("items.csv");
        fs::write(&path, "a,1,2\n").unwrap();
        let text = format!(
            "features: [{{name: m, type: field_match, rankingField: ranking.query, itemField: item.title, method: \
             {{type: bi-encoder, dim: 2, model: a/letters, itemFieldCache: {path:?}}}}}]"
        );
        let (config, _) = Config::parse(&text, "test").unwrap();
        let letters = Letters::of(Task::Embed);
        let plan = Plan::of(&config, &MemoryStore::default(), &letters).await.unwrap();
        let stored = plan.stored()[0].meaning;
        assert_eq!(*plan.readers(), [(stored, vec!["m".to_owned()])].into());
        assert_eq!(readers(&config, &letters).unwrap(), *plan.readers());
        fs::write(&path, "a,1,2\nb,3,4\n").unwrap();
        let next = readers(&config, &letters).unwrap();
        assert!(next.len() == 1 && !next.contains_key(&stored), "{next:?}");
        assert!(plan.readers().contains_key(&stored));
        fs::remove_file(&path).unwrap();
        let refused = readers(&config, &letters).unwrap_err().to_string();
        assert!(refused.starts_with("feature 'm': failed to open its cache"), "{refused}");
        assert!(readers(&config, &NoEncoders).unwrap().is_empty(), "without its model, nothing asks for the file");
    }
}
