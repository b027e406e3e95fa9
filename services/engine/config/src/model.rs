//! Model definitions, as they are after checking.

use crate::inference::TextModel;
use std::collections::BTreeMap;
use std::time::Duration;

/// A model of the configuration.
#[derive(Debug, Clone, PartialEq)]
pub enum Model {
    /// `lambdamart`
    LambdaMart(LambdaMart),
    /// `shuffle`
    Shuffle {
        /// How far an item may drift from its position.
        max_position_change: usize,
    },
    /// `noop`
    Noop,
    /// `als`
    Als(Als),
    /// `trending`
    Trending(Trending),
    /// `semantic`
    Semantic(Semantic),
}

impl Model {
    /// Whether it recommends items, rather than ranks those of a request.
    pub fn recommends(&self) -> bool {
        matches!(self, Self::Als(_) | Self::Trending(_) | Self::Semantic(_))
    }

    /// Whether its versions hold a vector of each item.
    pub fn holds_vectors(&self) -> bool {
        matches!(self, Self::Als(_) | Self::Semantic(_))
    }

    /// Whether it learns to order items.
    pub fn learns_order(&self) -> bool {
        self.learning().is_some() && !self.recommends()
    }

    /// How it is trained and its versions are kept; none where it needs no training.
    pub fn learning(&self) -> Option<&Learning> {
        match self {
            Self::LambdaMart(model) => Some(&model.learning),
            Self::Als(model) => Some(&model.learning),
            Self::Trending(model) => Some(&model.learning),
            Self::Semantic(model) => Some(&model.learning),
            Self::Shuffle { .. } | Self::Noop => None,
        }
    }

    /// Whether there is nothing to train it on without click-throughs.
    pub fn needs_clickthroughs(&self) -> bool {
        matches!(self, Self::LambdaMart(_) | Self::Als(_) | Self::Trending(_))
    }

    /// Types of interaction that it names, and the key that they stand under.
    pub fn interactions(&self) -> (&'static str, Vec<&str>) {
        match self {
            Self::LambdaMart(model) => ("weights", model.weights.keys().map(String::as_str).collect()),
            Self::Als(model) => ("interactions", model.interactions.iter().map(String::as_str).collect()),
            Self::Trending(model) => ("weights", model.weights.iter().map(|part| part.interaction.as_str()).collect()),
            Self::Shuffle { .. } | Self::Noop | Self::Semantic(_) => ("weights", Vec::new()),
        }
    }

    /// Item fields whose stored values it is trained on, without `item.`, and how long a value counts.
    pub fn stored_fields(&self) -> (&[String], Duration) {
        match self {
            Self::Semantic(model) => (&model.item_fields, model.ttl),
            _ => (&[], Duration::ZERO),
        }
    }

    /// Items of the visitor that its recommendations leave out, if any.
    pub fn exclude_seen(&self) -> Option<&Seen> {
        self.learning()?.exclude_seen.as_ref()
    }

    /// How its trees are trained; none where its versions are no trees.
    pub fn trees(&self) -> Option<&LambdaMart> {
        match self {
            Self::LambdaMart(model) => Some(model),
            _ => None,
        }
    }

    /// The same, to change it.
    pub fn trees_mut(&mut self) -> Option<&mut LambdaMart> {
        match self {
            Self::LambdaMart(model) => Some(model),
            _ => None,
        }
    }

    /// The most rounds of its training.
    pub fn rounds(&self) -> usize {
        match self {
            Self::LambdaMart(model) => model.backend.iterations,
            Self::Als(model) => model.iterations,
            _ => 1,
        }
    }

    /// How train and test are parted, where it is so.
    pub fn split(&self) -> Option<&Split> {
        self.trees().map(|trees| &trees.split)
    }

    /// Names of the features that it learns from, in column order.
    pub fn features(&self) -> &[String] {
        self.trees().map(|trees| trees.features.as_slice()).unwrap_or_default()
    }

    /// What is replayed before a version serves, if anything.
    pub fn warmup(&self) -> Option<Warmup> {
        self.trees()?.warmup
    }

