//! Models of texts, opened as a configuration names them, each once.

mod dictionaries;
mod elsewhere;
mod web;

use anyhow::{Context, Result, anyhow, bail};
pub use dictionaries::with_dictionaries;
use elsewhere::Elsewhere;
use futures_util::future::BoxFuture;
use rankwright_config::feature::{FieldMatch, Kind, MatchMethod};
use rankwright_config::model::Encoder::Bert;
use rankwright_config::{Config, Feature, InferenceKind, Model, TextModel};
use rankwright_encoder::{Encoder, Fetch, FileNames, Handle, Runtime, Settings, Sources, Task};
use rankwright_feature::Encode;
use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Instant;
use tracing::info;

/// The most batches of a model that wait for a thread before it is busy: a second of work, or a few.
const QUEUE: usize = 64;

/// Each thread has a copy of the model in memory, so that by default there are no more.
const MOST_THREADS: usize = 8;

/// A model that a part of a configuration needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Where the configuration names it, such as `inference.words`.
    pub path: String,
    /// Which model.
    pub model: TextModel,
    /// What it has to compute.
    pub task: Task,
    /// The dimensions that its embeddings have to have.
    pub dim: Option<usize>,
}

/// Models that are open; one that is named several times is opened once.
#[derive(Default, Clone)]
pub struct Encoders {
    open: BTreeMap<TextModel, Arc<Encoder>>,
}

impl Wanted {
    /// The models of the section `inference`.
    pub fn of_inference(config: &Config) -> Vec<Self> {
        let wanted = |(name, inference): (&String, &rankwright_config::Inference)| Self {
            path: format!("inference.{name}"),
            model: inference.model.clone(),
            task: match inference.kind {
                InferenceKind::BiEncoder => Task::Embed,
                InferenceKind::CrossEncoder => Task::Score,
            },
            dim: inference.dim,
        };
        config.inference.iter().map(wanted).collect()
    }

    /// The models that features compute with.
    pub fn of_features(config: &Config) -> Vec<Self> {
        config.features.iter().enumerate().filter_map(|(index, feature)| Self::of_feature(index, feature)).collect()
    }

    fn of_feature(index: usize, feature: &Feature) -> Option<Self> {
        let Kind::FieldMatch(FieldMatch { method, .. }) = &feature.kind else { return None };
        let (model, task, dim) = match method {
            MatchMethod::BiEncoder { model, dim, .. } => (model.as_ref()?, Task::Embed, Some(*dim)),
            MatchMethod::CrossEncoder { model, .. } => (model.as_ref()?, Task::Score, None),
            _ => return None,
        };
        Some(Self { path: format!("features[{index}].method"), model: model.clone(), task, dim })
    }

    /// The models that semantic models embed items with, when they are trained.
    pub fn of_models(config: &Config) -> Vec<Self> {
        let wanted = |(name, model): (&String, &Model)| {
            let Bert { model, dim } = model.encoder()? else { return None };
            let path = format!("models.{name}.encoder");
            Some(Self { path, model: model.clone(), task: Task::Embed, dim: Some(*dim) })
        };
        config.models.iter().filter_map(wanted).collect()
    }
}

/// Leaves out features that none of these models learns from and that compute with a model of texts or with files. Returns the models
/// of texts that are still needed.
pub(crate) fn leave_out_texts(config: &mut Config, models: &[String]) -> Vec<Wanted> {
    let learnt = |feature: &Feature| {
        models.iter().filter_map(|name| config.models.get(name)).any(|model| model.features().contains(&feature.name))
    };
    let is_of_files = |feature: &Feature| matches!(&feature.kind, Kind::FieldMatch(of) if of.is_of_files());
    let stay = config.features.iter().enumerate().filter(|(_, feature)| learnt(feature));
    let needed = stay.filter_map(|(index, feature)| Wanted::of_feature(index, feature)).collect();
    config.features.retain(|feature| learnt(feature) || !is_of_files(feature));
    needed
}

impl rankwright_feature::Encoders for Encoders {
    fn open(&self, model: &TextModel) -> Result<Arc<dyn Encode>, String> {
        let found = self.get(model).map(|encoder| encoder as Arc<dyn Encode>);
        found.ok_or_else(|| format!("the model {} is not open", model.handle))
    }
}

