//! How long after their rankings interactions come, kind by kind: of the newest rankings, whose times are kept.

use foldhash::quality::FixedState;
use rankwright_event::{Interaction, Ranking, RankingId, Tenant, Timestamp};
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;

const HASHER: FixedState = FixedState::with_seed(0xde1a);
/// Number of rankings whose times are kept.
const KEPT: usize = 1 << 16;
/// Delays are counted by powers of two, in seconds.
const POWERS: usize = 32;

/// Times of the newest rankings.
#[derive(Debug, Default)]
pub(super) struct Shown {
    times: HashMap<u64, Timestamp, FixedState>,
    order: VecDeque<u64>,
}

/// How many interactions of a kind came after which time.
#[derive(Debug, Default)]
pub(super) struct Delays([u64; POWERS]);

fn digest(tenant: &Tenant, ranking: &RankingId) -> u64 {
    HASHER.hash_one((tenant.as_str(), ranking.as_str()))
}

impl Shown {
    pub(super) fn add(&mut self, ranking: &Ranking) {
        let digest = digest(&ranking.tenant, &ranking.id);
        if self.times.insert(digest, ranking.timestamp).is_some() {
            return;
        }
        self.order.push_back(digest);
        if self.order.len() > KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            self.times.remove(&oldest);
        }
    }

    /// Seconds from its ranking to an interaction; `None` where the ranking is not known.
    pub(super) fn delay(&self, interaction: &Interaction) -> Option<u64> {
        let shown = self.times.get(&digest(&interaction.tenant, interaction.ranking.as_ref()?))?;
        Some(interaction.timestamp.millis_since(*shown).max(0) as u64 / 1000)
    }
}

impl Delays {
    pub(super) fn add(&mut self, seconds: u64) {
        let power = (u64::BITS - seconds.leading_zeros()) as usize; // 0, 1, 2 to 3, 4 to 7, ...
        self.0[power.min(POWERS - 1)] += 1;
    }

    /// How many interactions came after a ranking that is known.
    pub(super) fn count(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Seconds within which 99 of 100 came, at most: rounded up to a power of two.
    pub(super) fn usual(&self) -> u64 {
        let enough = self.count() - self.count() / 100;
        let mut sum = 0;
        let power = self.0.iter().position(|count| {
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

    fn show(shown: &mut Shown, id: u64, second: u64) {
        let text = format!(r#"{{"event":"ranking","id":"r{id}","timestamp":"{second}000","items":[{{"id":"a"}}]}}"#);
        if let Event::Ranking(ranking) = event(&text) {
            shown.add(&ranking);
        }
    }

    fn delay(shown: &Shown, id: u64, second: u64) -> Option<u64> {
        let text = format!(
            r#"{{"event":"interaction","id":"c","ranking":"r{id}","timestamp":"{second}000","type":"click","item":"a"}}"#
        );
        match event(&text) {
            Event::Interaction(interaction) => shown.delay(&interaction),
            _ => None,
        }
    }

    #[test]
    fn the_usual_delay_is_one_that_few_interactions_exceed() {
        let mut delays = Delays::default();
        assert_eq!((delays.count(), delays.usual()), (0, 1));
        (0..1000).for_each(|id| delays.add(if id % 200 == 0 { 100_000 } else { 5 + id % 3 }));
        assert_eq!((delays.count(), delays.usual()), (1000, 8));
    }

    #[test]
    fn rankings_that_are_long_gone_or_were_never_there_say_nothing() {
        let mut shown = Shown::default();
        (0..=KEPT as u64).for_each(|id| show(&mut shown, id, 1));
        assert_eq!((delay(&shown, 0, 2), delay(&shown, u64::MAX, 2), shown.times.len()), (None, None, KEPT));
        assert_eq!((delay(&shown, 1, 2), delay(&shown, 2, 31)), (Some(1), Some(30)));
    }
}
