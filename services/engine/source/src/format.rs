//! How events are written, as a configuration names it.

use rankwright_config::EventFormat;
use rankwright_event::{DecodeError, Event, Timestamp, json, snowplow};

/// Reads one event. Nothing where the text is an enriched event of Snowplow that holds none.
pub(crate) fn decode(format: EventFormat, text: &[u8]) -> Result<Option<Event>, DecodeError> {
    match format {
        EventFormat::Json => json::decode(text).map(Some),
        EventFormat::SnowplowTsv => snowplow::decode_tsv(text),
        EventFormat::SnowplowJson => snowplow::decode_json(text),
    }
}

/// Reads when an event happened. Nothing where the text is an enriched event of Snowplow that holds none.
pub(crate) fn time(format: EventFormat, text: &[u8]) -> Result<Option<Timestamp>, DecodeError> {
    match format {
        EventFormat::Json => json::decode_time(text).map(Some),
        _ => Ok(decode(format, text)?.map(|event| event.timestamp())),
    }
}

/// How files with events of this format are named in a folder: endings, before that of a compression.
pub(crate) fn endings(format: EventFormat) -> &'static [&'static str] {
    match format {
        EventFormat::Json | EventFormat::SnowplowJson => &["json", "jsonl", "ndjson"],
        EventFormat::SnowplowTsv => &["tsv"],
    }
}

/// The same in words.
pub(crate) fn names(format: EventFormat) -> &'static str {
    match format {
        EventFormat::Json | EventFormat::SnowplowJson => "*.json, *.jsonl or *.ndjson",
        EventFormat::SnowplowTsv => "*.tsv",
    }
}
