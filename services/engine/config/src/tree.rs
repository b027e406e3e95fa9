//! The text as a tree whose every node knows its line and column.
//!
//! Scalars stay text here: whether `on` is a boolean or the name of an interaction is decided by whoever reads it.
//! Anchors, aliases and merge keys (`<<`) are resolved. Size and depth are bounded, so that a few lines of nested
//! aliases cannot fill the memory.

use crate::error::Mistake;
use serde_saphyr::granit_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, Tag, options};
use std::collections::HashMap;

const MAX_DEPTH: usize = 64;
/// Bytes of text, with a flat charge for each node, aliases counted each time.
const MAX_COST: usize = 128 << 20;
const NODE_COST: usize = 64;

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
            Data::Map(entries) => Data::Map(merged(entries)?),
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
        let too_large = mistake(place, "the configuration is too large, its aliases written out", "at most 128 MiB");
        if self.cost > MAX_COST { Err(too_large) } else { Ok(()) }
    }
}

fn key_of(node: Node) -> Result<(String, Place), Mistake> {
    match node.data {
        Data::Scalar { text, .. } => Ok((text, node.place)),
        _ => Err(mistake(node.place, "a key is a list or a mapping", "keys that are text")),
    }
}

/// Resolves merge keys: what they bring gives way to what is written beside them.
fn merged(entries: Vec<Entry>) -> Result<Vec<Entry>, Mistake> {
    let (merges, mut own): (Vec<_>, Vec<_>) = entries.into_iter().partition(|entry| entry.key == "<<");
    for merge in merges {
        let sources = match merge.node.data {
            Data::List(items) => items,
            _ => vec![merge.node],
        };
        for source in sources {
            let Data::Map(brought) = source.data else {
                return Err(mistake(
                    source.place,
                    "`<<` merges something else than a mapping",
                    "an alias of a mapping",
                ));
            };
            let missing = |entry: &Entry| !own.iter().any(|present| present.key == entry.key);
            let brought: Vec<_> = brought.into_iter().filter(missing).collect();
            own.extend(brought);
        }
    }
    Ok(own)
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

fn own_cost(node: &Node) -> usize {
    match &node.data {
        Data::Scalar { text, .. } => NODE_COST + text.len(),
        Data::List(_) => NODE_COST,
        Data::Map(entries) => NODE_COST + entries.iter().map(|entry| NODE_COST + entry.key.len()).sum::<usize>(),
    }
}

fn cost(node: &Node) -> usize {
    own_cost(node) + children(node).map(cost).sum::<usize>()
}

fn depth(node: &Node) -> usize {
    match &node.data {
        Data::Scalar { .. } => 0,
        _ => 1 + children(node).map(depth).max().unwrap_or(0),
    }
}

fn children(node: &Node) -> Box<dyn Iterator<Item = &Node> + '_> {
    match &node.data {
        Data::Scalar { .. } => Box::new(std::iter::empty()),
        Data::List(items) => Box::new(items.iter()),
        Data::Map(entries) => Box::new(entries.iter().map(|entry| &entry.node)),
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
