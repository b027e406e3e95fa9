//! Waiting for asynchronous work on plain threads.

use std::future::Future;
use std::sync::mpsc::{Receiver, sync_channel};
use tokio::runtime::{Builder, Runtime};
use tokio::task::AbortHandle;

/// A thread that drives asynchronous work for others, which may be plain threads.
pub struct Runner {
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
}

impl Runner {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the system has no room for it.
    pub fn start() -> std::io::Result<Self> {
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("objects").enable_all().build()?;
        Ok(Self { runtime: Some(runtime) })
    }

    /// Begins work in the background; it ends unfinished when the runner is dropped, or it is aborted.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> Option<AbortHandle> {
        self.runtime.as_ref().map(|runtime| runtime.spawn(work).abort_handle())
    }

    /// Begins work whose result is asked for later.
    pub fn begin<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> Pending<T> {
        let (sender, receiver) = sync_channel(1);
        self.spawn(async move {
            // it fails where the caller no longer waits
            let _ = sender.send(work.await);
        });
        Pending(receiver)
    }

    /// Does work, and waits for its end.
    ///
    /// The calling thread sleeps meanwhile. On a thread of an asynchronous runtime this is allowed, and keeps its other
    /// tasks waiting: call it by `spawn_blocking` there. Work of this runner must not call it, it would wait for itself.
    ///
    /// # Panics
    /// When the work panics.
    pub fn wait<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> T {
        self.begin(work).wait()
    }
}

/// The result of work that has begun; it must not outlive the runner.
pub struct Pending<T>(Receiver<T>);

impl<T> Pending<T> {
    /// Waits for the end of the work.
    ///
    /// # Panics
    /// When the work panics.
    pub fn wait(self) -> T {
        self.0.recv().expect("the work of a runner does not panic, and ends before it")
    }
}

impl Drop for Runner {
    /// Lets go of the thread without waiting, as an asynchronous caller must not.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn work_is_waited_for_on_plain_threads_and_within_a_runtime() {
        let runner = Runner::start().unwrap();
        assert_eq!(runner.wait(async { 7 }), 7);
        Builder::new_current_thread().build().unwrap().block_on(async move {
            assert_eq!(runner.wait(async { tokio::task::yield_now().await }), ());
            drop(runner);
        });
    }
}
