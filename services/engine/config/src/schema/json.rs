//! The JSON schema of a configuration (draft 7, which editors of YAML know), made of what its readers ask for.

use super::keys::NO_EFFECT;
use super::place::Place;
use super::scalar;
use super::shape::{Property, Section, Shape};
use crate::feature::FEATURE_TYPES;
use crate::read;
use crate::trace::{Asked, read_all};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The JSON schema of a configuration.
pub fn document() -> Value {
    let mut whole = Shape::default();
    read_all(|root| drop(read::config(root)), |seen| whole.add(Shape::of(&seen, "")));
    let mut writer = Writer::default();
    let mut schema = writer.shape(&whole, &Place::default());
    schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    schema["title"] = json!("Configuration of Rankwright");
    schema["definitions"] = Value::Object(writer.definitions);
    schema
}

/// Writes schemas, and keeps those that others refer to by name.
#[derive(Default)]
struct Writer {
    definitions: Map<String, Value>,
}

impl Writer {
    fn shape(&mut self, shape: &Shape, place: &Place) -> Value {
        let mut ways: Vec<Value> =
            shape.asked.iter().filter(|asked| !is_vague(asked, shape)).filter_map(scalar::schema).collect();
        for asked in &shape.asked {
            match asked {
                Asked::One => ways.extend(shape.element.as_ref().map(|element| self.shape(element, place))),
                Asked::Again(name) => ways.push(reference(name)),
                _ => {}
            }
        }
        if let Some(element) = &shape.element {
            let least =
                shape.asked.iter().find_map(|asked| if let Asked::List(least) = asked { Some(*least) } else { None });
            ways.push(json!({"type": "array", "items": self.shape(element, place), "minItems": least}));
        }
        if let Some(named) = &shape.named {
            ways.push(json!({"type": "object", "additionalProperties": self.shape(named, place)}));
        }
        if !shape.sections.is_empty() {
            ways.push(self.sections(&shape.sections, place));
        }
        let schema = any_of(ways);
        match shape.name {
            Some(name) => {
                self.definitions.insert(name.to_owned(), schema);
                reference(name)
            }
            None => schema,
        }
    }

    /// One section, or several that the word under `type` tells apart.
    fn sections(&mut self, sections: &BTreeMap<Option<String>, Section>, place: &Place) -> Value {
        let mut kinds: Vec<(Vec<&str>, &Section)> = Vec::new();
        for (kind, section) in sections.iter().filter_map(|(kind, section)| Some((kind.as_deref()?, section))) {
            match kinds.iter_mut().find(|(words, known)| *known == section && means_same(section, words[0], kind)) {
                Some((words, _)) => words.push(kind),
                None => kinds.push((vec![kind], section)),
            }
        }
        let without = sections.get(&None);
        match (kinds.as_slice(), without) {
            ([], Some(section)) => self.section(section, place),
            ([(words, section)], _) => self.section(section, &place.of_type(words)),
            _ => self.kinds(&kinds, without, place),
        }
    }

    fn kinds(&mut self, kinds: &[(Vec<&str>, &Section)], without: Option<&Section>, place: &Place) -> Value {
        let required = kinds
            .iter()
            .all(|(_, section)| section.properties.iter().any(|key| key.name == "type" && key.is_required()));
        let words: Vec<&str> = kinds.iter().flat_map(|(words, _)| words.iter().copied()).collect();
        let mut ways: Vec<Value> = Vec::new();
        for (words, section) in kinds {
            let mut then = self.section(section, &place.of_type(words));
            then["properties"]["type"]["enum"] = json!(words);
            if let Some(of) = FEATURE_TYPES.iter().find(|of| words.contains(&of.name) && is_feature(section)) {
                then["description"] = json!(of.doc);
            }
            let of_kind = json!({"properties": {"type": {"enum": words}}, "required": ["type"]});
            ways.push(json!({"if": of_kind, "then": then}));
        }
        if let Some(section) = without.filter(|_| !required) {
            ways.push(json!({"if": {"not": {"required": ["type"]}}, "then": self.section(section, place)}));
        }
        let required = if required { vec!["type"] } else { vec![] };
        let of_type = json!({"enum": words, "description": place.text("type").map(sentence)});
        json!({"type": "object", "properties": {"type": of_type}, "required": required, "allOf": ways})
    }

