//! Feature definitions, as they are after checking: every default filled in, every alias resolved.
//!
//! Each type has a file of its own with all that this crate knows of it. A new one is such a file, its `mod` and its
//! entry in the list `types!` below.

mod boolean;
mod counting;
mod diversity;
mod field_match;
mod interacted_with;
mod interaction_count;
mod item_age;
mod list_size;
mod local_time;
mod number;
mod position;
mod random;
mod rate;
mod referer;
mod relevancy;
mod scope;
mod source;
mod string;
mod time_diff;
mod user_agent;
mod vector;
mod window_count;
mod word_count;

pub use scope::{RateScope, Scope, Visitor};
pub(crate) use source::reference;
pub use source::{Entity, Source};

use crate::schema::{FeatureType, Key};
use crate::section::Section;
use std::time::Duration;

/// One feature extractor of the configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Feature {
    /// Unique name; columns and explanations carry it.
    pub name: String,
    /// Accepted for compatibility: values are always fresh here.
    pub refresh: Option<Duration>,
    /// How long a stored value counts after its last change; 0 is never.
    pub ttl: Duration,
    /// What is computed.
    pub kind: Kind,
}

impl Feature {
    /// Names of the columns, in order, by which models, click-throughs and explanations know them.
    pub fn columns(&self) -> impl Iterator<Item = String> + '_ {
        let name =
            |suffix: String| if suffix.is_empty() { self.name.clone() } else { format!("{}_{suffix}", self.name) };
        self.kind.suffixes().into_iter().map(name)
    }
}

/// A type of feature.
pub(crate) trait Definition: Sized {
    /// What stands under `type`.
    const NAME: &str;
    /// Other names for the same.
    const ALIASES: &[&str] = &[];
    /// A definition in YAML, on one line.
    const EXAMPLE: &str;
    /// What it computes, in a sentence.
    const DOC: &str;
    /// Whether it never varies where a field that it reads has one value alone: neither the time, nor interactions, nor
    /// another field make its value.
    const OF_FIELDS_ALONE: bool;
    /// Keys that it reads, in the order of its table. Keys that several types share in the same meaning stand in
    /// [`KEYS`](crate::schema::KEYS).
    const KEYS: &[Key] = &[];
    /// Its `refresh` where nothing is said.
    const USUAL_REFRESH: Duration = Duration::ZERO;

    /// Reads the keys that belong to it.
    fn read(section: &Section<'_>) -> Option<Self>;

    /// What tells its columns apart.
    fn suffixes(&self) -> Vec<String> {
        vec![String::new()]
    }

    /// The fields that it reads.
    fn sources(&self) -> Vec<Source> {
        vec![]
    }

    /// Types of the interactions that it counts or remembers.
    fn interactions(&self) -> Vec<&str> {
        vec![]
    }

    /// The field of which it reads the first element alone, where that is a list.
    fn cut(&self) -> Option<&Source> {
        None
    }
}

macro_rules! types {
    ($($module:ident::$kind:ident,)*) => {
        $(pub use $module::*;)*

        /// What a feature computes, by the `type` of its definition.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Kind {
            $(#[doc = concat!("As [`", stringify!($kind), "`](struct@", stringify!($kind), ") says.")] $kind($kind),)*
        }

        /// Every type of feature, in the order of the specification.
        pub const FEATURE_TYPES: &[FeatureType] = &[$(FeatureType {
            name: $kind::NAME,
            aliases: $kind::ALIASES,
            example: $kind::EXAMPLE,
            doc: $kind::DOC,
            keys: $kind::KEYS,
        }),*];

        impl Kind {
            /// Reads a definition of the type with this name.
            pub(crate) fn read(name: &str, section: &Section<'_>) -> Option<Self> {
                $(if name == $kind::NAME {
                    return $kind::read(section).map(Self::$kind);
                })*
                None
            }

            /// Its `refresh` where nothing is said.
            pub(crate) fn usual_refresh(&self) -> Duration {
                match self { $(Self::$kind(_) => $kind::USUAL_REFRESH),* }
            }

            /// What stands under `type`.
            pub fn type_name(&self) -> &'static str {
                match self { $(Self::$kind(_) => $kind::NAME),* }
            }

            /// What tells the columns of such a feature apart, in order; an empty text where there is one alone.
            pub fn suffixes(&self) -> Vec<String> {
                match self { $(Self::$kind(of) => of.suffixes()),* }
            }

            /// The fields that it reads.
            pub fn sources(&self) -> Vec<Source> {
                match self { $(Self::$kind(of) => of.sources()),* }
            }

            /// Whether it never varies where a field that it reads has one value alone.
            pub fn is_of_fields_alone(&self) -> bool {
                match self { $(Self::$kind(_) => $kind::OF_FIELDS_ALONE),* }
            }

            /// Types of the interactions that it counts or remembers.
            pub fn interactions(&self) -> Vec<&str> {
                match self { $(Self::$kind(of) => of.interactions()),* }
            }

            /// The field of which it reads the first element alone, where that is a list.
            pub fn cut(&self) -> Option<&Source> {
                match self { $(Self::$kind(of) => of.cut()),* }
            }
        }
    };
}

// in the order of the specification
types! {
    number::Number,
    boolean::Boolean,
    vector::Vector,
    string::Text,
    word_count::WordCount,
    list_size::ListSize,
    time_diff::TimeDiff,
    field_match::FieldMatch,
    user_agent::UserAgent,
    interacted_with::InteractedWith,
    referer::Referer,
    relevancy::Relevancy,
    position::Position,
    diversity::Diversity,
    interaction_count::InteractionCount,
    window_count::WindowCount,
    rate::Rate,
    local_time::LocalTime,
    item_age::ItemAge,
    random::Random,
}
