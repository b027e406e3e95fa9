//! Events checked before they are imported: what would be lost, and what a model could not learn from.
//!
//! One pass over the events, in their order. Of each ranking 19 to 39 bytes stay in memory, and 4 of each of its items as long
//! as [`shown`] has room; of each item, and of each ranking or item that interactions name in vain, 10 to 39.

mod hours;
mod ids;
mod memory;
mod order;
mod report;
mod shown;
mod types;
mod values;

pub use report::{Check, Fact, Report};

use hours::Hours;
use ids::{Example, Referred};
use memory::{Forecast, Memory};
use order::Order;
use rankwright_config::{Config, EventFormat, Model};
use rankwright_event::{Event, Interaction};
use rankwright_feature::Coverage;
use rankwright_source::BadLine;
use serde_json::json;
use shown::Rankings;
use std::path::Path;
use std::sync::Arc;
use types::Types;
use values::Values;

/// Examples that are shown of each thing.
const EXAMPLES: usize = 5;
/// Unused fields that are listed.
const LISTED: usize = 50;

/// The checks of some events, on their way.
pub struct Checker<'a> {
    config: &'a Config,
    /// The command that sorts the events.
    sort: String,
    kinds: Kinds,
    unreadable: Unreadable,
    order: Order,
    hours: Hours,
    coverage: Coverage,
    values: Values,
    rankings: Rankings,
    items: Referred,
    types: Types,
    forecast: Forecast,
}

/// How many events there are of each kind.
#[derive(Debug, Clone, Copy, Default)]
struct Kinds {
    items: u64,
    users: u64,
    rankings: u64,
    interactions: u64,
}

#[derive(Debug, Default)]
struct Unreadable {
    count: u64,
    examples: Vec<String>,
}

impl<'a> Checker<'a> {
    /// Nothing is seen yet. `data` names the files, and `format` is how their events are written: for the command that sorts them.
    pub async fn new(config: &'a Config, data: &Path, format: EventFormat) -> Self {
        Self {
            config,
            sort: order::sort(data, format),
            kinds: Kinds::default(),
            unreadable: Unreadable::default(),
            order: Order::default(),
            hours: Hours::default(),
            coverage: Coverage::of(config),
            values: Values::of(config),
            rankings: Rankings::default(),
            items: Referred::default(),
            types: Types::of(config),
            forecast: Forecast::begin(Memory::of(config).await),
        }
    }

    /// The same; interactions of these types are left out of the configuration on purpose.
    pub fn leaving_out(mut self, types: &[String]) -> Self {
        self.types.accept(types);
        self
    }

    /// Looks at the next events.
    pub fn see(&mut self, events: Vec<Event>) {
        let events = Arc::new(events);
        self.forecast.see(events.clone());
        events.iter().for_each(|event| self.one(event));
    }

    fn one(&mut self, event: &Event) {
        self.order.see(event);
        self.hours.see(event.timestamp());
        self.coverage.see(event);
        self.values.see(event);
        match event {
            Event::Item(update) => {
                self.kinds.items += 1;
                self.items.there(ids::of(&update.tenant, update.item.as_str()));
            }
            Event::User(_) => self.kinds.users += 1,
            Event::Ranking(ranking) => {
                self.kinds.rankings += 1;
                self.rankings.show(ranking);
            }
            Event::Interaction(interaction) => self.interaction(interaction),
        }
    }

    fn interaction(&mut self, interaction: &Interaction) {
        self.kinds.interactions += 1;
        self.types.see(interaction);
        self.rankings.interact(interaction);
        let item = ids::of(&interaction.tenant, interaction.item.as_str());
        self.items.named(item, || Example::new(interaction.id.as_str(), "item", interaction.item.as_str()));
    }

    /// Looks at something that is no event.
    pub fn bad(&mut self, bad: &BadLine) {
        self.unreadable.count += 1;
        if self.unreadable.examples.len() < EXAMPLES {
            self.unreadable.examples.push(bad.to_string());
        }
    }

    /// How many events there were.
    pub fn events(&self) -> u64 {
        self.kinds.all()
    }

