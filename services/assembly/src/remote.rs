//! Configurations and files of events that lie in a bucket.
//!
//! Credentials, region and endpoint come from the environment, as for any tool of AWS.

use anyhow::{Context, Result, bail};
use futures_util::future::BoxFuture;
use rankwright_object::{Body, Bucket, Listed, Settings};
use rankwright_scratch::Scratch;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tracing::{info, warn};

const SCHEME: &str = "s3://";

/// Where an object or those under a prefix are.
pub(crate) struct Place<'a> {
    bucket: &'a str,
    pub(crate) key: &'a str,
}

/// Whether this names something in a bucket.
pub fn is_remote(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.starts_with(SCHEME))
}

impl<'a> Place<'a> {
    pub(crate) fn of(url: &'a str) -> Result<Self> {
        let named = url.strip_prefix(SCHEME).and_then(|rest| rest.split_once('/'));
        match named {
            Some((bucket, key)) if !bucket.is_empty() && !key.is_empty() => Ok(Self { bucket, key }),
            _ => bail!("{url}: expected {SCHEME}bucket/key"),
        }
    }

    /// A bucket and what keys in it begin with, perhaps nothing.
    pub(crate) fn under(url: &'a str) -> Result<Self> {
        match url.strip_prefix(SCHEME).and_then(|rest| rest.split_once('/')) {
            Some((bucket, key)) if !bucket.is_empty() => Ok(Self { bucket, key }),
            _ => bail!("{url}: expected {SCHEME}bucket/prefix/"),
        }
    }

    pub(crate) async fn connect(&self) -> Bucket {
        let variable = |name| std::env::var(name).ok().filter(|text: &String| !text.is_empty());
        let region = variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION"));
        Bucket::connect(&Settings::new(self.bucket, region.as_deref().unwrap_or("us-east-1"))).await
    }
}

/// The text of an object.
pub(crate) async fn text(url: &str) -> Result<String> {
    let place = Place::of(url)?;
    let Some(bytes) = place.connect().await.get(place.key).await? else { bail!("{url} does not exist") };
    String::from_utf8(bytes.into()).with_context(|| format!("{url} is no UTF-8 text"))
}

/// What the folders of copies are called. What a killed process has left of them goes with the next.
const FOLDER: &str = "rankwright-events-";

/// Copies of objects, for as long as this is kept.
pub struct Fetched {
    /// Goes away with this.
    _scratch: Scratch,
    path: PathBuf,
}

impl Fetched {
    /// The file, or the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Copies an object, or those directly under a prefix, into a folder of their own, with the times of their last change.
///
/// # Errors
/// When there are none, the service fails, or there is no room for them.
pub fn fetch<'a>(url: &'a str) -> BoxFuture<'a, Result<Fetched>> {
    Box::pin(async move {
        let place = Place::of(url)?;
        let bucket = place.connect().await;
        let scratch = Scratch::within(&std::env::temp_dir(), FOLDER).context("no room for a temporary folder")?;
        let folder = scratch.path().join("objects");
        fs::create_dir(&folder).context("no room for a temporary folder")?;
        let chosen = chosen(place.key, bucket.list(place.key).await?);
        if chosen.objects.is_empty() {
            bail!("{url}: there is no such object, and none under {url}/");
        }
        if chosen.deeper > 0 {
            warn!(objects = chosen.deeper, "those in folders below {url} are left out");
        }
        let single =
            chosen.objects.iter().find(|(_, object)| object.key == place.key).map(|(name, _)| folder.join(name));
        let path = single.unwrap_or_else(|| folder.clone());
        let bytes: u64 = chosen.objects.iter().map(|(_, object)| object.bytes).sum();
        info!(objects = chosen.objects.len(), bytes, folder = %folder.display(), "fetching {url}");
        for (name, object) in chosen.objects {
            let Some(content) = bucket.read(&object.key).await? else { continue }; // removed since it was listed
            let path = folder.join(name);
            let kept = keep(content, &path, &object).await?;
            kept.with_context(|| format!("failed to keep {} in {}", bucket.place(&object.key), path.display()))?;
        }
        Ok(Fetched { _scratch: scratch, path })
    })
}

/// Writes an object to a file piece by piece: it may be larger than memory is.
async fn keep(mut content: Body, path: &Path, object: &Listed) -> Result<io::Result<()>> {
    let mut file = match File::create(path) {
        Ok(file) => file,
        Err(error) => return Ok(Err(error)),
    };
    while let Some(piece) = content.piece().await? {
        if let Err(error) = file.write_all(&piece) {
            return Ok(Err(error));
        }
    }
    Ok(file.set_modified(object.modified))
}

/// Objects with the names of their files.
struct Chosen {
    objects: Vec<(String, Listed)>,
    /// How many lie in folders below.
    deeper: usize,
}

/// The object of this key, or those directly under it as a folder.
fn chosen(key: &str, listed: Vec<Listed>) -> Chosen {
    let last = |key: &str| key.rsplit('/').next().unwrap_or_default().to_owned();
    if let Some(object) = listed.iter().find(|object| object.key == key && !key.ends_with('/')) {
        return Chosen { objects: vec![(last(key), object.clone())], deeper: 0 };
    }
    let folder = format!("{}/", key.trim_end_matches('/'));
    let below = |object: Listed| Some((object.key.strip_prefix(&folder)?.to_owned(), object));
    let below = listed.into_iter().filter_map(below).filter(|(name, _)| !name.is_empty() && !name.ends_with('/'));
    let (objects, deeper): (Vec<_>, Vec<_>) = below.partition(|(name, _)| !name.contains('/'));
    Chosen { objects, deeper: deeper.len() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn names(key: &str, keys: &[&str]) -> (Vec<String>, usize) {
        let listed = |key: &&str| Listed { key: (*key).to_owned(), bytes: 1, modified: std::time::UNIX_EPOCH };
        let chosen = chosen(key, keys.iter().map(listed).collect());
        (chosen.objects.into_iter().map(|(name, _)| name).collect(), chosen.deeper)
    }

    #[test]
    fn a_url_has_bucket_and_key() {
        assert!(
            Place::of("s3://bucket").is_err() && Place::of("s3://bucket/").is_err() && Place::of("s3:///k").is_err()
        );
        let place = Place::of("s3://bucket/a/b.yml").unwrap();
        assert_eq!((place.bucket, place.key), ("bucket", "a/b.yml"));
    }

    #[test]
    fn a_prefix_is_a_folder_or_one_object() {
        let keys = ["days/", "days/1.jsonl", "days/2.jsonl.gz", "days/old/0.jsonl", "days2/3.jsonl"];
        assert_eq!(names("days", &keys), (vec!["1.jsonl".to_owned(), "2.jsonl.gz".to_owned()], 1));
        assert_eq!(names("days/", &keys).0.len(), 2);
        assert_eq!(names("days/2.jsonl.gz", &keys[2..3]), (vec!["2.jsonl.gz".to_owned()], 0));
        assert_eq!(names("nothing", &[]), (vec![], 0));
    }
}
