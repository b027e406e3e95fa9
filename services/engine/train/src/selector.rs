//! Which click-throughs feed a model.

use crate::digest;
use rankwright_clickthrough::Clickthrough;
use rankwright_config::model::Selector;
use rankwright_event::Value;

/// Keeps sampling apart from other uses of a ranking's digest.
const SALT: u64 = 0x5e1e_c705;

/// Keeps a sample of all click-throughs apart from one that a selector takes.
const SHARE_SALT: u64 = 0x5a3b_11e5;

/// Whether a click-through is in a sample of this share of all. As with [`accepts`], drawing again draws the same ones.
pub(crate) fn is_sampled(share: f64, seed: u64, record: &Clickthrough) -> bool {
    digest::uniform(record.ranking.digest(), SHARE_SALT.wrapping_add(seed)) < share
}

/// Whether a model is to learn from this click-through.
///
/// The answer depends on the record and the model's seed alone: sampling is seeded by these and the ranking's id, so that
/// training again draws the same ones, and `not` of a sample is the rest.
pub fn accepts(selector: &Selector, seed: u64, record: &Clickthrough) -> bool {
    match selector {
        Selector::Accept(all) => *all,
        Selector::Field { ranking_field, values } => has_value(record, ranking_field, values),
        Selector::Sampling(ratio) => digest::uniform(record.ranking.digest(), SALT.wrapping_add(seed)) < *ratio,
        Selector::InteractionPosition { min, max } => interactions_lie_within(record, *min, *max),
        Selector::Length { min, max } => within(record.items.len(), *min, *max),
        Selector::And(all) => all.iter().all(|selector| accepts(selector, seed, record)),
        Selector::Or(any) => any.iter().any(|selector| accepts(selector, seed, record)),
        Selector::Not(selector) => !accepts(selector, seed, record),
    }
}

/// Whether an answer of [`accepts`] depends on the items that were shown.
pub(crate) fn looks_at_items(selector: &Selector) -> bool {
    match selector {
        Selector::InteractionPosition { .. } | Selector::Length { .. } => true,
        Selector::Accept(_) | Selector::Field { .. } | Selector::Sampling(_) => false,
        Selector::And(several) | Selector::Or(several) => several.iter().any(looks_at_items),
        Selector::Not(selector) => looks_at_items(selector),
    }
}

/// Whether a ranking field equals one of the texts, or is a list that holds one.
pub(crate) fn has_value(record: &Clickthrough, name: &str, wanted: &[String]) -> bool {
    let is_wanted = |text: &str| wanted.iter().any(|wanted| wanted == text);
    let matches = |value: &Value| match value {
        Value::Text(text) => is_wanted(text),
        Value::Texts(texts) => texts.iter().any(|text| is_wanted(text)),
        Value::Bool(_) | Value::Number(_) | Value::Numbers(_) => false,
    };
    record.fields.iter().any(|field| field.name == name && matches(&field.value))
}

/// Whether there are interactions, and all of them with items at such positions.
///
/// Positions count from 0; an item that is listed twice is at the first, one that was not listed is nowhere.
fn interactions_lie_within(record: &Clickthrough, min: Option<usize>, max: Option<usize>) -> bool {
    let position = |item| record.items.iter().position(|shown| &shown.id == item);
    let mut positions = record.interactions.iter().filter_map(|click| position(&click.item)).peekable();
    positions.peek().is_some() && positions.all(|position| within(position, min, max))
}

fn within(value: usize, min: Option<usize>, max: Option<usize>) -> bool {
    min.is_none_or(|min| value >= min) && max.is_none_or(|max| value <= max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clicked, record};
    use rankwright_event::Field;

    fn accept(selector: Selector, record: &Clickthrough) -> bool {
        accepts(&selector, 7, record)
    }

    fn field(value: &str) -> Selector {
        Selector::Field { ranking_field: "source".into(), values: vec![value.into()] }
    }

    #[test]
    fn a_field_selector_wants_the_value_or_a_list_that_holds_it() {
        let mut search = record("r", 3);
        search.fields = vec![Field::new("source", Value::Text("search".into()))];
        assert!(accept(field("search"), &search));
        assert!(!accept(field("sear"), &search));
        search.fields = vec![Field::new("source", Value::Texts(vec!["mail".into(), "search".into()]))];
        assert!(accept(field("search"), &search));
        let either = |values: [&str; 2]| Selector::Field {
            ranking_field: "source".into(),
            values: values.map(str::to_owned).to_vec(),
        };
        assert!(accept(either(["banner", "mail"]), &search) && !accept(either(["banner", "page"]), &search));
        search.fields = vec![Field::new("query", Value::Text("search".into()))];
        assert!(!accept(field("search"), &search));
    }

    #[test]
    fn sampling_takes_its_part_and_the_same_one_every_time() {
        let taken = |ratio| (0..1000).filter(move |id| accept(Selector::Sampling(ratio), &record(&id.to_string(), 1)));
        assert!((250..350).contains(&taken(0.3).count()));
        assert!(taken(0.3).eq(taken(0.3)));
        assert_eq!((taken(0.0).count(), taken(1.0).count()), (0, 1000));
    }

    #[test]
    fn models_of_other_seeds_take_other_samples() {
        let taken = |seed| {
            (0..100).filter(move |id| accepts(&Selector::Sampling(0.5), seed, &record(&id.to_string(), 1))).collect()
        };
        let (one, other): (Vec<_>, Vec<_>) = (taken(1), taken(2));
        assert_eq!(one, taken(1));
        assert!(one != other && one.iter().any(|id| other.contains(id)), "{one:?}");
    }

    #[test]
    fn not_of_a_sample_is_the_rest() {
        let sample = Selector::Sampling(0.5);
        let rest = Selector::Not(Box::new(sample.clone()));
        assert!(
            (0..100)
                .map(|id| record(&id.to_string(), 1))
                .all(|record| accepts(&sample, 7, &record) != accepts(&rest, 7, &record))
        );
    }

    #[test]
    fn interactions_have_to_lie_within_the_positions() {
        let at = |min, max| Selector::InteractionPosition { min, max };
        let clicks = clicked(record("r", 5), &[1, 3]);
        assert!(accept(at(None, Some(3)), &clicks));
        assert!(!accept(at(None, Some(2)), &clicks));
        assert!(accept(at(Some(1), None), &clicks));
        assert!(!accept(at(Some(2), None), &clicks));
        assert!(!accept(at(None, None), &record("r", 5)));
    }

    #[test]
    fn a_length_selector_counts_items() {
        let long = |min, max| Selector::Length { min, max };
        assert!(accept(long(Some(3), Some(3)), &record("r", 3)));
        assert!(!accept(long(Some(4), None), &record("r", 3)));
        assert!(!accept(long(None, Some(2)), &record("r", 3)));
    }

    #[test]
    fn selectors_nest() {
        let clicks = clicked(record("r", 3), &[0]);
        let long = Selector::Length { min: Some(10), max: None };
        let either = Selector::Or(vec![long.clone(), Selector::InteractionPosition { min: None, max: Some(0) }]);
        let both = Selector::And(vec![either.clone(), Selector::Not(Box::new(long))]);
        assert!(accept(both, &clicks));
        assert!(!accept(Selector::And(vec![either, Selector::Accept(false)]), &clicks));
        assert!(accept(Selector::And(vec![]), &clicks));
        assert!(!accept(Selector::Or(vec![]), &clicks));
    }
}
