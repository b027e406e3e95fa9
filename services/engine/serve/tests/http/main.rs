//! The HTTP interface as a client sees it, over stub models and plug-ins.
#![allow(clippy::unwrap_used)]

mod admin;
mod feedback;
mod fuzz;
mod models;
mod probes;
mod published;
mod rank;
mod server;
mod service;
