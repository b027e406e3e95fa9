//! One rank request over the state and the models as they are: for `rankwright rank`. It changes nothing.

use crate::encoders::{Encoders, Wanted, with_dictionaries};
use crate::engine::service;
use crate::folder;
use crate::open::{redis_options, redis_settings, versions};
use anyhow::{Context, Result, bail};
use futures_util::future::BoxFuture;
use rankwright_config::{Config, Model, State};
use rankwright_feature::readers;
use rankwright_model::{MemoryVersions, VersionStore};
use rankwright_serve::{App, Explain, Published};
use rankwright_state::{RedisOptions, RedisStore, Store};
use std::sync::Arc;

/// Answers a request as `POST /rank/{model}` of a service with this configuration does: the JSON text.
///
/// # Errors
/// When no such model ranks, its version cannot be loaded, the request is none, or the state is not there, is used by another
/// process or lacks features of the model. A model that is not trained is no error, but the incoming order.
pub fn rank_once<'a>(
    config: Config,
    model: &'a str,
    request: &'a [u8],
    explain: Explain,
) -> BoxFuture<'a, Result<Vec<u8>>> {
    Box::pin(async move {
        let config = with_dictionaries(with_one_model(config, model)?).await?;
        let state = existing_state(&config, model).await?;
        let encoders = Arc::new(Encoders::open(Wanted::of_features(&config), 1).await?);
        check_features(&*state, &config, &encoders).await?;
        let loader = Published::new(&config.features, state.clone(), existing_versions(&config)?);
        let mut app = App::builder(&config, state, Arc::new(loader.with_encoders(encoders)));
        if let State::Redis(redis) = &config.state {
            app = app.store_timeout(redis.timeout.command);
        }
        let app = app.build()?;
        app.refresh(model).await;
        if let Some(why) = app.models().get(model)?.failure() {
            bail!("model {model} could not be loaded: {why}");
        }
        Ok(app.rank(model, request, explain).await?)
    })
}

/// The configuration with this model and its features alone. No request has to be quick, so nothing is warmed up.
fn with_one_model(mut config: Config, model: &str) -> Result<Config> {
    config.api.page.item = None; // the page is not shown here
    let ranks = |(name, model): (&String, &Model)| (!model.recommends()).then(|| name.clone());
    let known: Vec<String> = config.models.iter().filter_map(ranks).collect();
    let Some(mut definition) = config.models.remove(model).filter(|model| !model.recommends()) else {
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        bail!("no model {model:?} that ranks: the configuration has {known}");
    };
    config.features.retain(|feature| definition.features().contains(&feature.name));
    if let Some(trees) = definition.trees_mut() {
        trees.warmup = None;
    }
    config.models = [(model.to_owned(), definition)].into();
    Ok(config)
}

async fn existing_state(config: &Config, model: &str) -> Result<Arc<dyn Store>> {
    match &config.state {
        State::Memory => {
            bail!("state is memory: it ends with the process that holds it; ask POST /rank/{model} of that process")
        }
        State::File(file) => {
            let place = folder::place(file);
            let found = folder::existing(&place, file);
            let found = found.with_context(|| format!("while a process uses the state, ask its POST /rank/{model}"))?;
            match found {
                Some(state) => Ok(Arc::new(state)),
                None => bail!("there is no state in {}: import events first", place.display()),
            }
        }
        State::Redis(redis) => {
            let options = RedisOptions { cache_entries: 0, tracking: false, ..redis_options(config, redis) };
            let (settings, service) = (redis_settings(redis, redis.db.state)?, service());
            match RedisStore::open_existing(settings, options, &service).await? {
                Some(state) => Ok(Arc::new(state)),
                None => bail!("there is no state of service {service:?} in Redis: import events first"),
            }
        }
    }
}

/// Those that there are; none where nothing was trained.
fn existing_versions(config: &Config) -> Result<Arc<dyn VersionStore>> {
    match &config.state {
        State::File(file) if !file.path.join("models").exists() => Ok(Arc::new(MemoryVersions::default())),
        _ => versions(config, &service()),
    }
}

/// A feature that the state does not know would get a place in it.
async fn check_features(state: &dyn Store, config: &Config, encoders: &Encoders) -> Result<()> {
    let known: Vec<_> = state.known_slots().await?.into_iter().map(|(meaning, _)| meaning).collect();
    let stored = readers(config, encoders)?;
    let mut unknown: Vec<&str> = stored
        .iter()
        .filter(|(meaning, _)| !known.contains(meaning))
        .flat_map(|(_, names)| names.iter().map(String::as_str))
        .collect();
    unknown.sort_unstable();
    unknown.dedup();
    if unknown.is_empty() {
        return Ok(());
    }
    bail!(
        "the state has nothing of these features: {}; they are new, or defined in another way than when events were \
         imported: import again, or start the service with this configuration",
        unknown.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain;

    fn config(text: &str) -> Config {
        Config::parse(text, "test").expect("a valid configuration").0
    }

    const MODELS: &str = "
models:
  shop: {type: lambdamart, backend: {type: xgboost}, weights: {click: 1}, features: [price]}
  plain: {type: noop}
  similar: {type: als, interactions: [click]}
features:
  - {name: price, type: number, field: item.price, scope: item}
  - {name: size, type: number, field: item.size, scope: item}
";

    #[test]
    fn a_model_that_does_not_rank_is_answered_with_those_that_do() {
        for name in ["shp", "similar"] {
            let refused = with_one_model(config(MODELS), name).expect_err("refused").to_string();
            assert_eq!(refused, format!("no model {name:?} that ranks: the configuration has plain, shop"));
        }
    }

    #[test]
    fn a_model_is_taken_with_its_features_alone() {
        let taken = with_one_model(config(MODELS), "shop").expect("it is there");
        assert_eq!(taken.features.iter().map(|feature| feature.name.as_str()).collect::<Vec<_>>(), ["price"]);
        assert_eq!(with_one_model(config(MODELS), "plain").expect("it is there").features.len(), 0);
    }

    #[tokio::test]
    async fn a_state_that_is_not_there_is_not_made() {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        let place = folder.path().join("data");
        let text = format!("{MODELS}\nstate: {{type: file, path: {}}}\n", place.display());
        let refused = rank_once(config(&text), "shop", b"{}", Explain::Nothing).await.expect_err("refused");
        assert!(chain(&refused).contains("import events first"), "{refused:#}");
        assert!(!place.exists());
        let refused = rank_once(config(MODELS), "shop", b"{}", Explain::Nothing).await.expect_err("refused");
        assert!(refused.to_string().contains("ask POST /rank/shop of that process"), "{refused:#}");
    }
}
