//! The limit that benchmarks show beside the service: the same server with a handler that only reads a body and answers
//! with `bytes` bytes (`POST /?bytes=6000`). Listens on the address given as the first argument.

use axum::Router;
use axum::body::Bytes;
use axum::extract::RawQuery;
use axum::routing::post;
use rankwright_serve::metrics::ConnectionMetrics;
use rankwright_serve::server::{Connections, Timing, serve, stop_signal};

async fn echo(RawQuery(query): RawQuery, body: Bytes) -> Vec<u8> {
    let bytes = query.as_deref().and_then(|query| query.strip_prefix("bytes=")?.parse().ok()).unwrap_or(body.len());
    vec![b' '; bytes.min(1 << 20)]
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let listener = tokio::net::TcpListener::bind(address).await?;
    let connections = Connections::new(10_000, ConnectionMetrics::new().map_err(std::io::Error::other)?);
    let router = Router::new().route("/", post(echo));
    serve(router, listener, None, stop_signal(), Timing::default(), connections).await
}
