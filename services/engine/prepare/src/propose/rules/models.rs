//! What the models learn from: weights of interactions, and recommenders where visitors are told apart.

use super::history::{IMPRESSION, Wanted, is_unwanted};
use super::{Facts, text};
use crate::propose::draft::Draft;
use crate::propose::yaml::{count, list, word};

/// Fewer interactions than these recommend nothing.
const ENOUGH: u64 = 50;
/// Number of interactions that a visitor needs, on average, to say which items are alike.
const EACH: f64 = 2.0;
/// The most that a rare interaction weighs.
const HEAVIEST: f64 = 10.0;

/// Lengths of sessions, in seconds.
const SESSIONS: [(u64, &str); 9] = [
    (60, "1m"),
    (300, "5m"),
    (600, "10m"),
    (1200, "20m"),
    (1800, "30m"),
    (3600, "1h"),
    (4 * 3600, "4h"),
    (12 * 3600, "12h"),
    (24 * 3600, "24h"),
];
/// The one that the service takes by itself.
const USUAL: (u64, &str) = (1800, "30m");
/// Fewer interactions of a kind than these say nothing of when it comes.
const SOME: u64 = 10;

pub(super) fn propose(facts: &Facts<'_>, draft: &mut Draft) {
    let wanted = facts.wanted();
    session(&wanted, draft);
    weights(facts, &wanted, draft);
    let wanted: Vec<&Wanted<'_>> = wanted.iter().filter(|kind| kind.taken.count >= ENOUGH).collect();
    popular(facts, &wanted, draft);
    similar(&wanted, draft);
    alike(facts, draft);
}

/// A ranking waits half as long again as nearly all interactions need, of the kind that needs the longest: what comes later is
/// lost for it, and until then rates do not count it. A kind that seldom comes may come later than it did so far, so it never
/// shortens the usual time.
fn session(wanted: &[Wanted<'_>], draft: &mut Draft) {
    let joined = || wanted.iter().filter(|kind| kind.taken.with_ranking > 0);
    let told = joined().filter(|kind| kind.taken.delays.count() >= SOME);
    let Some(latest) = told.max_by_key(|kind| kind.taken.delays.usual()) else { return };
    let usual = latest.taken.delays.usual();
    let is_sure = joined().all(|kind| kind.taken.delays.count() >= ENOUGH);
    let least = if is_sure { 0 } else { USUAL.0 };
    let needed = (usual + usual / 2).max(least);
    let longest = SESSIONS[SESSIONS.len() - 1];
    let (_, length) = SESSIONS.into_iter().find(|(seconds, _)| *seconds >= needed).unwrap_or(longest);
    if length != USUAL.1 {
        let why = format!(
            "99 % of {} '{}' come within {} s of their ranking, which closes after this time without an interaction",
            count(latest.taken.delays.count()),
            latest.name,
            count(usual)
        );
        draft.session(length, why);
    }
}

/// The most frequent interaction weighs 1, a rarer one more: the root of how much rarer it is.
fn weight(kind: &Wanted<'_>, base: u64) -> u64 {
    (base as f64 / kind.taken.count.max(1) as f64).sqrt().round().clamp(1.0, HEAVIEST) as u64
}

fn weights(facts: &Facts<'_>, wanted: &[Wanted<'_>], draft: &mut Draft) {
    let rankings = facts.seen.rankings.events;
    let base = wanted.first().map_or(0, |kind| kind.taken.count);
    for kind in wanted {
        let each = kind.taken.count as f64 / rankings.max(1) as f64;
        let why = format!("{}, {each:.2} a ranking", count(kind.taken.count));
        draft.weights.push((format!("{}: {}", word(kind.name), weight(kind, base)), why));
    }
    for (name, taken) in &facts.seen.interactions {
        if is_unwanted(name) {
            let why = format!("'{name}' ({}) does not count: by its name, the item was not wanted", count(taken.count));
            draft.weights.push((String::new(), why));
        } else if name == IMPRESSION {
            let why = format!("'{name}' ({}) says that an item was seen, not that it was wanted", count(taken.count));
            draft.weights.push((String::new(), why));
        }
    }
    if facts.seen.labelled > 0 {
        let why = format!(
            "{} of {} rankings have items[].label, which count as well",
            count(facts.seen.labelled),
            count(rankings)
        );
        draft.weights.push((String::new(), why));
    }
}

/// What is popular at present.
fn popular(facts: &Facts<'_>, wanted: &[&Wanted<'_>], draft: &mut Draft) {
    let Some(base) = wanted.first().map(|kind| kind.taken.count) else { return };
    let window = if facts.seen.days() > 14.0 { "30d" } else { "7d" };
    let mut keys = vec!["type: trending".to_owned(), "weights:".to_owned()];
    keys.extend(wanted.iter().map(|kind| {
        format!(
            "  - {{interaction: {}, weight: {}, decay: 0.9, window: {window}}}",
            word(kind.name),
            weight(kind, base)
        )
    }));
    let all: u64 = wanted.iter().map(|kind| kind.taken.count).sum();
    draft.model("popular", keys, format!("recommends what is popular at present, from {} interactions", count(all)));
}

/// Items that the same visitors want.
fn similar(wanted: &[&Wanted<'_>], draft: &mut Draft) {
    let told_apart = |kind: &&&Wanted<'_>| {
        let visitors = kind.taken.visitors.count();
        visitors >= ENOUGH && kind.taken.count as f64 >= EACH * visitors as f64
    };
    let kinds: Vec<&&Wanted<'_>> = wanted.iter().filter(told_apart).collect();
    let Some(base) = kinds.first() else { return };
    let names: Vec<String> = kinds.iter().map(|kind| word(kind.name)).collect();
    let items = base.taken.items.count();
    let factors = if items < 5_000 { 32 } else { 100 };
    let keys = vec![
        "type: als".to_owned(),
        format!("interactions: [{}]", names.join(", ")),
        format!("factors: {factors}"),
        "iterations: 20".to_owned(),
    ];
    let (visitors, all) = (base.taken.visitors.count(), base.taken.count);
    let why = format!(
        "recommends items that the same visitors want: about {} visitors, {:.1} '{}' each, {} items",
        count(visitors),
        all as f64 / visitors.max(1) as f64,
        base.name,
        count(items)
    );
    draft.model("similar", keys, why);
}

/// Items whose texts are alike.
fn alike(facts: &Facts<'_>, draft: &mut Draft) {
    let texts = facts.texts();
    let Some(first) = texts.first() else { return };
    let (model, dim) = text::encoder(text::language(texts.iter().copied()));
    let keys = vec![
        "type: semantic".to_owned(),
        format!("encoder: {{type: bert, model: {}, dim: {dim}}}", word(model)),
        format!("itemFields: {}", list(texts.iter().map(|known| known.name))),
    ];
    let why = format!("recommends items with similar texts, new ones as well: {} {}", first.source, first.carried());
    draft.model_hint("alike", keys, why, vec![format!("{}. Uncomment it:", text::NEEDS_MODEL)]);
}
