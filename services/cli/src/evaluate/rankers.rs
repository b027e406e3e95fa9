//! Which models take part.

use anyhow::{Context, Result, anyhow, bail};
use rankwright_config::model::LambdaMart;
use rankwright_config::{Config, Model};
use rankwright_model::{VersionId, VersionStore};
use rankwright_serve::untrained;
use rankwright_train::evaluate::Ranker;

/// The models that are compared.
#[derive(Debug)]
pub(crate) struct Chosen {
    /// The model whose split, labels and metrics are used.
    pub(crate) model: String,
    pub(crate) definition: LambdaMart,
    pub(crate) rankers: Vec<Ranker>,
    /// What to know before the figures are believed.
    pub(crate) notes: Vec<String>,
    /// Which models do not take part, and why.
    pub(crate) left_out: Vec<String>,
}

/// A model that was asked for, be it by a version.
struct Asked<'a> {
    name: &'a str,
    model: &'a Model,
    version: Option<VersionId>,
}

/// The models that were named; where none was, all that rank and have a version.
///
/// # Errors
/// Says which names there are.
pub(crate) fn chosen(config: &Config, versions: &dyn VersionStore, named: &[String]) -> Result<Chosen> {
    let mut left_out = Vec::new();
    let asked = match named.is_empty() {
        true => all(config, versions, &mut left_out)?,
        false => named.iter().map(|text| asked(config, text)).collect::<Result<_>>()?,
    };
    let several = |name: &str| asked.iter().filter(|asked| asked.name == name).count() > 1;
    let mut rankers: Vec<Ranker> = Vec::new();
    for asked in &asked {
        let mut ranker = ranker(asked, versions)?;
        if let (Some(version), true) = (&ranker.version, several(asked.name)) {
            ranker.name = format!("{}@{version}", asked.name);
        }
        if rankers.iter().any(|known| known.name == ranker.name) {
            bail!("{} is named twice", ranker.name);
        }
        rankers.push(ranker);
    }
    if let Some(ranker) = rankers.iter().find(|ranker| ["shown", "random"].contains(&ranker.name.as_str())) {
        bail!(
            "the report calls another order {}: name its version, as in {}@VERSION, or rename the model",
            ranker.name,
            ranker.name
        );
    }
    let (model, definition) = reference(config, &asked)?;
    let notes = asked.iter().filter_map(|asked| differs(asked, model, definition)).collect();
    Ok(Chosen { model: model.to_owned(), definition: definition.clone(), rankers, notes, left_out })
}

fn all<'a>(config: &'a Config, versions: &dyn VersionStore, left_out: &mut Vec<String>) -> Result<Vec<Asked<'a>>> {
    let mut all = Vec::new();
    // noop keeps the order that was shown, which the report has
    for (name, model) in config.models.iter().filter(|(_, model)| !model.recommends() && **model != Model::Noop) {
        match model.learns_order() && versions.current(name)?.is_none() {
            true => left_out.push(format!("model {name} is not trained yet, and is left out")),
            false => all.push(Asked { name, model, version: None }),
        }
    }
    if !all.iter().any(|asked| asked.model.learns_order()) {
        bail!("no model that ranks is trained yet: run 'rankwright train' first");
    }
    Ok(all)
}

fn asked<'a>(config: &'a Config, text: &str) -> Result<Asked<'a>> {
    let find = |name: &str| config.models.get_key_value(name);
    let (found, version) = match (find(text), text.rsplit_once('@')) {
        (Some(found), _) => (Some(found), None),
        (None, Some((name, version))) => (find(name), Some(version)),
        (None, None) => (None, None),
    };
    let Some((name, model)) = found else {
        let known: Vec<&str> =
            config.models.iter().filter(|(_, model)| !model.recommends()).map(|(name, _)| name.as_str()).collect();
        bail!(
            "no model '{text}' that ranks: the configuration has {}",
            if known.is_empty() { "none".to_owned() } else { known.join(", ") }
        );
    };
    let version = version.map(|version| version.parse().with_context(|| format!("model {text}"))).transpose()?;
    if version.is_some() && model.learning().is_none() {
        bail!("model '{name}' is of type {}, which has no versions: name it without @", model.type_name());
    }
    Ok(Asked { name, model, version })
}

