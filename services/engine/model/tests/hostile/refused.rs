//! What is wrong with a model is said with its place.

use super::{LIGHTGBM, error, survives};
use rankwright_model::Ensemble;

/// The sample with its first line of such a key replaced.
fn with(key: &str, value: &str) -> Vec<u8> {
    let text = std::str::from_utf8(LIGHTGBM).unwrap();
    let start = text.find(&format!("\n{key}=")).unwrap() + 1;
    let end = start + text[start..].find('\n').unwrap();
    [&text[..start], key, "=", value, &text[end..]].concat().into_bytes()
}

fn numbered(count: usize, number: impl Fn(usize) -> i64) -> String {
    (0..count).map(|index| number(index).to_string()).collect::<Vec<_>>().join(" ")
}

#[test]
fn every_fault_of_a_lightgbm_model_is_named() {
    let cases = [
        (with("left_child", &numbered(11, |_| 0)), "tree 0: its nodes go round in a circle"),
        (with("left_child", &numbered(11, |_| 11)), "tree 0: node 11 does not exist"),
        (with("right_child", &numbered(11, |_| -13)), "tree 0: node 12 does not exist"),
        (with("split_feature", &numbered(11, |_| 8)), "splits column 8, but there are 8"),
        (with("split_feature", &numbered(11, |_| -1)), "splits column -1"),
        (with("num_leaves", "4294967295"), "leaf_value holds 12 numbers, not 4294967295"),
        (with("num_leaves", "many"), "num_leaves is \"many\", not a number"),
        (with("leaf_value", &["nan"; 12].join(" ")), "has the value NaN"),
        (with("cat_boundaries", "0 9223372036854775807"), "tree 0: cat_threshold holds"),
        (with("num_cat", "18446744073709551615"), "tree 0: cat_boundaries holds"),
        (with("is_linear", "1"), "tree 0 has linear leaves"),
        (with("num_class", "3"), "num_class is not 1"),
        (with("objective", "binary sigmoid:1"), "the objective \"binary sigmoid:1\""),
        (with("tree_sizes", "1 2"), "tree_sizes"),
        (b"tree\nnum_class=1\n".to_vec(), "num_tree_per_iteration is missing"),
        (b"\xff".to_vec(), "malformed LightGBM model at byte 0: it is not UTF-8 text"),
    ];
    for (model, reason) in cases {
        let found = error(Ensemble::lightgbm, &model);
        assert!(found.contains(reason), "{found:?} should contain {reason:?}");
    }
}

/// A model of one tree in JSON; `tree` gives its lists.
fn json(tree: &str) -> Vec<u8> {
    format!(
        r#"{{"learner":{{"learner_model_param":{{"base_score":"[5E-1]","num_class":"0","num_feature":"2"}},
        "objective":{{"name":"rank:ndcg"}},"gradient_booster":{{"name":"gbtree","model":{{
        "gbtree_model_param":{{"num_trees":"1"}},"tree_info":[0],"trees":[{{"tree_param":{{"size_leaf_vector":"1"}},
        {tree}}}]}}}}}}}}"#
    )
    .into_bytes()
}

const STUMP: &str = r#""left_children":[1,-1,-1],"right_children":[2,-1,-1],"split_indices":[0,0,0],
    "split_conditions":[0.5,1,2],"default_left":[1,0,0]"#;

