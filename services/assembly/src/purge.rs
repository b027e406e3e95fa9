//! Removing all that a service has in shared stores.

use crate::engine::service;
use crate::open::{clickthroughs_in_s3, redis_settings};
use anyhow::{Result, bail};
use rankwright_clickthrough::Header;
use rankwright_config::state::{Redis, Topology};
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
    let (service, mut told) = (checked(service())?, Vec::new());
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

/// A name that other services' keys cannot begin with.
fn checked(service: String) -> Result<String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if !service.bytes().all(fits) {
        bail!("RANKWRIGHT_SERVICE: {service:?} is no name of a service: letters, digits, '-', '_' and '.' only");
    }
    Ok(service)
}

/// The databases that state and models lie in; a cluster has one.
fn databases(redis: &Redis) -> Vec<u16> {
    let one = redis.db.state == redis.db.models || matches!(redis.topology, Topology::Cluster(_));
    if one { vec![redis.db.state] } else { vec![redis.db.state, redis.db.models] }
}

#[cfg(test)]
mod tests {
    use super::checked;

    #[test]
    fn a_name_that_reaches_into_another_service_is_refused() {
        assert!(checked("shop-1_a.b".to_owned()).is_ok());
        for name in ["shop:1", "shop*", "a b"] {
            assert!(checked(name.to_owned()).is_err(), "{name}");
        }
    }
}
