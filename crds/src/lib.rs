//! The Kubernetes resources of Rankwright: their types are the source of truth, the YAML beside them is generated.

#![allow(unreachable_pub)] // the derive of a schema repeats a type inside a function

mod definition;
pub mod ranking_service;
pub mod status;
mod yaml;

pub use definition::definition;
pub use ranking_service::{RankingService, RankingServiceSpec};
pub use status::RankingServiceStatus;
pub use yaml::yaml;
