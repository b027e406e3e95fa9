//! Work that cleans up behind itself when the program is told to stop.

use rankwright_assembly::{TERMINATED, leave, stop_signal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::runtime::Runtime;

/// How long the work may take to notice; it may wait for whoever reads standard output.
const PATIENCE: Duration = Duration::from_secs(10);

/// Becomes true when the program is told to stop (SIGINT, SIGTERM or SIGHUP). A second signal ends it at once.
pub(crate) fn told(runtime: &Runtime) -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let told = stop.clone();
    runtime.spawn(async move {
        stop_signal().await;
        told.store(true, Ordering::Relaxed);
        tokio::select! {
            () = stop_signal() => {}
            () = tokio::time::sleep(PATIENCE) => {}
        }
        leave(TERMINATED);
    });
    stop
}
