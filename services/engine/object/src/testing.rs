//! Buckets of a real server, for tests.

use crate::{Bucket, Credentials, Runner, Settings};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// A bucket of its own for a test, made on the server that `RANKWRIGHT_TEST_S3` names (access key and secret in
/// `RANKWRIGHT_TEST_S3_KEY` and `RANKWRIGHT_TEST_S3_SECRET`); `None`, after a line that says so, without it.
///
/// # Panics
/// When there is no server and `RANKWRIGHT_REQUIRE_ALL` is 1, or the bucket cannot be made.
pub fn own_bucket() -> Option<Settings> {
    let variable = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
    let Some(endpoint) = variable("RANKWRIGHT_TEST_S3") else {
        let why = "RANKWRIGHT_TEST_S3 names no server";
        assert!(variable("RANKWRIGHT_REQUIRE_ALL").as_deref() != Some("1"), "{why}");
        println!("SKIPPED: {why}");
        return None;
    };
    let credentials = variable("RANKWRIGHT_TEST_S3_KEY").zip(variable("RANKWRIGHT_TEST_S3_SECRET"));
    let credentials = credentials.map(|(key, secret)| Credentials::new(key, secret));
    let settings = Settings { endpoint: Some(endpoint), credentials, ..Settings::new(fresh_name(), "us-east-1") };
    let runner = Runner::start().expect("the system has room for a thread");
    let own = settings.clone();
    let made = runner.wait(async move { Bucket::connect(&own).await.create().await });
    made.expect("the test server makes buckets");
    Some(settings)
}

/// A name that no bucket has had.
fn fresh_name() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    format!("test-{now}-{}-{}", process::id(), NUMBER.fetch_add(1, Ordering::Relaxed))
}
