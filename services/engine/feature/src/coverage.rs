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
mod tests {
    use super::*;

    fn gaps(feature: &str, events: &[&str]) -> Vec<String> {
        gaps_of(&format!("features:\n  - {feature}\nmodels:\n  none: {{type: noop}}\n"), events)
    }

    fn gaps_of(text: &str, events: &[&str]) -> Vec<String> {
        let (config, _) = Config::parse(text, "test").expect("a valid configuration");
        let mut coverage = Coverage::of(&config);
        let decode = |line: &&str| rankwright_event::json::decode(line.as_bytes()).expect("a valid event");
        events.iter().map(decode).for_each(|event| coverage.see(&event));
        coverage.gaps(&config)
    }

    const FILM: &str =
        r#"{"event":"item","id":"e","timestamp":"1","item":"a","fields":[{"name":"genres","value":["x"]}]}"#;

    #[test]
    fn a_field_that_no_item_has_is_told() {
        let rate =
            "{name: ctr, type: rate, top: click, bottom: impression, bucket: 1d, periods: [7], scope: item.genre}";
        let click = r#"{"event":"interaction","id":"c","timestamp":"1","type":"click","item":"a"}"#;
        assert_eq!(gaps(rate, &[FILM, click]), ["features[0] 'ctr' refers to item.genre, which no event carried"]);
    }

    #[test]
    fn an_interaction_that_never_happened_is_told() {
        let count = "{name: n, type: interaction_count, interaction: clik, scope: item}";
        assert_eq!(gaps(count, &[FILM]), ["features[0] 'n' refers to the interaction 'clik', which no event carried"]);
    }

    #[test]
    fn a_weight_of_an_interaction_that_never_happened_is_told() {
        let model = "models: {m: {type: lambdamart, weights: {click: 1, clik: 2}, features: [relevance]}}\n\
                     features: [{name: relevance, type: relevancy}]";
        let click = r#"{"event":"interaction","id":"c","timestamp":"1","type":"click","item":"a"}"#;
        let gaps = gaps_of(model, &[click]);
        assert!(gaps.contains(&"models.m.weights refers to the interaction 'clik', which no event carried".to_owned()));
        assert!(!gaps.iter().any(|gap| gap.contains("'click'")), "{gaps:?}");
    }

    #[test]
    fn a_field_that_a_selector_or_a_split_waits_for_is_told() {
        let model = "models: {m: {type: lambdamart, features: [p], split: 'field=categori:a:b', \
                     selector: {not: {rankingField: categori, value: shoes}}}}\n\
                     features: [{name: p, type: position, position: 1}]";
        let shown = |field: &str| {
            format!(
                r#"{{"event":"ranking","id":"r","timestamp":"1","user":"u","session":"s","fields":[{{"name":"{field}","value":"x"}}],"items":[{{"id":"a"}}]}}"#
            )
        };
        let told = gaps_of(model, &[&shown("category")]);
        let told_of = |key: &str| format!("models.m.{key} refers to ranking.categori, which no event carried");
        assert_eq!(told, [told_of("selector"), told_of("split")]);
        assert!(gaps_of(model, &[&shown("categori")]).is_empty());
    }

    #[test]
    fn a_field_that_no_interaction_has_is_told() {
        let click = |field: &str| {
            format!(
                r#"{{"event":"interaction","id":"c","timestamp":"1","type":"click","item":"a","fields":[{{"name":"{field}","value":"x"}}]}}"#
            )
        };
        let medium = "{name: m, type: referer, source: interaction.ref}";
        assert_eq!(
            gaps(medium, &[&click("other")]),
            ["features[0] 'm' refers to interaction.ref, which no event carried"]
        );
        assert!(gaps(medium, &[&click("ref")]).is_empty());
    }

    #[test]
    fn a_field_of_interactions_of_one_type_is_looked_for_among_them() {
        let click = r#"{"event":"interaction","id":"c","timestamp":"1","type":"click","item":"a","fields":[{"name":"ref","value":"x"}]}"#;
        let medium = |source: &str| gaps(&format!("{{name: m, type: referer, source: '{source}'}}"), &[click]);
        assert!(medium("interaction:click.ref").is_empty());
        assert!(medium("*.ref").is_empty());
        let told = medium("interaction:like.ref");
        assert_eq!(told, ["features[0] 'm' refers to interaction:like.ref, which no event carried"]);
        assert_eq!(medium("*.other"), ["features[0] 'm' refers to *.other, which no event carried"]);
    }

