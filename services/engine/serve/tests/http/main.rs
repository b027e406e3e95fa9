//! The HTTP interface as a client sees it, over stub models and plug-ins.
#![allow(clippy::unwrap_used)]

mod admin;
mod connections;
mod encoding;
mod evaluation;
mod features;
mod feedback;
mod fleet;
mod fuzz;
mod inference;
mod minilm;
mod models;
mod openapi;
mod origin;
mod page;
mod probes;
mod published;
mod rank;
mod recommend;
mod seen;
mod server;
mod service;
mod stored;
mod texts;
mod traced;
mod versions;
mod waiting;
