//! Text that must not appear in logs.

use std::fmt;

/// A password or token; its debug form hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The text itself, for whoever has to send or compare it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl<T: Into<String>> From<T> for Secret {
    fn from(text: T) -> Self {
        Self(text.into())
    }
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
}
