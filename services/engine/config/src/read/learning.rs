//! What every model that is trained says of its training and its versions.

use super::selector;
use crate::model::{Gate, Learning, Metric, Weighting};
use crate::section::Section;
use crate::spelling::ranking_field;
use crate::value::Value;

/// What passes where the configuration says nothing.
const USUAL_GATE: Gate = Gate { metric: None, margin: 0.01, weighting: None };

/// The keys that such models share; `eval` are the metrics that the gate may go by.
pub(super) fn learning(section: &Section<'_>, eval: &[Metric]) -> Learning {
    let gate_given = section.get("qualityGate");
    if gate_given.is_none() {
        section.leaves_out("qualityGate", &USUAL_GATE);
    }
    Learning {
        selector: selector::optional(section),
        version: section.get("version").and_then(|value| value.text()),
        gate: gate_given.and_then(|value| gate(&value, eval)).unwrap_or(USUAL_GATE),
        exclude_seen: None,
        keep_versions: section.or("keepVersions", 10, |value| value.whole(1..=10_000)),
    }
}

fn gate(value: &Value<'_>, eval: &[Metric]) -> Option<Gate> {
    let section = value.section()?;
    let metric = section.get("metric");
    let margin = |value: Value<'_>| value.number("a number from 0 to 1", |margin| (0.0..=1.0).contains(&margin));
    let margin = section.or("margin", USUAL_GATE.margin, margin);
    let weighting = weighting(&section, !eval.is_empty());
    section.finish();
    let metric = metric.and_then(|value| {
        let metric = value.spelled("a metric such as NDCG@10")?;
        if eval.contains(&metric) { Some(metric) } else { value.other("one of the metrics of `eval`") }
    });
    Some(Gate { metric, margin, weighting })
}

/// Whether clicks count by the examination of their positions, and how that is estimated.
fn weighting(section: &Section<'_>, ranks: bool) -> Option<Weighting> {
    let weighted = section.get("weighted");
    let is_weighted = weighted.as_ref().is_some_and(|value| value.boolean().unwrap_or(false));
    if let (Some(value), true, false) = (&weighted, is_weighted, ranks) {
        value
            .wrong("recommended items have no positions in a list", "`weighted` with a model of type lambdamart alone");
    }
    let (arm, context) = (section.get("arm"), section.get("context"));
    for (value, name) in [(&arm, "arm"), (&context, "context")] {
        if let (Some(value), false) = (value, is_weighted) {
            value.wrong(format!("`{name}` does nothing without `weighted: true`"), "`weighted: true` beside it");
        }
    }
    let arm =
        arm.and_then(|value| value.spelled("a ranking field, or <ranking field>=<value of lists in random order>"));
    let context = context.and_then(|value| value.text()).map(|name| ranking_field(&name).to_owned());
    is_weighted.then_some(Weighting { arm, context })
}
