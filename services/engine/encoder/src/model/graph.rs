//! A graph that ONNX Runtime computes, one batch at a time.

use super::{Batch, ModelError, Pooling, Rules};
use crate::{Runtime, Task};
use ort::ep;
use ort::session::builder::GraphOptimizationLevel;
use ort::session::{HasSelectedOutputs, OutputSelector, RunOptions, Session, SessionInputValue};
use ort::value::{Outlet, TensorElementType, TensorRef};
use std::fs;
use std::path::Path;
use std::sync::Arc;

const INPUTS: [&str; 3] = ["input_ids", "attention_mask", "token_type_ids"];
/// Outputs that are looked for, the best first.
const OUTPUTS: [(&str, Output); 4] = [
    ("logits", Output::Logits),
    ("sentence_embedding", Output::Text),
    ("last_hidden_state", Output::Tokens),
    ("token_embeddings", Output::Tokens),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Output {
    Logits, // rows x 1, or rows x 2: no and yes
    Text,   // rows x dim
    Tokens, // rows x width x dim
}

/// A session of one thread; not shared, as a run borrows it.
pub(crate) struct Graph {
    session: Session,
    options: RunOptions<HasSelectedOutputs>,
    name: &'static str,
    output: Output,
    types: bool, // whether it wants to know which text of a pair a token is of
    rules: Rules,
}

impl Graph {
    pub(crate) fn open(runtime: &Runtime, path: &Path, rules: Rules) -> Result<Self, ModelError> {
        let session = session(runtime, path).map_err(|source| ModelError::NoGraph {
            path: path.to_owned(),
            bytes: fs::metadata(path).map_or(0, |file| file.len()),
            source,
        })?;
        let takes = |name: &str| session.inputs().iter().any(|input| input.name() == name);
        let types = takes(INPUTS[2]);
        if !takes(INPUTS[0]) || !takes(INPUTS[1]) || session.inputs().len() != 2 + usize::from(types) {
            return Err(ModelError::Inputs { path: path.to_owned(), found: names(session.inputs()) });
        }
        for input in session.inputs() {
            check(path, input, TensorElementType::Int64, "64-bit integers")?;
        }
        let found = OUTPUTS.iter().find_map(|&(name, output)| {
            session.outputs().iter().find(|outlet| outlet.name() == name).map(|outlet| (name, output, outlet))
        });
        let Some((name, output, outlet)) = found else {
            return Err(ModelError::Outputs { path: path.to_owned(), found: names(session.outputs()) });
        };
        check(path, outlet, TensorElementType::Float32, "32-bit floats")?;
        let options = RunOptions::new().map_err(|source| ModelError::Probe { path: path.to_owned(), source })?;
        let options = options.with_outputs(OutputSelector::no_default().with(name));
        Ok(Self { session, options, name, output, types, rules })
    }

    pub(crate) fn task(&self) -> Task {
        if self.output == Output::Logits { Task::Score } else { Task::Embed }
    }

    /// Whether it leaves it to others to make one embedding of those of tokens.
    pub(crate) fn gives_tokens(&self) -> bool {
        self.output == Output::Tokens
    }

    /// One vector for each row of a batch: an embedding, or a score alone.
    pub(crate) fn run(&mut self, batch: &Batch) -> Result<Vec<Arc<[f32]>>, ort::Error> {
        let shape = [batch.rows(), batch.width];
        let tensor = |values| Ok::<_, ort::Error>(TensorRef::from_array_view((shape, values))?.into());
        let mut inputs: Vec<(&str, SessionInputValue<'_>)> =
            vec![(INPUTS[0], tensor(&batch.ids[..])?), (INPUTS[1], tensor(&batch.mask[..])?)];
        if self.types {
            inputs.push((INPUTS[2], tensor(&batch.types[..])?));
        }
        let outputs = self.session.run_with_options(inputs, &self.options)?;
        let (shape, values) = outputs[self.name].try_extract_tensor::<f32>()?;
        let wrong = || ort::Error::new(format!("{} came in the shape {shape:?} for {} rows", self.name, batch.rows()));
        let dims: Vec<usize> = shape.iter().map(|&dim| usize::try_from(dim).unwrap_or(0)).collect();
        match (self.output, dims.as_slice()) {
            (_, [rows, ..]) if *rows != batch.rows() => Err(wrong()),
            (Output::Logits, [_] | [_, 1]) => Ok(values.iter().map(|&score| Arc::from([score])).collect()),
            (Output::Logits, [_, 2]) => {
                Ok(values.as_chunks().0.iter().map(|[no, yes]| Arc::from([yes - no])).collect())
            }
            (Output::Text, [_, dim]) if *dim > 0 => {
                Ok(values.chunks_exact(*dim).map(|text| self.rules.finish(text.to_vec())).collect())
            }
            (Output::Tokens, [_, width, dim]) if *width == batch.width && *dim > 0 => {
                let rows = values.chunks_exact(width * dim).zip(batch.mask.chunks_exact(*width));
                Ok(rows.map(|(tokens, mask)| self.rules.finish(self.rules.pooled(tokens, mask, *dim))).collect())
            }
            _ => Err(wrong()),
        }
    }
}

impl Rules {
    fn pooled(&self, tokens: &[f32], mask: &[i64], dim: usize) -> Vec<f32> {
        if self.pooling == Pooling::Cls {
            return tokens[..dim].to_vec();
        }
        let mut mean = vec![0.0; dim];
        let seen = tokens.chunks_exact(dim).zip(mask).filter(|(_, seen)| **seen == 1).map(|(token, _)| token);
        let count = seen.fold(0.0f32, |count, token| {
            mean.iter_mut().zip(token).for_each(|(sum, value)| *sum += value);
            count + 1.0
        });
        mean.iter_mut().for_each(|sum| *sum /= count.max(1.0));
        mean
    }

    fn finish(&self, mut vector: Vec<f32>) -> Arc<[f32]> {
        if self.normalize {
            let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt().max(1e-12);
            vector.iter_mut().for_each(|value| *value /= length);
        }
        vector.into()
    }
}

/// Memory stays flat without an arena, which keeps the most that it ever needed, and without patterns, which are kept for
/// each shape of a batch.
fn session(runtime: &Runtime, path: &Path) -> Result<Session, ort::Error> {
    Session::builder(&runtime.environment)?
        .with_execution_providers([ep::CPU::default().with_arena_allocator(false).build()])?
        .with_intra_threads(1)?
        .with_inter_threads(1)?
        .with_memory_pattern(false)?
        .with_optimization_level(GraphOptimizationLevel::All)?
        .commit_from_file(path)
}

fn check(path: &Path, outlet: &Outlet, expected: TensorElementType, told: &'static str) -> Result<(), ModelError> {
    match outlet.dtype().tensor_type() {
        Some(found) if found == expected => Ok(()),
        found => Err(ModelError::Type {
            path: path.to_owned(),
            name: outlet.name().to_owned(),
            found: found.map_or_else(|| "no tensor".to_owned(), |found| found.to_string()),
            expected: told,
        }),
    }
}

fn names(outlets: &[Outlet]) -> String {
    match outlets.iter().map(Outlet::name).collect::<Vec<_>>() {
        names if names.is_empty() => "none".to_owned(),
        names => names.join(", "),
    }
}
