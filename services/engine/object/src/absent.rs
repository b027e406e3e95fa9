//! Stands in for a bucket in a program without the feature `s3`: every call says so.

use crate::{Action, Error, Listed, Problem, Result, Settings};
use bytes::Bytes;
use futures_util::future::{BoxFuture, ready};
use std::sync::Arc;

/// A bucket that this program cannot reach.
#[derive(Debug, Clone)]
pub struct Bucket(Arc<str>);

impl Bucket {
    /// A bucket with these settings.
    pub fn connect(settings: &Settings) -> BoxFuture<'_, Self> {
        Box::pin(ready(Self(settings.bucket.as_str().into())))
    }

    /// What messages call an object, or with an empty key the bucket: `s3://bucket/key`.
    pub fn place(&self, key: &str) -> String {
        format!("s3://{}/{key}", self.0)
    }

    /// Fails.
    pub fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Bytes>>> {
        self.refuse(Action::Get, key)
    }

    /// Fails.
    pub fn read<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Body>>> {
        self.refuse(Action::Get, key)
    }

    /// Fails.
    pub fn put<'a>(&'a self, key: &'a str, _: Bytes) -> BoxFuture<'a, Result<()>> {
        self.refuse(Action::Put, key)
    }

    /// Fails.
    pub fn put_new<'a>(&'a self, key: &'a str, _: Bytes) -> BoxFuture<'a, Result<bool>> {
        self.refuse(Action::Put, key)
    }

    /// Fails.
    pub fn list<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<Listed>>> {
        self.refuse(Action::List, prefix)
    }

    /// Fails.
    pub fn delete<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<()>> {
        self.refuse(Action::Delete, key)
    }

    /// Fails.
    pub fn create(&self) -> BoxFuture<'_, Result<()>> {
        self.refuse(Action::Create, "")
    }

    fn refuse<T: Send + 'static>(&self, action: Action, key: &str) -> BoxFuture<'static, Result<T>> {
        Box::pin(ready(Err(Error { place: self.place(key), action, problem: Problem::NotBuilt })))
    }
}

/// An object that is read piece by piece: none is.
#[derive(Debug)]
pub enum Body {}

impl Body {
    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn piece(&mut self) -> BoxFuture<'_, Result<Option<Bytes>>> {
        match *self {}
    }
}
