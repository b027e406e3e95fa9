//! Random trees, and models made of them.

use std::fmt::Write;

/// Columns of a row.
pub(crate) const FEATURES: usize = 50;

/// Splits by number; a child is a split's number, or the complement of a leaf's.
pub(crate) struct Tree {
    splits: Vec<Split>,
    leaves: Vec<f64>,
}

struct Split {
    column: usize,
    threshold: f64,
    children: [i64; 2],
}

impl Tree {
    pub(crate) fn full(depth: usize, random: &mut Random) -> Self {
        Self::grow(1 << depth, random, |_, leaf| leaf)
    }

    /// Splits leaves at random, none deeper than allowed.
    pub(crate) fn by_leaves(leaves: usize, depth: usize, random: &mut Random) -> Self {
        let mut draw = Random(random.next());
        Self::grow(leaves, random, move |depths, _| {
            let open: Vec<usize> = (0..depths.len()).filter(|&leaf| depths[leaf] < depth).collect();
            open[draw.below(open.len())]
        })
    }

    /// As LightGBM does: the left part of a leaf keeps its number. `choose` is given the leaves' depths and a number that
    /// goes through all leaves of a level.
    fn grow(count: usize, random: &mut Random, mut choose: impl FnMut(&[usize], usize) -> usize) -> Self {
        let mut splits: Vec<Split> = Vec::new();
        let (mut depths, mut parents) = (vec![0], vec![None]);
        for number in 0..count - 1 {
            let level = (number + 1).ilog2();
            let leaf = choose(&depths, number + 1 - (1 << level));
            if let Some((parent, side)) = parents[leaf] {
                let parent: &mut Split = &mut splits[parent];
                parent.children[side] = number as i64;
            }
            let new = depths.len();
            let children = [!(leaf as i64), !(new as i64)];
            splits.push(Split { column: random.below(FEATURES), threshold: random.unit(), children });
            depths[leaf] += 1;
            depths.push(depths[leaf]);
            parents[leaf] = Some((number, 0));
            parents.push(Some((number, 1)));
        }
        Self { splits, leaves: (0..count).map(|_| random.unit() - 0.5).collect() }
    }
}

/// A model in LightGBM's text format.
pub(crate) fn lightgbm(trees: &[Tree]) -> String {
    lightgbm_with(trees, 0)
}

/// Number of categories.
pub(crate) const CATEGORIES: usize = 16;

/// A model in LightGBM's text format, whose first `categorical` columns hold categories.
pub(crate) fn lightgbm_with(trees: &[Tree], categorical: usize) -> String {
    let mut text = format!(
        "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nmax_feature_idx={}\nobjective=lambdarank\n\n",
        FEATURES - 1
    );
    for (number, tree) in trees.iter().enumerate() {
        let splits = |part: &dyn Fn(&Split) -> String| tree.splits.iter().map(part).collect::<Vec<_>>().join(" ");
        let sets: Vec<&Split> = tree.splits.iter().filter(|split| split.column < categorical).collect();
        let set_of = |split: &Split| sets.iter().position(|other| std::ptr::eq(*other, split));
        let threshold = |split: &Split| set_of(split).map_or(split.threshold.to_string(), |set| set.to_string());
        let decision = |split: &Split| if split.column < categorical { 1 } else { 8 + split.column % 2 * 2 };
        let _ = writeln!(text, "Tree={number}\nnum_leaves={}\nnum_cat={}", tree.leaves.len(), sets.len());
        let _ = writeln!(text, "split_feature={}", splits(&|split| split.column.to_string()));
        let _ = writeln!(text, "threshold={}", splits(&threshold));
        let _ = writeln!(text, "decision_type={}", splits(&|split| decision(split).to_string()));
        let _ = writeln!(text, "left_child={}", splits(&|split| split.children[0].to_string()));
        let _ = writeln!(text, "right_child={}", splits(&|split| split.children[1].to_string()));
        if !sets.is_empty() {
            let words = sets.iter().map(|split| ((split.threshold * 65_536.0) as u32).max(1).to_string());
            let bounds = (0..=sets.len()).map(|bound| bound.to_string()).collect::<Vec<_>>().join(" ");
            let words = words.collect::<Vec<_>>().join(" ");
            let _ = writeln!(text, "cat_boundaries={bounds}\ncat_threshold={words}");
        }
        let leaves: Vec<String> = tree.leaves.iter().map(f64::to_string).collect();
        let _ = writeln!(text, "leaf_value={}\n\n", leaves.join(" "));
    }
    text + "end of trees\n"
}

/// A model in XGBoost's JSON format.
pub(crate) fn xgboost(trees: &[Tree]) -> String {
    let bodies: Vec<String> = trees.iter().map(xgboost_tree).collect();
    let groups = vec!["0"; trees.len()].join(",");
    format!(
        r#"{{"learner":{{"learner_model_param":{{"base_score":"5E-1","num_class":"0","num_feature":"{FEATURES}"}},
        "objective":{{"name":"rank:ndcg"}},"gradient_booster":{{"name":"gbtree","model":{{
        "gbtree_model_param":{{"num_trees":"{}"}},"tree_info":[{groups}],"trees":[{}]}}}}}}}}"#,
        trees.len(),
        bodies.join(",")
    )
}

/// Leaves follow the splits.
fn xgboost_tree(tree: &Tree) -> String {
    let place = |child: i64| if child < 0 { tree.splits.len() as i64 + !child } else { child };
    let nodes = |split: &dyn Fn(&Split) -> String, leaf: &dyn Fn(f64) -> String| {
        let splits = tree.splits.iter().map(split);
        splits.chain(tree.leaves.iter().map(|&value| leaf(value))).collect::<Vec<_>>().join(",")
    };
    format!(
        r#"{{"tree_param":{{"size_leaf_vector":"1"}},"left_children":[{}],"right_children":[{}],
        "split_indices":[{}],"split_conditions":[{}],"default_left":[{}]}}"#,
        nodes(&|split| place(split.children[0]).to_string(), &|_| "-1".to_owned()),
        nodes(&|split| place(split.children[1]).to_string(), &|_| "-1".to_owned()),
        nodes(&|split| split.column.to_string(), &|_| "0".to_owned()),
        nodes(&|split| split.threshold.to_string(), &|value| value.to_string()),
        nodes(&|split| (split.column % 2).to_string(), &|_| "0".to_owned()),
    )
}

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