    /// What there is to say of them.
    pub fn report(self) -> Report {
        let checks = vec![
            self.order.check(self.kinds.all(), &self.sort),
            self.kinds.check(&self.unreadable),
            self.field_reference(),
            self.rankings.join_key(),
            self.metadata(),
            self.rankings.positions(self.config.models.values().any(Model::learns_order)),
            self.types.check(),
        ];
        let mut facts = vec![self.hours.fact()];
        facts.extend(self.rankings.facts());
        facts.extend(self.fields());
        facts.extend(self.values.facts());
        let memory = self.forecast.end();
        facts.push(memory.as_ref().map_or_else(memory::none, Memory::fact));
        Report { events: self.kinds.all(), checks, facts, memory: memory.and_then(|memory| memory.usage()) }
    }

    fn field_reference(&self) -> Check {
        let missing = self.coverage.missing(self.config);
        let message = match missing.len() {
            0 => "events carry every field and interaction that the configuration names".to_owned(),
            count => format!("{count} names of the configuration were in no event"),
        };
        let details = json!({ "missing": missing });
        Check { name: "field reference", passed: missing.is_empty(), message, examples: missing, details }
    }

    fn metadata(&self) -> Check {
        let (missing, all) = (self.items.missing(), self.kinds.interactions);
        let message = match missing {
            0 => format!("every item of {all} interactions has an item event"),
            _ => format!("{} are on items without an item event", share(missing, all, "interactions")),
        };
        let details = json!({ "missing": missing, "interactions": all, "items": self.items.known() });
        let examples = self.items.examples();
        Check { name: "interaction metadata", passed: missing == 0, message, examples, details }
    }

    fn fields(&self) -> Vec<Fact> {
        let (mut unused, beyond) = (self.coverage.unused(self.config), self.coverage.beyond());
        let mut facts: Vec<Fact> = Vec::new();
        if !unused.is_empty() {
            let more = unused.len().saturating_sub(LISTED);
            unused.truncate(LISTED);
            let mut message = format!("events carry fields that the configuration does not use: {}", unused.join(", "));
            if more > 0 {
                message += &format!(", and {more} more");
            }
            if beyond > 0 {
                message += &format!("; {beyond} values of further fields were not looked at");
            }
            let details = json!({ "fields": unused, "more": more, "furtherValues": beyond });
            facts.push(Fact { name: "unused fields", warning: false, message, details });
        }
        for partly in self.coverage.partly(self.config) {
            facts.push(Fact { name: "lists", warning: true, message: partly, details: json!({}) });
        }
        facts
    }
}

impl Kinds {
    fn all(&self) -> u64 {
        self.items + self.users + self.rankings + self.interactions
    }

    fn check(&self, unreadable: &Unreadable) -> Check {
        let Self { items, users, rankings, interactions } = *self;
        let bad = unreadable.count;
        let counts = format!("{items} items, {users} users, {rankings} rankings, {interactions} interactions");
        let message = match bad {
            0 => counts,
            1 => format!("1 line is no event; the others: {counts}"),
            _ => format!("{bad} lines are no events; the others: {counts}"),
        };
        let details = json!({
            "items": items, "users": users, "rankings": rankings, "interactions": interactions, "unreadable": bad,
        });
        let examples = unreadable.examples.clone();
        Check { name: "event types", passed: bad == 0 && self.all() > 0, message, examples, details }
    }
}

/// `3 of 10 events (30.0 %)`
fn share(part: u64, all: u64, what: &str) -> String {
    format!("{part} of {all} {what} ({:.1} %)", part as f64 / all.max(1) as f64 * 100.0)
}

/// A length of time, such as `2 d 3 h`.
fn length(millis: i64) -> String {
    let units = [("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000), ("ms", 1)];
    let first = units.iter().position(|(_, size)| millis >= *size).unwrap_or(units.len() - 1);
    let mut rest = millis;
    let parts = units.iter().skip(first).take(2).map(|(name, size)| {
        let count = rest / size;
        rest %= size;
        (count, name)
    });
    let parts: Vec<String> = parts
        .enumerate()
        .filter(|(at, (count, _))| *at == 0 || *count > 0)
        .map(|(_, (count, name))| format!("{count} {name}"))
        .collect();
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::length;

    #[test]
    fn a_length_of_time_has_two_units_at_most() {
        let told = [0, 5, 61_000, 3_600_000, 93_784_005].map(length);
        assert_eq!(told, ["0 ms", "5 ms", "1 min 1 s", "1 h", "1 d 2 h"]);
    }
}
