//! The store in files: what is in its folder, and what survives a crash or a disk that fails.
#![allow(clippy::unwrap_used)]

use rankwright_clickthrough::store::file::FileSettings;
use rankwright_clickthrough::testing::{header, ranking};
use rankwright_clickthrough::{Clickthrough, ClickthroughStore, Error, FileStore, Format, Losses, Mark};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

fn open(folder: &Path, format: Format) -> FileStore {
    FileStore::open(FileSettings::new(folder, format), header(3)).unwrap()
}

fn some(first: u64, count: u64) -> Vec<Clickthrough> {
    (first..first + count).map(|number| ranking(number, 4, 3)).collect()
}

fn read(store: &FileStore) -> (Vec<Clickthrough>, Losses) {
    let mut entries = store.read().unwrap();
    (entries.by_ref().map(|entry| entry.unwrap().1).collect(), entries.losses().clone())
}

fn names(folder: &Path) -> Vec<String> {
    let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
    let mut names: Vec<String> = fs::read_dir(folder).unwrap().map(|entry| name(entry.unwrap())).collect();
    names.sort();
    names
}

#[test]
fn the_name_of_a_part_follows_from_its_content() {
    let parts = [0, 0, 1].map(|first| {
        let folder = tempfile::tempdir().unwrap();
        open(folder.path(), Format::Binary).append(&some(first, 10)).unwrap();
        names(folder.path()).concat()
    });
    assert!(parts[0].starts_with("00000001-10-") && parts[0].ends_with(".bin"), "{}", parts[0]);
    assert_eq!(parts[0], parts[1]);
    assert_ne!(parts[0], parts[2]);
}

#[test]
fn a_part_is_closed_when_it_is_large_enough() {
    let folder = tempfile::tempdir().unwrap();
    let settings = FileSettings { part_bytes: 100_000, ..FileSettings::new(folder.path(), Format::Json) };
    let store = FileStore::open(settings, header(3)).unwrap();
    for first in 0..5 {
        store.append(&some(200 * first, 200)).unwrap();
        store.flush().unwrap();
    }
    assert_eq!(store.status().parts, names(folder.path()).len() as u64);
    assert!(store.status().parts > 1);
    assert_eq!(read(&store), (some(0, 1000), Losses::default()));
}

#[test]
fn an_open_part_with_a_torn_end_is_read_and_a_new_one_begun() {
    for format in [Format::Binary, Format::Json] {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path(), format);
        store.append(&some(0, 10)).unwrap();
        store.flush().unwrap();
        std::mem::forget(store); // killed, while it was writing this:
        let torn = folder.path().join(&names(folder.path())[0]);
        let half = fs::read(&torn).unwrap();
        fs::OpenOptions::new().append(true).open(&torn).unwrap().write_all(&half[..half.len() / 3]).unwrap();
        let before = fs::read(&torn).unwrap();

        let store = open(folder.path(), format);
        assert_eq!(store.status().records, 10);
        store.append(&some(10, 5)).unwrap();
        let (records, losses) = read(&store);
        assert_eq!((records, losses.cut, losses.damaged), (some(0, 15), 1, 0), "{format:?}");
        assert_eq!(losses.named[0].place, torn.display().to_string());
        assert_eq!(fs::read(&torn).unwrap(), before, "a part of another process was written to");
        assert_eq!(names(folder.path()).len(), 2);
    }
}

#[test]
fn a_part_closed_while_it_is_read_is_read_on() {
    let folder = tempfile::tempdir().unwrap();
    let writer = open(folder.path(), Format::Binary);
    writer.append(&some(0, 10)).unwrap();
    writer.flush().unwrap();
    let entries = open(folder.path(), Format::Binary).read().unwrap();
    drop(writer);
    assert_eq!(entries.map(|entry| entry.unwrap().1).collect::<Vec<_>>(), some(0, 10));
}

#[test]
fn a_folder_holds_parts_of_both_formats_and_of_several_processes() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("README.txt"), "not a part").unwrap();
    let (one, other) = (open(folder.path(), Format::Binary), open(folder.path(), Format::Json));
    for (store, first) in [(&one, 0), (&other, 10), (&one, 20), (&other, 30)] {
        store.append(&some(first, 10)).unwrap();
        store.flush().unwrap();
    }
    let expected = [some(0, 10), some(20, 10), some(10, 10), some(30, 10)].concat(); // part by part
    assert_eq!(read(&one), (expected.clone(), Losses::default()));
    assert_eq!(read(&other), (expected, Losses::default()));
}

