//! The record that models are trained on.

use compact_str::CompactString;
use rankwright_event::{
    EventId, Field, Interaction, ItemId, RankedItem, Ranking, RankingId, SessionId, Tenant, Timestamp, UserId,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// A ranking with what visitors did with it, or an interaction that no ranking caused.
#[derive(Debug, Clone, PartialEq)]
pub struct Clickthrough {
    /// Whose it is.
    pub tenant: Tenant,
    /// What the record is about.
    pub kind: Kind,
    /// The ranking; for [`Kind::Interaction`] the interaction's event id.
    pub ranking: RankingId,
    /// When the ranking was shown, or the interaction happened.
    pub timestamp: Timestamp,
    /// The visitor, if known.
    pub user: Option<UserId>,
    /// The visit, if known.
    pub session: Option<SessionId>,
    /// The ranking's (or the interaction's) context, such as a query.
    pub fields: Vec<Field>,
    /// What was shown, in that order; empty for [`Kind::Interaction`].
    pub items: Vec<Shown>,
    /// Feature values, one row per item in the same order.
    pub rows: Rows,
    /// What visitors did, sorted by (time, id).
    pub interactions: Vec<Click>,
}

/// What a record is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A ranking that was shown, with its interactions or explicit labels.
    Ranking,
    /// One interaction without a ranking, or with one that is not known.
    Interaction,
}

/// What makes a record the same as another one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identity {
    /// Whose record it is.
    pub tenant: Tenant,
    /// Whether `id` is that of a ranking or of an interaction.
    pub kind: Kind,
    /// The ranking's id, or the interaction's.
    pub id: RankingId,
}

/// One place of a ranking.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shown {
    /// The item.
    pub id: ItemId,
    /// Explicit judgement, if the ranking came with one.
    pub label: Option<f64>,
}

/// Feature values as a matrix, row-major, one row per item; missing is NaN.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    /// Number of columns; 0 when there are no feature values.
    pub width: usize,
    /// `width` values per item.
    pub values: Vec<f32>,
}

/// One interaction with an item.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Click {
    /// When it happened.
    pub timestamp: Timestamp,
    /// Its event's id.
    pub id: EventId,
    /// Name of the interaction, such as `click`.
    pub kind: CompactString,
    /// The item.
    pub item: ItemId,
}

impl Clickthrough {
    /// The record of a ranking; `rows` has a row per item, `interactions` may come in any order.
    pub fn of_ranking(ranking: &Ranking, rows: Rows, mut interactions: Vec<Click>) -> Self {
        interactions.sort();
        Self {
            tenant: ranking.tenant.clone(),
            kind: Kind::Ranking,
            ranking: ranking.id.clone(),
            timestamp: ranking.timestamp,
            user: ranking.user.clone(),
            session: ranking.session.clone(),
            fields: ranking.fields.clone(),
            items: ranking.items.iter().map(Shown::from).collect(),
            rows,
            interactions,
        }
    }

    /// The record of an interaction without a ranking.
    pub fn of_interaction(interaction: &Interaction) -> Self {
        Self {
            tenant: interaction.tenant.clone(),
            kind: Kind::Interaction,
            ranking: RankingId::from(interaction.id.as_str()),
            timestamp: interaction.timestamp,
            user: interaction.user.clone(),
            session: interaction.session.clone(),
            fields: interaction.fields.clone(),
            items: Vec::new(),
            rows: Rows::default(),
            interactions: vec![Click::from(interaction)],
        }
    }

    /// What makes this record the same as another one.
    pub fn identity(&self) -> Identity {
        Identity { tenant: self.tenant.clone(), kind: self.kind, id: self.ranking.clone() }
    }

    /// One label per place: the explicit one if given, else the largest weight among the item's interactions.
    ///
    /// An interaction whose name has no weight counts 0, and so does an item without interactions. An item listed
    /// twice has its interactions at both places.
    pub fn labels(&self, weights: &BTreeMap<String, f64>) -> Vec<f64> {
        let mut largest: HashMap<&ItemId, f64> = HashMap::new();
        for click in &self.interactions {
            let weight = weights.get(click.kind.as_str()).copied().unwrap_or(0.0);
            largest.entry(&click.item).and_modify(|most| *most = most.max(weight)).or_insert(weight);
        }
        let implicit = |item: &Shown| largest.get(&item.id).copied().unwrap_or(0.0);
        self.items.iter().map(|item| item.label.unwrap_or_else(|| implicit(item))).collect()
    }
}

