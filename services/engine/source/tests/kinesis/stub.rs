//! A stub of the service: one stream of one shard, whose answers a test decides.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// An answer to a request for records.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// Records, and how many milliseconds they are behind.
    Records(Vec<u64>, u64),
    /// An error of this name.
    Error(&'static str),
}

/// What was asked for, and what is still to be answered.
#[derive(Debug, Default)]
pub(crate) struct Script {
    answers: VecDeque<Answer>,
    /// When records were asked for.
    pub(crate) asked: Vec<Instant>,
    /// The bodies of requests for iterators.
    pub(crate) iterators: Vec<String>,
    sequence: u64,
    /// The shard that this one follows.
    pub(crate) parent: Option<&'static str>,
}

/// A stub with these answers; then nothing comes any more.
pub(crate) async fn stub(answers: impl IntoIterator<Item = Answer>) -> (String, Arc<Mutex<Script>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("listens");
    let address = format!("http://{}", listener.local_addr().expect("listens somewhere"));
    let script = Arc::new(Mutex::new(Script { answers: answers.into_iter().collect(), ..Script::default() }));
    let shared = script.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, shared.clone()));
        }
    });
    (address, script)
}

async fn serve(stream: TcpStream, script: Arc<Mutex<Script>>) {
    let mut stream = BufReader::new(stream);
    while let Some((target, body)) = request(&mut stream).await {
        let (status, body) = script.lock().expect("nobody has panicked").answer(&target, body);
        let head =
            format!("HTTP/1.1 {status}\r\nContent-Type: application/x-amz-json-1.1\r\nContent-Length: {}", body.len());
        if stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).await.is_err() {
            return;
        }
    }
}

/// The operation asked for, and the body.
async fn request(stream: &mut BufReader<TcpStream>) -> Option<(String, String)> {
    let (mut target, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        match line.trim_end().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.parse().ok()?,
            Some((name, value)) if name.eq_ignore_ascii_case("x-amz-target") => {
                target = value.rsplit('.').next()?.to_owned();
            }
            Some(_) => {}
            None if line.trim_end().is_empty() => break,
            None => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some((target, String::from_utf8_lossy(&body).into_owned()))
}

impl Script {
    fn answer(&mut self, target: &str, body: String) -> (&'static str, String) {
        match target {
            "ListShards" => {
                let hashes = r#"{"StartingHashKey":"0","EndingHashKey":"1"}"#;
                let numbers = r#"{"StartingSequenceNumber":"0"}"#;
                let parent = self.parent.map(|parent| format!(r#","ParentShardId":"{parent}""#)).unwrap_or_default();
                let shard = format!(
                    r#"{{"ShardId":"shard-0","HashKeyRange":{hashes},"SequenceNumberRange":{numbers}{parent}}}"#
                );
                ("200 OK", format!(r#"{{"Shards":[{shard}]}}"#))
            }
            "GetShardIterator" => {
                self.iterators.push(body);
                ("200 OK", r#"{"ShardIterator":"iterator"}"#.to_owned())
            }
            _ => {
                self.asked.push(Instant::now());
                match self.answers.pop_front().unwrap_or(Answer::Records(Vec::new(), 0)) {
                    Answer::Records(numbers, behind) => ("200 OK", self.records(&numbers, behind)),
                    Answer::Error(name) => ("400 Bad Request", format!(r#"{{"__type":"{name}","message":"no"}}"#)),
                }
            }
        }
    }

    fn records(&mut self, numbers: &[u64], behind: u64) -> String {
        let mut records = Vec::new();
        for number in numbers {
            self.sequence += 1;
            let data = base64(crate::seen::event(*number, 1000).as_bytes());
            let sequence = self.sequence;
            records.push(format!(r#"{{"Data":"{data}","PartitionKey":"k","SequenceNumber":"{sequence}"}}"#));
        }
        let records = records.join(",");
        format!(r#"{{"Records":[{records}],"NextShardIterator":"iterator","MillisBehindLatest":{behind}}}"#)
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let number =
            chunk.iter().enumerate().fold(0_u32, |number, (place, byte)| number | u32::from(*byte) << (16 - 8 * place));
        for place in 0..4 {
            let digit = DIGITS[(number >> (18 - 6 * place) & 63) as usize];
            text.push(if place > chunk.len() { '=' } else { char::from(digit) });
        }
    }
    text
}
