//! Rankings stored with a model version, which a server replays before the version serves.
//!
//! They are a sample of what the model was trained on, as requests (the items in the order shown, without the visitor and what
//! that one did: a version outlives what has to be forgotten), written as ranking events: a line of JSON each, which [`rankwright_event::json::decode_batch`] reads.

use crate::digest;
use rankwright_clickthrough::Clickthrough;
use rankwright_event::{Event, RankedItem, Ranking, json};
use std::collections::BTreeMap;

/// Keeps sampling apart from other uses of a ranking's digest.
const SALT: u64 = 0x3a97_0095;

/// Draws a sample of fixed size from a stream, the same one whatever the stream's order.
#[derive(Debug, Default)]
pub(crate) struct Sample {
    size: usize,
    drawn: BTreeMap<(u64, String), Ranking>,
}

impl Sample {
    /// A sample of `size` rankings.
    pub(crate) fn of(size: usize) -> Self {
        Self { size, drawn: BTreeMap::new() }
    }

    /// Shows it one more ranking.
    pub(crate) fn offer(&mut self, record: &Clickthrough) {
        let draw = digest::mix(record.ranking.digest(), SALT);
        let is_drawn =
            self.drawn.len() < self.size || self.drawn.last_key_value().is_some_and(|((most, _), _)| draw < *most);
        if self.size == 0 || !is_drawn {
            return;
        }
        self.drawn.insert((draw, record.ranking.as_str().to_owned()), request(record));
        if self.drawn.len() > self.size {
            self.drawn.pop_last();
        }
    }

    /// The sample as bytes; none where it is empty.
    pub(crate) fn encode(self) -> Vec<u8> {
        let lines = self.drawn.into_values().map(|ranking| json::encode(&Event::Ranking(ranking)) + "\n");
        lines.collect::<String>().into_bytes()
    }
}

/// The request that led to a ranking, without its visitor.
fn request(record: &Clickthrough) -> Ranking {
    let item = |id| RankedItem { id, fields: Vec::new(), label: None, score: None };
    Ranking {
        id: record.ranking.clone(),
        timestamp: record.timestamp,
        tenant: record.tenant.clone(),
        user: None,
        session: None,
        fields: record.fields.clone(),
        items: record.items.iter().map(|shown| item(shown.id.clone())).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::record;

    fn sampled(size: usize, ids: impl Iterator<Item = u32>) -> Vec<Ranking> {
        let mut sample = Sample::of(size);
        ids.for_each(|id| sample.offer(&record(&id.to_string(), 2)));
        let events = json::decode_batch(&sample.encode()).expect("a sample is a batch of events");
        let ranking = |event| if let Event::Ranking(ranking) = event { Some(ranking) } else { None };
        events.into_iter().filter_map(ranking).collect()
    }

    #[test]
    fn a_sample_has_its_size_and_does_not_depend_on_the_order() {
        let sample = sampled(10, 0..1000);
        assert_eq!(sample.len(), 10);
        assert_eq!(sample, sampled(10, (0..1000).rev()));
        assert_eq!(sampled(10, 0..3).len(), 3);
    }

    #[test]
    fn a_sample_spreads_over_the_whole_stream() {
        let late = sampled(100, 0..1000)
            .iter()
            .filter(|ranking| ranking.id.as_str().parse().is_ok_and(|id: u32| id >= 500))
            .count();
        assert!((30..70).contains(&late), "{late} of 100");
    }

    #[test]
    fn a_sampled_ranking_is_the_request_that_led_to_it() {
        let sample = sampled(1, 7..8);
        assert_eq!(sample[0].id.as_str(), "7");
        assert_eq!(sample[0].items.iter().map(|item| item.id.as_str()).collect::<Vec<_>>(), ["item0", "item1"]);
    }

    #[test]
    fn no_sample_is_no_bytes() {
        let mut sample = Sample::of(0);
        sample.offer(&record("r", 2));
        assert!(sample.encode().is_empty());
    }
}
