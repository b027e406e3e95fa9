//! Term dictionaries that lie in a bucket.

use super::{Elsewhere, apart, cache, sources};
use crate::remote::is_remote;
use anyhow::{Context, Result};
use futures_util::future::BoxFuture;
use rankwright_config::Config;
use rankwright_config::feature::{FieldMatch, Kind, MatchMethod};
use rankwright_text::Dictionary;
use std::path::Path;

/// Fetches the dictionaries of a configuration that lie in a bucket, each once, as models of texts are. The configuration that comes
/// back names what was fetched.
///
/// # Errors
/// When one is not there, or is no dictionary. The error begins with the feature.
pub fn with_dictionaries(mut config: Config) -> BoxFuture<'static, Result<Config>> {
    Box::pin(async move {
        if remote(&mut config).next().is_none() {
            return Ok(config);
        }
        apart(move || {
            let elsewhere = Elsewhere::default();
            let sources = sources(cache()?, Some(&elsewhere));
            for (feature, address) in remote(&mut config) {
                let file = sources.file(address, |path| Ok(Dictionary::open(path).map(drop)?));
                let file = file.with_context(|| format!("feature '{feature}'"))?;
                *address = file.to_str().context("the cache folder's name is no UTF-8")?.to_owned();
            }
            Ok(config)
        })
        .await
    })
}

/// Addresses of dictionaries in buckets, with the names of their features.
fn remote(config: &mut Config) -> impl Iterator<Item = (&str, &mut String)> {
    config.features.iter_mut().filter_map(|feature| {
        let Kind::FieldMatch(FieldMatch { method: MatchMethod::Bm25 { term_freq, .. }, .. }) = &mut feature.kind else {
            return None;
        };
        is_remote(Path::new(term_freq)).then_some((feature.name.as_str(), term_freq))
    })
}
