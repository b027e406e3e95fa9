//! Stores that are away, silent or busy: they are waited for, and what waits is not lost.

use crate::{GOES_ON, plain};
use rankwright_e2e::events::{click, item, ranking};
use rankwright_e2e::many::{import, launch};
use rankwright_e2e::redis::Redis;
use rankwright_e2e::said::Said;
use rankwright_e2e::server::Server;
use rankwright_e2e::{Launch, http, ports, program, wait};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A service that answers each request by its first line, with a status and a body; its address.
fn answering(answer: impl Fn(&str) -> (&'static str, &'static str) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("finds a port");
    let (address, answer) = (listener.local_addr().expect("has an address"), Arc::new(answer));
    let talk = move |stream: TcpStream| -> std::io::Result<()> {
        let mut reader = BufReader::new(stream);
        loop {
            let (mut first, mut length) = (String::new(), 0);
            if reader.read_line(&mut first)? == 0 {
                return Ok(());
            }
            loop {
                let mut line = String::new();
                reader.read_line(&mut line)?;
                let line = line.trim().to_ascii_lowercase();
                match line.strip_prefix("content-length:") {
                    Some(bytes) => length = bytes.trim().parse().unwrap_or(0),
                    None if line.is_empty() => break,
                    None => {}
                }
            }
            std::io::copy(&mut reader.by_ref().take(length), &mut std::io::sink())?;
            let (status, body) = answer(&first);
            write!(reader.get_mut(), "HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len())?;
        }
    };
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let talk = talk.clone();
            std::thread::spawn(move || talk(stream)); // a client that hangs up has what it wanted
        }
    });
    address
}

/// What an S3 service says that has no parts.
const NOTHING_LISTED: (&str, &str) =
    ("200 OK", "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>");

/// An S3 service that lists nothing, and takes nothing while it denies that, which it does slowly and counts; its address.
fn denying(denies: &'static AtomicBool, denied_so_far: &'static AtomicUsize) -> SocketAddr {
    answering(move |first| {
        if !first.starts_with("PUT") {
            return NOTHING_LISTED;
        }
        if !denies.load(Ordering::SeqCst) {
            return ("200 OK", "");
        }
        std::thread::sleep(Duration::from_millis(1500)); // longer than between two looks at what is due
        denied_so_far.fetch_add(1, Ordering::SeqCst);
        ("403 Forbidden", "<Error><Code>AccessDenied</Code><Message>no</Message></Error>")
    })
}

/// Over this state, with click-throughs in a bucket there.
fn with_bucket(redis: &Redis, endpoint: SocketAddr, more: &str) -> String {
    let bucket = format!(
        "type: s3, bucket: b, prefix: p, region: us-east-1, endpoint: 'http://{endpoint}', cloudKey: k, cloudKeySecret: s{more}"
    );
    plain(redis).replace("type: file, path: ./parts, format: json", &bucket)
}

#[test]
fn a_bucket_that_takes_nothing_is_told_once_and_what_waits_is_not_lost() {
    static DENIES: AtomicBool = AtomicBool::new(true);
    let Some(redis) = Redis::for_tests() else { return };
    static DENIED: AtomicUsize = AtomicUsize::new(0);
    let endpoint = denying(&DENIES, &DENIED);
    let config = with_bucket(&redis, endpoint, ", partSizeEvents: 1");
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let worker = launch("ingest-worker", &config, &redis.own_service("denied"), folder.path());
    worker.feedback(&[
        ranking("r1", 10, "u1", &["i1", "i2"]),
        click("c1", 11, "r1", "u1", "i1"),
        ranking("r2", 1000, "u1", &["i1", "i2"]),
    ]);
    let ready = || worker.get("/ready");
    worker.until("not ready", || ready().status == 503);
    let reason = ready().json();
    let text = reason["reason"].as_str().unwrap_or_default();
    assert!(reason["status"] == "refused" && text.contains("allow s3:PutObject"), "{reason}");
    assert_eq!(worker.get("/health").status, 200);
    assert_eq!(worker.status()["ingest"]["problem"], text);
    let looks = || worker.status()["ingest"]["outbox"].as_u64();
    assert_eq!(looks(), Some(1), "it waits");
    let over = "nothing waits for a store now";
    worker.until("denied again and again", || {
        assert_eq!(ready().status, 503, "also while it is tried again");
        DENIED.load(Ordering::SeqCst) >= 4
    });
    let said = worker.log().matches("allow s3:PutObject").count();
    assert!((1..=2).contains(&said), "it is said once a minute: {}", worker.log());
    assert!(!worker.log().contains(over), "{}", worker.log());
    DENIES.store(false, Ordering::SeqCst);
    worker.until("ready again", || ready().status == 200);
    worker.until("nothing waits", || looks() == Some(0));
    worker.until("told", || worker.log().contains(over));
}

