//! What visitors did: with the item, with items like it, and this visitor.

use super::{Class, Facts, Known};
use crate::propose::draft::Draft;
use crate::propose::seen::Taken;
use crate::propose::yaml::{count, list, percent, word};

/// What the service counts where visitors looked at an item.
pub(super) const IMPRESSION: &str = "impression";
/// Number of kinds of interactions with features of their own, the most frequent ones.
const MOST: usize = 4;
/// Words in names of interactions that say an item was not wanted.
const UNWANTED: [&str; 10] =
    ["dislike", "unlike", "hide", "skip", "remove", "return", "report", "cancel", "downvote", "not_interested"];

/// A kind of interaction that says an item was wanted.
pub(super) struct Wanted<'a> {
    pub(super) name: &'a str,
    pub(super) taken: &'a Taken,
}

/// Whether interactions with this name say that an item was not wanted.
pub(in crate::propose) fn is_unwanted(name: &str) -> bool {
    let name = name.to_lowercase();
    UNWANTED.iter().any(|word| name.contains(word))
}

/// Whether they say that it was.
pub(in crate::propose) fn is_wanted(name: &str) -> bool {
    name != IMPRESSION && !is_unwanted(name)
}

impl Facts<'_> {
    /// Kinds of interactions that say an item was wanted, the most frequent first.
    pub(super) fn wanted(&self) -> Vec<Wanted<'_>> {
        let kinds = self.seen.interactions.iter().map(|(name, taken)| Wanted { name, taken });
        let mut kinds: Vec<Wanted<'_>> = kinds.filter(|kind| is_wanted(kind.name)).collect();
        kinds.sort_by_key(|kind| std::cmp::Reverse(kind.taken.count));
        kinds
    }

    pub(super) fn has_history(&self) -> bool {
        !self.wanted().is_empty() && !self.visitor_scopes().is_empty()
    }

    /// Whose history can be told apart: the visitor's, the visit's.
    pub(super) fn visitor_scopes(&self) -> Vec<&'static str> {
        let sum = |part: fn(&Taken) -> u64| self.seen.interactions.values().map(part).sum::<u64>();
        let all = sum(|taken| taken.count);
        let is_usual = |part: u64| part * 2 >= all && part > 0;
        let mut scopes = Vec::new();
        if is_usual(sum(|taken| taken.with_user)) {
            scopes.push("user");
        }
        // a visit that is the visitor says nothing more
        let differ = self
            .seen
            .interactions
            .values()
            .any(|taken| taken.sessions.count() as f64 > taken.visitors.count() as f64 * 1.1);
        if is_usual(sum(|taken| taken.with_session)) && (scopes.is_empty() || differ) {
            scopes.push("session");
        }
        scopes
    }

    /// Days over which rates count, by how long the events go back.
    fn periods(&self) -> Vec<u32> {
        let days = self.seen.days();
        [(1, 0.0), (7, 1.5), (30, 8.0)]
            .into_iter()
            .filter(|(_, least)| days >= *least)
            .map(|(period, _)| period)
            .collect()
    }
}

pub(super) fn propose(facts: &Facts<'_>, draft: &mut Draft) {
    let wanted = facts.wanted();
    draft.section("What visitors did with the item, and with items like it");
    for (place, kind) in wanted.iter().take(MOST).enumerate() {
        with_item(facts, kind, place == 0, draft);
    }
    if let Some(base) = wanted.first() {
        wanted[1..].iter().take(MOST).for_each(|kind| conversion(facts, kind, base, draft));
        in_fields(facts, base, draft);
    }
    if !wanted.is_empty() {
        draft.section("What the visitor did before");
    }
    for (place, kind) in wanted.iter().take(if facts.all_rules() { MOST } else { 1 }).enumerate() {
        of_visitor(facts, kind, place == 0, draft);
    }
}

