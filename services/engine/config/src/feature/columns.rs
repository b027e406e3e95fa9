//! Names of a feature's columns, by which models, click-throughs and explanations know them.

use super::{AgentField, Encoding, Feature, Kind, Reducer};

/// Kinds of sites that a visitor can come from, in the order of the columns of `referer`.
pub const REFERER_MEDIUMS: [&str; 6] = ["unknown", "search", "internal", "social", "email", "paid"];

impl Feature {
    /// Names of the columns, in order.
    pub fn columns(&self) -> impl Iterator<Item = String> + '_ {
        let name =
            |suffix: String| if suffix.is_empty() { self.name.clone() } else { format!("{}_{suffix}", self.name) };
        self.kind.suffixes().into_iter().map(name)
    }
}

impl Kind {
    /// What tells the columns of such a feature apart, in order; an empty text where there is one alone.
    pub fn suffixes(&self) -> Vec<String> {
        match self {
            Self::Vector { reduce, .. } => reduce.iter().flat_map(|reducer| reducer.suffixes()).collect(),
            Self::Text { values, encode: Encoding::OneHot, .. } => values.clone(),
            Self::UserAgent { field, .. } => field.values().iter().map(|name| name.replace(' ', "_")).collect(),
            Self::InteractedWith { fields, .. } => fields.clone(),
            Self::Referer { .. } => REFERER_MEDIUMS.map(str::to_owned).to_vec(),
            Self::WindowCount { windows: periods, .. } | Self::Rate { periods, .. } => {
                periods.iter().map(ToString::to_string).collect()
            }
            _ => vec![String::new()],
        }
    }
}

impl Reducer {
    fn suffixes(self) -> Vec<String> {
        let word = match self {
            Self::First => "first",
            Self::Last => "last",
            Self::Min => "min",
            Self::Max => "max",
            Self::Random => "random",
            Self::Avg => "avg",
            Self::Sum => "sum",
            Self::Size => "size",
            Self::EuclideanDistance => "euclidean_distance",
            Self::Vector(length) => return (0..length).map(|place| format!("vector{length}_{place}")).collect(),
        };
        vec![word.to_owned()]
    }
}

impl AgentField {
    /// What such a property may be, in the order of the columns.
    pub const fn values(self) -> &'static [&'static str] {
        match self {
            Self::Platform => &["mobile", "desktop", "tablet"],
            Self::Os => &["ios", "android", "windows", "linux", "macos", "chrome os"],
            Self::Browser => &["safari", "chrome", "firefox", "opera", "ie", "other"],
            Self::Bot => &["bot"],
        }
    }
}
