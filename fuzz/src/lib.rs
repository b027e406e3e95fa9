//! What reads bytes that others have written. Each target takes any bytes: it may refuse them, and never panics. What it takes
//! stays the same when it is written and read again.

mod events;
mod files;
mod models;
mod stored;

/// One reader.
#[derive(Debug)]
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// Reads the bytes; whether it takes them.
    pub run: fn(&[u8]) -> bool,
    /// Bytes that it takes, from which others are made.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All of them.
pub const TARGETS: [Target; 19] = [
    Target { name: "event", run: events::event, seeds: events::one_each },
    Target { name: "batch", run: events::batch, seeds: events::batches },
    Target { name: "request", run: events::request, seeds: events::requests },
    Target { name: "snowplow-tsv", run: events::columns, seeds: events::lines_of_columns },
    Target { name: "snowplow-json", run: events::enriched, seeds: events::enriched_objects },
    Target { name: "times", run: events::times, seeds: events::written_times },
    Target { name: "configuration", run: files::configuration, seeds: files::configurations },
    Target { name: "dictionary", run: files::dictionary, seeds: files::dictionaries },
    Target { name: "embeddings", run: files::embeddings, seeds: files::embedding_files },
    Target { name: "scores", run: files::scores, seeds: files::score_files },
    Target { name: "text", run: files::text, seeds: files::texts },
    Target { name: "row", run: stored::row, seeds: stored::rows },
    Target { name: "key", run: stored::key, seeds: stored::keys },
    Target { name: "part", run: stored::part, seeds: stored::parts },
    Target { name: "part-json", run: stored::part_json, seeds: stored::parts_json },
    Target { name: "version", run: models::version, seeds: models::versions },
    Target { name: "recommender", run: models::recommender, seeds: models::recommenders },
    Target { name: "xgboost", run: models::xgboost, seeds: models::xgboost_models },
    Target { name: "lightgbm", run: models::lightgbm, seeds: models::lightgbm_models },
];
