//! Every key has a text, and tables of docs/configuration.md, docs/features.md and docs/http.md are made of these texts. `UPDATE_PAGE=1`
//! writes them again.

use rankwright_config::schema::{FEATURE_TYPES, KEYS, Key, Keys, NO_EFFECT, document};
use rankwright_config::{Environment, Shown, shown};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write;

const PAGES: [&str; 3] = ["../../../docs/configuration.md", "../../../docs/features.md", "../../../docs/http.md"];
/// It has other names of keys, and keys that are ignored.
const UPSTREAM: &str = include_str!("../../../../docs/compatibility.md");

/// A key of the schema.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Property {
    /// Names on the way to it and its own, with dots.
    path: String,
    /// Sections around it that a word under `type` tells apart, with this word.
    types: BTreeSet<(String, String)>,
    required: bool,
    description: Option<String>,
}

/// All keys of a schema and of everything below it.
struct Properties<'s> {
    definitions: &'s Value,
    entered: BTreeSet<&'s str>,
    found: BTreeSet<Property>,
}

impl<'s> Properties<'s> {
    fn of(schema: &'s Value) -> BTreeSet<Property> {
        let (entered, found) = Default::default();
        let mut all = Self { definitions: &schema["definitions"], entered, found };
        all.walk(schema, "", &BTreeSet::new());
        all.found
    }

    fn walk(&mut self, schema: &'s Value, path: &str, types: &BTreeSet<(String, String)>) {
        if let Some(name) = schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next())
            && self.entered.insert(name)
        {
            self.walk(&self.definitions[name], path, types);
            self.entered.remove(name);
        }
        let ways = || ["anyOf", "allOf"].into_iter().filter_map(|key| schema[key].as_array()).flatten();
        for way in ways() {
            let words = way["if"]["properties"]["type"]["enum"].as_array().into_iter().flatten();
            let of_type = words.filter_map(|word| Some((path.to_owned(), word.as_str()?.to_owned())));
            let types = types.iter().cloned().chain(of_type).collect();
            self.walk(way.get("then").unwrap_or(way), path, &types);
        }
        let parts = ["items", "additionalProperties"].into_iter().filter_map(|key| schema.get(key));
        parts.for_each(|part| self.walk(part, path, types));
        let is_listed =
            |way: &Value, key: &str| way["required"].as_array().is_some_and(|keys| keys.contains(&key.into()));
        for (key, below) in schema["properties"].as_object().into_iter().flatten() {
            let one_of =
                |way: &Value| way["anyOf"].as_array().is_some_and(|ways| ways.iter().any(|way| is_listed(way, key)));
            let property = Property {
                path: if path.is_empty() { key.clone() } else { format!("{path}.{key}") },
                types: types.clone(),
                required: is_listed(schema, key) || ways().any(|way| is_listed(way, key) || one_of(way)),
                description: below["description"].as_str().map(str::to_owned),
            };
            self.walk(below, &property.path, types);
            self.found.insert(property);
        }
    }
}

fn path_of(section: &str, key: &str) -> String {
    if section.is_empty() { key.to_owned() } else { format!("{section}.{key}") }
}

/// All texts, by the section of their keys; those of a type of feature as well.
fn all_keys() -> Vec<Keys> {
    let of_features = FEATURE_TYPES.iter().map(|of| Keys { path: "features", of_type: Some(of.name), keys: of.keys });
    KEYS.iter().copied().chain(of_features.filter(|of| !of.keys.is_empty())).collect()
}

/// The key of the schema that a text is for.
fn property<'p>(properties: &'p BTreeSet<Property>, section: &Keys, key: &str) -> Option<&'p Property> {
    let path = path_of(section.path, key);
    let of_type = |property: &&Property| {
        section.of_type.is_none_or(|word| property.types.contains(&(section.path.to_owned(), word.to_owned())))
    };
    properties.iter().filter(|property| property.path == path).find(of_type)
}

#[test]
fn every_key_has_a_text_and_every_text_a_key() {
    let schema = document();
    let properties = Properties::of(&schema);
    assert!(properties.len() > 400, "{}", properties.len());
    let without: Vec<_> = properties.iter().filter(|property| property.description.is_none()).collect();
    assert!(without.is_empty(), "no text in KEYS, nor with its type of feature: {without:#?}");
    let texts = all_keys().into_iter().flat_map(|of| of.keys.iter().map(move |key| (of, key.name)));
    let unknown: Vec<_> = texts.filter(|(of, key)| property(&properties, of, key).is_none()).collect();
    let unknown: Vec<_> = unknown.iter().map(|(of, key)| (of.path, of.of_type, key)).collect();
    assert!(unknown.is_empty(), "nothing reads {unknown:?}");
}

