//! Why a model could not be trained.

use crate::booster;
use crate::rows::SpillError;
use std::io;

/// Why a model could not be trained.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The model lists a feature that no column belongs to.
    #[error("model {model:?} uses feature {feature:?}, which is not defined")]
    UnknownFeature {
        /// Name of the model.
        model: String,
        /// Name of the feature.
        feature: String,
    },
    /// None of the model's features has columns.
    #[error("model {model:?} has nothing to learn from: none of its features has columns")]
    NoColumns {
        /// Name of the model.
        model: String,
    },
    /// The store holds no ranking.
    #[error("model {model:?} has nothing to learn from: no click-throughs are stored; import events first")]
    Empty {
        /// Name of the model.
        model: String,
    },
    /// The store holds no ranking, but interactions that belong to none.
    #[error(
        "model {model:?} has nothing to learn from: no click-throughs of rankings are stored, but {interactions} interactions; all of them (100 %) \
         belong to no ranking, such as those with the ids {}: `ranking` of an interaction has to be the `id` of a ranking event",
        examples.iter().map(|id| format!("{id:?}")).collect::<Vec<_>>().join(" and ")
    )]
    Alone {
        /// Name of the model.
        model: String,
        /// How many.
        interactions: u64,
        /// The ids of a few of them.
        examples: Vec<String>,
    },
    /// No interaction of a recommender's types.
    #[error(
        "model {model:?} has nothing to learn from: none of {records} records has one of the interactions {}",
        interactions.join(", ")
    )]
    NoInteractions {
        /// Name of the model.
        model: String,
        /// Rankings and lone interactions that were read.
        records: u64,
        /// The types.
        interactions: Vec<String>,
    },
    /// Interactions that tell visitors apart by nothing.
    #[error("model {model:?} has nothing to learn from: interactions have neither `user` nor `session`")]
    NoVisitors {
        /// Name of the model.
        model: String,
    },
    /// No item of a semantic model has an embedding.
    #[error("model {model:?} has nothing to recommend: {why}")]
    NoItems {
        /// Name of the model.
        model: String,
        /// What is empty, and what to do.
        why: String,
    },
    /// The embeddings of items could not be had.
    #[error("failed to embed the items of model {model:?}")]
    Embed {
        /// Name of the model.
        model: String,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// There are more interactions than a recommender learns from.
    #[error("model {model:?} has too much to learn from: select fewer rankings")]
    TooMany {
        /// Name of the model.
        model: String,
        /// Of what.
        source: rankwright_recommend::Full,
    },
    /// There are more interactions than there is memory for.
    #[error(
        "model {model:?} has more than {most} interactions to learn from: select fewer rankings, as with a sampling selector"
    )]
    TooManyInteractions {
        /// Name of the model.
        model: String,
        /// The most there may be.
        most: usize,
    },
    /// A recommender takes more memory than there is.
    #[error(
        "training model {model:?} takes about {} of memory ({vectors} visitors and items, {factors} factors), and this machine or container \
         has {}: lower `factors`, or select fewer rankings; overMemory: true in the model's configuration trains all the same",
        booster::mebibytes(*needed), booster::mebibytes(*available)
    )]
    OverMemory {
        /// Name of the model.
        model: String,
        /// Bytes that it takes, about.
        needed: u64,
        /// Bytes of the machine or container.
        available: u64,
        /// How many vectors.
        vectors: usize,
        /// `factors` as configured.
        factors: usize,
    },
    /// The type of model needs no training.
    #[error("model {model:?} is of type {kind}, which is not trained")]
    NothingToTrain {
        /// Name of the model.
        model: String,
        /// Its type.
        kind: &'static str,
    },
    /// A sample of the click-throughs holds no ranking.
    #[error(
        "model {model:?} has nothing to learn from: a sample of {share} of all click-throughs holds no ranking; take a larger one"
    )]
    NoneSampled {
        /// Name of the model.
        model: String,
        /// Size of the sample, as a part of all.
        share: f64,
    },
    /// The selector accepts no ranking.
    #[error("model {model:?} has nothing to learn from: its selector accepts none of {rankings} rankings")]
    NoneSelected {
        /// Name of the model.
        model: String,
        /// Rankings that were read.
        rankings: u64,
    },
    /// No ranking has an item of positive relevance.
    #[error(
        "model {model:?} has nothing to learn from: in none of {rankings} rankings has an item a label or one of the interactions {weights:?}"
    )]
    NoPositives {
        /// Name of the model.
        model: String,
        /// Rankings that the selector accepted.
        rankings: u64,
        /// Interaction types that have a weight.
        weights: Vec<String>,
    },
    /// No type of interaction counts, and no ranking brings a label along.
    #[error(
        "model {model:?} has nothing to learn from: none of its `weights` is over 0, and in none of {rankings} rankings has an item a label: give the interactions that count in `weights`, or rankings with `items[].label`"
    )]
    NoWeights {
        /// Name of the model.
        model: String,
        /// Rankings that the selector accepted.
        rankings: u64,
    },
    /// All rankings have more items than a booster takes.
    #[error("model {model:?} has nothing to learn from: each of {rankings} rankings has more than {most} items")]
    TooLong {
        /// Name of the model.
        model: String,
        /// Rankings that the selector accepted.
        rankings: u64,
        /// The most items of a ranking that is learned from.
        most: usize,
    },
    /// The field that splits has neither value in any ranking.
    #[error(
        "model {model:?} has nothing to learn from: in none of {rankings} rankings has the field of its split {split} one of the two values"
    )]
    NoSide {
        /// Name of the model.
        model: String,
        /// The split, as configurations write it.
        split: String,
        /// Rankings that the selector accepted.
        rankings: u64,
    },
    /// One side of the split is empty.
    #[error("the split {split} of model {model:?} leaves none of {rankings} rankings to {side}: {advice}")]
    EmptySide {
        /// Name of the model.
        model: String,
        /// The split, as configurations write it.
        split: String,
        /// Rankings that were to be split.
        rankings: usize,
        /// What the empty side is for: `train on` or `test on`.
        side: &'static str,
        /// What helps.
        advice: &'static str,
    },
    /// The feature values of its rankings found no room.
    #[error("failed to prepare model {model:?}")]
    Spill {
        /// Name of the model.
        model: String,
        /// Why.
        source: SpillError,
    },
    /// Feature values could not be read back.
    #[error("failed to read feature values of model {model:?} from their temporary file")]
    Rows {
        /// Name of the model.
        model: String,
        /// Why.
        source: io::Error,
    },
    /// There are more feature values than a training takes.
    #[error(
        "model {model:?} has more than {limit} feature values to learn from: select fewer rankings, as with a sampling selector"
    )]
    TooLarge {
        /// Name of the model.
        model: String,
        /// The most there may be.
        limit: usize,
    },
    /// What is stored is damaged, all of it.
    #[error(
        "model {model:?}: nothing to learn from: of the click-throughs that are stored none can be read, damaged or cut parts: {damaged}"
    )]
    Damaged {
        /// Name of the model.
        model: String,
        /// How many parts are damaged or cut short.
        damaged: u64,
    },
    /// The click-throughs could not be read.
    #[error("failed to read click-throughs")]
    Read(#[from] rankwright_clickthrough::Error),
    /// The library failed.
    #[error("failed to fit model {model:?}")]
    Fit {
        /// Name of the model.
        model: String,
        /// Why.
        source: booster::Error,
    },
    /// The library's model is none that serving can evaluate.
    #[error("failed to evaluate model {model:?}")]
    Evaluate {
        /// Name of the model.
        model: String,
        /// Why.
        source: rankwright_model::ReadError,
    },
    /// The version could not be stored; the model keeps its current one.
    #[error("failed to publish model {model:?}")]
    Publish {
        /// Name of the model.
        model: String,
        /// Why.
        source: rankwright_model::StoreError,
    },
}
