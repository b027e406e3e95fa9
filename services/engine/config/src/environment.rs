//! What the environment of a process says about the configuration, as a value: tests need no process for it.

use crate::api::Tls;
use crate::secret::{Secret, without_line_breaks};
use crate::source::{SourceConfig, SourceKind};
use crate::state::{Redis, State};
use crate::{ClickthroughStore, Config, LoadError, Warning};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

/// Names that variables have with the upstream service. Ours go first.
const UPSTREAM: [(&str, &str); 4] = [
    ("SERVICE_CONFIG", "METARANK_CONFIG"),
    ("SERVICE_TRACKING", "METARANK_TRACKING"),
    ("SERVICE_REDIS_USER", "METARANK_REDIS_USER"),
    ("SERVICE_REDIS_PASSWORD", "METARANK_REDIS_PASSWORD"),
];

/// Variables of ours that are no part of the configuration.
const READ_ELSEWHERE: [&str; 4] =
    ["RANKWRIGHT_SERVICE", "RANKWRIGHT_ENCODER_THREADS", "RANKWRIGHT_OFFLINE", "LOG_FORMAT"];

/// Settings from environment variables; an empty variable counts as absent, and line breaks at the end of one do not count.
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
    /// `SERVICE_KAFKA_USER`: takes the place of `sasl.username` among the options of a Kafka source.
    pub kafka_user: Option<String>,
    /// `SERVICE_KAFKA_PASSWORD`: takes the place of `sasl.password` there.
    pub kafka_password: Option<Secret>,
    /// `SERVICE_DRAIN_TIMEOUT`: takes the place of `api.limits.drainTimeout`.
    pub drain_timeout: Option<String>,
    /// `RANKWRIGHT_API_TOKEN`: takes the place of `api.token`.
    pub api_token: Option<Secret>,
    /// `RANKWRIGHT_API_TLS_DIR`: takes the place of `api.tls`: a folder with `tls.crt` and `tls.key`, as a Secret of Kubernetes is mounted.
    pub api_tls_dir: Option<String>,
    /// Variables that were read by the name that they have with the upstream service, each with ours.
    pub upstream: Vec<(&'static str, &'static str)>,
    /// Whether that variable is there, and blank.
    pub blank_api_token: bool,
}

impl Environment {
    /// From the variables of this process.
    ///
    /// # Errors
    /// A variable of ours is not Unicode: what it says would have no effect.
    pub fn of_process() -> Result<Self, LoadError> {
        Self::from_variables(|name| std::env::var_os(name))
    }

    /// From variables as a process has them.
    ///
    /// # Errors
    /// As [`Environment::of_process`].
    pub fn from_variables(lookup: impl Fn(&str) -> Option<OsString>) -> Result<Self, LoadError> {
        let unreadable = RefCell::new(None);
        let text = |name: &str| {
            let read = lookup(name)?.into_string();
            read.map_err(|_| unreadable.replace(Some(name.to_owned()))).ok()
        };
        READ_ELSEWHERE.iter().for_each(|name| drop(text(name)));
        let environment = Self::from_lookup(text);
        match unreadable.into_inner() {
            Some(variable) => Err(LoadError::NotUnicode { variable }),
            None => Ok(environment),
        }
    }

    /// From any source of variables.
    pub fn from_lookup(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let given = |name| lookup(name).map(without_line_breaks).filter(|text| !text.is_empty());
        let read = UPSTREAM.into_iter().filter(|(ours, theirs)| given(ours).is_none() && given(theirs).is_some());
        let upstream: Vec<_> = read.collect();
        let theirs = |name| upstream.iter().find(|(ours, _)| *ours == name).map(|(_, theirs)| *theirs);
        let get = |name| given(theirs(name).unwrap_or(name));
        let token = lookup("RANKWRIGHT_API_TOKEN");
        Self {
            config: get("SERVICE_CONFIG"),
            tracking: get("SERVICE_TRACKING"),
            redis_user: get("SERVICE_REDIS_USER"),
            redis_password: get("SERVICE_REDIS_PASSWORD").map(Secret::from),
            kafka_user: get("SERVICE_KAFKA_USER"),
            kafka_password: get("SERVICE_KAFKA_PASSWORD").map(Secret::from),
            drain_timeout: get("SERVICE_DRAIN_TIMEOUT"),
            blank_api_token: token.as_ref().is_some_and(|token| token.trim().is_empty()),
            api_tls_dir: get("RANKWRIGHT_API_TLS_DIR"),
            api_token: token.filter(|token| !token.trim().is_empty()).map(Secret::from),
            upstream: upstream.clone(),
        }
    }

