//! The same as JSON.

use super::{Found, ModelFound, StateFound, Survey, WriterFound};
use crate::size::Growth;
use rankwright_clickthrough::Status;
use serde_json::{Value, json};

impl Survey {
    /// All of it.
    pub fn json(&self) -> Value {
        json!({
            "service": self.service,
            "at": self.at.to_string(),
            "state": self.state.json(StateFound::json),
            "clickthroughs": self.clickthroughs.json(|found| clickthroughs(*found)),
            "models": self.models.json(|models| models.iter().map(model).collect()),
            "problem": self.problem(),
        })
    }
}

impl<T> Found<T> {
    fn json(&self, found: impl FnOnce(&T) -> Value) -> Value {
        json!({
            "type": self.kind,
            "place": self.place,
            "answers": self.problem.is_none(),
            "problem": self.problem,
            "note": self.note,
            "found": self.found.as_ref().map(found),
        })
    }
}

impl StateFound {
    fn json(&self) -> Value {
        let writers: serde_json::Map<_, _> =
            self.writers.iter().map(|found| (found.reached.writer.clone(), writer(found))).collect();
        json!({
            "generation": self.generation,
            "size": self.size.json(),
            "writers": writers,
            "closedBy": self.closer,
            "forecast": self.growth.as_ref().map(Growth::json),
        })
    }
}

fn writer(found: &WriterFound) -> Value {
    json!({
        "partition": found.reached.partition,
        "position": found.position.as_ref().map(|position| &position.0),
        "watermark": found.watermark().map(|at| at.to_string()),
        "ended": found.has_ended(),
        "seen": found.reached.seen.to_string(),
    })
}

fn clickthroughs(found: Status) -> Value {
    json!({ "parts": found.parts, "records": found.records, "bytes": found.bytes })
}

fn model(found: &ModelFound) -> Value {
    json!({
        "name": found.name,
        "current": found.current,
        "previous": found.previous,
        "pinned": found.pinned,
        "versions": found.versions,
        "trained": found.trained.map(|at| at.to_string()),
        "metrics": found.metrics,
    })
}
