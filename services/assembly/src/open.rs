//! Each store, as a configuration names it.

use crate::engine::{claim, service};
use crate::folder;
use anyhow::{Context, Result, bail};
use rankwright_clickthrough::store::file::FileSettings;
use rankwright_clickthrough::store::redis::RedisSettings;
use rankwright_clickthrough::store::s3::S3Settings;
use rankwright_clickthrough::{self as clickthrough, ClickthroughStore, Header};
use rankwright_config::train::TTL;
use rankwright_config::{self as config, Config, State};
use rankwright_feature::Plan;
use rankwright_model::{Alone, Fleet, MemoryVersions, RedisFleet, RedisVersions, VersionStore, Versions};
use rankwright_redis::{Address, Sentinels, Settings, Tls, Topology, Verify};
use rankwright_state::{self as state, RedisOptions, RedisStore, Store};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// What the specification calls the number of kinds of caches: `maxSize` counts for each.
const KINDS_OF_CACHES: usize = 10;

/// The folder of a state on disk; parts and models lie beside the values.
fn own_folder(config: &Config) -> Option<&PathBuf> {
    match &config.state {
        State::File(file) => Some(&file.path),
        _ => None,
    }
}

pub(crate) async fn state(config: &Config, service: &str) -> Result<Arc<dyn Store>> {
    Ok(match &config.state {
        State::File(file) => Arc::new(folder::open(&folder::place(file), file)?),
        State::Redis(redis) => Arc::new(self::redis(config, redis, service).await?),
        State::Memory => Arc::new(state::MemoryStore::default()),
    })
}

/// A state to write to: one of another cluster is refused.
pub(crate) async fn redis(config: &Config, redis: &config::state::Redis, service: &str) -> Result<RedisStore> {
    let (settings, options) = (redis_settings(redis, redis.db.state)?, redis_options(config, redis));
    let store = RedisStore::open(settings, options, service).await?;
    store.claim(&claim()).await?;
    Ok(store)
}

/// Other servers that share the models of a configuration, seen from one of them.
pub(crate) fn fleet(config: &Config, server: &str) -> Result<Arc<dyn Fleet>> {
    let State::Redis(redis) = &config.state else { return Ok(Arc::new(Alone::default())) };
    Ok(Arc::new(RedisFleet::open(redis_settings(redis, redis.db.models)?, &service(), server)?))
}

pub(crate) fn clickthroughs(config: &Config, plan: &Plan, service: &str) -> Result<Arc<dyn ClickthroughStore>> {
    let column = |column: &rankwright_feature::Column| clickthrough::Column {
        name: column.name.clone(),
        fingerprint: column.fingerprint,
    };
    let columns = plan.columns().iter().map(column).collect();
    clickthroughs_of(config, Header { service: service.to_owned(), columns })
}

/// Those that are stored, to read them.
pub(crate) fn clickthroughs_to_read(config: &Config, service: &str) -> Result<Arc<dyn ClickthroughStore>> {
    let folder = match (&config.train, &config.state) {
        (Some(config::ClickthroughStore::Discard), _) => bail!("train: 'discard' keeps no click-throughs"),
        (Some(config::ClickthroughStore::Memory), _) | (None, State::Memory) => {
            bail!("train: click-throughs in memory end with their process")
        }
        (Some(config::ClickthroughStore::File { path, .. }), _) => Some(path.clone()),
        (None, State::File(file)) => Some(file.path.join("clickthroughs")),
        _ => None,
    };
    if let Some(missing) = folder.filter(|folder| !folder.exists()) {
        bail!("there are no click-throughs in {}: import events first", missing.display());
    }
    clickthroughs_of(config, Header { service: service.to_owned(), columns: Default::default() })
}

/// Those of a service, for records with the columns of a header.
pub(crate) fn clickthroughs_of(config: &Config, header: Header) -> Result<Arc<dyn ClickthroughStore>> {
    let in_folder = |path: PathBuf, format, header| -> Result<Arc<dyn ClickthroughStore>> {
        let store = clickthrough::FileStore::open(FileSettings::new(&path, format), header);
        Ok(Arc::new(store.with_context(|| format!("failed to open the click-throughs in {}", path.display()))?))
    };
    let in_redis = |redis: &config::state::Redis, ttl, header| -> Result<Arc<dyn ClickthroughStore>> {
        let settings = RedisSettings::new(redis_settings(redis, redis.db.rankings)?, redis.format, ttl);
        let store = clickthrough::RedisStore::open(&settings, header);
        Ok(Arc::new(store.context("failed to open the click-throughs in Redis")?))
    };
    match (&config.train, &config.state) {
        (Some(config::ClickthroughStore::Discard), _) => Ok(Arc::new(clickthrough::DiscardStore::new(header))),
        (Some(config::ClickthroughStore::File { path, format }), _) => in_folder(path.clone(), *format, header),
        (Some(config::ClickthroughStore::S3(s3)), _) => Ok(Arc::new(clickthroughs_in_s3(s3, header)?)),
        (Some(config::ClickthroughStore::Redis { redis, ttl }), _) => in_redis(redis, *ttl, header),
        (None, State::Redis(redis)) => in_redis(redis, TTL, header),
        (None, State::File(file)) => in_folder(file.path.join("clickthroughs"), config::state::Format::Binary, header),
        (Some(config::ClickthroughStore::Memory), _) | (None, State::Memory) => {
            Ok(Arc::new(clickthrough::MemoryStore::new(header)?))
        }
    }
}

