//! The engine's configuration: what its author wrote, with the sections that follow from the resource laid over it.

mod models;
mod sections;

pub(crate) use models::pinned_by;

use super::{Refusal, digest_of};
use crate::resolve::{Kind, Resolved};
use rankwright_config::feature::{self, MatchMethod};
use rankwright_config::model::Encoder;
use rankwright_config::{Config, Errors, Feature, Model};
use rankwright_crds::RankingServiceSpec;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// A configuration as programs read it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rendered {
    /// As YAML.
    pub text: String,
    /// What a pod that reads all of it started with.
    pub digest: String,
    /// What an ingest worker started with: of models, it stores the item fields that they are trained on, and what they leave out.
    pub ingest_digest: String,
    /// Models that learn.
    pub trained: Vec<String>,
    /// Which programs compute with text models.
    pub texts: Texts,
    /// Which programs hold what no configuration bounds.
    pub unbounded: Unbounded,
    /// All models.
    pub models: Vec<String>,
    /// Versions that models are pinned to, by the resource or by what its author wrote as the configuration.
    pub pins: BTreeMap<String, String>,
    /// What works, and probably not as meant.
    pub warnings: Vec<String>,
}

/// What is held in memory, of a size that the configuration does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unbounded {
    /// Files of embeddings, scores or terms: all programs that compute features read them.
    pub files: bool,
    /// Vectors of a catalog: rank servers hold those of recommenders.
    pub catalog: bool,
}

/// Where text models compute.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Texts {
    /// In features: rank servers, workers and imports have them open.
    pub features: bool,
    /// At paths of their own: rank servers have them open.
    pub inference: bool,
    /// In trainings of these models.
    pub training: Vec<String>,
}

/// Mistakes that a condition shows; the rest is counted.
const SHOWN: usize = 10;

/// Puts together the configuration, and has the engine's own checks look at it.
pub(super) fn rendered(service: &str, spec: &RankingServiceSpec, resolved: &Resolved) -> Result<Rendered, Refusal> {
    let mut tree = written(spec, resolved)?;
    sections::overlay(&mut tree, spec)?;
    let (written, _) = checked(&yaml(&tree)?)?;
    models::overlay(&mut tree, &written, spec)?;
    models::are_versions(&tree, spec)?;
    let text = yaml(&tree)?;
    let (config, warnings) = checked(&text)?;
    models::known(service, spec, &config)?;
    let without_place =
        |warning: rankwright_config::Warning| rankwright_config::Warning { line: 0, ..warning }.to_string();
    Ok(Rendered {
        digest: digest_of(&text),
        ingest_digest: digest_of(&yaml(&for_ingest(&tree, &config))?),
        warnings: warnings.into_iter().map(without_place).collect(),
        ..of_models(&config, text)
    })
}

fn checked(text: &str) -> Result<(Config, Vec<rankwright_config::Warning>), Refusal> {
    Config::parse(text, "configuration").map_err(|errors| invalid(&errors))
}

/// The configuration that pods were given last: it was checked when it was put together.
pub(super) fn kept(text: &str) -> Rendered {
    let digest = digest_of(text);
    let known = Config::parse(text, "configuration").map(|(config, _)| of_models(&config, text.to_owned()));
    let rendered = known.unwrap_or_else(|_| Rendered { text: text.to_owned(), ..Rendered::default() });
    Rendered { ingest_digest: digest.clone(), digest, ..rendered }
}

fn of_models(config: &Config, text: String) -> Rendered {
    let those = |wanted: &dyn Fn(&Model) -> bool| {
        config.models.iter().filter(|(_, model)| wanted(model)).map(|(name, _)| name.clone()).collect()
    };
    Rendered {
        models: config.models.keys().cloned().collect(),
        pins: config.models.iter().filter_map(pin).collect(),
        trained: those(&|model| model.learning().is_some()),
        texts: Texts {
            features: config.features.iter().any(computes),
            inference: !config.inference.is_empty(),
            training: those(&|model| embeds(model, config)),
        },
        unbounded: Unbounded {
            files: config.features.iter().any(reads_files),
            catalog: config.models.values().any(Model::holds_vectors),
        },
        text,
        ..Rendered::default()
    }
}

fn pin((name, model): (&String, &Model)) -> Option<(String, String)> {
    Some((name.clone(), model.learning()?.version.clone()?))
}

/// Versions that models are to be pinned to, before all of that is checked.
pub fn pins(spec: &RankingServiceSpec, resolved: &Resolved) -> BTreeMap<String, String> {
    let tree = written(spec, resolved).unwrap_or_default(); // what is wrong with it is said when it is put together
    let models = tree.get("models").and_then(Value::as_object).into_iter().flatten();
    let written = models.filter_map(|(name, model)| Some((name.clone(), model.get("version")?.as_str()?.to_owned())));
    let mut pins: BTreeMap<_, _> = written.collect();
    pins.extend(spec.model_version.clone());
    pins
}