    /// Puts these settings into a configuration, above what its text says.
    pub fn apply(&self, config: &mut Config) -> Vec<Warning> {
        if self.api_token.is_some() {
            config.api.token.clone_from(&self.api_token);
        }
        if let Some(folder) = self.api_tls_dir.as_ref().map(Path::new) {
            config.api.tls = Some(Tls { cert: folder.join("tls.crt"), key: folder.join("tls.key") });
        }
        if let State::Redis(redis) = &mut config.state {
            self.apply_to_redis(redis);
        }
        if let Some(ClickthroughStore::Redis { redis, .. }) = &mut config.train {
            self.apply_to_redis(redis);
        }
        if let Some(SourceConfig { kind: SourceKind::Kafka { options, .. }, .. }) = &mut config.source {
            self.apply_to_kafka(options);
        }
        let read = self.upstream.iter().map(|(ours, theirs)| read_as(theirs, ours));
        let told = [self.apply_drain_timeout(config), self.apply_tracking(config), self.missing_token(config)];
        read.chain(told.into_iter().flatten()).collect()
    }

    /// What [`Environment::apply`] puts above the text of this configuration: paths, values with secrets hidden, names of variables.
    pub(crate) fn replaced(&self, config: &Config) -> Vec<(Vec<&'static str>, Value, &'static str)> {
        const HIDDEN: &str = "hidden";
        let hidden = |secret: &Option<Secret>| secret.as_ref().map(|_| HIDDEN.to_owned());
        let mut all = vec![(vec!["api", "token"], hidden(&self.api_token), "RANKWRIGHT_API_TOKEN")];
        for (key, file) in [("cert", "tls.crt"), ("key", "tls.key")] {
            let path = self.api_tls_dir.as_ref().map(|folder| Path::new(folder).join(file).display().to_string());
            all.push((vec!["api", "tls", key], path, "RANKWRIGHT_API_TLS_DIR"));
        }
        let redis = [("state", matches!(config.state, State::Redis(_)))];
        let train = [("train", matches!(config.train, Some(ClickthroughStore::Redis { .. })))];
        for (section, _) in redis.into_iter().chain(train).filter(|(_, is_redis)| *is_redis) {
            all.push((vec![section, "auth", "user"], self.redis_user.clone(), "SERVICE_REDIS_USER"));
            all.push((vec![section, "auth", "password"], hidden(&self.redis_password), "SERVICE_REDIS_PASSWORD"));
        }
        if let Some(SourceConfig { kind: SourceKind::Kafka { .. }, .. }) = &config.source {
            let options = |key| vec!["source", "options", key];
            all.push((options("sasl.username"), self.kafka_user.clone(), "SERVICE_KAFKA_USER"));
            all.push((options("sasl.password"), hidden(&self.kafka_password), "SERVICE_KAFKA_PASSWORD"));
        }
        let drain = self.drain_timeout.clone().filter(|text| crate::duration::parse(text).is_ok());
        all.push((vec!["api", "limits", "drainTimeout"], drain, "SERVICE_DRAIN_TIMEOUT"));
        let mut all: Vec<_> =
            all.into_iter().filter_map(|(path, value, variable)| Some((path, value?.into(), variable))).collect();
        if self.tracking.as_deref().and_then(tracks) == Some(false) {
            let off = |key| (vec!["core", "tracking", key], Value::Bool(false), "SERVICE_TRACKING");
            all.extend(["analytics", "errors"].map(off));
        }
        all
    }

    /// A variable that is set and empty is most likely meant to hold a token.
    fn missing_token(&self, config: &Config) -> Option<Warning> {
        let message = "it is empty, and there is no api.token: every client may call /train".to_owned();
        let missing = self.blank_api_token && config.api.token.is_none();
        missing.then(|| Warning { line: 0, path: "RANKWRIGHT_API_TOKEN".to_owned(), message })
    }

    fn apply_drain_timeout(&self, config: &mut Config) -> Option<Warning> {
        let text = self.drain_timeout.as_deref()?;
        match crate::duration::parse(text) {
            Ok(length) => {
                config.api.limits.drain_timeout = length;
                None
            }
            Err(invalid) => Some(without_effect("SERVICE_DRAIN_TIMEOUT", text, invalid.accepted)),
        }
    }