/// The configuration with a port that is known before it is open.
fn at_a_port(config: &str) -> (SocketAddr, String) {
    let port = ports::free(1);
    let config = format!("{config}\napi: {{host: 127.0.0.1, port: {port}}}\n");
    (SocketAddr::from(([127, 0, 0, 1], port)), config)
}

/// Waits until a program answers that waits for its store.
fn until_it_waits(address: SocketAddr) {
    let last = || "nobody answers".to_owned();
    wait::until("an answer of a program that waits", last, || {
        http::get(address, "/health").is_ok_and(|answer| answer.status == 200)
    });
}

#[test]
fn a_program_that_waits_for_its_store_says_so_at_its_port_and_goes_on_when_it_is_there() {
    let Some(redis) = Redis::of_its_own() else { return };
    let config = plain(&redis);
    let killed = redis.killed();
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let (address, config) = at_a_port(&config);
    let launch =
        Launch { subcommand: "rank-server", config: &config, data: None, folder: folder.path(), environment: &[] };
    let (service, _redis) = std::thread::scope(|scope| {
        let starting = scope.spawn(|| launch.start_unasked());
        until_it_waits(address);
        let get = |path: &str| http::get(address, path).expect("it answers");
        assert_eq!(get("/ready").status, 503);
        let status = get("/status").json();
        assert_eq!((&status["phase"], &status["store"]["answers"]), (&"waiting".into(), &false.into()), "{status}");
        let problem = status["store"]["problem"].as_str().unwrap_or_default();
        assert!(problem.contains("no connection"), "{status}");
        let ranked = http::post(address, "/rank/m", b"{}").expect("it answers");
        assert!(ranked.status == 503 && ranked.refusal().1.contains("the state store"), "{}", ranked.text);
        let redis = killed.started();
        (starting.join().expect("it starts"), redis)
    });
    service.until("ready", || service.get("/ready").status == 200);
}

#[test]
fn a_program_that_waits_for_its_store_ends_when_it_is_told_to() {
    let Some(redis) = Redis::of_its_own() else { return };
    let config = plain(&redis);
    let _killed = redis.killed();
    for name in ["rank-server", "ingest-worker"] {
        ends_while_it_waits(name, &config, "no connection");
    }
}

/// Its client waits for answers for two minutes.
#[test]
fn a_program_whose_bucket_is_silent_says_so_at_its_port_and_ends_when_it_is_told_to() {
    let Some(redis) = Redis::for_tests() else { return };
    let silent = TcpListener::bind("127.0.0.1:0").expect("finds a port"); // the system accepts for it
    let config = with_bucket(&redis, silent.local_addr().expect("has an address"), "");
    ends_while_it_waits("ingest-worker", &config, "there is no answer yet");
}

#[test]
fn what_else_is_wrong_is_told_while_a_bucket_is_silent() {
    let Some(redis) = Redis::for_tests() else { return };
    let silent = TcpListener::bind("127.0.0.1:0").expect("finds a port");
    let taken = TcpListener::bind("127.0.0.1:0").expect("finds a port");
    let port = taken.local_addr().expect("has an address").port();
    let config = with_bucket(&redis, silent.local_addr().expect("has an address"), "");
    let config = format!("{config}\napi: {{host: 127.0.0.1, port: {port}}}\n");
    let began = Instant::now();
    let said = Said::by("ingest-worker", &config, &[("RANKWRIGHT_SERVICE", &redis.own_service("taken"))], &GOES_ON);
    assert!(began.elapsed() < Duration::from_secs(100), "the client of the bucket waits for longer than two minutes");
    let told = format!("failed to listen on 127.0.0.1:{port}");
    assert!(said.code == Some(1) && said.text.contains(&told), "{said:?}");
}

fn ends_while_it_waits(name: &str, config: &str, problem: &str) {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let (address, config) = at_a_port(config);
    let path = folder.path().join("config.yml");
    std::fs::write(&path, config).expect("can be written");
    let mut command = program::clean(Command::new(program::named(name)));
    command.arg("--config").arg(path).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the program can be started");
    until_it_waits(address);
    let status = http::get(address, "/status").expect("it answers").json();
    assert!(status["store"]["problem"].as_str().is_some_and(|told| told.contains(problem)), "{name}: {status}");
    let told = Command::new("kill").arg(child.id().to_string()).status();
    assert!(told.is_ok_and(|status| status.success()));
    let mut ended = None;
    wait::until("its end", String::new, || {
        ended = child.try_wait().expect("can be asked");
        ended.is_some()
    });
    assert_eq!(ended.and_then(|ended| ended.code()), Some(0), "{name}");
}

