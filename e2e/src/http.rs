//! As much of HTTP/1.1 as a test needs: one request on a connection of its own, the whole answer in memory.

use serde_json::Value;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// Longer than any answer takes, training included.
const PATIENCE: Duration = Duration::from_secs(300);

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// Names in lower case, in the order they came.
    pub headers: Vec<(String, String)>,
    /// The body, which is text in all of the service's answers.
    pub text: String,
}

impl Answer {
    /// The body as JSON.
    ///
    /// # Panics
    /// When it is none.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error} in the answer {self:?}"))
    }

    /// The answer, if it is a success.
    ///
    /// # Panics
    /// When it is none, with the answer.
    pub fn ok(self) -> Self {
        assert_eq!(self.status, 200, "{}", self.text);
        self
    }

    /// Code, message and path of a refusal; empty where there is none.
    pub fn refusal(&self) -> (String, String, String) {
        let error = &self.json()["error"];
        let part = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
        (part("code"), part("message"), part("path"))
    }
}

/// Sends a request without a body.
///
/// # Errors
/// The connection breaks, or what comes is no answer.
pub fn get(address: SocketAddr, path: &str) -> io::Result<Answer> {
    send(address, &request("GET", path, b""))
}

/// Sends a JSON body.
///
/// # Errors
/// As [`get`].
pub fn post(address: SocketAddr, path: &str, body: &[u8]) -> io::Result<Answer> {
    send(address, &request("POST", path, body))
}

/// The bytes of a request that asks for the connection to be closed after it.
pub fn request(method: &str, path: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// Sends a whole request as bytes, and reads what comes until the other side closes.
///
/// # Errors
/// As [`get`]; a server that refuses a request before it has read all of it gives its answer all the same.
pub fn send(address: SocketAddr, bytes: &[u8]) -> io::Result<Answer> {
    exchange(address, bytes, |_| ())
}

/// Sends bytes that may be no whole request, and lets the server know that no more will come.
///
/// # Errors
/// As [`get`]; no answer at all is one.
pub fn send_and_hang_up(address: SocketAddr, bytes: &[u8]) -> io::Result<Answer> {
    // the other side may have closed first
    exchange(address, bytes, |stream| drop(stream.shutdown(Shutdown::Write)))
}

fn exchange(address: SocketAddr, bytes: &[u8], after: impl FnOnce(&TcpStream)) -> io::Result<Answer> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let written = stream.write_all(bytes);
    after(&stream);
    let mut all = Vec::new();
    match (stream.read_to_end(&mut all), written) {
        (Err(error), _) | (_, Err(error)) if all.is_empty() => Err(error),
        _ => answer(&all),
    }
}

fn answer(bytes: &[u8]) -> io::Result<Answer> {
    let broken = |what: &str| io::Error::new(io::ErrorKind::InvalidData, format!("{what} in {:?}", shown(bytes)));
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").ok_or_else(|| broken("no end of the head"))?;
    let head = std::str::from_utf8(&bytes[..end]).map_err(|_| broken("a head that is no text"))?;
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
    let headers = lines.filter_map(|line| line.split_once(':'));
    let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()));
    let headers: Vec<(String, String)> = headers.collect();
    // what a server made of bytes behind the request may follow the body
    let length = headers.iter().find_map(|(name, value)| (name == "content-length").then(|| value.parse().ok())?);
    let body = bytes.get(end + 4..).and_then(|rest| rest.get(..length.unwrap_or(rest.len())));
    let body = body.ok_or_else(|| broken("not the whole body"))?;
    let text = String::from_utf8(body.to_vec()).map_err(|_| broken("a body that is no text"))?;
    Ok(Answer { status: status.ok_or_else(|| broken("no status"))?, headers, text })
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned()
}
