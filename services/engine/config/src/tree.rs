//! The text as a tree whose every node knows its line and column.
//!
//! Scalars stay text here: the reader decides whether `on` is a boolean or the name of an interaction.
//! Anchors, aliases and merge keys (`<<`) are resolved. Size and depth are bounded, so that a few lines of nested
//! aliases cannot fill the memory.

mod measure;
mod merge;
mod twice;

use crate::error::Mistake;
use measure::{cost, depth, own_cost};
use merge::merged;
use serde_saphyr::granit_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, Tag, options};
use std::collections::HashMap;
use twice::joined;
pub(crate) use twice::with_last;

const MAX_DEPTH: usize = 64;
/// Bytes of text, with a flat charge for each node, aliases counted each time.
const MAX_COST: usize = 32 << 20;

/// Line and column, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// A value with its place.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) data: Data,
}

/// What a value is.
#[derive(Debug, Clone)]
pub(crate) enum Data {
    /// Text; `plain` where it had no quotes, so that it may stand for a number, a boolean or nothing.
    Scalar {
        text: String,
        plain: bool,
    },
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key and its value; a key may come twice.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) place: Place,
    pub(crate) node: Node,
}

/// Reads one document. An empty one is a plain scalar without text.
pub(crate) fn parse(text: &str) -> Result<Node, Mistake> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut builder = Builder::default();
    for event in Parser::new_from_str_with_options(text, options! { emit_comments: false }) {
        let (event, span) = event.map_err(syntax)?;
        builder.take(event, span)?;
    }
    let nothing = Node { place: Place { line: 1, column: 1 }, data: Data::Scalar { text: String::new(), plain: true } };
    Ok(builder.root.unwrap_or(nothing))
}

/// A collection whose end has not come yet.
struct Open {
    place: Place,
    anchor: usize,
    data: Data,
    key: Option<(String, Place)>,
}

#[derive(Default)]
struct Builder {
    root: Option<Node>,
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    cost: usize,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), Mistake> {
        let place = place(&span.start);
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain && !is_text(tag.as_deref(), place)?;
                self.finish(Node { place, data: Data::Scalar { text: text.into_owned(), plain } }, anchor)
            }
            Event::SequenceStart(_, anchor, tag) => self.begin(place, anchor, tag.as_deref(), Data::List(Vec::new())),
            Event::MappingStart(_, anchor, tag) => self.begin(place, anchor, tag.as_deref(), Data::Map(Vec::new())),
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::Alias(anchor) => self.alias(anchor, place),
            Event::DocumentStart(..) if self.root.is_some() => {
                Err(mistake(place, "a second document begins here", "one document"))
            }
            _ => Ok(()),
        }
    }

    fn begin(&mut self, place: Place, anchor: usize, tag: Option<&Tag>, data: Data) -> Result<(), Mistake> {
        is_text(tag, place)?;
        if self.open.len() >= MAX_DEPTH {
            return Err(too_deep(place));
        }
        self.open.push(Open { place, anchor, data, key: None });
        Ok(())
    }

    fn end(&mut self) -> Result<(), Mistake> {
        let Some(Open { place, anchor, data, .. }) = self.open.pop() else { return Ok(()) };
        let data = match data {
            Data::Map(entries) => Data::Map(joined(merged(entries)?)),
            other => other,
        };
        self.finish(Node { place, data }, anchor)
    }

    fn alias(&mut self, anchor: usize, place: Place) -> Result<(), Mistake> {
        let Some(target) = self.anchors.get(&anchor) else {
            return Err(mistake(
                place,
                "this alias stands inside of what it refers to",
                "an alias of an earlier value",
            ));
        };
        self.cost = self.cost.saturating_add(cost(target));
        if self.open.len() + depth(target) > MAX_DEPTH {
            return Err(too_deep(place));
        }
        self.check_cost(place)?;
        let node = Node { place, ..target.clone() };
        self.attach(node)
    }

    fn finish(&mut self, node: Node, anchor: usize) -> Result<(), Mistake> {
        self.cost = self.cost.saturating_add(own_cost(&node));
        self.check_cost(node.place)?;
        if anchor != 0 {
            self.cost = self.cost.saturating_add(cost(&node));
            self.anchors.insert(anchor, node.clone());
        }
        self.attach(node)
    }

    fn attach(&mut self, node: Node) -> Result<(), Mistake> {
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(Open { data: Data::List(items), .. }) => items.push(node),
            Some(Open { data: Data::Map(entries), key, .. }) => match key.take() {
                Some((key, place)) => entries.push(Entry { key, place, node }),
                None => *key = Some(key_of(node)?),
            },
            Some(Open { data: Data::Scalar { .. }, .. }) => {}
        }
        Ok(())
    }

    fn check_cost(&self, place: Place) -> Result<(), Mistake> {
        let too_large = mistake(place, "the configuration is too large, its aliases written out", "at most 32 MiB");
        if self.cost > MAX_COST { Err(too_large) } else { Ok(()) }
    }
}

