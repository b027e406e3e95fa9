//! A model with the threads that compute it and the memory of what they computed.

mod call;
mod error;
mod memo;
mod settings;
mod work;

pub use error::EncodeError;
pub use settings::{Settings, Task};

use crate::model::{Encoded, Graph, ModelError, Rules, Tokens, split};
use crate::{Files, Runtime};
use call::Call;
use hashbrown::HashMap;
use memo::{Guard, Key, Memo, Seen};
use sha2::Digest;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use work::Workers;

/// What to do while too much waits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Full {
    Wait,
    Refuse,
}

type Vector = Arc<[f32]>;
/// A text, or a pair of texts.
type Text<'a> = (&'a str, Option<&'a str>);

/// A model, opened. Any number of threads may call it at a time; they compute
/// with its own threads, never more at a time than it has. Texts that are
/// asked for by several calls at a time are computed once. Its threads end when it is dropped.
pub struct Encoder {
    tokens: Tokens,
    workers: Workers,
    memo: Memo,
    settings: Settings,
    task: Task,
    dim: usize,
    digest: String,
    failures: AtomicU64,
}

impl Encoder {
    /// Opens a model and computes a short text, so that a model that does not work fails now.
    ///
    /// # Errors
    /// When a file is not read, is none of its kind, or the graph is not that of an encoder.
    pub fn open(runtime: &Runtime, files: &Files, settings: Settings) -> Result<Self, ModelError> {
        let tokens = Tokens::read(&files.tokenizer)?;
        let rules = Rules::of(files, &settings, tokens.trained());
        let tokens = tokens.cut_to(rules.max_tokens);
        let mut graph = Graph::open(runtime, &files.model, rules)?;
        if graph.gives_tokens() {
            Rules::check(files, &settings)?;
        }
        let task = graph.task();
        let dim = probe(&tokens, &mut graph, files)?;
        if let Some(expected) = settings.dim.filter(|&expected| task == Task::Embed && expected != dim) {
            return Err(ModelError::Dim { path: files.model.clone(), expected, found: dim });
        }
        let mut graphs = vec![graph];
        for _ in 1..settings.threads.max(1) {
            graphs.push(Graph::open(runtime, &files.model, rules)?);
        }
        let read = |source| ModelError::Read { path: files.folder.clone(), source };
        let digest = files.digest().map_err(read)?.chain_update(format!("{rules:?}")).finalize();
        Ok(Self {
            tokens,
            workers: Workers::start(graphs, settings.queue.max(1)).map_err(read)?,
            memo: Memo::new(settings.memory, dim),
            task,
            dim,
            digest: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
            settings,
            failures: AtomicU64::new(0),
        })
    }

    /// What the model computes.
    pub fn task(&self) -> Task {
        self.task
    }

    /// The dimensions of an embedding; 1 where the model computes scores.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// A digest of all that results depend on: graph, tokenizer, pooling, length. 64 hexadecimal digits.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Embeddings of texts, one for each in their order, of [`dim`](Self::dim) components. Waits for room where too much
    /// waits already.
    ///
    /// # Errors
    /// [`EncodeError::OutOfTime`] when the deadline passes first. What is computed by then is kept for the next call, and
    /// what has not begun is not computed.
    pub fn embed(&self, texts: &[&str], deadline: Option<Instant>) -> Result<Vec<Arc<[f32]>>, EncodeError> {
        self.embeddings(texts, deadline, Full::Wait)
    }

    /// As [`embed`](Self::embed), but refuses where too much waits already.
    ///
    /// # Errors
    /// Also [`EncodeError::Busy`].
    pub fn try_embed(&self, texts: &[&str], deadline: Option<Instant>) -> Result<Vec<Arc<[f32]>>, EncodeError> {
        self.embeddings(texts, deadline, Full::Refuse)
    }

    /// Scores of pairs of a query and a document, one for each in their order, higher for the better; the graph's own
    /// numbers, which have no limits. Waits for room where too much waits already.
    ///
    /// # Errors
    /// [`EncodeError::OutOfTime`] when the deadline passes first.
    pub fn score(&self, pairs: &[(&str, &str)], deadline: Option<Instant>) -> Result<Vec<f32>, EncodeError> {
        self.scores(pairs, deadline, Full::Wait)
    }

    /// As [`score`](Self::score), but refuses where too much waits already.
    ///
    /// # Errors
    /// Also [`EncodeError::Busy`].
    pub fn try_score(&self, pairs: &[(&str, &str)], deadline: Option<Instant>) -> Result<Vec<f32>, EncodeError> {
        self.scores(pairs, deadline, Full::Refuse)
    }

    /// What was computed lately of the text or pair of this [`key`], without waiting or computing.
    pub fn recall(&self, key: u128) -> Option<Arc<[f32]>> {
        self.memo.recall(key)
    }

    /// How often a result was found in memory, and how often it had to be computed, since the start.
    pub fn hits_and_misses(&self) -> (u64, u64) {
        self.memo.hits_and_misses()
    }

    /// Calls that failed since the start, for other reasons than time.
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// Batches that wait for a thread.
    pub fn waiting(&self) -> usize {
        self.workers.waiting()
    }

