//! Traces: how long requests, batches of events and trainings take, step by step, as spans for OpenTelemetry.
//!
//! A [`Tracer`] decides which traces are recorded ([`Sampler`]) and hands out [`Span`]s. A span that ended waits in a bounded
//! [`Queue`], which drops and counts what it has no room for: recording never waits. [`otlp::body`] makes the text that a
//! collector takes. [`Settings`] come from the environment, by OpenTelemetry's names. Nothing here opens a socket.
//!
//! Without a tracer a span is an empty pointer, and each call on it a branch.

mod metrics;
pub mod otlp;
mod parent;
mod queue;
mod sampler;
mod settings;
mod span;
mod tracer;

#[cfg(test)]
#[path = "../../../listed.rs"]
mod listed;

pub use metrics::{Dropped, Metrics};
pub use parent::Parent;
pub use queue::{MOST_WAITING, Queue};
pub use sampler::Sampler;
pub use settings::Settings;
pub use span::{Finished, Kind, Span, Value};
pub use tracer::Tracer;
