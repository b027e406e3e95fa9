//! Model bytes that are cut, mutated or made to harm: each is an error, or a model that scores; none panics, none makes
//! us allocate what it did not bring along.
#![allow(clippy::unwrap_used)]

mod counting;
mod refused;

use proptest::prelude::*;
use rankwright_model::Ensemble;

const LIGHTGBM: &[u8] = include_bytes!("../../samples/trained/lightgbm-nan.txt");
const UBJSON: &[u8] = include_bytes!("../../samples/trained/xgboost.ubj");
const JSON: &[u8] = include_bytes!("../../samples/trained/xgboost.json");

/// Bytes that reading a model may take at most, for each byte of it.
const GROWTH: usize = 300;
/// And besides: category sets are bit fields up to the highest category, 16 MiB of them at most.
const SETS: usize = 17 << 20;

/// Reads the bytes, and lets what comes of them score.
fn survives(read: fn(&[u8]) -> Result<Ensemble, rankwright_model::ReadError>, bytes: &[u8]) -> Result<(), String> {
    let before = counting::allocated();
    let ensemble = read(bytes);
    let taken = counting::allocated() - before;
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
