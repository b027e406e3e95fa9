//! A connection that is kept from one request to the next, as those of proxies and of clients with a pool are.

use serde_json::Value;
use std::io::{self, ErrorKind};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// A connection, where there is one.
#[derive(Default)]
pub(super) struct Kept(Option<BufReader<TcpStream>>);

impl Kept {
    /// Status and body of the answer. A server that ends the connection after the request has begun loses it; one that has
    /// ended it before does not.
    pub(super) async fn post(&mut self, address: &str, path: &str, body: &Value) -> io::Result<(u16, Value)> {
        // after a failure, or one that is given up, there is none left
        let kept = match self.0.take() {
            Some(kept) => is_open(&kept)?.then_some(kept),
            None => None,
        };
        let mut stream = match kept {
            Some(kept) => kept,
            None => BufReader::new(TcpStream::connect(address).await?),
        };
        let body = body.to_string();
        let head = format!("POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n");
        stream.write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes()).await?;
        let (status, answer, goes_on) = answer(&mut stream).await?;
        self.0 = goes_on.then_some(stream);
        Ok((status, answer))
    }
}

/// Whether nothing has come since the last answer; `false` where the server has ended the connection as it should.
fn is_open(stream: &BufReader<TcpStream>) -> io::Result<bool> {
    match stream.get_ref().try_read(&mut [0]) {
        Ok(0) => Ok(false),
        Ok(_) => Err(io::Error::new(ErrorKind::InvalidData, "something came that nobody has asked for")),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(true),
        Err(error) => Err(error),
    }
}

/// Status and body of an answer, and whether another one may be asked for.
async fn answer(stream: &mut BufReader<TcpStream>) -> io::Result<(u16, Value, bool)> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).await? == 0 {
            return Err(io::Error::new(ErrorKind::UnexpectedEof, "the connection ended before the answer"));
        }
    }
    let invalid = || io::Error::new(ErrorKind::InvalidData, head.clone());
    let header = |name: &str| {
        let mut lines = head.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    };
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).ok_or_else(invalid)?;
    let length = header("content-length").and_then(|length| length.parse().ok()).ok_or_else(invalid)?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    let goes_on = header("connection").is_none_or(|value| !value.eq_ignore_ascii_case("close"));
    Ok((status, serde_json::from_slice(&body).map_err(|_| invalid())?, goes_on))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::PAUSE;
    use serde_json::json;
    use tokio::net::TcpListener;
    use tokio::task::JoinHandle;

    /// A server that gives these answers on each connection, one after the other, and then ends it.
    async fn server(connections: Vec<Vec<&'static str>>) -> (String, JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let serving = tokio::spawn(async move {
            for answers in connections {
                let (mut stream, _) = listener.accept().await.unwrap();
                for answer in answers {
                    let _ = stream.read(&mut [0; 1024]).await.unwrap();
                    stream.write_all(answer.as_bytes()).await.unwrap();
                }
            }
        });
        (address, serving)
    }

    const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n7";
    const LAST: &str = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\n7";

    #[tokio::test]
    async fn a_connection_is_kept_until_the_server_says_that_it_ends() {
        let (address, serving) = server(vec![vec![ANSWER, LAST], vec![ANSWER]]).await;
        let mut kept = Kept::default();
        for open in [true, false, true] {
            assert_eq!(kept.post(&address, "/", &json!({})).await.unwrap(), (200, json!(7)));
            assert_eq!(kept.0.is_some(), open);
        }
        serving.await.unwrap();
    }

    #[tokio::test]
    async fn a_connection_that_ends_before_a_request_loses_none_and_one_that_ends_in_place_of_an_answer_loses_it() {
        let (address, serving) = server(vec![vec![ANSWER], vec![""], vec![ANSWER]]).await;
        let mut kept = Kept::default();
        kept.post(&address, "/", &json!({})).await.unwrap();
        while is_open(kept.0.as_ref().unwrap()).unwrap() {
            tokio::time::sleep(PAUSE).await; // until the end has come through
        }
        kept.post(&address, "/", &json!({})).await.unwrap_err();
        kept.post(&address, "/", &json!({})).await.unwrap();
        serving.await.unwrap();
    }
}
