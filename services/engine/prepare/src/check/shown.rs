//! Rankings, and the interactions with them: which rankings are missing, at which positions visitors interact.
//!
//! Of each ranking an entry stays for good. Its items stay as digests of 32 bits, in the order shown, as long as there is room:
//! those of the oldest rankings go first, and later interactions with them have no position.

use super::ids::{self, Example, Waiting};
use super::report::{Check, Fact};
use super::{EXAMPLES, share};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rankwright_event::{Interaction, Ranking};
use rankwright_feature::effect::IMPRESSION;
use serde_json::json;

/// Digests of items that are kept: 192 MiB.
const ROOM: u64 = 48 << 20;
/// They lie in pages, so that room for them is taken as they come.
const PAGE: u64 = 1 << 16;
/// Items of a ranking that are kept.
const MOST_ITEMS: usize = (1 << 16) - 1;
/// Positions that are counted one by one, in lists.
const POSITIONS: usize = 100;
/// Positions that a message tells.
const TOLD: usize = 10;

/// All rankings so far.
#[derive(Debug, Default)]
pub(super) struct Rankings {
    shown: HashTable<Shown>,
    pages: Vec<Vec<u32>>,
    /// Items of all rankings.
    items: u64,
    /// Rankings that interactions other than impressions name, and that did not come yet.
    waiting: Waiting,
    /// The same of impressions.
    impressions: Waiting,
    repeated: u64,
    /// Rankings whose items have labels.
    labelled: u64,
    /// Interactions that name a ranking, and that name none.
    naming: u64,
    alone: u64,
    /// Interactions other than impressions that came before their ranking.
    early: u64,
    /// The same of impressions.
    early_impressions: u64,
    /// Interactions whose ranking's items are forgotten.
    forgotten: u64,
    /// Interactions with items that were not in their ranking.
    outside: u64,
    outside_examples: Vec<Example>,
    /// Interactions by position, from 0; the last are those behind.
    positions: Vec<u64>,
}

/// A ranking: its digest, and packed into a word where its items begin among all, how many they are, and whether a visitor has
/// interacted with it.
#[derive(Debug, Clone, Copy)]
struct Shown {
    id: u64,
    word: u64,
}

impl Shown {
    fn new(id: u64, begin: u64, items: usize) -> Self {
        Self { id, word: (begin << 17) | ((items as u64) << 1) }
    }

    fn begin(self) -> u64 {
        self.word >> 17
    }

    fn items(self) -> u64 {
        (self.word >> 1) & 0xffff
    }

    fn clicked(self) -> bool {
        self.word & 1 == 1
    }
}

impl Rankings {
    pub(super) fn show(&mut self, ranking: &Ranking) {
        let id = ids::of(&ranking.tenant, ranking.id.as_str());
        let items = ranking.items.len().min(MOST_ITEMS);
        let entry = self.shown.entry(id, |shown| shown.id == id, |shown| shown.id);
        let Entry::Vacant(vacant) = entry else {
            self.repeated += 1;
            return;
        };
        self.labelled += u64::from(ranking.items.iter().any(|item| item.label.is_some_and(|label| label > 0.0)));
        let mut shown = Shown::new(id, self.items, items);
        let before = self.waiting.found(id);
        self.early += before;
        self.early_impressions += self.impressions.found(id);
        shown.word |= u64::from(before > 0);
        vacant.insert(shown);
        for item in &ranking.items[..items] {
            let at = self.items % ROOM;
            let page = (at / PAGE) as usize;
            if page == self.pages.len() {
                self.pages.push(vec![0; PAGE as usize]);
            }
            self.pages[page][(at % PAGE) as usize] = ids::of(&ranking.tenant, item.id.as_str()) as u32;
            self.items += 1;
        }
    }

