//! Training one model, and deciding about it.

use crate::report::{ModelReport, Outcome, Publishing, Shared};
use anyhow::{Result, bail};
use rankwright_assembly::{Engine, chain, exit_code, now};
use rankwright_config::model::{Learning, Semantic};
use rankwright_config::{ClickthroughStore, Config, Model, State};
use rankwright_model::{Refusal, StoreError, VersionId, VersionStore};
use rankwright_train::{Candidate, Decision, Error, Progress, Reason, Running, Training, decide};
use std::time::{Duration, Instant};
use tracing::{info, warn};

/// A store that is away is waited for as long as this: what was trained is not thrown away for it.
const PATIENCE: Duration = Duration::from_secs(900);
/// Between two lines of progress of one part of a training.
const PACE: Duration = Duration::from_secs(10);
/// Between two attempts.
const PAUSE: Duration = Duration::from_secs(1);

/// Refuses a configuration whose click-throughs or models would end with this process.
pub(crate) fn checked(config: Config) -> Result<Config> {
    if matches!(config.state, State::Memory) {
        bail!("state: models of a state in memory end with their process: use 'type: redis', or 'type: file'");
    }
    for (name, model) in &config.models {
        let Some(pinned) = model.learning().and_then(|learning| learning.version.as_ref()) else { continue };
        if let Err(error) = pinned.parse::<VersionId>() {
            bail!("models.{name}.version: {error}");
        }
    }
    match config.train {
        // what is not there is missed by those that learn from it alone
        _ if !config.models.values().any(Model::needs_clickthroughs) => Ok(config),
        Some(ClickthroughStore::Discard) => bail!("train: 'discard' keeps nothing to learn from"),
        Some(ClickthroughStore::Memory) => bail!("train: click-throughs in memory end with their process"),
        _ => Ok(config),
    }
}

/// The models to train: those that were asked for, else all that learn.
pub(crate) fn names(config: &Config, asked: &[String]) -> Result<Vec<String>> {
    let trained = config.models.iter().filter(|(_, model)| model.learning().is_some());
    let trained: Vec<&String> = trained.map(|(name, _)| name).collect();
    let Some(unknown) = asked.iter().find(|name| !trained.contains(name)) else {
        return match (asked, trained.as_slice()) {
            ([], []) => bail!("models: the configuration has no model that is trained"),
            ([], all) => Ok(all.iter().map(|name| (*name).clone()).collect()),
            (some, _) => Ok(some.to_vec()),
        };
    };
    let known: Vec<&str> = trained.iter().map(|name| name.as_str()).collect();
    bail!("no model '{unknown}' that is trained: the configuration has {}", known.join(", "))
}

/// Trains one model, publishes it where it passes its gate, and adds that to the report.
pub(crate) fn train(engine: &Engine, name: &str, report: &Shared) -> ModelReport {
    let (began, mut published) = (Instant::now(), None);
    let span = engine.training_span(name);
    let model = match attempt(engine, name, report, &mut published) {
        Ok(model) => model,
        Err(error) => refused(name, error),
    };
    if model.outcome == Outcome::Failed {
        span.fail(&model.message);
    }
    let model = ModelReport { elapsed_ms: began.elapsed().as_millis() as u64, ..model };
    report.add(model.clone());
    drop(published); // who is told to stop has it in the report from now on
    model
}

