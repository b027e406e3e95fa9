//! Threads for computing.

use std::future::Future;
use tokio::runtime::{Builder, Runtime};

/// As many threads as there are cores, on which requests are computed while the caller's runtime reads and writes.
pub(crate) struct Pool {
    runtime: Option<Runtime>,
}

/// The work ended without a result: it panicked, or the pool is closing.
#[derive(Debug, thiserror::Error)]
#[error("the request was given up: {0}")]
pub(crate) struct Lost(#[from] tokio::task::JoinError);

impl Pool {
    /// Starts the threads.
    pub(crate) fn start() -> std::io::Result<Self> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let runtime =
            Builder::new_multi_thread().worker_threads(threads).thread_name("compute").enable_time().build()?;
        Ok(Self { runtime: Some(runtime) })
    }

    /// Drives a future to its end on these threads, even when the caller stops waiting for it.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Lost> {
        let runtime = self.runtime.as_ref().expect("the runtime is there until the pool is dropped");
        Ok(runtime.spawn(work).await?)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // a runtime must not be waited for inside another one
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
