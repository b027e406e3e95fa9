//! What a process does beside answering: imports and trainings, for as long as they last. Part `work` of `GET /status`.

use parking_lot::Mutex;
use rankwright_serve::Status;
use rankwright_serve::clock::now;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// All that is under way.
#[derive(Default)]
pub(crate) struct Work(Mutex<Vec<Arc<Task>>>);

/// One of it.
struct Task {
    kind: &'static str,
    model: Option<String>,
    /// In milliseconds since 1970.
    began: i64,
    /// That an import has read so far.
    events: AtomicU64,
}

/// An import or a training; it is over when this goes.
#[must_use = "it is over when this goes"]
pub struct UnderWay {
    work: Arc<Work>,
    task: Arc<Task>,
}

impl Work {
    pub(crate) fn begin(self: &Arc<Self>, kind: &'static str, model: Option<&str>) -> UnderWay {
        let began = now().millis();
        let task = Arc::new(Task { kind, model: model.map(str::to_owned), began, events: AtomicU64::default() });
        self.0.lock().push(task.clone());
        UnderWay { work: self.clone(), task }
    }
}

impl UnderWay {
    /// Notes how many events were read so far.
    pub fn read(&self, events: u64) {
        self.task.events.store(events, Ordering::Relaxed);
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.work.0.lock().retain(|task| !Arc::ptr_eq(task, &self.task));
    }
}

impl Status for Work {
    fn status(&self) -> Value {
        let told = |task: &Arc<Task>| {
            let events = Some(task.events.load(Ordering::Relaxed)).filter(|_| task.model.is_none());
            json!({"kind": task.kind, "model": task.model, "began": task.began, "events": events})
        };
        self.0.lock().iter().map(told).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_and_trainings_are_told_until_they_are_over() {
        let work = Arc::<Work>::default();
        let told = || {
            let mut told = work.status();
            told.as_array_mut().expect("a list").iter_mut().for_each(|task| {
                assert!(task["began"].as_i64().is_some_and(|began| began > 1_700_000_000_000), "{task}");
                task.as_object_mut().expect("an object").remove("began");
            });
            told
        };
        let import = work.begin("import", None);
        import.read(7);
        let training = work.begin("training", Some("shop"));
        let import_told = json!({"kind": "import", "model": null, "events": 7});
        let training_told = json!({"kind": "training", "model": "shop", "events": null});
        assert_eq!(told(), json!([import_told, training_told]));
        drop(import);
        assert_eq!(told(), json!([training_told]));
        drop(training);
        assert_eq!(told(), json!([]));
    }
}