#[test]
fn every_fault_of_an_xgboost_model_is_named() {
    let stump = |from: &str, to: &str| json(&STUMP.replacen(from, to, 1));
    let categories = |list: &str| {
        json(&format!(r#"{STUMP},"categories_nodes":[0],"categories_segments":[0],"categories_sizes":[1],{list}"#))
    };
    let whole = |from: &str, to: &str| String::from_utf8(json(STUMP)).unwrap().replacen(from, to, 1).into_bytes();
    let cases = [
        (stump("[1,-1,-1]", "[0,-1,-1]"), "tree 0: its nodes go round in a circle"),
        (stump("[2,-1,-1]", "[0,-1,-1]"), "tree 0: its nodes go round in a circle"),
        (stump("[1,-1,-1]", "[3,-1,-1]"), "tree 0: node 3 does not exist"),
        (stump("[1,-1,-1]", "[]"), "tree 0: node 0 does not exist"),
        (stump("[0,0,0]", "[2,0,0]"), "splits column 2, but there are 2"),
        (stump("[0.5,1,2]", "[0.5,NaN,2]"), "leaf 1 has the value NaN"),
        (stump("[0.5,1,2]", "[0.5,1e99,2]"), "leaf 1 has the value inf"),
        (stump("\"default_left\"", "\"default\""), "tree 0, default_left: it is missing"),
        (categories(r#""categories":[16777216]"#), "tree 0, categories: no usable set for node 0"),
        (categories(r#""categories":[-1]"#), "tree 0, categories: no usable set for node 0"),
        (categories(r#""categories":[]"#), "tree 0, categories: no usable set for node 0"),
        (whole("gbtree\"", "dart\""), "the booster \"dart\""),
        (whole("rank:ndcg", "binary:logistic"), "the objective \"binary:logistic\""),
        (whole("[5E-1]", "[5E-1,1]"), "base_score: \"[5E-1,1]\" is not one number"),
        (whole("\"num_trees\":\"1\"", "\"num_trees\":\"2\""), "num_trees: 2 trees, but 1 follow"),
        (whole("\"tree_info\":[0]", "\"tree_info\":[1]"), "more than one output"),
        ([b"[".repeat(100_000)].concat(), "it is nested too deeply"),
        ([b"{L\0\0\0\0\0\0\0\x01a", &b"[".repeat(100_000)[..]].concat(), "it is nested too deeply"),
        (b"{L\x7f\xff\xff\xff\xff\xff\xff\xff".to_vec(), "a text is longer than what is left"),
        (b"{L\0\0\0\0\0\0\0\x01a[$d#L\x7f\xff\xff\xff\xff\xff\xff\xff".to_vec(), "it ends too early"),
        (b"{L\0\0\0\0\0\0\0\x01a[#L\xff\xff\xff\xff\xff\xff\xff\xff".to_vec(), "a length is negative"),
    ];
    for (model, reason) in cases {
        let found = error(Ensemble::xgboost, &model);
        assert!(found.contains(reason), "{found:?} should contain {reason:?}");
    }
    survives(Ensemble::xgboost, &json(STUMP)).unwrap();
    survives(Ensemble::xgboost, &categories(r#""categories":[16777215]"#)).unwrap();
}

/// A tree that is a chain: the left child of each split is a leaf.
fn chain(splits: usize) -> Vec<u8> {
    let last = |index: usize| if index + 1 == splits { -(splits as i64) - 1 } else { index as i64 + 1 };
    format!(
        "tree\nnum_class=1\nnum_tree_per_iteration=1\nmax_feature_idx=0\nTree=0\nnum_leaves={}\nnum_cat=0\n\
        split_feature={}\nthreshold={}\nleft_child={}\nright_child={}\nleaf_value={}\nend of trees\n",
        splits + 1,
        numbered(splits, |_| 0),
        numbered(splits, |index| index as i64),
        numbered(splits, |index| !(index as i64)),
        numbered(splits, last),
        numbered(splits + 1, |index| index as i64),
    )
    .into_bytes()
}

#[test]
fn a_deep_tree_scores_and_one_that_is_deeper_than_any_sense_is_refused() {
    for splits in [1, 9, 10, 11, 64, 4096] {
        let ensemble = Ensemble::lightgbm(&chain(splits)).unwrap();
        let mut scores = [0.0; 3];
        ensemble.score(&[-1.0, 0.5, 1e9], 1, &mut scores);
        assert_eq!(scores, [0.0, 1.0, splits as f64]);
    }
    assert!(error(Ensemble::lightgbm, &chain(4097)).contains("more than 4096 levels deep"));
}
