//! Clones of a repository that share what cargo has built (`e2e/ages.py`), with a package of one line.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

const MANIFEST: &str = "[package]\nname = \"rankwright-tiny\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";

/// A folder for clones, and what is built of them.
struct Clones(TempDir);

impl Clones {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("there is room for temporary files"))
    }

    /// A clone whose program says `first`, and a text that lies outside of its package.
    fn clone(&self, name: &str, first: &str, second: &str) -> PathBuf {
        let clone = self.0.path().join(name);
        fs::create_dir_all(clone.join("tiny/src")).expect("the folder can be made");
        let main = format!("fn main() {{ println!(\"{first} {{}}\", include_str!(\"../../text\")) }}\n");
        let files = [
            ("Cargo.toml", "[workspace]\nmembers = [\"tiny\"]\nresolver = \"3\"\n"),
            ("tiny/Cargo.toml", MANIFEST),
            ("tiny/src/main.rs", &main),
            ("text", second),
        ];
        for (path, text) in files {
            write(&clone.join(path), text);
        }
        clone
    }

    /// Builds, with the ages of the clone's sources as they are; true if anything was to be built.
    fn build(&self, clone: &Path) -> bool {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["build", "--offline"]).current_dir(clone).env("CARGO_TARGET_DIR", self.target());
        let done = command.output().expect("cargo can be started");
        let log = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{log}");
        log.contains("Compiling")
    }

    /// What `./run` does: true if anything was to be built.
    fn run(&self, clone: &Path) -> bool {
        self.ages(clone, "adopt");
        let built = self.build(clone);
        self.ages(clone, "remember");
        built
    }

    fn ages(&self, clone: &Path, what: &str) {
        let script = std::path::absolute("ages.py").expect("there is a working folder");
        let mut command = Command::new("python3");
        command.arg(script).arg(what).current_dir(clone).env("CARGO_TARGET_DIR", self.target());
        let done = command.output().expect("python3 is there");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    fn target(&self) -> PathBuf {
        self.0.path().join("target")
    }

    fn says(&self) -> String {
        let said = Command::new(self.target().join("debug/rankwright-tiny")).output().expect("was built");
        String::from_utf8(said.stdout).expect("is text").trim().to_owned()
    }
}

fn write(file: &Path, text: &str) {
    fs::write(file, text).expect("can be written");
}

/// Makes a file older than all that was built.
fn aged(file: &Path) {
    let long_ago = SystemTime::now() - Duration::from_hours(24);
    let aged = fs::File::options().write(true).open(file).and_then(|file| file.set_modified(long_ago));
    aged.expect("has an age");
}

#[test]
fn a_clone_whose_sources_are_the_same_builds_nothing_again() {
    let clones = Clones::new();
    let first = clones.clone("first", "one", "text");
    assert!(clones.run(&first));
    // a text outside of the package has it built once more, as cargo knows it by the place of the first clone
    let second = clones.clone("second", "one", "text");
    assert!(clones.run(&second));
    assert!(!clones.run(&second));
    let alone = "fn main() { println!(\"alone\") }\n";
    write(&second.join("tiny/src/main.rs"), alone);
    assert!(clones.run(&second));
    let third = clones.clone("third", "one", "text");
    write(&third.join("tiny/src/main.rs"), alone);
    assert!(!clones.run(&third));
    assert_eq!(clones.says(), "alone");
}

#[test]
fn what_differs_is_built_though_it_is_older() {
    let clones = Clones::new();
    let old = clones.clone("old", "old", "text");
    aged(&old.join("tiny/src/main.rs"));
    let new = clones.clone("new", "new", "text");
    for (clone, says) in [(&new, "new text"), (&old, "old text"), (&new, "new text")] {
        clones.run(clone);
        assert_eq!(clones.says(), says);
    }
}

#[test]
fn what_lies_outside_of_a_package_is_that_of_the_clone() {
    let clones = Clones::new();
    let (one, other) = (clones.clone("one", "says", "one"), clones.clone("other", "says", "other"));
    aged(&other.join("text"));
    for (clone, says) in [(&one, "says one"), (&other, "says other"), (&one, "says one")] {
        clones.run(clone);
        assert_eq!(clones.says(), says);
    }
}

#[test]
fn builds_that_were_not_remembered_are_done_again() {
    let clones = Clones::new();
    let first = clones.clone("first", "one", "text");
    clones.run(&first);
    // built by hand, and changed back
    let main = first.join("tiny/src/main.rs");
    let before = fs::read_to_string(&main).expect("was written");
    write(&main, &before.replace("one", "other"));
    assert!(clones.build(&first));
    write(&main, &before);
    let second = clones.clone("second", "one", "text");
    assert!(clones.run(&second));
    assert_eq!(clones.says(), "one text");
}