    fn section(&mut self, section: &Section, place: &Place) -> Value {
        let mut properties = Map::new();
        let mut required: Vec<Value> = Vec::new();
        for property in &section.properties {
            let schema = self.property(property, place);
            let names: Vec<&str> = std::iter::once(property.name).chain(property.aliases.iter().copied()).collect();
            for alias in &property.aliases {
                let mut schema = schema.clone();
                schema["description"] = json!(format!("Another name of `{}`.", property.name));
                properties.insert((*alias).to_owned(), schema);
            }
            properties.insert(property.name.to_owned(), schema);
            if property.is_required() {
                let one = |name: &&str| json!({"required": [name]});
                required.push(any_of(names.iter().map(one).collect()));
            }
        }
        let mut schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
        if section.free {
            schema["patternProperties"] = json!({"^x-": true});
        }
        if !required.is_empty() {
            schema["allOf"] = Value::Array(required);
        }
        schema
    }

    fn property(&mut self, property: &Property, place: &Place) -> Value {
        if let Some(reason) = &property.ignored
            && property.shape.asked.is_empty()
        {
            return json!({"description": format!("Ignored: {reason}."), "deprecated": true});
        }
        let mut schema = self.shape(&property.shape, &place.below(property.name));
        if !property.is_required() {
            allow_nothing(&mut schema);
        }
        if let Some(text) = place.text(property.name) {
            if text.starts_with(NO_EFFECT) {
                schema["deprecated"] = json!(true);
            }
            let accepted = schema["description"]
                .as_str()
                .map_or_else(String::new, |accepted| format!(" Accepted: {}.", accepted.trim_end_matches('.')));
            schema["description"] = json!(format!("{}{accepted}", sentence(text)));
        }
        schema
    }
}

/// A text of [`KEYS`](super::KEYS) as a sentence without links, which editors show.
fn sentence(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('[') {
        let link = behind.split_once(']').and_then(|(label, behind)| {
            let (_, behind) = behind.strip_prefix('(')?.split_once(')')?;
            Some((label, behind))
        });
        let (label, behind) = link.unwrap_or(("[", behind));
        plain.extend([before, label]);
        rest = behind;
    }
    plain.push_str(rest);
    let (first, behind) = plain.split_at(plain.chars().next().map_or(0, char::len_utf8));
    let end = if plain.ends_with('.') { "" } else { "." };
    format!("{}{behind}{end}", first.to_uppercase())
}

/// A look at a scalar says less than what is asked of it afterwards.
fn is_vague(asked: &Asked, shape: &Shape) -> bool {
    *asked == Asked::Scalar && shape.asked.len() > 1
}

/// Whether two words under `type` are one: of features those of one type, else those with the same keys.
fn means_same(section: &Section, word: &str, other: &str) -> bool {
    let of_feature = |word: &str| FEATURE_TYPES.iter().position(|of| of.name == word || of.aliases.contains(&word));
    !is_feature(section) || of_feature(word) == of_feature(other)
}

/// Whether it has the keys that all features have.
fn is_feature(section: &Section) -> bool {
    ["name", "refresh", "ttl"].iter().all(|name| section.properties.iter().any(|key| key.name == *name))
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/definitions/{name}")})
}

fn any_of(mut ways: Vec<Value>) -> Value {
    match ways.len() {
        0 => json!({}),
        1 => ways.remove(0),
        _ => json!({"anyOf": ways}),
    }
}

/// A key with nothing after it is as good as none.
fn allow_nothing(schema: &mut Value) {
    let Value::Object(entries) = schema else { return };
    if entries.contains_key("allOf") || entries.contains_key("$ref") {
        *schema = json!({"anyOf": [schema.take(), {"type": "null"}]});
    } else if let Some(Value::Array(ways)) = entries.get_mut("anyOf") {
        ways.push(json!({"type": "null"}));
    } else if let Some(Value::Array(words)) = entries.get_mut("enum") {
        words.push(Value::Null);
    } else if let Some(kind) = entries.get_mut("type") {
        match kind {
            Value::Array(kinds) => kinds.push(json!("null")),
            kind => *kind = json!([kind, "null"]),
        }
    }
}
