//! Reads a request's body, within limits of size and time.

use crate::app::App;
use crate::gate::{Place, Reserved, Room, SMALL, SMALL_EACH};
use crate::http::encoding::{Encoding, Undecodable};
use crate::http::failure::{Code, Failure};
use crate::http::rank::overloaded;
use crate::http::traced;
use crate::metrics::Refusal;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::header;
use http_body_util::BodyExt;
use std::time::Duration;
use tokio::time::timeout;

#[derive(Debug)]
enum Broken {
    TooLarge,
    NoRoom,
    Cut(axum::Error),
}

/// Receives the body, and then takes a place among the running requests.
pub(super) async fn admit(app: &App, request: Request) -> Result<(Place, Bytes), Failure> {
    if app.gate().is_full() {
        return Err(overloaded(app));
    }
    let _receiving = traced::span(&request).child("receive");
    let encoding = Encoding::of(request.headers())?;
    let arriving = app.arrivals().enter(request.body().size_hint().exact());
    let arriving = arriving.ok_or_else(|| crowded(app))?;
    let (body, arrived) = read(app, request).await?;
    drop(arriving);
    let place = app.gate().enter().ok_or_else(|| overloaded(app))?;
    match encoding {
        None => match arrived {
            None => Ok((place, body)),
            Some(arrived) => Ok((place.with(arrived), body)),
        },
        Some(encoding) => {
            // a small body may become a large one, and many of them come at once
            let room = timeout(patience(app), app.room().reserve()).await;
            let mut room = room.map_err(|_| overloaded(app))?;
            let body = decoded(app, encoding, body).await?;
            room.shrink_to(body.len());
            drop(arrived);
            Ok((place.with(room), body))
        }
    }
}

/// How long a body waits for room; the rest of the request's time is for the client.
fn patience(app: &App) -> Duration {
    app.limits().api.request_timeout / 2
}

/// The decoded body. Its limit is the same as for a body that is not compressed.
async fn decoded(app: &App, encoding: Encoding, body: Bytes) -> Result<Bytes, Failure> {
    let most = app.limits().api.max_body_bytes;
    app.pool().run(async move { encoding.decode(&body, most) }).await?.map_err(|undecodable| match undecodable {
        Undecodable::TooLarge => too_large(app),
        Undecodable::Broken(error) => {
            Failure::invalid(format!("the body is not what Content-Encoding says: {error}"), "")
        }
    })
}

/// Refuses a request without its body, because too many other bodies are still being received.
fn crowded(app: &App) -> Failure {
    app.metrics().refused(Refusal::Overload);
    let most = app.limits().api.max_concurrent_requests;
    Failure::overloaded(format!(
        "too many bodies are being received: for each of the {most} requests that may run at once \
         (api.limits.maxConcurrentRequests), one large body is received, and {SMALL_EACH} of up to 64 KiB"
    ))
}

/// Refuses a request whose body did not arrive, because other large bodies take all the memory.
fn no_room(app: &App) -> Failure {
    app.metrics().refused(Refusal::Overload);
    Failure::overloaded("too many large bodies are being received or processed: they take as much memory as they may")
}

/// The whole body, and the room that it takes where it is large.
async fn read(app: &App, request: Request) -> Result<(Bytes, Option<Reserved>), Failure> {
    let limits = app.limits().api;
    let announced = announced_len(&request);
    let mut body = request.into_body();
    let outcome = match announced {
        Some(len) if len > limits.max_body_bytes as u64 => Ok(Err(Broken::TooLarge)),
        _ => {
            let collected = collect(&mut body, limits.max_body_bytes, app.arrived(), patience(app));
            timeout(limits.request_timeout, collected).await
        }
    };
    match outcome {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(Broken::NoRoom)) => Err(no_room(app)),
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

/// A body of one piece is taken as it is, without a copy. One that turns out large waits for room before more of it is read: until
/// then it holds none, however much of it is announced.
async fn collect(
    body: &mut Body,
    most: usize,
    room: &Room,
    patience: Duration,
) -> Result<(Bytes, Option<Reserved>), Broken> {
    let first = next(body).await?.unwrap_or_default();
    if first.len() > most {
        return Err(Broken::TooLarge);
    }
    let Some(second) = next(body).await? else { return Ok((first, None)) };
    let mut all = Vec::from(first);
    let (mut piece, mut reserved) = (Some(second), None);
    while let Some(bytes) = piece {
        let len = all.len() + bytes.len();
        if len > most {
            return Err(Broken::TooLarge);
        }
        if len as u64 > SMALL && reserved.is_none() {
            let announced = exact(body).map_or(most, |rest| len.saturating_add(rest).min(most));
            reserved = Some(timeout(patience, room.reserve_for(announced)).await.map_err(|_| Broken::NoRoom)?);
            all.reserve_exact(exact(body).map_or(bytes.len(), |_| announced - all.len()));
        }
        all.extend_from_slice(&bytes);
        piece = next(body).await?;
    }
    if let Some(reserved) = &mut reserved {
        reserved.shrink_to(all.len());
    }
    Ok((all.into(), reserved))
}

/// How much of a body is to come, where its client has said how long it is.
fn exact(body: &Body) -> Option<usize> {
    usize::try_from(body.size_hint().exact()?).ok()
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

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::{StreamExt, stream};
    use std::convert::Infallible;

    const MIB: usize = 1 << 20;
    const PIECE: usize = 16 << 10;
    const PATIENCE: Duration = Duration::from_secs(15);

    /// So many bytes in pieces, behind which the end comes, or nothing.
    fn body(bytes: usize, stalls: bool) -> Body {
        let pieces = vec![Ok::<_, Infallible>(Bytes::from(vec![0; PIECE])); bytes / PIECE];
        let pieces = stream::iter(pieces);
        if stalls { Body::from_stream(pieces.chain(stream::pending())) } else { Body::from_stream(pieces) }
    }

    #[tokio::test(start_paused = true)]
    async fn large_bodies_arrive_as_far_as_there_is_room_and_small_ones_anyhow() {
        let room = Room::new(MIB);
        let stalls = || Box::pin(async { collect(&mut body(MIB / 2, true), MIB, &room, PATIENCE).await.is_ok() });
        let mut stalling = [stalls(), stalls(), stalls(), stalls()];
        for one in &mut stalling {
            assert!(timeout(Duration::from_secs(1), one).await.is_err(), "it does not come to its end");
        }
        let arrives = async |bytes: usize| collect(&mut body(bytes, false), MIB, &room, PATIENCE).await;
        assert!(matches!(arrives(MIB / 2).await, Err(Broken::NoRoom)));
        assert!(matches!(arrives(4 * PIECE).await, Ok((bytes, None)) if bytes.len() == 4 * PIECE));
        assert!(matches!(arrives(PIECE).await, Ok((bytes, None)) if bytes.len() == PIECE));
        drop(stalling);
        let mut held = Vec::new();
        for _ in 0..7 {
            held.push(arrives(MIB / 2).await);
        }
        let whole = |body: &Result<(Bytes, Option<Reserved>), Broken>| matches!(body, Ok((bytes, Some(_))) if bytes.len() == MIB / 2);
        assert!(held.iter().all(whole), "each holds what it takes, and room for a large one was left");
        assert!(matches!(arrives(MIB / 2).await, Err(Broken::NoRoom)));
    }
}
