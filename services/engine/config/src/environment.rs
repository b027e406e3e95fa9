//! What the environment of a process says about the configuration, as a value: tests need no process for it.

use crate::secret::Secret;
use crate::state::{Redis, State};
use crate::{ClickthroughStore, Config, Warning};

/// Settings from environment variables; an empty variable counts as absent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Environment {
    /// `SERVICE_CONFIG`: path of the configuration, where no argument gives one.
    pub config: Option<String>,
    /// `SERVICE_TRACKING`: `false` switches analytics and error reports off.
    pub tracking: Option<String>,
    /// `SERVICE_REDIS_USER`: takes the place of `auth.user`.
    pub redis_user: Option<String>,
    /// `SERVICE_REDIS_PASSWORD`: takes the place of `auth.password`.
    pub redis_password: Option<Secret>,
    /// `RANKWRIGHT_API_TOKEN`: takes the place of `api.token`.
    pub api_token: Option<Secret>,
}

impl Environment {
    /// From the variables of this process.
    pub fn of_process() -> Self {
        Self::from_lookup(|name| std::env::var(name).ok())
    }

    /// From any source of variables.
    pub fn from_lookup(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let get = |name| lookup(name).filter(|text| !text.is_empty());
        Self {
            config: get("SERVICE_CONFIG"),
            tracking: get("SERVICE_TRACKING"),
            redis_user: get("SERVICE_REDIS_USER"),
            redis_password: get("SERVICE_REDIS_PASSWORD").map(Secret::from),
            api_token: get("RANKWRIGHT_API_TOKEN").map(Secret::from),
        }
    }

    /// Puts these settings into a configuration, above what its text says.
    pub fn apply(&self, config: &mut Config) -> Vec<Warning> {
        if self.api_token.is_some() {
            config.api.token.clone_from(&self.api_token);
        }
        if let State::Redis(redis) = &mut config.state {
            self.apply_to_redis(redis);
        }
        if let Some(ClickthroughStore::Redis { redis, .. }) = &mut config.train {
            self.apply_to_redis(redis);
        }
        self.apply_tracking(config).into_iter().collect()
    }

    fn apply_to_redis(&self, redis: &mut Redis) {
        if self.redis_user.is_some() {
            redis.user.clone_from(&self.redis_user);
        }
        if self.redis_password.is_some() {
            redis.password.clone_from(&self.redis_password);
        }
    }

    fn apply_tracking(&self, config: &mut Config) -> Option<Warning> {
        let text = self.tracking.as_deref()?;
        match crate::scalar::boolean(text) {
            Some(false) => {
                config.core.tracking.analytics = false;
                config.core.tracking.errors = false;
                None
            }
            Some(true) => None,
            None => {
                let message = format!("found `{}`, which does nothing: false is accepted", crate::error::shown(text));
                Some(Warning { line: 0, path: "SERVICE_TRACKING".to_owned(), message })
            }
        }
    }
}