    pub(super) fn interact(&mut self, interaction: &Interaction) {
        let Some(ranking) = &interaction.ranking else {
            self.alone += 1;
            return;
        };
        self.naming += 1;
        let id = ids::of(&interaction.tenant, ranking.as_str());
        let impression = interaction.kind == IMPRESSION;
        let Some(shown) = self.shown.find_mut(id, |shown| shown.id == id) else {
            let example = || Example::new(interaction.id.as_str(), "ranking", ranking.as_str());
            let waiting = if impression { &mut self.impressions } else { &mut self.waiting };
            return waiting.add(id, example);
        };
        if impression {
            return;
        }
        shown.word |= 1;
        let shown = *shown;
        if self.items - shown.begin() > ROOM {
            self.forgotten += 1;
            return;
        }
        let item = ids::of(&interaction.tenant, interaction.item.as_str()) as u32;
        let digest = |at: u64| self.pages[(at % ROOM / PAGE) as usize][(at % PAGE) as usize];
        match (0..shown.items()).find(|place| digest(shown.begin() + place) == item) {
            Some(place) => {
                let place = usize::try_from(place).unwrap_or(POSITIONS).min(POSITIONS);
                if self.positions.len() <= place {
                    self.positions.resize(place + 1, 0);
                }
                self.positions[place] += 1;
            }
            None => {
                self.outside += 1;
                if self.outside_examples.len() < EXAMPLES {
                    let example = Example::new(interaction.id.as_str(), "item", interaction.item.as_str());
                    self.outside_examples.push(example);
                }
            }
        }
    }

    pub(super) fn join_key(&self) -> Check {
        let (missing, naming) = (self.waiting.total() + self.impressions.total(), self.naming);
        let message = match missing {
            0 => format!("every ranking that {naming} interactions name is there"),
            _ => format!(
                "{} name a ranking that is not there: `ranking` of an interaction has to be the `id` of a ranking event",
                share(missing, naming, "interactions")
            ),
        };
        let details =
            json!({ "missing": missing, "naming": naming, "withoutRanking": self.alone, "early": self.all_early() });
        let examples = self.waiting.examples().into_iter().chain(self.impressions.examples()).take(EXAMPLES).collect();
        Check { name: "interaction-ranking join key", passed: missing == 0, message, examples, details }
    }

    fn all_early(&self) -> u64 {
        self.early + self.early_impressions
    }

    /// The distribution. It fails where a model `ranks` and could not learn even from events in the order of time.
    pub(super) fn positions(&self, ranks: bool) -> Check {
        let placed: u64 = self.positions.iter().sum();
        let percent = |count: u64| format!("{:.1} %", count as f64 / placed.max(1) as f64 * 100.0);
        let first = self.positions.iter().take(TOLD).enumerate();
        let mut told: Vec<String> = first.map(|(place, count)| format!("{}: {}", place + 1, percent(*count))).collect();
        let behind: u64 = self.positions.iter().skip(TOLD).sum();
        if behind > 0 {
            told.push(format!("further down: {}", percent(behind)));
        }
        let none = "no interaction names an earlier ranking and one of its items";
        let message = match (placed, self.early, self.labelled) {
            (0, 0, 0) if ranks => format!("{none}: there is nothing to learn from"),
            (0, _, 0) if !ranks => format!("{none}, which no model needs"),
            (0, 0, labelled) => format!("{none}; {labelled} rankings have items[].label"),
            (0, early, _) => {
                format!("{none}; {early} come before their ranking: if `event ordering` fails, sort the events first")
            }
            _ => format!("{placed} interactions by position: {}", told.join(", ")),
        };
        let details = json!({
            "placed": placed, "counts": self.positions, "notLookedUp": self.forgotten, "labelledRankings": self.labelled,
        });
        let passed = placed > 0 || self.early > 0 || self.labelled > 0 || !ranks;
        Check { name: "interaction positions", passed, message, examples: Vec::new(), details }
    }

