//! Which fields that features refer to were never seen in the data: most often a misspelt name.

use crate::effect::IMPRESSION;
use compact_str::CompactString;
use rankwright_config::feature::{Entity, Kind, Source};
use rankwright_config::model::{Model, Selector};
use rankwright_config::{Config, Feature};
use rankwright_event::{Event, Field, Value};
use std::collections::{HashMap, HashSet};

/// At most this many names outside the configuration are kept: of fields, and of types of interactions.
const MOST: usize = 1000;

/// Names of fields, as events carry them, each with whether it held a list of several strings.
type Fields = HashMap<CompactString, bool, foldhash::fast::RandomState>;

/// What events carry.
#[derive(Debug)]
pub struct Coverage {
    item: Fields,
    user: Fields,
    ranking: Fields,
    /// Fields of items of rankings.
    shown: Fields,
    /// Fields of interactions, by their type.
    interactions: HashMap<CompactString, Fields, foldhash::fast::RandomState>,
    names: Names,
}

/// Which names are kept, so that memory is bounded whatever events carry.
#[derive(Debug)]
struct Names {
    /// Those of the configuration always are,
    configured: HashSet<CompactString, foldhash::fast::RandomState>,
    /// others as long as there is room.
    room: usize,
    /// Values of fields that there was no room for.
    beyond: u64,
}

impl Names {
    fn of(config: &Config) -> Self {
        let mut configured = HashSet::default();
        let mut add = |name: &str| {
            configured.insert(CompactString::from(name));
        };
        for feature in &config.features {
            for source in feature.kind.sources() {
                add(&source.field);
                if let Entity::Interaction(Some(kind)) = &source.entity {
                    add(kind);
                }
            }
            feature.kind.interactions().into_iter().for_each(&mut add);
        }
        for model in config.models.values() {
            model.interactions().1.into_iter().for_each(&mut add);
            model.exclude_seen().into_iter().flat_map(|seen| &seen.interactions).for_each(|kind| add(kind));
            model.stored_fields().0.iter().for_each(|field| add(field));
            selected(model).into_iter().for_each(|(_, field)| add(field));
        }
        Self { configured, room: MOST, beyond: 0 }
    }

    /// Whether one more name is kept.
    fn takes(&mut self, name: &str) -> bool {
        let (is_configured, has_room) = (self.configured.contains(name), self.room > 0);
        self.room -= usize::from(!is_configured && has_room);
        is_configured || has_room
    }

    fn note(&mut self, known: &mut Fields, fields: &[Field]) {
        for field in fields {
            let is_list = matches!(&field.value, Value::Texts(texts) if texts.len() > 1);
            match known.get_mut(&field.name) {
                Some(known) => *known |= is_list,
                None if self.takes(&field.name) => drop(known.insert(field.name.clone(), is_list)),
                None => self.beyond += 1,
            }
        }
    }
}

impl Coverage {
    /// Nothing is seen yet. It is for questions about this configuration.
    pub fn of(config: &Config) -> Self {
        Self {
            item: Fields::default(),
            user: Fields::default(),
            ranking: Fields::default(),
            shown: Fields::default(),
            interactions: HashMap::default(),
            names: Names::of(config),
        }
    }

    /// Looks at one event.
    pub fn see(&mut self, event: &Event) {
        match event {
            Event::Item(update) => self.names.note(&mut self.item, &update.fields),
            Event::User(update) => self.names.note(&mut self.user, &update.fields),
            Event::Ranking(ranking) => {
                self.names.note(&mut self.ranking, &ranking.fields);
                ranking.items.iter().for_each(|item| self.names.note(&mut self.shown, &item.fields));
            }
            Event::Interaction(interaction) => {
                let fields = match self.interactions.get_mut(&interaction.kind) {
                    Some(known) => known,
                    None if self.names.takes(&interaction.kind) => {
                        self.interactions.entry(interaction.kind.clone()).or_default()
                    }
                    None => return self.names.beyond += interaction.fields.len() as u64,
                };
                self.names.note(fields, &interaction.fields);
            }
        }
    }

