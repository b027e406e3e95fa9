//! `GET /items/{id}`, `GET /users/{id}`: what the state holds of one; `GET /items?id=`: what the page calls several.

use crate::app::App;
use crate::breaker::Unavailable;
use crate::front::StoredAs;
use crate::http::failure::{Code, Failure};
use crate::http::openapi::{Operation, Schemas};
use crate::http::peer::{Allowed, off};
use crate::http::{Name, json, name};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use rankwright_event::{Tenant, Timestamp};
use rankwright_state::{Cell, Entity, FieldValue, Format, Key, Scope, Slot, Stored, codec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json as value};
use std::collections::BTreeMap;

/// Items that are asked for at once.
const MOST_ITEMS: usize = 1000;

/// What the state holds of an item or a visitor.
#[derive(Serialize, JsonSchema)]
struct StoredEntity<'a> {
    id: &'a str,
    values: Vec<StoredValue<'a>>,
    /// What all of it takes in the state.
    bytes: usize,
}

#[derive(Serialize, JsonSchema)]
struct StoredValue<'a> {
    /// A field, as `item.price`, or what is counted or kept.
    name: String,
    /// Who reads it: names of features, `models.<name>`, `api.page`.
    features: &'a [String],
    /// A field as it was sent, a count, or ids of items with the newest first. Of what is kept in another form its size.
    value: Value,
    /// When it changed last, in milliseconds since 1970.
    time: i64,
    /// Of ids of items that visitors chose: when each was, in the order of `value`, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    times: Option<Vec<i64>>,
}

/// Whose item or visitor it is.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)] // of a tenant that is written wrong, another one would be meant
pub(super) struct Whose {
    pub(super) tenant: Option<Tenant>,
}

/// Items, and whose they are. A parameter each, because an id may have any letter.
struct Wanted {
    ids: Vec<String>,
    tenant: Tenant,
}

/// What the page calls items, by their ids. Items of which nothing is known are left out.
#[derive(Serialize, JsonSchema)]
struct NamedItems<'a> {
    items: BTreeMap<&'a str, NamedItem>,
}

/// The fields that `api.page.item` names.
#[derive(Serialize, JsonSchema)]
struct NamedItem {
    title: Value,
    price: Value,
    image: Value,
}

pub(super) type Asked<T> = Result<Query<T>, QueryRejection>;

pub(super) async fn item(
    _: Allowed,
    State(app): State<App>,
    path: Name,
    query: Asked<Whose>,
) -> Result<Response, Failure> {
    let id = name(path)?;
    entity(&app, &id, query, Scope::Item(id.as_str().into())).await
}

pub(super) fn item_described(schemas: &mut Schemas<'_>) -> Operation {
    found(schemas, Operation::new("item", "page", "What the state holds of an item"))
}

pub(super) async fn user(
    _: Allowed,
    State(app): State<App>,
    path: Name,
    query: Asked<Whose>,
) -> Result<Response, Failure> {
    let id = name(path)?;
    entity(&app, &id, query, Scope::User(id.as_str().into())).await
}

pub(super) fn user_described(schemas: &mut Schemas<'_>) -> Operation {
    found(schemas, Operation::new("user", "page", "What the state holds of a visitor"))
}

/// With an item or a visitor, and whose it is.
pub(super) fn of_one(operation: Operation) -> Operation {
    with_tenant(operation).part("id", "Its id", value!({"type": "string", "minLength": 1})).for_the_page()
}

