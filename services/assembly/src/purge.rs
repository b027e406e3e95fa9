//! Removing all that a service has in shared stores.

use crate::engine::{claim, service};
use crate::open::{clickthroughs_in_s3, redis_settings};
use anyhow::{Result, anyhow, bail};
use futures_util::future::BoxFuture;
use rankwright_clickthrough::Header;
use rankwright_config::{ClickthroughStore, Config, State};
use rankwright_redis::{Link, Settings};
use rankwright_state::{Claim, owner_of};

/// Where something of a service lies that a purge removes, in words.
///
/// # Errors
/// Where the configuration names neither Redis nor S3.
pub fn purge_places(config: &Config) -> Result<Vec<String>> {
    let servers = databases(config)?.into_iter();
    let mut places: Vec<String> =
        servers.map(|(settings, what)| format!("{} in {settings}", what.join(", "))).collect();
    if let Some(ClickthroughStore::S3(s3)) = &config.train {
        places.push(format!("click-throughs in s3://{}/{}", s3.bucket, s3.prefix));
    }
    if places.is_empty() {
        bail!("nothing of this configuration lies in Redis or S3; what lies in folders goes with the folders");
    }
    Ok(places)
}

/// Removes everything of this service from Redis and S3; what it removed, in words. A state of another service or cluster stays,
/// unless it `takes_over`. Programs of the service have to be stopped before: what they write meanwhile may stay.
///
/// # Errors
/// When a store fails, or holds parts so damaged that their service is unknown. What was removed by then is gone, and the
/// purge can be run again.
pub fn purge(config: &Config, takes_over: bool) -> BoxFuture<'_, Result<Vec<String>>> {
    Box::pin(async move {
        let (service, mut told) = (checked(service())?, Vec::new());
        owned(config, &service, takes_over).await?;
        for (settings, _) in databases(config)? {
            let place = settings.to_string();
            let removed = Link::new(settings, None)?.remove_all(&format!("rw:{service}:")).await?;
            told.push(format!("{removed} keys in {place}"));
        }
        if let Some(ClickthroughStore::S3(s3)) = &config.train {
            let header = Header { service, columns: Default::default() };
            let purged =
                tokio::task::block_in_place(|| clickthroughs_in_s3(s3, header)?.purge().map_err(anyhow::Error::from))?;
            let place = format!("s3://{}/{}", s3.bucket, s3.prefix);
            told.push(format!("{} parts in {place}; {} of others stay", purged.removed, purged.left));
            if !purged.unreadable.is_empty() {
                bail!(
                    "removed {}; but these are damaged, so their owner is unknown: {}. Remove them by hand if no other \
                     service writes there",
                    told.join(", "),
                    purged.unreadable.join(", ")
                );
            }
        }
        Ok(told)
    })
}

/// The mark lies with the state; what it says goes for all that is removed.
async fn owned(config: &Config, service: &str, takes_over: bool) -> Result<()> {
    let State::Redis(redis) = &config.state else { return Ok(()) };
    let settings = redis_settings(redis, redis.db.state)?;
    let place = settings.to_string();
    let found = owner_of(settings, service).await?;
    let claim = claim();
    let claim = Claim { takes_over: takes_over || claim.takes_over, ..claim };
    claim.check(found.as_ref()).map_err(|owner| {
        anyhow!("nothing was removed: the state in {place} belongs to {owner}; --take-over removes it all the same")
    })
}

/// A name that other services' keys cannot begin with.
fn checked(service: String) -> Result<String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if !service.bytes().all(fits) {
        bail!("RANKWRIGHT_SERVICE: {service:?} is no name of a service: letters, digits, '-', '_' and '.' only");
    }
    Ok(service)
}

/// The databases of Redis that something lies in, each once, and what that is.
fn databases(config: &Config) -> Result<Vec<(Settings, Vec<&'static str>)>> {
    let mut wanted = Vec::new();
    if let State::Redis(redis) = &config.state {
        wanted.extend([("state", redis, redis.db.state), ("models", redis, redis.db.models)]);
    }
    match (&config.train, &config.state) {
        (Some(ClickthroughStore::Redis { redis, .. }), _) | (None, State::Redis(redis)) => {
            wanted.push(("click-throughs", redis, redis.db.rankings));
        }
        _ => {}
    }
    let mut found: Vec<(Settings, Vec<&'static str>)> = Vec::new();
    for (what, redis, database) in wanted {
        let settings = redis_settings(redis, database)?;
        // a cluster has one database, and is called the same whichever was asked for
        match found.iter_mut().find(|(known, _)| known.to_string() == settings.to_string()) {
            Some((_, there)) => there.push(what),
            None => found.push((settings, vec![what])),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::{checked, purge_places};
    use rankwright_config::Config;

    fn places(text: &str) -> Vec<String> {
        purge_places(&Config::parse(text, "test").unwrap().0).unwrap()
    }

    #[test]
    fn each_database_is_purged_once_wherever_click_throughs_lie() {
        let state = "state: {type: redis, host: h, port: 1}";
        assert_eq!(places(state), ["state in h:1/0", "models in h:1/3", "click-throughs in h:1/2"]);
        let apart = format!("{state}\ntrain: {{type: redis, host: other, port: 2}}");
        assert_eq!(places(&apart), ["state in h:1/0", "models in h:1/3", "click-throughs in other:2/2"]);
        let nowhere = format!("{state}\ntrain: {{type: discard}}");
        assert_eq!(places(&nowhere), ["state in h:1/0", "models in h:1/3"]);
        let one = "state: {type: redis, host: h, port: 1, db: {state: 5, rankings: 5, models: 5}}";
        assert_eq!(places(one), ["state, models, click-throughs in h:1/5"]);
        let cluster = "state: {type: redis, mode: cluster, nodes: ['h:1']}";
        assert_eq!(places(cluster), ["state, models, click-throughs in the cluster of h:1"]);
        assert_eq!(places("train: {type: redis, host: h, port: 1}"), ["click-throughs in h:1/2"]);
    }

    #[test]
    fn a_name_that_reaches_into_another_service_is_refused() {
        assert!(checked("shop-1_a.b".to_owned()).is_ok());
        for name in ["shop:1", "shop*", "a b"] {
            assert!(checked(name.to_owned()).is_err(), "{name}");
        }
    }
}
