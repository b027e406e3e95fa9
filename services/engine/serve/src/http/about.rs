//! `GET /` names the service and its paths. A browser gets the page, if it is on.

use crate::app::App;
use crate::http::failure::Failure;
use crate::http::openapi::{Operation, Schemas};
use crate::http::{endpoints, json, no_such_path};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;
use tower::ServiceExt;

/// What the page loads.
pub(super) const ASSETS: &str = "/assets/{file}";

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

pub(super) async fn get(State(app): State<App>, request: Request) -> Response {
    let Some(files) = app.page().map(|page| &page.front.files) else { return about() };
    if wants_page(request.headers()) {
        return of(files, request).await;
    }
    let mut answer = about();
    answer.headers_mut().insert(header::VARY, HeaderValue::from_static("Accept"));
    answer
}

pub(super) async fn asset(State(app): State<App>, request: Request) -> Result<Response, Failure> {
    let uri = request.uri().clone();
    let answer = match app.page().map(|page| &page.front.files) {
        Some(files) => of(files, request).await,
        None => StatusCode::NOT_FOUND.into_response(),
    };
    if answer.status() == StatusCode::NOT_FOUND { Err(no_such_path(uri).await) } else { Ok(answer) }
}

pub(super) fn described(schemas: &mut Schemas<'_>) -> Operation {
    Operation::new("about", "service", "Name, version and paths of the service; for browsers the page, if it is on")
        .answers("What this is", schemas.answered::<About>())
}

fn about() -> Response {
    let paths = endpoints().iter().map(|endpoint| Path { method: endpoint.method, path: endpoint.path }).collect();
    let about = About { name: "rankwright", version: env!("CARGO_PKG_VERSION"), paths };
    // a struct of strings always serialises
    json(serde_json::to_vec(&about).unwrap_or_default())
}

pub(super) async fn of(files: &Router, mut request: Request) -> Response {
    // what this router found in the path would count as found by the other one, too
    request.extensions_mut().clear();
    match files.clone().oneshot(request).await {
        Ok(answer) => answer,
        Err(never) => match never {},
    }
}

/// Whether a client names HTML among what it accepts, before JSON.
pub(super) fn wants_page(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let ranges: Vec<(&str, f32)> = accepted.flat_map(|value| value.split(',')).map(range).collect();
    let of = |kind: &str| ranges.iter().enumerate().find(|(_, (name, _))| name.eq_ignore_ascii_case(kind));
    let (html, other) = (of("text/html"), of("application/json"));
    html.is_some_and(|(place, (_, quality))| {
        let first = other.is_none_or(|(other, (_, less))| quality > less || (quality == less && place < other));
        *quality > 0.0 && first
    })
}

/// A type of content, and how much it is wanted.
fn range(text: &str) -> (&str, f32) {
    let mut parts = text.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default();
    let quality = parts.find_map(|part| part.strip_prefix("q="));
    (name, quality.map_or(1.0, |quality| quality.parse().unwrap_or(0.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_wants_the_page_and_a_program_does_not() {
        let wants = |accepted: &'static str| {
            wants_page(&HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accepted))]))
        };
        let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
        for accepted in [browser, "text/html", "TEXT/HTML, application/json", "application/json;q=0.5, text/html;q=0.9"]
        {
            assert!(wants(accepted), "{accepted}");
        }
        for accepted in ["*/*", "", "application/json", "application/json, text/html", "text/html;q=0", "text/html;q=x"]
        {
            assert!(!wants(accepted), "{accepted}");
        }
        assert!(!wants_page(&HeaderMap::new()));
    }
}
