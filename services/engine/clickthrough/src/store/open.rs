//! The store that a configuration asks for.

use super::file::FileSettings;
use super::s3::S3Settings;
use crate::{ClickthroughStore, DiscardStore, Error, FileStore, Header, MemoryStore, Result, S3Store};
use rankwright_config::{ClickthroughStore as Choice, Config, State};
use std::sync::Arc;

/// Opens the store that `train` names, or without it the one where the state is: in memory, or in the folder
/// `clickthroughs` beside the state's files, in its format.
pub fn open(config: &Config, header: Header) -> Result<Arc<dyn ClickthroughStore>> {
    let choice = config.train.clone().unwrap_or_else(|| match &config.state {
        State::Memory => Choice::Memory,
        State::File(state) => Choice::File { path: state.path.join("clickthroughs"), format: state.format },
        State::Redis(redis) => Choice::Redis { redis: redis.clone(), ttl: std::time::Duration::MAX },
    });
    Ok(match choice {
        Choice::Discard => Arc::new(DiscardStore::new(header)),
        Choice::Memory => Arc::new(MemoryStore::new(header)?),
        Choice::File { path, format } => Arc::new(FileStore::open(FileSettings::new(path, format), header)?),
        Choice::Redis { .. } => return Err(Error::NotServed { kind: "redis" }),
        Choice::S3(s3) => Arc::new(S3Store::open(&S3Settings::from_config(&s3)?, header)?),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::{header, ranking};

    fn opened(yaml: &str) -> Result<Arc<dyn ClickthroughStore>> {
        open(&Config::parse(yaml, "test").unwrap().0, header(2))
    }

    #[test]
    fn click_throughs_go_where_the_state_is_unless_train_says_otherwise() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().display();
        let with_state = opened(&format!("state: {{type: file, path: '{path}/state', format: json}}")).unwrap();
        let apart = opened(&format!(
            "state: {{type: file, path: '{path}/state'}}\ntrain: {{type: file, path: '{path}/train'}}"
        ));
        let stores = [with_state, apart.unwrap()];
        for store in &stores {
            store.append(&[ranking(1, 3, 2)]).unwrap();
            store.flush().unwrap();
        }
        assert!(folder.path().join("state/clickthroughs/00000001.json.open").exists());
        assert!(folder.path().join("train/00000001.bin.open").exists());
    }

    #[test]
    fn click_throughs_stay_in_memory_with_a_state_that_does_and_nowhere_when_discarded() {
        for (yaml, kept) in [("{}", 1), ("state: {type: memory}", 1), ("train: {type: discard}", 0)] {
            let store = opened(yaml).unwrap();
            store.append(&[ranking(1, 3, 2)]).unwrap();
            assert_eq!(store.read().unwrap().count(), kept, "{yaml}");
        }
    }

    #[test]
    fn a_store_that_is_not_served_yet_says_so() {
        let outcome = opened("train: {type: redis, host: h, port: 1}").map(|_| ());
        assert_eq!(
            outcome.unwrap_err().to_string(),
            "click-throughs in redis are not served yet; use s3, file, memory or discard"
        );
    }
}
