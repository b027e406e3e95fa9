//! What `./run test` does with tests that hang (`e2e/watched.py`).

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

/// Runs a script that is called `name`, with this much patience; what came of it, and the log.
fn watched(folder: &Path, seconds: &str, name: &str, script: &str) -> (Output, String) {
    let (program, log) = (folder.join(name), folder.join("log"));
    write(&program, script);
    let mut command = Command::new(std::path::absolute("watched.py").expect("there is a working folder"));
    let ended = command.arg(seconds).arg(&log).arg(&program).current_dir(folder).output().expect("python3 is there");
    (ended, std::fs::read_to_string(log).expect("it is written"))
}

/// A program of the shell.
fn write(program: &Path, script: &str) {
    std::fs::write(program, format!("#!/bin/sh\n{script}\n")).expect("can be written");
    let made = Command::new("chmod").arg("+x").arg(program).status();
    assert!(made.is_ok_and(|status| status.success()));
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Whether a process that was told this is alive.
fn lives(argument: &str) -> bool {
    let processes = std::fs::read_dir("/proc").expect("it is Linux").flatten();
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    lines.into_iter().any(|line| line.split(|&byte| byte == 0).any(|part| part == argument.as_bytes()))
}

#[test]
fn what_is_printed_is_kept_and_how_far_it_is_told() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let script = "echo '     Running tests/a.rs'; echo 'test b ... ok'; echo oops >&2; echo 'test result: ok.'; exit 3";
    let (ended, log) = watched(folder.path(), "60", "cargo", script);
    assert_eq!(ended.status.code(), Some(3));
    assert_eq!(text(&ended.stdout), "     Running tests/a.rs\ntest result: ok.\n");
    assert_eq!(log, "     Running tests/a.rs\ntest b ... ok\noops\ntest result: ok.\n");
}

#[test]
fn a_test_program_that_hangs_is_told_of_and_killed_with_its_children() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let nobody_else_s = format!("1000.{}", std::process::id());
    let script = format!(
        "echo '     Running tests/a.rs'; sh -c 'echo begun; sleep {nobody_else_s}; echo never'; echo \"went on: $?\""
    );
    let (ended, log) = watched(folder.path(), "6", "cargo", &script);
    assert_eq!(ended.status.code(), Some(1));
    assert!(log.starts_with("     Running tests/a.rs\nbegun\n"), "{log}");
    assert!(log.contains("nothing has come for too long, this is killed: Running tests/a.rs"), "{log}");
    assert!(log.contains(&format!("sleep {nobody_else_s}")) && log.ends_with("went on: 137\n"), "{log}");
    assert!(text(&ended.stderr).contains(&nobody_else_s), "{}", text(&ended.stderr));
    rankwright_e2e::wait::until("killed", || log.clone(), || !lives(&nobody_else_s));
}

#[test]
fn who_reads_no_further_ends_nothing() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let (program, log) = (folder.path().join("cargo"), folder.path().join("log"));
    write(&program, "for n in 1 2 3; do echo '     Running tests/a.rs'; done; echo 'test \u{e4} ... ok'; exit 3");
    let (reader, writer) = std::io::pipe().expect("there are pipes");
    drop(reader);
    let mut command = Command::new(std::path::absolute("watched.py").expect("there is a working folder"));
    command.arg("60").arg(&log).arg(&program).env("PYTHONIOENCODING", "ascii").stdout(writer);
    assert_eq!(command.status().expect("python3 is there").code(), Some(3));
    assert_eq!(std::fs::read_to_string(log).expect("it is written").lines().count(), 4);
}

#[test]
fn what_hangs_without_a_test_program_is_killed_itself() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let began = std::time::Instant::now();
    let script = "trap 'echo cleaned up; exit 1' TERM; echo begun; sleep 1000; echo never";
    let (ended, log) = watched(folder.path(), "6", "other", script);
    assert_eq!(ended.status.code(), Some(1));
    assert!(log.contains("begun\n") && !log.contains("never\n") && log.contains("nothing has begun"), "{log}");
    assert!(log.ends_with("cleaned up\n"), "{log}");
    assert!(began.elapsed() < Duration::from_secs(600));
}
