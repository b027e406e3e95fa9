//! `state`, and the Redis options that `train` shares.

mod servers;

use crate::secret::Secret;
use crate::section::Section;
use crate::state::{Cache, Databases, FileState, Format, Node, Pipeline, Redis, State, Timeout, Tls, Verify};
use crate::value::Value;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Copy)]
enum Kind {
    Memory,
    Redis,
    File,
}

pub(super) fn state(section: Section<'_>) -> Option<State> {
    let kinds = [("memory", Kind::Memory), ("redis", Kind::Redis), ("file", Kind::File)];
    let kind = match section.get("type") {
        Some(of_type) => match of_type.choice("state type", &kinds) {
            Some(kind) => kind,
            None => section.guess(&[Kind::Redis, Kind::File], |section, kind| drop(of_kind(kind, section)))?,
        },
        // memory has no other key
        None => match section.guess(&[Kind::Redis, Kind::File], |section, kind| drop(of_kind(kind, section))) {
            Some(kind) => {
                let _: Option<()> = section.missing("type", "memory, redis or file");
                kind
            }
            None => {
                section.leaves_out("type", &"memory".to_owned());
                Kind::Memory
            }
        },
    };
    let state = of_kind(kind, &section);
    section.finish();
    state
}

fn of_kind(kind: Kind, section: &Section<'_>) -> Option<State> {
    match kind {
        Kind::Memory => {
            section.ignored(&[("cache", "a state in memory needs none")]);
            Some(State::Memory)
        }
        Kind::Redis => redis(section, databases).map(|redis| State::Redis(Box::new(redis))),
        Kind::File => file(section).map(State::File),
    }
}

fn file(section: &Section<'_>) -> Option<FileState> {
    let path = section.required("path", "a folder").and_then(|value| value.text());
    let format = section.or("format", Format::default(), |value| format(&value));
    section.ignored(&[EXISTING, ("backend", "the built-in disk store takes its place")]);
    Some(FileState { path: PathBuf::from(path?), format })
}

/// Of a store of files, be it the state or that of click-throughs.
pub(super) const EXISTING: (&str, &str) = ("whenExists", "what is there is kept and added to");

pub(super) fn format(value: &Value<'_>) -> Option<Format> {
    value.choice("format", &[("binary", Format::Binary), ("json", Format::Json)])
}

/// All Redis options; the caller reports unknown keys, as `train` has more of them, and says what may stand under `db`.
pub(super) fn redis(section: &Section<'_>, databases: impl FnOnce(&Value<'_>) -> Option<Databases>) -> Option<Redis> {
    let server = servers::read(section);
    let auth = section.section("auth").map(auth).unwrap_or_default();
    let format = section.or("format", Format::default(), |value| format(&value));
    let cache = cache(section.filled("cache"));
    let pipeline = pipeline(section.filled("pipeline"));
    let tls = tls(section.filled("tls"));
    let timeout = timeout(section.filled("timeout"));
    let db = section.or("db", Databases::default(), |value| databases(&value));
    let (user, password) = auth;
    let (Node { host, port }, topology) = server?;
    Some(Redis { host, port, topology, format, cache, pipeline, user, password, tls, timeout, db })
}

fn auth(section: Section<'_>) -> (Option<String>, Option<Secret>) {
    let user = section.get("user").and_then(|value| value.text());
    let password = section.get("password").and_then(|value| value.text()).map(Secret::from);
    section.finish();
    (user, password)
}

fn cache(section: Section<'_>) -> Cache {
    let default = Cache::default();
    let ttl = section.get("ttl");
    let cache = Cache {
        max_size: section.or("maxSize", default.max_size, |value| value.whole(0..=1_000_000_000)),
        ttl_given: ttl.is_some(),
        ttl: ttl.and_then(|value| value.duration(Duration::ZERO)).unwrap_or(default.ttl),
        client_tracking: section.or("clientTracking", default.client_tracking, |value| value.boolean()),
    };
    section.finish();
    cache
}

fn pipeline(section: Section<'_>) -> Pipeline {
    let default = Pipeline::default();
    let pipeline = Pipeline {
        max_size: section.or("maxSize", default.max_size, |value| value.whole(1..=1_000_000)),
        flush_period: section.or("flushPeriod", default.flush_period, |value| value.duration(Duration::ZERO)),
        enabled: section.or("enabled", default.enabled, |value| value.boolean()),
    };
    section.finish();
    pipeline
}

fn tls(section: Section<'_>) -> Tls {
    let verify = [("full", Verify::Full), ("ca", Verify::Ca), ("off", Verify::Off)];
    let tls = Tls {
        enabled: section.or("enabled", false, |value| value.boolean()),
        ca: section.get("ca").and_then(|value| value.text()).map(PathBuf::from),
        verify: section.or("verify", Verify::Full, |value| value.choice("verification", &verify)),
    };
    section.finish();
    tls
}

fn timeout(section: Section<'_>) -> Timeout {
    let default = Timeout::default();
    let shortest = Duration::from_millis(1);
    let timeout = Timeout {
        connect: section.or("connect", default.connect, |value| value.duration(shortest)),
        socket: section.or("socket", default.socket, |value| value.duration(shortest)),
        command: section.or("command", default.command, |value| value.duration(shortest)),
    };
    section.finish();
    timeout
}

/// A number for each.
pub(super) fn databases(value: &Value<'_>) -> Option<Databases> {
    let (section, default) = (value.section()?, Databases::default());
    let number = |value: Value<'_>| database(&value);
    let db = Databases {
        state: section.or("state", default.state, number),
        values: section.or("values", default.values, number),
        rankings: section.or("rankings", default.rankings, number),
        models: section.or("models", default.models, number),
    };
    section.finish();
    Some(db)
}

/// The number of a database.
pub(super) fn database(value: &Value<'_>) -> Option<u16> {
    value.whole(0..=65_535)
}
