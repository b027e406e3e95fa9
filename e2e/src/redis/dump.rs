//! All keys of a service as text, and back: whatever version of Redis they came from or go to.
//!
//! A line is a string, a field of a hash or a member of a sorted set: database, type, name, field (nothing for a string)
//! and value (the score of a member) with tabs between them, what is no plain letter as Rust writes it in texts.

use super::Redis;
use redis::{Cmd, Commands, Connection, cmd};
use std::collections::BTreeSet;

/// Milliseconds. What lives for less belongs to a process, as the tasks that it holds, and ends with it.
const SHORT: i64 = 60_000;

impl Redis {
    /// What a service has in all databases of ours, in order, without times to live.
    ///
    /// # Panics
    /// When the server does not answer, or has keys of types that we do not use.
    pub fn dump(&self, service: &str) -> String {
        let mut lines = BTreeSet::new();
        for mut connection in self.connections() {
            for database in self.databases() {
                select(&mut connection, *database).expect("answers");
                let found = connection.scan_match::<_, Vec<u8>>(format!("rw:{service}:*")).expect("answers");
                let names: BTreeSet<Vec<u8>> = found.map(|name| name.expect("bytes")).collect();
                for name in names {
                    if stays(&mut connection, &name) {
                        lines.extend(key(&mut connection, *database, &name));
                    }
                }
            }
        }
        lines.into_iter().collect()
    }

    /// Puts there what a dump has, with no time to live.
    ///
    /// # Panics
    /// When no server takes a line of it.
    pub fn restore(&self, dump: &str) {
        let mut connections = self.connections();
        for line in dump.lines() {
            let (database, command) = command(line).unwrap_or_else(|| panic!("no line of a dump: {line}"));
            // in a cluster, all servers but one refuse
            let put = |connection: &mut Connection| {
                select(connection, database).and_then(|()| command.exec(connection)).is_ok()
            };
            assert!(connections.iter_mut().any(put), "no server takes {line}");
        }
    }
}

fn select(connection: &mut Connection, database: u8) -> redis::RedisResult<()> {
    cmd("SELECT").arg(database).exec(connection)
}

fn stays(connection: &mut Connection, name: &[u8]) -> bool {
    let left: i64 = cmd("PTTL").arg(name).query(connection).expect("answers");
    left == -1 || left >= SHORT // the former is for ever
}

/// The lines of a key.
fn key(connection: &mut Connection, database: u8, name: &[u8]) -> Vec<String> {
    let kind: String = cmd("TYPE").arg(name).query(connection).expect("answers");
    let parts: Vec<(Vec<u8>, Vec<u8>)> = match kind.as_str() {
        "string" => vec![(Vec::new(), connection.get(name).expect("answers"))],
        "hash" => connection.hgetall(name).expect("answers"),
        "zset" => {
            let members: Vec<(Vec<u8>, f64)> = connection.zrange_withscores(name, 0, -1).expect("answers");
            members.into_iter().map(|(member, score)| (member, score.to_string().into_bytes())).collect()
        }
        other => panic!("{} is a {other}", name.escape_ascii()),
    };
    let line = |(field, value): (Vec<u8>, Vec<u8>)| {
        let (name, field, value) = (name.escape_ascii(), field.escape_ascii(), value.escape_ascii());
        format!("{database}\t{kind}\t{name}\t{field}\t{value}\n")
    };
    parts.into_iter().map(line).collect()
}

/// What puts a line there, and in which database.
fn command(line: &str) -> Option<(u8, Cmd)> {
    let mut parts = line.split('\t');
    let (database, kind) = (parts.next()?.parse().ok()?, parts.next()?);
    let (name, field, value) = (unescaped(parts.next()?)?, unescaped(parts.next()?)?, unescaped(parts.next()?)?);
    let command = match kind {
        "string" => cmd("SET").arg(name).arg(value).clone(),
        "hash" => cmd("HSET").arg(name).arg(field).arg(value).clone(),
        "zset" => cmd("ZADD").arg(name).arg(value).arg(field).clone(),
        _ => return None,
    };
    Some((database, command))
}

/// The reverse of `escape_ascii`.
fn unescaped(text: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some((before, after)) = rest.split_once('\\') {
        bytes.extend_from_slice(before.as_bytes());
        let letter = *after.as_bytes().first()?;
        let length = if letter == b'x' { 3 } else { 1 };
        bytes.push(match letter {
            b'x' => u8::from_str_radix(after.get(1..length)?, 16).ok()?,
            b't' => b'\t',
            b'n' => b'\n',
            b'r' => b'\r',
            itself => itself,
        });
        rest = after.get(length..)?;
    }
    bytes.extend_from_slice(rest.as_bytes());
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_the_same_after_they_were_text() {
        let all: Vec<u8> = (0..=255).chain(*b"\\x\\\\t\t\"'").collect();
        assert_eq!(unescaped(&all.escape_ascii().to_string()), Some(all));
        for broken in ["\\", "\\x1", "\\xäö", "\\xzz"] {
            assert_eq!(unescaped(broken), None, "{broken}");
        }
    }
}
