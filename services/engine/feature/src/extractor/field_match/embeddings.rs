//! By embeddings: how alike the query's and the item's are.
//!
//! They come from files, of items by their ids and of queries by their texts. A model computes those that files lack: an
//! item's once, when its event comes in, in a byte for each number; a query's when the ranking does.

use super::{text, with_queries};
use crate::caches::{self, Cache};
use crate::candidates::Candidates;
use crate::encode::{Encode, Encoded, Texts};
use crate::extractor::compiler::{Compiled, Compiler};
use crate::extractor::field::{FieldReader, ID};
use crate::extractor::{Columns, Extractor, MISSING};
use crate::slot::{Derived, Meaning, Slots};
use rankwright_config::feature::{Distance, FieldMatch, MatchMethod};
use rankwright_encoder::{Vectors, distance, packed};
use rankwright_event::{Event, Field, ItemId, Value};
use rankwright_state::FieldValue;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

type File = Option<Arc<Cache<Vectors>>>;

/// Cosine or dot product; missing where either embedding is unknown, and where a vector without length has no cosine.
struct Embeddings {
    query: FieldReader,
    items: File,
    queries: File,
    distance: Distance,
    computed: Option<Computed>,
}

/// What a model computes.
struct Computed {
    model: usize,
    digest: String,
    ranking_field: String,
    item_field: String,
    item: FieldReader,
    /// Whether an item that lacks the field has its id in that place.
    is_id: bool,
}

/// An embedding as it comes from files and models, or as it is stored.
enum Item<'c> {
    Exact(&'c [f32]),
    Packed(&'c [u8]),
}

/// The item's embedding, where a model is open.
pub(super) fn need(feature: &FieldMatch, ttl: Duration, slots: &mut Slots) {
    if let Some(model) = feature.model().and_then(|model| slots.models().get(model)) {
        let items = held(feature, slots.models());
        slots.need(Meaning::Derived(derived(&feature.item_field, model, items)), ttl, 0);
    }
}

/// The file of items of a feature that has a model.
fn held(feature: &FieldMatch, models: &crate::encode::Models) -> File {
    let MatchMethod::BiEncoder { dim, item_field_cache: Some(path), .. } = &feature.method else { return None };
    models.file(path, *dim)
}

/// What is stored of an item's field: its embedding, unless the file has that. A value that is no text takes its place, and a text that
/// the model failed at, which is computed with rankings then.
fn derived(field: &str, (number, model): (usize, Arc<dyn Encode>), items: File) -> Derived {
    let unless = items.as_ref().map(|items| format!(" unless in {:016x}", items.digest)).unwrap_or_default();
    let how = format!("embedding by {}{unless}", model.digest());
    let derive = move |item: &ItemId, value: &Value, encoded: &Encoded| {
        let value = FieldValue::from(value);
        let wanted = text(&value).filter(|_| known(&items, item.as_str()).is_none());
        let Some(text) = wanted else { return Some(FieldValue::Bool(false)) };
        let stored = |vector: &[f32]| Some(FieldValue::Bytes(packed::pack(vector).into()));
        if let Some(vector) = encoded.vector(number, &text) {
            return stored(vector);
        }
        match model.embed(&[&text], None) {
            Ok(vectors) => stored(vectors.first()?),
            Err(_) => Some(value.clone()),
        }
    };
    Derived { field: field.to_owned(), how, derive: Arc::new(derive) }
}

/// Compiles a feature with its files and its model.
pub(super) fn extractor(feature: &FieldMatch, compiler: &mut Compiler<'_>) -> Compiled {
    let MatchMethod::BiEncoder { dim, item_field_cache, ranking_field_cache, .. } = &feature.method else {
        unreachable!("other methods are compiled elsewhere")
    };
    let open = |path: &Option<String>| path.as_ref().map(|path| caches::vectors(path, *dim, compiler.name)).transpose();
    let items = match held(feature, compiler.models) {
        None => open(item_field_cache)?,
        held => held,
    };
    let queries = open(ranking_field_cache)?;
    let computed = feature.model().and_then(|model| compiler.models.get(model)).map(|(number, model)| {
        let digest = model.digest().to_owned();
        let derived = derived(&feature.item_field, (number, model), items.clone());
        Computed {
            model: number,
            digest,
            ranking_field: feature.ranking_field.clone(),
            item_field: feature.item_field.clone(),
            item: FieldReader::derived(derived, compiler.ttl, compiler.slots, compiler.sources),
            is_id: feature.item_field == ID,
        }
    });
    let query = compiler.request(&feature.ranking_field);
    Ok(Box::new(Embeddings { query, items, queries, distance: feature.distance, computed }))
}

impl Embeddings {
    fn likeness(&self, query: &packed::Query<'_>, item: &Item<'_>) -> Option<f32> {
        match (self.distance, item) {
            (Distance::Cos, Item::Exact(item)) => distance::cosine(query.vector(), item),
            (Distance::Dot, Item::Exact(item)) => distance::dot(query.vector(), item),
            (Distance::Cos, Item::Packed(item)) => query.cosine(item),
            (Distance::Dot, Item::Packed(item)) => query.dot(item),
        }
    }

    fn query<'c>(&'c self, candidates: &'c Candidates<'_>, asked: &FieldValue) -> Option<&'c [f32]> {
        let text = text(asked)?;
        let computed = || candidates.encoded?.vector(self.computed.as_ref()?.model, &text);
        known(&self.queries, &text).or_else(computed)
    }

    fn item<'c>(
        &'c self,
        candidates: &'c Candidates<'_>,
        item: usize,
        value: Option<&'c FieldValue>,
    ) -> Option<Item<'c>> {
        let id = candidates.ranking.items[item].id.as_str();
        if let Some(exact) = known(&self.items, id) {
            return Some(Item::Exact(exact));
        }
        let computed = self.computed.as_ref()?;
        if let Some(FieldValue::Bytes(packed)) = value {
            return Some(Item::Packed(packed));
        }
        let text = computed.text(id, value)?;
        candidates.encoded?.vector(computed.model, &text).map(Item::Exact)
    }
}

