use super::*;
use crate::ensemble::CategorySet;
use crate::ensemble::key::{View, below};
use crate::ensemble::tree::Test;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// A tree as a person would write it down, decided in a way of its own.
#[derive(Debug, Clone)]
struct Grown {
    cover: f64,
    what: What,
}

#[derive(Debug, Clone)]
enum What {
    Leaf(f64),
    Split { column: usize, asks: Asks, missing_left: bool, children: Box<[Grown; 2]> },
}

#[derive(Debug, Clone)]
enum Asks {
    /// Left where it is below.
    Below(f32),
    /// Right where it is one of them.
    Among(Vec<u32>),
}

fn leaf(cover: f64, value: f64) -> Grown {
    Grown { cover, what: What::Leaf(value) }
}

fn split(column: usize, bound: f32, left: Grown, right: Grown) -> Grown {
    let what = What::Split {
        column,
        asks: Asks::Below(bound),
        missing_left: true,
        children: Box::new([left.clone(), right.clone()]),
    };
    Grown { cover: left.cover + right.cover, what }
}

impl Grown {
    /// The average over what training saw, of the leaves that a row may reach where only some columns are known.
    fn expected(&self, row: &[f32], known: &BTreeSet<usize>) -> f64 {
        match &self.what {
            What::Leaf(value) => *value,
            What::Split { column, asks, missing_left, children } => {
                let value = row[*column];
                let right = match asks {
                    _ if value.is_nan() => !missing_left,
                    Asks::Below(bound) => value >= *bound,
                    Asks::Among(set) => set.contains(&(value as u32)),
                };
                if known.contains(column) {
                    return children[usize::from(right)].expected(row, known);
                }
                children.iter().map(|child| child.cover / self.cover * child.expected(row, known)).sum()
            }
        }
    }

    /// Shapley values from their definition, over all subsets of columns.
    fn shapley(&self, row: &[f32]) -> Vec<f64> {
        let factorial = |n: usize| (1..=n).map(|n| n as f64).product::<f64>();
        let mut values = vec![0.0; row.len()];
        for subset in 0..1_u32 << row.len() {
            let known: BTreeSet<usize> = (0..row.len()).filter(|column| subset >> column & 1 == 1).collect();
            let weight = factorial(known.len()) * factorial(row.len() - known.len().min(row.len() - 1) - 1)
                / factorial(row.len());
            for column in (0..row.len()).filter(|column| !known.contains(column)) {
                let with = known.iter().copied().chain([column]).collect();
                values[column] += weight * (self.expected(row, &with) - self.expected(row, &known));
            }
        }
        values
    }

    fn columns(&self) -> BTreeSet<usize> {
        match &self.what {
            What::Leaf(_) => BTreeSet::new(),
            What::Split { column, children, .. } => children.iter().flat_map(Self::columns).chain([*column]).collect(),
        }
    }

    fn tree(&self, sets: &mut Vec<CategorySet>) -> Tree {
        let mut tree = Tree { nodes: Vec::new(), depth: 0, covers: Vec::new() };
        self.push(0, &mut tree, sets);
        tree
    }

    fn push(&self, depth: u32, tree: &mut Tree, sets: &mut Vec<CategorySet>) {
        tree.covers.push(self.cover);
        tree.depth = tree.depth.max(depth);
        match &self.what {
            What::Leaf(value) => tree.nodes.push(Node::Leaf(*value)),
            What::Split { column, asks, missing_left, children } => {
                let test = match asks {
                    Asks::Below(bound) => Test::Key { threshold: below(*bound), view: View::nan(*missing_left) },
                    Asks::Among(categories) => {
                        let mut words = vec![0; 3];
                        categories.iter().for_each(|category| words[*category as usize / 32] |= 1 << (category % 32));
                        sets.push(CategorySet::xgboost(words, *missing_left));
                        Test::Category(sets.len() as u32 - 1)
                    }
                };
                let place = tree.nodes.len();
                tree.nodes.push(Node::Split { column: *column as u32, test, right: 0 });
                children[0].push(depth + 1, tree, sets);
                let right = tree.nodes.len() as u32;
                tree.nodes[place] = Node::Split { column: *column as u32, test, right };
                children[1].push(depth + 1, tree, sets);
            }
        }
    }
}

