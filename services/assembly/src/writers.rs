//! How far the writers of a shared state have come, whichever process they are in. Part `writers` of `GET /status`.

use crate::program::chain;
use crate::survey::WriterFound;
use parking_lot::Mutex;
use rankwright_ingest::shared::reached;
use rankwright_serve::Status;
use rankwright_state::Store;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tracing::debug;

/// Between two looks.
const EVERY: Duration = Duration::from_secs(5);

/// Looks now and then how far they have come.
pub(crate) struct Writers {
    state: Arc<dyn Store>,
    found: Mutex<Vec<WriterFound>>,
}

impl Writers {
    /// Of a shared state; nothing is known yet.
    pub(crate) fn of(state: Arc<dyn Store>) -> Self {
        Self { state, found: Mutex::default() }
    }

    /// Looks at once, and then every few seconds. While the state does not answer, what was found last stays.
    pub(crate) async fn run(self: Arc<Self>) {
        let mut clock = tokio::time::interval(EVERY);
        clock.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            clock.tick().await;
            match reached(&*self.state).await {
                Ok(all) => {
                    let found = all.into_iter().map(|reached| WriterFound { reached, position: None });
                    *self.found.lock() = found.collect();
                }
                Err(error) => debug!(error = chain(&error.into()), "how far writers have come is asked later"),
            }
        }
    }
}

impl Status for Writers {
    fn status(&self) -> Value {
        let told = |found: &WriterFound| {
            json!({
                "writer": shown(&found.reached.writer),
                "watermark": found.watermark().map(|at| at.to_string()),
                "ended": found.has_ended(),
                "seen": found.reached.seen.to_string(),
            })
        };
        self.found.lock().iter().map(told).collect()
    }
}

/// The name of a writer. That of an import has the path of its files, of which everybody may know the end.
fn shown(writer: &str) -> String {
    match writer.strip_prefix("import ") {
        Some(path) => format!("import {}", path.rsplit('/').next().unwrap_or(path)),
        None => writer.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_path_of_an_import_the_end_is_shown() {
        let shown = ["import /home/jane/events.jsonl", "import s3://b/p/day", "shop/0"].map(shown);
        assert_eq!(shown, ["import events.jsonl", "import day", "shop/0"]);
    }
}
