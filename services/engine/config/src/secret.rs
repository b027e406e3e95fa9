//! Text that must not appear in logs.

use std::fmt;

/// A password or token; its debug form hides it. Line breaks at its end are not part of it: files of secrets often have one.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The text itself, to send or compare it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl<T: Into<String>> From<T> for Secret {
    fn from(text: T) -> Self {
        Self(without_line_breaks(text.into()))
    }
}

/// A text without line breaks at its end.
pub(crate) fn without_line_breaks(mut text: String) -> String {
    text.truncate(text.trim_end_matches(['\r', '\n']).len());
    text
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn a_secret_is_hidden_in_debug_output() {
        assert_eq!(format!("{:?}", Secret::from("hunter2")), "***");
        assert_eq!(Secret::from("hunter2").expose(), "hunter2");
    }

    #[test]
    fn line_breaks_at_the_end_are_no_part_of_a_secret() {
        assert_eq!(["p\n", "p\r\n", "p \n", "\np"].map(|text| Secret::from(text).0), ["p", "p", "p ", "\np"]);
    }
}