    pub(super) fn facts(&self) -> Vec<Fact> {
        let clicked = self.shown.iter().filter(|shown| shown.clicked()).count() as u64;
        let all = self.shown.len() as u64;
        let mut facts = vec![Fact {
            name: "rankings with interactions",
            warning: clicked == 0 && all > 0,
            message: share(clicked, all, "rankings"),
            details: json!({ "rankings": all, "withInteractions": clicked }),
        }];
        if self.outside > 0 {
            let examples: Vec<&str> = self.outside_examples.iter().map(Example::text).collect();
            facts.push(Fact {
                name: "items outside of lists",
                warning: true,
                message: format!(
                    "{} are with items that the ranking did not have, such as {}",
                    share(self.outside, self.naming, "interactions"),
                    examples.join(", ")
                ),
                details: json!({ "outside": self.outside, "examples": examples }),
            });
        }
        let early = self.all_early();
        if early > 0 {
            facts.push(Fact {
                name: "interactions before rankings",
                warning: true,
                message: format!(
                    "{} come before their ranking: an import waits for it for 10 seconds of event time",
                    share(early, self.naming, "interactions")
                ),
                details: json!({ "early": early }),
            });
        }
        if self.alone > 0 {
            facts.push(Fact {
                name: "interactions without rankings",
                warning: false,
                message: format!(
                    "{} name no ranking: they count in features, and no model learns from them",
                    share(self.alone, self.alone + self.naming, "interactions")
                ),
                details: json!({ "withoutRanking": self.alone }),
            });
        }
        if self.repeated > 0 {
            facts.push(Fact {
                name: "repeated rankings",
                warning: true,
                message: format!("{} ranking events have the id of an earlier one", self.repeated),
                details: json!({ "repeated": self.repeated }),
            });
        }
        facts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankwright_event::{Event, json};

    fn see(rankings: &mut Rankings, line: &str) {
        match json::decode(line.as_bytes()).expect("a valid event") {
            Event::Ranking(ranking) => rankings.show(&ranking),
            Event::Interaction(interaction) => rankings.interact(&interaction),
            _ => {}
        }
    }

    #[test]
    fn an_impression_is_no_interaction_with_a_ranking_before_or_after_it() {
        let shown = r#"{"event":"ranking","id":"r","timestamp":2,"items":[{"id":"a"}]}"#;
        let act = |kind: &str| {
            format!(r#"{{"event":"interaction","id":"x","timestamp":1,"type":"{kind}","ranking":"r","item":"a"}}"#)
        };
        for (kind, of_one) in [("impression", 0), ("click", 1)] {
            for early in [true, false] {
                let mut rankings = Rankings::default();
                let mut lines = [act(kind), shown.to_owned()];
                if !early {
                    lines.reverse();
                }
                lines.iter().for_each(|line| see(&mut rankings, line));
                let details =
                    |name: &str| rankings.facts().into_iter().find(|fact| fact.name == name).map(|fact| fact.details);
                let with = details("rankings with interactions").expect("is told");
                assert_eq!(with, json!({ "rankings": 1, "withInteractions": of_one }), "{kind} {early}");
                let before = details("interactions before rankings");
                assert_eq!(before, early.then(|| json!({ "early": 1 })), "{kind}");
                assert!(rankings.join_key().passed);
                assert_eq!(rankings.positions(true).passed, kind == "click", "{kind} {early}");
            }
        }
    }

    #[test]
    fn an_impression_of_no_ranking_is_missed() {
        let mut rankings = Rankings::default();
        see(
            &mut rankings,
            r#"{"event":"interaction","id":"x","timestamp":1,"type":"impression","ranking":"r","item":"a"}"#,
        );
        let check = rankings.join_key();
        assert_eq!((check.passed, check.examples), (false, vec![r#""x" (ranking "r")"#.to_owned()]));
    }

    #[test]
    fn items_of_rankings_are_kept_as_long_as_there_is_room() {
        let mut rankings = Rankings::default();
        let items: Vec<String> = (0..MOST_ITEMS).map(|item| format!(r#"{{"id":"i{item}"}}"#)).collect();
        let items = items.join(",");
        let most = ROOM / MOST_ITEMS as u64 + 2;
        let shown = format!(r#"{{"event":"ranking","id":"r","timestamp":1,"items":[{items}]}}"#);
        let Ok(Event::Ranking(mut ranking)) = json::decode(shown.as_bytes()) else { panic!("a valid ranking") };
        for number in 0..most {
            ranking.id = format!("r{number}").into();
            rankings.show(&ranking);
        }
        let click = |ranking: u64, item: &str| {
            format!(
                r#"{{"event":"interaction","id":"c","timestamp":1,"type":"click","ranking":"r{ranking}","item":"{item}"}}"#
            )
        };
        see(&mut rankings, &click(0, "i0"));
        see(&mut rankings, &click(most - 1, "i1"));
        see(&mut rankings, &click(most - 1, "other"));
        see(&mut rankings, &click(most - 2, "i65000"));
        assert_eq!((rankings.forgotten, rankings.outside), (1, 1));
        assert_eq!((rankings.positions[1], rankings.positions[POSITIONS]), (1, 1));
        assert!(rankings.pages.len() as u64 <= ROOM / PAGE, "{}", rankings.pages.len());
    }
}
