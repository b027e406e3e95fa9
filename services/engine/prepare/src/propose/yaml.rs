//! Words of a configuration, quoted where YAML would read them as something else.

pub(super) use crate::digits::count;
use serde_json::Value;
use std::fmt::Write;

/// What YAML 1.1 or 1.2 takes for no text.
const RESERVED: [&str; 9] = ["true", "false", "yes", "no", "on", "off", "y", "n", "null"];

/// A text within a flow of braces and brackets.
pub(super) fn word(text: &str) -> String {
    let begins = |text: &str| text.starts_with(|char: char| char.is_alphabetic());
    let inside = |char: char| char.is_alphanumeric() || " _-./".contains(char);
    let plain = begins(text)
        && text.chars().all(inside)
        && !text.ends_with(' ')
        && !RESERVED.contains(&text.to_lowercase().as_str());
    if plain { text.to_owned() } else { quoted(text) }
}

/// As JSON, with escapes for what JSON takes and YAML does not.
fn quoted(text: &str) -> String {
    let mut quoted = String::new();
    for char in Value::from(text).to_string().chars() {
        match char {
            '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(char));
            }
            _ => quoted.push(char),
        }
    }
    quoted
}

/// A list of texts.
pub(super) fn list<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    let words: Vec<String> = texts.into_iter().map(word).collect();
    format!("[{}]", words.join(", "))
}

/// A text on one line of a comment.
pub(super) fn comment(text: &str) -> String {
    text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect()
}

/// A number with four digits at most, as a reader wants it.
pub(super) fn amount(number: f64) -> String {
    let magnitude = number.abs();
    if magnitude >= 1000.0 {
        let sign = if number < 0.0 { "-" } else { "" };
        return format!("{sign}{}", count(magnitude.round() as u64));
    }
    let decimals = if number.fract() == 0.0 {
        0
    } else if magnitude >= 10.0 {
        1
    } else {
        3
    };
    let text = format!("{number:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A part as `12.3 %`.
pub(super) fn percent(part: u64, all: u64) -> String {
    format!("{} %", amount((part as f64 / all.max(1) as f64 * 1000.0).round() / 10.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_yaml_would_not_take_them_for_texts() {
        let plain = ["red", "item.price", "science fiction", "größe", "x-1"];
        assert_eq!(plain.map(word), plain);
        let quoted = ["no", "Yes", "1", "2020-01-01", "a: b", "#x", "", " a", "a ", "a,b", "[", "it's", "\"", "~"];
        for text in quoted {
            assert!(word(text).starts_with('"'), "{text}");
        }
        assert_eq!(list(["a", "1"]), r#"[a, "1"]"#);
    }

    #[test]
    fn every_character_is_read_as_it_was() {
        use rankwright_config::{Config, feature::Kind};
        for char in ('\0'..='\u{a0}').chain(['\u{2028}', '\u{feff}', '\u{ffff}', 'ß', '\u{1f600}']) {
            let text = format!("a{char}b");
            let config =
                format!("features: [{{name: f, type: string, field: item.f, values: {}}}]", list([text.as_str()]));
            let (config, _) = Config::parse(&config, "test").unwrap_or_else(|errors| panic!("{char:?}: {errors}"));
            assert!(matches!(&config.features[0].kind, Kind::Text(read) if read.values == [text.as_str()]), "{char:?}");
        }
    }

    #[test]
    fn numbers_are_written_for_readers() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        let amounts = [0.0, 2.5, 0.1234, 12.34, -1.0, 25e6, -1234.5, 100.0].map(amount);
        assert_eq!(amounts, ["0", "2.5", "0.123", "12.3", "-1", "25,000,000", "-1,235", "100"]);
        assert_eq!([percent(1, 3), percent(1, 1), percent(0, 0)], ["33.3 %", "100 %", "0 %"]);
    }
}
