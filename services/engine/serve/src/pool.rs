//! Where requests are computed.
//!
//! Usual requests are computed on the thread that read them: handing one to another thread and back costs two wake-ups,
//! which were measured (two cores, load generator included, 100 items) as 60 to 90 microseconds of processor time on one
//! connection, a fifth of the request, and as no gain in throughput on eight. Whatever may take long (large requests,
//! batches of events, training) goes to a pool of threads, so that it does not delay connections.

use futures_util::FutureExt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use tokio::runtime::{Builder, Runtime};

/// As many threads as there are cores, on which requests are computed while the caller's runtime reads and writes.
pub(crate) struct Pool {
    runtime: Option<Runtime>,
}

/// Bodies up to this size are computed where they were read: about a thousand items, a millisecond or two.
const SMALL_BODY: usize = 32 << 10;

/// The work ended without a result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Lost {
    /// It panicked on the thread that read it.
    #[error("a request panicked")]
    Panicked,
    /// It panicked in the pool, or the pool is closing.
    #[error(transparent)]
    Ended(#[from] tokio::task::JoinError),
}

impl Pool {
    /// Starts the threads.
    pub(crate) fn start() -> std::io::Result<Self> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let runtime =
            Builder::new_multi_thread().worker_threads(threads).thread_name("compute").enable_all().build()?;
        Ok(Self { runtime: Some(runtime) })
    }

    /// Computes a request with a body of such a size: here, where it is small, else in the pool.
    pub(crate) async fn run_sized<T: Send + 'static>(
        &self,
        body: usize,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Lost> {
        if body > SMALL_BODY {
            return self.run(work).await;
        }
        AssertUnwindSafe(work).catch_unwind().await.map_err(|_| Lost::Panicked)
    }

    /// Runs what may block its thread, on one of many that wait most of the time.
    pub(crate) async fn block<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Lost> {
        let runtime = self.runtime.as_ref().expect("the runtime is there until the pool is dropped");
        Ok(runtime.spawn_blocking(work).await?)
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
