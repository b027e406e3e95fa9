//! A bucket, and what can be done with it.

use crate::connect::{client, patience};
use crate::{Action, Error, Listed, Problem, Result, Settings, classify};
use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::{Client, config};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A bucket of objects; cheap to clone.
#[derive(Debug, Clone)]
pub struct Bucket {
    client: Client,
    name: Arc<str>,
    endpoint: Arc<str>,
}

/// How many times we try what the SDK does not try again.
const ATTEMPTS: u32 = 4;

impl Bucket {
    /// A bucket with these settings. Nothing is asked yet: the first call shows whether it is there.
    pub fn connect(settings: &Settings) -> BoxFuture<'_, Self> {
        Box::pin(async move {
            let (client, endpoint) = client(settings).await;
            Self { client, name: settings.bucket.as_str().into(), endpoint: endpoint.into() }
        })
    }

    /// What messages call an object, or with an empty key the bucket: `s3://bucket/key`.
    pub fn place(&self, key: &str) -> String {
        format!("s3://{}/{key}", self.name)
    }

    /// The bytes of an object; `None` where there is none.
    ///
    /// # Errors
    /// When the service cannot be reached or refuses.
    pub fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Bytes>>> {
        Box::pin(async move {
            for attempt in 1.. {
                let answer = self.client.get_object().bucket(&*self.name).key(key).send().await;
                let answer = match answer {
                    Ok(answer) => answer,
                    Err(error) if error.code() == Some("NoSuchKey") => return Ok(None),
                    Err(error) => return Err(self.failed(Action::Get, key, &error)),
                };
                match answer.body.collect().await {
                    Ok(body) => return Ok(Some(body.into_bytes())),
                    Err(_) if attempt < ATTEMPTS => pause(attempt).await, // the connection broke in the middle
                    Err(error) => {
                        let problem = Problem::Unreadable { reason: error.to_string() };
                        return Err(self.error(Action::Get, key, problem));
                    }
                }
            }
            Ok(None)
        })
    }

    /// An object that is read piece by piece; `None` where there is none.
    ///
    /// # Errors
    /// When the service cannot be reached or refuses.
    pub fn read<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Body>>> {
        Box::pin(async move {
            let (bucket, key) = (self.clone(), key.to_owned());
            let mut body = Body { bucket, key, tag: None, from: 0, length: None, stream: None };
            Ok(body.open().await?.then_some(body))
        })
    }

    /// Writes an object, whatever was there.
    ///
    /// # Errors
    /// When the service cannot be reached or refuses.
    pub fn put<'a>(&'a self, key: &'a str, bytes: Bytes) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let limits = config::Builder::new().timeout_config(patience(bytes.len() as u64));
            let request = self.client.put_object().bucket(&*self.name).key(key).body(ByteStream::from(bytes));
            let answer = request.customize().config_override(limits).send().await;
            answer.map(|_| ()).map_err(|error| self.failed(Action::Put, key, &error))
        })
    }

    /// Writes an object where there is none; false where there is one, which stays. Of many that try at once, one
    /// succeeds.
    ///
    /// # Errors
    /// When the service cannot be reached or refuses.
    pub fn put_new<'a>(&'a self, key: &'a str, bytes: Bytes) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move {
            for attempt in 1.. {
                let limits = config::Builder::new().timeout_config(patience(bytes.len() as u64));
                let request = self.client.put_object().bucket(&*self.name).key(key).if_none_match("*");
                let request = request.body(ByteStream::from(bytes.clone()));
                let Err(error) = request.customize().config_override(limits).send().await else { return Ok(true) };
                match error.raw_response().map_or(0, |answer| answer.status().as_u16()) {
                    412 => return Ok(false),
                    409 if attempt < ATTEMPTS => pause(attempt).await, // another writer is at it, and may yet fail
                    _ => return Err(self.failed(Action::Put, key, &error)),
                }
            }
            Ok(false)
        })
    }

    /// All objects whose keys begin with `prefix`, in the order of their keys' bytes, over as many pages as it takes.
    ///
    /// # Errors
    /// When the service cannot be reached or refuses.
    pub fn list<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<Listed>>> {
        Box::pin(async move {
            let mut pages = self.client.list_objects_v2().bucket(&*self.name).prefix(prefix).into_paginator().send();
            let mut listed = Vec::new();
            while let Some(page) = pages.next().await {
                let page = page.map_err(|error| self.failed(Action::List, prefix, &error))?;
                listed.extend(page.contents.unwrap_or_default().into_iter().filter_map(|object| {
                    let bytes = object.size.and_then(|size| u64::try_from(size).ok()).unwrap_or_default();
                    let modified = object.last_modified.and_then(|time| SystemTime::try_from(time).ok());
                    Some(Listed { key: object.key?, bytes, modified: modified.unwrap_or(SystemTime::UNIX_EPOCH) })
                }));
            }
            Ok(listed)
        })
    }

    /// Removes an object; none there is fine.
    ///
    /// # Errors
    /// When the service cannot be reached or refuses.
    pub fn delete<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let answer = self.client.delete_object().bucket(&*self.name).key(key).send().await;
            answer.map(|_| ()).map_err(|error| self.failed(Action::Delete, key, &error))
        })
    }

    /// Makes the bucket, in the region that the service takes for its default.
    ///
    /// # Errors
    /// When the service cannot be reached or refuses.
    pub fn create(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let answer = self.client.create_bucket().bucket(&*self.name).send().await;
            answer.map(|_| ()).map_err(|error| self.failed(Action::Create, "", &error))
        })
    }

    fn failed<E>(&self, action: Action, key: &str, error: &SdkError<E, HttpResponse>) -> Error
    where
        E: ProvideErrorMetadata + std::error::Error + 'static,
    {
        self.error(action, key, classify::problem(error, action, &self.endpoint))
    }

    fn error(&self, action: Action, key: &str, problem: Problem) -> Error {
        Error { place: self.place(key), action, problem }
    }
}