fn explained(grown: &[Grown], base: f64, rows: &[f32], width: usize) -> (Contributions, Vec<f64>) {
    let mut sets = Vec::new();
    let trees: Vec<Tree> = grown.iter().map(|grown| grown.tree(&mut sets)).collect();
    let forest = Forest::new(&trees, sets, base);
    let mut scores = vec![0.0; rows.len() / width];
    forest.score(rows, width, &mut scores);
    (of(&trees, &forest, rows, width).expect("all is there"), scores)
}

fn close(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-12 * left.abs().max(right.abs()).max(1.0)
}

#[test]
fn a_split_brings_what_its_side_differs_from_the_average() {
    let tree = split(0, 5.0, leaf(30.0, 1.0), leaf(10.0, 9.0));
    let (found, _) = explained(&[tree], 0.5, &[0.0, 0.0, 7.0, 0.0], 2);
    assert!(close(found.bias, 0.5 + 3.0), "{}", found.bias);
    assert!(close(found.values[0], 1.0 - 3.0) && close(found.values[2], 9.0 - 3.0), "{:?}", found.values);
    assert_eq!((found.values[1], found.values[3]), (0.0, 0.0), "a column that no split reads");
}

/// Averages over the order in which the columns become known, by hand: the first leaf pair is reached by half of the data.
#[test]
fn two_columns_share_what_they_bring_together() {
    let tree = split(0, 1.0, leaf(50.0, 0.0), split(1, 1.0, leaf(25.0, 0.0), leaf(25.0, 8.0)));
    let (found, _) = explained(&[tree], 0.0, &[2.0, 2.0], 2);
    // nothing known 2; column 0 known 4; column 1 known 4; both known 8
    assert!(close(found.bias, 2.0));
    assert!(close(found.values[0], 3.0) && close(found.values[1], 3.0), "{:?}", found.values);
}

#[test]
fn a_column_that_is_split_twice_counts_once() {
    let tree = split(0, 4.0, split(0, 2.0, leaf(10.0, 1.0), leaf(30.0, 2.0)), leaf(60.0, 3.0));
    let (found, scores) = explained(&[tree], 0.0, &[1.0, 3.0, 5.0], 1);
    for (value, score) in found.values.iter().zip(scores) {
        assert!(close(found.bias + value, score));
    }
    assert!(close(found.bias, 0.1 + 0.6 + 1.8));
}

#[test]
fn paths_of_many_columns_are_exact() {
    let width = 14;
    let chain = (0..width).fold(leaf(3.0, 1.0), |below, column| {
        split(column, 0.5, leaf(1.0 + column as f64, column as f64 * 0.3 - 1.0), below)
    });
    for row in [vec![1.0; width], vec![0.0; width], (0..width).map(|column| (column % 3) as f32).collect()] {
        let (found, _) = explained(std::slice::from_ref(&chain), 0.0, &row, width);
        let expected = chain.shapley(&row);
        assert!(found.values.iter().zip(&expected).all(|(found, expected)| close(*found, *expected)), "{found:?}");
    }
}

/// No column can be left out of a hundred; the sum can be looked at, and it is off where the rule has too few points.
#[test]
fn paths_of_a_hundred_columns_add_up() {
    let width = 100;
    let chain = (0..width).fold(leaf(3.0, 1.0), |below, column| split(column, 0.5, leaf(1.0, column as f64), below));
    let (found, scores) = explained(&[chain], 0.0, &vec![1.0; width], width);
    assert!(close(found.bias + found.values.iter().sum::<f64>(), scores[0]));
}

#[test]
fn a_split_that_no_data_passed_on_one_side_is_explained() {
    let tree = split(0, 1.0, leaf(0.0, 7.0), split(1, 1.0, leaf(4.0, 1.0), leaf(0.0, 2.0)));
    for row in [[0.0, 0.0], [2.0, 2.0], [0.0, 2.0]] {
        let (found, _) = explained(std::slice::from_ref(&tree), 0.0, &row, 2);
        assert!(
            found.values.iter().zip(tree.shapley(&row)).all(|(found, expected)| close(*found, expected)),
            "{found:?}"
        );
    }
}