fn key_of(node: Node) -> Result<(String, Place), Mistake> {
    match node.data {
        Data::Scalar { text, .. } => Ok((text, node.place)),
        _ => Err(mistake(node.place, "a key is a list or a mapping", "keys that are text")),
    }
}

/// Whether a tag makes its scalar a text; tags of other kinds than YAML's own are refused.
fn is_text(tag: Option<&Tag>, place: Place) -> Result<bool, Mistake> {
    match tag {
        None => Ok(false),
        Some(tag) if tag.handle() == "tag:yaml.org,2002:" || tag.handle() == "!!" => Ok(tag.suffix() == "str"),
        Some(tag) if tag.suffix().is_empty() => Ok(true), // the lone `!` of YAML: not plain
        Some(_) => Err(mistake(place, "this value has a tag (`!`)", "values without tags")),
    }
}

fn place(marker: &Marker) -> Place {
    Place { line: marker.line().max(1), column: marker.col() + 1 }
}

fn syntax(error: ScanError) -> Mistake {
    let problem = format!("this is not YAML: {}", error.info());
    mistake(place(error.marker()), &problem, "YAML or JSON, indented with spaces")
}

fn too_deep(place: Place) -> Mistake {
    mistake(place, "lists and mappings are nested too deeply", "at most 64 levels")
}

fn mistake(place: Place, problem: &str, accepted: &str) -> Mistake {
    Mistake {
        line: place.line,
        column: place.column,
        path: String::new(),
        problem: problem.to_owned(),
        accepted: Some(accepted.to_owned()),
        nearest: None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// The nodes of a text in short: `+` for plain scalars, `"` for quoted ones.
    fn short(node: &Node) -> String {
        match &node.data {
            Data::Scalar { text, plain: true } => format!("+{text}"),
            Data::Scalar { text, plain: false } => format!("\"{text}"),
            Data::List(items) => format!("[{}]", items.iter().map(short).collect::<Vec<_>>().join(" ")),
            Data::Map(entries) => {
                let entry = |entry: &Entry| format!("{}={}", entry.key, short(&entry.node));
                format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(" "))
            }
        }
    }

    #[test]
    fn scalars_keep_their_text_and_whether_they_were_quoted() {
        let tree = parse("a: on\nb: 'on'\nc: !!str 5\nd: 010\ne:\nf: |\n  x").unwrap();
        assert_eq!(short(&tree), "{a=+on b=\"on c=\"5 d=+010 e=+~ f=\"x\n}");
    }

    #[test]
    fn what_is_merged_gives_way_to_what_is_written() {
        let tree = parse("x: &x {a: 1, b: 2}\ny: &y {a: 3, c: 4}\nz: {<<: [*x, *y], b: 5}").unwrap();
        assert!(short(&tree).ends_with("z={b=+5 a=+1 c=+4}}"), "{}", short(&tree));
    }

    #[test]
    fn every_node_knows_its_place() {
        let tree = parse("a:\n  - b: c\n").unwrap();
        let Data::Map(entries) = &tree.data else { panic!() };
        let Data::List(items) = &entries[0].node.data else { panic!() };
        let Data::Map(inner) = &items[0].data else { panic!() };
        assert_eq!(inner[0].place, Place { line: 2, column: 5 });
        assert_eq!(inner[0].node.place, Place { line: 2, column: 8 });
    }

    #[test]
    fn an_empty_text_is_nothing() {
        assert_eq!(["", "# a comment\n", "---\n"].map(|text| short(&parse(text).unwrap())), ["+", "+", "+~"]);
    }
}
