//! `GET /page`: what the page for browsers has to know before it asks for anything else.

use crate::app::App;
use crate::http::failure::{Code, Failure};
use crate::http::openapi::{Operation, Schemas};
use crate::http::peer::off;
use crate::http::{forget, json};
use axum::extract::State;
use axum::response::Response;
use rankwright_config::api::{self, PageItem};
use schemars::JsonSchema;
use serde::Serialize;

/// The page for browsers.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Page<'a> {
    title: &'static str,
    version: &'static str,
    /// Names of item fields that it shows.
    item: Option<Item<'a>>,
    /// Where pictures of items may come from.
    image_origins: &'a [String],
    /// How many rank requests are kept of each model.
    sample: usize,
    /// Whether these show their visitors.
    show_ids: bool,
    /// Whether ids, stored values and changes need the bearer token; if not, they are for clients on the same machine.
    token_needed: bool,
    /// Why this process does not forget items and visitors, where it does not.
    forget_unavailable: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PageItem")]
struct Item<'a> {
    title: Option<&'a str>,
    price: Option<&'a str>,
    image: Option<&'a str>,
}

pub(super) async fn get(State(app): State<App>) -> Result<Response, Failure> {
    let page = app.page().ok_or_else(off)?;
    let forget_unavailable = match &page.front.forget {
        Some(forget) => forget.unavailable(),
        None => Some(forget::ELSEWHERE.to_owned()),
    };
    Ok(json(told(&page.settings, app.token().is_some(), forget_unavailable)))
}

/// The answer for these settings.
pub(super) fn told(settings: &api::Page, token_needed: bool, forget_unavailable: Option<String>) -> Vec<u8> {
    let page = Page {
        title: "rankwright",
        version: env!("CARGO_PKG_VERSION"),
        item: settings.item.as_ref().map(Item::of),
        image_origins: &settings.image_origins,
        sample: settings.sample,
        show_ids: settings.show_ids,
        token_needed,
        forget_unavailable,
    };
    // a struct of texts, numbers and flags always serialises
    serde_json::to_vec(&page).unwrap_or_default()
}

pub(super) fn described(schemas: &mut Schemas<'_>) -> Operation {
    Operation::new("page", "page", "How the page for browsers is set up")
        .answers("The settings", schemas.answered::<Page<'_>>())
        .fails(&[Code::NotFound])
}

impl<'a> Item<'a> {
    fn of(item: &'a PageItem) -> Self {
        let PageItem { title, price, image } = item;
        Self { title: title.as_deref(), price: price.as_deref(), image: image.as_deref() }
    }
}
