//! `train`: models from the click-throughs of an earlier import.

use crate::options::TrainOptions;
use crate::progress::Progress;
use crate::stop;
use anyhow::{Context, Result, bail};
use rankwright_assembly::{Engine, chain, configuration, now, runtime};
use rankwright_clickthrough::Losses;
use rankwright_config::model::{Model, Semantic, Split};
use rankwright_config::{ClickthroughStore, Config, State};
use rankwright_train::{self as train, Trained, Training};
use tracing::{error, info, warn};

/// Trains the given model, or all of them one after the other.
pub(crate) fn run(options: &TrainOptions) -> Result<()> {
    let mut config = configuration(options.config.as_deref())?;
    let asked = |(name, _): &(&String, &Model)| options.model.as_ref().is_none_or(|asked| *name == asked);
    kept(&config, config.models.iter().filter(asked).map(|(_, model)| model))?;
    let kept = !matches!(config.train, None | Some(ClickthroughStore::Memory));
    if matches!(config.state, State::Memory) && !kept {
        bail!(
            "nothing to train on: with a state in memory, click-throughs end with the process that imported them; \
             use 'standalone', or 'state: {{type: file, path: ...}}' and 'import' first"
        );
    }
    if matches!(config.state, State::Memory) {
        bail!(
            "a model trained with a state in memory would end with this process: use 'state: {{type: file, path: ...}}'"
        );
    }
    if let Some(split) = &options.split {
        let split: Split = split.parse().context("--split")?;
        config.models.values_mut().filter_map(Model::trees_mut).for_each(|trees| trees.split = split.clone());
    }
    let runtime = runtime()?; // stores that wait for a network do so on its threads
    let _training = stop::at_once(&runtime, "interrupted: the training is not complete");
    let names = config.models.keys().filter(|name| options.model.as_ref().is_none_or(|asked| asked == *name));
    let names = names.cloned().collect();
    let engine = runtime.block_on(Engine::open_to_train(config, names))?;
    match &options.model {
        Some(name) => one(&engine, name).map(|_| ()),
        None => all(&engine),
    }
}

/// Trains every model that learns, those behind one that cannot be trained as well.
fn all(engine: &Engine) -> Result<()> {
    let names: Vec<&String> = trainable(engine).map(|(name, _)| name).collect();
    if names.is_empty() {
        bail!("the configuration has no model that is trained");
    }
    if let [only] = names.as_slice() {
        return one(engine, only).map(drop);
    }
    let (mut failed, mut last) = (Vec::new(), None);
    for name in &names {
        if let Err(error) = one(engine, name) {
            error!("{}", chain(&error));
            failed.push(name.as_str());
            last = Some(error);
        }
    }
    let told = || format!("{} of {} models were not trained: {}", failed.len(), names.len(), failed.join(", "));
    last.map_or(Ok(()), |error| Err(error.context(told())))
}

/// The models that learn.
pub(crate) fn trainable(engine: &Engine) -> impl Iterator<Item = (&String, &Model)> {
    engine.config.models.iter().filter(|(_, model)| model.learning().is_some())
}

/// Trains one model, publishes it and says how good it is.
pub(crate) fn one(engine: &Engine, name: &str) -> Result<Trained> {
    let Some((_, model)) = trainable(engine).find(|(other, _)| *other == name) else {
        let known: Vec<&str> = trainable(engine).map(|(name, _)| name.as_str()).collect();
        match known.as_slice() {
            [] => bail!("no model '{name}' that is trained: the configuration has none"),
            known => bail!("no model '{name}' that is trained: the configuration has {}", known.join(", ")),
        }
    };
    kept(&engine.config, std::iter::once(model))?;
    let _under_way = engine.training(name);
    let (columns, served) = (engine.columns(), engine.served_constants());
    let embed = |model: &Semantic, told: &mut dyn FnMut(usize, usize)| engine.embed(model, told).map_err(Into::into);
    let training = Training { name, model, columns: &columns, served: &served, embed: &embed, now: now() };
    let mut progress = Progress::new("train", model.rounds() as u64);
    let trained = training.run(&*engine.clickthroughs, &*engine.versions, &mut |step| match step {
        train::Progress::Reading { rankings } => progress.at(0, rankings, "rankings read"),
        train::Progress::Fitting { iteration, .. } => {
            progress.at(iteration.id as u64 + 1, iteration.id as u64 + 1, "rounds")
        }
        train::Progress::Embedding { done, of } => {
            progress.of(of as u64).at(done as u64, done as u64, "items embedded")
        }
    });
    progress.end();
    let trained = trained?;
    report(name, model.recommends(), &trained, progress.elapsed().as_millis());
    Ok(trained)
}

/// Refuses to look for click-throughs where none are kept, if one of the models needs them.
fn kept<'m>(config: &Config, mut models: impl Iterator<Item = &'m Model>) -> Result<()> {
    if matches!(config.train, Some(ClickthroughStore::Discard)) && models.any(Model::needs_clickthroughs) {
        bail!("nothing to train on: 'train: {{type: discard}}' keeps no click-throughs");
    }
    Ok(())
}

fn report(name: &str, recommends: bool, trained: &Trained, elapsed_ms: u128) {
    let (version, elapsed_ms) = (trained.version.id(), elapsed_ms as u64);
    match recommends {
        true => info!(model = name, %version, interactions = trained.train, elapsed_ms, "trained"),
        false => info!(model = name, %version, trees = trained.trees, rankings = trained.train, elapsed_ms, "trained"),
    }
    warn_of_losses(name, &trained.reading);
    trained.answer.warnings.iter().for_each(|warning| warn!(model = name, "{warning}"));
    for quality in &trained.quality {
        let metric = quality.metric.as_str();
        let round = |value: f64| format!("{value:.4}");
        let (shown, random, reranked) = (round(quality.shown), round(quality.random), round(quality.reranked));
        match quality.served {
            _ if recommends && trained.test == 0 => {} // nothing was held out
            _ if recommends => {
                let (popular, visitors) = (shown, trained.test);
                info!(
                    model = name,
                    metric,
                    popular,
                    random,
                    recommended = reranked,
                    visitors,
                    "quality on held-out items"
                );
            }
            Some(served) => info!(
                model = name,
                metric,
                shown,
                random,
                reranked,
                as_served = round(served),
                "quality on the test split"
            ),
            None => info!(model = name, metric, shown, random, reranked, "quality on the test split"),
        }
    }
}

/// Warns of rankings and values that are stored and not learned from.
pub(crate) fn warn_of_losses(name: &str, reading: &train::dataset::Reading) {
    for ((column, _), rankings) in &reading.missing_columns {
        warn!(
            model = name,
            column,
            rankings,
            "click-throughs that were stored with another definition of the column have no value of it"
        );
    }
    let too_long = reading.too_long;
    if too_long > 0 {
        warn!(
            model = name,
            rankings = too_long,
            "left out: more items than boosters rank ({})",
            train::dataset::MAX_ITEMS
        );
    }
    let on_no_side = reading.on_no_side;
    if on_no_side > 0 {
        warn!(model = name, rankings = on_no_side, "left out: the field of the split has neither value");
    }
    let losses = &reading.losses;
    if !losses.is_empty() {
        let Losses { cut, damaged, records, .. } = *losses;
        warn!(model = name, cut, damaged, records, "damaged parts of the click-throughs were left out");
    }
}
