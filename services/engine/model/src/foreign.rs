//! What a booster's own file says of itself, so that a model which was trained elsewhere can be checked and taken in.

use crate::ensemble::Ensemble;
use crate::error::ReadError;
use crate::version::Kind;
use crate::{lightgbm, xgboost};

/// A model of XGBoost or LightGBM, as its file describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Foreign {
    /// The library and format.
    pub kind: Kind,
    /// Columns that it was trained on.
    pub features: usize,
    /// Their names; empty where the file has none.
    pub names: Vec<String>,
    /// For each column, whether its values are categories.
    pub categorical: Vec<bool>,
    /// Total gain of the splits on each column.
    pub gains: Vec<f64>,
    /// Number of trees.
    pub trees: usize,
}

impl Foreign {
    /// Reads XGBoost's JSON or UBJSON, or LightGBM's text, and makes sure that it can be scored.
    ///
    /// # Errors
    /// Any other bytes, and models that are no single-output tree ranker.
    pub fn read(bytes: &[u8]) -> Result<Self, ReadError> {
        match bytes {
            [b'{', ..] => {
                Ensemble::xgboost(bytes)?;
                xgboost::describe(bytes)
            }
            _ if bytes.starts_with(b"tree\n") || bytes.starts_with(b"tree\r\n") => {
                Ensemble::lightgbm(bytes)?;
                lightgbm::describe(bytes)
            }
            _ if bytes.starts_with(b"binf") || bytes.starts_with(b"CONFIG") => Err(ReadError::unsupported(
                "XGBoost",
                "its old binary format; save it under a name that ends in .ubj or .json",
            )),
            _ if bytes.starts_with(b"RANKWMDL") => Err(ReadError::unsupported(
                "booster's",
                "a version as this program stores it; take the booster's file out of it with 'models export'",
            )),
            _ => Err(ReadError::malformed(
                "booster's",
                0,
                "it is neither JSON or UBJSON of XGBoost nor text of LightGBM",
            )),
        }
    }

    /// The file of this model without its first columns, and what it says of itself then. Files of LightGBM alone have columns
    /// that are no features: it counts the one that tells rankings apart.
    ///
    /// # Errors
    /// Where a split uses one of these columns.
    pub fn without_first(&self, columns: usize, bytes: &[u8]) -> Result<(Self, Vec<u8>), ReadError> {
        if self.kind != Kind::LightGbm {
            return Err(ReadError::unsupported("booster's", "columns that are no features"));
        }
        let bytes = lightgbm::without(bytes, columns)?;
        Self::read(&bytes).map(|rest| (rest, bytes))
    }

    /// Whether the file has names that people gave, rather than those that a library makes up (`f0`, `Column_0`).
    pub fn is_named(&self) -> bool {
        let made_up =
            |(place, name): (usize, &String)| *name == format!("f{place}") || *name == format!("Column_{place}");
        !self.names.is_empty() && !self.names.iter().enumerate().all(made_up)
    }
}

/// Gains and categories, as splits of trees tell them.
#[derive(Debug)]
pub(crate) struct Splits {
    pub(crate) gains: Vec<f64>,
    pub(crate) categorical: Vec<bool>,
}

impl Splits {
    /// Of this many columns.
    pub(crate) fn of(features: usize) -> Self {
        Self { gains: vec![0.0; features], categorical: vec![false; features] }
    }

    /// A split on a column; columns that there are not are left out, because reading the trees refuses them.
    pub(crate) fn add(&mut self, column: i64, gain: f64, by_category: bool) {
        let Ok(column) = usize::try_from(column) else { return };
        if let (Some(sum), Some(categorical)) = (self.gains.get_mut(column), self.categorical.get_mut(column)) {
            *sum += gain;
            *categorical |= by_category;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_bytes_are_refused_with_what_helps() {
        let refused = |bytes: &[u8]| Foreign::read(bytes).expect_err("it is no model").to_string();
        assert!(refused(b"").contains("neither JSON or UBJSON of XGBoost nor text of LightGBM"));
        assert!(refused(b"binf....").contains("ends in .ubj or .json"));
        assert!(refused(b"RANKWMDL").contains("models export"));
        assert!(refused(b"{\"a\": 1}").contains("learner"), "{}", refused(b"{\"a\": 1}"));
        assert!(refused(b"tree\nnum_class=3\n").contains("LightGBM"));
    }

    /// Gains as a script summed them up over the samples' trees.
    #[test]
    fn files_of_both_libraries_tell_columns_categories_and_gains() {
        let lightgbm = Foreign::read(include_bytes!("../samples/trained/lightgbm-nan.txt")).expect("a model");
        let xgboost =
            [&include_bytes!("../samples/trained/xgboost.ubj")[..], include_bytes!("../samples/trained/xgboost.json")];
        let [ubj, json] = xgboost.map(|bytes| Foreign::read(bytes).expect("a model"));
        assert_eq!(ubj, json);
        for (model, kind, trees, gain) in
            [(lightgbm, Kind::LightGbm, 12, 424.862), (ubj, Kind::XgBoost, json.trees, 390.48)]
        {
            assert_eq!((model.kind, model.features, model.trees), (kind, 8, trees));
            let categorical: Vec<usize> = (0..8).filter(|&column| model.categorical[column]).collect();
            assert_eq!(categorical, [2, 3]);
            assert!((model.gains[0] - gain).abs() < 0.01, "{:?}", model.gains);
            assert!(!model.is_named());
        }
    }

    #[test]
    fn names_that_a_library_made_up_are_none() {
        let named = |names: &[&str]| Foreign {
            kind: Kind::XgBoost,
            features: names.len(),
            names: names.iter().map(|&name| name.to_owned()).collect(),
            categorical: vec![false; names.len()],
            gains: vec![0.0; names.len()],
            trees: 1,
        };
        assert!(!named(&[]).is_named() && !named(&["f0", "f1"]).is_named() && !named(&["Column_0"]).is_named());
        assert!(named(&["f1", "f0"]).is_named() && named(&["price"]).is_named());
    }
}
