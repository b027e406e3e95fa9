//! Reading a request's body: so large, so long, and no more.

use crate::app::App;
use crate::gate::Place;
use crate::http::encoding::{Encoding, Undecodable};
use crate::http::failure::{Code, Failure};
use crate::http::rank::overloaded;
use crate::http::traced;
use crate::metrics::Refusal;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::header;
use http_body_util::BodyExt;
use tokio::time::timeout;

enum Broken {
    TooLarge,
    Cut(axum::Error),
}

/// A place among those that are worked on, and the body, which is waited for before.
pub(super) async fn admit(app: &App, request: Request) -> Result<(Place, Bytes), Failure> {
    if app.gate().is_full() {
        return Err(overloaded(app));
    }
    let _receiving = traced::span(&request).child("receive");
    let encoding = Encoding::of(request.headers())?;
    let arriving = app.arrivals().enter(request.body().size_hint().exact());
    let arriving = arriving.ok_or_else(|| crowded(app))?;
    let body = read(app, request).await?;
    drop(arriving);
    let place = app.gate().enter().ok_or_else(|| overloaded(app))?;
    match encoding {
        None => Ok((place, body)),
        Some(encoding) => {
            // a small body may become a large one, and many of them come at once
            let room = timeout(app.limits().api.request_timeout, app.room().reserve()).await;
            let mut room = room.map_err(|_| overloaded(app))?;
            let body = decoded(app, encoding, body).await?;
            room.shrink_to(body.len());
            Ok((place.with(room), body))
        }
    }
}

/// The body as it was before it was encoded, which is no larger than one that was not.
async fn decoded(app: &App, encoding: Encoding, body: Bytes) -> Result<Bytes, Failure> {
    let most = app.limits().api.max_body_bytes;
    app.pool().run(async move { encoding.decode(&body, most) }).await?.map_err(|undecodable| match undecodable {
        Undecodable::TooLarge => too_large(app),
        Undecodable::Broken(error) => {
            Failure::invalid(format!("the body is not what Content-Encoding says: {error}"), "")
        }
    })
}

/// A request whose body nobody waits for, as those of so many others are still on their way.
fn crowded(app: &App) -> Failure {
    app.metrics().refused(Refusal::Overload);
    let most = app.limits().api.max_concurrent_requests;
    Failure::overloaded(format!(
        "too many bodies are on their way already: for each request that may be worked on at once ({most}, \
         api.limits.maxConcurrentRequests), one large body is waited for, and 16 of up to 64 KiB"
    ))
}

/// The whole body.
async fn read(app: &App, request: Request) -> Result<Bytes, Failure> {
    let limits = app.limits().api;
    let announced = announced_len(&request);
    let mut body = request.into_body();
    let outcome = match announced {
        Some(len) if len > limits.max_body_bytes as u64 => Ok(Err(Broken::TooLarge)),
        _ => timeout(limits.request_timeout, collect(&mut body, limits.max_body_bytes)).await,
    };
    match outcome {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(Broken::Cut(error))) => Err(Failure::invalid(format!("the body could not be read: {error}"), "")),
        Ok(Err(Broken::TooLarge)) => Err(too_large(app)),
        Err(_) => {
            app.metrics().refused(Refusal::Time);
            Err(Failure::new(Code::RequestTimeout, "the body did not arrive in time"))
        }
    }
}

fn announced_len(request: &Request) -> Option<u64> {
    request.headers().get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn too_large(app: &App) -> Failure {
    app.metrics().refused(Refusal::Size);
    let most = app.limits().api.max_body_bytes;
    Failure::new(Code::TooLarge, format!("the body is larger than {most} bytes (api.limits.maxBodyBytes)"))
}

/// A body of one piece is taken as it is, without a copy.
async fn collect(body: &mut Body, most: usize) -> Result<Bytes, Broken> {
    let first = next(body).await?.unwrap_or_default();
    if first.len() > most {
        return Err(Broken::TooLarge);
    }
    let Some(second) = next(body).await? else { return Ok(first) };
    let mut all = Vec::with_capacity((first.len() + second.len()).max(expected(body)).min(most));
    all.extend_from_slice(&first);
    let mut piece = Some(second);
    while let Some(bytes) = piece {
        if all.len() + bytes.len() > most {
            return Err(Broken::TooLarge);
        }
        all.extend_from_slice(&bytes);
        piece = next(body).await?;
    }
    Ok(all.into())
}

fn expected(body: &Body) -> usize {
    usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX)
}

/// The next piece of data; trailers are skipped.
async fn next(body: &mut Body) -> Result<Option<Bytes>, Broken> {
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.map_err(Broken::Cut)?.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}
