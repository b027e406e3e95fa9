//! Lists of vectors around centroids, of which a search looks through those next to its query.

use super::best::{Best, better};
use super::codes::Codes;
use super::pool::Pool;
use super::{Build, GROUP, exact_of, lists};
use crate::lanes::{Kernel, Lanes, dispatch, dot, dots};
use crate::parallel;
use crate::vectors::Vectors;
use std::num::NonZero;

/// Queries that recall is measured by, and how many neighbours of each are looked for.
const SAMPLE: usize = 256;
const NEAREST: usize = 10;

/// An index whose searches look at a part of all vectors.
#[derive(Clone, Debug, PartialEq)]
pub struct Approximate {
    centroids: Vectors,
    order: Vec<u32>,  // numbers of vectors, list by list
    starts: Vec<u32>, // of lists in it, and its end
    codes: Codes,     // in that order
    probes: usize,
    recall: f32,
}

impl Approximate {
    /// Divides vectors of length one into lists, about as many as there are vectors in each. `None` where searches find less
    /// than is required in half of the lists.
    pub(super) fn build(vectors: &Vectors, settings: &Build) -> Option<Self> {
        let threads = parallel::threads(settings.threads);
        let mut random = fastrand::Rng::with_seed(settings.seed);
        let lists = (vectors.len() as f64).sqrt().ceil() as usize;
        let centroids = lists::centroids(vectors, lists, &mut random, threads);
        let list_of = lists::nearest(vectors, &centroids, threads);
        let mut built = Self::assemble(vectors, centroids, &list_of, 1, 0.0);
        let sample = random.choose_multiple(0..vectors.len(), SAMPLE);
        let nearest = exact_of(vectors, &sample, NEAREST, threads);
        let most = (built.centroids.len() / 2).max(1);
        built.probes = built.enough(vectors, &sample, &nearest, &list_of, settings.recall).min(most);
        built.recall = built.measured(vectors, &sample, &nearest, threads);
        while built.recall < settings.least && built.probes < most {
            built.probes = (2 * built.probes).min(most);
            built.recall = built.measured(vectors, &sample, &nearest, threads);
        }
        (built.recall >= settings.least).then_some(built)
    }

    /// The index that puts each vector into a list; a list is a number below that of the centroids.
    pub(crate) fn assemble(vectors: &Vectors, centroids: Vectors, list_of: &[u32], probes: usize, recall: f32) -> Self {
        let mut starts = vec![0; centroids.len() + 1];
        list_of.iter().for_each(|&list| starts[list as usize + 1] += 1);
        (0..centroids.len()).for_each(|list| starts[list + 1] += starts[list]);
        let mut next = starts.clone();
        let mut order = vec![0; list_of.len()];
        for (number, &list) in list_of.iter().enumerate() {
            order[next[list as usize] as usize] = number as u32;
            next[list as usize] += 1;
        }
        let list = |number: u32| list_of[number as usize] as usize;
        let rows = order.iter().map(|&number| (vectors.padded(number as usize), centroids.padded(list(number))));
        let codes = Codes::of(vectors.blocks(), rows);
        Self { centroids, order, starts, codes, probes, recall }
    }

    /// Centroids, one for each list.
    pub fn centroids(&self) -> &Vectors {
        &self.centroids
    }

    /// How many lists a search looks through, unless it wants more than those have.
    pub fn probes(&self) -> usize {
        self.probes
    }

    /// The share of the ten nearest that a search finds, from 0 to 1.
    pub fn recall(&self) -> f32 {
        self.recall
    }

    /// The list of each vector.
    pub(crate) fn list_of(&self) -> Vec<u32> {
        let mut list_of = vec![0; self.order.len()];
        for list in 0..self.centroids.len() {
            self.order[self.range(list)].iter().for_each(|&number| list_of[number as usize] = list as u32);
        }
        list_of
    }

    fn range(&self, list: usize) -> std::ops::Range<usize> {
        self.starts[list] as usize..self.starts[list + 1] as usize
    }

