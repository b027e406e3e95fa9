//! Versions in Redis: for each model a hash of versions, and one hash that says which of them is current. In a cluster each
//! model has one of the latter as well, beside its versions: both change together. Another hash says why a gate refused a version.

use super::{Place, StoreError, VersionStore, decode, noted, surplus};
use crate::version::{Refusal, Version, VersionId};
use rankwright_redis::redis::{Connection, Script, cmd};
use rankwright_redis::{Blocking, Settings, slot_of};

/// Stores a version and makes it current, if the version that it replaces is current, or it is current itself. Otherwise returns
/// the current one. A version that is stored and not current was current before, and was rolled back.
/// KEYS: the versions, the pointers. ARGV: the model, the version, its bytes, and, where it matters, what it takes the place of:
/// a version, or '' for none.
const PUBLISH: &str = "
local current = redis.call('HGET', KEYS[2], ARGV[1]) or ''
local goes_on = current == ARGV[4] and redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0
if ARGV[4] and current ~= ARGV[2] and not goes_on then return {0, current} end
redis.call('HSET', KEYS[1], ARGV[2], ARGV[3])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
return {1, ARGV[2]}";

/// Makes a version current that is there; whether it is. KEYS: the versions, the pointers. ARGV: the model, the version.
const SELECT: &str = "
if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then return 0 end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
return 1";

/// Removes versions, but none that has become current meanwhile. The same, and more versions.
const REMOVE: &str = "
local current = redis.call('HGET', KEYS[2], ARGV[1])
for i = 2, #ARGV do
    if ARGV[i] ~= current then redis.call('HDEL', KEYS[1], ARGV[i]) end
end
return 0";

/// Keeps versions in a server, which processes share.
pub struct RedisVersions {
    link: Blocking,
    prefix: String,
}

impl RedisVersions {
    /// Versions of a service. The server is not talked to yet.
    ///
    /// # Errors
    /// When the settings make no sense.
    pub fn open(settings: Settings, service: &str) -> Result<Self, StoreError> {
        Ok(Self { link: Blocking::new(settings)?, prefix: format!("rw:{service}:models:") })
    }

    fn versions(&self, model: &str) -> String {
        format!("{}versions:{model}", self.start(model))
    }

    fn pointers(&self, model: &str) -> String {
        format!("{}current", self.start(model))
    }

    fn refusals(&self, model: &str) -> String {
        format!("{}refused", self.start(model))
    }

    /// How the names of a model's keys begin. The hash tag of a cluster is a number, as a model may have any name.
    fn start(&self, model: &str) -> String {
        match self.link.is_cluster() {
            true => format!("{}{{{}}}:", self.prefix, slot_of(model.as_bytes())),
            false => self.prefix.clone(),
        }
    }

    fn parsed(&self, id: &str) -> Result<VersionId, StoreError> {
        id.parse().map_err(|_| StoreError::Inconsistent { path: self.prefix.clone().into() })
    }
}

impl VersionStore for RedisVersions {
    fn publish(&self, version: &Version, place: Place) -> Result<(), StoreError> {
        let (model, id, bytes) = (&version.metadata().model, version.id().to_string(), version.encode()?);
        let replaced = version.metadata().replaced.as_ref().map_or("", VersionId::as_str);
        let (versions, pointers, script) = (self.versions(model), self.pointers(model), Script::new(PUBLISH));
        let mut publish = script.prepare_invoke();
        publish.key(&versions).key(&pointers).arg(model).arg(&id).arg(bytes);
        if place == Place::Told {
            publish.arg(replaced);
        }
        match self.link.send(&versions, |connection| publish.invoke::<(bool, String)>(connection))? {
            (true, _) => Ok(()),
            (false, current) => {
                Err(StoreError::Moved { model: model.clone(), current: (!current.is_empty()).then_some(current) })
            }
        }
    }

    fn add(&self, version: &Version) -> Result<(), StoreError> {
        let (key, id, bytes) = (self.versions(&version.metadata().model), version.id().to_string(), version.encode()?);
        let set = |connection: &mut Connection| cmd("HSET").arg(&key).arg(&id).arg(&bytes).query::<()>(connection);
        Ok(self.link.send(&key, set)?)
    }

    fn list(&self, model: &str) -> Result<Vec<VersionId>, StoreError> {
        let key = self.versions(model);
        let ids = self.link.send(&key, |connection| cmd("HKEYS").arg(&key).query::<Vec<String>>(connection))?;
        let mut ids = ids.iter().map(|id| self.parsed(id)).collect::<Result<Vec<_>, _>>()?;
        ids.sort_unstable();
        Ok(ids)
    }

    fn current(&self, model: &str) -> Result<Option<VersionId>, StoreError> {
        let key = self.pointers(model);
        let asked = |connection: &mut Connection| cmd("HGET").arg(&key).arg(model).query::<Option<String>>(connection);
        self.link.send(&key, asked)?.map(|id| self.parsed(&id)).transpose()
    }

    fn select(&self, model: &str, id: &VersionId) -> Result<(), StoreError> {
        let (versions, pointers, script) = (self.versions(model), self.pointers(model), Script::new(SELECT));
        let mut select = script.prepare_invoke();
        select.key(&versions).key(&pointers).arg(model).arg(id.to_string());
        let is_there = self.link.send(&versions, |connection| select.invoke::<bool>(connection))?;
        is_there.then_some(()).ok_or_else(|| StoreError::unknown(model, id))
    }

    fn load(&self, model: &str, id: Option<&VersionId>) -> Result<Option<Version>, StoreError> {
        let Some(id) = id.cloned().map_or_else(|| self.current(model), |id| Ok(Some(id)))? else { return Ok(None) };
        let (key, field) = (self.versions(model), id.to_string());
        let asked =
            |connection: &mut Connection| cmd("HGET").arg(&key).arg(&field).query::<Option<Vec<u8>>>(connection);
        let bytes = self.link.send(&key, asked)?.ok_or_else(|| StoreError::unknown(model, &id))?;
        let version = decode(model, &id, &bytes)?;
        if version.id() != &id || version.metadata().model != model {
            return Err(StoreError::Inconsistent { path: key.into() });
        }
        Ok(Some(version))
    }

    fn keep(&self, model: &str, newest: usize, spared: &[VersionId]) -> Result<(), StoreError> {
        let current = self.current(model)?;
        let surplus = surplus(self.list(model)?, newest, current.as_ref(), spared);
        if surplus.is_empty() {
            return Ok(());
        }
        let (versions, pointers, script) = (self.versions(model), self.pointers(model), Script::new(REMOVE));
        let mut removal = script.prepare_invoke();
        removal.key(&versions).key(&pointers).arg(model);
        surplus.iter().for_each(|id| {
            removal.arg(id.to_string());
        });
        Ok(self.link.send(&versions, |connection| removal.invoke::<()>(connection))?)
    }

    fn refuse(&self, model: &str, refusal: &Refusal) -> Result<(), StoreError> {
        let (key, noted) = (self.refusals(model), noted(refusal));
        let set = |connection: &mut Connection| cmd("HSET").arg(&key).arg(model).arg(&noted).query::<()>(connection);
        Ok(self.link.send(&key, set)?)
    }

    fn refusal(&self, model: &str) -> Result<Option<Refusal>, StoreError> {
        let key = self.refusals(model);
        let asked = |connection: &mut Connection| cmd("HGET").arg(&key).arg(model).query::<Option<Vec<u8>>>(connection);
        Ok(self.link.send(&key, asked)?.and_then(|noted| serde_json::from_slice(&noted).ok()))
    }
}