    /// Values of fields that were not looked at, because events carry too many different ones.
    pub fn beyond(&self) -> u64 {
        self.names.beyond
    }

    /// One line for each feature, weight and selector that refers to a field or an interaction that no event carried, and
    /// for each feature that reads only a part of what events carried.
    pub fn gaps(&self, config: &Config) -> Vec<String> {
        self.missing(config).into_iter().chain(self.partly(config)).collect()
    }

    /// One line for each feature that reads only a part of what events carried.
    pub fn partly(&self, config: &Config) -> Vec<String> {
        let partly = |(path, feature): (usize, &Feature)| {
            let source = self.cut(&feature.kind)?;
            Some(format!(
                "features[{path}] '{}' reads {source} by index: only the first element of a list counts; encode: onehot reads all",
                feature.name
            ))
        };
        config.features.iter().enumerate().filter_map(partly).collect()
    }

    /// One line for each feature, weight and selector that refers to a field or an interaction that no event carried.
    pub fn missing(&self, config: &Config) -> Vec<String> {
        let gap = |(path, feature): (usize, &Feature)| {
            let prefix = format!("features[{path}] '{}'", feature.name);
            let unseen = self.unseen(&feature.kind);
            unseen.into_iter().map(move |what| format!("{prefix} refers to {what}, which no event carried"))
        };
        let weights = config.models.iter().flat_map(|(name, model)| self.unweighted(name, model));
        let unselected = |(name, model): (&String, &Model)| {
            let unseen = selected(model).into_iter().filter(|(_, field)| !self.ranking.contains_key(*field));
            let text = |(key, field)| format!("models.{name}.{key} refers to ranking.{field}, which no event carried");
            unseen.map(text).collect::<Vec<_>>()
        };
        let selectors = config.models.iter().flat_map(unselected);
        let texts = config.models.iter().flat_map(|(name, model)| self.untold(name, model));
        let seen = config.models.iter().flat_map(|(name, model)| self.untaken(name, model));
        config
            .features
            .iter()
            .enumerate()
            .flat_map(gap)
            .chain(weights)
            .chain(selectors)
            .chain(texts)
            .chain(seen)
            .collect()
    }