#[test]
fn a_bucket_that_is_busy_is_waited_for_and_is_no_reason_to_give_up_a_job() {
    static BUSY: AtomicBool = AtomicBool::new(true);
    let Some(redis) = Redis::for_tests() else { return };
    let endpoint = answering(|_| match BUSY.load(Ordering::SeqCst) {
        true => ("503 Service Unavailable", "<Error><Code>SlowDown</Code><Message>later</Message></Error>"),
        false => NOTHING_LISTED,
    });
    let (service, config) = (redis.own_service("busy"), with_bucket(&redis, endpoint, ""));
    let environment = [("RANKWRIGHT_SERVICE", &*service)];
    let said = Said::by("training-job", &config, &environment, &GOES_ON);
    assert_eq!(said.code, Some(75), "{}", said.text);
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let (address, config) = at_a_port(&config);
    let launch = Launch {
        subcommand: "ingest-worker",
        config: &config,
        data: None,
        folder: folder.path(),
        environment: &environment,
    };
    let worker = std::thread::scope(|scope| {
        let starting = scope.spawn(|| launch.start_unasked());
        until_it_waits(address);
        let problem = || http::get(address, "/status").expect("it answers").json()["store"]["problem"].to_string();
        wait::until("the reason", problem, || problem().contains("503 SlowDown"));
        BUSY.store(false, Ordering::SeqCst);
        starting.join().expect("it starts")
    });
    worker.until("ready", || worker.get("/ready").status == 200);
}

/// As one that is full, or has lost its replicas where it wants some.
#[test]
fn a_rank_server_starts_over_a_redis_that_takes_no_writes() {
    let Some(redis) = Redis::of_its_own() else { return };
    let (config, folder) = (plain(&redis), tempfile::tempdir().expect("there is room for temporary files"));
    let service = redis.own_service("full");
    import(&config, &service, &[item("i1", 1, &[]), item("i2", 1, &[])], &folder.path().join("import"));
    let client = redis::Client::open((redis.host(), redis.port())).expect("an address");
    let mut connection = client.get_connection().expect("the server answers");
    let mut set = |name: &str, value: &str| {
        redis::cmd("CONFIG").arg(&["SET", name, value]).exec(&mut connection).expect("is set");
    };
    let faults = [("maxmemory", "100kb", "0"), ("min-replicas-to-write", "1", "0")];
    for (number, (name, refuses, takes)) in (10..).zip(faults) {
        set(name, refuses);
        let server = launch("rank-server", &config, &service, &folder.path().join(name));
        server.until("ready", || server.get("/ready").status == 200);
        let taken = |number: i64| server.post("/feedback", &item("i1", number, &[])).status;
        assert_eq!(taken(number), 503, "{name}: {}", server.log());
        set(name, takes);
        server.until("taking events", || taken(number) == 200);
    }
}

#[test]
fn a_worker_that_starts_while_its_bucket_is_away_waits_for_it() {
    starts_while_its_bucket_is_away("ingest-worker");
}

#[test]
fn one_process_that_starts_while_its_bucket_is_away_waits_for_it() {
    starts_while_its_bucket_is_away("serve");
}

fn starts_while_its_bucket_is_away(program: &str) {
    let (Some(redis), Some(s3)) = (Redis::for_tests(), Server::s3("bucket")) else { return };
    let bucket = format!(
        "type: s3, bucket: bucket, prefix: p, region: us-east-1, endpoint: 'http://{}', cloudKey: test, cloudKeySecret: testsecret",
        s3.address()
    );
    let config = plain(&redis).replace("type: file, path: ./parts, format: json", &bucket);
    s3.killed();
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let (address, config) = at_a_port(&config);
    let service = redis.own_service("away");
    let environment = [("RANKWRIGHT_SERVICE", &*service)];
    let launch =
        Launch { subcommand: program, config: &config, data: None, folder: folder.path(), environment: &environment };
    let worker = std::thread::scope(|scope| {
        let starting = scope.spawn(|| launch.start_unasked());
        until_it_waits(address);
        let problem = || http::get(address, "/status").expect("it answers").json()["store"]["problem"].to_string();
        wait::until("the reason", problem, || problem().contains("cannot be reached"));
        s3.started();
        starting.join().expect("it starts")
    });
    worker.until("ready", || worker.get("/ready").status == 200);
}
