//! What may stand somewhere, put together from what all readings have seen there.

use crate::trace::{ANY_NAME, Asked, Key, Seen};
use std::collections::{BTreeMap, BTreeSet};

/// What may stand somewhere.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Shape {
    pub(super) asked: BTreeSet<Asked>,
    /// An element of the list that it may be.
    pub(super) element: Option<Box<Shape>>,
    /// A value of the mapping that it may be, whose keys the author chooses.
    pub(super) named: Option<Box<Shape>>,
    /// The sections that it may be, by the word under `type`, where there is one.
    pub(super) sections: BTreeMap<Option<String>, Section>,
    /// By which it is known inside of itself.
    pub(super) name: Option<&'static str>,
}

/// A section with its keys, in the order in which they are read.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Section {
    pub(super) properties: Vec<Property>,
    /// Whether keys may stand here that begin with `x-`.
    pub(super) free: bool,
}

/// A key of a section.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Property {
    pub(super) name: &'static str,
    pub(super) aliases: Vec<&'static str>,
    /// Whether some reading says that it must be there.
    required: bool,
    /// Whether some reading does without it.
    spared: bool,
    /// Why it does nothing, if so.
    pub(super) ignored: Option<String>,
    pub(super) shape: Shape,
}

impl Shape {
    /// What one reading has seen at a path and below it.
    pub(super) fn of(seen: &BTreeMap<String, Seen>, path: &str) -> Self {
        let Some(here) = seen.get(path) else { return Self::default() };
        let below = |path: String, asked: bool| asked.then(|| Box::new(Self::of(seen, &path)));
        let lists = here.asked.iter().any(|asked| matches!(asked, Asked::List(_)));
        let mut sections = BTreeMap::new();
        if here.asked.contains(&Asked::Section) {
            let property = |key| Property::of(key, seen, path);
            let properties = here.keys.iter().map(property).collect();
            sections.insert(here.kind.clone(), Section { properties, free: here.free });
        }
        Self {
            asked: here.asked.clone(),
            element: below(format!("{path}[0]"), lists),
            named: below(format!("{path}.{ANY_NAME}"), here.asked.contains(&Asked::Named)),
            sections,
            name: here.name,
        }
    }

    /// Adds what another reading has seen.
    pub(super) fn add(&mut self, other: Self) {
        self.asked.extend(other.asked);
        add_boxed(&mut self.element, other.element);
        add_boxed(&mut self.named, other.named);
        self.name = self.name.or(other.name);
        for (kind, section) in other.sections {
            self.sections.entry(kind).or_default().add(section);
        }
    }
}

fn add_boxed(shape: &mut Option<Box<Shape>>, other: Option<Box<Shape>>) {
    match (shape, other) {
        (Some(shape), Some(other)) => shape.add(*other),
        (shape, other) => *shape = shape.take().or(other),
    }
}

impl Section {
    fn add(&mut self, other: Self) {
        self.free |= other.free;
        for property in other.properties {
            match self.properties.iter_mut().find(|known| known.name == property.name) {
                Some(known) => known.add(property),
                None => self.properties.push(property),
            }
        }
    }
}

impl Property {
    fn of(key: &Key, seen: &BTreeMap<String, Seen>, section: &str) -> Self {
        let path = if section.is_empty() { key.name.to_owned() } else { format!("{section}.{}", key.name) };
        Self {
            name: key.name,
            aliases: key.aliases.clone(),
            required: key.required,
            spared: key.ignored.is_some() || key.absent && !key.required,
            ignored: key.ignored.clone(),
            shape: Shape::of(seen, &path),
        }
    }

    fn add(&mut self, other: Self) {
        if self.aliases.is_empty() {
            self.aliases = other.aliases;
        }
        self.required |= other.required;
        self.spared |= other.spared;
        self.ignored = self.ignored.take().or(other.ignored);
        self.shape.add(other.shape);
    }

    /// Whether it must be there.
    pub(super) fn is_required(&self) -> bool {
        self.required && !self.spared
    }
}