pub(crate) fn clickthroughs_in_s3(s3: &config::train::S3, header: Header) -> Result<clickthrough::S3Store> {
    let store = clickthrough::S3Store::open(&S3Settings::from_config(s3)?, header);
    store.context("failed to open the click-throughs in S3")
}

pub(crate) fn versions(config: &Config, service: &str) -> Result<Arc<dyn VersionStore>> {
    if let State::Redis(redis) = &config.state {
        return Ok(Arc::new(RedisVersions::open(redis_settings(redis, redis.db.models)?, service)?));
    }
    Ok(match own_folder(config) {
        Some(folder) => Arc::new(Versions::open(folder.join("models"))?),
        None => Arc::new(MemoryVersions::default()),
    })
}

pub(crate) fn format(format: config::state::Format) -> state::Format {
    match format {
        config::state::Format::Binary => state::Format::Binary,
        config::state::Format::Json => state::Format::Json,
    }
}

pub(crate) fn redis_options(config: &Config, redis: &config::state::Redis) -> RedisOptions {
    let (cache, longest) = (&redis.cache, Duration::from_secs(90 * 86_400));
    let features = config.features.iter().map(|feature| feature.ttl);
    let models = config.models.values().map(|model| model.stored_fields().1);
    RedisOptions {
        format: format(redis.format),
        cache_entries: cache.max_size.saturating_mul(KINDS_OF_CACHES),
        cache_ttl: cache.ttl_given.then_some(cache.ttl),
        tracking: cache.client_tracking,
        retention: features.chain(models).fold(longest, Duration::max),
        seen: config.core.ingest.event_id_window,
    }
}

/// How a database of a server is reached.
pub(crate) fn redis_settings(redis: &config::state::Redis, database: u16) -> Result<Settings> {
    let authority =
        |path: &PathBuf| std::fs::read(path).with_context(|| format!("tls.ca: failed to read {}", path.display()));
    let tls = redis.tls.enabled.then(|| -> Result<Tls> {
        let verify = match redis.tls.verify {
            config::state::Verify::Full => Verify::Full,
            config::state::Verify::Ca => Verify::Certificate,
            config::state::Verify::Off => Verify::Nothing,
        };
        Ok(Tls { ca: redis.tls.ca.as_ref().map(authority).transpose()?, verify })
    });
    Ok(Settings {
        host: redis.host.clone(),
        port: redis.port,
        topology: topology(&redis.topology),
        database,
        user: redis.user.clone(),
        password: redis.password.as_ref().map(|password| password.expose().to_owned()),
        tls: tls.transpose()?,
        connect: redis.timeout.connect,
        command: redis.timeout.command,
        socket: redis.timeout.socket,
    })
}

/// How its servers are found.
fn topology(configured: &config::state::Topology) -> Topology {
    let addresses =
        |nodes: &[config::state::Node]| nodes.iter().map(|node| Address::new(node.host.clone(), node.port)).collect();
    match configured {
        config::state::Topology::Standalone => Topology::Standalone,
        config::state::Topology::Cluster(nodes) => Topology::Cluster(addresses(nodes)),
        config::state::Topology::Sentinel(sentinels) => Topology::Sentinel(Sentinels {
            nodes: addresses(&sentinels.nodes),
            master: sentinels.master.clone(),
            user: sentinels.user.clone(),
            password: sentinels.password.as_ref().map(|password| password.expose().to_owned()),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_in_redis_stay_as_long_as_a_model_or_feature_needs_them() {
        let kept = |sections: &str| {
            let text = format!("state: {{type: redis, host: localhost, port: 6379}}\n{sections}");
            let (config, _) = Config::parse(&text, "test").unwrap_or_else(|errors| panic!("{errors}"));
            let config::State::Redis(redis) = &config.state else { panic!("it is Redis") };
            redis_options(&config, redis).retention.as_secs() / 86_400
        };
        let model = |ttl: &str| {
            kept(&format!(
                "models: {{m: {{type: semantic, encoder: {{type: bert, model: a/b, dim: 2}}, itemFields: [title], ttl: {ttl}}}}}"
            ))
        };
        assert_eq!((model("365d"), model("1d"), kept("models: {m: {type: noop}}")), (365, 90, 90));
        assert_eq!(
            kept("features: [{name: f, type: number, field: item.f, ttl: 200d}]\nmodels: {m: {type: noop}}"),
            200
        );
    }
}