    /// Where its embeddings of items come from, if it has some.
    pub fn encoder(&self) -> Option<&Encoder> {
        match self {
            Self::Semantic(model) => Some(&model.encoder),
            _ => None,
        }
    }
}

/// What every model that is trained says of its training and its versions.
#[derive(Debug, Clone, PartialEq)]
pub struct Learning {
    /// Which click-throughs it is trained on.
    pub selector: Selector,
    /// Serve this version whatever the newest is.
    pub version: Option<String>,
    /// `qualityGate`: when a training job publishes.
    pub gate: Gate,
    /// `keepVersions`: number of newest versions that are kept; default 10.
    pub keep_versions: usize,
    /// `excludeSeen` of recommenders: which items of the visitor they leave out; default none.
    pub exclude_seen: Option<Seen>,
}

/// Items that a visitor has interacted with.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seen {
    /// Types of interaction that count, in order, each once; empty means any but `impression`.
    pub interactions: Vec<String>,
}

/// Similar items, by factors of the matrix of visitors and items.
#[derive(Debug, Clone, PartialEq)]
pub struct Als {
    /// Interaction types; never empty.
    pub interactions: Vec<String>,
    /// Length of an item's vector; default 100.
    pub factors: usize,
    /// Default 100.
    pub iterations: usize,
    /// Regularization of visitors' vectors; default 0.01.
    pub user_reg: f64,
    /// Regularization of items' vectors; default 0.01.
    pub item_reg: f64,
    /// Decides where the vectors begin; default 0, so that two trainings on the same data agree.
    pub seed: u64,
    /// Train although that takes more memory than the machine or container has; default false.
    pub over_memory: bool,
    /// Training and versions.
    pub learning: Learning,
}

/// Items that get many interactions at the moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Trending {
    /// Parts of the score; never empty.
    pub weights: Vec<TrendingWeight>,
    /// Training and versions.
    pub learning: Learning,
}

/// One interaction type's part of a trending score.
#[derive(Debug, Clone, PartialEq)]
pub struct TrendingWeight {
    /// Interaction type.
    pub interaction: String,
    /// Factor a day; default 1.
    pub decay: f64,
    /// Default 1.
    pub weight: f64,
    /// How far back; default 30 days.
    pub window: Duration,
}

/// Items with similar texts, by embeddings.
#[derive(Debug, Clone, PartialEq)]
pub struct Semantic {
    /// Where embeddings come from.
    pub encoder: Encoder,
    /// Item fields whose values, joined, are an item's text: without `item.`, each once. Empty with a file of embeddings.
    pub item_fields: Vec<String>,
    /// How long a value counts after the event that brought it; default 90 days.
    pub ttl: Duration,
    /// Training and versions.
    pub learning: Learning,
}

/// Where a semantic model's embeddings come from.
#[derive(Debug, Clone, PartialEq)]
pub enum Encoder {
    /// `bert`: a model computes them from texts.
    Bert {
        /// The model.
        model: TextModel,
        /// Length of an embedding.
        dim: usize,
    },
    /// `csv`: a file has them by item id.
    Csv {
        /// Length of an embedding.
        dim: usize,
        /// Path of the file.
        path: String,
    },
}

/// A LambdaMART model.
#[derive(Debug, Clone, PartialEq)]
pub struct LambdaMart {
    /// The booster and its options.
    pub backend: Backend,
    /// Relevance of an interaction type; where there is none, labels come from rankings alone.
    pub weights: BTreeMap<String, f64>,
    /// Names of features, in column order; never empty, each defined, none twice.
    pub features: Vec<String>,
    /// How train and test are parted.
    pub split: Split,
    /// Reported metrics; default NDCG@10.
    pub eval: Vec<Metric>,
    /// What is replayed before serving.
    pub warmup: Option<Warmup>,
    /// Training and versions.
    pub learning: Learning,
}

