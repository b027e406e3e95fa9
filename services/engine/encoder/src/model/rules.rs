//! How a model wants its texts and its outputs, read from the files beside it.

use crate::{Files, Settings};
use serde_json::Value;

/// How one embedding is made of those of a text's tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pooling {
    /// The mean of all tokens.
    Mean,
    /// The first token.
    Cls,
}

/// What holds for all texts of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rules {
    pub(crate) pooling: Pooling,
    pub(crate) normalize: bool,
    pub(crate) max_tokens: usize,
}

/// Where no file says how many tokens a model takes.
const MAX_TOKENS: usize = 512;
/// Room for a word between the marks around a pair.
const LEAST_TOKENS: usize = 8;

impl Rules {
    /// What the settings say; else what the files do; else the mean, of length 1, of 512 tokens. No model gets more tokens
    /// than it has positions for. `trained` is what the tokenizer cuts texts to.
    pub(crate) fn of(files: &Files, settings: &Settings, trained: Option<usize>) -> Self {
        let [pooling, modules, sentence, config] =
            ["1_Pooling/config.json", "modules.json", "sentence_bert_config.json", "config.json"]
                .map(|name| files.settings(name));
        let number = |from: &Value, key: &str| from[key].as_u64().and_then(|number| usize::try_from(number).ok());
        let wanted =
            settings.max_tokens.or_else(|| number(&sentence, "max_seq_length")).or(trained).unwrap_or(MAX_TOKENS);
        let cls = pooling["pooling_mode_cls_token"] == Value::Bool(true);
        Self {
            pooling: settings.pooling.unwrap_or(if cls { Pooling::Cls } else { Pooling::Mean }),
            normalize: settings.normalize.unwrap_or_else(|| normalizes(&modules)),
            max_tokens: wanted.min(positions(&config).unwrap_or(usize::MAX)).max(LEAST_TOKENS),
        }
    }
}

/// A list of modules that has no `Normalize` is the one thing that says no.
fn normalizes(modules: &Value) -> bool {
    let is = |module: &Value| module["type"].as_str().is_some_and(|kind| kind.ends_with("Normalize"));
    modules.as_array().is_none_or(|modules| modules.iter().any(is))
}

/// RoBERTa and its kin keep two positions for themselves.
fn positions(config: &Value) -> Option<usize> {
    let all = usize::try_from(config["max_position_embeddings"].as_u64()?).ok()?;
    let kept = ["roberta", "xlm-roberta", "camembert", "mpnet"].contains(&config["model_type"].as_str().unwrap_or(""));
    Some(if kept { all.saturating_sub(2) } else { all })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn rules(files: &[(&str, &str)], settings: &Settings, trained: Option<usize>) -> Rules {
        let folder = tempfile::tempdir().expect("a folder is made");
        fs::create_dir(folder.path().join("1_Pooling")).expect("a folder is made");
        for (name, text) in files {
            fs::write(folder.path().join(name), text).expect("a file is written");
        }
        let path = folder.path().to_owned();
        Rules::of(&Files { folder: path.clone(), model: path.clone(), tokenizer: path }, settings, trained)
    }

    #[test]
    fn without_files_the_mean_of_length_one_is_taken() {
        let plain = Rules { pooling: Pooling::Mean, normalize: true, max_tokens: 512 };
        assert_eq!(rules(&[], &Settings::default(), None), plain);
        assert_eq!(rules(&[], &Settings::default(), Some(128)), Rules { max_tokens: 128, ..plain });
    }

    #[test]
    fn files_say_how_a_model_pools_and_how_much_it_takes() {
        let files = [
            ("1_Pooling/config.json", r#"{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}"#),
            ("modules.json", r#"[{"type": "sentence_transformers.models.Transformer"}]"#),
            ("sentence_bert_config.json", r#"{"max_seq_length": 256}"#),
            ("config.json", r#"{"max_position_embeddings": 130, "model_type": "roberta"}"#),
        ];
        let expected = Rules { pooling: Pooling::Cls, normalize: false, max_tokens: 128 };
        assert_eq!(rules(&files, &Settings::default(), Some(64)), expected);
    }

    #[test]
    fn settings_come_before_files() {
        let settings = Settings {
            pooling: Some(Pooling::Mean),
            normalize: Some(true),
            max_tokens: Some(32),
            ..Settings::default()
        };
        let files = [("1_Pooling/config.json", r#"{"pooling_mode_cls_token": true}"#), ("modules.json", "[]")];
        let expected = Rules { pooling: Pooling::Mean, normalize: true, max_tokens: 32 };
        assert_eq!(rules(&files, &settings, Some(64)), expected);
    }
}