#[test]
fn what_a_failing_disk_did_not_take_is_written_when_it_works_again() {
    let folder = tempfile::tempdir().unwrap();
    let (parts, away) = (folder.path().join("parts"), folder.path().join("away"));
    let store = open(&parts, Format::Binary);
    store.append(&some(0, 10)).unwrap();
    store.flush().unwrap();
    fs::rename(&parts, &away).unwrap();
    fs::write(&parts, "no folder").unwrap();
    let store_of_others = FileStore::open(FileSettings::new(&parts, Format::Binary), header(3));
    assert!(matches!(store_of_others, Err(Error::Io { .. })));
    let fresh = open(&away, Format::Binary);
    fresh.append(&some(10, 10)).unwrap();
    fs::rename(&away, folder.path().join("further")).unwrap();
    assert!(matches!(fresh.flush(), Err(Error::Io { .. })));
    assert!(matches!(fresh.append(&some(90, 1)), Err(Error::Io { .. })), "takes more while the disk fails");
    assert_eq!(fresh.durable(), Mark(0));
    fs::rename(folder.path().join("further"), &away).unwrap();
    assert_eq!(fresh.append(&some(20, 10)).unwrap(), Mark(20));
    assert_eq!(fresh.flush().unwrap(), Mark(20));
    assert_eq!(read(&fresh), (some(0, 30), Losses::default()));
}

/// Appends and flushes for ever, and says what is durable; does nothing unless it is told where.
#[test]
fn appends_for_ever_when_told_where() {
    let Some(folder) = std::env::var_os("APPEND_FOR_EVER_IN") else { return };
    let store = open(Path::new(&folder), Format::Binary);
    for batch in 0.. {
        store.append(&some(10 * batch, 10)).unwrap();
        println!("\ndurable {}", store.flush().unwrap().0);
    }
}

#[test]
fn what_was_flushed_is_there_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["appends_for_ever_when_told_where", "--exact", "--nocapture"])
        .env("APPEND_FOR_EVER_IN", folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let durable = lines.filter_map(|line| line.strip_prefix("durable ")?.parse::<u64>().ok()).nth(30).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();

    let store = open(folder.path(), Format::Binary);
    let (records, losses) = read(&store);
    assert!(records.len() as u64 >= durable && durable > 0, "{} of {durable}", records.len());
    assert_eq!(records, some(0, records.len() as u64));
    assert!(losses.damaged == 0 && losses.cut <= 1, "{losses:?}");
}

/// Who forgets may be another user than who reads the parts.
#[test]
fn a_part_that_is_written_anew_stays_its_owners() {
    use rankwright_clickthrough::{Subject, Who};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    let folder = tempfile::tempdir().unwrap();
    let records = some(0, 10);
    let store = open(folder.path(), Format::Binary);
    store.append(&records).unwrap();
    drop(store);
    let part = || folder.path().join(&names(folder.path())[0]);
    let rights = || fs::metadata(part()).map(|data| (data.mode() & 0o777, data.uid(), data.gid())).unwrap();
    let (former, is_root) = (part(), rights().1 == 0);
    fs::set_permissions(&former, fs::Permissions::from_mode(0o640)).unwrap();
    if is_root {
        chown(&former, Some(4711), Some(4712)).unwrap();
    }
    let before = rights();
    let subject = Subject { tenant: records[0].tenant.clone(), who: Who::User(records[0].user.clone().unwrap()) };
    assert!(open(folder.path(), Format::Binary).forget(&subject).unwrap().records > 0);
    assert_eq!(names(folder.path()).len(), 1);
    assert_ne!(part(), former);
    assert_eq!(rights(), before);
}

/// Forgets the visitor of the first record; does nothing unless it is told where.
#[test]
fn forgets_when_told_where() {
    let Some(folder) = std::env::var_os("FORGET_IN") else { return };
    let records = some(0, 10);
    let subject = rankwright_clickthrough::Subject {
        tenant: records[0].tenant.clone(),
        who: rankwright_clickthrough::Who::User(records[0].user.clone().unwrap()),
    };
    assert!(open(Path::new(&folder), Format::Binary).forget(&subject).unwrap().records > 0);
}

/// Several users may share a folder; only root may give a file away.
#[test]
fn who_may_not_hand_a_part_over_forgets_nevertheless() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;
    let home = tempfile::tempdir().unwrap();
    let (parts, program) = (home.path().join("parts"), home.path().join("program"));
    open(&parts, Format::Binary).append(&some(0, 10)).unwrap();
    let part = || parts.join(&names(&parts)[0]);
    let (former, readable) = (part(), |mode| fs::Permissions::from_mode(mode));
    // where it lies, others may not look; and what this process writes itself, another test's child may have open
    let copied = Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&program).status().unwrap();
    assert!(copied.success());
    for (path, mode) in [(home.path(), 0o755), (&program, 0o755), (&parts, 0o777), (&former, 0o664)] {
        fs::set_permissions(path, readable(mode)).unwrap();
    }
    let mut forgets = Command::new(&program);
    forgets.args(["forgets_when_told_where", "--exact"]).env("FORGET_IN", &parts).current_dir(home.path());
    let is_root = fs::metadata(&former).unwrap().uid() == 0;
    if is_root {
        forgets.uid(4711).gid(4712);
    }
    let ended = forgets.output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stdout));
    assert_eq!(names(&parts).len(), 1);
    assert_ne!(part(), former);
    let now = fs::metadata(part()).unwrap();
    // and no user may read it who could not before, as the group is another one
    let expected = if is_root { (4711, 0o604) } else { (now.uid(), 0o664) };
    assert_eq!((now.uid(), now.mode() & 0o777), expected);
}
