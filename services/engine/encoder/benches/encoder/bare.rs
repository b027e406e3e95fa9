//! ONNX Runtime without this crate: the same batches on as many threads, their tokens known before.

use ort::ep;
use ort::session::{Session, SessionInputValue};
use ort::value::TensorRef;
use rankwright_encoder::{Files, Runtime};
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tokenizers::Tokenizer;

pub(crate) struct Bare {
    sessions: Vec<Session>,
    tokenizer: Tokenizer,
}

/// Rows, width, and three arrays of that size.
pub(crate) struct Inputs {
    shape: [usize; 2],
    parts: [Vec<i64>; 3],
}

const NAMES: [&str; 3] = ["input_ids", "attention_mask", "token_type_ids"];

impl Bare {
    pub(crate) fn open(runtime: &Runtime, files: &Files, threads: usize) -> Self {
        let session = || {
            let builder = Session::builder(runtime.environment()).expect("options are made");
            let arena = ep::CPU::default().with_arena_allocator(false).build();
            let builder = builder.with_execution_providers([arena]).expect("it is the processor");
            let builder = builder.with_memory_pattern(false).expect("it may be off");
            builder.with_intra_threads(1).expect("one will do").commit_from_file(&files.model).expect("it is a graph")
        };
        let mut tokenizer = Tokenizer::from_file(&files.tokenizer).expect("it is a tokenizer");
        tokenizer.with_padding(None);
        Self { sessions: (0..threads).map(|_| session()).collect(), tokenizer }
    }

    /// Batches of sizes that differ by one at most, of similar lengths, as many for each thread.
    pub(crate) fn batches(&self, pairs: &[(&str, &str)], size: usize) -> Vec<Inputs> {
        let mut encoded: Vec<_> =
            pairs.iter().map(|&pair| self.tokenizer.encode_fast(pair, true).expect("it is a text")).collect();
        encoded.sort_by_key(|encoding| usize::MAX - encoding.len());
        let count = encoded.len().div_ceil(size).next_multiple_of(self.sessions.len()).min(encoded.len());
        let mut left = encoded.as_slice();
        let batch = |number: usize| {
            let (rows, rest) = left.split_at(left.len().div_ceil(count - number));
            left = rest;
            let width = rows[0].len();
            let filled = |part: &[u32]| {
                let empty = std::iter::repeat_n(0, width - part.len());
                part.iter().copied().map(i64::from).chain(empty).collect::<Vec<_>>()
            };
            let part = |of: fn(&tokenizers::Encoding) -> &[u32]| rows.iter().flat_map(|row| filled(of(row))).collect();
            let parts =
                [part(|row| row.get_ids()), part(|row| row.get_attention_mask()), part(|row| row.get_type_ids())];
            Inputs { shape: [rows.len(), width], parts }
        };
        (0..count).map(batch).collect()
    }

    pub(crate) fn run(&mut self, batches: &[Inputs]) -> Duration {
        let (start, next) = (Instant::now(), AtomicUsize::new(0));
        let work = |session: &mut Session| {
            while let Some(inputs) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
                inputs.run(session);
            }
        };
        let busy = self.sessions.len().min(batches.len());
        let (first, others) = self.sessions[..busy].split_first_mut().expect("there is a batch");
        thread::scope(|scope| {
            for session in others {
                scope.spawn(|| work(session));
            }
            work(first);
        });
        start.elapsed()
    }
}

impl Inputs {
    fn run(&self, session: &mut Session) {
        let tensor = |part: usize| TensorRef::from_array_view((self.shape, &self.parts[part][..])).expect("it fits");
        let inputs: Vec<(&str, SessionInputValue<'_>)> =
            NAMES.iter().enumerate().map(|(part, name)| (*name, tensor(part).into())).collect();
        black_box(session.run(inputs).expect("it is computed")["logits"].shape());
    }
}
