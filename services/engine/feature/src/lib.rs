//! feature.
