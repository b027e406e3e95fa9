//! Finding and running the program.

use crate::wait;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::{JoinHandle, spawn};

/// A run that has come to its end.
#[derive(Debug, Clone)]
pub struct Ended {
    /// Exit code; `None` after a signal.
    pub code: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// Its log.
    pub stderr: String,
}

impl Ended {
    /// Runs a command to its end, and keeps what it prints.
    ///
    /// # Panics
    /// When it cannot be started, and when it hangs, with its log.
    pub fn of(command: &mut Command) -> Self {
        Self::of_running(
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program can be started"),
        )
    }

    /// Waits for the end of a run, and reads what it prints to pipes.
    ///
    /// # Panics
    /// When it hangs, with its log.
    pub fn of_running(mut child: Child) -> Self {
        let (stdout, stderr) = (child.stdout.take().map(text), child.stderr.take().map(text));
        let ended = wait::ended(&mut child);
        let text = |read: Option<JoinHandle<String>>| {
            read.map(|read| read.join().expect("the reader does not panic")).unwrap_or_default()
        };
        let (stdout, stderr) = (text(stdout), text(stderr));
        let status = ended.unwrap_or_else(|| panic!("the program did not end:\n{stdout}{stderr}"));
        Self { code: status.code(), stdout, stderr }
    }

    /// The run, if it was a success.
    ///
    /// # Panics
    /// When it was none, with the log.
    pub fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "the program failed:\n{}", self.stderr);
        self
    }

    /// Asserts that the run failed as runs do for a user's mistake: exit code 1, and no trace of a panic.
    ///
    /// # Panics
    /// When it ended otherwise.
    pub fn refused(self) -> Self {
        assert_eq!(self.code, Some(1), "the program did not refuse:\n{}{}", self.stdout, self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self
    }
}

/// All that comes out of a pipe.
fn text(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes); // what came before is there
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// The program: what `RANKWRIGHT_BIN` names, else `rankwright` in the folder that cargo builds into.
///
/// # Panics
/// When it is not there.
pub fn path() -> PathBuf {
    let built = || {
        let this = std::env::current_exe().expect("a running program has a path");
        // target/release/deps/test-1234 or target/release/bench
        let folder = this.ancestors().skip(1).find(|folder| !folder.ends_with("deps"));
        folder.expect("a program lies in a folder").join("rankwright")
    };
    let path = std::env::var_os("RANKWRIGHT_BIN").map_or_else(built, PathBuf::from);
    assert!(path.is_file(), "{} is not there: build it with cargo build --release --bin rankwright", path.display());
    path
}

/// Another of our programs, which lies beside [`path`].
///
/// # Panics
/// When it is not there.
pub fn named(name: &str) -> PathBuf {
    let path = path().with_file_name(name);
    assert!(path.is_file(), "{} is not there: build it with cargo build --release --bin {name}", path.display());
    path
}

/// The program, about to be run with these arguments and nothing of the caller's settings for it.
pub fn command<A: AsRef<std::ffi::OsStr>>(arguments: &[A]) -> Command {
    let mut command = clean(Command::new(path()));
    command.args(arguments);
    command
}

/// The same, where no file may grow beyond `most` KiB, as on a full disk.
pub fn limited<A: AsRef<std::ffi::OsStr>>(most: u32, arguments: &[A]) -> Command {
    let mut command = clean(Command::new("bash"));
    command.args(["-c", &format!(r#"trap '' XFSZ; ulimit -f {most}; exec "$0" "$@""#)]).arg(path()).args(arguments);
    command
}

/// A shell that runs a command as a message proposes it, where `rankwright` is the program.
///
/// # Panics
/// When the program's name is another one.
pub fn shell(line: &str) -> Command {
    let program = path();
    assert!(program.ends_with("rankwright"), "{} has another name", program.display());
    let mut command = clean(Command::new("bash"));
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let folders = program.parent().map(Path::to_owned).into_iter().chain(std::env::split_paths(&folders));
    command.args(["-c", line]).env("PATH", std::env::join_paths(folders).expect("folders without colons"));
    command
}

/// A command without the caller's settings and input.
pub fn clean(mut command: Command) -> Command {
    command.stdin(Stdio::null());
    let upstream = ["CONFIG", "TRACKING", "REDIS_USER", "REDIS_PASSWORD"].map(|name| format!("METARANK_{name}"));
    let ours = ["SERVICE_CONFIG", "SERVICE_TRACKING", "RANKWRIGHT_API_TOKEN", "RANKWRIGHT_SERVICE", "RUST_LOG"];
    for name in ours.into_iter().chain(upstream.iter().map(String::as_str)) {
        command.env_remove(name);
    }
    if let Some(models) = models() {
        command.env("RANKWRIGHT_ONNXRUNTIME", models.join("onnxruntime"));
        command.env("RANKWRIGHT_MODELS_DIR", models.join("models"));
    }
    command.env("RANKWRIGHT_OFFLINE", "1");
    command
}

/// The folder of real text models that tests have, with ONNX Runtime.
pub fn models() -> Option<PathBuf> {
    std::env::var_os("RANKWRIGHT_ENCODERS_DIR").map(PathBuf::from).filter(|folder| folder.is_dir())
}

/// The same. Without it a test is skipped, or fails where `RANKWRIGHT_REQUIRE_ALL` is 1.
///
/// # Panics
/// Where nothing may be skipped.
pub fn models_for_tests() -> Option<PathBuf> {
    let models = models();
    if models.is_none() {
        assert!(std::env::var("RANKWRIGHT_REQUIRE_ALL").as_deref() != Ok("1"), "RANKWRIGHT_ENCODERS_DIR is not set");
        println!("SKIPPED: RANKWRIGHT_ENCODERS_DIR names no folder filled by services/engine/encoder/native/fetch.sh");
    }
    models
}

/// Runs the program to its end.
///
/// # Panics
/// When it cannot be started.
pub fn run<A: AsRef<std::ffi::OsStr>>(arguments: &[A]) -> Ended {
    Ended::of(&mut command(arguments))
}

/// Runs `import` or `standalone`-like subcommands: configuration and data are files.
pub fn run_on(subcommand: &str, config: &Path, data: &Path, more: &[&str]) -> Ended {
    let (config, data) = (config.to_string_lossy(), data.to_string_lossy());
    run(&[&[subcommand, "--config", &config, "--data", &data], more].concat())
}
