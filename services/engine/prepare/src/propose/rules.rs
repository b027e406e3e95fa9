//! What is proposed for what events carry: a file for each kind of thing.

mod class;
mod history;
mod item;
mod models;
mod ranking;
mod text;
mod user;

use super::draft::Draft;
use super::field::Field;
use super::seen::{Group, Seen};
use super::yaml::{amount, count, percent};
use super::{Options, Ruleset};
use class::Class;
pub(super) use history::{is_unwanted, is_wanted};

/// What carries the fields of rankings themselves.
const RANKINGS: &str = "rankings";

/// What all rules know.
struct Facts<'a> {
    seen: &'a Seen,
    options: &'a Options,
    items: Vec<Known<'a>>,
    users: Vec<Known<'a>>,
    /// Fields of rankings themselves,
    rankings: Vec<Known<'a>>,
    /// and of their items.
    shown: Vec<Known<'a>>,
}

/// A field, and what it is.
struct Known<'a> {
    name: &'a str,
    /// As configurations have it, such as `item.price`.
    source: String,
    field: &'a Field,
    class: Class<'a>,
    /// Events that could carry it, and what they are called.
    all: u64,
    carriers: &'static str,
}

/// Proposes all there is to propose.
pub(super) fn propose(seen: &Seen, options: &Options, draft: &mut Draft) {
    let known = |group, owner, carriers, owners| known(group, owner, carriers, owners, options.threshold);
    let facts = Facts {
        seen,
        options,
        items: known(&seen.items, "item", "item events", seen.item_ids.count()),
        users: known(&seen.users, "user", "user events", seen.user_ids.count()),
        rankings: known(&seen.rankings, "ranking", RANKINGS, seen.rankings.events),
        shown: known(&seen.shown, "ranking", "items of rankings", seen.shown.events),
    };
    models::propose(&facts, draft);
    item::propose(&facts, draft);
    ranking::propose(&facts, draft);
    text::propose(&facts, draft);
    history::propose(&facts, draft);
    user::propose(&facts, draft);
    let groups = [(&seen.items, "item", ""), (&seen.users, "user", ""), (&seen.rankings, "ranking", "")];
    for (group, owner, of) in groups.into_iter().chain([(&seen.shown, "ranking", " of items of rankings")]) {
        if group.left_out > 0 {
            let why =
                format!("{} values of fields{of} beyond the first ones were not looked at", count(group.left_out));
            draft.leave_out(&format!("{owner}.*"), why);
        }
    }
}

/// The fields of a group, with the number of owners that its events are about.
fn known<'a>(group: &'a Group, owner: &str, carriers: &'static str, owners: u64, threshold: f64) -> Vec<Known<'a>> {
    let known = |(name, field): (&'a compact_str::CompactString, &'a Field)| Known {
        name,
        source: format!("{owner}.{name}"),
        class: Class::of(name, field, owners, threshold, carriers == RANKINGS),
        field,
        all: group.events,
        carriers,
    };
    group.fields.iter().map(known).collect()
}

impl Facts<'_> {
    fn all_rules(&self) -> bool {
        self.options.ruleset == Ruleset::All
    }
}

impl Known<'_> {
    /// `2,512 of 2,512 item events (100 %)`
    fn carried(&self) -> String {
        let Self { field, all, carriers, .. } = self;
        format!("in {} of {} {carriers} ({})", count(field.events), count(*all), percent(field.events, *all))
    }

    /// `0.6 to 98, about 1,800 values`
    fn spread(&self) -> String {
        let (least, greatest) = self.field.numbers.span.unwrap_or_default();
        format!("{} to {}, about {} values", amount(least), amount(greatest), count(self.field.distinct()))
    }
}
