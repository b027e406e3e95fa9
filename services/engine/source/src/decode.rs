//! From a message to its events.

use crate::format;
use rankwright_config::EventFormat;
use rankwright_event::{DecodeError, Event, Timestamp, json};

/// Reads a message: one event, an array of them, or JSON lines. Calls `bad` for what is none, with its bytes.
///
/// A message is good or bad as a whole, except lines, each of which stands for itself. Enriched events of Snowplow are lines.
pub(crate) fn decode(
    format: EventFormat,
    message: &[u8],
    until: Timestamp,
    events: &mut Vec<Event>,
    mut bad: impl FnMut(&[u8], String),
) {
    let mut keep = |event: Event, text: &[u8], place: &str, bad: &mut dyn FnMut(&[u8], String)| {
        let (kind, at) = (event.kind(), event.timestamp());
        if at > until {
            bad(
                text,
                format!(
                    "{place}the {kind} event's timestamp {at} lies further in the future than core.ingest.maxAhead allows"
                ),
            );
        } else {
            events.push(event);
        }
    };
    let batch = match format {
        EventFormat::Json => json::decode_batch(message),
        EventFormat::SnowplowTsv | EventFormat::SnowplowJson => {
            return each_line(format, message, |line| match line.event {
                Ok(Some(event)) => keep(event, line.text, &line.place, &mut bad),
                Ok(None) => {}
                Err(error) => bad(line.text, format!("{}{error}", line.place)),
            });
        }
    };
    match batch {
        Ok(decoded) => decoded.into_iter().for_each(|event| keep(event, message, "", &mut bad)),
        Err(error) => match lines(message) {
            Some(lines) => lines.into_iter().for_each(|Line { place, text, event }| match event {
                Ok(event) => keep(event, text, &place, &mut bad),
                Err(error) => bad(text, format!("{place}{error}")),
            }),
            None if message.is_empty() => bad(message, "the message is empty".to_owned()),
            None => bad(message, error.to_string()),
        },
    }
}

/// One line of a message.
struct Line<'a, E = Event> {
    place: String,
    text: &'a [u8],
    event: Result<E, String>,
}

/// Each line that is not blank; a message without one is a bad line.
fn each_line<'a>(format: EventFormat, message: &'a [u8], mut take: impl FnMut(Line<'a, Option<Event>>)) {
    let numbered = message.split(|&byte| byte == b'\n').enumerate();
    let mut lines = numbered.filter(|(_, line)| !line.trim_ascii().is_empty()).peekable();
    if lines.peek().is_none() {
        take(Line { place: String::new(), text: message, event: Err("the message is empty".to_owned()) });
    }
    for (index, text) in lines {
        let place =
            if message.trim_ascii_end().contains(&b'\n') { format!("line {}: ", index + 1) } else { String::new() };
        take(Line { place, text, event: format::decode(format, text).map_err(|error| said(&error)) });
    }
}

/// Each line by itself, if one of them at least is an event; else the message is not meant to be lines.
fn lines(message: &[u8]) -> Option<Vec<Line<'_>>> {
    let numbered = message.split(|&byte| byte == b'\n').enumerate();
    let texts = numbered.filter(|(_, line)| !line.trim_ascii().is_empty());
    let decoded = texts.map(|(index, text)| {
        let event = json::decode(text).map_err(|error| said(&error));
        Line { place: format!("line {}: ", index + 1), text, event }
    });
    let lines: Vec<_> = decoded.collect();
    lines.iter().any(|line| line.event.is_ok()).then_some(lines)
}

fn said(error: &DecodeError) -> String {
    let colon = if error.path().is_empty() { "" } else { ": " };
    format!("{}{colon}{} (column {})", error.path(), error.reason(), error.column())
}

#[cfg(test)]
mod tests {
    use super::decode;
    use rankwright_config::EventFormat;
    use rankwright_event::Timestamp;

    const USER: &str = r#"{"event":"user","id":"e","user":"u","timestamp":"1000","fields":[]}"#;

    /// How many events there are, and what is bad.
    fn read(message: &str) -> (usize, Vec<String>) {
        let (mut events, mut bad) = (Vec::new(), Vec::new());
        decode(EventFormat::Json, message.as_bytes(), Timestamp::from_millis(2000), &mut events, |_, reason| {
            bad.push(reason)
        });
        (events.len(), bad)
    }

    #[test]
    fn a_message_is_one_event_or_an_array_or_lines() {
        assert_eq!(read(USER), (1, vec![]));
        assert_eq!(read(&format!("[{USER},{USER}]")), (2, vec![]));
        assert_eq!(read(&format!("{USER}\n\n{USER}\n{USER}\n")), (3, vec![]));
    }

    #[test]
    fn a_bad_line_leaves_the_others() {
        let (events, bad) = read(&format!("{USER}\n{{}}\n{USER}"));
        assert_eq!((events, bad.len()), (2, 1));
        assert!(bad[0].starts_with("line 2: "), "{}", bad[0]);
    }

    #[test]
    fn what_is_bad_comes_with_its_bytes() {
        let contents = |message: &str| {
            let (mut events, mut contents) = (Vec::new(), Vec::new());
            let until = Timestamp::from_millis(2000);
            decode(EventFormat::Json, message.as_bytes(), until, &mut events, |bytes, _| {
                contents.push(String::from_utf8_lossy(bytes).into_owned());
            });
            contents
        };
        assert_eq!(contents(&format!("{USER}\n{{}}\n{USER}")), ["{}"], "the line alone");
        let both = format!("[{USER},{{}}]");
        assert_eq!(contents(&both), [both], "all of a message that stands or falls as a whole");
    }

    #[test]
    fn an_unreadable_message_is_bad_once() {
        assert_eq!(read("").1, ["the message is empty"]);
        assert_eq!(read("{\n\"event\":\n1}").1.len(), 1);
        assert_eq!(read(&format!("[{USER},{{}}]")).0, 0);
    }

    #[test]
    fn an_event_of_the_future_is_bad() {
        let (events, bad) = read(&USER.replace("1000", "2001"));
        assert_eq!(events, 0);
        assert!(bad[0].contains("lies further in the future"), "{}", bad[0]);
    }

    #[test]
    fn a_message_of_snowplow_is_lines_each_for_itself() {
        let ours = format!(r#"{{"unstruct_event_com_rankwright_user_1":{USER}}}"#);
        let (other, wrong) =
            (r#"{"event":"page_view","event_id":"x"}"#, r#"{"unstruct_event_com_rankwright_user_1":{}}"#);
        let read = |message: &str| {
            let (mut events, mut bad) = (Vec::new(), Vec::new());
            let until = Timestamp::from_millis(2000);
            decode(EventFormat::SnowplowJson, message.as_bytes(), until, &mut events, |_, reason| bad.push(reason));
            (events.len(), bad)
        };
        assert_eq!(read(&ours), (1, vec![]));
        assert_eq!(read(other), (0, vec![]));
        assert_eq!(read(&format!("{ours}\n{other}\n\n{ours}\n")), (2, vec![]));
        let (events, bad) = read(&format!("{ours}\n{wrong}\n{ours}"));
        assert_eq!((events, bad.len()), (2, 1));
        assert!(bad[0].starts_with("line 2: unstruct_event: missing keys"), "{}", bad[0]);
        assert_eq!(read("\n").1, ["the message is empty"]);
        assert!(read(&ours.replace("1000", "2001")).1[0].contains("lies further in the future"));
    }
}
