//! Work that ends well when the program is told to stop (SIGINT, SIGTERM or SIGHUP), also as the first process of a container.

use rankwright_assembly::{TERMINATED, complain, leave, stop_signal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

/// How long the work may take to notice; it may wait for the reader of standard output.
const PATIENCE: Duration = Duration::from_secs(10);
/// Exit code of a program that was told to stop and says so.
const INTERRUPTED: i32 = 1;

/// Becomes true when the program is told to stop, for work that cleans up behind itself. A second signal ends it at once.
pub(crate) fn told(runtime: &Runtime) -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let (told, stopped) = (stop.clone(), listening(runtime));
    runtime.spawn(async move {
        stopped.await;
        told.store(true, Ordering::Relaxed);
        tokio::select! {
            () = stop_signal() => {}
            () = tokio::time::sleep(PATIENCE) => {}
        }
        complain("error: interrupted before it could clean up: the next run removes what is left");
        leave(TERMINATED);
    });
    stop
}

/// Ends the program with this sentence when it is told to stop while the value is kept, for work that has nothing to clean up.
pub(crate) fn at_once(runtime: &Runtime, sentence: &'static str) -> AtOnce {
    let stopped = listening(runtime);
    AtOnce(runtime.spawn(async move {
        stopped.await;
        complain(&format!("error: {sentence}"));
        leave(INTERRUPTED);
    }))
}

/// What ends the program.
#[must_use = "it ends with this value"]
pub(crate) struct AtOnce(JoinHandle<()>);

impl Drop for AtOnce {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Ready when the program is told to stop, from now on.
fn listening(runtime: &Runtime) -> impl Future<Output = ()> + Send + 'static {
    let _inside = runtime.enter();
    stop_signal()
}
