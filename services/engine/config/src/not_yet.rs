//! What a configuration may say and this version does not do. The programs refuse to start with it.

use crate::feature::Kind;
use crate::{ClickthroughStore, Config, EventFormat, Model, SourceKind, State};

impl Config {
    /// One line, `<path>: ... is not available in this version`, for each thing that cannot be served yet.
    pub fn not_yet(&self) -> Vec<String> {
        let mut found = Vec::new();
        self.stores(&mut found);
        self.sources(&mut found);
        for (index, feature) in self.features.iter().enumerate() {
            if matches!(feature.kind, Kind::FieldMatch(_)) {
                found.push(line(&format!("features[{index}]"), &format!("field_match (feature {})", feature.name)));
            }
        }
        for (name, model) in &self.models {
            let kind = match model {
                Model::Als { .. } => "als",
                Model::Trending { .. } => "trending",
                Model::Semantic { .. } => "semantic",
                Model::LambdaMart(_) | Model::Shuffle { .. } | Model::Noop { .. } => continue,
            };
            found.push(line(&format!("models.{name}"), &format!("a model of type {kind}")));
        }
        found.extend(self.inference.keys().map(|name| line(&format!("inference.{name}"), "text inference")));
        found
    }

    fn stores(&self, found: &mut Vec<String>) {
        if matches!(self.state, State::Redis(_)) {
            found.push(line("state", "state of type redis"));
        }
        match self.train {
            Some(ClickthroughStore::Redis { .. }) => found.push(line("train", "a click-through store of type redis")),
            Some(ClickthroughStore::S3(_)) => found.push(line("train", "a click-through store of type s3")),
            Some(ClickthroughStore::Discard | ClickthroughStore::Memory | ClickthroughStore::File { .. }) | None => {}
        }
    }

    fn sources(&self, found: &mut Vec<String>) {
        let Some(source) = &self.source else { return };
        let kind = match source.kind {
            SourceKind::File { .. } => None,
            SourceKind::Kafka { .. } => Some("kafka"),
            SourceKind::Pulsar { .. } => Some("pulsar"),
            SourceKind::Kinesis { .. } => Some("kinesis"),
        };
        found.extend(kind.map(|kind| line("source", &format!("a source of type {kind}"))));
        if source.format != EventFormat::Json {
            found.push(line("source.format", "the format snowplow"));
        }
    }
}

fn line(path: &str, what: &str) -> String {
    format!("{path}: {what} is not available in this version")
}
