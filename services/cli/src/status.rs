//! `status`: what there is of a service, as a person reads it.

use crate::options::StatusOptions;
use anyhow::{Result, bail};
use rankwright_assembly::{
    Found, Growth, ModelFound, Size, StateFound, Survey, WriterFound, configuration, print, runtime,
};
use rankwright_clickthrough::Status;
use rankwright_state::{Memory, Room};
use std::fmt::Write as _;

/// Prints what there is; an error where something cannot be told.
pub(crate) fn run(options: &StatusOptions) -> Result<()> {
    let config = configuration(options.config.as_deref())?;
    let survey = Survey::of(&config, &runtime()?);
    match options.json {
        true => print(&format!("{:#}\n", survey.json()))?,
        false => print(&text(&survey))?,
    }
    match survey.problem() {
        Some(problem) => bail!("{problem}"),
        None => Ok(()),
    }
}

fn text(survey: &Survey) -> String {
    let mut told = format!("service {} at {}\n\n", survey.service, survey.at);
    told += &heading("state", &survey.state);
    if let Some(state) = &survey.state.found {
        told += &of_state(state);
    }
    told += "\n";
    told += &heading("click-throughs", &survey.clickthroughs);
    if let Some(Status { records, bytes, parts }) = &survey.clickthroughs.found {
        told += &format!("  {parts} parts, {records} records, {}\n", size(*bytes));
    }
    told += "\n";
    told += &heading("models", &survey.models);
    if let Some(models) = survey.models.found.as_ref().filter(|models| !models.is_empty()) {
        let rows = models.iter().map(of_model);
        told += &table(&["model", "current", "before it", "versions", "metrics of the current one"], rows.collect());
    }
    told
}

fn heading<T>(what: &str, found: &Found<T>) -> String {
    let place = if found.place == "-" { String::new() } else { format!(" {}", found.place) };
    let how = match (&found.problem, found.note, &found.found) {
        (Some(_), ..) => ": unknown, see the error".to_owned(),
        (None, Some(note), _) => format!(": {note}"),
        (None, None, None) => ": nothing is there yet".to_owned(),
        (None, None, Some(_)) => String::new(),
    };
    format!("{what}: {}{place}{how}\n", found.kind)
}

fn of_state(state: &StateFound) -> String {
    let (usage, mut told) = (&state.size.usage, String::new());
    let looked = if usage.whole { "all looked at".to_owned() } else { format!("{} looked at", usage.sampled) };
    let about = if usage.whole { "" } else { "about " };
    told += &format!(
        "  generation {}, {about}{} in {about}{} keys ({looked})\n",
        state.generation,
        size(usage.bytes()),
        usage.keys
    );
    usage.servers.iter().for_each(|server| told += &of_server(server));
    let waits = |kind| state.size.other.get(kind).map_or(0, |room: &Room| room.values);
    told += &format!(
        "  {} rankings open, {} interactions waiting, {} click-throughs on their way\n",
        waits("joins"),
        waits("waiting"),
        waits("outbox")
    );
    if let Some(growth) = &state.growth {
        told += &of_growth(growth);
    }
    if let Some(closer) = &state.closer {
        told += &format!("  rankings are closed by {closer}\n");
    }
    told += &of_size(&state.size);
    if !state.writers.is_empty() {
        let rows = state.writers.iter().map(of_writer).collect();
        told += &table(&["writer", "position", "event time", "last seen"], rows);
    }
    told
}

fn of_server(server: &Memory) -> String {
    match server.limit {
        Some(limit) => {
            let share = server.used as f64 / limit as f64 * 100.0;
            format!("  server: {} of {} in use ({share:.0} %)\n", size(server.used), size(limit))
        }
        None => format!("  server: {} in use, maxmemory is not set\n", size(server.used)),
    }
}

fn of_growth(growth: &Growth) -> String {
    let (bytes, sign) = (growth.bytes_per_day.round(), if growth.bytes_per_day <= -0.5 { "-" } else { "" });
    let expected = match (growth.full_in_days, &growth.reason) {
        (Some(0.0), _) => ", full now".to_owned(),
        (Some(days), _) => format!(", full in {days:.1} days"),
        (None, Some(reason)) => format!(" ({reason})"),
        (None, None) => String::new(),
    };
    let (rate, minutes) = (size(bytes.abs() as u64), growth.over_seconds / 60);
    format!("  growth: {sign}{rate} a day{expected}, seen over {minutes} minutes until {}\n", growth.at())
}

