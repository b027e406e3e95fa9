//! Files of the web: one request for each, over HTTPS, which follows where it is sent.
//!
//! Proxies are not asked. Addresses are those of the hub, and those to which it sends.

use super::elsewhere::Pieces;
use crate::client::{Client, Error};
use futures_util::future::BoxFuture;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::LOCATION;
use hyper::{Request, Response, StatusCode, Uri};
use rankwright_encoder::FetchError;
use rankwright_object::Bytes;
use std::time::Duration;
use tokio::time::timeout;

/// For a connection, for the head of an answer, and for each piece of its body.
const PATIENCE: Duration = Duration::from_secs(30);
/// So often a request is sent elsewhere.
const HOPS: usize = 5;

/// Sends the pieces of the file at this address, or that there is none.
pub(super) fn get<'a>(address: &'a str, to: &'a Pieces) -> BoxFuture<'a, Result<(), FetchError>> {
    Box::pin(async move {
        let mut address: Uri = address.parse()?;
        let client = Client::new(PATIENCE);
        for _ in 0..=HOPS {
            let answer =
                client.send(&address, Request::new(Full::default())).await.map_err(|error| told(error, &address))?;
            match answer.status() {
                StatusCode::OK => return copied(answer.into_body(), to).await,
                StatusCode::NOT_FOUND => return Ok(to.send(Ok(None)).await?),
                status if status.is_redirection() => address = next(&address, &answer)?,
                // the hub answers so for names that it does not have
                StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                    let host = address.host().unwrap_or_default();
                    return Err(format!("{host} has no such model, or does not give it to everyone: put its files into RANKWRIGHT_MODELS_DIR").into());
                }
                status => return Err(format!("{} answered {status}", address.host().unwrap_or_default()).into()),
            }
        }
        Err(format!("it redirects more than {HOPS} times").into())
    })
}

/// Why there is no answer, and what to do.
fn told(error: Error, address: &Uri) -> FetchError {
    let host = address.host().unwrap_or_default();
    match error {
        Error::Unreachable(reason) => format!(
            "{host} cannot be reached ({reason}): put the model's files into RANKWRIGHT_MODELS_DIR, or check the network"
        )
        .into(),
        Error::Late => error.to_string().into(),
        Error::Other(error) => error,
    }
}

/// Where an answer sends to; what was encrypted stays so.
fn next(address: &Uri, answer: &Response<Incoming>) -> Result<Uri, FetchError> {
    let location = answer.headers().get(LOCATION).ok_or("it redirects without a location")?.to_str()?;
    let next: Uri = location.parse()?;
    let mut parts = next.into_parts();
    if parts.authority.is_none() {
        parts.authority = address.authority().cloned();
        parts.scheme = address.scheme().cloned();
    }
    let next = Uri::from_parts(parts)?;
    match (address.scheme_str(), next.scheme_str()) {
        (Some("https"), Some("https")) | (Some("http"), Some("http" | "https")) => Ok(next),
        _ => Err("it redirects to an address without encryption".into()),
    }
}

async fn copied(mut body: Incoming, to: &Pieces) -> Result<(), FetchError> {
    to.send(Ok(Some(Bytes::new()))).await?;
    while let Some(frame) = timeout(PATIENCE, body.frame()).await.map_err(|_| "the download stopped")? {
        let frame = frame.map_err(|error| format!("the connection broke off ({error})"))?;
        if let Ok(piece) = frame.into_data() {
            to.send(Ok(Some(piece))).await?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::encoders::elsewhere::Elsewhere;
    use rankwright_encoder::Fetch;
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener};
    use std::thread;

    /// Answers each request by its path.
    fn hub() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut head = [0; 4096];
                let read = stream.read(&mut head).unwrap();
                let head = String::from_utf8_lossy(&head[..read]).into_owned();
                let (status, rest) = match head.split(' ').nth(1).unwrap() {
                    "/file" => ("200 OK", "Content-Length: 5\r\n\r\nbytes"),
                    "/empty" => ("200 OK", "Content-Length: 0\r\n\r\n"),
                    "/cut" => ("200 OK", "Content-Length: 500\r\n\r\nbytes"),
                    "/moved" => ("307 Temporary Redirect", "Location: /file\r\nContent-Length: 0\r\n\r\n"),
                    "/round" => ("302 Found", "Location: /round\r\nContent-Length: 0\r\n\r\n"),
                    "/private" => ("401 Unauthorized", "Content-Length: 0\r\n\r\n"),
                    "/broken" => ("502 Bad Gateway", "Content-Length: 0\r\n\r\n"),
                    _ => ("404 Not Found", "Content-Length: 0\r\n\r\n"),
                };
                let _ = write!(stream, "HTTP/1.1 {status}\r\nConnection: close\r\n{rest}");
            }
        });
        address
    }

    fn get(path: &str) -> Result<Option<String>, String> {
        let mut to = Vec::new();
        let found = Elsewhere::default().get(&format!("http://{}{path}", hub()), &mut to);
        let found = found.map_err(|error| error.to_string())?;
        Ok(found.then(|| String::from_utf8(to).unwrap()))
    }

    #[test]
    fn files_come_from_where_the_hub_sends() {
        assert_eq!(get("/file"), Ok(Some("bytes".to_owned())));
        assert_eq!(get("/moved"), Ok(Some("bytes".to_owned())));
        assert_eq!(get("/empty"), Ok(Some(String::new())));
        assert_eq!(get("/none"), Ok(None));
    }

    #[test]
    fn what_does_not_come_says_why() {
        for (path, told) in [
            ("/cut", "broke off"),
            ("/round", "more than 5 times"),
            ("/private", "does not give it to everyone"),
            ("/broken", "502"),
        ] {
            let error = get(path).unwrap_err();
            assert!(error.contains(told), "{path}: {error}");
        }
        let error = Elsewhere::default().get("http://127.0.0.1:1/x", &mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains("cannot be reached") && error.contains("RANKWRIGHT_MODELS_DIR"), "{error}");
    }
}