    fn embeddings(&self, texts: &[&str], by: Option<Instant>, full: Full) -> Result<Vec<Vector>, EncodeError> {
        let texts: Vec<Text<'_>> = texts.iter().map(|&text| (text, None)).collect();
        self.all(Task::Embed, &texts, by, full)
    }

    fn scores(&self, pairs: &[(&str, &str)], by: Option<Instant>, full: Full) -> Result<Vec<f32>, EncodeError> {
        let texts: Vec<Text<'_>> = pairs.iter().map(|&(query, document)| (query, Some(document))).collect();
        Ok(self.all(Task::Score, &texts, by, full)?.iter().map(|score| score[0]).collect())
    }

    fn all(&self, task: Task, texts: &[Text<'_>], by: Option<Instant>, full: Full) -> Result<Vec<Vector>, EncodeError> {
        if task != self.task {
            return Err(EncodeError::WrongTask { model: self.task });
        }
        let found = self.each_once(texts, by, full);
        if matches!(found, Err(EncodeError::Failed { .. })) {
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
        found
    }

    fn each_once(&self, texts: &[Text<'_>], by: Option<Instant>, full: Full) -> Result<Vec<Vector>, EncodeError> {
        let mut first: HashMap<Key, usize> = HashMap::with_capacity(texts.len());
        let keys: Vec<Key> = texts.iter().map(|&text| memo::key(text)).collect();
        for (place, &key) in keys.iter().enumerate() {
            first.entry(key).or_insert(place);
        }
        let mut known: HashMap<Key, Vector> = HashMap::with_capacity(first.len());
        let mut left: Vec<(usize, Key)> = first.into_iter().map(|(key, place)| (place, key)).collect();
        left.sort_unstable();
        let mut ours: Vec<(usize, Key, Guard<'_>)> = Vec::new();
        loop {
            left.retain(|&(place, key)| match self.memo.look(key) {
                Seen::Known(vector) => {
                    known.insert(key, vector);
                    false
                }
                Seen::Ours(guard) => {
                    ours.push((place, key, guard));
                    false
                }
                Seen::Others => true,
            });
            let wanted: Vec<Text<'_>> = ours.iter().map(|(place, ..)| texts[*place]).collect();
            let mut guards: Vec<_> = ours.drain(..).map(|(_, key, guard)| Some((key, guard))).collect();
            self.compute(&wanted, by, full, |text, vector| {
                if let Some((key, guard)) = guards[text].take() {
                    guard.fill(Arc::clone(&vector)); // calls that wait for this text alone go on
                    known.insert(key, vector);
                }
            })?;
            // other calls are waited for when none can be waiting for this one
            let Some((place, key)) = left.pop() else { break };
            match self.memo.wait(key, by) {
                Seen::Known(vector) => {
                    known.insert(key, vector);
                }
                Seen::Ours(guard) => ours.push((place, key, guard)), // the other call failed
                Seen::Others => return Err(EncodeError::OutOfTime),
            }
        }
        Ok(keys.iter().map(|key| Arc::clone(&known[key])).collect())
    }

    /// Shows what each text gives, by its place, as soon as it is computed.
    fn compute(
        &self,
        texts: &[Text<'_>],
        by: Option<Instant>,
        full: Full,
        show: impl FnMut(usize, Vector),
    ) -> Result<(), EncodeError> {
        if texts.is_empty() {
            return Ok(());
        }
        let encoded = self.encoded(texts, by, full)?;
        let batches = split(&encoded, self.settings.batch, self.settings.threads, self.tokens.pad());
        Call::new(batches.len(), by).answer(&self.workers, batches, full, show)
    }

    fn encoded(&self, texts: &[Text<'_>], by: Option<Instant>, full: Full) -> Result<Vec<Encoded>, EncodeError> {
        if full == Full::Refuse {
            let batches = texts.len().div_ceil(self.settings.batch.max(1));
            self.workers.has_room(batches, by)?; // before texts are split into tokens, for nothing
        }
        let encode = |&(text, pair): &Text<'_>| {
            if by.is_some_and(|by| Instant::now() >= by) {
                return Err(EncodeError::OutOfTime);
            }
            self.tokens.encode(text, pair).map_err(|cause| EncodeError::Failed { cause })
        };
        texts.iter().map(encode).collect()
    }
}

/// The dimensions of what a graph gives for a short text.
fn probe(tokens: &Tokens, graph: &mut Graph, files: &Files) -> Result<usize, ModelError> {
    let pair = (graph.task() == Task::Score).then_some("two");
    let encoded = tokens.encode("one", pair);
    let encoded = encoded.map_err(|cause| ModelError::NoTokenizer { path: files.tokenizer.clone(), cause })?;
    let batches = split(&[encoded], 1, 1, tokens.pad());
    let vectors = graph.run(&batches[0]).map_err(|source| ModelError::Probe { path: files.model.clone(), source })?;
    Ok(vectors.first().map_or(0, |vector| vector.len()))
}

/// A number for a pair of texts that no other pair has.
pub(crate) fn pair_key(query: &str, document: &str) -> u128 {
    key(query, Some(document))
}

/// A number for a text, or for a pair of texts, that no other text or pair has.
pub fn key(text: &str, document: Option<&str>) -> u128 {
    memo::key((text, document))
}
