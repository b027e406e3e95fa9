//! Feature definitions, as they are after checking: every default filled in, every alias resolved.

mod columns;

pub use columns::REFERER_MEDIUMS;
use std::time::Duration;

/// One feature extractor of the configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Feature {
    /// Unique name; columns and explanations carry it.
    pub name: String,
    /// Accepted for compatibility: values are always fresh here.
    pub refresh: Option<Duration>,
    /// How long a stored value counts after its last change; 0 is never.
    pub ttl: Duration,
    /// What is computed.
    pub kind: Kind,
}

/// What a feature computes, by the `type` of its definition.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// `number`: a number as it stands.
    Number(Source),
    /// `boolean`: 1 or 0.
    Boolean(Source),
    /// `vector`: a list of numbers, reduced; one or more columns a reducer.
    Vector {
        /// Where the numbers are.
        source: Source,
        /// Reducers in order; never empty.
        reduce: Vec<Reducer>,
    },
    /// `string`: a category.
    Text {
        /// Where the text or list of texts is.
        source: Source,
        /// Known values; never empty.
        values: Vec<String>,
        /// One column or one per value.
        encode: Encoding,
    },
    /// `word_count`: number of words of a text.
    WordCount(Source),
    /// `list_size`: number of elements of a list.
    ListSize(Source),
    /// `time_diff`: seconds from a field of epoch seconds to the ranking.
    TimeDiff(Source),
    /// `field_match`: how well a ranking's field matches an item's. Checked here; not computed yet.
    FieldMatch(FieldMatch),
    /// `ua`: what a user agent says of the visitor's device.
    UserAgent {
        /// Where the user agent string is.
        source: Source,
        /// Which of its properties.
        field: AgentField,
    },
    /// `interacted_with`: values shared with the items of the visitor's earlier interactions; one column a field.
    InteractedWith {
        /// Interaction type.
        interaction: String,
        /// Item fields (without `item.`); never empty.
        fields: Vec<String>,
        /// Whose history.
        scope: Visitor,
        /// How many of the newest interactions; default 100.
        count: usize,
        /// None older than this before the newest one; default 24 hours.
        duration: Duration,
    },
    /// `referer`: mediums that a visitor came from; six columns.
    Referer {
        /// Where the referer is (user, ranking or interaction field).
        source: Source,
        /// Whose history.
        scope: Visitor,
    },
    /// `relevancy` (deprecated): the per-item ranking field `relevancy`.
    Relevancy,
    /// `position`: the shown position in training, this constant when serving.
    Position(f64),
    /// `diversity`: how an item differs from the rest of its ranking.
    Diversity {
        /// Item field (without `item.`).
        field: String,
        /// Only the first so many items are looked at; absent means all.
        top: Option<usize>,
    },
    /// `interaction_count`: an ever-growing counter.
    InteractionCount {
        /// Interaction type.
        interaction: String,
        /// Whose counter.
        scope: Scope,
    },
    /// `window_count` (also `window_event_count`): counts over the last so many buckets; one column a window.
    WindowCount {
        /// Interaction type.
        interaction: String,
        /// Whose counters.
        scope: Scope,
        /// Length of a bucket; at least a millisecond.
        bucket: Duration,
        /// Window lengths in buckets; never empty, each at least 1.
        windows: Vec<u32>,
    },
    /// `rate`: one interaction per another; one column a period.
    Rate {
        /// Dividend.
        top: String,
        /// Divisor, such as `impression`.
        bottom: String,
        /// Length of a bucket.
        bucket: Duration,
        /// Period lengths in buckets; never empty, each at least 1.
        periods: Vec<u32>,
        /// What the counters belong to.
        scope: RateScope,
        /// Weight of the global rate; absent means the plain rate.
        normalize: Option<f64>,
    },
    /// `local_time`: a part of a local date and time.
    LocalTime {
        /// Where the date and time is.
        source: LocalTimeSource,
        /// Which part.
        parse: TimePart,
    },
    /// `item_age`: seconds since a time that the item carries.
    ItemAge(AgeSource),
    /// `random`: a number from 0 to 1 for each item of a ranking.
    Random,
}

/// Where a field's value comes from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Source {
    /// Whose field.
    pub entity: Entity,
    /// Its name.
    pub field: String,
}