/// Whether a feature holds a file in memory.
fn reads_files(feature: &Feature) -> bool {
    let feature::Kind::FieldMatch(compared) = &feature.kind else { return false };
    match &compared.method {
        MatchMethod::Bm25 { .. } => true,
        MatchMethod::BiEncoder { item_field_cache, ranking_field_cache, .. } => {
            item_field_cache.is_some() || ranking_field_cache.is_some()
        }
        MatchMethod::CrossEncoder { cache, .. } => cache.is_some(),
        MatchMethod::Ngram { .. } | MatchMethod::Term { .. } => false,
    }
}

/// Whether a feature has a text model open.
fn computes(feature: &Feature) -> bool {
    matches!(&feature.kind, feature::Kind::FieldMatch(compared) if compared.model().is_some())
}

/// Whether a model's training has a text model open.
fn embeds(model: &Model, config: &Config) -> bool {
    matches!(model.encoder(), Some(Encoder::Bert { .. }))
        || config.features.iter().any(|feature| computes(feature) && model.features().contains(&feature.name))
}

/// What the author wrote.
fn written(spec: &RankingServiceSpec, resolved: &Resolved) -> Result<Map<String, Value>, Refusal> {
    if let Some(inline) = &spec.configuration.inline {
        return Ok(inline.clone());
    }
    let Some(map) = &spec.configuration.config_map_ref else {
        return Err(Refusal::unfit("spec.configuration", "give it inline or by configMapRef"));
    };
    let content = resolved.objects.get(&(Kind::ConfigMap, map.name.clone()));
    let place = format!("ConfigMap {}, key {}", map.name, map.key);
    let Some(text) = content.and_then(|content| content.text(&map.key)) else {
        return Err(Refusal::Configuration(format!("{place}: this is no UTF-8 text")));
    };
    match serde_saphyr::from_str(text) {
        Ok(Value::Object(tree)) => Ok(tree),
        Ok(_) => Err(Refusal::Configuration(format!("{place}: expected a mapping with features and models"))),
        Err(error) => Err(Refusal::Configuration(format!("{place}: {error}"))),
    }
}

/// What of a configuration an ingest worker works by. It stores what models are trained on, and what they leave out.
fn for_ingest(tree: &Map<String, Value>, config: &Config) -> Map<String, Value> {
    let mut tree = tree.clone();
    tree.remove("models");
    tree.remove("inference");
    // of the page, workers know the fields of items alone
    if let Some(Value::Object(api)) = tree.get_mut("api") {
        api.remove("page");
    }
    let shown: Vec<_> = config.api.page.shown().into_iter().flat_map(|item| item.fields()).collect();
    if !shown.is_empty() {
        tree.insert("shown".to_owned(), json!(shown));
    }
    let stored = config.models.values().flat_map(|model| {
        let (fields, ttl) = model.stored_fields();
        fields.iter().map(move |field| (field.clone(), ttl.as_millis() as u64))
    });
    let stored: BTreeSet<(String, u64)> = stored.collect();
    if !stored.is_empty() {
        tree.insert("stored".to_owned(), json!(stored));
    }
    let seen: Vec<_> = config.seen().into_iter().map(|seen| &seen.interactions).collect();
    if !seen.is_empty() {
        tree.insert("seen".to_owned(), json!(seen));
    }
    tree
}

fn yaml(tree: &Map<String, Value>) -> Result<String, Refusal> {
    serde_saphyr::to_string(tree).map_err(|error| Refusal::Configuration(error.to_string()))
}

/// Every mistake with its path, as the author sees no lines of what was put together.
fn invalid(errors: &Errors) -> Refusal {
    let mistakes = errors.mistakes();
    let line = |mistake: &rankwright_config::Mistake| {
        let place = if mistake.path.is_empty() { String::new() } else { format!("{}: ", mistake.path) };
        let accepted = mistake.accepted.as_ref().map(|accepted| format!("; accepted: {accepted}")).unwrap_or_default();
        let nearest = mistake.nearest.as_ref().map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        let text = format!("{place}{}{accepted}{nearest}", mistake.problem);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let mut lines: Vec<String> = mistakes.iter().take(SHOWN).map(line).collect();
    if mistakes.len() > SHOWN {
        lines.push(format!("and {} more", mistakes.len() - SHOWN));
    }
    Refusal::Configuration(lines.join(" | "))
}
