//! The parts of the engine, opened as a configuration says and put together, for the programs.
//!
//! What programs await is boxed: of an `async fn` each program would compile all that it awaits once more.

mod ask;
mod cached;
mod client;
mod closing;
mod embed;
mod emptied;
mod encoders;
mod engine;
mod folder;
mod follow;
mod forget;
mod gauges;
mod importer;
mod inlet;
mod joins;
#[cfg(test)]
#[path = "../../listed.rs"]
mod listed;
mod log;
mod open;
mod page;
mod port;
mod program;
mod purge;
mod rebuild;
mod remote;
mod said;
mod serving;
mod size;
mod survey;
mod text_models;
mod traces;
mod units;
mod waiting;
mod work;
mod writers;

pub use ask::rank_once;
pub use closing::{Closing, StillOpen};
pub use encoders::{Encoders, Wanted, with_dictionaries};
pub use engine::{
    Engine, Imported, Told, columns_of, configuration, configuration_with_text, open_clickthroughs, open_versions,
    served_constants, service,
};
pub use folder::as_owner;
pub use follow::{Tally, is_stream, read_all};
pub use forget::{Forgotten, forget};
pub use gauges::Gauges;
pub use importer::Importer;
pub use inlet::Inlet;
pub use log::{complain, flush_log, log_to, log_to_stderr, set_log_filter};
pub use program::{TERMINATED, chain, exit, exit_code, give_way, job_runtime, leave, print, runtime};
pub use purge::{purge, purge_places};
pub use rankwright_serve::clock::now;
pub use rankwright_serve::server::stop_signal;
pub use rebuild::Rebuild;
pub use remote::{Fetched, fetch, is_remote};
pub use serving::{Service, listen};
pub use size::{Growth, Size};
pub use survey::{Found, ModelFound, StateFound, Survey, WriterFound};
pub use units::Units;
pub use waiting::{Begun, open_on};
pub use work::UnderWay;
