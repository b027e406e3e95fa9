//! What stands under `type` for each choice of a configuration, except features.

use crate::model::Booster;
use crate::{ClickthroughStore, Model, SourceKind, State};

impl Model {
    /// What stands under `type`.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::LambdaMart(_) => "lambdamart",
            Self::Shuffle { .. } => "shuffle",
            Self::Noop => "noop",
            Self::Als(_) => "als",
            Self::Trending(_) => "trending",
            Self::Semantic(_) => "semantic",
        }
    }
}

impl Booster {
    /// What stands under `backend.type`.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::XgBoost => "xgboost",
            Self::LightGbm => "lightgbm",
        }
    }
}

impl State {
    /// What stands under `type`.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Redis(_) => "redis",
            Self::File(_) => "file",
        }
    }
}

impl ClickthroughStore {
    /// What stands under `type`.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Discard => "discard",
            Self::Memory => "memory",
            Self::File { .. } => "file",
            Self::Redis { .. } => "redis",
            Self::S3(_) => "s3",
        }
    }
}

impl SourceKind {
    /// What stands under `type`.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::File { .. } => "file",
            Self::Kafka { .. } => "kafka",
            Self::Pulsar { .. } => "pulsar",
            Self::Kinesis { .. } => "kinesis",
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Config;
    use crate::schema::FEATURE_TYPES;

    fn parsed(text: &str) -> Config {
        Config::parse(text, "test").expect("a valid configuration").0
    }

    #[test]
    fn every_type_of_feature_has_its_name() {
        for of in FEATURE_TYPES {
            assert_eq!(parsed(&of.configuration()).features[0].kind.type_name(), of.name);
        }
    }

    #[test]
    fn stores_sources_and_models_are_named_as_in_the_configuration() {
        let of = |state: &str, train: &str, source: &str| {
            let text = format!("state: {state}\ntrain: {train}\nsource: {source}\nmodels: {{m: {{type: noop}}}}");
            let config = parsed(&text);
            let (train, source) = (config.train.expect("given"), config.source.expect("given"));
            assert_eq!(config.models["m"].type_name(), "noop");
            [config.state.type_name(), train.type_name(), source.kind.type_name()]
        };
        assert_eq!(of("{type: memory}", "{type: discard}", "{type: file, path: /e}"), ["memory", "discard", "file"]);
        let (state, train) = ("{type: file, path: /s}", "{type: s3, bucket: b, prefix: p, region: r}");
        let source = "{type: kafka, brokers: ['h:1'], topic: t, groupId: g}";
        assert_eq!(of(state, train, source), ["file", "s3", "kafka"]);
        let redis = "{type: redis, host: h, port: 1}";
        let source = "{type: kinesis, region: r, topic: t}";
        assert_eq!(of(redis, redis, source), ["redis", "redis", "kinesis"]);
    }
}
