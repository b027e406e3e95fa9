//! Buckets of a real server.
#![allow(clippy::unwrap_used)]

use rankwright_object::testing::own_bucket;
use rankwright_object::{Bucket, Bytes, Credentials, Listed, Problem, Result, Runner, Settings};
use std::io::{Read, Write};
use std::net::TcpListener;

/// A bucket and who waits for it.
struct Own {
    runner: Runner,
    bucket: Bucket,
    settings: Settings,
}

impl Own {
    fn of(settings: Settings) -> Self {
        let (runner, own) = (Runner::start().unwrap(), settings.clone());
        let bucket = runner.wait(async move { Bucket::connect(&own).await });
        Self { runner, bucket, settings }
    }

    fn new() -> Option<Self> {
        own_bucket().map(Self::of)
    }

    fn get(&self, key: &'static str) -> Result<Option<Bytes>> {
        let bucket = self.bucket.clone();
        self.runner.wait(async move { bucket.get(key).await })
    }

    fn put_new(&self, key: &str, bytes: &'static [u8]) -> Result<bool> {
        let (bucket, key) = (self.bucket.clone(), key.to_owned());
        self.runner.wait(async move { bucket.put_new(&key, Bytes::from_static(bytes)).await })
    }

    fn list(&self, prefix: &'static str) -> Result<Vec<Listed>> {
        let bucket = self.bucket.clone();
        self.runner.wait(async move { bucket.list(prefix).await })
    }
}

#[test]
fn an_object_is_there_from_its_put_to_its_deletion() {
    let Some(own) = Own::new() else { return };
    assert_eq!(own.get("a b/ü+%20=?&").unwrap(), None);
    assert!(own.put_new("a b/ü+%20=?&", b"one").unwrap());
    assert_eq!(own.get("a b/ü+%20=?&").unwrap(), Some(Bytes::from_static(b"one")));
    let [Listed { key, bytes, modified }] = own.list("a b/").unwrap().try_into().expect("one object");
    assert_eq!((key.as_str(), bytes), ("a b/ü+%20=?&", 3));
    assert!(modified > std::time::SystemTime::UNIX_EPOCH, "the service says when it was written");
    let bucket = own.bucket.clone();
    own.runner.wait(async move {
        bucket.put("a b/ü+%20=?&", Bytes::from_static(b"other")).await.unwrap();
        assert_eq!(bucket.get("a b/ü+%20=?&").await.unwrap(), Some(Bytes::from_static(b"other")));
        bucket.delete("a b/ü+%20=?&").await.unwrap();
        bucket.delete("a b/ü+%20=?&").await.unwrap();
    });
    assert_eq!(own.get("a b/ü+%20=?&").unwrap(), None);
    assert_eq!(own.list("").unwrap(), []);
}

#[test]
fn of_eight_writers_of_one_key_one_succeeds() {
    let Some(own) = Own::new() else { return };
    for round in 0..10 {
        let write = || own.put_new(&format!("key-{round}"), b"mine").unwrap();
        let winners: usize = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..8).map(|_| scope.spawn(write)).collect();
            writers.into_iter().map(|writer| usize::from(writer.join().unwrap())).sum()
        });
        assert_eq!(winners, 1, "round {round}");
    }
}

#[test]
fn a_wrong_secret_and_an_unknown_key_are_told_apart_and_never_shown() {
    let Some(own) = Own::new() else { return };
    if std::env::var("AWS_ACCESS_KEY_ID").is_ok() {
        return println!("the credentials of the environment go before these");
    }
    let key = std::env::var("RANKWRIGHT_TEST_S3_KEY").unwrap();
    for (key, secret, problem) in
        [(key.as_str(), "hunter2hunter2", Problem::WrongSecret), ("nobody", "hunter2hunter2", Problem::UnknownKey)]
    {
        let wrong = Settings { credentials: Some(Credentials::new(key, secret)), ..own.settings.clone() };
        let error = Own::of(wrong).put_new("key", b"").unwrap_err();
        assert_eq!(error.problem, problem);
        assert!(!error.to_string().contains("hunter2") && !format!("{error:?}").contains("hunter2"), "{error:?}");
    }
}

#[test]
fn a_missing_bucket_is_named() {
    let Some(own) = Own::new() else { return };
    let missing = Own::of(Settings { bucket: "missing".into(), ..own.settings });
    for error in [missing.put_new("key", b"").unwrap_err(), missing.get("key").unwrap_err()] {
        assert!(matches!(error.problem, Problem::NoBucket { .. }), "{error:?}");
        assert!(error.to_string().starts_with("s3://missing/key: failed to "), "{error}");
    }
    assert!(matches!(missing.list("p/").unwrap_err().problem, Problem::NoBucket { .. }));
}

/// Answers a request with a head and what follows, and hangs up; what it was asked.
fn answers(listener: &TcpListener, head: &str, body: &[u8]) -> String {
    let (mut stream, _) = listener.accept().unwrap();
    let mut asked = Vec::new();
    while !asked.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        asked.extend(byte);
    }
    write!(stream, "HTTP/1.1 {head}\r\nETag: \"one\"\r\nConnection: close\r\n\r\n").unwrap();
    stream.write_all(body).unwrap();
    String::from_utf8(asked).unwrap().to_ascii_lowercase()
}

#[test]
fn an_object_whose_connection_breaks_is_read_on_from_there() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = Some(format!("http://{}", listener.local_addr().unwrap()));
    let content: Vec<u8> = (0..200_000u32).map(|number| (number % 251) as u8).collect();
    let (first, rest) = (content[..70_000].to_vec(), content[70_000..].to_vec());
    let serving = std::thread::spawn(move || {
        let whole = answers(&listener, "200 OK\r\nContent-Length: 200000", &first);
        let on = answers(
            &listener,
            "206 Partial Content\r\nContent-Range: bytes 70000-199999/200000\r\nContent-Length: 130000",
            &rest,
        );
        (whole, on)
    });
    let credentials = Some(Credentials::new("k", "s"));
    let own = Own::of(Settings { endpoint, credentials, ..Settings::new("bucket", "r") });
    let bucket = own.bucket.clone();
    let read = own.runner.wait(async move {
        let mut body = bucket.read("key").await.unwrap().expect("it is there");
        let mut read = Vec::new();
        while let Some(piece) = body.piece().await.unwrap() {
            read.extend(piece);
        }
        read
    });
    let (whole, on) = serving.join().unwrap();
    assert!(!whole.contains("range:") && !whole.contains("if-match"), "{whole}");
    assert!(on.contains("range: bytes=70000-") && on.contains("if-match: \"one\""), "{on}");
    assert!(read == content, "{} bytes", read.len());
}

#[test]
fn a_service_that_is_not_there_is_named_with_the_reason() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let endpoint = Some(format!("http://{free}"));
    let credentials = Some(Credentials::new("k", "s"));
    let error = Own::of(Settings { endpoint, credentials, ..Settings::new("bucket", "r") }).get("key").unwrap_err();
    let expected = format!("s3://bucket/key: failed to get: http://{free} cannot be reached (");
    assert!(error.to_string().starts_with(&expected), "{error}");
}
