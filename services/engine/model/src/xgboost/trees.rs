//! The trees of a document.

use super::FORMAT;
use super::document::Document;
use crate::ensemble::CategorySet;
use crate::ensemble::key::{View, below};
use crate::ensemble::tree::{Raw, Test, Tree, entry};
use crate::error::ReadError;
use crate::foreign::Splits;

/// The highest category there can be, and one (`OutOfRangeCat` of `categorical.h`).
const CATEGORIES: i64 = 1 << 24;
/// Words of all category sets together; bounds what a small model can make us allocate.
const MAX_SET_WORDS: usize = 1 << 22;

/// Reads trees, and gathers their category sets.
pub(super) struct TreeReader {
    features: i64,
    pub(super) sets: Vec<CategorySet>,
    /// In all sets.
    words: usize,
}

impl TreeReader {
    /// For a model of this number of features.
    pub(super) fn new(features: i64) -> Self {
        Self { features, sets: Vec::new(), words: 0 }
    }

    pub(super) fn read(&mut self, number: usize, tree: &Document) -> Result<Tree, ReadError> {
        let place = format!("tree {number}");
        let nodes = Nodes::read(tree).map_err(|error| error.within(&place))?;
        if tree.child("tree_param")?.child("size_leaf_vector")?.parsed::<u32>()? > 1 {
            return Err(ReadError::unsupported(FORMAT, format!("{place} has leaves of several values")));
        }
        let categorical = self.categorical(tree, &nodes).map_err(|error| error.within(&place))?;
        let test = |number| match categorical.binary_search_by_key(&number, |&(node, _)| node) {
            Ok(found) => Ok(Test::Category(categorical[found].1)),
            Err(_) => nodes.numerical(number),
        };
        let node = |number| nodes.node(number, test);
        let grown = Tree::grow(0, nodes.left.len(), self.features, node, |number| nodes.cover(number));
        grown.map_err(|reason| ReadError::invalid(FORMAT, place, reason))
    }

    /// Reads the category sets of a tree: which node splits by which set, by number of node.
    fn categorical(&mut self, tree: &Document, nodes: &Nodes) -> Result<Vec<(i64, u32)>, ReadError> {
        let Ok(splitting) = tree.child("categories_nodes") else { return Ok(Vec::new()) };
        let [starts, sizes] = ["categories_segments", "categories_sizes"].map(|key| tree.child(key)?.ints());
        let (starts, sizes, all) = (starts?, sizes?, tree.child("categories")?.ints()?);
        let mut found = Vec::new();
        for (index, node) in (0..).zip(splitting.ints()?) {
            let set = segment(&all, entry(&starts, index), entry(&sizes, index)).and_then(|set| self.words(set));
            let left = entry(&nodes.default_left, node);
            let (Some(words), Ok(left)) = (set, left) else {
                return Err(ReadError::invalid(FORMAT, "categories", format!("no usable set for node {node}")));
            };
            found.push((node, self.sets.len() as u32));
            self.sets.push(CategorySet::xgboost(words, left != 0));
        }
        found.sort_unstable();
        Ok(found)
    }

    /// The bits of a set; `None` where a category is none, or all sets together are too large.
    fn words(&mut self, categories: &[i64]) -> Option<Vec<u32>> {
        let highest = *categories.iter().max()?;
        if categories.iter().any(|category| !(0..CATEGORIES).contains(category)) {
            return None;
        }
        let count = highest as usize / 32 + 1;
        self.words += count;
        if self.words > MAX_SET_WORDS {
            return None;
        }
        let mut words = vec![0; count];
        categories.iter().for_each(|&category| words[category as usize / 32] |= 1 << (category % 32));
        Some(words)
    }
}

/// Adds a tree's splits.
pub(super) fn describe(tree: &Document, splits: &mut Splits) -> Result<(), ReadError> {
    let (left, columns) = (tree.child("left_children")?.ints()?, tree.child("split_indices")?.ints()?);
    let gains = tree.child("loss_changes")?.floats()?;
    let by_category = tree.child("categories_nodes").map_or_else(|_| Ok(Vec::new()), Document::ints)?;
    for (node, ((left, column), gain)) in (0..).zip(left.iter().zip(&columns).zip(&gains)) {
        if *left != -1 {
            splits.add(*column, f64::from(*gain), by_category.contains(&node));
        }
    }
    Ok(())
}

fn segment(all: &[i64], start: Result<i64, String>, size: Result<i64, String>) -> Option<&[i64]> {
    let (start, size) = (usize::try_from(start.ok()?).ok()?, usize::try_from(size.ok()?).ok()?);
    all.get(start..start.checked_add(size)?)
}

/// The nodes of a tree, a list for each of their parts; a leaf has no left child, and its value is its condition.
struct Nodes {
    left: Vec<i64>,
    right: Vec<i64>,
    columns: Vec<i64>,
    conditions: Vec<f32>,
    default_left: Vec<i64>,
    /// Sum of the hessians of the rows that reached each node; scoring does without it.
    covers: Option<Vec<f32>>,
}

impl Nodes {
    fn read(tree: &Document) -> Result<Self, ReadError> {
        Ok(Self {
            left: tree.child("left_children")?.ints()?,
            right: tree.child("right_children")?.ints()?,
            columns: tree.child("split_indices")?.ints()?,
            conditions: tree.child("split_conditions")?.floats()?,
            default_left: tree.child("default_left")?.ints()?,
            covers: tree.child("sum_hessian").and_then(Document::floats).ok(),
        })
    }

    fn node(&self, number: i64, test: impl Fn(i64) -> Result<Test, String>) -> Result<Raw, String> {
        let (left, right) = (entry(&self.left, number)?, entry(&self.right, number)?);
        if left == -1 {
            return entry(&self.conditions, number).map(|value| Raw::Leaf(f64::from(value)));
        }
        Ok(Raw::Split { column: entry(&self.columns, number)?, test: test(number)?, left, right })
    }

    fn cover(&self, number: i64) -> Option<f64> {
        entry(self.covers.as_ref()?, number).ok().map(f64::from)
    }

    fn numerical(&self, number: i64) -> Result<Test, String> {
        let left = entry(&self.default_left, number)? != 0;
        Ok(Test::Key { threshold: below(entry(&self.conditions, number)?), view: View::nan(left) })
    }
}