/// Whose field a source names (`metadata.x` is `item.x`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Entity {
    /// `item.<field>`
    Item,
    /// `user.<field>`
    User,
    /// `ranking.<field>`: a field of the request, or of an item of the request.
    Ranking,
    /// `interaction.<field>` of all interactions, or `interaction:<type>.<field>` of one type: `referer` alone reads it.
    Interaction(Option<String>),
    /// `*.<field>` of users, rankings and interactions: `referer` alone reads it.
    Any,
}

/// What a value is keyed by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Scope {
    /// One value for everything.
    Global,
    /// By item.
    Item,
    /// By visitor.
    User,
    /// By visit.
    Session,
    /// By each value of an item field, as in a rate.
    ItemField(String),
    /// By the item within rankings with the same value of a ranking field, as in a rate.
    RankingField(String),
}

/// Whose history a profile is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Visitor {
    /// By visitor.
    User,
    /// By visit.
    Session,
}

/// What a rate's counters belong to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RateScope {
    /// The item itself.
    Item,
    /// Each value of an item field.
    ItemField(String),
    /// The item within rankings with the same value of a ranking field.
    RankingField(String),
}

/// How a category becomes numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// One column a known value.
    OneHot,
    /// One column: 0 for none, else the position in the list of values from 1.
    Index,
}

/// How a list of numbers becomes columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reducer {
    /// First element, 0 of an empty list.
    First,
    /// Last element, 0 of an empty list.
    Last,
    /// Smallest.
    Min,
    /// Largest.
    Max,
    /// Any one, chosen by the ranking's id.
    Random,
    /// Mean.
    Avg,
    /// Sum.
    Sum,
    /// Number of elements.
    Size,
    /// Root of the sum of squares.
    EuclideanDistance,
    /// The first so many elements, padded with zeros: as many columns.
    Vector(usize),
}

/// Property of a user agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AgentField {
    /// mobile, desktop, tablet
    Platform,
    /// ios, android, windows, linux, macos, chrome os
    Os,
    /// safari, chrome, firefox, opera, ie, other
    Browser,
    /// a known crawler or not
    Bot,
}

/// Where a local date and time is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum LocalTimeSource {
    /// A ranking field that holds an ISO date and time with a zone.
    Field(String),
    /// The ranking's own timestamp, in UTC.
    Timestamp,
}

/// Part of a local date and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimePart {
    /// 1 (Monday) to 7
    DayOfWeek,
    /// 0.0 to 23.99
    TimeOfDay,
    /// 1 to 31
    DayOfMonth,
    /// 1 to 12
    MonthOfYear,
    /// such as 2021
    Year,
    /// seconds since 1970
    Second,
}

/// Where an item's time is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum AgeSource {
    /// An item field: ISO date and time with a zone, or epoch seconds as number or string.
    Field(String),
    /// The time of the item's newest metadata event.
    Updated,
}

/// How a ranking's field is compared with an item's.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldMatch {
    /// Ranking field (without `ranking.`).
    pub ranking_field: String,
    /// Item field (without `item.`).
    pub item_field: String,
    /// The comparison.
    pub method: MatchMethod,
    /// Of embeddings; default cosine.
    pub distance: Distance,
}

/// A comparison of two texts.
#[derive(Debug, Clone, PartialEq)]
pub enum MatchMethod {
    /// BM25 with a term dictionary.
    Bm25 {
        /// Language of both texts.
        language: String,
        /// Path of the dictionary.
        term_freq: String,
    },
    /// Intersection over union of n-grams.
    Ngram {
        /// Language of both texts.
        language: String,
        /// Length of an n-gram.
        n: usize,
    },
    /// Intersection over union of terms.
    Term {
        /// Language of both texts.
        language: String,
    },
    /// Distance of two embeddings.
    BiEncoder {
        /// Model handle; absent means caches alone.
        model: Option<String>,
        /// Length of an embedding.
        dim: usize,
        /// CSV of item embeddings.
        item_field_cache: Option<String>,
        /// CSV of query embeddings.
        ranking_field_cache: Option<String>,
    },
    /// Score of a cross-encoder.
    CrossEncoder {
        /// Model handle; absent means the cache alone.
        model: Option<String>,
        /// CSV of query, document, score.
        cache: Option<String>,
    },
}

/// How embeddings are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Distance {
    /// Cosine similarity.
    Cos,
    /// Dot product.
    Dot,
}
