//! Names that no model answers to.

/// A name that cannot be answered for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unknown {
    /// The configuration has no such model.
    #[error("no model named {name:?} is configured; there {}", listed(.known))]
    Name {
        /// As asked for.
        name: String,
        /// Configured names.
        known: Vec<String>,
    },
    /// It is there, and answers elsewhere.
    #[error("model {name:?} is of type {kind}: ask POST {path}")]
    Kind {
        /// As asked for.
        name: String,
        /// Its type in the configuration.
        kind: &'static str,
        /// Where it answers.
        path: String,
    },
}

/// How a sentence that begins with "there" goes on.
pub(crate) fn listed(known: &[String]) -> String {
    match known {
        [] => "are none".to_owned(),
        [one] => format!("is {one}"),
        many => format!("are {}", many.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_model_is_answered_with_the_names_there_are() {
        let unknown = |known: &[&str]| Unknown::Name {
            name: "shp".into(),
            known: known.iter().map(|&name| name.into()).collect(),
        };
        assert_eq!(
            unknown(&["shop", "home"]).to_string(),
            "no model named \"shp\" is configured; there are shop, home"
        );
        assert_eq!(unknown(&["shop"]).to_string(), "no model named \"shp\" is configured; there is shop");
        assert_eq!(unknown(&[]).to_string(), "no model named \"shp\" is configured; there are none");
    }
}
