//! A booster's options as a file: `name = value` lines, which LightGBM's program reads, and scripts without effort.

use super::labels::Labels;
use super::names::plain;
use crate::booster::{self, Error, PATIENCE, Task};
use rankwright_config::model::Booster;
use rankwright_model::Column;
use std::fmt::Write;

/// What the options are for.
pub(super) struct Conf<'a> {
    pub(super) name: &'a str,
    pub(super) task: &'a Task<'a>,
    pub(super) labels: &'a Labels,
}

/// Options that depend on the machine, or on how data come in here.
const OMITTED: [&str; 4] = ["nthread", "num_threads", "verbosity", "categorical_feature"];

impl Conf<'_> {
    pub(super) fn text(&self) -> Result<String, Error> {
        let library = match self.task.backend.booster {
            Booster::XgBoost => "XGBoost",
            Booster::LightGbm => "LightGBM",
        };
        let name = serde_json::Value::from(self.name);
        let mut text = format!(
            "# {library}'s options for the model {name}, as 'rankwright train' sets them.\n\
             # Paths are those of files beside this one.\n"
        );
        self.explain_labels(&mut text);
        for (name, value) in self.data().into_iter().chain(self.options()?) {
            let _ = writeln!(text, "{name} = {value}");
        }
        Ok(text)
    }

    fn explain_labels(&self, text: &mut String) {
        let mut levels = self.labels.levels.iter().enumerate().skip(1);
        match self.task.backend.booster {
            _ if self.labels.whole => {}
            Booster::XgBoost => text.push_str("# Labels are gains: 2^relevance - 1, as some relevance is not whole.\n"),
            Booster::LightGbm => {
                text.push_str("# Labels number the levels of relevance, as some relevance is not whole:\n");
                let _ =
                    levels.try_for_each(|(label, relevance)| writeln!(text, "# label {label}: relevance {relevance}"));
            }
        }
    }

    /// Where the data are, and how they are written.
    fn data(&self) -> Vec<(String, String)> {
        let pair = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        match self.task.backend.booster {
            Booster::XgBoost => {
                let cutoff = self.task.backend.ndcg_cutoff;
                let mut data =
                    [("data", "train.svm?format=libsvm"), ("eval[test]", "test.svm?format=libsvm")].map(pair).to_vec();
                data.push(("num_round".to_owned(), self.task.backend.iterations.to_string()));
                data.push(("early_stopping_rounds".to_owned(), PATIENCE.to_string()));
                data.push(("eval_metric".to_owned(), format!("ndcg@{cutoff}")));
                data
            }
            Booster::LightGbm => {
                let data = [
                    ("task", "train"),
                    ("data", "train.csv"),
                    ("valid", "test.csv"),
                    ("header", "true"),
                    ("label_column", "name:label"),
                    ("group_column", "name:group"),
                    ("precise_float_parser", "true"),
                    ("output_model", "model.txt"),
                ];
                let mut data = data.map(pair).to_vec();
                data.push(("early_stopping_round".to_owned(), PATIENCE.to_string()));
                data.extend(self.categorical());
                data
            }
        }
    }

    /// By number, because the library's package for Python reads no model that holds names here. The group counts, the label does not.
    fn categorical(&self) -> Option<(String, String)> {
        let numbers: Vec<String> = self.task.categorical.iter().map(|&column| (column + 1).to_string()).collect();
        (!numbers.is_empty()).then(|| ("categorical_feature".to_owned(), numbers.join(",")))
    }

    /// What training here sets.
    fn options(&self) -> Result<Vec<(String, String)>, Error> {
        let mut options = booster::options(self.task, &self.labels.levels)?;
        options.retain(|(name, _)| !OMITTED.contains(&name.as_str()));
        for (name, value) in &mut options {
            if name == "ndcg_exp_gain" {
                *value = self.labels.whole.to_string();
            }
        }
        Ok(options)
    }
}

/// XGBoost's map of features: number, name, and `q` for an amount or `c` for a category. LibSVM has no names.
pub(super) fn feature_map(columns: &[Column]) -> String {
    let names = plain(columns.iter().map(|column| column.name.as_str()), &[]);
    let mut text = String::new();
    for (index, (name, column)) in names.iter().zip(columns).enumerate() {
        let _ = writeln!(text, "{index}\t{name}\t{}", if column.categorical { 'c' } else { 'q' });
    }
    text
}
