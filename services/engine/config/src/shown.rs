//! A configuration for people to look at: as JSON, with its defaults filled in, and without what is secret.

use crate::config::read_whole;
use crate::error::shown as path_of_key;
use crate::left_out::LeftOut;
use crate::tree::{self, Data, Node};
use crate::{Environment, scalar};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Stands in place of what is secret.
const HIDDEN: &str = "hidden";

/// Parts of the names of keys whose values are secret, in lower case; some that are not are hidden as well.
const SECRET: [&str; 8] = ["password", "passwd", "token", "secret", "key", "credential", "jaas", "authparams"];

/// What a configuration says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shown {
    /// All of it, with anchors resolved, defaults filled in, and `hidden` for every password, token and key.
    pub configuration: Value,
    /// Paths of what the text leaves out, such as `api.port` and `features[0].ttl`; one of a mapping stands for all of it.
    pub defaults: Vec<String>,
    /// Paths of what comes from variables of the environment, with their names.
    pub environment: BTreeMap<String, String>,
}

impl Shown {
    /// Fills in a default of the program, unless something else stands under this path of keys.
    pub fn fill(&mut self, path: &[&str], value: Value) {
        let given = self.configuration.pointer(&format!("/{}", path.join("/")));
        if given.is_none_or(Value::is_null) {
            put(&mut self.configuration, path, value);
            self.defaults.push(path.join("."));
        }
    }
}

/// What a text says together with an environment; nothing where the text is no YAML.
pub fn shown(text: &str, environment: &Environment) -> Shown {
    let nothing = |root: &Node| matches!(&root.data, Data::Scalar { text, plain: true } if scalar::is_null(text));
    let root = tree::parse(text).and_then(|root| if nothing(&root) { tree::parse("{}") } else { Ok(root) });
    let Ok(root) = root else { return Shown::default() };
    let (report, config) = read_whole(&root);
    let mut filler = Filler { left_out: report.into_left_out(), defaults: Vec::new() };
    let mut configuration = filler.value(&root, "");
    let mut named = BTreeMap::new();
    for (path, value, variable) in environment.replaced(&config) {
        put(&mut configuration, &path, value);
        let path = path.join(".");
        filler.defaults.retain(|default| *default != path);
        named.insert(path, variable.to_owned());
    }
    Shown { configuration, defaults: filler.defaults, environment: named }
}

/// Puts a value under a path of keys, whose mappings need not be there.
fn put(at: &mut Value, path: &[&str], value: Value) {
    let Some((key, rest)) = path.split_first() else { return *at = value };
    if !at.is_object() {
        *at = json!({});
    }
    if let Value::Object(entries) = at {
        put(entries.entry(*key).or_insert(Value::Null), rest, value);
    }
}

/// Turns nodes into JSON, with what was left out of each mapping.
struct Filler {
    left_out: BTreeMap<String, BTreeMap<&'static str, LeftOut>>,
    defaults: Vec<String>,
}

impl Filler {
    fn value(&mut self, node: &Node, path: &str) -> Value {
        match &node.data {
            Data::Scalar { text, plain } => scalar_of(text, *plain),
            Data::List(items) => {
                items.iter().enumerate().map(|(at, item)| self.value(item, &format!("{path}[{at}]"))).collect()
            }
            Data::Map(entries) => self.section(entries, path),
        }
    }

    /// A mapping: first what the text says, then what it leaves out.
    fn section(&mut self, entries: &[tree::Entry], path: &str) -> Value {
        let mut all = Map::new();
        for entry in entries {
            let value = self.value(&entry.node, &below(path, &entry.key));
            all.insert(entry.key.clone(), if is_secret(&entry.key) { hidden(&entry.node, value) } else { value });
        }
        for (key, what) in self.left_out.remove(path).unwrap_or_default() {
            let path = below(path, key);
            let value = match what {
                LeftOut::Value(value) => value,
                LeftOut::Section => self.section(&[], &path),
            };
            if value.is_null() || value.as_object().is_some_and(Map::is_empty) {
                continue; // there is nothing that would stand there
            }
            if !self.defaults.iter().any(|default| default.starts_with(&format!("{path}."))) {
                self.defaults.push(path);
            }
            all.insert(key.to_owned(), value);
        }
        all.into()
    }
}

/// The path that messages have for a key.
fn below(path: &str, key: &str) -> String {
    let key = path_of_key(key);
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

fn is_secret(key: &str) -> bool {
    let key = key.to_lowercase();
    SECRET.iter().any(|part| key.contains(part))
}

/// Nothing is no secret, and says that none is set. A mapping has names of its own, such as those of models.
fn hidden(node: &Node, value: Value) -> Value {
    match (&node.data, value) {
        (Data::Map(_), shown) | (_, shown @ Value::Null) => shown,
        _ => HIDDEN.into(),
    }
}

/// Booleans are those of JSON; other spellings stay as they are written.
fn scalar_of(text: &str, plain: bool) -> Value {
    match text {
        _ if !plain => without_login(text).into(),
        "" | "~" | "null" => Value::Null,
        "true" => true.into(),
        "false" => false.into(),
        _ => match (text.parse::<i64>(), scalar::number(text)) {
            (Ok(whole), _) => whole.into(),
            (_, Some(number)) => json!(number),
            _ => without_login(text).into(),
        },
    }
}

/// An address without the user and password before its host; any other text as it is.
fn without_login(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest[..end].rsplit_once('@') {
        Some((login, _)) => format!("{scheme}://{HIDDEN}@{}", &rest[login.len() + 1..]),
        None => text.to_owned(),
    }
}
