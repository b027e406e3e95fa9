//! Records for tests and benchmarks, made by rule.

use crate::part::Header;
use crate::store::Column;
use crate::{Click, Clickthrough, Kind, Rows, Shown};
use rankwright_event::{Field, Tenant, Timestamp, Value};

/// The header of the sample parts in the repository.
pub fn sample_header() -> Header {
    let column = |name: &str, fingerprint| Column { name: name.into(), fingerprint };
    Header { service: "sample".into(), columns: [column("price", 1), column("ctr_7", u64::MAX)].into() }
}

/// The records of the sample parts in the repository: every kind of value there is.
pub fn sample_records() -> Vec<Clickthrough> {
    let time = |seconds: i64| Timestamp::from_millis(1_636_907_100_000 + 1000 * seconds);
    let click = |seconds: i64, kind: &str| Click {
        timestamp: time(seconds),
        id: format!("{kind}-{seconds}").into(),
        kind: kind.into(),
        item: "boots".into(),
    };
    let fields = [
        ("query", Value::Text("brown \"boots\"".into())),
        ("page", Value::Number(0.1)),
        ("logged_in", Value::Bool(true)),
        ("prices", Value::Numbers(vec![9.99, -0.0, 1e300])),
        ("tags", Value::Texts(vec!["ботинки".into(), "".into()])),
    ];
    let shown = |id: &str, label| Shown { id: id.into(), label };
    let ranking = Clickthrough {
        tenant: Tenant::default(),
        kind: Kind::Ranking,
        ranking: "ranking-1".into(),
        timestamp: time(0),
        user: Some("alice".into()),
        session: Some("s1".into()),
        fields: fields.map(|(name, value)| Field::new(name, value)).to_vec(),
        items: vec![shown("boots", None), shown("shoes", Some(0.5)), shown("boots", None)],
        rows: Rows { width: 2, values: vec![89.5, f32::NAN, f32::INFINITY, 0.1, -0.0, f32::MIN_POSITIVE] },
        interactions: vec![click(5, "click"), click(65, "purchase")],
    };
    let alone = Clickthrough {
        tenant: "other".into(),
        kind: Kind::Interaction,
        ranking: "click-7".into(),
        timestamp: time(7),
        user: None,
        session: None,
        fields: vec![],
        items: vec![],
        rows: Rows::default(),
        interactions: vec![click(7, "click")],
    };
    vec![ranking, alone]
}

/// Numbers that look random, the same for the same seed (SplitMix64, Steele, Lea and Flood 2014).
#[derive(Debug, Clone)]
pub struct Dice(pub u64);

impl Dice {
    /// A number below `sides`.
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides.max(1)
    }
}

/// A header with `columns` columns.
pub fn header(columns: usize) -> Header {
    let column =
        |number: usize| Column { name: format!("column_{number}"), fingerprint: Dice(number as u64).roll(u64::MAX) };
    Header { service: "shop".into(), columns: (0..columns).map(column).collect() }
}

/// The `number`th of many rankings, such as a shop would have: items of a catalogue, some popular, and a click or two.
pub fn ranking(number: u64, items: usize, columns: usize) -> Clickthrough {
    let mut dice = Dice(number);
    let shown: Vec<u64> = (0..items).map(|_| dice.roll(60) * dice.roll(40)).collect();
    let values = shown.iter().enumerate().flat_map(|(place, &item)| row(number, place, item, columns)).collect();
    let timestamp = Timestamp::from_millis(1_636_907_100_000 + 1000 * number as i64);
    let click = |dice: &mut Dice| Click {
        timestamp: Timestamp::from_millis(timestamp.millis() + 1 + dice.roll(60_000) as i64),
        id: format!("click-{number}-{}", dice.roll(1 << 40)).into(),
        kind: if dice.roll(5) == 0 { "purchase" } else { "click" }.into(),
        item: format!("item-{}", shown.get(dice.roll(items as u64) as usize).unwrap_or(&0)).into(),
    };
    let mut interactions: Vec<Click> = (0..dice.roll(3)).map(|_| click(&mut dice)).collect();
    interactions.sort();
    Clickthrough {
        tenant: Tenant::default(),
        kind: Kind::Ranking,
        ranking: format!("ranking-{number}").into(),
        timestamp,
        user: Some(format!("user-{}", dice.roll(1000)).into()),
        session: Some(format!("session-{}", dice.roll(5000)).into()),
        fields: vec![Field::new("query", Value::Text(format!("query {}", dice.roll(200)).into()))],
        items: shown.iter().map(|item| Shown { id: format!("item-{item}").into(), label: None }).collect(),
        rows: Rows { width: columns, values },
        interactions,
    }
}

/// What features look like: values of the item, flags, counters that grow, rates, and some that are missing.
fn row(time: u64, place: usize, item: u64, columns: usize) -> impl Iterator<Item = f32> {
    let value = move |column: usize| {
        let fixed = Dice(item * 1000 + column as u64).roll(1000);
        let clicks = (time + 1) * (1 + fixed % 7) / 16;
        match column % 7 {
            0 if column == 0 => place as f32,
            0 | 1 => fixed as f32 / 10.0,
            2 | 3 => f32::from(u8::from(fixed < 150)),
            4 => clicks as f32,
            5 if fixed < 100 => f32::NAN,
            5 => clicks as f32 / (clicks * (2 + fixed % 20) + 1) as f32,
            _ => (Dice(time * 31 + column as u64 + item).roll(20) / 15) as f32,
        }
    };
    (0..columns).map(value)
}