#[test]
fn a_model_without_covers_is_refused_by_the_tree() {
    let trees = vec![split(0, 1.0, leaf(1.0, 1.0), leaf(1.0, 2.0)); 2];
    let mut trees: Vec<Tree> = trees.iter().map(|grown| grown.tree(&mut Vec::new())).collect();
    let refused = |trees: &[Tree], width: usize| {
        let forest = Forest::new(trees, Vec::new(), 0.0_f64);
        of(trees, &forest, &vec![0.0; width], width).expect_err("refused")
    };
    trees[1].covers.clear();
    assert_eq!(refused(&trees, 1), NoContributions::NoCovers(1));
    let message = refused(&trees, 1).to_string();
    assert!(message.contains("sum_hessian") && message.contains("train the model again"), "{message}");
    trees[1].covers = vec![0.0, 0.0, 0.0];
    assert_eq!(refused(&trees, 1), NoContributions::NoCovers(1), "a split of nothing has no shares");
    trees.truncate(1);
    assert_eq!(refused(&trees, 0), NoContributions::Columns { column: 0, width: 0 });
}

#[test]
fn trees_without_splits_bring_their_leaf_to_the_bias() {
    let (found, scores) = explained(&[leaf(0.0, 3.0), leaf(0.0, 4.0)], 0.5, &[1.0, 2.0], 2);
    assert_eq!((found.bias, found.values, scores), (7.5, vec![0.0; 2], vec![7.5]));
}

const COLUMNS: usize = 5;

fn trees() -> impl Strategy<Value = Grown> {
    let leaves = (0.5..100.0_f64, -3.0..3.0_f64).prop_map(|(cover, value)| leaf(cover, value));
    leaves.prop_recursive(6, 48, 2, |inner| {
        let asks = prop_oneof![
            2 => (-2..3_i32).prop_map(|bound| Asks::Below(bound as f32)),
            1 => prop::collection::vec(prop_oneof![0..6_u32, Just(70)], 1..4).prop_map(Asks::Among),
        ];
        (inner.clone(), inner, 0..COLUMNS, asks, any::<bool>()).prop_map(|(left, right, column, asks, missing_left)| {
            let cover = left.cover + right.cover;
            Grown { cover, what: What::Split { column, asks, missing_left, children: Box::new([left, right]) } }
        })
    })
}

/// Small numbers, which are categories as well, and missing ones.
fn values() -> impl Strategy<Value = f32> {
    prop_oneof![4 => (0..6_u32).prop_map(|value| value as f32), 1 => Just(70.0), 2 => Just(f32::NAN)]
}

proptest! {
    #[test]
    fn contributions_are_shapley_values(
        trees in prop::collection::vec(trees(), 1..4),
        rows in prop::collection::vec(values(), COLUMNS * 11),
    ) {
        let (found, scores) = explained(&trees, 0.25, &rows, COLUMNS);
        for (row, found) in rows.chunks(COLUMNS).zip(found.values.chunks(COLUMNS)) {
            let mut expected = vec![0.0; COLUMNS];
            for tree in &trees {
                expected.iter_mut().zip(tree.shapley(row)).for_each(|(sum, value)| *sum += value);
            }
            for column in 0..COLUMNS {
                prop_assert!(close(found[column], expected[column]), "{found:?} {expected:?}");
                let read = trees.iter().any(|tree| tree.columns().contains(&column));
                prop_assert!(read || found[column] == 0.0, "a column that no split reads brings nothing");
            }
        }
        let known = BTreeSet::new();
        let average = trees.iter().map(|tree| tree.expected(&rows, &known)).sum::<f64>();
        prop_assert!(close(found.bias, 0.25 + average));
        for (found_row, score) in found.values.chunks(COLUMNS).zip(scores) {
            prop_assert!(close(found.bias + found_row.iter().sum::<f64>(), score));
        }
    }
}