impl Rows {
    /// The row of the item at `place`; empty when there is none.
    pub fn row(&self, place: usize) -> &[f32] {
        self.values.chunks_exact(self.width.max(1)).nth(place).unwrap_or_default()
    }
}

/// Bit for bit, but for NaN, which has one meaning whatever its bits.
impl PartialEq for Rows {
    fn eq(&self, other: &Self) -> bool {
        let same = |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
        self.width == other.width
            && self.values.len() == other.values.len()
            && self.values.iter().zip(&other.values).all(same)
    }
}

impl From<&RankedItem> for Shown {
    fn from(item: &RankedItem) -> Self {
        Self { id: item.id.clone(), label: item.label }
    }
}

impl From<&Interaction> for Click {
    fn from(interaction: &Interaction) -> Self {
        Self {
            timestamp: interaction.timestamp,
            id: interaction.id.clone(),
            kind: interaction.kind.clone(),
            item: interaction.item.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn click(id: &str, kind: &str, item: &str) -> Click {
        Click { timestamp: Timestamp::from_millis(1), id: id.into(), kind: kind.into(), item: item.into() }
    }

    fn shown(items: &[(&str, Option<f64>)], interactions: Vec<Click>) -> Clickthrough {
        let item = |&(id, label): &(&str, _)| RankedItem { id: id.into(), fields: vec![], label, score: None };
        let ranking = Ranking {
            id: "r".into(),
            timestamp: Timestamp::from_millis(0),
            tenant: Tenant::default(),
            user: None,
            session: None,
            fields: vec![],
            items: items.iter().map(item).collect(),
        };
        Clickthrough::of_ranking(&ranking, Rows::default(), interactions)
    }

    fn weights() -> BTreeMap<String, f64> {
        BTreeMap::from([("click".into(), 1.0), ("purchase".into(), 5.0), ("hide".into(), -1.0)])
    }

    #[test]
    fn the_largest_weight_among_its_interactions_labels_an_item() {
        let clicks = vec![click("1", "click", "a"), click("2", "purchase", "a"), click("3", "click", "b")];
        let record = shown(&[("a", None), ("b", None), ("c", None)], clicks);
        assert_eq!(record.labels(&weights()), [5.0, 1.0, 0.0]);
    }

    #[test]
    fn an_explicit_label_goes_before_interactions() {
        let record = shown(&[("a", Some(0.5)), ("b", Some(0.0))], vec![click("1", "click", "a")]);
        assert_eq!(record.labels(&weights()), [0.5, 0.0]);
    }

    #[test]
    fn an_interaction_without_a_weight_gives_zero() {
        let clicks = vec![click("1", "like", "a"), click("2", "hide", "b"), click("3", "like", "b")];
        let record = shown(&[("a", None), ("b", None)], clicks);
        assert_eq!(record.labels(&weights()), [0.0, 0.0]);
        assert_eq!(shown(&[("a", None)], vec![click("1", "hide", "a")]).labels(&weights()), [-1.0]);
    }

    #[test]
    fn an_item_listed_twice_is_labelled_at_both_places() {
        let record = shown(&[("a", None), ("b", None), ("a", None)], vec![click("1", "click", "a")]);
        assert_eq!(record.labels(&weights()), [1.0, 0.0, 1.0]);
    }

    #[test]
    fn interactions_are_sorted_by_time_then_id() {
        let mut late = click("0", "click", "a");
        late.timestamp = Timestamp::from_millis(9);
        let record = shown(&[("a", None)], vec![late, click("2", "click", "a"), click("1", "click", "a")]);
        let ids: Vec<&str> = record.interactions.iter().map(|click| click.id.as_str()).collect();
        assert_eq!(ids, ["1", "2", "0"]);
    }

    #[test]
    fn missing_values_are_equal_and_zeros_of_both_signs_are_not() {
        let rows = |value: f32| Rows { width: 1, values: vec![value] };
        assert_eq!(rows(f32::NAN), rows(-f32::NAN));
        assert_ne!(rows(0.0), rows(-0.0));
        assert!(rows(1.0).row(7).is_empty());
    }
}
