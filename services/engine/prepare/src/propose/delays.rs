//! How long after their rankings interactions come: of the newest rankings, whose times are kept.

use foldhash::quality::FixedState;
use rankwright_event::{Interaction, Ranking, RankingId, Tenant, Timestamp};
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;

const HASHER: FixedState = FixedState::with_seed(0xde1a);
/// Number of rankings whose times are kept.
const KEPT: usize = 1 << 16;
/// Delays are counted by powers of two, in seconds.
const POWERS: usize = 32;

#[derive(Debug)]
pub(super) struct Delays {
    shown: HashMap<u64, Timestamp, FixedState>,
    order: VecDeque<u64>,
    counts: [u64; POWERS],
}

impl Default for Delays {
    fn default() -> Self {
        Self { shown: HashMap::default(), order: VecDeque::new(), counts: [0; POWERS] }
    }
}

fn digest(tenant: &Tenant, ranking: &RankingId) -> u64 {
    HASHER.hash_one((tenant.as_str(), ranking.as_str()))
}

impl Delays {
    pub(super) fn show(&mut self, ranking: &Ranking) {
        let digest = digest(&ranking.tenant, &ranking.id);
        if self.shown.insert(digest, ranking.timestamp).is_some() {
            return;
        }
        self.order.push_back(digest);
        if self.order.len() > KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            self.shown.remove(&oldest);
        }
    }

    pub(super) fn interact(&mut self, interaction: &Interaction) {
        let Some(ranking) = &interaction.ranking else { return };
        let Some(shown) = self.shown.get(&digest(&interaction.tenant, ranking)) else { return };
        let seconds = interaction.timestamp.millis_since(*shown).max(0) as u64 / 1000;
        let power = (u64::BITS - seconds.leading_zeros()) as usize; // 0, 1, 2 to 3, 4 to 7, ...
        self.counts[power.min(POWERS - 1)] += 1;
    }

    /// How many interactions came after a ranking that is known.
    pub(super) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Seconds within which 99 of 100 came, at most: rounded up to a power of two.
    pub(super) fn usual(&self) -> u64 {
        let enough = self.count() - self.count() / 100;
        let mut sum = 0;
        let power = self.counts.iter().position(|count| {
            sum += count;
            sum >= enough
        });
        1 << power.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankwright_event::{Event, json};

    fn event(text: &str) -> Event {
        json::decode(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    fn show(delays: &mut Delays, id: u64, second: u64) {
        let text = format!(r#"{{"event":"ranking","id":"r{id}","timestamp":"{second}000","items":[{{"id":"a"}}]}}"#);
        if let Event::Ranking(ranking) = event(&text) {
            delays.show(&ranking);
        }
    }

    fn click(delays: &mut Delays, id: u64, second: u64) {
        let text = format!(
            r#"{{"event":"interaction","id":"c","ranking":"r{id}","timestamp":"{second}000","type":"click","item":"a"}}"#
        );
        if let Event::Interaction(interaction) = event(&text) {
            delays.interact(&interaction);
        }
    }

    #[test]
    fn the_usual_delay_is_one_that_few_interactions_exceed() {
        let mut delays = Delays::default();
        assert_eq!((delays.count(), delays.usual()), (0, 1));
        for id in 0..1000 {
            show(&mut delays, id, 1000);
            click(&mut delays, id, 1000 + if id % 200 == 0 { 100_000 } else { 5 + id % 3 });
        }
        assert_eq!((delays.count(), delays.usual()), (1000, 8));
    }

    #[test]
    fn rankings_that_are_long_gone_or_were_never_there_say_nothing() {
        let mut delays = Delays::default();
        (0..=KEPT as u64).for_each(|id| show(&mut delays, id, 1));
        click(&mut delays, 0, 2);
        click(&mut delays, u64::MAX, 2);
        assert_eq!((delays.count(), delays.shown.len()), (0, KEPT));
        click(&mut delays, 1, 2);
        assert_eq!(delays.count(), 1);
    }
}
