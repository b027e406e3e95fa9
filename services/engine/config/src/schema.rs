//! What there is: every type of feature, with an example and what it computes.
//!
//! The reader takes the names from here, and the tests of other crates walk this table to prove that no type lacks an
//! extractor.

/// A type of feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeatureType {
    /// What stands under `type`.
    pub name: &'static str,
    /// Other names for the same.
    pub aliases: &'static [&'static str],
    /// A definition in YAML, on one line.
    pub example: &'static str,
    /// What it computes, in a sentence.
    pub doc: &'static str,
}

impl FeatureType {
    /// A whole configuration with the example as its only feature, used by a model named `example`.
    pub fn configuration(&self) -> String {
        let name = self.example.split(['{', ',']).find_map(|part| part.trim().strip_prefix("name:"));
        let name = name.unwrap_or_default().trim();
        let model = format!("{{type: lambdamart, weights: {{click: 1}}, features: [{name}]}}");
        format!("features:\n  - {}\nmodels:\n  example: {model}\n", self.example)
    }
}

/// Every type of feature, in the order of the specification.
pub const FEATURE_TYPES: &[FeatureType] = &[
    FeatureType {
        name: "number",
        aliases: &[],
        example: "{name: price, type: number, field: item.price}",
        doc: "a number of an item, a user or a ranking as it stands",
    },
    FeatureType {
        name: "boolean",
        aliases: &[],
        example: "{name: available, type: boolean, field: item.available}",
        doc: "1 for true, 0 for false",
    },
    FeatureType {
        name: "vector",
        aliases: &[],
        example: "{name: sizes, type: vector, field: item.sizes, reduce: [min, max, vector3]}",
        doc: "a list of numbers, reduced to a few: first, last, min, max, random, avg, sum, size, euclidean_distance, vectorN",
    },
    FeatureType {
        name: "string",
        aliases: &[],
        example: "{name: color, type: string, field: item.color, encode: onehot, values: [red, green, blue]}",
        doc: "a category: one column with its position among the known values (index), or one column per value (onehot)",
    },
    FeatureType {
        name: "word_count",
        aliases: &[],
        example: "{name: title_words, type: word_count, field: item.title}",
        doc: "the number of words of a text",
    },
    FeatureType {
        name: "list_size",
        aliases: &[],
        example: "{name: tag_count, type: list_size, field: item.tags}",
        doc: "the number of elements of a list of texts or numbers",
    },
    FeatureType {
        name: "time_diff",
        aliases: &[],
        example: "{name: since_release, type: time_diff, field: item.released}",
        doc: "seconds from a field of epoch seconds to the time of the ranking",
    },
    FeatureType {
        name: "field_match",
        aliases: &[],
        example: "{name: title_match, type: field_match, rankingField: ranking.query, itemField: item.title, method: {type: ngram, language: en, n: 3}}",
        doc: "how well a text of the ranking matches one of the item: by terms, n-grams, BM25 or an encoder",
    },
    FeatureType {
        name: "ua",
        aliases: &[],
        example: "{name: platform, type: ua, source: ranking.ua, field: platform}",
        doc: "what a user agent tells of the visitor: platform, os, browser or bot, a column per value",
    },
    FeatureType {
        name: "interacted_with",
        aliases: &[],
        example: "{name: liked, type: interacted_with, interaction: click, field: [item.color, item.brand], scope: session}",
        doc: "per field, how much of the item the visitor's newest interactions have in common with it",
    },
    FeatureType {
        name: "referer",
        aliases: &[],
        example: "{name: came_from, type: referer, source: ranking.referer, scope: session}",
        doc: "the mediums a visitor came from: unknown, search, internal, social, email, paid, a column each",
    },
    FeatureType {
        name: "relevancy",
        aliases: &[],
        example: "{name: relevancy, type: relevancy}",
        doc: "deprecated: the item's field relevancy in the ranking; use number with field ranking.relevancy",
    },
    FeatureType {
        name: "position",
        aliases: &[],
        example: "{name: position, type: position, position: 5}",
        doc: "the shown position in training, the given constant when serving, so that a model can unlearn position bias",
    },
    FeatureType {
        name: "diversity",
        aliases: &[],
        example: "{name: price_diversity, type: diversity, field: item.price, top: 20}",
        doc: "how an item differs from its ranking: distance from the median of a number, or how frequent its texts are",
    },
    FeatureType {
        name: "interaction_count",
        aliases: &[],
        example: "{name: clicks, type: interaction_count, interaction: click, scope: item}",
        doc: "an ever-growing number of interactions",
    },
    FeatureType {
        name: "window_count",
        aliases: &["window_event_count"],
        example: "{name: recent_clicks, type: window_count, interaction: click, scope: item, bucket_size: 24h, windows: [7, 30]}",
        doc: "the number of interactions in the last so many buckets of time, a column per window",
    },
    FeatureType {
        name: "rate",
        aliases: &[],
        example: "{name: ctr, type: rate, top: click, bottom: impression, bucket: 24h, periods: [7, 30], normalize: {weight: 10}}",
        doc: "one kind of interaction per another, such as the click-through rate, a column per period",
    },
    FeatureType {
        name: "local_time",
        aliases: &[],
        example: "{name: hour, type: local_time, source: ranking.localts, parse: time_of_day}",
        doc: "a part of the visitor's local date and time: day_of_week, time_of_day, day_of_month, month_of_year, year, second",
    },
    FeatureType {
        name: "item_age",
        aliases: &[],
        example: "{name: age, type: item_age, source: item.created}",
        doc: "seconds from a date that the item carries, or from its newest metadata event (item.timestamp), to the ranking",
    },
    FeatureType {
        name: "random",
        aliases: &[],
        example: "{name: chance, type: random}",
        doc: "a random number from 0 to 1 for each item of a ranking, such as a baseline that a useful feature has to beat",
    },
];
