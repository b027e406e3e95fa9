//! What becomes of refusals, by a server that gives prepared answers.
#![allow(clippy::unwrap_used)]

use rankwright_object::{Bucket, Bytes, Credentials, Problem, Result, Runner, Settings};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

/// Answers one request after the other with these statuses and bodies, and counts them.
fn serve(answers: Vec<(&'static str, String)>) -> (Settings, thread::JoinHandle<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = Some(format!("http://{}", listener.local_addr().unwrap()));
    let credentials = Some(Credentials::new("key", "secret"));
    let serving = thread::spawn(move || {
        let count = answers.len();
        for (status, body) in answers {
            let (mut stream, _) = listener.accept().unwrap();
            read_head(&mut stream);
            let length = body.len();
            write!(stream, "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
        }
        count
    });
    (Settings { endpoint, credentials, ..Settings::new("bucket", "us-east-1") }, serving)
}

fn read_head(stream: &mut TcpStream) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.extend(byte);
    }
}

fn refusal(code: &str) -> String {
    format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>because</Message></Error>")
}

fn get(settings: Settings) -> Result<Option<Bytes>> {
    Runner::start().unwrap().wait(async move { Bucket::connect(&settings).await.get("key").await })
}

#[test]
fn a_service_that_is_busy_is_asked_again() {
    let busy = ("503 Slow Down", refusal("SlowDown"));
    let (settings, serving) = serve(vec![busy, ("200 OK", "bytes".into())]);
    assert_eq!(get(settings).unwrap(), Some(Bytes::from_static(b"bytes")));
    assert_eq!(serving.join().unwrap(), 2);
}

#[test]
fn refusals_say_what_to_change() {
    for (status, code, expected) in [
        ("403 Forbidden", "AccessDenied", "failed to get: access denied; allow s3:GetObject to these credentials"),
        ("403 Forbidden", "ExpiredToken", "failed to get: the credentials have expired; renew them"),
        ("400 Bad Request", "AuthorizationHeaderMalformed", "correct the region (because)"),
        ("400 Bad Request", "Odd", "failed to get: the service answered 400 Odd: because"),
    ] {
        let (settings, serving) = serve(vec![(status, refusal(code))]);
        let error = get(settings).unwrap_err().to_string();
        assert!(error.starts_with("s3://bucket/key: ") && error.ends_with(expected), "{error}");
        serving.join().unwrap();
    }
}

#[test]
fn an_answer_that_ends_early_is_asked_for_again() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = Some(format!("http://{}", listener.local_addr().unwrap()));
    let serving = thread::spawn(move || {
        for sent in ["by", "bytes"] {
            let (mut stream, _) = listener.accept().unwrap();
            read_head(&mut stream);
            write!(stream, "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 5\r\n\r\n{sent}").unwrap();
        }
    });
    let credentials = Some(Credentials::new("key", "secret"));
    let settings = Settings { endpoint, credentials, ..Settings::new("bucket", "us-east-1") };
    assert_eq!(get(settings).unwrap(), Some(Bytes::from_static(b"bytes")));
    serving.join().unwrap();
}

#[test]
fn a_region_that_is_wrong_is_told_from_missing_rights() {
    let (settings, serving) = serve(vec![("301 Moved Permanently", refusal("PermanentRedirect"))]);
    assert_eq!(get(settings).unwrap_err().problem, Problem::WrongRegion { message: "because".into() });
    serving.join().unwrap();
}
