//! Waiting for what has to come, and how much of it a run wants.

use std::process::{Child, ExitStatus};
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
pub fn until(what: &str, why: impl Fn() -> String, so: impl FnMut() -> bool) {
    assert!(comes(PATIENCE, so), "not {what} in time:\n{}", why());
}

/// Waits for a process to end, ten minutes at most, a hundred in long tests. One that has not ended by then hangs: it is
/// killed, and `None` comes.
///
/// # Panics
/// When the process cannot be asked.
pub fn ended(child: &mut Child) -> Option<ExitStatus> {
    let mut status = None;
    comes(Duration::from_mins(10), || {
        status = child.try_wait().expect("can be asked");
        status.is_some()
    });
    if status.is_none() {
        let _ = child.kill(); // it may have ended in this moment
        let _ = child.wait();
    }
    status
}

/// Whether it is so before so much time has passed in which the machine ran.
fn comes(patience: Duration, mut so: impl FnMut() -> bool) -> bool {
    let (mut waited, mut before) = (Duration::ZERO, Instant::now());
    let mut pause = Duration::from_micros(200); // what is about to be is seen soon
    while !so() {
        let now = Instant::now();
        waited += (now - before).min(STILL);
        before = now;
        if waited > patience * scaled(1, 10) {
            return false;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
    true
}
