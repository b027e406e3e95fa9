//! A machine that is not kind: nothing reads the log, file descriptors run out, the terminal goes.

use rankwright_e2e::{http, ports, program, wait};
use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};

const CONFIG: &str = "models: {m: {type: noop}}";

/// A service that a shell has started, after a command of its own.
struct Started {
    child: Child,
    address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Started {
    fn after(before: &str, environment: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        let address = SocketAddr::from(([127, 0, 0, 1], ports::free(1)));
        let config = folder.path().join("config.yml");
        let text = format!("{CONFIG}\napi: {{host: 127.0.0.1, port: {}}}\n", address.port());
        std::fs::write(&config, text).expect("the folder can be written to");
        let mut command = program::clean(Command::new("sh"));
        command.arg("-c").arg(format!("{before}; exec \"$@\"")).arg("sh");
        command.arg(program::path()).args(["serve", "--config"]).arg(config).envs(environment.iter().copied());
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program can be started");
        let started = Self { child, address, _folder: folder };
        started.until_ready();
        started
    }

    fn until_ready(&self) {
        let ready = || http::get(self.address, "/ready").is_ok_and(|answer| answer.status == 200);
        wait::until("ready", || "the service does not answer".to_owned(), ready);
    }

    fn signal(&self, name: &str) {
        let told = Command::new("kill").arg(format!("-{name}")).arg(self.child.id().to_string()).status();
        assert!(told.is_ok_and(|status| status.success()), "the process can be told");
    }

    /// Tells it to end; its exit code, and what it has logged.
    fn ended(mut self) -> (Option<i32>, String) {
        self.signal("TERM");
        let code = wait::ended(&mut self.child).expect("it ends").code();
        (code, self.read())
    }

    fn read(&mut self) -> String {
        let mut bytes = Vec::new();
        let mut stderr = self.child.stderr.take().expect("standard error is a pipe");
        stderr.read_to_end(&mut bytes).expect("can be read");
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may have ended by itself
        let _ = self.child.wait();
    }
}

#[test]
fn a_log_that_nothing_reads_delays_neither_requests_nor_the_end() {
    let service = Started::after("true", &[("RUST_LOG", "debug")]);
    // a line for each request has its path: ten megabytes together, far more than a pipe and the queue hold
    let path = format!("/{}", "x".repeat(50_000));
    for _ in 0..200 {
        assert_eq!(http::get(service.address, &path).expect("is answered").status, 404);
    }
    let (code, log) = service.ended();
    assert_eq!(code, Some(0));
    assert!(log.contains("serving"), "what the pipe had room for is there");
}

#[test]
fn lines_that_were_dropped_are_counted_once_the_log_is_read() {
    let mut service = Started::after("true", &[("RUST_LOG", "debug")]);
    let path = format!("/{}", "x".repeat(50_000));
    for _ in 0..200 {
        assert_eq!(http::get(service.address, &path).expect("is answered").status, 404);
    }
    let mut stderr = service.child.stderr.take().expect("standard error is a pipe");
    let (mut log, mut piece) = (String::new(), [0; 1 << 16]);
    while !log.contains("lines of the log were dropped: nothing read standard error\n") {
        let read = stderr.read(&mut piece).expect("can be read");
        assert_ne!(read, 0, "the process lives");
        log.push_str(&String::from_utf8_lossy(&piece[..read]));
    }
    let dropped =
        log.lines().find_map(|line| line.strip_suffix(" lines of the log were dropped: nothing read standard error"));
    let (dropped, kept) = (dropped.and_then(|count| count.parse::<usize>().ok()), log.matches(&path).count());
    assert!(dropped.is_some_and(|dropped| dropped > 50 && dropped + kept >= 200), "{dropped:?}, {kept}");
}

#[test]
fn connections_are_accepted_where_silent_ones_hold_all_file_descriptors() {
    let service = Started::after("ulimit -n 100", &[]);
    let silent: Vec<TcpStream> =
        (0..300).map(|_| TcpStream::connect(service.address).expect("the system takes it")).collect();
    for _ in 0..20 {
        assert_eq!(http::get(service.address, "/health").expect("is answered").status, 200);
    }
    let metrics = http::get(service.address, "/metrics").expect("is answered").text;
    let closed =
        metrics.lines().find_map(|line| line.strip_prefix("service_closed_connections_total{reason=\"files\"} "));
    let closed: u64 = closed.and_then(|closed| closed.parse().ok()).expect("is counted");
    assert!(closed >= 200, "{closed}");
    drop(silent);
    let (code, log) = service.ended();
    assert_eq!(code, Some(0), "{log}");
    let said = log.matches("connections were not accepted").count();
    assert!((1..=2).contains(&said), "it is said once a minute, and at the end what is left: {log}");
    let told = log.split(" closed=").skip(1).filter_map(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    assert!(told.sum::<u64>() >= closed, "all of them are told: {log}");
}

#[test]
fn a_terminal_that_goes_ends_a_service_as_a_platform_does() {
    // also where the tests were started with it ignored, as nohup does
    let mut service = Started::after("set -- env --default-signal=HUP \"$@\"", &[]);
    service.signal("HUP");
    assert_eq!(wait::ended(&mut service.child).expect("it ends").code(), Some(0));
}

#[test]
fn a_service_that_was_started_to_ignore_that_goes_on() {
    let service = Started::after("trap '' HUP", &[]);
    service.signal("HUP");
    service.until_ready();
    let (code, log) = service.ended();
    assert_eq!((code, log.matches("stopped").count()), (Some(0), 1), "{log}");
}
