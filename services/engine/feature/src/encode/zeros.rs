//! Models of texts that are not there, as far as they say how much is stored.

use super::{Encode, EncodeError, Encoders, Task, Vector};
use rankwright_config::feature::{Feature, Kind, MatchMethod};
use rankwright_config::{Config, TextModel};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// Opens each model that features name as one that computes zeros: what is stored takes as much then.
#[derive(Debug, Clone, Default)]
pub struct Zeros(BTreeMap<TextModel, Zero>);

#[derive(Debug, Clone)]
struct Zero {
    task: Task,
    dim: usize,
    /// What tells it from others here.
    handle: String,
}

impl Zeros {
    /// Of a configuration.
    pub fn of(config: &Config) -> Self {
        Self(config.features.iter().filter_map(of_feature).collect())
    }
}

fn of_feature(feature: &Feature) -> Option<(TextModel, Zero)> {
    let Kind::FieldMatch(compared) = &feature.kind else { return None };
    let (task, dim) = match compared.method {
        MatchMethod::BiEncoder { dim, .. } => (Task::Embed, dim),
        _ => (Task::Score, 1),
    };
    let model = compared.model()?;
    Some((model.clone(), Zero { task, dim, handle: format!("{model:?}") }))
}

impl Encoders for Zeros {
    fn open(&self, model: &TextModel) -> Result<Arc<dyn Encode>, String> {
        let found = self.0.get(model).ok_or("no feature names it")?;
        Ok(Arc::new(found.clone()))
    }
}

impl Encode for Zero {
    fn task(&self) -> Task {
        self.task
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn digest(&self) -> &str {
        &self.handle
    }

    fn embed(&self, texts: &[&str], _: Option<Instant>) -> Result<Vec<Vector>, EncodeError> {
        Ok(vec![vec![0.0; self.dim].into(); texts.len()])
    }

    fn score(&self, pairs: &[(&str, &str)], _: Option<Instant>) -> Result<Vec<f32>, EncodeError> {
        Ok(vec![0.0; pairs.len()])
    }
}
