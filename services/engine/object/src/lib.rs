//! Objects in a bucket: get, put, put where there is none, list, delete.
//!
//! A [`Bucket`] speaks S3, to Amazon's service or to another one's endpoint. It knows nothing of what the objects are.
//! Its calls are asynchronous, and boxed: so the client below is compiled into this crate alone, not into each one that calls
//! it. A [`Runner`] lets plain threads wait for them. Errors name bucket and key, and say what to change; credentials appear
//! in none of them.

#[cfg(not(feature = "s3"))]
#[path = "absent.rs"]
pub mod bucket;
#[cfg(feature = "s3")]
pub mod bucket;
#[cfg(feature = "s3")]
mod classify;
#[cfg(feature = "s3")]
mod connect;
pub mod error;
mod listed;
pub mod runner;
pub mod settings;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use bucket::{Body, Bucket};
pub use bytes::Bytes;
pub use error::{Action, Error, Problem, Result};
pub use listed::Listed;
pub use runner::{Pending, Runner};
pub use settings::{Credentials, Settings};
pub use tokio::task::AbortHandle;