fn found(schemas: &mut Schemas<'_>, operation: Operation) -> Operation {
    of_one(operation).answers("What is stored", schemas.answered::<StoredEntity<'_>>()).fails(&[Code::Internal])
}

fn with_tenant(operation: Operation) -> Operation {
    operation.query("tenant", "Whose it is", value!({"type": "string", "default": "default"}))
}

async fn entity(app: &App, id: &str, query: Asked<Whose>, scope: Scope) -> Result<Response, Failure> {
    let tenant = asked(query)?.tenant.unwrap_or_default();
    let found = app.state().read(&[Key::new(&tenant, scope)]).await?.into_iter().next().flatten();
    let nothing = || Failure::new(Code::NotFound, "nothing is stored under this id");
    let entity = found.filter(|entity| !entity.is_empty()).ok_or_else(nothing)?;
    let known = &app.page().ok_or_else(off)?.front.stored;
    let values = entity.values().map(|(slot, stored)| StoredValue::of(slot, stored, known)).collect();
    let bytes = codec::encode(&entity, Format::Binary).map_err(|error| Failure::internal(error.to_string()))?.len();
    written(&StoredEntity { id, values, bytes })
}

pub(super) async fn items(
    _: Allowed,
    State(app): State<App>,
    query: Asked<Vec<(String, String)>>,
) -> Result<Response, Failure> {
    let Wanted { ids, tenant } = wanted(asked(query)?)?;
    let page = app.page().ok_or_else(off)?;
    let item = page.settings.shown().cloned().unwrap_or_default();
    let slots = [item.title, item.price, item.image].map(|field| slot_of(field.as_deref(), &page.front.stored));
    let keys: Vec<Key> = ids.iter().map(|id| Key::new(&tenant, Scope::Item(id.as_str().into()))).collect();
    let found = app.state().read(&keys).await?;
    let named = ids.iter().zip(&found);
    let named = named.filter_map(|(id, entity)| Some((id.as_str(), NamedItem::of(entity.as_ref()?, slots))));
    written(&NamedItems { items: named.collect() })
}

pub(super) fn items_described(schemas: &mut Schemas<'_>) -> Operation {
    let ids = value!({"type": "array", "items": {"type": "string"}, "minItems": 1});
    with_tenant(Operation::new("items", "page", "Titles, prices and pictures of items, as `api.page.item` names them"))
        .required_query(
            "id",
            "An item's id; the parameter may be there up to 1,000 times, as far as the head has room",
            ids,
        )
        .for_the_page()
        .answers("Those of which something is stored", schemas.answered::<NamedItems<'_>>())
        .fails(&[Code::Internal])
}

/// Items by the parameters of a query.
fn wanted(parameters: Vec<(String, String)>) -> Result<Wanted, Failure> {
    let (mut ids, mut tenant) = (Vec::new(), None);
    for (name, value) in parameters {
        match name.as_str() {
            "id" => ids.push(value),
            "tenant" if tenant.is_some() => return Err(Failure::invalid("duplicate field `tenant`", "")),
            "tenant" => tenant = Some(Tenant::from(value)),
            _ => return Err(Failure::invalid(format!("unknown field `{name}`, expected `id` or `tenant`"), "")),
        }
    }
    match ids.len() {
        0 => Err(Failure::invalid("missing field `id`", "")),
        many if many > MOST_ITEMS => {
            Err(Failure::invalid(format!("{many} ids are too many: at most {MOST_ITEMS} are accepted"), "id"))
        }
        _ => Ok(Wanted { ids, tenant: tenant.unwrap_or_default() }),
    }
}

pub(super) fn asked<T>(query: Asked<T>) -> Result<T, Failure> {
    query.map(|Query(asked)| asked).map_err(|error| Failure::invalid(error.body_text(), ""))
}

fn written(answer: &impl Serialize) -> Result<Response, Failure> {
    serde_json::to_vec(answer).map(json).map_err(|error| Failure::internal(error.to_string()))
}

/// Where the state keeps a field of items.
fn slot_of(field: Option<&str>, known: &[StoredAs]) -> Option<Slot> {
    let field = field?;
    known.iter().find(|stored| stored.name.strip_prefix("item.") == Some(field)).map(|stored| stored.slot)
}

impl NamedItem {
    fn of(entity: &Entity, slots: [Option<Slot>; 3]) -> Self {
        let of = |slot: Option<Slot>| entity.field_since(slot?, Timestamp::MIN).map(field);
        let [title, price, image] = slots.map(|slot| of(slot).unwrap_or_default());
        Self { title, price, image }
    }
}

impl<'a> StoredValue<'a> {
    fn of(slot: Slot, stored: &Stored, known: &'a [StoredAs]) -> Self {
        let (value, time, times) = (shown(&stored.cell), stored.at.millis(), times(&stored.cell));
        let (name, features) = match known.iter().find(|known| known.slot == slot) {
            Some(StoredAs { name, features, .. }) => (name.clone(), &features[..]),
            None => ("of a feature that is no longer configured".to_owned(), &[][..]),
        };
        Self { name, features, value, time, times }
    }
}

/// A stored value for people to look at.
fn shown(cell: &Cell) -> Value {
    match cell {
        Cell::Field(value) => field(value),
        Cell::Counter(count) => value!(count),
        Cell::Windows(windows) => value!(windows.counts().map(|(_, count)| count).sum::<u64>()),
        Cell::Recent(recent) | Cell::Items(recent) => recent.visits().iter().map(|visit| visit.item.as_str()).collect(),
        Cell::Flags(bits) => (0..64).filter(|bit| (bits >> bit) & 1 == 1).collect(),
        Cell::Blob(bytes) => bytes_of(bytes.len()),
        Cell::Parts(parts) => bytes_of(parts.all().iter().map(|part| part.bytes.len()).sum()),
    }
}

/// When each of the items was chosen that a value is a list of.
fn times(cell: &Cell) -> Option<Vec<i64>> {
    match cell {
        Cell::Recent(recent) | Cell::Items(recent) => {
            Some(recent.visits().iter().map(|visit| visit.at.millis()).collect())
        }
        _ => None,
    }
}

fn field(value: &FieldValue) -> Value {
    match value {
        FieldValue::Bool(flag) => value!(flag),
        FieldValue::Number(number) => value!(number),
        FieldValue::Text(text) => value!(text.as_str()),
        FieldValue::Numbers(numbers) => numbers.iter().copied().collect(),
        FieldValue::Texts(texts) => texts.texts().iter().map(|text| text.as_str()).collect(),
        FieldValue::Bytes(bytes) => bytes_of(bytes.len()),
    }
}

fn bytes_of(length: usize) -> Value {
    value!(format!("{length} bytes"))
}

impl From<Unavailable> for Failure {
    fn from(error: Unavailable) -> Self {
        Self::new(Code::Unavailable, error.to_string())
    }
}
