//! Removing all that a service has in shared stores.

use crate::engine::service;
use crate::open::{clickthroughs_in_s3, redis_settings};
use anyhow::{Result, bail};
use rankwright_clickthrough::Header;
use rankwright_config::{ClickthroughStore, Config, State};
use rankwright_redis::Link;

/// Where something of a service lies that a purge removes, in words.
///
/// # Errors
/// Where the configuration names neither Redis nor S3.
pub fn purge_places(config: &Config) -> Result<Vec<String>> {
    let mut places = Vec::new();
    if let State::Redis(redis) = &config.state {
        for database in databases(redis) {
            places.push(format!("state and models in {}", redis_settings(redis, database)?));
        }
    }
    if let Some(ClickthroughStore::S3(s3)) = &config.train {
        places.push(format!("click-throughs in s3://{}/{}", s3.bucket, s3.prefix));
    }
    if places.is_empty() {
        bail!("nothing of this configuration lies in Redis or S3; what lies in folders goes with the folders");
    }
    Ok(places)
}

/// Removes everything of this service from Redis and S3; what it removed, in words. Programs of the service have to be
/// stopped before: what they write meanwhile may stay.
///
/// # Errors
/// When a store fails; what was removed by then is gone, and it can be begun again.
pub async fn purge(config: &Config) -> Result<Vec<String>> {
    let (service, mut told) = (service(), Vec::new());
    if let State::Redis(redis) = &config.state {
        for database in databases(redis) {
            let settings = redis_settings(redis, database)?;
            let place = settings.to_string();
            let removed = Link::new(settings, None)?.remove_all(&format!("rw:{service}:")).await?;
            told.push(format!("{removed} keys in {place}"));
        }
    }
    if let Some(ClickthroughStore::S3(s3)) = &config.train {
        let header = Header { service, columns: Default::default() };
        let purged =
            tokio::task::block_in_place(|| clickthroughs_in_s3(s3, header)?.purge().map_err(anyhow::Error::from))?;
        let place = format!("s3://{}/{}", s3.bucket, s3.prefix);
        told.push(format!("{} parts in {place}; {} of others stay", purged.removed, purged.left));
    }
    Ok(told)
}

/// The databases that state and models lie in.
fn databases(redis: &rankwright_config::state::Redis) -> Vec<u16> {
    let mut databases = vec![redis.db.state, redis.db.models];
    databases.dedup();
    databases
}