/// A row for each feature and whatever else takes room.
pub(crate) fn of_size(found: &Size) -> String {
    let all = found.usage.bytes().max(1) as f64;
    let row = |(name, room): (String, &Room)| {
        let share = room.bytes as f64 / all * 100.0;
        vec![name, room.values.to_string(), size(room.bytes), format!("{share:.1} %")]
    };
    let mut features: Vec<_> = found.features.iter().map(|(name, room)| (name.clone(), room)).collect();
    features.sort_by(|left, right| right.1.bytes.cmp(&left.1.bytes).then_with(|| left.0.cmp(&right.0)));
    let other = found.other.iter().map(|(name, room)| (format!("({name})"), room));
    table(&["feature", "values", "size", "share"], features.into_iter().chain(other).map(row).collect())
}

fn of_writer(found: &WriterFound) -> Vec<String> {
    let reached = match found.reached.watermark {
        None => "before its first event".to_owned(),
        Some(_) if found.has_ended() => "read to its end".to_owned(),
        Some(at) => at.to_string(),
    };
    let position = found.position.as_ref().map_or("-", |position| &position.0);
    vec![found.reached.writer.clone(), position.to_owned(), reached, found.reached.seen.to_string()]
}

fn of_model(found: &ModelFound) -> Vec<String> {
    let or_none = |id: &Option<String>| id.clone().unwrap_or_else(|| "-".to_owned());
    let metrics: Vec<String> = found.metrics.iter().map(|(name, value)| format!("{name} {value:.4}")).collect();
    let current = match &found.pinned {
        Some(pinned) => format!("{} (pinned: {pinned})", or_none(&found.current)),
        None => or_none(&found.current),
    };
    vec![found.name.clone(), current, or_none(&found.previous), found.versions.to_string(), metrics.join(", ")]
}

/// `12.3 MiB`
fn size(bytes: u64) -> String {
    let (mut scaled, mut unit) = (bytes as f64, "bytes");
    for larger in ["KiB", "MiB", "GiB", "TiB"] {
        if scaled < 1024.0 {
            break;
        }
        (scaled, unit) = (scaled / 1024.0, larger);
    }
    if unit == "bytes" { format!("{bytes} bytes") } else { format!("{scaled:.1} {unit}") }
}

