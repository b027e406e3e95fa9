//! What a program says until it ends, or has come to where a test wants it.

use crate::program::{clean, command, named};
use crate::{http, ports, wait};
use std::fs::{File, read_to_string};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

/// Programs, and subcommands of the one that has them all.
pub const PROGRAMS: [&str; 5] = ["rank-server", "ingest-worker", "training-job", "serve", "import"];

/// What was said.
#[derive(Debug)]
pub struct Said {
    /// The exit code; `None` while it runs, or after a signal.
    pub code: Option<i32>,
    /// Log and output.
    pub text: String,
    /// What its port tells of itself, where it is open: `/status`, `/metrics`, and a training without the token.
    pub answers: String,
}

/// A process that is killed when this goes.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill(); // it may have ended by itself
        let _ = self.0.wait();
    }
}

impl Said {
    /// By a program, until it ends or has said one of these words. Its configuration has no section `api`, or `port: 0` at
    /// `host: 127.0.0.1` there;
    /// the folder has a file `events.jsonl` without events.
    ///
    /// # Panics
    /// When neither happens.
    pub fn by(program: &str, config: &str, environment: &[(&str, &str)], words: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        let place = |name: &str| folder.path().join(name);
        let file = |name: &str| File::create(place(name)).expect("can be written");
        // known before it is open, as one that waits for a store tells of itself as well
        let port = ports::free(1);
        let section = if config.contains("\napi:") { "" } else { "\napi: {host: 127.0.0.1, port: 0}\n" };
        let config =
            format!("{config}{section}").replace("host: 127.0.0.1, port: 0", &format!("host: 127.0.0.1, port: {port}"));
        std::fs::write(place("config.yml"), &config).expect("can be written");
        drop(file("events.jsonl"));
        let mut command = asked_for(program, &config);
        command.args(["--config", "config.yml"]).current_dir(folder.path()).envs(environment.iter().copied());
        command.stdin(Stdio::null()).stdout(file("out")).stderr(file("log"));
        let mut running = Running(command.spawn().expect("the program can be started"));
        let read = |name: &str| read_to_string(place(name)).unwrap_or_default();
        let text = || read("log") + &read("out");
        let mut code = None;
        wait::until("the end, or a word of it", text, || {
            code = running.0.try_wait().expect("can be asked");
            code.is_some() || words.iter().any(|word| text().contains(word))
        });
        let answers = answers(SocketAddr::from(([127, 0, 0, 1], port)));
        Self { code: code.and_then(|status| status.code()), text: text(), answers }
    }
}

fn asked_for(program: &str, config: &str) -> Command {
    match program {
        "import" if !config.contains("\nsource:") => command(&["import", "--data", "events.jsonl"]),
        "serve" | "train" | "import" => command(&[program]),
        words if words.contains(' ') => command(&words.split(' ').collect::<Vec<_>>()),
        name => clean(Command::new(named(name))),
    }
}

fn answers(address: SocketAddr) -> String {
    let body = |path: &str| http::get(address, path).map(|answer| answer.text).unwrap_or_default();
    let refused = http::post(address, "/train/m", b"").map(|answer| format!("{answer:?}")).unwrap_or_default();
    [body("/status"), body("/metrics"), refused].concat()
}
