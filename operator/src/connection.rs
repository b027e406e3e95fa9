//! The way to the API server.

use anyhow::{Context as _, Result};
use futures_util::future::BoxFuture;
use http::Request;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::Api;
use kube::client::{Body, ClientBuilder};
use kube::{Client, Config, ResourceExt};
use std::net::IpAddr;
use std::task::{Context, Poll};
use std::time::Duration;
use tower::{BoxError, Layer, Service};
use tracing::warn;

/// A request that takes longer is given up: its caller tries again. A server that is cut off does not say so.
const PATIENCE: Duration = Duration::from_secs(30);

/// The API server ends a watch after five minutes; one that is silent for longer leads nowhere.
const SILENCE: Duration = Duration::from_secs(320);

/// A client for the cluster that is configured.
///
/// # Errors
/// Where none is.
pub async fn client() -> Result<Client> {
    let mut config = Config::infer().await.context("no cluster is configured")?;
    config.read_timeout = Some(SILENCE);
    let exempt = ["NO_PROXY", "no_proxy"].iter().find_map(|name| std::env::var(name).ok()).unwrap_or_default();
    if config.cluster_url.host().is_some_and(|host| is_direct(host, &exempt)) {
        config.proxy_url = None;
    }
    let builder = ClientBuilder::try_from(config).context("the cluster's configuration cannot be used")?;
    Ok(builder.with_layer(&Limit(PATIENCE)).build())
}

/// What tells this cluster from others: the uid of a namespace that each has. Nothing where the operator may not read it: states
/// are not marked then.
///
/// # Errors
/// When the API server does not answer: without its mark a service would be refused its own state.
pub async fn cluster_id(client: &Client) -> Result<Option<String>> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    match namespaces.get("kube-system").await {
        Ok(namespace) => Ok(namespace.uid()),
        Err(kube::Error::Api(status)) if [403, 404].contains(&status.code) => {
            warn!(reason = status.message, "the namespace kube-system cannot be read");
            Ok(None)
        }
        Err(error) => Err(error).context("the API server does not say which cluster this is"),
    }
}

/// Whether a host is asked without a proxy: this machine, and what `NO_PROXY` lists: hosts, domains with all that is in
/// them, or `*`.
fn is_direct(host: &str, exempt: &str) -> bool {
    let host = host.trim_matches(['[', ']']);
    let is_here = host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback());
    let listed = |entry: &str| {
        let domain = entry.trim_start_matches("*.").trim_start_matches('.');
        entry == "*" || host == domain || host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'))
    };
    is_here || exempt.split(',').map(str::trim).filter(|entry| !entry.is_empty()).any(listed)
}

/// Gives up what is not answered in time.
#[derive(Debug, Clone, Copy)]
struct Limit(Duration);

impl<S> Layer<S> for Limit {
    type Service = Limited<S>;

    fn layer(&self, inner: S) -> Limited<S> {
        Limited { inner, limit: self.0 }
    }
}

#[derive(Debug, Clone)]
struct Limited<S> {
    inner: S,
    limit: Duration,
}

impl<S, R> Service<Request<Body>> for Limited<S>
where
    S: Service<Request<Body>, Response = R, Error: Into<BoxError>, Future: Send + 'static>,
{
    type Response = R;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<R, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (limit, what) = (self.limit, format!("{} {}", request.method(), request.uri().path()));
        let answer = self.inner.call(request);
        Box::pin(async move {
            match tokio::time::timeout(limit, answer).await {
                Ok(answer) => answer.map_err(Into::into),
                Err(_) => Err(format!("the API server does not answer within {limit:?}: {what}").into()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use tower::service_fn;

    #[tokio::test]
    async fn a_request_that_nobody_answers_is_given_up() {
        let silent = service_fn(|_: Request<Body>| std::future::pending::<Result<(), BoxError>>());
        let request = Request::get("/api/v1/pods").body(Body::empty()).unwrap();
        let error = Limit(Duration::from_millis(1)).layer(silent).call(request).await.unwrap_err();
        assert_eq!(error.to_string(), "the API server does not answer within 1ms: GET /api/v1/pods");
    }

    #[test]
    fn this_machine_and_what_is_exempt_are_asked_without_a_proxy() {
        let exempt = "10.0.0.1, .corp.example.com,api.example.org";
        for host in ["127.0.0.1", "[::1]", "localhost", "10.0.0.1", "k8s.corp.example.com", "api.example.org"] {
            assert!(is_direct(host, exempt), "{host}");
        }
        for host in ["10.0.0.2", "notcorp.example.com", "api.example.com", "example.org"] {
            assert!(!is_direct(host, exempt), "{host}");
        }
        assert!(is_direct("anything", "*") && !is_direct("anything", ""));
    }

    #[tokio::test]
    async fn an_answer_is_handed_on() {
        let quick = service_fn(|_: Request<Body>| async { Ok::<_, BoxError>(7) });
        let request = Request::get("/version").body(Body::empty()).unwrap();
        assert_eq!(Limit(PATIENCE).layer(quick).call(request).await.unwrap(), 7);
    }
}
