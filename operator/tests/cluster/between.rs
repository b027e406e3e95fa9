//! What a test does to the requests of an operator, on their way to the API server and back.

use futures_util::future::BoxFuture;
use kube::client::Body;
use std::task::{Context, Poll};
use tower::{BoxError, Layer, Service};

/// What is still to be done when an answer has come, before the operator sees it; an error takes its place.
pub(crate) type Then = BoxFuture<'static, Result<(), BoxError>>;

/// Who stands between an operator and the API server.
pub(crate) trait Meddles: Clone {
    /// Looks at a request.
    ///
    /// # Errors
    /// With what the operator sees in place of an answer: the request does not get to the API server.
    fn meddle(&self, request: &http::Request<Body>) -> Result<Then, BoxError>;
}

/// The layer that puts it there.
#[derive(Clone)]
pub(crate) struct Between<M>(pub(crate) M);

#[derive(Clone)]
pub(crate) struct Meddled<S, M> {
    inner: S,
    meddler: M,
}

impl<S, M: Meddles> Layer<S> for Between<M> {
    type Service = Meddled<S, M>;

    fn layer(&self, inner: S) -> Self::Service {
        Meddled { inner, meddler: self.0.clone() }
    }
}

impl<S, B, M> Service<http::Request<Body>> for Meddled<S, M>
where
    S: Service<http::Request<Body>, Response = http::Response<B>>,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
    B: Send,
    M: Meddles,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let then = match self.meddler.meddle(&request) {
            Ok(then) => then,
            Err(error) => return Box::pin(async { Err(error) }),
        };
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await.map_err(Into::into)?;
            then.await?;
            Ok(answer)
        })
    }
}
