//! `train`: the store of click-throughs.

use super::state::{EXISTING, database, databases, format, redis};
use crate::secret::Secret;
use crate::section::Section;
use crate::state::{Databases, Format};
use crate::train::{ClickthroughStore, Compression, S3, TTL};
use crate::value::Value;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Copy)]
enum Kind {
    Discard,
    Memory,
    File,
    Redis,
    S3,
}

pub(super) fn train(value: &Value<'_>) -> Option<ClickthroughStore> {
    let section = value.section()?;
    let kinds = [
        ("file", Kind::File),
        ("s3", Kind::S3),
        ("redis", Kind::Redis),
        ("memory", Kind::Memory),
        ("discard", Kind::Discard),
    ];
    let kind = match section
        .required("type", "file, s3, redis, memory or discard")
        .and_then(|of_type| of_type.choice("train type", &kinds))
    {
        Some(known) => known,
        None => section.guess(&kinds.map(|(_, kind)| kind), |section, kind| drop(of_kind(kind, section)))?,
    };
    let store = of_kind(kind, &section);
    section.finish();
    store
}

fn of_kind(kind: Kind, section: &Section<'_>) -> Option<ClickthroughStore> {
    match kind {
        Kind::Discard => Some(ClickthroughStore::Discard),
        Kind::Memory => Some(ClickthroughStore::Memory),
        Kind::File => file(section),
        Kind::Redis => in_redis(section),
        Kind::S3 => s3(section).map(|s3| ClickthroughStore::S3(Box::new(s3))),
    }
}

fn file(section: &Section<'_>) -> Option<ClickthroughStore> {
    let path = section.required("path", "a folder").and_then(|value| value.text());
    let format = section.or("format", Format::default(), |value| format(&value));
    section.ignored(&[EXISTING]);
    Some(ClickthroughStore::File { path: PathBuf::from(path?), format })
}

fn in_redis(section: &Section<'_>) -> Option<ClickthroughStore> {
    let ttl = section.or("ttl", TTL, |value| value.duration(Duration::from_secs(1)));
    let redis = redis(section, database_of_rankings)?;
    Some(ClickthroughStore::Redis { redis: Box::new(redis), ttl })
}

/// The number of the one that holds click-throughs, or one for each kind of data, as in `state`.
fn database_of_rankings(value: &Value<'_>) -> Option<Databases> {
    match value.scalar() {
        Some(_) => database(value).map(|rankings| Databases { rankings, ..Databases::default() }),
        None => databases(value),
    }
}

fn s3(section: &Section<'_>) -> Option<S3> {
    let text = |key, what| section.required(key, what).and_then(|value| value.text());
    let secret = |names: &[&'static str]| section.any_of(names).and_then(|value| value.text()).map(Secret::from);
    let compressions = [
        ("none", Compression::None),
        ("gzip", Compression::Gzip),
        ("zst", Compression::Zstd),
        ("zstd", Compression::Zstd),
        ("gz", Compression::Gzip),
    ];
    let (bucket, prefix) = (text("bucket", "the bucket's name"), text("prefix", "what keys of parts begin with"));
    let region = text("region", "the bucket's region, such as us-east-1");
    let compress = section.or("compress", Compression::Gzip, |value| value.choice("compression", &compressions));
    let bytes = |value: Value<'_>| value.whole(1024..=1 << 40);
    let part_size_bytes = section.either_or("partSizeBytes", "batchSizeBytes", 10_485_760, bytes);
    let events = |value: Value<'_>| value.whole(1..=1_000_000_000);
    let part_size_events = section.either_or("partSizeEvents", "batchSizeEvents", 1024, events);
    let part_interval =
        section.or("partInterval", Duration::from_secs(3600), |value| value.duration(Duration::from_secs(1)));
    let endpoint = section.get("endpoint").and_then(|value| value.url(&["http://", "https://"]));
    let format = section.or("format", Format::default(), |value| format(&value));
    let cloud_key = secret(&["cloudKey", "awsKey", "key"]);
    let cloud_key_secret = secret(&["cloudKeySecret", "awsKeySecret", "secret"]);
    let (bucket, prefix, region) = (bucket?, prefix?, region?);
    Some(S3 {
        bucket,
        prefix,
        region,
        compress,
        part_size_bytes,
        part_size_events,
        part_interval,
        endpoint,
        format,
        cloud_key,
        cloud_key_secret,
    })
}
