//! The maths of recommenders: which items are in demand, and which are like others by who clicked them.
//!
//! [`Interactions`] are what they learn from. [`Trending`] adds up interactions that lose weight with age. [`als`] factorizes
//! a [`Matrix`] of visitors and items, and [`Similar`] finds the items nearest to a context in such a space of vectors, or
//! among [`ItemVectors`] that were computed elsewhere.
//! [`Interactions::hit_rate`] measures how often a recommender names the item that a visitor clicked next. Time, randomness
//! and threads arrive as arguments. The crate knows nothing of events, configuration or stores.

pub mod als;
mod codec;
mod interactions;
mod item_vectors;
mod lanes;
mod matrix;
mod neighbours;
mod parallel;
mod similar;
mod trending;
mod vectors;

pub use codec::DecodeError;
pub use interactions::{HeldOut, HitRate, Interactions};
pub use item_vectors::ItemVectors;
pub use matrix::{Full, Matrix, MatrixBuilder, Sparse};
pub use neighbours::{Approximate, Build, Neighbours};
pub use similar::{Answer, InvalidVectors, NoAnswer, Similar};
pub use trending::{Trending, TrendingBuilder, Weight};
pub use vectors::Vectors;
