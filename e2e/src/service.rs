//! A running service.

use crate::http::{self, Answer};
use crate::{program, wait};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStderr, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// An import and a training may lie before the port opens, on a machine that has other things to do.
const PATIENCE: Duration = Duration::from_secs(600);

/// How a service is started.
#[derive(Debug, Clone)]
pub struct Launch<'a> {
    /// `serve` or `standalone`; or the name of another program, such as `rank-server`.
    pub subcommand: &'a str,
    /// The configuration, without the section `api`, unless it wants limits: the system chooses the port.
    pub config: &'a str,
    /// Events for `standalone`.
    pub data: Option<&'a Path>,
    /// Where the configuration is written.
    pub folder: &'a Path,
    /// More for the environment.
    pub environment: &'a [(&'a str, &'a str)],
}

/// A process that listens; it is killed when this goes.
pub struct Service {
    child: Child,
    address: SocketAddr,
    log: Arc<Mutex<String>>,
    /// From the start of the process to its port being open.
    pub started_in: Duration,
}

impl Service {
    /// `serve` with a configuration that is written into `folder`.
    pub fn serve(config: &str, folder: &Path) -> Self {
        Launch { subcommand: "serve", config, data: None, folder, environment: &[] }.start()
    }

    /// `standalone` with a configuration that is written into `folder`, on these events.
    pub fn standalone(config: &str, data: &Path, folder: &Path) -> Self {
        Launch { subcommand: "standalone", config, data: Some(data), folder, environment: &[] }.start()
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Number of the process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has logged so far.
    pub fn log(&self) -> String {
        self.log.lock().expect("the reader of the log does not panic").clone()
    }

    /// Whether the process is alive.
    pub fn lives(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Asks for a path.
    pub fn get(&self, path: &str) -> Answer {
        http::get(self.address, path).unwrap_or_else(|error| self.lost(path, &error))
    }

    /// Sends JSON to a path.
    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_text(path, &body.to_string())
    }

    /// Sends text to a path.
    pub fn post_text(&self, path: &str, body: &str) -> Answer {
        http::post(self.address, path, body.as_bytes()).unwrap_or_else(|error| self.lost(path, &error))
    }

    /// Has a ranking ordered; the answer with the items' feature values.
    pub fn rank(&self, model: &str, request: &Value) -> Value {
        self.post(&format!("/rank/{model}?explain=true"), request).ok().json()
    }

    /// Sends events, all of which must be taken.
    pub fn feedback(&self, events: &[Value]) -> Value {
        let answer = self.post("/feedback", &json!(events)).ok().json();
        assert_eq!(answer["accepted"], events.len(), "{answer}");
        answer
    }

    /// Trains a model.
    pub fn train(&self, model: &str) -> Value {
        self.post_text(&format!("/train/{model}"), "").ok().json()
    }

    /// `GET /status`.
    pub fn status(&self) -> Value {
        self.get("/status").ok().json()
    }

    /// `GET /metrics`.
    pub fn metrics(&self) -> String {
        self.get("/metrics").ok().text
    }

    /// Waits until no ranking is open and all click-throughs are where training finds them.
    ///
    /// # Panics
    /// When that takes longer than [`wait::PATIENCE`].
    pub fn settle(&self) {
        let settled = |ingest: &Value| ingest["openRankings"] == 0 && ingest["outbox"] == 0;
        self.until("all rankings closed", || settled(&self.status()["ingest"]));
    }

    /// Asks again and again until it is so.
    ///
    /// # Panics
    /// When that takes longer than [`wait::PATIENCE`].
    pub fn until(&self, what: &str, so: impl Fn() -> bool) {
        wait::until(what, || format!("{}\n{}", self.status(), self.log()), so);
    }

    /// Ends the process as `kill -9` does, at once.
    pub fn kill(mut self) {
        self.end();
    }

    /// Tells the process to end, as a container's platform does.
    pub fn terminate(&self) {
        self.signal("TERM");
    }

    /// Holds the process up, as a machine does that is out of breath.
    pub fn pause(&self) {
        self.signal("STOP");
    }

    /// Lets it go on.
    pub fn resume(&self) {
        self.signal("CONT");
    }

    fn signal(&self, name: &str) {
        let told = std::process::Command::new("sh").arg("-c").arg(format!("kill -{name} {}", self.pid())).status();
        assert!(told.is_ok_and(|status| status.success()), "the process could not be told");
    }

    /// Waits until the port takes no more connections.
    ///
    /// # Panics
    /// When that takes longer than [`wait::PATIENCE`].
    pub fn wait_until_closed(&self) {
        wait::until("closed", || self.log(), || std::net::TcpStream::connect(self.address).is_err());
    }

    /// Waits for a process that was told to end; its exit code, `None` after a signal.
    ///
    /// # Panics
    /// When it hangs.
    pub fn wait(mut self) -> Option<i32> {
        let ended = wait::ended(&mut self.child);
        ended.unwrap_or_else(|| panic!("the process did not end:\n{}", self.log())).code()
    }

    fn end(&mut self) {
        // it may have ended by itself
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn lost(&self, path: &str, error: &std::io::Error) -> ! {
        panic!("{path}: {error}\n{}", self.log())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.end();
    }
}

impl Launch<'_> {
    /// Starts the process and waits until its port is open.
    ///
    /// # Panics
    /// When it ends before that, with its log.
    pub fn start(&self) -> Service {
        let service = self.start_unasked();
        service.get("/ready").ok();
        service
    }

    /// The same, of a service that does not answer in the clear.
    ///
    /// # Panics
    /// As there.
    pub fn start_unasked(&self) -> Service {
        let began = Instant::now();
        let mut child = self.spawn();
        let log = Arc::new(Mutex::new(String::new()));
        let (told, heard) = channel();
        let stderr = child.stderr.take().expect("standard error is a pipe");
        let kept = log.clone();
        std::thread::spawn(move || read(stderr, &kept, &told));
        let address = heard_address(&heard).unwrap_or_else(|what| {
            let _ = child.kill();
            let _ = child.wait();
            panic!("the service {what}:\n{}", log.lock().map(|log| log.clone()).unwrap_or_default())
        });
        Service { child, address, log, started_in: began.elapsed() }
    }

    fn spawn(&self) -> Child {
        let config = self.folder.join("config.yml");
        std::fs::write(&config, with_port(self.config)).expect("the folder can be written to");
        let mut command = match self.subcommand {
            "serve" | "standalone" => program::command(&[self.subcommand]),
            name => program::clean(std::process::Command::new(program::named(name))),
        };
        command.arg("--config").arg(config).current_dir(self.folder);
        if let Some(data) = self.data {
            command.arg("--data").arg(data);
        }
        command.envs(self.environment.iter().copied());
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program can be started")
    }
}

/// The configuration with a port that the system chooses.
fn with_port(config: &str) -> String {
    const OURS: &str = "api: {host: 127.0.0.1, port: 0}";
    match config.lines().any(|line| line.starts_with("api:")) {
        true => config.to_owned(),
        false => format!("{config}\n{OURS}\n"),
    }
}

/// Keeps the log, and tells the address when the port is open.
fn read(stderr: ChildStderr, log: &Mutex<String>, told: &Sender<SocketAddr>) {
    for line in BufReader::new(stderr).lines().map_while(Result::ok) {
        if let Ok(mut log) = log.lock() {
            log.push_str(&line);
            log.push('\n');
        }
        if let Some(address) = served_at(&line) {
            // it fails where the receiver is gone
            let _ = told.send(address);
        }
    }
}

/// The address in the line of the log that tells it, as text or as JSON.
fn served_at(line: &str) -> Option<SocketAddr> {
    if let Some((_, rest)) = line.split_once("serving address=") {
        return rest.trim().parse().ok();
    }
    let line: Value = serde_json::from_str(line).ok().filter(|line: &Value| line["message"] == "serving")?;
    line["address"].as_str()?.parse().ok()
}

fn heard_address(heard: &Receiver<SocketAddr>) -> Result<SocketAddr, &'static str> {
    heard.recv_timeout(PATIENCE).map_err(|error| match error {
        RecvTimeoutError::Disconnected => "ended before its port was open",
        RecvTimeoutError::Timeout => "did not open its port in time",
    })
}