    fn apply_to_kafka(&self, options: &mut BTreeMap<String, String>) {
        let password = self.kafka_password.as_ref().map(|password| password.expose().to_owned());
        let login = [("sasl.username", self.kafka_user.clone()), ("sasl.password", password)];
        options.extend(login.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
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
        match tracks(text) {
            Some(false) => {
                config.core.tracking.analytics = false;
                config.core.tracking.errors = false;
                None
            }
            Some(true) => None,
            None => Some(without_effect("SERVICE_TRACKING", text, "false")),
        }
    }
}

/// Whether a text says yes or no to analytics and error reports.
fn tracks(text: &str) -> Option<bool> {
    match text {
        "1" | "enabled" => Some(true),
        "0" | "disabled" => Some(false),
        _ => crate::scalar::boolean(text),
    }
}

fn read_as(theirs: &str, ours: &str) -> Warning {
    Warning { line: 0, path: theirs.to_owned(), message: format!("is read as {ours}: use this name") }
}

fn without_effect(variable: &str, text: &str, accepted: &str) -> Warning {
    let message = format!("found `{}`, which does nothing: {accepted} is accepted", crate::error::shown(text));
    Warning { line: 0, path: variable.to_owned(), message }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        let find = |name: &str| variables.iter().find(|(other, _)| *other == name);
        Environment::from_lookup(|name| find(name).map(|(_, value)| (*value).to_owned()))
    }

    fn applied(text: &str, variables: &[(&str, &str)]) -> (Config, Vec<Warning>) {
        let (mut config, _) = Config::parse(text, "test").unwrap();
        let warnings = environment(variables).apply(&mut config);
        (config, warnings)
    }

    #[test]
    fn a_folder_with_a_certificate_takes_the_place_of_both_files() {
        let text = "api: {tls: {cert: a.pem, key: a.key}}";
        let (config, warnings) = applied(text, &[("RANKWRIGHT_API_TLS_DIR", "/etc/tls")]);
        let tls = config.api.tls.unwrap();
        assert_eq!((tls.cert.to_str(), tls.key.to_str()), (Some("/etc/tls/tls.crt"), Some("/etc/tls/tls.key")));
        assert_eq!(warnings, []);
    }

