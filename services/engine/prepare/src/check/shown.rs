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
    waiting: Waiting,
    repeated: u64,
    /// Rankings whose items have labels.
    labelled: u64,
    /// Interactions that name a ranking, and that name none.
    naming: u64,
    alone: u64,
    /// Interactions that came before their ranking.
    early: u64,
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
        let Some(shown) = self.shown.find_mut(id, |shown| shown.id == id) else {
            let example = || Example::new(interaction.id.as_str(), "ranking", ranking.as_str());
            return self.waiting.add(id, example);
        };
        if interaction.kind == IMPRESSION {
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
        let (missing, naming) = (self.waiting.total(), self.naming);
        let message = match missing {
            0 => format!("every ranking that {naming} interactions name is there"),
            _ => format!(
                "{} name a ranking that is not there: `ranking` of an interaction has to be the `id` of a ranking event",
                share(missing, naming, "interactions")
            ),
        };
        let details =
            json!({ "missing": missing, "naming": naming, "withoutRanking": self.alone, "early": self.early });
        let examples = self.waiting.examples();
        Check { name: "interaction-ranking join key", passed: missing == 0, message, examples, details }
    }

    /// The distribution; a failure where a model `ranks` and there is nothing that it could learn from.
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
        let message = match (placed, self.labelled) {
            (0, 0) if ranks => format!("{none}: there is nothing to learn from"),
            (0, 0) => format!("{none}, which no model needs"),
            (0, labelled) => format!("{none}; {labelled} rankings have items[].label"),
            _ => format!("{placed} interactions by position: {}", told.join(", ")),
        };
        let details = json!({
            "placed": placed, "counts": self.positions, "notLookedUp": self.forgotten, "labelledRankings": self.labelled,
        });
        let passed = placed > 0 || self.labelled > 0 || !ranks;
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
        if self.early > 0 {
            facts.push(Fact {
                name: "interactions before rankings",
                warning: true,
                message: format!(
                    "{} come before their ranking: an import waits for it for 10 seconds of event time",
                    share(self.early, self.naming, "interactions")
                ),
                details: json!({ "early": self.early }),
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
