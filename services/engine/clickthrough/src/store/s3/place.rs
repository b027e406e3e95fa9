//! Where parts are: a bucket, and what their keys begin with.

use super::name::Name;
use rankwright_object::{Bucket, Bytes, Result};

/// A bucket, and what keys of parts begin with.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) bucket: Bucket,
    prefix: String,
}

impl Place {
    pub(super) fn new(bucket: Bucket, prefix: &str) -> Self {
        Self { bucket, prefix: folder(prefix) }
    }

    pub(super) fn key(&self, name: &Name) -> String {
        format!("{}{name}", self.prefix)
    }

    /// What messages call a part.
    pub(super) fn name(&self, name: &Name) -> String {
        self.bucket.place(&self.key(name))
    }

    /// All parts with their sizes, in order; other objects are left alone.
    pub(super) async fn list(&self) -> Result<Vec<(Name, u64)>> {
        let listed = self.bucket.list(&self.prefix).await?;
        let name = |key: &str| Name::parse(key.strip_prefix(&self.prefix)?);
        let mut parts: Vec<(Name, u64)> =
            listed.into_iter().filter_map(|object| Some((name(&object.key)?, object.bytes))).collect();
        parts.sort_by_key(|(name, _)| name.order());
        Ok(parts)
    }

    /// Puts a part. One that is there already has the same bytes, by its name: an answer got lost.
    pub(super) async fn put(&self, name: &Name, bytes: Bytes) -> Result<()> {
        self.bucket.put_new(&self.key(name), bytes).await.map(|_| ())
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