impl Computed {
    /// The text of an item whose embedding is not stored: it came with the request, the model failed at it, or it is the item's id.
    fn text<'c>(&self, id: &'c str, value: Option<&'c FieldValue>) -> Option<Cow<'c, str>> {
        match value {
            None => self.is_id.then_some(Cow::Borrowed(id)),
            Some(value) => text(value),
        }
    }
}

fn known<'c>(file: &'c File, name: &str) -> Option<&'c [f32]> {
    file.as_ref()?.known.get(name)
}

impl Extractor for Embeddings {
    fn meaning(&self) -> String {
        let word = |file: &File| match file {
            Some(file) => format!("{:016x}", file.digest),
            None => "none".to_owned(),
        };
        let model = self.computed.as_ref().map(|computed| format!(" else by {}", computed.digest)).unwrap_or_default();
        format!(" items {} queries {}{model}", word(&self.items), word(&self.queries))
    }

    fn encodes(&self) -> bool {
        self.computed.is_some()
    }

    fn texts(&self, candidates: &Candidates<'_>, texts: &mut Texts) {
        let Some(computed) = &self.computed else { return };
        let values = computed.item.all(candidates);
        let mut asked = vec![false; candidates.len()];
        // a query once, not once an item: what tells texts apart is a digest
        let add = |value| {
            let query = text(value)?;
            if known(&self.queries, &query).is_none() {
                texts.add(computed.model, &query, None);
            }
            Some(())
        };
        with_queries(&self.query, candidates, add, |item, query| asked[item] = query.is_some());
        for (item, _) in asked.iter().enumerate().filter(|(_, asked)| **asked) {
            let id = candidates.ranking.items[item].id.as_str();
            if known(&self.items, id).is_none()
                && let Some(text) = computed.text(id, values[item])
            {
                texts.add(computed.model, &text, None);
            }
        }
    }

    fn foreseen(&self, event: &Event, texts: &mut Texts) {
        let Some(computed) = &self.computed else { return };
        let mut add = |fields: &[Field], name: &str, file: &File, of: Option<&str>| {
            for field in fields.iter().filter(|field| field.name == name) {
                let value = FieldValue::from(&field.value);
                if let Some(text) = text(&value)
                    && known(file, of.unwrap_or(&text)).is_none()
                {
                    texts.add(computed.model, &text, None);
                }
            }
        };
        match event {
            Event::Item(update) => {
                add(&update.fields, &computed.item_field, &self.items, Some(update.item.as_str()));
            }
            Event::Ranking(ranking) => add(&ranking.fields, &computed.ranking_field, &self.queries, None),
            Event::User(_) | Event::Interaction(_) => {}
        }
    }

    fn fill(&self, candidates: &Candidates<'_>, columns: &mut Columns<'_>) {
        let values = match &self.computed {
            Some(computed) => computed.item.all(candidates),
            None => vec![None; candidates.len()],
        };
        let prepare = |asked| self.query(candidates, asked).map(packed::Query::of);
        with_queries(&self.query, candidates, prepare, |item, query| {
            let likeness = || self.likeness(query?, &self.item(candidates, item, values[item])?);
            columns.set(item, 0, likeness().map_or(MISSING, f64::from));
        });
    }
}

#[cfg(test)]
mod tests;