    /// Fields that a model is trained on: those of item events alone, as what a ranking sends is not stored.
    fn untold<'a>(&'a self, name: &'a str, model: &'a Model) -> impl Iterator<Item = String> + 'a {
        let fields = model.stored_fields().0.iter().filter(|field| !self.item.contains_key(field.as_str()));
        fields.map(move |field| format!("models.{name}.itemFields refers to item.{field}, which no item event carried"))
    }

    /// Interactions of `excludeSeen` that never happened, besides those that the model learns from.
    fn untaken<'a>(&'a self, name: &'a str, model: &'a Model) -> impl Iterator<Item = String> + 'a {
        let (_, counted) = model.interactions();
        let named = model.exclude_seen().into_iter().flat_map(|seen| &seen.interactions);
        let unseen = named.filter(move |kind| !counted.contains(&kind.as_str()) && !self.interacted(kind));
        unseen.map(move |kind| {
            format!("models.{name}.excludeSeen refers to the interaction '{kind}', which no event carried")
        })
    }

    /// Fields that events carried and nothing of the configuration reads, in order; of very many, the first ones that came.
    pub fn unused(&self, config: &Config) -> Vec<String> {
        let sources: Vec<Source> = config.features.iter().flat_map(|feature| feature.kind.sources()).collect();
        let embedded =
            |field: &str| config.models.values().any(|model| model.stored_fields().0.iter().any(|name| name == field));
        let selected: Vec<&str> = config.models.values().flat_map(selected).map(|(_, field)| field).collect();
        let interactions = self.interactions.iter();
        let interactions = interactions.map(|(kind, fields)| (Entity::Interaction(Some(kind.to_string())), fields));
        let ranking = [(Entity::Ranking, &self.ranking), (Entity::Ranking, &self.shown)];
        let carried = [(Entity::Item, &self.item), (Entity::User, &self.user)].into_iter().chain(ranking);
        let mut unused = Vec::new();
        for (entity, fields) in carried.chain(interactions) {
            let is_of = |carrier: &Fields| std::ptr::eq(carrier, fields);
            let reads = |source: &Source| self.carriers(source).into_iter().any(is_of);
            for field in fields.keys() {
                let is_selected = is_of(&self.ranking) && selected.contains(&field.as_str());
                let is_embedded = is_of(&self.item) && embedded(field);
                let is_read = || sources.iter().any(|source| source.field == field.as_str() && reads(source));
                if !is_selected && !is_embedded && !is_read() {
                    unused.push(Source { entity: entity.clone(), field: field.to_string() }.to_string());
                }
            }
        }
        unused.sort();
        unused.dedup(); // a ranking and its items may carry the same
        unused
    }

    fn unweighted<'a>(&'a self, name: &'a str, model: &'a Model) -> impl Iterator<Item = String> + 'a {
        let (key, kinds) = model.interactions();
        let unseen = kinds.into_iter().filter(|kind| !self.interacted(kind));
        unseen
            .map(move |kind| format!("models.{name}.{key} refers to the interaction '{kind}', which no event carried"))
    }

    fn interacted(&self, kind: &str) -> bool {
        self.interactions.contains_key(kind)
    }

    /// The list of which a feature reads the first element alone.
    fn cut(&self, kind: &Kind) -> Option<String> {
        let source = kind.cut()?;
        let is_list = |fields: &Fields| fields.get(source.field.as_str()) == Some(&true);
        self.carriers(source).into_iter().any(is_list).then(|| source.to_string())
    }

    fn unseen(&self, kind: &Kind) -> Vec<String> {
        // of others a warning of the configuration says already that their value is always missing
        let can_read = |source: &Source| match source.entity {
            Entity::Interaction(_) | Entity::Any => matches!(kind, Kind::Referer(_)),
            Entity::Item | Entity::User | Entity::Ranking => true,
        };
        let read = kind.sources().into_iter().filter(can_read);
        let sources = read.filter(|source| !self.knows(source)).map(|source| source.to_string());
        let unseen = |kind: &&str| *kind != IMPRESSION && !self.interacted(kind);
        let interactions = kind.interactions().into_iter().filter(unseen);
        sources.chain(interactions.map(|kind| format!("the interaction '{kind}'"))).collect()
    }

    fn knows(&self, source: &Source) -> bool {
        // every item has an id
        let is_id = source.entity == Entity::Item && source.field == "id";
        is_id || self.carriers(source).into_iter().any(|fields| fields.contains_key(source.field.as_str()))
    }

    /// Fields of those events that may carry what a feature reads.
    fn carriers(&self, source: &Source) -> Vec<&Fields> {
        match &source.entity {
            // a field sent with an item of a ranking takes the place of the stored one
            Entity::Item => vec![&self.item, &self.shown],
            Entity::User => vec![&self.user],
            Entity::Ranking => vec![&self.ranking, &self.shown],
            Entity::Interaction(None) => self.interactions.values().collect(),
            Entity::Interaction(Some(of)) => self.interactions.get(of.as_str()).into_iter().collect(),
            Entity::Any => {
                [&self.user, &self.ranking, &self.shown].into_iter().chain(self.interactions.values()).collect()
            }
        }
    }
}

/// Fields of rankings that a model is chosen events by, each with the key that names it.
fn selected(model: &Model) -> Vec<(&'static str, &str)> {
    let selector = model.learning().map(|learning| &learning.selector);
    let selected = selector.into_iter().flat_map(fields).map(|field| ("selector", field));
    let split = model.split().and_then(|split| split.field());
    selected.chain(split.map(|field| ("split", field.name.as_str()))).collect()
}

fn fields(selector: &Selector) -> Vec<&str> {
    match selector {
        Selector::Field { ranking_field, .. } => vec![ranking_field],
        Selector::And(parts) | Selector::Or(parts) => parts.iter().flat_map(fields).collect(),
        Selector::Not(part) => fields(part),
        _ => vec![],
    }
}

#[cfg(test)]
mod tests;
