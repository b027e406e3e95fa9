//! What one reading has seen at one path.

use std::collections::BTreeSet;

/// What a reader asks of a value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Asked {
    /// Whatever there is.
    Anything,
    /// Any scalar, as a text.
    Text,
    /// A whole number in a range.
    Whole(u64, u64),
    /// A number, which is accepted where these words hold.
    Number(String),
    /// True or false.
    Boolean,
    /// A duration.
    Duration,
    /// One of these words.
    Words(Vec<String>),
    /// A text of a form that the first describes; the others are such texts.
    Spelled(String, Vec<String>),
    /// A URL that begins with one of these.
    Url(Vec<String>),
    /// Any scalar, unless something more is asked.
    Scalar,
    /// A list of at least this many elements.
    List(usize),
    /// One element that stands for a list.
    One,
    /// A mapping whose keys the author chooses.
    Named,
    /// A mapping of known keys.
    Section,
    /// The section of this name that it is in.
    Again(&'static str),
}

/// What was seen of a value, and of its keys where it is a section.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    pub(crate) asked: BTreeSet<Asked>,
    pub(crate) keys: Vec<Key>,
    /// The word under `type`.
    pub(crate) kind: Option<String>,
    /// By which the same section inside of it is known.
    pub(crate) name: Option<&'static str>,
    /// Whether keys may stand here that begin with `x-`.
    pub(crate) free: bool,
}

/// A key of a section.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) aliases: Vec<&'static str>,
    /// Whether it must be there.
    pub(crate) required: bool,
    /// Why it does nothing, if so.
    pub(crate) ignored: Option<String>,
    /// Whether this reading did without it.
    pub(crate) absent: bool,
}

impl Seen {
    /// The key of this name, which is new or known.
    pub(super) fn key(&mut self, name: &'static str) -> &mut Key {
        let is_it = |key: &Key| key.name == name || key.aliases.contains(&name);
        let place = self.keys.iter().position(is_it).unwrap_or_else(|| {
            self.keys.push(Key { name, ..Key::default() });
            self.keys.len() - 1
        });
        &mut self.keys[place]
    }
}