/// What is read of an object: all of one and the same, over as many connections as it takes.
#[derive(Debug)]
pub struct Body {
    bucket: Bucket,
    key: String,
    /// Of the content, so that the rest is not another one's.
    tag: Option<String>,
    /// Bytes that have come so far.
    from: u64,
    /// Bytes of the object, where the service says so.
    length: Option<u64>,
    stream: Option<ByteStream>,
}

impl Body {
    /// Connects to what has not come yet; false where there is no such object.
    async fn open(&mut self) -> Result<bool> {
        let (client, name) = (&self.bucket.client, &self.bucket.name);
        let mut request = client.get_object().bucket(&**name).key(&self.key).set_if_match(self.tag.clone());
        if self.from > 0 {
            request = request.range(format!("bytes={}-", self.from));
        }
        match request.send().await {
            Ok(answer) => {
                let goes_on = format!("bytes {}-", self.from);
                if self.from > 0 && !answer.content_range().is_some_and(|range| range.starts_with(&goes_on)) {
                    return Err(self.broken("the service did not send the rest of it when asked to"));
                }
                if self.from == 0 {
                    self.length = answer.content_length.and_then(|length| u64::try_from(length).ok());
                }
                (self.tag, self.stream) = (answer.e_tag, Some(answer.body));
                Ok(true)
            }
            Err(error) if error.code() == Some("NoSuchKey") && self.tag.is_none() => Ok(false),
            Err(error) => Err(self.bucket.failed(Action::Get, &self.key, &error)),
        }
    }

    /// The next piece, in the order of the object; `None` behind the last.
    ///
    /// # Errors
    /// When connections break again and again, the service refuses, or the object is another one by now.
    pub fn piece(&mut self) -> BoxFuture<'_, Result<Option<Bytes>>> {
        Box::pin(async move {
            for attempt in 1.. {
                let Some(stream) = &mut self.stream else { return Ok(None) };
                match stream.next().await {
                    Some(Ok(piece)) => {
                        self.from += piece.len() as u64;
                        return Ok(Some(piece));
                    }
                    None if self.length.is_some_and(|length| length != self.from) => {
                        return Err(self.broken("it was cut short"));
                    }
                    None => {
                        self.stream = None;
                        return Ok(None);
                    }
                    Some(Err(_)) if self.length == Some(self.from) => self.stream = None,
                    Some(Err(_)) if attempt < ATTEMPTS => {
                        pause(attempt).await; // the connection broke in the middle
                        if !self.open().await? {
                            return Err(self.broken("it was removed while it was read"));
                        }
                    }
                    Some(Err(error)) => return Err(self.broken(&error.to_string())),
                }
            }
            Ok(None)
        })
    }

    fn broken(&self, reason: &str) -> Error {
        self.bucket.error(Action::Get, &self.key, Problem::Unreadable { reason: reason.to_owned() })
    }
}

/// Twice as long with every attempt, from a fifth of a second on.
async fn pause(attempt: u32) {
    tokio::time::sleep(Duration::from_millis(100 << attempt)).await;
}
