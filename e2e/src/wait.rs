//! Waiting for what has to come, and how much of it a run wants.

use std::time::{Duration, Instant};

/// Far longer than anything takes on a machine that has other things to do, and one that stands still for a minute.
pub const PATIENCE: Duration = Duration::from_secs(180);

/// Of the time between two questions, so much counts: a virtual machine may stand still for longer, again and again.
const STILL: Duration = Duration::from_secs(10);

/// Whether the long tests are wanted: `RANKWRIGHT_TEST_LONG=1`.
pub fn is_long() -> bool {
    std::env::var("RANKWRIGHT_TEST_LONG").as_deref() == Ok("1")
}

/// One of these, by how long the tests may take.
pub fn scaled<T>(short: T, long: T) -> T {
    if is_long() { long } else { short }
}

/// Asks again and again until it is so.
///
/// # Panics
/// When that takes longer than [`PATIENCE`], ten times as long in long tests; `why` tells what is known then.
pub fn until(what: &str, why: impl Fn() -> String, mut so: impl FnMut() -> bool) {
    let (mut waited, mut before) = (Duration::ZERO, Instant::now());
    while !so() {
        let now = Instant::now();
        waited += (now - before).min(STILL);
        before = now;
        assert!(waited < PATIENCE * scaled(1, 10), "not {what} in time:\n{}", why());
        std::thread::sleep(Duration::from_millis(10));
    }
}
