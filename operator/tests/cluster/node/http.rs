//! Requests to rank servers, each on a connection of its own unless it is said otherwise.

mod kept;

use crate::cluster::PATIENCE;
use kept::Kept;
use serde_json::Value;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

/// For an answer.
const LIMIT: Duration = Duration::from_secs(60);

/// Status and body of the answer.
pub(super) async fn post(address: &str, path: &str, body: &Value) -> io::Result<(u16, Value)> {
    let answered = async {
        let mut stream = TcpStream::connect(address).await?;
        let body = body.to_string();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n"
        );
        stream.write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        let invalid = || io::Error::new(io::ErrorKind::InvalidData, answer.clone());
        let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(invalid)?;
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).ok_or_else(invalid)?;
        Ok((status, serde_json::from_str(body).map_err(|_| invalid())?))
    };
    tokio::time::timeout(LIMIT, answered).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// The same, once the address answers: a Service takes a second to be known on all nodes.
pub(super) async fn post_once_there(address: &str, path: &str, body: &Value) -> (u16, Value) {
    let end = Instant::now() + PATIENCE;
    loop {
        match post(address, path, body).await {
            Ok(answer) => return answer,
            Err(error) => assert!(Instant::now() < end, "{address}: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Status and body of the answer to a GET with these headers, each of which ends its line.
pub(super) async fn get(address: &str, path: &str, headers: &str) -> io::Result<(u16, String)> {
    let answered = async {
        let mut stream = TcpStream::connect(address).await?;
        let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let invalid = || io::Error::new(io::ErrorKind::InvalidData, answer.clone());
        let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(invalid)?;
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).ok_or_else(invalid)?;
        Ok((status, body.to_owned()))
    };
    tokio::time::timeout(LIMIT, answered).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// The status, once the address answers.
pub(super) async fn status_once_there(address: &str, path: &str) -> u16 {
    let end = Instant::now() + PATIENCE;
    loop {
        match get(address, path, "").await {
            Ok((status, _)) => return status,
            Err(error) => assert!(Instant::now() < end, "{address}: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// The answer on a connection that is kept, or on one of its own.
async fn ask(kept: Option<&mut Kept>, address: &str, path: &str, body: &Value) -> io::Result<(u16, Value)> {
    let Some(kept) = kept else { return post(address, path, body).await };
    let answered = tokio::time::timeout(LIMIT, kept.post(address, path, body)).await;
    let why = |error: io::Error| io::Error::new(error.kind(), format!("on a connection that is kept: {error}"));
    answered.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())).map_err(why)
}

/// Visitors that send one request after another.
pub(super) struct Visitors {
    stop: Arc<AtomicBool>,
    answered: Arc<AtomicUsize>,
    tasks: Vec<JoinHandle<Vec<String>>>,
}

impl Visitors {
    /// Starts `count` of them, with a pause between two requests of each.
    pub(super) fn start(count: usize, pause: Duration, address: &str, path: &str, body: &Value) -> Self {
        Self::each((0..count).map(|_| None).collect(), pause, address, path, body)
    }

    /// The same, every other one of which keeps its connection.
    pub(super) fn start_mixed(count: usize, pause: Duration, address: &str, path: &str, body: &Value) -> Self {
        let connections = (0..count).map(|number| (number % 2 == 1).then(Kept::default)).collect();
        Self::each(connections, pause, address, path, body)
    }

    /// One for each of these, which is the connection that it keeps, if any.
    fn each(connections: Vec<Option<Kept>>, pause: Duration, address: &str, path: &str, body: &Value) -> Self {
        let (stop, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let visit = |mut connection: Option<Kept>| {
            let (stop, answered) = (stop.clone(), answered.clone());
            let (address, path, body) = (address.to_owned(), path.to_owned(), body.clone());
            tokio::spawn(async move {
                let mut failures = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    match ask(connection.as_mut(), &address, &path, &body).await {
                        Ok((200, _)) => drop(answered.fetch_add(1, Ordering::Relaxed)),
                        Ok((status, body)) => failures.push(format!("{status} {body}")),
                        Err(error) => failures.push(error.to_string()),
                    }
                    tokio::time::sleep(pause).await;
                }
                failures
            })
        };
        let tasks = connections.into_iter().map(visit).collect();
        Self { stop, answered, tasks }
    }

    /// Waits until `more` further requests were answered.
    pub(super) async fn answered(&self, more: usize) {
        let (begin, end) = (self.answered.load(Ordering::Relaxed), Instant::now() + PATIENCE);
        while self.answered.load(Ordering::Relaxed) < begin + more {
            assert!(Instant::now() < end, "requests are not answered");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Sees that each request was answered.
    pub(super) async fn end_with_none_failed(self) {
        self.stop.store(true, Ordering::Relaxed);
        let mut failures = Vec::new();
        for task in self.tasks {
            failures.extend(task.await.unwrap());
        }
        let answered = self.answered.load(Ordering::Relaxed);
        assert!(failures.is_empty(), "{} of {answered} requests failed: {:?}", failures.len(), failures.first());
    }
}