    #[test]
    fn a_field_that_its_feature_cannot_read_is_told_of_with_the_configuration_alone() {
        let number = |source: &str| gaps(&format!("{{name: a4, type: number, source: '{source}'}}"), &[FILM]);
        assert_eq!(number("interaction:click.ua"), Vec::<String>::new());
        assert_eq!(number("*.ua"), Vec::<String>::new());
        assert_eq!(number("item.ua"), ["features[0] 'a4' refers to item.ua, which no event carried"]);
    }

    #[test]
    fn every_item_has_an_id() {
        let again = "{name: again, type: interacted_with, interaction: click, field: [item.id, item.color]}";
        let click = r#"{"event":"interaction","id":"c","timestamp":"1","type":"click","item":"a"}"#;
        assert_eq!(gaps(again, &[FILM, click]), ["features[0] 'again' refers to item.color, which no event carried"]);
    }

    #[test]
    fn a_field_that_counts_are_kept_by_is_looked_for() {
        let count = "{name: n, type: interaction_count, interaction: impression, scope: item.color}";
        assert_eq!(gaps(count, &[FILM]), ["features[0] 'n' refers to item.color, which no event carried"]);
    }

    #[test]
    fn a_list_that_is_read_by_index_is_told() {
        let film = FILM.replace(r#"["x"]"#, r#"["x","y"]"#);
        let genre = |encode: &str, event: &str| {
            gaps(&format!("{{name: g, type: string, source: item.genres, values: [x], encode: {encode}}}"), &[event])
        };
        let told = "features[0] 'g' reads item.genres by index: only the first element of a list counts; \
                    encode: onehot reads all";
        assert_eq!(genre("index", &film), [told]);
        assert!(genre("onehot", &film).is_empty());
        assert!(genre("index", FILM).is_empty());
    }

    #[test]
    fn a_field_that_some_items_of_a_ranking_have_was_seen() {
        let shown = r#"{"event":"ranking","id":"r","timestamp":"1","user":"u","session":"s","items":[{"id":"a"},{"id":"b","fields":[{"name":"relevancy","value":1}]}]}"#;
        assert!(gaps("{name: rel, type: relevancy}", &[shown]).is_empty());
        assert!(gaps("{name: rel, type: number, field: ranking.relevancy}", &[shown]).is_empty());
    }

    #[test]
    fn a_field_of_rankings_is_none_of_their_items() {
        let shown = r#"{"event":"ranking","id":"r","timestamp":"1","user":"u","session":"s","fields":[{"name":"query","value":["x","y"]}],"items":[{"id":"a"}]}"#;
        let words = |field: &str| gaps(&format!("{{name: q, type: word_count, field: {field}}}"), &[shown]);
        assert_eq!(words("item.query"), ["features[0] 'q' refers to item.query, which no event carried"]);
        assert!(words("ranking.query").is_empty());
        let first = "{name: q, type: string, source: item.query, values: [x], encode: index}";
        let film = FILM.replace("genres", "query");
        assert!(gaps(first, &[&film, shown]).is_empty(), "a list of a ranking is not what it reads");
    }

    #[test]
    fn a_field_of_items_of_rankings_selects_nothing() {
        let model = "models: {m: {type: lambdamart, features: [p], split: 'field=arm:a:b'}}\n\
                     features: [{name: p, type: position, position: 1}]";
        let shown = r#"{"event":"ranking","id":"r","timestamp":"1","user":"u","session":"s","items":[{"id":"a","fields":[{"name":"arm","value":"a"}]}]}"#;
        assert_eq!(gaps_of(model, &[shown]), ["models.m.split refers to ranking.arm, which no event carried"]);
    }

    #[test]
    fn a_field_that_a_semantic_model_embeds_is_looked_for_in_item_events() {
        let model =
            "models: {alike: {type: semantic, encoder: {type: bert, model: a/b, dim: 2}, itemFields: [genres, titel]}}";
        let shown = r#"{"event":"ranking","id":"r","timestamp":"1","user":"u","session":"s","items":[{"id":"a","fields":[{"name":"titel","value":"x"}]}]}"#;
        let told = "models.alike.itemFields refers to item.titel, which no item event carried";
        assert_eq!(gaps_of(model, &[FILM, shown]), [told]);
    }

    #[test]
    fn an_interaction_that_no_visitor_took_an_item_by_is_told() {
        let model = "models: {m: {type: als, interactions: [clik], excludeSeen: [clik, by]}}";
        let click = r#"{"event":"interaction","id":"c","timestamp":"1","type":"click","item":"a"}"#;
        let told = |key, kind| format!("models.m.{key} refers to the interaction '{kind}', which no event carried");
        assert_eq!(gaps_of(model, &[click]), [told("interactions", "clik"), told("excludeSeen", "by")]);
    }

    #[test]
    fn a_field_that_nothing_reads_is_told() {
        let shown = r#"{"event":"ranking","id":"r","timestamp":"1","user":"u","session":"s","fields":[{"name":"query","value":"x"},{"name":"arm","value":"b"}],"items":[{"id":"a","fields":[{"name":"genres","value":"x"}]}]}"#;
        let click = r#"{"event":"interaction","id":"c","timestamp":"1","type":"click","item":"a","fields":[{"name":"page","value":"1"}]}"#;
        let decode = |line: &str| rankwright_event::json::decode(line.as_bytes()).expect("a valid event");
        let unused = |feature: &str| {
            let text = format!(
                "features:\n  - {feature}\nmodels:\n  m: {{type: lambdamart, weights: {{click: 1}}, features: [f], split: 'field=arm:a:b'}}\n"
            );
            let (config, _) = Config::parse(&text, "test").expect("a valid configuration");
            let mut coverage = Coverage::of(&config);
            [shown, click, FILM].map(decode).iter().for_each(|event| coverage.see(event));
            coverage.unused(&config)
        };
        let genres = "{name: f, type: string, source: item.genres, values: [x], encode: onehot}";
        assert_eq!(unused(genres), ["interaction:click.page", "ranking.query"]);
        assert_eq!(
            unused("{name: f, type: referer, source: '*.page'}"),
            ["item.genres", "ranking.genres", "ranking.query"]
        );
    }

    #[test]
    fn of_very_many_names_some_are_kept_and_those_of_the_configuration_always() {
        let text = "features: [{name: p, type: number, field: item.price}, {name: n, type: interaction_count, \
                    interaction: click, scope: item}]\nmodels: {none: {type: noop}}";
        let (config, _) = Config::parse(text, "test").expect("a valid configuration");
        let mut coverage = Coverage::of(&config);
        let mut see =
            |line: &str| coverage.see(&rankwright_event::json::decode(line.as_bytes()).expect("a valid event"));
        let item = |name: &str| {
            format!(
                r#"{{"event":"item","id":"e","timestamp":"1","item":"a","fields":[{{"name":"{name}","value":1}}]}}"#
            )
        };
        let interaction = |kind: &str| {
            format!(
                r#"{{"event":"interaction","id":"c","timestamp":"1","type":"{kind}","item":"a","fields":[{{"name":"n","value":1}}]}}"#
            )
        };
        for number in 0..2 * MOST {
            see(&item(&format!("attr_{number}")));
            see(&interaction(&format!("kind_{number}")));
        }
        see(&item("price"));
        see(&interaction("click"));
        assert_eq!(coverage.missing(&config), Vec::<String>::new());
        assert!(coverage.unused(&config).len() <= MOST, "{}", coverage.unused(&config).len());
        assert!(coverage.beyond() as usize >= 2 * MOST, "{}", coverage.beyond());
    }

    #[test]
    fn what_was_seen_is_not_told() {
        let known = "{name: g, type: string, source: item.genres, values: [x]}";
        assert!(gaps(known, &[FILM]).is_empty());
    }
}
