//! Models: versions as files, and what boosters write.

use rankwright_model::{Ensemble, Kind, Metadata, Model, ReadError, Recommender, Version};
use rankwright_recommend::{Build, Similar, Trending, Vectors, Weight};
use std::collections::HashSet;

const VERSION: &[u8] = include_bytes!("../../services/engine/model/samples/version-1.model");
const LIGHTGBM: &[u8] = include_bytes!("../../services/engine/model/samples/trained/lightgbm-nan.txt");
const UBJSON: &[u8] = include_bytes!("../../services/engine/model/samples/trained/xgboost.ubj");
const JSON: &[u8] = include_bytes!("../../services/engine/model/samples/trained/xgboost.json");

/// A version: what is read is written as it was.
pub(crate) fn version(bytes: &[u8]) -> bool {
    let Ok(version) = Version::decode(bytes) else { return false };
    let written = version.encode().expect("what was read can be written");
    assert_eq!(Version::decode(&written).ok().as_ref(), Some(&version));
    let _ = (Model::load(&version), Recommender::load(&version));
    true
}

pub(crate) fn versions() -> Vec<Vec<u8>> {
    vec![VERSION.to_vec()]
}

/// What a recommender is stored as; the first byte chooses which one.
pub(crate) fn recommender(bytes: &[u8]) -> bool {
    let Some((first, body)) = bytes.split_first() else { return false };
    let kind = [Kind::Als, Kind::Trending, Kind::Semantic][usize::from(*first) % 3];
    let sample = Version::decode(VERSION).expect("the sample is whole");
    let metadata = Metadata { kind, ..sample.metadata().clone() };
    let version = Version::new(metadata, Vec::new(), body.to_vec()).expect("it is small");
    let loaded = Recommender::load(&version);
    let answer = loaded.as_ref().map(|recommender| recommender.recommend(&["p1"], &HashSet::new(), 10).is_ok());
    answer.is_ok()
}

pub(crate) fn recommenders() -> Vec<Vec<u8>> {
    let mut vectors = Vectors::new(2);
    [[1.0, 0.1], [1.0, 0.0], [1.0, 0.4]].iter().for_each(|row| vectors.push(row));
    let similar = Similar::from_vectors(["p1", "p2", "p3"].map(Into::into).to_vec(), vectors, &Build::default());
    let similar = similar.expect("three items have directions").to_bytes();
    let trending = Trending::fit([("p1", 0, 0), ("p2", 0, 0)], &[Weight::default()], 0).to_bytes();
    [(0, similar.clone()), (1, trending), (2, similar)].map(|(kind, bytes)| [&[kind][..], &bytes].concat()).to_vec()
}

fn scored(read: fn(&[u8]) -> Result<Ensemble, ReadError>, bytes: &[u8]) -> bool {
    let Ok(ensemble) = read(bytes) else { return false };
    let rows: Vec<f32> = (0..8).flat_map(|row| [row as f32, f32::NAN, -1.0, 1e9, f32::INFINITY, 0.0, 5.0]).collect();
    let mut scores = [0.0; 8];
    ensemble.score(&rows, 7, &mut scores);
    assert!(scores.iter().all(|score| !score.is_nan()));
    true
}

/// A model of XGBoost, as UBJSON or JSON.
pub(crate) fn xgboost(bytes: &[u8]) -> bool {
    scored(Ensemble::xgboost, bytes)
}

pub(crate) fn xgboost_models() -> Vec<Vec<u8>> {
    vec![UBJSON.to_vec(), JSON.to_vec()]
}

/// A model of LightGBM.
pub(crate) fn lightgbm(bytes: &[u8]) -> bool {
    scored(Ensemble::lightgbm, bytes)
}

pub(crate) fn lightgbm_models() -> Vec<Vec<u8>> {
    vec![LIGHTGBM.to_vec()]
}
