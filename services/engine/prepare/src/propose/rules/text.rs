//! Queries beside the texts of items.

use super::{Class, Facts, Known};
use crate::propose::draft::Draft;
use crate::propose::language;
use crate::propose::yaml::{amount, word};

/// Number of item texts that are compared with a query.
const MOST: usize = 3;

pub(super) fn propose(facts: &Facts<'_>, draft: &mut Draft) {
    let queries = facts.rankings.iter().filter(|known| known.class == Class::Text);
    let queries: Vec<&Known<'_>> = queries.collect();
    let mut texts: Vec<&Known<'_>> = facts.items.iter().filter(|known| known.class == Class::Text).collect();
    // titles before descriptions
    texts.sort_by(|left, right| left.field.texts.words().total_cmp(&right.field.texts.words()));
    texts.truncate(MOST);
    if facts.all_rules() {
        texts.extend(facts.items.iter().filter(|known| matches!(known.class, Class::Category(_) | Class::Tags(_))));
    }
    if queries.is_empty() {
        return;
    }
    draft.section("Queries and the texts of items");
    let samples = texts.iter().chain(&queries).flat_map(|known| &known.field.texts.samples);
    let language = language::of(samples.map(|text| text.as_str()));
    let code = language.map_or("generic", |language| language.code());
    for query in queries {
        texts.iter().for_each(|text| pair(facts, query, text, code, draft));
    }
}

fn pair(facts: &Facts<'_>, query: &Known<'_>, text: &Known<'_>, language: &str, draft: &mut Draft) {
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
    let code = word(language);
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
        let dictionary = format!("{}.dict", text.name);
        let before = vec![
            "It needs a dictionary. Run this, then uncomment it here and in the model:".to_owned(),
            format!(
                "  rankwright termfreq --data {} --fields {} --language {language} --out {dictionary}",
                facts.options.data, text.name
            ),
        ];
        let keys = method(&format!("bm25, language: {code}, termFreq: {}", word(&dictionary)));
        draft.hint(&format!("{name}_bm25"), keys, "rare words in common count more".to_owned(), before);
    }
}
