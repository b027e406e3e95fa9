//! Versions in Redis: for each model a hash of versions, and one hash that says which of them is current.

use super::{StoreError, VersionStore, decode, surplus};
use crate::version::{Version, VersionId};
use rankwright_redis::redis::{Connection, cmd, pipe};
use rankwright_redis::{Blocking, Settings};

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
        format!("{}versions:{model}", self.prefix)
    }

    fn pointers(&self) -> String {
        format!("{}current", self.prefix)
    }

    fn parsed(&self, id: &str) -> Result<VersionId, StoreError> {
        id.parse().map_err(|_| StoreError::Inconsistent { path: self.prefix.clone().into() })
    }
}

impl VersionStore for RedisVersions {
    fn publish(&self, version: &Version) -> Result<(), StoreError> {
        let (model, id, bytes) = (&version.metadata().model, version.id().to_string(), version.encode()?);
        let mut both = pipe();
        both.atomic().hset(self.versions(model), &id, bytes).ignore().hset(self.pointers(), model, &id).ignore();
        Ok(self.link.send(|connection| both.query::<()>(connection))?)
    }

    fn list(&self, model: &str) -> Result<Vec<VersionId>, StoreError> {
        let ids =
            self.link.send(|connection| cmd("HKEYS").arg(self.versions(model)).query::<Vec<String>>(connection))?;
        let mut ids = ids.iter().map(|id| self.parsed(id)).collect::<Result<Vec<_>, _>>()?;
        ids.sort_unstable();
        Ok(ids)
    }

    fn current(&self, model: &str) -> Result<Option<VersionId>, StoreError> {
        let asked = |connection: &mut Connection| {
            cmd("HGET").arg(self.pointers()).arg(model).query::<Option<String>>(connection)
        };
        self.link.send(asked)?.map(|id| self.parsed(&id)).transpose()
    }

    fn select(&self, model: &str, id: &VersionId) -> Result<(), StoreError> {
        if !self.list(model)?.contains(id) {
            return Err(StoreError::unknown(model, id));
        }
        let id = id.to_string();
        Ok(self.link.send(|connection| cmd("HSET").arg(self.pointers()).arg(model).arg(&id).query::<()>(connection))?)
    }

    fn load(&self, model: &str, id: Option<&VersionId>) -> Result<Option<Version>, StoreError> {
        let Some(id) = id.cloned().map_or_else(|| self.current(model), |id| Ok(Some(id)))? else { return Ok(None) };
        let (key, field) = (self.versions(model), id.to_string());
        let asked =
            |connection: &mut Connection| cmd("HGET").arg(&key).arg(&field).query::<Option<Vec<u8>>>(connection);
        let bytes = self.link.send(asked)?.ok_or_else(|| StoreError::unknown(model, &id))?;
        let version = decode(model, &id, &bytes)?;
        if version.id() != &id || version.metadata().model != model {
            return Err(StoreError::Inconsistent { path: key.into() });
        }
        Ok(Some(version))
    }

    fn keep(&self, model: &str, newest: usize, pinned: Option<&VersionId>) -> Result<(), StoreError> {
        let current = self.current(model)?;
        let surplus = surplus(self.list(model)?, newest, [current.as_ref(), pinned]);
        if surplus.is_empty() {
            return Ok(());
        }
        let mut removal = cmd("HDEL");
        removal.arg(self.versions(model));
        surplus.iter().for_each(|id| {
            removal.arg(id.to_string());
        });
        Ok(self.link.send(|connection| removal.query::<()>(connection))?)
    }
}
