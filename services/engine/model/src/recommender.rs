//! One interface for whatever recommends items.

use crate::model::LoadError;
use crate::version::{Kind, Version};
use rankwright_recommend::{Similar, Trending};
use std::collections::HashSet;

pub use rankwright_recommend::NoAnswer;

/// An item, and how well it fits: the higher, the better.
pub type Recommendation<'a> = (&'a str, f32);

/// A recommender, ready to serve.
pub enum Recommender {
    /// Items near those of a request.
    Similar(Similar),
    /// Items in demand, whatever the request.
    Trending(Trending),
}

impl Recommender {
    /// Makes a version ready to serve.
    ///
    /// # Errors
    /// When the version is none of a recommender, or its bytes are damaged.
    pub fn load(version: &Version) -> Result<Self, LoadError> {
        let failed = |source| LoadError::new(version, source);
        match version.metadata().kind {
            Kind::Als | Kind::Semantic => {
                Similar::from_bytes(version.body()).map(Self::Similar).map_err(|error| failed(error.into()))
            }
            Kind::Trending => {
                Trending::from_bytes(version.body()).map(Self::Trending).map_err(|error| failed(error.into()))
            }
            Kind::XgBoost | Kind::LightGbm | Kind::Shuffle(_) | Kind::Noop => Err(failed("it ranks".into())),
        }
    }

    /// Whether it recommends nothing for a request without items.
    pub fn needs_items(&self) -> bool {
        matches!(self, Self::Similar(_))
    }

    /// The best `count` items for these, none of these and none of those excluded, best first.
    ///
    /// # Errors
    /// Where it needs items, and knows none of these.
    pub fn recommend(
        &self,
        items: &[&str],
        exclude: &HashSet<&str>,
        count: usize,
    ) -> Result<Vec<Recommendation<'_>>, NoAnswer> {
        match self {
            Self::Similar(similar) => {
                let answer = similar.recommend(items, |item| exclude.contains(item), count);
                match answer.nothing {
                    // there is nothing else, which a model without context could not help either
                    None | Some(NoAnswer::AllExcluded) => Ok(answer.items),
                    Some(reason) => Err(reason),
                }
            }
            Self::Trending(trending) => {
                let items: HashSet<&str> = items.iter().copied().collect();
                Ok(trending.top(count, |item| exclude.contains(item) || items.contains(item)))
            }
        }
    }

    /// The share of the ten nearest items that a search finds, 0 to 1; `None` where nothing is searched for.
    pub fn recall(&self) -> Option<f32> {
        match self {
            Self::Similar(similar) => Some(similar.recall()),
            Self::Trending(_) => None,
        }
    }

    /// As the body of a version.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Similar(similar) => similar.to_bytes(),
            Self::Trending(trending) => trending.to_bytes(),
        }
    }

    /// How many items it may recommend.
    pub fn items(&self) -> usize {
        match self {
            Self::Similar(similar) => similar.ids().len(),
            Self::Trending(trending) => trending.len(),
        }
    }
}
