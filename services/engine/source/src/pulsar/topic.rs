//! Names of topics, short or long.

use super::error::Error;

const SCHEME: &str = "persistent://";

/// The whole name of a topic: `persistent://public/default/events` of `events`.
pub(super) fn whole(name: &str) -> Result<String, Error> {
    if name.starts_with("non-persistent://") {
        let reason = format!(
            "{name} is not persistent: its messages have no positions, so none of it could be read exactly once"
        );
        return Err(Error::TopicName(reason));
    }
    let rest = name.strip_prefix(SCHEME).unwrap_or(name);
    let parts: Vec<&str> = rest.split('/').collect();
    let good = parts.iter().all(|part| !part.is_empty()) && !rest.contains("://");
    match parts.len() {
        1 if good => Ok(format!("{SCHEME}public/default/{rest}")),
        3 if good => Ok(format!("{SCHEME}{rest}")),
        _ => Err(Error::TopicName(format!(
            "{name} is no topic: write tenant/namespace/topic, or a topic of public/default"
        ))),
    }
}

/// The name without what all of them begin with.
pub(super) fn short(whole: &str) -> &str {
    whole.strip_prefix(SCHEME).unwrap_or(whole)
}

/// The topics that a topic consists of: itself, or its partitions.
pub(super) fn parts(whole: &str, partitions: u32) -> Vec<String> {
    match partitions {
        0 => vec![whole.to_owned()],
        _ => (0..partitions).map(|number| format!("{whole}-partition-{number}")).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::whole;

    #[test]
    fn a_short_name_is_one_of_the_default_namespace() {
        assert_eq!(whole("events").ok().as_deref(), Some("persistent://public/default/events"));
        assert_eq!(whole("shop/live/events").ok().as_deref(), Some("persistent://shop/live/events"));
        assert_eq!(whole("persistent://shop/live/events").ok().as_deref(), Some("persistent://shop/live/events"));
    }

    #[test]
    fn what_is_no_topic_is_refused() {
        for name in ["", "live/events", "a//b", "http://a/b/c", "non-persistent://public/default/events"] {
            assert!(whole(name).is_err(), "{name}");
        }
    }
}