impl Encoders {
    /// Opens the models, on a thread of its own: files may have to be fetched first. Without any, ONNX Runtime is not needed.
    /// `batch` texts are computed together; where it is 1, the numbers of a text depend on no other.
    ///
    /// # Errors
    /// When ONNX Runtime is missing, or a model is not there, does not work, or is not what is wanted. The error begins with
    /// the path in the configuration.
    pub fn open(wanted: Vec<Wanted>, batch: usize) -> BoxFuture<'static, Result<Self>> {
        Self::open_with(wanted, batch, true)
    }

    /// The same of models that are here already: nothing is fetched.
    pub(crate) fn open_present(wanted: Vec<Wanted>, batch: usize) -> BoxFuture<'static, Result<Self>> {
        Self::open_with(wanted, batch, false)
    }

    fn open_with(wanted: Vec<Wanted>, batch: usize, fetch: bool) -> BoxFuture<'static, Result<Self>> {
        Box::pin(async move {
            if wanted.is_empty() {
                return Ok(Self::default());
            }
            apart(move || Self::open_all(&wanted, batch, fetch)).await
        })
    }

    /// The model that the configuration names so.
    pub fn get(&self, model: &TextModel) -> Option<Arc<Encoder>> {
        self.open.get(model).cloned()
    }

    /// All of them, by their handles in the configuration.
    pub(crate) fn all(&self) -> impl Iterator<Item = (String, Arc<Encoder>)> {
        self.open.iter().map(|(model, encoder)| (model.handle.clone(), encoder.clone()))
    }

    fn open_all(wanted: &[Wanted], batch: usize, fetch: bool) -> Result<Self> {
        let (cache, settings) = (cache()?, Settings { batch, ..settings()? });
        let first = wanted.first().map(|wanted| wanted.path.clone()).unwrap_or_default();
        let runtime = Runtime::open(&cache).with_context(|| format!("{first}.model"))?;
        let elsewhere = Elsewhere::default();
        let sources = sources(cache, fetch.then_some(&elsewhere));
        let mut encoders = Self::default();
        for wanted in wanted {
            if !encoders.open.contains_key(&wanted.model) {
                let began = Instant::now();
                let path = || format!("{}.model", wanted.path); // errors name the handle, or its files
                let encoder = opened(&runtime, &sources, &wanted.model, &settings).with_context(path)?;
                let (model, elapsed_ms) = (&wanted.model.handle, began.elapsed().as_millis() as u64);
                info!(model, dim = encoder.dim(), threads = settings.threads, elapsed_ms, "opened a text model");
                encoders.open.insert(wanted.model.clone(), Arc::new(encoder));
            }
            wanted.check(&encoders.open[&wanted.model])?;
        }
        Ok(encoders)
    }
}

impl Wanted {
    /// Compares what is wanted with what a model does.
    fn check(&self, encoder: &Encoder) -> Result<()> {
        let (path, handle) = (&self.path, &self.model.handle);
        match (self.task, encoder.task()) {
            (Task::Embed, Task::Score) => {
                bail!("{path}.type: {handle} computes scores of pairs: it is a cross-encoder")
            }
            (Task::Score, Task::Embed) => bail!("{path}.type: {handle} computes embeddings: it is a bi-encoder"),
            _ => {}
        }
        match self.dim.filter(|&dim| encoder.task() == Task::Embed && dim != encoder.dim()) {
            Some(dim) => bail!("{path}.dim: {handle} gives embeddings of {} dimensions, not {dim}", encoder.dim()),
            None => Ok(()),
        }
    }
}

/// Works on a thread of its own: no thread of the runtime, which would wait for it at its end.
async fn apart<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let (told, heard) = tokio::sync::oneshot::channel();
    thread::Builder::new().name("models".to_owned()).spawn(move || told.send(work()))?;
    heard.await.context("opening models or dictionaries was interrupted")?
}

fn opened(runtime: &Runtime, sources: &Sources<'_>, model: &TextModel, settings: &Settings) -> Result<Encoder> {
    let handle: Handle = model.handle.parse()?;
    let names = FileNames { model: model.model_file.clone(), tokenizer: model.tokenizer_file.clone() };
    let files = sources.locate(&handle, &names)?;
    let opened = Encoder::open(runtime, &files, settings.clone());
    match files.folder.starts_with(sources.cache.join("fetched")) {
        true => opened.with_context(|| {
            let folder = files.folder.display();
            format!("{handle} does not work as it was fetched; if its files were damaged since, remove {folder}: they are fetched again")
        }),
        false => Ok(opened?),
    }
}

/// As the environment says: also a mirror of the hub, by the variable that other tools have for it.
fn sources(cache: PathBuf, elsewhere: Option<&Elsewhere>) -> Sources<'_> {
    let own = cache.join("models");
    let mut sources = Sources::from_env(cache, elsewhere.map(|elsewhere| elsewhere as &dyn Fetch));
    if sources.models.as_os_str().is_empty() {
        sources.models = own; // an empty variable counts as absent
    }
    let mirror = env::var("HF_ENDPOINT").ok().filter(|address| !address.is_empty());
    if let (Some(hub), Some(mirror)) = (&mut sources.hub, mirror) {
        mirror.trim_end_matches('/').clone_into(hub);
    }
    sources
}

/// Where ONNX Runtime may be, and fetched models are kept.
fn cache() -> Result<PathBuf> {
    let folder = |name: &str| env::var_os(name).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let own = folder("RANKWRIGHT_ENCODERS_CACHE");
    let usual = || folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
    let found = own.or_else(|| Some(usual()?.join("rankwright/encoders")));
    found.context("there is no folder for models: name one in RANKWRIGHT_ENCODERS_CACHE, or set HOME")
}

fn settings() -> Result<Settings> {
    let usual = Settings::default();
    let threads = match env::var("RANKWRIGHT_ENCODER_THREADS").ok().filter(|text| !text.is_empty()) {
        None => usual.threads.min(MOST_THREADS),
        Some(text) => match text.parse() {
            Ok(threads @ 1..=1024) => threads,
            _ => return Err(anyhow!("RANKWRIGHT_ENCODER_THREADS is {text:?}, expected a number from 1 to 1024")),
        },
    };
    Ok(Settings { threads, queue: QUEUE, ..usual })
}

#[cfg(test)]
mod tests;
