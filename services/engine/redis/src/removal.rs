//! Removing all keys that begin alike.

use crate::{Error, Link};
use redis::{Cmd, Pipeline, RedisResult, cmd};

/// So many keys are looked at, and removed, at once.
const AT_ONCE: usize = 1000;

impl Link {
    /// Removes all keys that begin with `prefix`, in every server; how many there were. Keys that are written meanwhile may
    /// stay.
    ///
    /// # Errors
    /// As [`Link::send`]; what was removed by then is gone.
    pub async fn remove_all(&self, prefix: &str) -> Result<u64, Error> {
        let pattern = &format!("{}*", escaped(prefix));
        let removed = self.each(|mut connection| async move {
            let (mut removed, mut cursor) = (0, 0u64);
            loop {
                let (next, names): (u64, Vec<Vec<u8>>) = page(cursor, pattern).query_async(&mut connection).await?;
                if !names.is_empty() {
                    let gone: RedisResult<Vec<u64>> = unlink(&names).query_async(&mut connection).await;
                    removed += gone?.iter().sum::<u64>();
                }
                if next == 0 {
                    return Ok(removed);
                }
                cursor = next;
            }
        });
        Ok(removed.await?.into_iter().sum())
    }
}

fn page(cursor: u64, pattern: &str) -> Cmd {
    let mut page = cmd("SCAN");
    page.arg(cursor).arg("MATCH").arg(pattern).arg("COUNT").arg(AT_ONCE);
    page
}

/// One command for each, as they may lie in different slots.
fn unlink(names: &[Vec<u8>]) -> Pipeline {
    let mut removal = redis::pipe();
    for name in names {
        removal.cmd("UNLINK").arg(name);
    }
    removal
}

/// A text that stands for itself in a pattern.
fn escaped(text: &str) -> String {
    text.chars().flat_map(|letter| "*?[]\\^".contains(letter).then_some('\\').into_iter().chain([letter])).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used)]
    use super::*;
    use crate::testing;

    #[test]
    fn a_prefix_stands_for_itself() {
        assert_eq!(escaped("rw:a*[b]?:"), "rw:a\\*\\[b\\]\\?:");
    }

    #[tokio::test]
    async fn all_keys_that_begin_alike_are_removed_and_no_others() {
        for settings in testing::server().into_iter().chain(testing::cluster()) {
            let link = Link::new(settings, None).expect("needs no certificates");
            let own =
                format!("rw:removal-{:016x}:", std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0));
            for number in 0..2500 {
                let key = &format!("{own}{number}");
                let set = link.send(key, |mut connection| async move {
                    cmd("SET").arg(key).arg(1).query_async::<()>(&mut connection).await
                });
                set.await.expect("is written");
            }
            let other = &format!("{}0", &own[..own.len() - 1]);
            let set =
                |mut connection| async move { cmd("SET").arg(other).arg(1).query_async::<()>(&mut connection).await };
            link.send(other, set).await.expect("is written");
            assert_eq!(link.remove_all(&own).await.expect("removes"), 2500);
            assert_eq!(link.remove_all(&own).await.expect("removes"), 0);
            assert_eq!(link.remove_all(other).await.expect("removes"), 1, "another's key was left alone");
        }
    }
}
