//! What happened, written down as events.

use super::catalog::Catalog;
use super::clock::local;
use super::listing::Shown;
use super::random::Random;
use super::visit::Visit;
use super::vocabulary::{AGENTS, BRANDS, CATEGORIES, COLORS, COUNTRIES, MATERIALS, PRAISE, TAGS};
use rankwright_event::{
    Event, EventId, Field, Interaction, ItemUpdate, RankedItem, Ranking, RankingId, SessionId, Tenant, Timestamp,
    UserId, UserUpdate, Value,
};

/// What a visitor did with an item of a list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Act {
    pub(crate) ranking: u64,
    pub(crate) session: u64,
    pub(crate) user: Option<u64>,
    pub(crate) item: u32,
    pub(crate) kind: &'static str,
}

/// An item that came into the shop.
pub(crate) fn item(number: u64, at: i64, item: usize, catalog: &Catalog, seed: u64) -> Event {
    let (known, mut random) = (&catalog.items[item], Random::of(seed, "text", item as u64));
    let category = &CATEGORIES[usize::from(known.category)];
    let (noun, brand) = (category.nouns[usize::from(known.noun)], BRANDS[usize::from(known.brand)]);
    let (color, material) = (COLORS[usize::from(known.color)], *random.pick(&MATERIALS));
    let tags: Vec<_> = (0..TAGS.len()).filter(|&tag| known.has(tag)).map(|tag| TAGS[tag].into()).collect();
    let rating = (4.0 + 0.35 * known.quality + 0.35 * random.normal()).clamp(1.0, 5.0);
    let sizes = (0..1 + random.below(5)).map(|step| (36 + 2 * step) as f64).collect();
    let mut fields = vec![
        text("title", &format!("{color} {material} {noun} by {brand}")),
        text("description", &format!("{noun} of {material} in {color}, {}", random.pick(&PRAISE))),
        text("category", category.name),
        text("brand", brand),
        text("color", color),
        Field::new("tags", Value::Texts(tags)),
        Field::new("sizes", Value::Numbers(sizes)),
        number_field("rating", (rating * 10.0).round() / 10.0),
        number_field("created", (known.released / 1000) as f64),
        Field::new("available", Value::Bool(random.chance(0.97))),
    ];
    fields.extend(prices(item, catalog));
    update(number, at, item, catalog, fields)
}

/// A new price of an item.
pub(crate) fn price(number: u64, at: i64, item: usize, catalog: &Catalog) -> Event {
    update(number, at, item, catalog, prices(item, catalog).into())
}

fn prices(item: usize, catalog: &Catalog) -> [Field; 2] {
    let item = &catalog.items[item];
    [number_field("price", item.price()), number_field("discount", item.discount)]
}

fn update(number: u64, at: i64, item: usize, catalog: &Catalog, fields: Vec<Field>) -> Event {
    let (id, item) = (EventId::from(format!("m{number}")), catalog.ids[item].clone());
    Event::Item(ItemUpdate { id, timestamp: Timestamp::from_millis(at), tenant: Tenant::default(), item, fields })
}

/// A visitor who signed in for the first time.
pub(crate) fn user(number: u64, at: i64, visit: &Visit) -> Event {
    let visitor = &visit.visitor;
    Event::User(UserUpdate {
        id: EventId::from(format!("m{number}")),
        timestamp: Timestamp::from_millis(at),
        tenant: Tenant::default(),
        user: user_id(visit.user),
        fields: vec![
            number_field("age", f64::from(visitor.age)),
            text("country", COUNTRIES[visitor.country].0),
            number_field("registered", (visitor.registered / 1000) as f64),
        ],
    })
}

/// A list that a visitor sees.
pub(crate) fn ranking(number: u64, at: i64, visit: &Visit, shown: &[Shown], catalog: &Catalog) -> Ranking {
    Ranking {
        id: RankingId::from(format!("r{number}")),
        timestamp: Timestamp::from_millis(at),
        tenant: Tenant::default(),
        user: visit.signed_in.then(|| user_id(visit.user)),
        session: Some(session_id(visit.number)),
        fields: vec![
            text("query", &visit.query.text()),
            text("category", CATEGORIES[usize::from(visit.query.category)].name),
            text("ua", AGENTS[visit.visitor.agent]),
            text("referer", visit.referer),
            text("local_time", &local(at, visit.visitor.offset())),
        ],
        items: shown.iter().map(|shown| ranked(shown, catalog)).collect(),
    }
}

fn ranked(shown: &Shown, catalog: &Catalog) -> RankedItem {
    let id = catalog.ids[shown.item as usize].clone();
    RankedItem { id, fields: vec![number_field("relevancy", shown.relevancy)], label: None, score: None }
}

/// A click or a purchase.
pub(crate) fn interaction(number: u64, at: i64, act: &Act, catalog: &Catalog) -> Event {
    Event::Interaction(Interaction {
        id: EventId::from(format!("i{number}")),
        timestamp: Timestamp::from_millis(at),
        tenant: Tenant::default(),
        ranking: Some(RankingId::from(format!("r{}", act.ranking))),
        user: act.user.map(user_id),
        session: Some(session_id(act.session)),
        kind: act.kind.into(),
        item: catalog.ids[act.item as usize].clone(),
        fields: Vec::new(),
    })
}

fn user_id(number: u64) -> UserId {
    UserId::from(format!("u{number}"))
}

fn session_id(number: u64) -> SessionId {
    SessionId::from(format!("s{number}"))
}

fn text(name: &str, value: &str) -> Field {
    Field::new(name, Value::Text(value.into()))
}

fn number_field(name: &str, value: f64) -> Field {
    Field::new(name, Value::Number(value))
}