/// The words that stand as code.
fn code(text: &str) -> BTreeSet<&str> {
    let code = text.split('`').skip(1).step_by(2);
    code.flat_map(|code| code.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')).collect()
}

#[test]
fn every_other_name_and_every_key_that_is_ignored_stands_on_a_page() {
    let schema = document();
    let pages = PAGES.map(|page| std::fs::read_to_string(page).expect("the page is there"));
    let upstream = code(UPSTREAM);
    let known: BTreeSet<&str> = pages.iter().flat_map(|page| code(page)).chain(upstream.iter().copied()).collect();
    let properties = Properties::of(&schema);
    let text = |property: &Property| property.description.clone().unwrap_or_default().to_lowercase();
    let idle: BTreeSet<&str> =
        properties.iter().filter(|own| text(own).starts_with(NO_EFFECT)).map(|own| own.path.as_str()).collect();
    let (mut looked, mut missing) = (0, Vec::new());
    for own in &properties {
        let (section, name) = own.path.rsplit_once('.').unwrap_or(("", &own.path));
        let text = text(own);
        let wanted = if text.starts_with("another name of ") {
            &known
        } else if (text.starts_with("ignored: ") || text.starts_with(NO_EFFECT)) && !idle.contains(section) {
            &upstream
        } else {
            continue;
        };
        looked += 1;
        missing.extend((!wanted.contains(name)).then_some(&own.path));
    }
    assert!(looked > 20, "{looked}");
    assert!(
        missing.is_empty(),
        "docs/compatibility.md has what is ignored, some page other names; but not {missing:?}"
    );
}

/// Configurations that together leave out every key that has a default.
fn examples() -> Vec<Shown> {
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
        format!(
            "{features}\nmodels: {{m: {{type: lambdamart, backend: {{type: lightgbm}}, {ranker}, warmup: {{}}, qualityGate: {{}}}}}}"
        ),
        "models: {m: {type: als, interactions: [click]}}".to_owned(),
        "models: {m: {type: trending, weights: [{interaction: click}]}}".to_owned(),
        "models: {m: {type: semantic, encoder: {type: bert, dim: 3, model: a/b}, itemFields: [title]}}".to_owned(),
        "models: {m: {type: shuffle, maxPositionChange: 3}}".to_owned(),
        "inference: {m: {type: bi-encoder, model: a/b}}".to_owned(),
    ];
    let of_features = FEATURE_TYPES.iter().flat_map(|of| {
        let keys = std::iter::once("").chain(of.keys.iter().map(|key| key.name));
        keys.map(|key| without(&of.configuration(), key).replace("{weight: 10}", "{}"))
    });
    texts.into_iter().chain(of_features).map(|text| shown(&text, &Environment::default())).collect()
}

/// A definition without a key that has a scalar or a list of scalars.
fn without(text: &str, key: &str) -> String {
    let given = text.split_once(&format!(", {key}: "));
    let rest = given.and_then(|(before, behind)| {
        let end = if behind.starts_with('[') { behind.find(']')? + 1 } else { behind.find([',', '}'])? };
        Some((before, &behind[end..]))
    });
    rest.map_or_else(|| text.to_owned(), |(before, rest)| format!("{before}{rest}"))
}

/// The default of a key, as a page shows it; none for a mapping, whose keys have their own.
fn default_of(examples: &[Shown], section: &Keys, key: &str) -> Option<String> {
    let pointer = |path: &str| {
        let mut pointer = if path.is_empty() { String::new() } else { format!("/{}", path.replace('.', "/")) };
        for (names, one) in [
            ("/models/", "/models/m/"),
            ("/inference/", "/inference/m/"),
            ("/features/", "/features/0/"),
            ("/models/m/weights/", "/models/m/weights/0/"),
        ] {
            if let Some(rest) = format!("{pointer}/").strip_prefix(names) {
                pointer = format!("{one}{rest}").trim_end_matches('/').to_owned();
            }
        }
        pointer
    };
    let path = pointer(&path_of(section.path, key));
    let left_out = |shown: &&Shown| {
        let of_type = section.of_type.is_none_or(|word| {
            shown.configuration.pointer(&format!("{}/type", pointer(section.path))) == Some(&word.into())
        });
        let place = path.trim_start_matches('/').replace("/0", "[0]").replace('/', ".");
        of_type && shown.defaults.iter().any(|default| place == *default || place.starts_with(&format!("{default}.")))
    };
    let value = examples.iter().find(left_out)?.configuration.pointer(&path)?;
    written(value)
}