/// What a newly trained model has to reach for a training job to publish it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Gate {
    /// Which of the model's metrics counts; default its first one.
    pub metric: Option<Metric>,
    /// So much worse than the running version it may be; default 0.01.
    pub margin: f64,
    /// `weighted`: compare metrics that weigh clicks by the examination of their positions; default none, with `lambdamart` alone.
    pub weighting: Option<Weighting>,
}

/// How the examination of positions is estimated, by which clicks are weighted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Weighting {
    /// A ranking field that tells rankers, or randomised lists, apart.
    pub arm: Option<Arm>,
    /// A ranking field, such as a query: an item counts as the same only within one of its values.
    pub context: Option<String>,
}

/// A ranking field that tells apart which ranker ordered a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arm {
    /// Ranking field (without `ranking.`).
    pub field: String,
    /// Its value where the order was random; `None` where each value is a ranker.
    pub randomized: Option<String>,
}

/// A booster's options, defaults filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Backend {
    /// Which library.
    pub booster: Booster,
    /// Number of trees at most; default 100.
    pub iterations: usize,
    /// Default 0.1.
    pub learning_rate: f64,
    /// Default 10.
    pub ndcg_cutoff: usize,
    /// Default 8; 0 is no limit, with LightGBM alone.
    pub max_depth: usize,
    /// Absent means a random one. A text seed is digested into a number.
    pub seed: Option<u64>,
    /// Fraction of features a tree may use, over 0 to 1; default 0.8.
    pub sampling: f64,
    /// The booster's own removal of position bias; default false.
    pub debias: bool,
    /// LightGBM alone; default 16.
    pub num_leaves: usize,
    /// Train although that takes more memory than the machine or container has; default false.
    pub over_memory: bool,
}

/// A gradient boosting library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Booster {
    /// `xgboost`
    XgBoost,
    /// `lightgbm`
    LightGbm,
}

/// How click-throughs are parted into train and test.
#[derive(Debug, Clone, PartialEq)]
pub struct Split {
    /// What decides.
    pub strategy: SplitStrategy,
    /// Part that goes into train, 0 to 1; default 0.8. A split by field has no use for it.
    pub ratio: f64,
}

impl Split {
    /// The field that decides, if one does.
    pub fn field(&self) -> Option<&SplitField> {
        match &self.strategy {
            SplitStrategy::Field(field) => Some(field),
            _ => None,
        }
    }
}

/// What decides on which side a click-through lands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SplitStrategy {
    /// Chance.
    Random,
    /// Time: the first part is train.
    Time,
    /// Time within each visitor.
    HoldLast,
    /// The value of a ranking field.
    Field(Box<SplitField>),
}

/// A ranking field that decides on which side a click-through lands. One that has neither value is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitField {
    /// Ranking field (without `ranking.`).
    pub name: String,
    /// Its value, or one of its values, for train.
    pub train: String,
    /// For test.
    pub test: String,
}

/// A ranking metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// `NDCG`, `NDCG@k`
    Ndcg(Option<usize>),
    /// `MAP`, `MAP@k`
    Map(Option<usize>),
    /// `MRR`
    Mrr,
}

/// Requests replayed before a model version serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Warmup {
    /// Rankings sampled in training and stored with the model.
    pub sampled_requests: usize,
    /// Time that replaying them may take.
    pub duration: Duration,
}

/// Which rankings feed a model.
#[derive(Debug, Clone, PartialEq)]
pub enum Selector {
    /// All, or none.
    Accept(bool),
    /// Those whose ranking field equals, or holds, one of some values.
    Field {
        /// Ranking field.
        ranking_field: String,
        /// The values.
        values: Vec<String>,
    },
    /// A random part, 0 to 1.
    Sampling(f64),
    /// Those with interactions at such positions (from 0).
    InteractionPosition {
        /// At least.
        min: Option<usize>,
        /// At most.
        max: Option<usize>,
    },
    /// Those of such length.
    Length {
        /// At least.
        min: Option<usize>,
        /// At most.
        max: Option<usize>,
    },
    /// All of these.
    And(Vec<Selector>),
    /// Any of these.
    Or(Vec<Selector>),
    /// Not this one.
    Not(Box<Selector>),
}
