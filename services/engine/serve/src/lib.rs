//! A request's way through the engine, and the HTTP interface around it.
//!
//! [`App`] holds what requests share: the state store, the served [`Models`], the [`Metrics`], the limits. It is put
//! together once, by [`App::builder`], and knows neither ingest nor training: those come as plug-ins ([`Feedback`],
//! [`Training`], [`Status`]), so that the same interface serves with and without them. [`run`] serves an app on a
//! listener until it is told to stop.
//!
//! Overload is answered at once with 503, bad input with 400 and the place of the fault, and a store or model that
//! cannot be had with the incoming order (module `rank`); nothing here panics on input.

pub mod app;
mod breaker;
pub mod clock;
mod evaluation;
pub mod front;
mod gate;
pub mod http;
mod inference;
mod limits;
#[cfg(test)]
#[path = "../../../listed.rs"]
mod listed;
pub mod load;
pub mod metrics;
pub mod models;
mod object;
pub mod plugin;
mod pool;
mod rank;
pub mod ranker;
mod recommend;
mod sample;
mod seldom;
pub mod server;
pub mod tls;
mod versions;
mod whole;

pub use app::{App, Builder};
pub use front::Front;
pub use http::{Peer, STATE, STORES, Waiting};
pub use inference::{Embedding, TextModel};
pub use load::{Candidate, Found, LoadError, Loader, Published, Trial, untrained};
pub use metrics::Metrics;
pub use models::{Loaded, Models, Purpose, Refused, Served, Version};
pub use plugin::{
    Compared, Evaluated, Evaluation, Fed, FeedError, Feedback, Forget, ForgetError, Forgotten, Status, TrainError,
    Training, WorstRequest,
};
pub use rank::{Error as RankError, Explain};
pub use ranker::{FeatureColumns, Ranker};
pub use server::run;
