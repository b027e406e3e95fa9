//! `GET /models`: all versions of all models; `POST /models/{name}/promote` and `/rollback`: which one serves.

use crate::app::App;
use crate::http::failure::{Code, Failure};
use crate::http::openapi::{Operation, Schemas};
use crate::http::peer::{Allowed, off};
use crate::http::{Name, body, json, name};
use crate::models::Slot;
use crate::object::Object;
use crate::versions::{self, Error, ModelVersions};
use axum::extract::{Request, State};
use axum::response::Response;
use rankwright_model::{InvalidVersionId, StoreError, VersionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// All versions of all models.
#[derive(Serialize, JsonSchema)]
struct Models<'a> {
    models: Vec<ModelVersions<'a>>,
}

/// A version that is to serve.
#[derive(Deserialize, JsonSchema)]
struct Promote {
    #[schemars(regex(pattern = "^[0-9]{8}T[0-9]{9,19}Z-[0-9a-fA-F]{8}$"))]
    version: String,
}

/// A version that is the current one from now on.
#[derive(Serialize, JsonSchema)]
struct Promoted<'a> {
    model: &'a str,
    version: &'a str,
    /// The version that answers here now. It is another one where the configuration names one, or the current one does not work.
    serving: Option<String>,
    /// The version that the configuration names: it serves all the same.
    pinned: Option<String>,
}

pub(super) async fn list(_: Allowed, State(app): State<App>) -> Result<Response, Failure> {
    let models = app.clone();
    app.pool().block(move || listed(&models)).await?.map(json)
}

/// The text of the answer. The thread waits for the store, and for others that ask the same: each version is loaded once.
fn listed(app: &App) -> Result<Vec<u8>, Failure> {
    let page = app.page().ok_or_else(off)?;
    let (store, mut known) = (&*page.front.versions, page.versions.lock());
    for slot in app.models().all() {
        known.look(slot.name(), store).map_err(Error::from)?;
    }
    let mut models = Vec::new();
    for slot in app.models().all() {
        let current = store.current(slot.name()).map_err(Error::from)?;
        let refusal = store.refusal(slot.name()).map_err(Error::from)?;
        models.push(ModelVersions::of(slot, current, refusal, known.of(slot.name())));
    }
    serde_json::to_vec(&Models { models }).map_err(|error| Failure::internal(error.to_string()))
}

pub(super) fn list_described(schemas: &mut Schemas<'_>) -> Operation {
    Operation::new("models", "models", "All versions of all models, with metrics, features by gain, data and settings")
        .for_the_page()
        .answers("The models of the configuration", schemas.answered::<Models<'_>>())
        .fails(&[Code::Internal, Code::Unavailable])
}

/// Makes a stored version the current one; this server serves it before it answers, where it works.
pub(super) async fn promote(
    _: Allowed,
    State(app): State<App>,
    path: Name,
    request: Request,
) -> Result<Response, Failure> {
    let model = name(path)?;
    app.models().get(&model)?;
    let (_place, body) = body::admit(&app, request).await?;
    let Object(Promote { version }) =
        serde_json::from_slice(&body).map_err(|error| Failure::invalid(error.to_string(), ""))?;
    let id: VersionId =
        version.parse().map_err(|error: InvalidVersionId| Failure::invalid(error.to_string(), "version"))?;
    select(app, model, Some(id)).await
}

pub(super) fn promote_described(schemas: &mut Schemas<'_>) -> Operation {
    let body = schemas.asked::<Promote>();
    changed(schemas, Operation::new("promote", "models", "Makes a stored version the current one")).body(body)
}

/// Goes back to the version before the current one; this server serves it before it answers, where it works.
pub(super) async fn roll_back(_: Allowed, State(app): State<App>, path: Name) -> Result<Response, Failure> {
    let model = name(path)?;
    app.models().get(&model)?;
    select(app, model, None).await
}

pub(super) fn roll_back_described(schemas: &mut Schemas<'_>) -> Operation {
    changed(schemas, Operation::new("rollBack", "models", "Goes back to the version before the current one"))
}

fn changed(schemas: &mut Schemas<'_>, operation: Operation) -> Operation {
    operation
        .named("name", schemas.app().models().all().map(Slot::name))
        .for_the_page()
        .answers("The version that is the current one now", schemas.answered::<Promoted<'_>>())
        .fails(&[Code::Internal, Code::Unavailable])
}

/// Driven to its end even when the client has gone away.
async fn select(app: App, model: String, id: Option<VersionId>) -> Result<Response, Failure> {
    let work = {
        let app = app.clone();
        async move {
            let store = app.page().ok_or_else(off)?.front.versions.clone();
            let of = model.clone();
            let id = app.pool().block(move || versions::select(&*store, &of, id)).await??;
            app.refresh(&model).await;
            let slot = app.models().get(&model)?;
            tracing::info!(%model, version = id.as_str(), "another version is the current one");
            let (version, serving, pinned) = (id.as_str(), slot.version(), slot.pinned());
            let told = Promoted { model: &model, version, serving, pinned };
            serde_json::to_vec(&told).map(json).map_err(|error| Failure::internal(error.to_string()))
        }
    };
    app.pool().run(work).await?
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match &error {
            Error::First { .. } | Error::Store(StoreError::Unknown { .. }) => Code::NotFound,
            Error::Store(StoreError::Redis(_) | StoreError::Io { .. }) => Code::Unavailable,
            Error::Store(_) => Code::Internal,
        };
        Self::new(code, crate::breaker::chain(&error))
    }
}