    /// The nearest of a query of length one. Where the lists to look through
    /// have fewer than wanted, others follow.
    pub(super) fn search(
        &self,
        vectors: &Vectors,
        query: &[Lanes],
        count: usize,
        skip: impl Fn(usize) -> bool,
    ) -> Vec<(usize, f32)> {
        let mut best = Best::new(count.min(vectors.len()));
        dispatch(Probe { index: self, vectors, query, skip, best: &mut best });
        best.sorted()
    }

    /// The fewest lists which have the wanted share of the neighbours of a sample.
    fn enough(
        &self,
        vectors: &Vectors,
        sample: &[usize],
        nearest: &[Vec<(usize, f32)>],
        list_of: &[u32],
        wanted: f32,
    ) -> usize {
        let mut found_at = vec![0_usize; self.centroids.len()]; // neighbours by the place of their list
        let mut places = vec![0; self.centroids.len()];
        for (&query, nearest) in sample.iter().zip(nearest) {
            let mut near = dispatch(Products { rows: &self.centroids, query: vectors.padded(query) });
            near.sort_unstable_by(better);
            near.iter().enumerate().for_each(|(place, (list, _))| places[*list] = place);
            nearest.iter().for_each(|(number, _)| found_at[places[list_of[*number] as usize]] += 1);
        }
        let wanted = f64::from(wanted) * found_at.iter().sum::<usize>() as f64;
        let mut found = 0;
        let enough = found_at.iter().position(|here| {
            found += here;
            found as f64 >= wanted
        });
        enough.map_or(self.centroids.len(), |place| place + 1)
    }

    /// The share of true neighbours that searches find.
    fn measured(
        &self,
        vectors: &Vectors,
        sample: &[usize],
        nearest: &[Vec<(usize, f32)>],
        threads: NonZero<usize>,
    ) -> f32 {
        let found = parallel::map(threads, sample.len(), 1, |place| {
            let query = sample[place];
            let near = self.search(vectors, vectors.padded(query), NEAREST, |number| number == query);
            nearest[place].iter().filter(|(number, _)| near.iter().any(|(other, _)| other == number)).count()
        });
        let (found, all) = (found.iter().sum::<usize>(), nearest.iter().map(Vec::len).sum::<usize>());
        if all == 0 { 1.0 } else { found as f32 / all as f32 }
    }
}

/// A search.
struct Probe<'a, S> {
    index: &'a Approximate,
    vectors: &'a Vectors,
    query: &'a [Lanes],
    skip: S,
    best: &'a mut Best,
}

impl<S: Fn(usize) -> bool> Kernel for Probe<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Self { index, vectors, query, skip, best } = self;
        let mut lists = Products { rows: &index.centroids, query }.run::<FMA>();
        let probes = index.probes.min(lists.len());
        if probes > 0 && probes < lists.len() {
            lists.select_nth_unstable_by(probes - 1, better);
            lists[probes..].sort_unstable_by(better);
        }
        let mut candidates = Pool::new(best.wanted());
        let coded = Codes::query(query);
        for (place, (list, similarity)) in lists.iter().enumerate() {
            if place >= probes && candidates.is_enough() {
                break;
            }
            index.codes.scan::<FMA>(index.range(*list), &coded, *similarity, |row, similarity, error| {
                candidates.offer(row, similarity, error, |row| skip(index.order[row] as usize));
            });
        }
        for row in candidates.rows() {
            let number = index.order[row] as usize;
            best.offer(number, dot::<FMA>(vectors.padded(number), query), |_| false);
        }
    }
}

/// Products of all rows with a query, by number.
struct Products<'a> {
    rows: &'a Vectors,
    query: &'a [Lanes],
}

impl Kernel for Products<'_> {
    type Output = Vec<(usize, f32)>;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> Self::Output {
        let mut products = Vec::with_capacity(self.rows.len());
        let grouped = self.rows.len() / GROUP * GROUP;
        for first in (0..grouped).step_by(GROUP) {
            let rows = [0, 1, 2, 3].map(|row| self.rows.padded(first + row));
            let near = dots::<FMA, GROUP>(rows, self.query);
            products.extend((first..).zip(near));
        }
        products.extend((grouped..self.rows.len()).map(|row| (row, dot::<FMA>(self.rows.padded(row), self.query))));
        products
    }
}
