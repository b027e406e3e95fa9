//! What a store in a bucket is told.

use crate::part::packing::Compression;
use crate::part::{BLOCK_BYTES, Format};
use crate::{Error, Result};
use rankwright_config::train::S3;
use rankwright_object::{Credentials, Settings};
use std::time::Duration;

/// Where parts are, how they are written, and when one is put.
#[derive(Debug, Clone)]
pub struct S3Settings {
    /// The bucket, and who asks.
    pub bucket: Settings,
    /// What keys of parts begin with, as a folder.
    pub prefix: String,
    /// How new parts are written; there may be others.
    pub format: Format,
    /// How new parts are packed; there may be others.
    pub compress: Compression,
    /// A part is put with this many bytes, before compression; it is held in memory until then.
    pub part_bytes: u64,
    /// A part is put with this many records.
    pub part_records: u64,
    /// A part is put this long after its first record came.
    pub part_interval: Duration,
    /// Records are written in blocks of this many bytes, before compression.
    pub block_bytes: usize,
}

/// The most bytes of a part, which has to fit in memory several times, and in one request.
const MOST: u64 = 1 << 30;

impl S3Settings {
    /// What `train` says.
    ///
    /// # Errors
    /// When of `cloudKey` and `cloudKeySecret` one is missing.
    pub fn from_config(train: &S3) -> Result<Self> {
        let credentials = match (&train.cloud_key, &train.cloud_key_secret) {
            (Some(key), Some(secret)) => Some(Credentials::new(key.expose(), secret.expose())),
            (None, None) => None,
            _ => {
                return Err(Error::Setting {
                    key: "train",
                    reason: "cloudKey and cloudKeySecret go together; give both or neither",
                });
            }
        };
        if train.part_size_bytes > MOST {
            tracing::warn!(most = MOST, "train.partSizeBytes is too large, a part is held in memory: taking the most");
        }
        Ok(Self {
            bucket: Settings {
                endpoint: train.endpoint.clone(),
                credentials,
                ..Settings::new(&train.bucket, &train.region)
            },
            prefix: train.prefix.clone(),
            format: train.format,
            compress: train.compress,
            part_bytes: train.part_size_bytes.min(MOST),
            part_records: train.part_size_events as u64,
            part_interval: train.part_interval,
            block_bytes: BLOCK_BYTES,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use rankwright_config::{ClickthroughStore, Config};

    fn settings(keys: &str) -> Result<S3Settings> {
        let yaml = format!("train: {{type: s3, bucket: b, prefix: p, region: r{keys}}}");
        let Some(ClickthroughStore::S3(train)) = Config::parse(&yaml, "test").unwrap().0.train else { panic!() };
        S3Settings::from_config(&train)
    }

    #[test]
    fn the_defaults_are_those_of_the_specification() {
        let settings = settings("").unwrap();
        assert_eq!((settings.part_bytes, settings.part_records), (10_485_760, 1024));
        assert_eq!((settings.part_interval, settings.compress), (Duration::from_secs(3600), Compression::Gzip));
        assert_eq!((settings.format, settings.bucket), (Format::Binary, Settings::new("b", "r")));
    }

    #[test]
    fn every_key_arrives() {
        let keys = ", compress: zst, partSizeBytes: 2048, partSizeEvents: 3, partInterval: 5m, format: json, \
                    endpoint: 'http://h:1', cloudKey: k, cloudKeySecret: s";
        let settings = settings(keys).unwrap();
        assert_eq!((settings.part_bytes, settings.part_records), (2048, 3));
        assert_eq!((settings.part_interval, settings.compress), (Duration::from_secs(300), Compression::Zstd));
        assert_eq!((settings.format, settings.prefix.as_str()), (Format::Json, "p"));
        assert_eq!(settings.bucket.endpoint.as_deref().map(|uri| uri.trim_end_matches('/')), Some("http://h:1"));
        assert_eq!(settings.bucket.credentials, Some(Credentials::new("k", "s")));
    }

    #[test]
    fn a_key_without_its_secret_is_refused_and_not_shown() {
        let error = settings(", cloudKey: hunter2").unwrap_err().to_string();
        assert_eq!(error, "train: cloudKey and cloudKeySecret go together; give both or neither");
    }

    #[test]
    fn a_part_that_memory_cannot_hold_is_made_smaller() {
        assert_eq!(settings(", partSizeBytes: 1099511627776").unwrap().part_bytes, 1 << 30);
    }
}