fn attempt<'a>(
    engine: &Engine,
    name: &str,
    report: &'a Shared,
    published: &mut Option<Publishing<'a>>,
) -> Result<ModelReport, Error> {
    let Some((model, learning)) = engine.config.models.get(name).and_then(|model| Some((model, model.learning()?)))
    else {
        return Err(Error::Empty { model: name.to_owned() }); // names were checked
    };
    let (columns, served) = (engine.columns(), engine.served_constants());
    let embed = |model: &Semantic, told: &mut dyn FnMut(usize, usize)| engine.embed(model, told).map_err(Into::into);
    let training = Training { name, model, columns: &columns, served: &served, embed: &embed, now: now() };
    let before = engine.versions.current(name);
    let running = running(&*engine.versions, name, learning);
    let mut told = None;
    let mut progress = |step: Progress<'_>| {
        let part = match step {
            Progress::Reading { .. } => 0,
            Progress::Fitting { .. } => 1,
            Progress::Embedding { .. } => 2,
        };
        if told.is_none_or(|(of, at): (_, Instant)| of != part || at.elapsed() >= PACE) {
            told = Some((part, Instant::now()));
            tell(name, step);
        }
    };
    let mut candidate = training.candidate(&*engine.clickthroughs, running?, &mut progress)?;
    let mut decision = decide(&learning.gate, &candidate);
    if decision.publish {
        let decided = candidate.trained.version.clone().decided(decision.verdict());
        let failed = |source| Error::Publish { model: name.to_owned(), source };
        candidate.trained.version = decided.map_err(|error| failed(error.into()))?;
        let mut publish = || training.publish(&mut candidate.trained, &before, &*engine.versions);
        match patiently(report, published, &mut publish) {
            // another version was made current meanwhile: the result of a comparison with the old one must not undo that
            Err(Error::Publish { source: StoreError::Moved { current, .. }, .. }) => {
                decision = decision.overtaken(current.as_deref());
            }
            published => published?,
        }
    }
    // a version that another one overtook was not refused
    if !decision.publish && decision.reason != Reason::Overtaken {
        let refusal = Refusal { at: training.now, verdict: decision.verdict() };
        if let Err(error) = engine.versions.refuse(name, &refusal) {
            warn!(model = name, %error, "failed to note why the gate refused a version");
        }
    }
    Ok(decided(name, learning, candidate, decision))
}

fn tell(model: &str, step: Progress<'_>) {
    match step {
        Progress::Reading { rankings } => info!(model, rankings, "reading click-throughs"),
        Progress::Fitting { iteration, limit } => info!(model, iteration = iteration.id + 1, of = limit, "training"),
        Progress::Embedding { done, of } => info!(model, items = done, of, "embedding items"),
    }
}

/// Publishes, again and again while the store is away: once more does no harm.
fn patiently<'a>(
    report: &'a Shared,
    published: &mut Option<Publishing<'a>>,
    mut publish: impl FnMut() -> Result<(), Error>,
) -> Result<(), Error> {
    let (began, mut told) = (Instant::now(), false);
    loop {
        *published = Some(report.publishing());
        match publish() {
            Err(Error::Publish { model, source: StoreError::Redis(error) })
                if error.problem.passes() && began.elapsed() < PATIENCE =>
            {
                if !std::mem::replace(&mut told, true) {
                    warn!(model, %error, "the model is trained, and waits for the store to be published");
                }
            }
            done => return done,
        }
        *published = None;
        std::thread::sleep(PAUSE);
    }
}

/// The version that serves: the pinned one, or the current one.
fn running(versions: &dyn VersionStore, name: &str, learning: &Learning) -> Result<Option<Running>, Error> {
    let pinned = learning.version.as_deref().and_then(|id| id.parse().ok());
    match versions.load(name, pinned.as_ref()) {
        Ok(version) => Ok(version.map(|version| Running::Version(Box::new(version)))),
        // a store that does not answer is no version that cannot be read
        Err(source @ (StoreError::Redis(_) | StoreError::Io { .. })) => {
            Err(Error::Publish { model: name.to_owned(), source })
        }
        Err(error) => Ok(Some(Running::Unreadable(error))),
    }
}

