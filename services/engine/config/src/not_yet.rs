//! What a configuration may say and this version does not do. The programs refuse to start with it.

use crate::{Config, EventFormat};

impl Config {
    /// One line, `<path>: ... is not available in this version`, for each thing that cannot be served yet.
    pub fn not_yet(&self) -> Vec<String> {
        let of_snowplow = self.source.as_ref().is_some_and(|source| source.format != EventFormat::Json);
        of_snowplow.then(|| line("source.format", "the format snowplow")).into_iter().collect()
    }
}

fn line(path: &str, what: &str) -> String {
    format!("{path}: {what} is not available in this version")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::Config;

    fn not_yet(text: &str) -> Vec<String> {
        Config::parse(text, "test").unwrap().0.not_yet()
    }

    #[test]
    fn what_is_not_there_yet_is_named_with_its_path() {
        let text = "
state: {type: redis, host: h, port: 1}
source: {type: kinesis, region: r, topic: t, format: snowplow}
features:
  - {name: price, type: number, field: item.price}
  - {name: title, type: field_match, rankingField: ranking.q, itemField: item.t, method: {type: term, language: en}}
  - {name: sense, type: field_match, rankingField: ranking.q, itemField: item.t, method: {type: bi-encoder, model: a/b, dim: 2}}
  - {name: cross, type: field_match, rankingField: ranking.q, itemField: item.t, method: {type: cross-encoder, model: a/b}}
models:
  similar: {type: als, interactions: [click]}
  trend: {type: trending, weights: [{interaction: click}]}
  alike: {type: semantic, encoder: {type: csv, dim: 2, path: /e.csv}, itemFields: [title]}
  fine: {type: noop}
inference:
  words: {type: bi-encoder, model: a/b}";
        let missing = "is not available in this version";
        assert_eq!(not_yet(text), [format!("source.format: the format snowplow {missing}")]);
    }

    #[test]
    fn what_is_there_is_not_named() {
        let pulsar =
            "source: {type: pulsar, serviceUrl: 'pulsar://p', adminUrl: 'http://p', topic: t, subscriptionName: s}";
        let kinesis = "source: {type: kinesis, region: r, topic: t}";
        let (s3, redis) =
            ("train: {type: s3, bucket: b, prefix: p, region: r}", "train: {type: redis, host: h, port: 1}");
        for text in ["", s3, redis, pulsar, kinesis] {
            assert_eq!(not_yet(text), Vec::<String>::new());
        }
        let fields = "type: field_match, rankingField: ranking.q, itemField: item.t";
        for method in
            ["bi-encoder, dim: 2, itemFieldCache: /i.csv, rankingFieldCache: /q.csv", "cross-encoder, cache: /c.csv"]
        {
            let text = format!("features: [{{name: f, {fields}, method: {{type: {method}}}}}]");
            assert_eq!(not_yet(&text), Vec::<String>::new());
        }
        let text = "state: {type: file, path: /s}\ntrain: {type: discard}\nsource: {type: file, path: /in}";
        assert_eq!(not_yet(text), Vec::<String>::new());
    }
}
