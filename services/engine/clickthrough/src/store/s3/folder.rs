//! Where parts are: a bucket, and what their keys begin with.

use crate::Result;
use crate::store::remote::{Name, Place};
use rankwright_object::{Bucket, Bytes};

/// A bucket, and what keys of parts begin with.
#[derive(Debug, Clone)]
pub struct Folder {
    pub(super) bucket: Bucket,
    prefix: String,
}

impl Folder {
    pub(super) fn new(bucket: Bucket, prefix: &str) -> Self {
        Self { bucket, prefix: folder(prefix) }
    }

    pub(super) fn key(&self, name: &Name) -> String {
        format!("{}{name}", self.prefix)
    }
}

impl Place for Folder {
    fn name(&self, name: &Name) -> String {
        self.bucket.place(&self.key(name))
    }

    /// Other objects are left alone.
    async fn list(&self) -> Result<Vec<(Name, u64)>> {
        let listed = self.bucket.list(&self.prefix).await?;
        let name = |key: &str| Name::parse(key.strip_prefix(&self.prefix)?);
        let mut parts: Vec<(Name, u64)> =
            listed.into_iter().filter_map(|object| Some((name(&object.key)?, object.bytes))).collect();
        parts.sort_by_key(|(name, _)| name.order());
        Ok(parts)
    }

    async fn put(&self, name: &Name, bytes: Bytes) -> Result<()> {
        self.bucket.put_new(&self.key(name), bytes).await?;
        Ok(())
    }

    async fn get(&self, name: &Name, _: u64) -> Result<Option<Bytes>> {
        Ok(self.bucket.get(&self.key(name)).await?)
    }

    async fn remove(&self, name: &Name, _: u64) -> Result<()> {
        Ok(self.bucket.delete(&self.key(name)).await?)
    }
}

/// A prefix as a folder: a name and a slash, or nothing for the whole bucket.
fn folder(prefix: &str) -> String {
    let name = prefix.trim_matches('/');
    if name.is_empty() { String::new() } else { format!("{name}/") }
}

#[cfg(test)]
mod tests {
    use super::folder;

    #[test]
    fn a_prefix_is_a_folder_with_or_without_slashes() {
        for (prefix, expected) in [("a", "a/"), ("a/b", "a/b/"), ("/a/", "a/"), ("", ""), ("/", "")] {
            assert_eq!(folder(prefix), expected);
        }
    }
}
