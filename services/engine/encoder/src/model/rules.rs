//! How a model wants its texts and its outputs, read from the files beside it.

use super::ModelError;
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

const POOLING: &str = "1_Pooling/config.json";
const MODULES: &str = "modules.json";
/// What is computed here of what [`POOLING`] and [`MODULES`] may ask for; a `Dropout` does nothing after the training.
const POOLS: [&str; 2] = ["mean", "cls"];
const KNOWN: [&str; 4] = ["Transformer", "Pooling", "Normalize", "Dropout"];
/// Where no file says how many tokens a model takes.
const MAX_TOKENS: usize = 512;
/// Room for a word between the marks around a pair.
const LEAST_TOKENS: usize = 8;

impl Rules {
    /// What the settings say; else what the files do; else the mean, of length 1, of 512 tokens. No model gets more tokens
    /// than it has positions for. `trained` is what the tokenizer cuts texts to.
    pub(crate) fn of(files: &Files, settings: &Settings, trained: Option<usize>) -> Self {
        let [pooling, modules, sentence, config] =
            [POOLING, MODULES, "sentence_bert_config.json", "config.json"].map(|name| files.settings(name));
        let number = |from: &Value, key: &str| from[key].as_u64().and_then(|number| usize::try_from(number).ok());
        let wanted =
            settings.max_tokens.or_else(|| number(&sentence, "max_seq_length")).or(trained).unwrap_or(MAX_TOKENS);
        let cls = modes(&pooling).iter().any(|mode| mode == "cls");
        Self {
            pooling: settings.pooling.unwrap_or(if cls { Pooling::Cls } else { Pooling::Mean }),
            normalize: settings.normalize.unwrap_or_else(|| normalizes(&modules)),
            max_tokens: wanted.min(positions(&config).unwrap_or(usize::MAX)).max(LEAST_TOKENS),
        }
    }

    /// Refuses files that ask for more than is computed here of a graph that gives the embeddings of tokens.
    pub(crate) fn check(files: &Files, settings: &Settings) -> Result<(), ModelError> {
        let refuse = |name: &str, found: String, known: &'static str| {
            Err(ModelError::Unknown { path: files.folder.join(name), found, known })
        };
        let pooling = files.settings(POOLING);
        let modes = modes(&pooling);
        if settings.pooling.is_none() && (modes.len() > 1 || modes.iter().any(|mode| !POOLS.contains(&mode.as_str()))) {
            return refuse(POOLING, format!("the pooling {}", modes.join(" and ")), "mean or cls");
        }
        let modules = files.settings(MODULES);
        let mut kinds = modules.as_array().into_iter().flatten().filter_map(kind);
        match kinds.find(|kind| !KNOWN.contains(kind)) {
            Some(kind) => refuse(MODULES, format!("the module {kind}"), "Transformer, Pooling and Normalize"),
            None => Ok(()),
        }
    }
}

/// The ways of pooling that a file asks for: `cls`, `mean`, and others; what is no name as JSON.
fn modes(pooling: &Value) -> Vec<String> {
    if let Some(mode) = pooling.get("pooling_mode") {
        return names(mode).unwrap_or_else(|| vec![mode.to_string()]); // newer files, whatever else they hold
    }
    let flags = pooling.as_object().into_iter().flatten().filter(|(_, flag)| **flag == Value::Bool(true));
    let flags = flags.filter_map(|(key, _)| key.strip_prefix("pooling_mode_"));
    let flags = flags.map(|mode| mode.strip_suffix("_tokens").or_else(|| mode.strip_suffix("_token")).unwrap_or(mode));
    flags.map(str::to_owned).collect()
}

/// A name, or a list of some.
fn names(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(name) => Some(vec![name.clone()]),
        Value::Array(list) if !list.is_empty() => list.iter().map(|name| name.as_str().map(str::to_owned)).collect(),
        _ => None,
    }
}

/// The last part of a module's type, such as `Dense` of `sentence_transformers.models.Dense`.
fn kind(module: &Value) -> Option<&str> {
    module["type"].as_str()?.rsplit('.').next()
}

