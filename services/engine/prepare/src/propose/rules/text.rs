//! Queries beside the texts of items.

use super::{Class, Facts, Known};
use crate::propose::draft::Draft;
use crate::propose::language;
use crate::propose::yaml::{amount, word};
use crate::shell;
use rankwright_text::Language;

/// Number of item texts that are compared with a query.
const MOST: usize = 3;

/// What a hint at a text model says first.
pub(super) const NEEDS_MODEL: &str =
    "It needs a text model, which the program fetches from the Hugging Face hub when it starts";

/// A text model for texts of this language, and the length of its embeddings.
pub(super) fn encoder(language: Option<Language>) -> (&'static str, usize) {
    match language {
        Some(Language::English) => ("sentence-transformers/all-MiniLM-L6-v2", 384),
        _ => ("sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2", 384),
    }
}

/// The language of these fields, if their texts tell it.
pub(super) fn language<'k>(fields: impl Iterator<Item = &'k Known<'k>> + Clone) -> Option<Language> {
    language::of(fields.flat_map(|known| &known.field.texts.samples).map(|text| text.as_str()))
}

impl Facts<'_> {
    /// Texts of items, titles before descriptions.
    pub(super) fn texts(&self) -> Vec<&Known<'_>> {
        let mut texts: Vec<&Known<'_>> = self.items.iter().filter(|known| known.class == Class::Text).collect();
        texts.sort_by(|left, right| left.field.texts.words().total_cmp(&right.field.texts.words()));
        texts.truncate(MOST);
        texts
    }
}

pub(super) fn propose(facts: &Facts<'_>, draft: &mut Draft) {
    let queries = facts.rankings.iter().filter(|known| known.class == Class::Text);
    let queries: Vec<&Known<'_>> = queries.collect();
    let mut texts = facts.texts();
    if facts.all_rules() {
        texts.extend(facts.items.iter().filter(|known| matches!(known.class, Class::Category(_) | Class::Tags(_))));
    }
    if queries.is_empty() {
        return;
    }
    draft.section("Queries and the texts of items");
    let language = language(texts.iter().chain(&queries).copied());
    for query in queries {
        texts.iter().for_each(|text| pair(facts, query, text, language, draft));
    }
}

fn pair(facts: &Facts<'_>, query: &Known<'_>, text: &Known<'_>, language: Option<Language>, draft: &mut Draft) {
    let fields = format!("type: field_match, rankingField: {}, itemField: {}", word(&query.source), word(&text.source));
    let name = format!("{}_{}", query.name, text.name);
    let words = |known: &Known<'_>| amount((known.field.texts.words() * 10.0).round() / 10.0);
    let why = format!(
        "{} ({} words on average) {}; {} ({}) {}",
        query.source,
        words(query),
        query.carried(),
        text.source,
        words(text),
        text.carried()
    );
    let method = |method: &str| format!("{fields}, method: {{type: {method}}}");
    let spelt = language.map_or("generic", |language| language.code());
    let code = word(spelt);
    draft.feature(
        &format!("{name}_term"),
        method(&format!("term, language: {code}")),
        format!("words in common: {why}"),
    );
    if facts.all_rules() {
        let why = "parts of words in common: finds compounds and misspelt words".to_owned();
        draft.feature(&format!("{name}_ngram"), method(&format!("ngram, language: {code}, n: 3")), why);
    }
    if text.class == Class::Text {
        let dictionary = format!("{}.dict", text.name.replace('/', "_"));
        let (field, out) = (shell::words([text.name]), shell::words([dictionary.as_str()]));
        let before = vec![
            "It needs a dictionary. Run this, then uncomment it here and in the model:".to_owned(),
            format!("  rankwright termfreq {} --fields {field} --language {spelt} --out {out}", facts.options.events),
        ];
        let keys = method(&format!("bm25, language: {code}, termFreq: {}", word(&dictionary)));
        draft.hint(&format!("{name}_bm25"), keys, "rare words in common count more".to_owned(), before);
        let (model, dim) = encoder(language);
        let before = vec![format!("{NEEDS_MODEL}. Uncomment it here and in the model:")];
        let keys = method(&format!("bi-encoder, model: {}, dim: {dim}", word(model)));
        draft.hint(&format!("{name}_meaning"), keys, "alike in meaning, as a sofa and a couch are".to_owned(), before);
    }
}
