//! `GET /`: what the bare address says: what this is, and which paths there are.

use crate::http::openapi::{Operation, Schemas};
use crate::http::{endpoints, json};
use axum::response::Response;
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Serialize, JsonSchema)]
struct About {
    name: &'static str,
    version: &'static str,
    paths: Vec<Path>,
}

#[derive(Serialize, JsonSchema)]
struct Path {
    method: &'static str,
    path: &'static str,
}

pub(super) async fn get() -> Response {
    let paths = endpoints().iter().map(|endpoint| Path { method: endpoint.method, path: endpoint.path }).collect();
    let about = About { name: "rankwright", version: env!("CARGO_PKG_VERSION"), paths };
    // a struct of strings always serialises
    json(serde_json::to_vec(&about).unwrap_or_default())
}

pub(super) fn described(schemas: &mut Schemas<'_>) -> Operation {
    Operation::new("about", "service", "Name, version and paths of the service")
        .answers("What this is", schemas.answered::<About>())
}
