//! docs/configuration.md names every key that is read, no other one, and every default.

use rankwright_config::schema::document;
use rankwright_config::{Environment, shown};
use serde_json::Value;
use std::collections::BTreeSet;

const PAGE: &str = include_str!("../../../../docs/configuration.md");
/// It has the table of `api.limits`.
const HTTP: &str = include_str!("../../../../docs/http.md");
/// It has other names of keys, and keys that are ignored.
const UPSTREAM: &str = include_str!("../../../../docs/compatibility.md");

fn part<'p>(page: &'p str, title: &str) -> &'p str {
    let begins = format!("{title}\n");
    page.split("\n## ").find(|part| part.starts_with(&begins)).unwrap_or_else(|| panic!("no section {title}"))
}

/// What the pages say about a section of the configuration.
fn about(section: &str) -> String {
    let own = |section: &str| part(PAGE, &format!("`{section}`"));
    match section {
        "api" => {
            format!("{}\n{}\n{}", PAGE.split("\n## ").next().unwrap_or_default(), own("api.page"), part(HTTP, "Limits"))
        }
        "train" => format!("{}\n{}", own("train"), own("state")), // its Redis has the keys of the state's
        _ => own(section).to_owned(),
    }
}

/// The words that stand as code.
fn code(text: &str) -> BTreeSet<&str> {
    let code = text.split('`').skip(1).step_by(2);
    code.flat_map(|code| code.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')).collect()
}

/// Names of keys of a schema and of everything below it, each with the path of its section.
struct Keys<'s> {
    definitions: &'s Value,
    entered: BTreeSet<&'s str>,
    found: BTreeSet<(String, String)>,
}

impl<'s> Keys<'s> {
    fn walk(&mut self, schema: &'s Value, path: &str) {
        if let Some(name) = schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next())
            && self.entered.insert(name)
        {
            self.walk(&self.definitions[name], path);
        }
        let ways = ["anyOf", "allOf"].into_iter().filter_map(|key| schema[key].as_array()).flatten();
        let parts = ["then", "items", "additionalProperties"].into_iter().filter_map(|key| schema.get(key));
        ways.chain(parts).for_each(|way| self.walk(way, path));
        for (key, below) in schema["properties"].as_object().into_iter().flatten() {
            self.found.insert((path.to_owned(), key.clone()));
            self.walk(below, &format!("{path}.{key}"));
        }
    }
}

const SECTIONS: [&str; 7] = ["api", "state", "train", "source", "models", "inference", "core"];

#[test]
fn every_key_of_a_configuration_is_on_the_page() {
    let schema = document();
    let upstream = code(UPSTREAM);
    let mut missing = Vec::new();
    for section in SECTIONS {
        let mut keys = Keys { definitions: &schema["definitions"], entered: BTreeSet::new(), found: BTreeSet::new() };
        keys.walk(&schema["properties"][section], section);
        assert!(!keys.found.is_empty(), "{section} has keys");
        let text = about(section);
        let known = code(&text);
        let unknown = |(_, key): &&(String, String)| !known.contains(&**key) && !upstream.contains(&**key);
        missing.extend(keys.found.iter().filter(unknown).map(|(path, key)| format!("{path}.{key}")));
    }
    assert!(missing.is_empty(), "neither docs/configuration.md nor docs/compatibility.md has {missing:?}");
}

#[test]
fn every_key_in_a_table_of_the_page_is_read() {
    let schema = document();
    let mut keys = Keys { definitions: &schema["definitions"], entered: BTreeSet::new(), found: BTreeSet::new() };
    SECTIONS.into_iter().for_each(|section| keys.walk(&schema["properties"][section], section));
    let known: BTreeSet<&str> = keys.found.iter().map(|(_, key)| &**key).collect();
    let (mut within, mut rows, mut unknown) = (false, 0, Vec::new());
    for line in PAGE.lines() {
        let cell = line.split('|').nth(1).unwrap_or_default();
        if !line.starts_with('|') {
            within = false;
        } else if cell.starts_with(" key ") {
            within = true;
        } else if within && !cell.starts_with("---") {
            rows += 1;
            unknown.extend(code(cell).into_iter().filter(|word| !word.is_empty() && !known.contains(word)));
        }
    }
    assert!(rows > 70, "{rows} rows");
    assert!(unknown.is_empty(), "docs/configuration.md has keys that nothing reads: {unknown:?}");
}

/// Values without parts, each with the keys that lead to it.
fn leaves(value: &Value, path: &str, found: &mut Vec<(String, String)>) {
    match value {
        Value::Object(entries) => {
            entries.iter().for_each(|(key, value)| leaves(value, &format!("{path}.{key}"), found))
        }
        Value::Array(items) => items.iter().for_each(|item| leaves(item, path, found)),
        Value::String(text) => found.push((path.to_owned(), text.clone())),
        other => found.push((path.to_owned(), other.to_string())),
    }
}