fn decided(name: &str, learning: &Learning, candidate: Candidate, decision: Decision) -> ModelReport {
    let trained = candidate.trained;
    let mut message = decision.message.clone();
    trained
        .answer
        .warnings
        .iter()
        .filter(|_| !trained.learned_nothing)
        .for_each(|warning| warn!(model = name, "{warning}"));
    if let (true, Some(pinned)) = (decision.publish, &learning.version) {
        message = format!("{message}; models.{name}.version pins {pinned}, which is served all the same");
    }
    ModelReport {
        outcome: if decision.publish { Outcome::Published } else { Outcome::Kept },
        message,
        version: decision.publish.then(|| trained.version.id().to_string()),
        trees: Some(trained.trees),
        rankings: Some([trained.train, trained.test]),
        decision: Some(decision),
        left_out: trained.reading.losses.cut + trained.reading.losses.damaged,
        quality: trained.quality,
        ..ModelReport::of(name)
    }
}

fn refused(name: &str, error: Error) -> ModelReport {
    let outcome = match &error {
        Error::Empty { .. }
        | Error::NoColumns { .. }
        | Error::Alone { .. }
        | Error::NoneSelected { .. }
        | Error::NoPositives { .. }
        | Error::NoWeights { .. }
        | Error::NoInteractions { .. }
        | Error::NoVisitors { .. }
        | Error::NoItems { .. }
        | Error::TooLong { .. }
        | Error::NoSide { .. }
        | Error::EmptySide { .. } => Outcome::Nothing,
        _ => Outcome::Failed,
    };
    let error = anyhow::Error::from(error);
    ModelReport { outcome, message: chain(&error), code: exit_code(&error), ..ModelReport::of(name) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn config(text: &str) -> Config {
        Config::parse(text, "test").unwrap().0
    }

    const MODELS: &str = "features: [{name: p, type: position, position: 1}]\n\
        models: {a: {type: lambdamart, weights: {click: 1}, features: [p]}, \
                 b: {type: lambdamart, weights: {click: 1}, features: [p]}, n: {type: noop}}";

    #[test]
    fn all_models_that_learn_are_trained_or_those_asked_for() {
        let config = config(MODELS);
        assert_eq!(names(&config, &[]).unwrap(), ["a", "b"]);
        assert_eq!(names(&config, &["b".to_owned()]).unwrap(), ["b"]);
        let error = names(&config, &["n".to_owned()]).unwrap_err().to_string();
        assert_eq!(error, "no model 'n' that is trained: the configuration has a, b");
    }

    #[test]
    fn what_would_end_with_the_process_is_refused() {
        let refusal = |text: &str| checked(config(text)).unwrap_err().to_string();
        assert!(refusal("models: {}").starts_with("state: "));
        for train in ["train: {type: discard}", "train: {type: memory}"] {
            let train = format!("state: {{type: file, path: /x}}\n{train}");
            assert!(refusal(&format!("{train}\n{MODELS}")).starts_with("train: "));
            let alone = "models: {m: {type: semantic, encoder: {type: csv, dim: 2, path: /e.csv}}}";
            assert!(checked(config(&format!("{train}\n{alone}"))).is_ok(), "it learns from no click-through");
        }
    }

    #[test]
    fn a_pinned_version_that_is_none_is_refused_by_its_place() {
        let pinned = MODELS.replacen("weights", "version: newest, weights", 1);
        let error = checked(config(&format!("state: {{type: file, path: /x}}\n{pinned}"))).unwrap_err().to_string();
        assert!(error.starts_with("models.a.version: invalid model version \"newest\": expected one like"), "{error}");
    }

    #[test]
    fn nothing_to_learn_from_is_told_apart_from_a_failure() {
        let nothing = refused("a", Error::Empty { model: "a".into() });
        assert_eq!(nothing.outcome, Outcome::Nothing);
        let source = StoreError::Unknown { model: "a".into(), version: "v".into() };
        let failed = refused("a", Error::Publish { model: "a".into(), source });
        assert_eq!((failed.outcome, failed.code), (Outcome::Failed, 1));
        assert_eq!(failed.message, "failed to publish model \"a\": model \"a\" has no version v");
    }
}
