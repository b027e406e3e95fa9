//! `api` and `core`.

use crate::Core;
use crate::api::{Api, Limits, Page, PageItem, Tls};
use crate::core::{Clickthrough, Ingest, Tracking};
use crate::secret::Secret;
use crate::section::Section;
use crate::value::Value;
use std::path::PathBuf;
use std::time::Duration;

const MILLISECOND: Duration = Duration::from_millis(1);

pub(super) fn api(section: Section<'_>) -> Api {
    let default = Api::default();
    let timeout = section.get("timeout").and_then(|value| value.duration(MILLISECOND)); // another name of a limit
    let usual = Limits { request_timeout: timeout.unwrap_or(default.limits.request_timeout), ..default.limits };
    let api = Api {
        host: section.or("host", default.host, |value| value.text()),
        port: section.or("port", default.port, |value| value.whole(0..=65_535)),
        token: section.get("token").and_then(|value| token(&value)),
        limits: limits(section.filled("limits"), usual),
        tls: section.section("tls").and_then(tls),
        allowed_origins: section.section("cors").map(cors).unwrap_or_default(),
        page: page(section.filled("page")),
    };
    section.ignored(&[("analytics", "nothing is sent anywhere")]);
    section.finish();
    api
}

/// A token of blanks alone would let everyone in who sends none.
fn token(value: &Value<'_>) -> Option<Secret> {
    let text = value.text()?;
    if text.trim().is_empty() { value.other("a text that is not blank") } else { Some(Secret::from(text)) }
}

fn cors(section: Section<'_>) -> Vec<String> {
    let origins = section.get("allowedOrigins").map(|value| value.one_or_more(ORIGIN)).unwrap_or_default();
    section.finish();
    origins.iter().filter_map(origin).collect()
}

const ORIGIN: &str = "an origin such as `https://shop.example` or `http://localhost:3000`, or `*` for all";

/// An origin as browsers spell it: in lower case, without the usual port, without a path.
fn origin(value: &Value<'_>) -> Option<String> {
    let text = value.text()?.to_lowercase();
    let host = |scheme, port| {
        let host: &str = text.strip_prefix(scheme)?;
        let host = host.strip_suffix('/').unwrap_or(host);
        let host = host.strip_suffix(port).unwrap_or(host);
        (!host.is_empty() && !host.contains(['/', '@', '?', '#', ' ', '*'])).then(|| format!("{scheme}{host}"))
    };
    match text.as_str() {
        "*" => Some(text),
        _ => host("https://", ":443").or_else(|| host("http://", ":80")).or_else(|| value.other(ORIGIN)),
    }
}

fn page(section: Section<'_>) -> Page {
    let default = Page::default();
    let page = Page {
        enabled: section.or("enabled", default.enabled, |value| value.boolean().map(Some)),
        sample: section.or("sample", default.sample, |value| value.whole(0..=1000)),
        show_ids: section.or("showIds", default.show_ids, |value| value.boolean()),
        item: section.get("item").and_then(|value| value.section()).map(page_item),
        image_origins: section.or("imageOrigins", default.image_origins, |value| Some(image_origins(&value))),
    };
    section.finish();
    page
}

fn page_item(section: Section<'_>) -> PageItem {
    let field = |key| section.or(key, None, |value| value.text().map(Some));
    let item = PageItem { title: field("title"), price: field("price"), image: field("image") };
    section.finish();
    item
}

fn image_origins(value: &Value<'_>) -> Vec<String> {
    let mut origins: Vec<_> = value.one_or_none_or_more(IMAGE_ORIGIN).iter().filter_map(image_origin).collect();
    origins.dedup();
    origins
}

const IMAGE_ORIGIN: &str = "an origin such as `https://cdn.shop.example`, or `*` for all";

/// An origin that can stand in a content security policy.
fn image_origin(value: &Value<'_>) -> Option<String> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-.:/[]*".contains(letter);
    origin(value).and_then(|origin| if origin.chars().all(plain) { Some(origin) } else { value.other(IMAGE_ORIGIN) })
}

fn tls(section: Section<'_>) -> Option<Tls> {
    let file = |key, what| section.required(key, what).and_then(|value| value.text()).map(PathBuf::from);
    let (cert, key) = (file("cert", "a file with the certificate, as PEM"), file("key", "a file with its key, as PEM"));
    section.finish();
    Some(Tls { cert: cert?, key: key? })
}

fn limits(section: Section<'_>, default: Limits) -> Limits {
    let limits = Limits {
        max_body_bytes: section.or("maxBodyBytes", default.max_body_bytes, |value| value.whole(1024..=1 << 40)),
        max_items_per_request: section
            .or("maxItemsPerRequest", default.max_items_per_request, |value| value.whole(1..=10_000_000)),
        max_events_per_batch: section
            .or("maxEventsPerBatch", default.max_events_per_batch, |value| value.whole(1..=1_000_000_000)),
        max_concurrent_requests: section
            .or("maxConcurrentRequests", default.max_concurrent_requests, |value| value.whole(1..=1_000_000)),
        max_connections: section.or("maxConnections", default.max_connections, |value| value.whole(1..=1_000_000)),
        request_timeout: section.or("requestTimeout", default.request_timeout, |value| value.duration(MILLISECOND)),
        text_timeout: section.or("textTimeout", default.text_timeout, |value| value.duration(MILLISECOND)),
        drain_timeout: section.or("drainTimeout", default.drain_timeout, |value| value.duration(Duration::ZERO)),
    };
    section.finish();
    limits
}

pub(super) fn core(section: Section<'_>) -> Core {
    let core = Core {
        clickthrough: clickthrough(section.filled("clickthrough")),
        ingest: ingest(section.filled("ingest")),
        tracking: tracking(section.filled("tracking")),
    };
    if let Some(import) = section.section("import") {
        import.ignored(&[("cache", "an import holds what it needs in memory")]);
        import.finish();
    }
    section.finish();
    core
}

fn clickthrough(section: Section<'_>) -> Clickthrough {
    let default = Clickthrough::default();
    let clickthrough = Clickthrough {
        max_parallel_sessions: section
            .or("maxParallelSessions", default.max_parallel_sessions, |value| value.whole(1..=1_000_000_000)),
        max_open_bytes: section.or("maxOpenBytes", default.max_open_bytes, |value| value.whole(1 << 20..=1 << 50)),
        max_session_length: section.or("maxSessionLength", default.max_session_length, |v| v.duration(MILLISECOND)),
        ranking_wait: section.or("rankingWait", default.ranking_wait, |value| value.duration(Duration::ZERO)),
    };
    section.finish();
    clickthrough
}

fn ingest(section: Section<'_>) -> Ingest {
    let default = Ingest::default();
    let ingest = Ingest {
        event_id_window: section.or("eventIdWindow", default.event_id_window, |value| value.duration(Duration::ZERO)),
        max_ahead: section.or("maxAhead", default.max_ahead, |value| value.duration(Duration::ZERO)),
    };
    section.finish();
    ingest
}

fn tracking(section: Section<'_>) -> Tracking {
    let tracking = Tracking {
        analytics: section.or("analytics", true, |value| value.boolean()),
        errors: section.or("errors", true, |value| value.boolean()),
    };
    section.ignored(&[("anonymous", "nothing is sent anywhere")]);
    section.finish();
    tracking
}
