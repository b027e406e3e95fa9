//! The parts of the engine, opened as a configuration says and put together, for the programs.

mod closing;
mod engine;
mod gauges;
mod importer;
mod inlet;
mod open;
mod program;
mod serving;

pub use closing::Closing;
pub use engine::{Engine, configuration, now, open_versions};
pub use gauges::Gauges;
pub use importer::Importer;
pub use inlet::Inlet;
pub use program::{chain, log_to_stderr, runtime};
pub use serving::{Service, identity, listen};
