//! What a text leaves out, noted while it is read: for people who look at a configuration with its defaults filled in.

use crate::duration;
use crate::feature::{Distance, RateScope, Scope, Visitor};
use crate::model::{Backend, Booster, Gate, Selector, Split};
use crate::source::{EventFormat, FileOrder, Offset, Subscription};
use crate::state::{Databases, Format, Verify};
use crate::train::Compression;
use serde_json::{Value, json};
use std::time::Duration;

/// What stands in place of a key that is left out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum LeftOut {
    /// A default.
    Value(Value),
    /// A mapping of defaults.
    Section,
}

/// A default, as a text would have it; null where there is nothing to write.
pub(crate) trait Written {
    fn written(&self) -> Value;
}

macro_rules! plain {
    ($($type:ty),*) => {
        $(impl Written for $type {
            fn written(&self) -> Value {
                json!(self)
            }
        })*
    };
}

plain!(bool, u16, u64, usize, f64, String, Vec<String>);

/// Types of which a default is one of a few words.
macro_rules! words {
    ($($type:ty { $($pattern:pat => $word:literal),* })*) => {
        $(impl Written for $type {
            fn written(&self) -> Value {
                match self {
                    $($pattern => json!($word),)*
                }
            }
        })*
    };
}

words! {
    Format { Self::Binary => "binary", Self::Json => "json" }
    Verify { Self::Full => "full", Self::Ca => "ca", Self::Off => "off" }
    Compression { Self::None => "none", Self::Gzip => "gzip", Self::Zstd => "zst" }
    Distance { Self::Cos => "cos", Self::Dot => "dot" }
    EventFormat { Self::Json => "json", Self::SnowplowTsv => "snowplow:tsv", Self::SnowplowJson => "snowplow:json" }
    FileOrder { Self::Name => "name", Self::Time => "time", Self::LastModified => "last-modified" }
    Subscription { Self::Exclusive => "exclusive", Self::Shared => "shared", Self::Failover => "failover" }
    Visitor { Self::User => "user", Self::Session => "session" }
    Booster { Self::XgBoost => "xgboost", Self::LightGbm => "lightgbm" }
}

impl Written for Duration {
    fn written(&self) -> Value {
        json!(duration::written(*self))
    }
}

impl<T: Written> Written for Option<T> {
    fn written(&self) -> Value {
        self.as_ref().map(T::written).unwrap_or_default()
    }
}

impl Written for Offset {
    fn written(&self) -> Value {
        match self {
            Self::Earliest => json!("earliest"),
            Self::Latest => json!("latest"),
            Self::At(time) => json!(format!("ts={time}")),
            Self::Last(length) => json!(format!("last={}", duration::written(*length))),
        }
    }
}

impl Written for Scope {
    fn written(&self) -> Value {
        match self {
            Self::Global => json!("global"),
            Self::Item => json!("item"),
            Self::User => json!("user"),
            Self::Session => json!("session"),
            Self::ItemField(field) => json!(format!("item.{field}")),
            Self::RankingField(field) => json!(format!("ranking.{field}")),
        }
    }
}

impl Written for RateScope {
    fn written(&self) -> Value {
        Scope::from(self.clone()).written()
    }
}

impl Written for Split {
    fn written(&self) -> Value {
        json!(self.to_string())
    }
}

impl Written for Selector {
    /// The only default there is; others stand in the text.
    fn written(&self) -> Value {
        match self {
            Self::Accept(accept) => json!({"accept": accept}),
            _ => Value::Null,
        }
    }
}

impl Written for Backend {
    fn written(&self) -> Value {
        json!({
            "type": self.booster.written(),
            "iterations": self.iterations,
            "learningRate": self.learning_rate,
            "ndcgCutoff": self.ndcg_cutoff,
            "maxDepth": self.max_depth,
            "sampling": self.sampling,
            "debias": self.debias,
            "overMemory": self.over_memory,
        })
    }
}

impl Written for Gate {
    /// The only default there is has a margin alone.
    fn written(&self) -> Value {
        json!({"margin": self.margin})
    }
}

impl Written for Databases {
    fn written(&self) -> Value {
        json!({"state": self.state, "values": self.values, "rankings": self.rankings, "models": self.models})
    }
}
