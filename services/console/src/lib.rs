//! The page for browsers: the files of `dist`, which are part of the program, with their headers.
//!
//! The page asks the interface of the service alone, as any other client does. Nothing but pictures of items comes from
//! elsewhere, and those from the origins that the configuration names.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use std::sync::Arc;

mod dist {
    include!(concat!(env!("OUT_DIR"), "/dist.rs"));
}

/// Names of assets change with what they hold.
const FOR_EVER: &str = "public, max-age=31536000, immutable";
/// Asked for each time, so that a new program shows its own page.
const ASK_AGAIN: &str = "no-cache";

/// What all requests for the page share.
struct Console {
    policy: HeaderValue,
    page: File,
    assets: Vec<(&'static str, File)>,
}

/// A file as it is, and compressed.
struct File {
    kind: &'static str,
    plain: Bytes,
    gzip: Bytes,
}

/// `GET /`, the page, and `GET /assets/{file}`, what it loads. Pictures may come from these origins.
pub fn router(image_origins: &[String]) -> Router {
    let files = dist::ASSETS.iter().map(|(name, bytes)| (*name, File::new(name, bytes)));
    let page = File::new("index.html", dist::INDEX);
    let console = Console { policy: policy(image_origins), page, assets: files.collect() };
    Router::new().route("/", get(page_of)).route("/assets/{file}", get(asset)).with_state(Arc::new(console))
}

async fn page_of(State(console): State<Arc<Console>>, headers: HeaderMap) -> Response {
    let mut answer = console.page.answer(&headers, ASK_AGAIN);
    answer.headers_mut().insert(header::CONTENT_SECURITY_POLICY, console.policy.clone());
    answer.headers_mut().append(header::VARY, HeaderValue::from_static("Accept"));
    answer
}

async fn asset(State(console): State<Arc<Console>>, Path(name): Path<String>, headers: HeaderMap) -> Response {
    match console.assets.iter().find(|(asset, _)| *asset == name) {
        Some((_, file)) => file.answer(&headers, FOR_EVER),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// What the page may load, and from where.
fn policy(image_origins: &[String]) -> HeaderValue {
    let pictures: String = image_origins.iter().map(|origin| format!(" {origin}")).collect();
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:{pictures}; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    HeaderValue::from_str(&policy).expect("an origin of a checked configuration is ASCII")
}

impl File {
    fn new(name: &str, plain: &'static [u8]) -> Self {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        let written = encoder.write_all(plain).and_then(|()| encoder.finish());
        let gzip = written.expect("a vector takes any number of bytes").into();
        Self { kind: kind(name), plain: Bytes::from_static(plain), gzip }
    }

    fn answer(&self, asked: &HeaderMap, cache: &'static str) -> Response {
        let gzip = takes_gzip(asked);
        let body = if gzip { &self.gzip } else { &self.plain };
        let headers = [
            (header::CONTENT_TYPE, self.kind),
            (header::CACHE_CONTROL, cache),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::REFERRER_POLICY, "no-referrer"),
            (header::VARY, "Accept-Encoding"),
        ];
        let encoding = gzip.then_some((header::CONTENT_ENCODING, "gzip"));
        let headers = headers.into_iter().chain(encoding);
        let headers: HeaderMap = headers.map(|(name, value)| (name, HeaderValue::from_static(value))).collect();
        (headers, Body::from(body.clone())).into_response()
    }
}

/// The type of a file, by the end of its name.
fn kind(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, end)| end) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("woff2") => "font/woff2",
        _ => "application/octet-stream",
    }
}

/// Whether a client takes gzip, without `q=0`.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|coding| {
        let (name, quality) = coding.split_once(';').unwrap_or((coding, ""));
        let none = quality.trim().strip_prefix("q=").is_some_and(|q| q.parse() == Ok(0.0));
        name.trim().eq_ignore_ascii_case("gzip") && !none
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use axum::body::to_bytes;
    use axum::http::{HeaderName, Request};
    use flate2::read::GzDecoder;
    use std::io::Read;
    use tower::ServiceExt;

    async fn ask(path: &str, encoding: &str) -> (StatusCode, HeaderMap, Vec<u8>) {
        let origins = ["https://cdn.example".to_owned(), "https://b.example".to_owned()];
        let request = Request::builder().uri(path).header(header::ACCEPT_ENCODING, encoding).body(Body::empty());
        let (head, body) = router(&origins).oneshot(request.unwrap()).await.unwrap().into_parts();
        (head.status, head.headers, to_bytes(body, usize::MAX).await.unwrap().to_vec())
    }

    fn text(headers: &HeaderMap, name: HeaderName) -> String {
        let values: Vec<_> = headers.get_all(name).iter().map(|value| value.to_str().unwrap()).collect();
        values.join(", ")
    }

    #[tokio::test]
    async fn the_page_has_its_headers() {
        let (status, headers, body) = ask("/", "identity").await;
        assert_eq!((status, &*body), (StatusCode::OK, dist::INDEX));
        assert_eq!(text(&headers, header::CONTENT_TYPE), "text/html; charset=utf-8");
        assert_eq!(
            text(&headers, header::CONTENT_SECURITY_POLICY),
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: \
             https://cdn.example https://b.example; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        );
        assert_eq!(text(&headers, header::CACHE_CONTROL), "no-cache");
        assert_eq!(text(&headers, header::X_CONTENT_TYPE_OPTIONS), "nosniff");
        assert_eq!(text(&headers, header::REFERRER_POLICY), "no-referrer");
        assert_eq!(text(&headers, header::VARY), "Accept-Encoding, Accept");
    }

    #[tokio::test]
    async fn files_are_compressed_for_clients_that_take_it() {
        let (_, headers, body) = ask("/", "br, gzip").await;
        assert_eq!(text(&headers, header::CONTENT_ENCODING), "gzip");
        let mut plain = Vec::new();
        GzDecoder::new(&*body).read_to_end(&mut plain).unwrap();
        assert_eq!(plain, dist::INDEX);
        for encoding in ["", "br", "gzip;q=0", "gzip; q=0.0"] {
            assert!(!ask("/", encoding).await.1.contains_key(header::CONTENT_ENCODING), "{encoding}");
        }
    }

    #[tokio::test]
    async fn assets_are_kept_for_ever_and_no_other_file_is_given() {
        for (name, bytes) in dist::ASSETS {
            let (status, headers, body) = ask(&format!("/assets/{name}"), "identity").await;
            assert_eq!((status, &*body), (StatusCode::OK, *bytes));
            assert_eq!(text(&headers, header::CACHE_CONTROL), FOR_EVER);
            assert_ne!(kind(name), "application/octet-stream", "{name}");
            assert!(name.contains('-'), "the name of {name} changes with what it holds");
        }
        for other in ["main.js", "..%2Findex.html", "index.html"] {
            assert_eq!(ask(&format!("/assets/{other}"), "").await.0, StatusCode::NOT_FOUND, "{other}");
        }
    }
}
