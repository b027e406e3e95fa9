//! Keys that begin alike: naming them, and removing them, at once or after a while.

use crate::{Error, Link};
use redis::{Cmd, RedisResult, cmd};
use std::time::Duration;

/// Keys that are looked at, and removed, at once.
const AT_ONCE: usize = 1000;

impl Link {
    /// Removes all keys that begin with `prefix`, in every server; how many there were. Keys that are written meanwhile may
    /// stay.
    ///
    /// # Errors
    /// As [`Link::send`]; what was removed by then is gone.
    pub async fn remove_all(&self, prefix: &str) -> Result<u64, Error> {
        self.for_all(prefix, |name| cmd("UNLINK").arg(name).clone()).await
    }

    /// As [`Link::remove_all`], but they are there for some time yet.
    ///
    /// # Errors
    /// As [`Link::send`].
    pub async fn expire_all(&self, prefix: &str, after: Duration) -> Result<u64, Error> {
        let after = after.as_millis() as u64;
        self.for_all(prefix, |name| cmd("PEXPIRE").arg(name).arg(after).clone()).await
    }

    /// The names of all keys that begin with `prefix`, in every server, each at least once. Those that are written meanwhile may be
    /// among them.
    ///
    /// # Errors
    /// As [`Link::send`].
    pub async fn names(&self, prefix: &str) -> Result<Vec<Vec<u8>>, Error> {
        let pattern = &format!("{}*", escaped(prefix));
        let found = self.each(|mut connection| async move {
            let (mut found, mut cursor) = (Vec::new(), 0u64);
            loop {
                let (next, names): (u64, Vec<Vec<u8>>) = page(cursor, pattern).query_async(&mut connection).await?;
                found.extend(names);
                if next == 0 {
                    return Ok(found);
                }
                cursor = next;
            }
        });
        Ok(found.await?.into_iter().flatten().collect())
    }

    /// Sends a command for each key, which answers with 1 where it is there.
    async fn for_all(&self, prefix: &str, command: impl Fn(&[u8]) -> Cmd + Send + Sync) -> Result<u64, Error> {
        let (pattern, command) = (&format!("{}*", escaped(prefix)), &command);
        let counted = self.each(|mut connection| async move {
            let (mut count, mut cursor) = (0, 0u64);
            loop {
                let (next, names): (u64, Vec<Vec<u8>>) = page(cursor, pattern).query_async(&mut connection).await?;
                if !names.is_empty() {
                    // one command for each, as they may lie in different slots
                    let mut commands = redis::pipe();
                    for name in &names {
                        commands.add_command(command(name));
                    }
                    let done: RedisResult<Vec<u64>> = commands.query_async(&mut connection).await;
                    count += done?.iter().sum::<u64>();
                }
                if next == 0 {
                    return Ok(count);
                }
                cursor = next;
            }
        });
        Ok(counted.await?.into_iter().sum())
    }
}

fn page(cursor: u64, pattern: &str) -> Cmd {
    let mut page = cmd("SCAN");
    page.arg(cursor).arg("MATCH").arg(pattern).arg("COUNT").arg(AT_ONCE);
    page
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