/// Columns as wide as their widest entry.
fn table(heads: &[&str], rows: Vec<Vec<String>>) -> String {
    let rows: Vec<Vec<String>> =
        std::iter::once(heads.iter().map(|head| (*head).to_owned()).collect()).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let mut told = "\n".to_owned();
    for row in rows {
        let mut line = " ".to_owned();
        for (entry, width) in row.iter().zip(&widths) {
            let _ = write!(line, " {entry:width$} "); // a string takes everything
        }
        told += line.trim_end();
        told += "\n";
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankwright_event::Timestamp;
    use rankwright_ingest::shared::Reached;
    use rankwright_state::{Position, Purpose, Usage};

    const PAGE: &str = include_str!("../../../docs/status.md");
    const KIB: f64 = 1024.0;
    const MIB: f64 = 1024.0 * KIB;

    fn time(text: &str) -> Timestamp {
        Timestamp::parse(text).expect("a time")
    }

    fn found<T>(kind: &'static str, place: &str, found: T) -> Found<T> {
        Found { kind, place: place.to_owned(), found: Some(found), problem: None, note: None }
    }

    /// The state of docs/status.md.
    fn state() -> StateFound {
        let room = |values, bytes: f64| Room { values, bytes: bytes as u64 };
        let features = [
            ("liked", room(5_118_000, 998.8 * MIB)),
            ("ctr", room(3_563_000, 326.3 * MIB)),
            ("price", room(1_941_000, 119.5 * MIB)),
        ];
        let other = [
            ("indexes", room(5, 61.2 * KIB)),
            ("joins", room(412, 403.1 * KIB)),
            ("waiting", room(3, 412.0)),
            ("watermarks", room(2, 620.0)),
            ("writers", room(6, 1.4 * KIB)),
        ];
        let bytes = features.iter().chain(&other).map(|(_, room)| room.bytes).sum();
        let server = Memory { server: "1".to_owned(), used: (2.1 * 1024.0 * MIB) as u64, limit: Some(4 << 30) };
        let usage = Usage {
            keys: 5_134_000,
            sampled: 5002,
            whole: false,
            room: [(Purpose::Rest, Room { values: 0, bytes })].into(),
            servers: vec![server],
        };
        let features = features.map(|(name, room)| (name.to_owned(), room)).into();
        let growth = format!(
            r#"{{"at": {}, "overSeconds": 86400, "bytesPerDay": {}, "fullInDays": 40.3}}"#,
            time("2026-11-22T08:09:57Z").millis(),
            48.2 * MIB
        );
        let writer = |number, position: &str, watermark| {
            let watermark = Some(time(watermark));
            let seen = time("2026-11-22T08:11:32Z");
            let reached = Reached { writer: format!("kafka:events/{number}"), partition: true, watermark, seen };
            WriterFound { reached, position: Some(Position(position.to_owned())) }
        };
        StateFound {
            generation: 2,
            size: Size { usage, features, other: other.into() },
            writers: vec![writer(0, "81223", "2026-11-22T08:11:30Z"), writer(1, "80117", "2026-11-22T08:11:31Z")],
            closer: Some("worker-0-5f1c22e8".to_owned()),
            growth: Some(serde_json::from_str(&growth).expect("a word of growth")),
        }
    }

    #[test]
    fn the_page_shows_what_is_printed() {
        let model = ModelFound {
            name: "default".to_owned(),
            current: Some("20261122T081130355Z-6beb964c".to_owned()),
            previous: Some("20261121T081131002Z-90ab12cd".to_owned()),
            pinned: None,
            versions: 2,
            trained: None,
            metrics: [("NDCG@10".to_owned(), 0.504)].into(),
        };
        let parts = Status { records: 74020, bytes: (20.1 * MIB) as u64, parts: 12 };
        let survey = Survey {
            service: "shop".to_owned(),
            at: time("2026-11-22T08:11:32Z"),
            state: found("redis", "redis:6379/0", state()),
            clickthroughs: found("s3", "s3://shop/clickthroughs", parts),
            models: found("redis", "redis:6379/3", vec![model]),
        };
        let told = text(&survey);
        assert!(PAGE.contains(&format!("\n```text\n{told}```\n")), "docs/status.md does not show this:\n{told}");
    }

    #[test]
    fn sizes_are_told_in_units_that_people_read() {
        let told = [0, 1023, 1024, 1_300_000, 5 << 30, 3 << 50].map(size);
        assert_eq!(told, ["0 bytes", "1023 bytes", "1.0 KiB", "1.2 MiB", "5.0 GiB", "3072.0 TiB"]);
    }

    #[test]
    fn growth_is_told_with_what_comes_of_it() {
        let told = |of: &str| {
            let word = format!(r#"{{"at": 1700000000000, "overSeconds": 3600, {of}}}"#);
            of_growth(&serde_json::from_str(&word).expect("a word of growth"))
        };
        for (of, expected) in [
            (r#""bytesPerDay": 3145728.4, "fullInDays": 20.26"#, "3.0 MiB a day, full in 20.3 days"),
            (r#""bytesPerDay": -3145728.4, "fullInDays": 0.0"#, "-3.0 MiB a day, full now"),
            (r#""bytesPerDay": -0.4, "reason": "it does not grow""#, "0 bytes a day (it does not grow)"),
            (r#""bytesPerDay": 0.0"#, "0 bytes a day"),
        ] {
            let line = format!("  growth: {expected}, seen over 60 minutes until 2023-11-14T22:13:20Z\n");
            assert_eq!(told(of), line);
        }
    }

    #[test]
    fn columns_are_as_wide_as_they_have_to_be() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let told = table(&["a", "b"], vec![row(["long", "x"]), row(["é", "y"])]);
        assert_eq!(told, "\n  a     b\n  long  x\n  é     y\n");
    }
}