/// How a page may write a value.
fn forms(value: &str) -> Vec<String> {
    let mut forms = vec![value.to_owned()];
    forms.extend(value.strip_suffix(".0").map(str::to_owned));
    forms.extend(value.strip_suffix('d').map(|days| format!("{days} days")));
    if let Ok(whole) = value.parse::<u64>() {
        forms.extend((whole % (1 << 20) == 0).then(|| format!("{} MiB", whole >> 20)));
        forms.extend((whole >= 1000).then(|| format!("{},{:03}", whole / 1000, whole % 1000)));
    }
    forms
}

/// Whether a text has a word, and not as a part of another word or number.
fn has(text: &str, word: &str) -> bool {
    let apart = |letter: Option<char>| letter.is_none_or(|letter| !letter.is_ascii_alphanumeric());
    text.match_indices(word).any(|(at, _)| {
        let (before, behind) = (&text[..at], &text[at + word.len()..]);
        let fraction =
            behind.strip_prefix('.').is_some_and(|rest| rest.starts_with(|digit: char| digit.is_ascii_digit()));
        apart(before.chars().next_back()) && !before.ends_with('.') && apart(behind.chars().next()) && !fraction
    })
}

#[test]
fn every_default_stands_on_the_page_beside_its_key() {
    let server = "host: h, port: 1";
    let features = "features: [{name: p, type: number, field: item.p}]";
    let ranker = "weights: {click: 1}, features: [p]";
    let texts = [
        String::new(),
        "state: {type: file, path: a}\ntrain: {type: file, path: b}\nsource: {type: file, path: c}".to_owned(),
        format!("state: {{type: redis, {server}}}\ntrain: {{type: redis, {server}}}"),
        "train: {type: s3, bucket: b, prefix: p, region: r}".to_owned(),
        "source: {type: kafka, brokers: [h], topic: t, groupId: g}".to_owned(),
        "source: {type: pulsar, serviceUrl: 'pulsar://h', adminUrl: 'http://h', topic: t, subscriptionName: s}"
            .to_owned(),
        "source: {type: kinesis, region: r, topic: t}".to_owned(),
        format!("{features}\nmodels: {{m: {{type: lambdamart, {ranker}, warmup: {{}}, qualityGate: {{}}}}}}"),
        format!("{features}\nmodels: {{m: {{type: lambdamart, backend: lightgbm, {ranker}}}}}"),
        "models: {m: {type: als, interactions: [click]}}".to_owned(),
        "models: {m: {type: trending, weights: [{interaction: click}]}}".to_owned(),
        "models: {m: {type: semantic, encoder: {type: csv, dim: 3, path: e.csv}}}".to_owned(),
        "models: {m: {type: shuffle, maxPositionChange: 3}}".to_owned(),
        "inference: {m: {type: bi-encoder, model: a/b}}".to_owned(),
    ];
    let mut missing = BTreeSet::new();
    let mut seen = BTreeSet::new();
    for text in &texts {
        let shown = shown(text, &Environment::default());
        for path in shown.defaults.iter().filter(|path| !path.starts_with("features")) {
            let pointer = format!("/{}", path.replace("[0]", ".0").replace('.', "/"));
            let mut values = Vec::new();
            leaves(shown.configuration.pointer(&pointer).unwrap_or(&Value::Null), path, &mut values);
            for (path, value) in values {
                let (section, key) =
                    (path.split('.').next().unwrap_or_default(), path.rsplit('.').next().unwrap_or_default());
                // these stand in words: "absent: memory", "all"
                if path == "state.type" || path.ends_with("selector.accept") {
                    continue;
                }
                let text = about(section);
                let rows = text.lines().filter(|row| row.starts_with('|') && code(row).contains(key));
                if !rows.into_iter().any(|row| forms(&value).iter().any(|form| has(row, form))) {
                    missing.insert(format!("{path}: {value}"));
                }
                seen.insert(path);
            }
        }
    }
    assert!(seen.len() > 50, "{seen:?}");
    assert!(missing.is_empty(), "docs/configuration.md lacks the defaults {missing:#?}");
}

#[test]
fn a_value_is_found_as_a_whole_only() {
    assert!(has("| `a` | 0.01: little |", "0.01") && has("(30s)", "30s") && has("10,000", "10,000"));
    assert!(!has("100", "10") && !has("0.01", "0") && !has("10.5", "10") && !has("0.5", "5"));
    assert_eq!(forms("33554432"), ["33554432", "32 MiB", "33554,432"]);
    assert_eq!((forms("30d")[1].as_str(), forms("1.0")[1].as_str()), ("30 days", "1"));
}
