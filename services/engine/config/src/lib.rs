//! The configuration: types, defaults and every check that needs no data.

pub mod feature;
pub mod model;
