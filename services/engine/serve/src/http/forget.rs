//! `DELETE /items/{id}`, `DELETE /users/{id}`: what `rankwright forget` does.

use crate::app::App;
use crate::http::failure::{Code, Failure};
use crate::http::openapi::{Operation, Schemas};
use crate::http::peer::{Allowed, off};
use crate::http::stored::{Asked, Whose, asked, of_one};
use crate::http::{Name, json, name};
use crate::plugin::{ForgetError, Forgotten};
use axum::extract::State;
use axum::response::Response;
use rankwright_state::{Key, Scope};

pub(super) async fn item(
    _: Allowed,
    State(app): State<App>,
    path: Name,
    query: Asked<Whose>,
) -> Result<Response, Failure> {
    let id = name(path)?;
    forget(app, query, Scope::Item(id.into())).await
}

pub(super) fn item_described(schemas: &mut Schemas<'_>) -> Operation {
    described(schemas, Operation::new("forgetItem", "page", "Removes an item from all stores"))
}

pub(super) async fn user(
    _: Allowed,
    State(app): State<App>,
    path: Name,
    query: Asked<Whose>,
) -> Result<Response, Failure> {
    let id = name(path)?;
    forget(app, query, Scope::User(id.into())).await
}

pub(super) fn user_described(schemas: &mut Schemas<'_>) -> Operation {
    described(schemas, Operation::new("forgetUser", "page", "Removes a visitor from all stores"))
}

fn described(schemas: &mut Schemas<'_>, operation: Operation) -> Operation {
    of_one(operation).answers("What was removed, and what was not", schemas.answered::<Forgotten>()).fails(&[
        Code::NotAvailable,
        Code::Internal,
        Code::Unavailable,
        Code::Overloaded,
    ])
}

async fn forget(app: App, query: Asked<Whose>, scope: Scope) -> Result<Response, Failure> {
    let tenant = asked(query)?.tenant.unwrap_or_default();
    let key = Key::new(&tenant, scope);
    let work = {
        let app = app.clone();
        async move {
            let page = app.page().ok_or_else(off)?;
            let forget = page.front.forget.clone().ok_or_else(elsewhere)?;
            let forgotten = forget.forget(key).await;
            // they name visitors and items; what failed may have removed a part
            if matches!(forgotten, Ok(_) | Err(ForgetError::Failed(_))) {
                page.sample.clear();
                page.evaluations.clear();
            }
            let forgotten = forgotten?;
            serde_json::to_vec(&forgotten).map(json).map_err(|error| Failure::internal(error.to_string()))
        }
    };
    app.pool().run(work).await?
}

/// What a program says that forgets nothing.
pub(super) const ELSEWHERE: &str = "this process does not forget; run: rankwright forget --config CONFIG";

fn elsewhere() -> Failure {
    Failure::new(Code::NotAvailable, ELSEWHERE)
}

impl From<ForgetError> for Failure {
    fn from(error: ForgetError) -> Self {
        match error {
            ForgetError::Elsewhere(_) => Self::new(Code::NotAvailable, error.to_string()),
            ForgetError::Busy => Self::overloaded(error.to_string()),
            ForgetError::Failed(_) => {
                tracing::error!(%error, "not all is forgotten");
                Self::new(Code::Unavailable, error.to_string())
            }
        }
    }
}
