//! A process that is killed in the middle of its work: every commit it had answered is there, and no half one.
//!
//! This program is both sides. As a child it commits batches without end and prints each position once its commit has
//! answered; as the test it kills the child after some lines, opens the state, and counts. The child then goes on from
//! there, so the later rounds begin with what the earlier kills have left. Others are killed while they make their state.

#![allow(missing_docs)]

use rankwright_event::{Tenant, Timestamp};
use rankwright_state::{
    Cell, Commit, Entity, FileOptions, FileStore, Format, Key, Outcome, Position, Scope, Slot, Space, Store, Stored,
    Writer,
};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

const CHILD: &str = "RANKWRIGHT_STATE_KILL_CHILD";
const SHARED_KEYS: u64 = 200;
/// How many lines are read before the kill; with small buffers several of them meet a flush or a compaction.
const ROUNDS: [usize; 8] = [1, 2, 50, 111, 3, 400, 7, 180];

/// How many states are killed while they are made, each a quarter of a millisecond later than the one before.
const MADE: u32 = 60;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("starts a runtime");
    if let Some(path) = std::env::var_os(CHILD) {
        return runtime.block_on(commit_without_end(Path::new(&path)));
    }
    let folder = tempfile::tempdir().expect("makes a folder");
    for (round, lines) in ROUNDS.into_iter().enumerate() {
        let printed = kill_after(lines, folder.path());
        let found = runtime.block_on(count(folder.path()));
        assert!(found >= printed, "round {round}: {printed} was answered, {found} is what the state has");
        println!("round {round}: killed after {printed} commits, {found} are there, whole");
    }
    for round in 0..MADE {
        let folder = tempfile::tempdir().expect("makes a folder");
        let path = folder.path().join("state");
        let printed = kill_at_birth(&path, Duration::from_micros(250) * round);
        drop(open(&path)); // whatever the killed one has left of it
        let found = if printed > 0 { runtime.block_on(count(&path)) } else { 0 };
        assert!(found >= printed, "{printed} was answered, {found} is what the state has");
    }
    println!("{MADE} were killed while they made their state, and others opened it");
}

/// Starts the child, kills it this long after its folder came, and returns the last position it printed.
fn kill_at_birth(path: &Path, after: Duration) -> u64 {
    let program = std::env::current_exe().expect("this program has a path");
    let mut child = Command::new(program).env(CHILD, path).stdout(Stdio::piped()).spawn().expect("starts");
    let output = child.stdout.take().expect("was asked for");
    while !path.exists() {
        assert_eq!(child.try_wait().expect("is ours"), None, "the child ended by itself");
    }
    std::thread::sleep(after);
    child.kill().expect("is killed");
    child.wait().expect("ends");
    let lines = BufReader::new(output).lines().map_while(Result::ok);
    lines.filter_map(|line| line.parse().ok()).last().unwrap_or(0)
}

fn open(path: &Path) -> FileStore {
    let options = FileOptions { format: Format::Binary, cache_bytes: 1 << 20, buffer_bytes: 1 << 16 };
    FileStore::open(path, options, "shop").expect("opens")
}

fn writer() -> Writer {
    Writer("child".into())
}

fn shared(number: u64) -> Key {
    Key::new(&Tenant::default(), Scope::Item(number.to_string().into()))
}

fn own(position: u64) -> Key {
    Key::new(&Tenant::default(), Scope::Join(position.to_string().into()))
}

fn one() -> Option<Entity> {
    let stored = Stored { at: Timestamp::from_millis(0), event: 0, cell: Cell::Counter(1) };
    Some(Entity::one(Slot(0), stored))
}

/// Each commit counts under all shared keys, adds a key of its own, and removes that of the commit before.
async fn commit_without_end(path: &Path) {
    let store = open(path);
    let lease = store.acquire(&writer()).await.expect("acquires");
    let mut position: u64 = lease.position.0.parse().unwrap_or(0);
    let mut from = lease.position.clone();
    loop {
        let mut writes: Vec<_> = (0..SHARED_KEYS).map(|number| (shared(number), one())).collect();
        writes.extend([(own(position), None), (own(position + 1), one())]);
        position += 1;
        let to = Position(position.to_string());
        let outcome =
            store.commit(&lease, Commit { from, to: to.clone(), writes, ..Commit::default() }).await.expect("commits");
        assert_eq!(outcome, Outcome::Applied);
        from = to;
        writeln!(std::io::stdout(), "{position}").expect("prints");
    }
}

/// Starts the child, kills it once it has printed this number of lines, and returns the last position it printed.
fn kill_after(lines: usize, path: &Path) -> u64 {
    let program = std::env::current_exe().expect("this program has a path");
    let mut child = Command::new(program).env(CHILD, path).stdout(Stdio::piped()).spawn().expect("starts");
    let output = child.stdout.take().expect("was asked for");
    let last = read_and_kill(&mut child, output, lines);
    child.wait().expect("ends");
    last.expect("the child printed a position")
}

fn read_and_kill(child: &mut Child, output: ChildStdout, lines: usize) -> Option<u64> {
    let mut last = None;
    for (count, line) in BufReader::new(output).lines().enumerate() {
        if count + 1 == lines {
            child.kill().expect("is killed"); // what it printed until then is still in the pipe
        }
        last = line.ok().and_then(|line| line.parse().ok()).or(last);
    }
    last
}

/// The position that the state has come to, after checking that all effects are those of exactly that many commits.
async fn count(path: &Path) -> u64 {
    let store = open(path);
    let lease = store.acquire(&writer()).await.expect("acquires");
    let position: u64 = lease.position.0.parse().expect("is a number");
    let keys: Vec<_> = (0..SHARED_KEYS).map(shared).collect();
    for (key, entity) in keys.iter().zip(store.read(&keys).await.expect("reads")) {
        let count = entity.and_then(|entity| entity.counter(Slot(0), Timestamp::from_millis(0), Duration::MAX));
        assert_eq!(count, Some(position), "{key} has the counts of another number of commits");
    }
    let joins = store.scan(Space::Joins).await.expect("lists");
    assert_eq!(joins.iter().map(|entry| &entry.0).collect::<Vec<_>>(), [&own(position)]);
    assert_eq!(store.stats().await.expect("has a size").entities, SHARED_KEYS);
    position
}
