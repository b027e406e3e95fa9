//! Model bytes that are cut, mutated or made to harm: each is an error, or a model that scores; none panics, none makes
//! us allocate what it did not bring along.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use rankwright_model::Ensemble;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

const LIGHTGBM: &[u8] = include_bytes!("../samples/trained/lightgbm-nan.txt");
const UBJSON: &[u8] = include_bytes!("../samples/trained/xgboost.ubj");
const JSON: &[u8] = include_bytes!("../samples/trained/xgboost.json");

/// Bytes that reading a model may take at most, for each byte of it.
const GROWTH: usize = 300;
/// And besides: category sets are bit fields up to the highest category, 16 MiB of them at most.
const SETS: usize = 17 << 20;

thread_local! {
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
}

/// Counts what a thread allocates, freed or not.
struct Counting;

#[allow(unsafe_code)]
// SAFETY: everything is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATED.try_with(|allocated| allocated.set(allocated.get() + layout.size()));
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Reads the bytes, and lets what comes of them score.
fn survives(read: fn(&[u8]) -> Result<Ensemble, rankwright_model::ReadError>, bytes: &[u8]) -> Result<(), String> {
    let before = ALLOCATED.get();
    let ensemble = read(bytes);
    let taken = ALLOCATED.get() - before;
    assert!(taken <= GROWTH * bytes.len() + SETS, "{taken} bytes for {}", bytes.len());
    let ensemble = ensemble.map_err(|error| error.to_string())?;
    let rows: Vec<f32> = (0..20).flat_map(|row| [row as f32, f32::NAN, -1.0, 1e9, f32::INFINITY, 0.0, 5.0]).collect();
    let mut scores = [0.0; 20];
    ensemble.score(&rows, 7, &mut scores);
    assert!(scores.iter().all(|score| !score.is_nan()));
    Ok(())
}

fn error(read: fn(&[u8]) -> Result<Ensemble, rankwright_model::ReadError>, bytes: &[u8]) -> String {
    survives(read, bytes).expect_err("the model is broken")
}

/// Replaces some bytes, and puts some in or takes some out.
fn mutate(bytes: &[u8], edits: &[(prop::sample::Index, u8, u8)]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for (at, kind, value) in edits {
        let at = at.index(bytes.len());
        match kind % 4 {
            0 => bytes.insert(at, *value),
            1 => drop(bytes.remove(at)),
            _ => bytes[at] = *value,
        }
    }
    bytes
}

/// Replaces numbers of a text by others, which leaves its structure as it is.
fn renumber(text: &[u8], edits: &[(prop::sample::Index, i64)]) -> Vec<u8> {
    let digit = |byte: &u8| byte.is_ascii_digit() || *byte == b'-';
    let starts: Vec<usize> = (1..text.len()).filter(|&at| digit(&text[at]) && !digit(&text[at - 1])).collect();
    let mut chosen: Vec<(usize, i64)> = edits.iter().map(|(at, number)| (*at.get(&starts), *number)).collect();
    chosen.sort_unstable();
    chosen.dedup_by_key(|(at, _)| *at);
    let mut text = text.to_vec();
    for (at, number) in chosen.into_iter().rev() {
        let length = text[at..].iter().take_while(|byte| digit(byte)).count();
        text.splice(at..at + length, number.to_string().into_bytes());
    }
    text
}

fn edits() -> impl Strategy<Value = Vec<(prop::sample::Index, u8, u8)>> {
    prop::collection::vec(any::<(prop::sample::Index, u8, u8)>(), 1..8)
}

fn numbers() -> impl Strategy<Value = Vec<(prop::sample::Index, i64)>> {
    let special = prop::sample::select(vec![-1, 0, 1, 2, i64::MAX, i64::MIN, 1 << 24, 1 << 31, -(1 << 31), 65_536]);
    prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![special, -40_i64..40]), 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn mutated_models_are_refused_or_score(edits in edits()) {
        let _ = survives(Ensemble::lightgbm, &mutate(LIGHTGBM, &edits));
        let _ = survives(Ensemble::xgboost, &mutate(UBJSON, &edits));
        let _ = survives(Ensemble::xgboost, &mutate(JSON, &edits));
    }

    #[test]
    fn models_of_other_numbers_are_refused_or_score(edits in numbers()) {
        let _ = survives(Ensemble::lightgbm, &renumber(LIGHTGBM, &edits));
        let _ = survives(Ensemble::xgboost, &renumber(JSON, &edits));
    }

    #[test]
    fn cut_models_are_refused(at: prop::sample::Index) {
        let end = LIGHTGBM.windows(12).position(|window| window == b"end of trees").unwrap();
        error(Ensemble::lightgbm, &LIGHTGBM[..at.index(end)]);
        error(Ensemble::xgboost, &UBJSON[..at.index(UBJSON.len())]);
        error(Ensemble::xgboost, &JSON[..at.index(JSON.len())]);
    }

    #[test]
    fn noise_is_refused(noise in prop::collection::vec(any::<u8>(), 0..500)) {
        error(Ensemble::lightgbm, &noise);
        error(Ensemble::xgboost, &noise);
        error(Ensemble::xgboost, &[b"{L", &noise[..]].concat());
    }
}

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
fn what_is_wrong_with_a_lightgbm_model_is_said_with_its_place() {
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
fn what_is_wrong_with_an_xgboost_model_is_said_with_its_place() {
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
