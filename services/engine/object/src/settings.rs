//! Where a bucket is, and who asks.

use std::fmt;

/// Where a bucket is, and who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Name of the bucket.
    pub bucket: String,
    /// Region that it is in, such as `us-east-1`; other services than Amazon's mostly take any.
    pub region: String,
    /// URI of another service than Amazon's. Its buckets are named in paths, not in host names.
    pub endpoint: Option<String>,
    /// Used where the environment has none; without them come the profile, the role of the pod, that of the machine.
    pub credentials: Option<Credentials>,
}

/// An access key and its secret; their debug form hides both.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(not(feature = "s3"), allow(dead_code))]
pub struct Credentials {
    pub(crate) key: String,
    pub(crate) secret: String,
}

impl Settings {
    /// A bucket of Amazon's service, asked with the credentials of the environment.
    pub fn new(bucket: impl Into<String>, region: impl Into<String>) -> Self {
        Self { bucket: bucket.into(), region: region.into(), endpoint: None, credentials: None }
    }
}

impl Credentials {
    /// An access key with its secret.
    pub fn new(key: impl Into<String>, secret: impl Into<String>) -> Self {
        Self { key: key.into(), secret: secret.into() }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_show_no_credentials() {
        let credentials = Some(Credentials::new("AKIA1", "hunter2"));
        let shown = format!("{:?}", Settings { credentials, ..Settings::new("b", "r") });
        assert!(!shown.contains("AKIA1") && !shown.contains("hunter2"), "{shown}");
    }
}
