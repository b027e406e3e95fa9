//! `GET /openapi.json`: the interface as OpenAPI 3.1, made of the types that handlers read and write.
//!
//! Each handler's module has a function beside the handler that describes it as an [`Operation`]. What only a running
//! service knows is in the description as well: names of models, limits, and whether a token is needed.

mod limits;
mod operation;
mod schemas;

pub(super) use operation::Operation;
pub(super) use schemas::Schemas;

use crate::app::App;
use crate::http::endpoint::Endpoint;
use crate::http::failure::Code;
use crate::http::{endpoints, json};
use axum::extract::State;
use axum::response::Response;
use serde_json::{Map, Value, json as value};

const DESCRIPTION: &str = "Reranks search results and recommendations from visitor behaviour. \
    Bodies are JSON, plain or with `Content-Encoding: gzip` or `zstd`; unknown keys are ignored. \
    Every answer that is not a success has the form `Error`. `x-limits` are those of this service (`api.limits`).";

/// The description of this service.
pub(super) async fn get(State(app): State<App>) -> Response {
    json(app.described(|| document(&app).to_string()).to_owned().into_bytes())
}

pub(super) fn described(_: &mut Schemas<'_>) -> Operation {
    Operation::new("openapi", "service", "This description of the interface, as OpenAPI 3.1")
        .answers("The description", value!({"type": "object"}))
}

fn document(app: &App) -> Value {
    let mut schemas = Schemas::new(app);
    let paths = paths(&mut schemas, &endpoints());
    let security = app.token().map(|_| value!({"bearer": {"type": "http", "scheme": "bearer"}}));
    value!({
        "openapi": "3.1.0",
        "info": {
            "title": "Rankwright",
            "version": env!("CARGO_PKG_VERSION"),
            "description": DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "x-limits": limits::all(app),
        "x-errors": errors(),
        "paths": paths,
        "components": {"schemas": schemas.into_definitions(), "securitySchemes": security.unwrap_or_else(|| value!({}))},
    })
}

fn paths(schemas: &mut Schemas<'_>, endpoints: &[Endpoint]) -> Map<String, Value> {
    let mut paths = Map::new();
    for endpoint in endpoints {
        let operation = (endpoint.describe)(schemas).into_json(schemas);
        let path = paths.entry(endpoint.path).or_insert_with(|| value!({}));
        path[endpoint.method.to_ascii_lowercase()] = operation;
    }
    paths
}

/// Every code, with its status and when it is answered: heads that cannot be read have no operation that lists it.
fn errors() -> Value {
    let error = |code: &Code| value!({"code": code, "status": code.status().as_u16(), "when": code.when()});
    Code::ALL.iter().map(error).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const PAGE: &str = include_str!("../../../../../docs/http.md");

    #[test]
    fn the_page_of_the_interface_lists_every_code_with_its_status() {
        let rows: BTreeSet<(String, u16)> = PAGE
            .split("## Statuses")
            .nth(1)
            .unwrap_or_default()
            .lines()
            .filter_map(|line| line.strip_prefix("| ")?.split_once(" | "))
            .flat_map(|(statuses, rest)| {
                let codes = rest.split(" | ").next().unwrap_or_default().split('`').skip(1).step_by(2);
                let status = statuses.split(',').next().and_then(|status| status.parse::<u16>().ok());
                codes.filter(|code| !code.contains(':')).filter_map(move |code| Some((code.to_owned(), status?)))
            })
            .collect();
        let known: BTreeSet<_> =
            Code::ALL.iter().map(|code| (code.name().to_owned(), code.status().as_u16())).collect();
        let heads = BTreeSet::from([("too_large".to_owned(), 431)]);
        assert_eq!(rows.difference(&heads).cloned().collect::<BTreeSet<_>>(), known);
    }
}