/// A list of modules that has no `Normalize` is the one thing that says no.
fn normalizes(modules: &Value) -> bool {
    modules.as_array().is_none_or(|modules| modules.iter().filter_map(kind).any(|kind| kind == "Normalize"))
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

    /// What is said of a pooling file and a list of modules.
    fn refusal(pooling: &str, modules: &str, settings: &Settings) -> Option<String> {
        let folder = tempfile::tempdir().expect("a folder is made");
        fs::create_dir(folder.path().join("1_Pooling")).expect("a folder is made");
        for (name, text) in [(POOLING, pooling), (MODULES, modules)] {
            fs::write(folder.path().join(name), text).expect("a file is written");
        }
        let path = folder.path().to_owned();
        let checked = Rules::check(&Files { folder: path.clone(), model: path.clone(), tokenizer: path }, settings);
        checked.err().map(|error| error.to_string().replace(&folder.path().display().to_string(), "FOLDER"))
    }

    #[test]
    fn a_pooling_that_is_not_computed_here_is_refused() {
        let plain = Settings::default();
        for (pooling, found) in [
            (r#"{"pooling_mode_mean_tokens": false, "pooling_mode_lasttoken": true}"#, "lasttoken"),
            (r#"{"pooling_mode_max_tokens": true}"#, "max"),
            (r#"{"pooling_mode_mean_sqrt_len_tokens": true}"#, "mean_sqrt_len"),
            (r#"{"pooling_mode_weightedmean_tokens": true}"#, "weightedmean"),
            (r#"{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true}"#, "cls and mean"),
            (r#"{"pooling_mode": "lasttoken"}"#, "lasttoken"),
            (r#"{"pooling_mode": ["lasttoken"]}"#, "lasttoken"),
            (r#"{"pooling_mode": ["cls", "mean"]}"#, "cls and mean"),
            (r#"{"pooling_mode": ["cls", 5], "pooling_mode_mean_tokens": true}"#, r#"["cls",5]"#),
            (r#"{"pooling_mode": {"cls": true}}"#, r#"{"cls":true}"#),
            (r#"{"pooling_mode": []}"#, "[]"),
            (r#"{"pooling_mode": null}"#, "null"),
        ] {
            let told = refusal(pooling, "[]", &plain).expect("it is refused");
            assert!(
                told.starts_with(&format!("FOLDER/1_Pooling/config.json asks for the pooling {found}, ")),
                "{told}"
            );
            let chosen = Settings { pooling: Some(Pooling::Mean), ..Settings::default() };
            assert_eq!(refusal(pooling, "[]", &chosen), None);
        }
        for pooling in [
            r#"{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false, "include_prompt": true}"#,
            r#"{"pooling_mode_mean_tokens": true}"#,
            r#"{"pooling_mode": "cls", "pooling_mode_mean_tokens": true}"#,
            r#"{"pooling_mode": ["mean"]}"#,
            "{}",
        ] {
            assert_eq!(refusal(pooling, "[]", &plain), None, "{pooling}");
        }
    }

    #[test]
    fn a_module_that_is_not_computed_here_is_refused() {
        let list = |kinds: &[&str]| {
            let kind = |kind: &&str| format!(r#"{{"type": "sentence_transformers.models.{kind}"}}"#);
            format!("[{}]", kinds.iter().map(kind).collect::<Vec<_>>().join(", "))
        };
        let told = refusal("{}", &list(&["Transformer", "Pooling", "Dense", "Normalize"]), &Settings::default());
        let expected = "FOLDER/modules.json asks for the module Dense, only Transformer, Pooling and Normalize are known here: \
                        export the graph with an output sentence_embedding, which has this done";
        assert_eq!(told.as_deref(), Some(expected));
        let known = list(&["Transformer", "Pooling", "Dropout", "Normalize"]);
        assert_eq!(refusal("{}", &known, &Settings::default()), None);
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
    fn a_pooling_may_be_a_list_of_one() {
        let pooling = |text| rules(&[(POOLING, text)], &Settings::default(), None).pooling;
        assert_eq!(pooling(r#"{"pooling_mode": ["cls"]}"#), Pooling::Cls);
        assert_eq!(pooling(r#"{"pooling_mode": ["mean"]}"#), Pooling::Mean);
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