fn ranker(asked: &Asked<'_>, versions: &dyn VersionStore) -> Result<Ranker> {
    let Asked { name, model, version } = asked;
    if model.recommends() {
        bail!(
            "model '{name}' is of type {}, which recommends: 'evaluate' compares models that rank",
            model.type_name()
        );
    }
    let Some(learning) = model.learning() else { return Ok(Ranker::baseline(name, untrained(model))) };
    let pinned = || learning.version.as_deref().and_then(|id| id.parse().ok());
    let loaded = versions.load(name, version.clone().or_else(pinned).as_ref())?;
    let loaded = loaded.ok_or_else(|| anyhow!("model '{name}' is not trained yet: run 'rankwright train' first"))?;
    Ok(Ranker::of_version(name, &loaded)?)
}

/// The first model that is asked for and learns; else the first of the configuration.
fn reference<'a>(config: &'a Config, asked: &[Asked<'a>]) -> Result<(&'a str, &'a LambdaMart)> {
    let learns = |name: &'a str, model: &'a Model| model.trees().map(|definition| (name, definition));
    let named = asked.iter().find_map(|asked| learns(asked.name, asked.model));
    let any = || config.models.iter().find_map(|(name, model)| learns(name, model));
    named.or_else(any).ok_or_else(|| {
        anyhow!(
            "the configuration has no model of type lambdamart, whose split, weights and metrics a comparison needs"
        )
    })
}

/// What to say of a model that learns from other lists than those that it is compared on.
fn differs(asked: &Asked<'_>, reference: &str, definition: &LambdaMart) -> Option<String> {
    let own = asked.model.trees()?;
    let keys = [
        ("split", own.split != definition.split),
        ("selector", own.learning.selector != definition.learning.selector),
        ("weights", own.weights != definition.weights),
    ];
    let keys: Vec<&str> = keys.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key).collect();
    let name = asked.name;
    (!keys.is_empty()).then(|| {
        format!("{name} has another {} than {reference}, whose test split is used: it may have learned from some of these lists", keys.join(" and "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankwright_model::MemoryVersions;

    const MODELS: &str = "features: [{name: p, type: position, position: 1}]
models:
  a: {type: lambdamart, weights: {click: 1}, features: [p]}
  b: {type: lambdamart, weights: {click: 2}, features: [p], split: random}
  dice: {type: shuffle, maxPositionChange: 3}
  same: {type: noop}
  like: {type: als, interactions: [click]}
";

    fn config() -> Config {
        Config::parse(MODELS, "test").unwrap_or_else(|errors| panic!("{errors}")).0
    }

    fn refused(named: &[&str]) -> String {
        let named: Vec<String> = named.iter().map(|&name| name.to_owned()).collect();
        rankwright_assembly::chain(&chosen(&config(), &MemoryVersions::default(), &named).expect_err("is refused"))
    }

    #[test]
    fn what_cannot_be_compared_is_refused_with_what_there_is() {
        assert_eq!(refused(&["c"]), "no model 'c' that ranks: the configuration has a, b, dice, same");
        assert_eq!(refused(&["a"]), "model 'a' is not trained yet: run 'rankwright train' first");
        assert_eq!(refused(&[]), "no model that ranks is trained yet: run 'rankwright train' first");
        assert!(refused(&["a@newest"]).starts_with("model a@newest: invalid model version \"newest\""));
        assert!(
            refused(&["a@20211114T162500000Z-1a2b3c4d"]).contains("model \"a\" has no version 20211114T162500000Z")
        );
        assert!(refused(&["like"]).contains("'like' is of type als, which recommends"));
        assert!(refused(&["dice@20211114T162500000Z-1a2b3c4d"]).contains("has no versions"));
        assert_eq!(refused(&["dice", "dice"]), "dice is named twice");
    }

    #[test]
    fn baselines_take_part_on_the_lists_of_the_first_model_that_learns() {
        let named = ["dice".to_owned(), "same".to_owned()];
        let chosen = chosen(&config(), &MemoryVersions::default(), &named).expect("both are there");
        let names: Vec<&str> = chosen.rankers.iter().map(|ranker| ranker.name.as_str()).collect();
        assert_eq!((names, chosen.model.as_str()), (vec!["dice", "same"], "a"));
    }

    #[test]
    fn a_model_that_learns_from_other_lists_is_noted() {
        let config = config();
        let asked = asked(&config, "b").expect("is there");
        let Model::LambdaMart(a) = &config.models["a"] else { panic!("another model") };
        let note = differs(&asked, "a", a).expect("it differs");
        assert!(note.starts_with("b has another split and weights than a, whose test split is used"), "{note}");
    }
}
