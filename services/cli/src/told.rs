//! Texts for people, with names that come from outside.

/// A text from outside, on one line: what would move the cursor of a terminal is shown as an escape.
pub(crate) fn line(text: &str) -> String {
    let escaped = |sign: char| if sign.is_control() { sign.escape_default().collect() } else { sign.to_string() };
    text.chars().map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_from_outside_stays_on_its_line() {
        assert_eq!(line("a\u{1b}[2J\nb"), "a\\u{1b}[2J\\nb");
    }
}