    #[test]
    fn a_variable_of_ours_that_is_not_unicode_is_refused_by_its_name() {
        use std::os::unix::ffi::OsStringExt;
        let variables = |unreadable: &'static str| {
            Environment::from_variables(move |name| {
                (name == unreadable).then(|| OsString::from_vec(b"s\xff\xfe".to_vec()))
            })
        };
        for name in [
            "RANKWRIGHT_API_TOKEN",
            "RANKWRIGHT_SERVICE",
            "SERVICE_REDIS_PASSWORD",
            "SERVICE_TRACKING",
            "METARANK_CONFIG",
        ] {
            let error = variables(name).expect_err("its value would have no effect");
            assert_eq!(error.to_string(), format!("{name}: the value of this variable is not Unicode (UTF-8)"));
        }
        assert_eq!(variables("HOME").expect("is not ours"), Environment::default());
    }

    #[test]
    fn the_environment_is_above_the_text() {
        let text = "state: {type: redis, host: h, port: 1, auth: {user: u, password: p}}\n\
                    train: {type: redis, host: h, port: 1}\napi: {token: t}";
        let variables =
            [("SERVICE_REDIS_USER", "ann"), ("SERVICE_REDIS_PASSWORD", "secret"), ("RANKWRIGHT_API_TOKEN", "token")];
        let (config, warnings) = applied(text, &variables);
        let State::Redis(state) = config.state else { panic!() };
        let Some(ClickthroughStore::Redis { redis: train, .. }) = config.train else { panic!() };
        for redis in [state, train] {
            assert_eq!((redis.user.as_deref(), redis.password), (Some("ann"), Some(Secret::from("secret"))));
        }
        assert_eq!((config.api.token, warnings), (Some(Secret::from("token")), vec![]));
    }

    #[test]
    fn the_login_to_kafka_is_among_the_options() {
        let text = "source: {type: kafka, brokers: ['b:9092'], topic: t, groupId: g, \
                    options: {sasl.username: u, sasl.password: p, sasl.mechanism: PLAIN}}";
        let options = |variables: &[(&str, &str)]| match applied(text, variables).0.source.unwrap().kind {
            SourceKind::Kafka { options, .. } => options.into_values().collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        };
        assert_eq!(options(&[]), ["PLAIN", "p", "u"]);
        let broken = text.replace("sasl.password: p", "sasl.password: \"p\\n\"");
        assert_eq!(
            applied(&broken, &[]).0.source.map(|source| source.kind),
            applied(text, &[]).0.source.map(|source| source.kind)
        );
        assert_eq!(
            options(&[("SERVICE_KAFKA_USER", "ann"), ("SERVICE_KAFKA_PASSWORD", "secret")]),
            ["PLAIN", "secret", "ann"]
        );
    }

    #[test]
    fn variables_of_the_upstream_service_are_read_with_a_hint_unless_ours_are_there() {
        let text = "state: {type: redis, host: h, port: 1}";
        let theirs = [
            ("METARANK_CONFIG", "/theirs.yml"),
            ("METARANK_REDIS_USER", "ann"),
            ("METARANK_REDIS_PASSWORD", "secret"),
            ("METARANK_TRACKING", "disabled"),
        ];
        assert_eq!(environment(&theirs).config.as_deref(), Some("/theirs.yml"));
        let (config, warnings) = applied(text, &theirs);
        let State::Redis(redis) = config.state else { panic!() };
        assert_eq!((redis.user.as_deref(), redis.password), (Some("ann"), Some(Secret::from("secret"))));
        assert!(!config.core.tracking.analytics);
        let hints: Vec<_> = warnings.iter().map(ToString::to_string).collect();
        let hint = |name: &str| format!("METARANK_{name}: is read as SERVICE_{name}: use this name");
        assert_eq!(hints, ["CONFIG", "TRACKING", "REDIS_USER", "REDIS_PASSWORD"].map(hint));
        let both = [("METARANK_CONFIG", "/theirs.yml"), ("SERVICE_CONFIG", "/ours.yml")];
        assert_eq!((environment(&both).config.as_deref(), environment(&both).upstream.len()), (Some("/ours.yml"), 0));
    }

    #[test]
    fn an_empty_environment_changes_nothing() {
        let text = "state: {type: redis, host: h, port: 1, auth: {user: u, password: p}}";
        let (config, _) = applied(text, &[("SERVICE_REDIS_USER", ""), ("SERVICE_TRACKING", "")]);
        assert_eq!(config, Config::parse(text, "test").unwrap().0);
    }

    #[test]
    fn a_line_break_at_the_end_of_a_variable_does_not_count() {
        let text = "state: {type: redis, host: h, port: 1}";
        let variables = [
            ("SERVICE_REDIS_USER", "ann\n"),
            ("SERVICE_REDIS_PASSWORD", "secret\r\n"),
            ("RANKWRIGHT_API_TOKEN", "token\n"),
            ("SERVICE_TRACKING", "\n"),
        ];
        let (config, warnings) = applied(text, &variables);
        let State::Redis(redis) = config.state else { panic!() };
        assert_eq!((redis.user.as_deref(), redis.password), (Some("ann"), Some(Secret::from("secret"))));
        assert_eq!(config.api.token.as_ref().map(Secret::expose), Some("token"));
        assert_eq!(warnings, []);
    }

    #[test]
    fn an_empty_token_without_another_one_is_told() {
        for empty in ["", "\n", " "] {
            let (config, warnings) = applied("", &[("RANKWRIGHT_API_TOKEN", empty)]);
            assert_eq!(config.api.token, None);
            let told = "RANKWRIGHT_API_TOKEN: it is empty, and there is no api.token: every client may call /train";
            assert_eq!(warnings.iter().map(ToString::to_string).collect::<Vec<_>>(), [told]);
            let (config, warnings) = applied("api: {token: t}", &[("RANKWRIGHT_API_TOKEN", empty)]);
            assert_eq!((config.api.token, warnings), (Some(Secret::from("t")), vec![]));
        }
        assert_eq!(applied("", &[]).1, []);
    }

    #[test]
    fn what_the_platform_leaves_for_the_end_is_above_the_text() {
        let text = "api: {limits: {drainTimeout: 5s}}";
        let (config, warnings) = applied(text, &[("SERVICE_DRAIN_TIMEOUT", "38s")]);
        assert_eq!((config.api.limits.drain_timeout.as_secs(), warnings.len()), (38, 0));
        let (config, warnings) = applied(text, &[("SERVICE_DRAIN_TIMEOUT", "long")]);
        assert_eq!(config.api.limits.drain_timeout.as_secs(), 5);
        assert!(warnings[0].to_string().starts_with("SERVICE_DRAIN_TIMEOUT: found `long`, which does nothing"));
    }

    #[test]
    fn tracking_is_switched_off_as_a_whole() {
        let (config, _) = applied("", &[("SERVICE_TRACKING", "false")]);
        assert!(!config.core.tracking.analytics && !config.core.tracking.errors);
        let (config, _) = applied("", &[("SERVICE_TRACKING", "true")]);
        assert!(config.core.tracking.analytics && config.core.tracking.errors);
        let (_, warnings) = applied("", &[("SERVICE_TRACKING", "nope")]);
        assert_eq!(warnings[0].to_string(), "SERVICE_TRACKING: found `nope`, which does nothing: false is accepted");
    }
}
