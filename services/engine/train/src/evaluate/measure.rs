//! Metrics of every list under every order, summed up by visitor and segment.

use super::clusters::{Clusters, MOST};
use super::ranker::Source;
use super::report::{Worst, WorstList};
use super::tested::{Info, Tested};
use super::{Evaluation, MOST_SEGMENTS, Ranker};
use crate::examination::{Curve, list_weight};
use crate::metric::{Judged, expected_of_list, of_list, unweighted};
use rankwright_model::Column;
use std::io;

/// What is measured, and with what.
pub(super) struct Measure<'a> {
    pub(super) evaluation: &'a Evaluation<'a>,
    /// Of the rows that were read.
    pub(super) columns: &'a [Column],
    /// By which clicks are weighted; without it all weights are 1.
    pub(super) curve: Option<&'a Curve>,
}

/// What became of it.
pub(super) struct Measured {
    pub(super) all: Clusters,
    /// By value of the field that lists are told apart by, those with the most lists first.
    pub(super) segments: Vec<Segment>,
    /// Further values, which were not looked at.
    pub(super) others: usize,
    pub(super) worst: Vec<Worst>,
}

/// Lists with one value of the field.
pub(super) struct Segment {
    pub(super) value: Option<String>,
    pub(super) visitors: usize,
    pub(super) clusters: Clusters,
}

/// Sums so far.
struct Sums {
    all: Clusters,
    segments: Vec<(u32, Clusters)>,
    worst: Vec<Vec<WorstList>>,
    /// Visitors share sums where there are too many.
    groups: u64,
}

impl Measure<'_> {
    /// Goes through all lists.
    pub(super) fn run(&self, tested: &Tested) -> io::Result<Measured> {
        let (examples, width, rankers) = (tested.examples(), self.columns.len(), self.evaluation.rankers);
        let sources: Vec<_> =
            rankers.iter().map(|ranker| ranker.sources(self.columns, self.evaluation.served)).collect();
        let groups = if tested.lists().visitors as u64 > MOST { MOST } else { u64::MAX };
        let (values, others) =
            if self.evaluation.by.is_some() { tested.most_frequent(MOST_SEGMENTS) } else { Default::default() };
        let segments = values.into_iter().map(|value| (value, Clusters::default())).collect();
        let mut sums = Sums { all: Clusters::default(), segments, worst: vec![Vec::new(); rankers.len()], groups };
        let (lengths, mut list) = (examples.lists.lengths, 0);
        let mut labels = examples.lists.labels;
        let mut blocks = examples.blocks();
        while list < lengths.len() {
            let block = blocks.advance()?;
            let rows: &[f32] = block.as_ref().map_or(&[], |block| &*block.values);
            // without columns there are no values to count lists by: all of them are one block
            let height = rows.len().checked_div(width).unwrap_or(usize::MAX);
            let end = list + taken(&lengths[list..], height);
            let scores = scores(rankers, &sources, rows, width, &tested.infos[list..end], &lengths[list..end]);
            let mut first = 0;
            for (info, &length) in tested.infos[list..end].iter().zip(&lengths[list..end]) {
                let (own, rest) = labels.split_at(length as usize);
                let scores: Vec<&[f64]> = scores.iter().map(|scores| &scores[first..first + own.len()]).collect();
                self.list(info, own, &scores, tested, &mut sums);
                (labels, first) = (rest, first + own.len());
            }
            list = end;
        }
        Ok(self.measured(tested, sums, others))
    }

    /// Measures a list, and adds it to the sums.
    fn list(&self, info: &Info, labels: &[f32], scores: &[&[f64]], tested: &Tested, sums: &mut Sums) {
        let plain = unweighted(labels);
        let weights = self.curve.filter(|_| !info.judged).map_or_else(|| plain.clone(), |curve| curve.judged(labels));
        let (figures, weighted) = (self.figures(&plain, scores), self.figures(&weights, scores));
        let (visitor, weight) = (info.visitor % sums.groups, list_weight(&weights));
        sums.all.add(visitor, weight, &figures, &weighted);
        if let Some((_, segment)) = sums.segments.iter_mut().find(|(value, _)| *value == info.value) {
            segment.add(visitor, weight, &figures, &weighted);
        }
        for (ranker, worst) in sums.worst.iter_mut().enumerate() {
            worst.push(WorstList {
                ranking: info.ranking.to_string(),
                tenant: info.tenant.to_string(),
                time: info.time,
                items: labels.len(),
                relevant: labels.iter().filter(|&&label| label > 0.0).count(),
                value: figures[ranker],
                shown: figures[scores.len()],
                segment: tested.values.get(info.value as usize).cloned().flatten(),
            });
            if worst.len() > 4 * self.evaluation.worst + 1000 {
                keep(worst, self.evaluation.worst);
            }
        }
    }

    /// Each metric of each order: the models', what was shown, and what to expect of a random one.
    fn figures(&self, list: &[Judged], scores: &[&[f64]]) -> Vec<f64> {
        let shown: Vec<f64> = (0..list.len()).map(|place| -(place as f64)).collect();
        let mut figures = Vec::with_capacity(self.evaluation.config.eval.len() * (scores.len() + 2));
        for &metric in &self.evaluation.config.eval {
            figures.extend(scores.iter().map(|scores| of_list(metric, list, scores)));
            figures.extend([of_list(metric, list, &shown), expected_of_list(metric, list)]);
        }
        figures
    }

    fn measured(&self, tested: &Tested, mut sums: Sums, others: usize) -> Measured {
        sums.worst.iter_mut().for_each(|worst| keep(worst, self.evaluation.worst));
        let named = self.evaluation.rankers.iter().zip(sums.worst);
        let worst = named.map(|(ranker, lists)| Worst { ranker: ranker.name.clone(), lists }).collect();
        let segment = |(number, clusters): (u32, Clusters)| Segment {
            value: tested.values[number as usize].clone(),
            visitors: tested.visitors(|info| info.value == number),
            clusters,
        };
        let segments = sums.segments.into_iter().map(segment).collect();
        Measured { all: sums.all, segments, others, worst }
    }
}

/// Number of lists that these rows are.
fn taken(lengths: &[u32], height: usize) -> usize {
    let mut rows = 0;
    lengths
        .iter()
        .take_while(|&&length| {
            rows += length as usize;
            rows <= height
        })
        .count()
}

/// The scores of each model, for lists whose rows these are.
fn scores(
    rankers: &[Ranker],
    sources: &[Vec<Source>],
    rows: &[f32],
    width: usize,
    infos: &[Info],
    lengths: &[u32],
) -> Vec<Vec<f64>> {
    let lists = || infos.iter().map(|info| info.seed).zip(lengths.iter().map(|&length| length as usize));
    rankers.iter().zip(sources).map(|(ranker, sources)| ranker.score(sources, rows, width, lists())).collect()
}

/// The worst lists first: of the smallest figure, of equals those that lose the most against the order as shown.
fn keep(worst: &mut Vec<WorstList>, count: usize) {
    let gain = |list: &WorstList| list.value - list.shown;
    worst.sort_by(|left, right| {
        let order = left.value.total_cmp(&right.value).then(gain(left).total_cmp(&gain(right)));
        order.then_with(|| left.ranking.cmp(&right.ranking))
    });
    worst.truncate(count);
}
