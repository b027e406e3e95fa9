//! Where a key stands, and what it is for.

use super::keys::{KEYS, NO_EFFECT};
use crate::feature::FEATURE_TYPES;

/// A section: names on the way to it, and the words under `type` of the sections around it.
#[derive(Debug, Clone, Default)]
pub(super) struct Place {
    path: String,
    types: Vec<(String, Vec<String>)>,
}

impl Place {
    /// The section under a key of this one.
    pub(super) fn below(&self, key: &str) -> Self {
        Self { path: self.path_of(key), types: self.types.clone() }
    }

    /// This section, where one of these words stands under its `type`.
    pub(super) fn of_type(&self, words: &[&str]) -> Self {
        let mut own = self.clone();
        own.types.push((self.path.clone(), words.iter().map(|&word| word.to_owned()).collect()));
        own
    }

    /// What a key of the section is for. A key of `train` without a text of its own has that of `state`.
    pub(super) fn text(&self, key: &str) -> Option<&'static str> {
        let path = self.path_of(key);
        self.idle().or_else(|| self.of_feature(&path)).or_else(|| self.of_any(&path)).or_else(|| {
            let as_state = |path: &str| path.strip_prefix("train").map(|rest| format!("state{rest}"));
            let types = self.types.iter().filter_map(|(path, words)| Some((as_state(path)?, words.clone())));
            Self { path: String::new(), types: types.collect() }.of_any(&as_state(&path)?)
        })
    }

    /// What the section is for, where it does nothing, and so none of its keys does.
    fn idle(&self) -> Option<&'static str> {
        let (path, key) = self.path.rsplit_once('.')?;
        let outer = Self { path: path.to_owned(), types: self.types.clone() };
        outer.text(key).filter(|text| text.starts_with(NO_EFFECT))
    }

    fn of_feature(&self, path: &str) -> Option<&'static str> {
        let key = path.strip_prefix("features.")?;
        let of = FEATURE_TYPES.iter().find(|of| self.is_of_type("features", of.name))?;
        of.keys.iter().find(|known| known.name == key).map(|known| known.text)
    }

    fn of_any(&self, path: &str) -> Option<&'static str> {
        let texts = KEYS.iter().filter(|keys| keys.of_type.is_none_or(|word| self.is_of_type(keys.path, word)));
        let texts = texts.filter_map(|keys| {
            let key = if keys.path.is_empty() { path } else { path.strip_prefix(keys.path)?.strip_prefix('.')? };
            Some((keys.of_type.is_some(), keys.keys.iter().find(|known| known.name == key)?.text))
        });
        texts.max_by_key(|(of_type, _)| *of_type).map(|(_, text)| text)
    }

    fn is_of_type(&self, path: &str, word: &str) -> bool {
        self.types.iter().any(|(at, words)| at == path && words.iter().any(|known| known == word))
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}