fn joined(periods: &[u32]) -> String {
    periods.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// `46,125 of click on about 2,100 items`
fn told(kind: &Wanted<'_>) -> String {
    format!("{} '{}' on about {} items", count(kind.taken.count), kind.name, count(kind.taken.items.count()))
}

/// Rates and counts of the item itself.
fn with_item(facts: &Facts<'_>, kind: &Wanted<'_>, is_base: bool, draft: &mut Draft) {
    let (top, periods) = (word(kind.name), facts.periods());
    let longest = *periods.last().unwrap_or(&1);
    let joinable = kind.taken.with_ranking * 2 >= kind.taken.count;
    let rate = |keys: String| format!("type: rate, top: {top}, bottom: {IMPRESSION}, bucket: 24h, {keys}");
    if joinable {
        let why = format!(
            "{}, {} of them in rankings: per time it was seen",
            told(kind),
            percent(kind.taken.with_ranking, kind.taken.count)
        );
        draft.feature(&format!("{}_rate", kind.name), rate(format!("periods: [{}]", joined(&periods))), why);
        let keys = rate(format!("periods: [{longest}], normalize: {{weight: 10}}"));
        let why = "the same; an item that was seldom seen gets about the rate of all items".to_owned();
        draft.feature(&format!("{}_rate_smooth", kind.name), keys, why);
    }
    if is_base || facts.all_rules() || !joinable {
        let keys = format!("type: interaction_count, interaction: {top}, scope: item");
        draft.feature(&format!("{}_count", kind.name), keys, format!("{}: how often, ever", told(kind)));
    }
    if facts.all_rules() {
        let keys = format!(
            "type: window_count, interaction: {top}, scope: item, bucket_size: 24h, windows: [{}]",
            joined(&periods)
        );
        draft.feature(&format!("{}_recent", kind.name), keys, format!("{}: how often recently", told(kind)));
    }
}

/// How often the rarer interaction follows the usual one.
fn conversion(facts: &Facts<'_>, kind: &Wanted<'_>, base: &Wanted<'_>, draft: &mut Draft) {
    if !facts.all_rules() || kind.taken.count < 20 {
        return;
    }
    let longest = *facts.periods().last().unwrap_or(&1);
    let keys =
        format!("type: rate, top: {}, bottom: {}, bucket: 24h, periods: [{longest}]", word(kind.name), word(base.name));
    let why = format!("{}, {} of '{}'", told(kind), percent(kind.taken.count, base.taken.count), base.name);
    draft.feature(&format!("{}_per_{}", kind.name, base.name), keys, why);
}

/// Rates of all items that share a value, and of the item in rankings that share one.
fn in_fields(facts: &Facts<'_>, base: &Wanted<'_>, draft: &mut Draft) {
    if base.taken.with_ranking * 2 < base.taken.count {
        return;
    }
    let longest = *facts.periods().last().unwrap_or(&1);
    let items = facts
        .items
        .iter()
        .filter(|known| known.class.is_shared() && (facts.all_rules() || !matches!(known.class, Class::Names)));
    let rankings = facts.rankings.iter().filter(|known| matches!(known.class, Class::Category(_)));
    for known in items.chain(rankings) {
        let keys = format!(
            "type: rate, top: {}, bottom: {IMPRESSION}, bucket: 24h, periods: [{longest}], scope: {}",
            word(base.name),
            word(&known.source)
        );
        let values = count(known.field.texts.distinct.count());
        let what = match known.carriers {
            super::RANKINGS => "the item in rankings with the same value",
            _ => "items with the same value, also new ones",
        };
        let name = format!("{}_rate_{}", base.name, known.source.replace('.', "_").trim_start_matches("item_"));
        draft.feature(&name, keys, format!("about {values} values of {}: {what}", known.source));
    }
}

/// What the item has in common with those that the visitor wanted.
fn of_visitor(facts: &Facts<'_>, kind: &Wanted<'_>, is_base: bool, draft: &mut Draft) {
    let shared: Vec<&Known<'_>> = facts.items.iter().filter(|known| known.class.is_shared()).collect();
    let itself = facts.all_rules().then_some("item.id");
    let fields: Vec<&str> = shared.iter().map(|known| known.source.as_str()).chain(itself).collect();
    let visitors = kind.taken.visitors.count();
    let each = kind.taken.count as f64 / visitors.max(1) as f64;
    for scope in facts.visitor_scopes() {
        let why = format!("about {} visitors with {each:.1} '{}' each", count(visitors), kind.name);
        if !fields.is_empty() {
            let duration = if scope == "user" { "30d" } else { "24h" };
            let keys = format!(
                "type: interacted_with, interaction: {}, scope: {scope}, duration: {duration}, field: {}",
                word(kind.name),
                list(fields.iter().copied())
            );
            draft.feature(
                &format!("{}_{scope}_profile", kind.name),
                keys,
                format!("{why}: what the item has in common with theirs"),
            );
        }
        if is_base && facts.all_rules() {
            let keys = format!("type: interaction_count, interaction: {}, scope: {scope}", word(kind.name));
            draft.feature(&format!("{}_{scope}_count", kind.name), keys, format!("{why}: how many so far"));
        }
    }
}