/// A value as a page shows it.
fn written(value: &Value) -> Option<String> {
    match value {
        Value::Object(_) | Value::Null => None,
        Value::Array(items) if items.is_empty() => None,
        Value::Array(items) => {
            Some(format!("`[{}]`", items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")))
        }
        Value::String(text) => Some(format!("`{text}`")),
        Value::Number(number) => Some(
            number
                .as_f64()
                .filter(|number| number.fract() == 0.0)
                .map_or_else(|| number.to_string(), |whole| format!("{whole}")),
        ),
        Value::Bool(flag) => Some(format!("`{flag}`")),
    }
}

/// Keys whose value, where it is left out, is not what the page tells: that of `selector` stands for a key of it, and upstream's
/// defaults of a pipeline for ours.
const OTHERWISE: [&str; 3] = ["models.selector.accept", "state.pipeline.maxSize", "state.pipeline.flushPeriod"];

/// What the tables of the pages are made of.
struct Tables {
    properties: BTreeSet<Property>,
    examples: Vec<Shown>,
    /// Keys whose default is not said as it should be.
    wrong: Vec<String>,
}

impl Tables {
    /// The table of a section, as the page has it.
    fn table(&mut self, section: &Keys) -> String {
        let keys = section.keys;
        let mut table = "| key | default | |\n|---|---|---|\n".to_owned();
        let is_left_out = |key: &&Key| {
            let has_keys =
                keys.iter().any(|below| below.name.strip_prefix(key.name).is_some_and(|rest| rest.starts_with('.')));
            key.text.starts_with(NO_EFFECT) || key.absent == "defaults" && has_keys
        };
        for Key { name, absent, text } in keys.iter().filter(|key| !is_left_out(key)) {
            let required = property(&self.properties, section, name).is_some_and(|property| property.required);
            let default = match (*absent, default_of(&self.examples, section, name)) {
                ("", Some(default)) => default,
                ("", None) if required => "required".to_owned(),
                (absent, None) if !absent.is_empty() && !required => absent.to_owned(),
                (absent, Some(_)) if OTHERWISE.contains(&&*path_of(section.path, name)) => absent.to_owned(),
                (absent, default) => {
                    self.wrong.push(format!("{}.{name}: {absent:?}, {default:?}, required: {required}", section.path));
                    continue;
                }
            };
            _ = writeln!(table, "| `{name}` | {default} | {text} |");
        }
        table
    }
}

#[test]
fn tables_of_the_pages_are_those_of_the_keys() {
    let mut tables = Tables { properties: Properties::of(&document()), examples: examples(), wrong: Vec::new() };
    let mut pages = PAGES.map(|page| (page, std::fs::read_to_string(page).expect("the page is there")));
    for section in all_keys() {
        let name = match (section.path, section.of_type) {
            ("", _) => "a configuration".to_owned(),
            (path, None) => path.to_owned(),
            (path, Some(word)) => format!("{path}({word})"),
        };
        let mark = format!("<!-- keys of {name} -->\n");
        let (_, page) =
            pages.iter_mut().find(|(_, page)| page.contains(&mark)).unwrap_or_else(|| panic!("no page has {mark}"));
        let (before, behind) = page.split_once(&mark).expect("it has the mark");
        let rest: String = behind.split_inclusive('\n').skip_while(|line| line.starts_with('|')).collect();
        *page = format!("{before}{mark}{}{rest}", tables.table(&section));
    }
    let wrong = tables.wrong;
    assert!(wrong.is_empty(), "what stands for these keys where they are left out: {wrong:#?}");
    for (path, made) in pages {
        if std::env::var_os("UPDATE_PAGE").is_some() {
            std::fs::write(path, &made).expect("the page can be written");
        }
        let kept = std::fs::read_to_string(path).expect("the page is there");
        let different = kept.lines().zip(made.lines()).find(|(kept, made)| kept != made);
        assert!(kept == made, "UPDATE_PAGE=1 writes the tables of {path} again: {different:#?}");
    }
}
