//! What is said where servers are not as they should be.

#![allow(clippy::expect_used)]

use rankwright_redis::redis::cmd;
use rankwright_redis::{Address, Blocking, Link, Problem, Sentinels, Settings, Topology, testing};
use std::io::{Read, Write};
use std::time::Duration;

fn nobody() -> Address {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("finds a port");
    Address::new("127.0.0.1", listener.local_addr().expect("has an address").port())
}

fn sentinels(nodes: Vec<Address>, master: &str) -> Settings {
    let (user, password) = (Some("ann".to_owned()), Some("hunter2".to_owned()));
    let sentinels = Sentinels { nodes, master: master.to_owned(), user, password };
    Settings { topology: Topology::Sentinel(sentinels), ..Settings::new("", 0) }
}

/// What both kinds of links say when they are asked for a key.
fn said(settings: &Settings) -> [rankwright_redis::Error; 2] {
    let link = Link::new(settings.clone(), None).expect("needs no certificates");
    let asked = async {
        let answer = link.send("a", |mut connection| async move {
            cmd("GET").arg("a").query_async::<Option<String>>(&mut connection).await
        });
        answer.await.expect_err("cannot answer")
    };
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let first = runtime.enable_all().build().expect("starts a runtime").block_on(asked);
    let blocking = Blocking::new(settings.clone()).expect("needs no certificates");
    let second = blocking.send("a", |connection| cmd("GET").arg("a").query::<Option<String>>(connection));
    [first, second.expect_err("cannot answer")]
}

#[test]
fn a_server_is_reached_with_every_time_that_a_configuration_may_give_its_socket() {
    let Some(settings) = testing::server() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("starts a runtime");
    for socket in [Duration::from_millis(900), Duration::from_hours(10), Duration::from_hours(24 * 36_600)] {
        let settings = Settings { socket, ..settings.clone() };
        let link = Link::new(settings.clone(), None).expect("needs no certificates");
        let asked =
            link.send("a", |mut connection| async move { cmd("PING").query_async::<String>(&mut connection).await });
        assert_eq!(runtime.block_on(asked).expect("answers"), "PONG", "{socket:?}");
        let blocking = Blocking::new(settings).expect("needs no certificates");
        let answer = blocking.send("a", |connection| cmd("PING").query::<String>(connection));
        assert_eq!(answer.expect("answers"), "PONG", "{socket:?}");
    }
}

#[test]
fn sentinels_that_are_away_are_named_and_no_password_is() {
    let (one, two) = (nobody(), nobody());
    let place = format!("redis at shop/0 of the sentinels {one},{two}: no connection: the sentinel at {two}");
    for error in said(&sentinels(vec![one, two], "shop")) {
        assert!(error.to_string().starts_with(&place), "{error}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
        assert!(error.problem.passes());
    }
}

#[test]
fn a_master_that_sentinels_do_not_know_is_a_mistake() {
    let Some(settings) = testing::sentinel() else { return };
    let Topology::Sentinel(known) = settings.topology.clone() else { panic!("it has sentinels") };
    let named = Sentinels { master: "shop".into(), ..known };
    for error in said(&Settings { topology: Topology::Sentinel(named), ..settings }) {
        let text = error.to_string();
        assert!(text.ends_with(r#"the sentinels know no master "shop": check sentinel.master"#), "{text}");
        assert!(!error.problem.passes());
    }
}

/// Its machine is gone without closing connections: a caller has no more time than connecting to it takes.
#[test]
fn a_sentinel_that_is_gone_without_a_word_keeps_nobody_from_the_next_one_who_waits_no_longer_than_it() {
    let Some(settings) = testing::sentinel() else { return };
    let Topology::Sentinel(mut known) = settings.topology.clone() else { panic!("it has sentinels") };
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("finds a port"); // the system accepts for it
    known.nodes.insert(0, Address::new("127.0.0.1", silent.local_addr().expect("has an address").port()));
    let patience = Duration::from_millis(300);
    let topology = Topology::Sentinel(known);
    let settings = Settings { topology, connect: patience, command: patience, ..settings };
    let link = Link::new(settings, None).expect("needs no certificates");
    let asked = async {
        for _ in 0..100 {
            let ping = link
                .send("a", |mut connection| async move { cmd("PING").query_async::<String>(&mut connection).await });
            if let Ok(Ok(answer)) = tokio::time::timeout(patience, ping).await {
                return answer;
            }
        }
        panic!("the next sentinel was never asked");
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("starts a runtime");
    assert_eq!(runtime.block_on(asked), "PONG");
}

#[test]
fn a_password_that_sentinels_refuse_is_told_from_that_of_the_server() {
    let Some(Topology::Sentinel(known)) = testing::sentinel().map(|settings| settings.topology) else { return };
    for error in said(&sentinels(known.nodes, "rw")) {
        let text = error.to_string();
        assert!(text.contains("set sentinel.user and sentinel.password"), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
}

/// A server that answers whatever it is asked as Redis 5 answers to the first thing that is said.
fn redis_5() -> Address {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("finds a port");
    let port = listener.local_addr().expect("has an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("somebody comes");
            let mut asked = [0; 4096];
            while stream.read(&mut asked).is_ok_and(|read| read > 0) {
                let answer = "-ERR unknown command `HELLO`, with args beginning with: `3`, \r\n".repeat(8);
                if stream.write_all(answer.as_bytes()).is_err() {
                    break;
                }
            }
        }
    });
    Address::new("127.0.0.1", port)
}

#[test]
fn a_server_that_is_too_old_is_told_what_it_would_have_to_be() {
    let old = redis_5();
    for error in said(&Settings::new(old.host.clone(), old.port)) {
        let told = format!("redis at {old}/0: its version (it knows no HELLO) is too old, 6.0 or newer is needed");
        assert_eq!(error.to_string(), told);
        assert!(!error.problem.passes());
    }
}

#[test]
fn a_cluster_that_is_away_is_named_by_its_nodes() {
    let (one, two) = (nobody(), nobody());
    let settings = Settings::new("", 0);
    for error in said(&Settings { topology: Topology::Cluster(vec![one.clone(), two.clone()]), ..settings }) {
        let text = error.to_string();
        assert!(text.contains(&format!("the cluster of {one},{two}")), "{text}");
        assert!(matches!(error.problem, Problem::Unreachable(_)), "{text}");
    }
}

#[test]
fn a_server_without_a_cluster_is_not_taken_for_one() {
    let Some(settings) = testing::server() else { return };
    let nodes = vec![settings.address()];
    for error in said(&Settings { topology: Topology::Cluster(nodes), ..settings }) {
        let text = error.to_string();
        assert!(text.contains("cluster support disabled"), "{text}");
    }
}

#[test]
fn a_node_of_a_cluster_says_so_to_those_who_take_it_for_a_single_server() {
    let Some(settings) = testing::cluster() else { return };
    let Topology::Cluster(nodes) = &settings.topology else { panic!("it has nodes") };
    let (slot, key) = (rankwright_redis::slot_of(b"a"), "a");
    let other = usize::from(slot > 5460) + usize::from(slot > 10_922);
    let wrong = &nodes[(other + 1) % 3];
    let alone = Settings::new(wrong.host.clone(), wrong.port);
    for error in said(&alone) {
        assert!(error.to_string().ends_with("for a cluster set state.mode to cluster"), "{error} for {key}");
    }
}

/// Settings of a user that may do this on the server for tests; the user goes with the server.
fn user(name: &str, rights: &[&str]) -> Option<Settings> {
    let settings = testing::server()?;
    let admin = Blocking::new(settings.clone()).expect("needs no certificates");
    let made = admin.send("", |connection| {
        let mut user = cmd("ACL");
        user.arg("SETUSER").arg(name).arg("reset").arg("on").arg(">secret").arg("~*").arg(rights);
        user.exec(connection)
    });
    made.expect("takes the user");
    Some(Settings { user: Some(name.to_owned()), password: Some("secret".to_owned()), ..settings })
}

#[test]
fn a_right_that_is_missing_is_named_with_those_that_are_needed() {
    let Some(settings) = user("writes-only", &["+@connection", "+set"]) else { return };
    for error in said(&settings) {
        let text = error.to_string();
        assert!(text.contains("this user lacks a right (") && text.contains("'get'"), "{text}");
        assert!(text.ends_with("give it ~rw:<service>:* and +@all -@dangerous +info"), "{text}");
        assert!(!error.problem.passes() && !text.contains("secret"), "{text}");
    }
}

#[test]
fn a_server_that_refuses_client_tracking_is_used_without() {
    let rights: [(&str, &[&str], bool); 2] =
        [("tracks", &["+@all"], true), ("tracks-not", &["+@all", "-client|tracking"], false)];
    for (name, rights, watches) in rights {
        let Some(settings) = user(name, rights) else { return };
        let link = Link::new(settings, Some(std::sync::Arc::new(|_| {}))).expect("needs no certificates");
        let asked = link.send("a", |mut connection| async move {
            cmd("ECHO").arg("a").query_async::<String>(&mut connection).await
        });
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let answer = runtime.enable_all().build().expect("starts a runtime").block_on(asked);
        assert_eq!(answer.expect("answers"), "a", "{name}");
        assert_eq!(link.is_watching(), watches, "{name}");
    }
}

/// The commands in what was sent, each with its arguments; whole ones are expected to come at once.
fn commands(sent: &str) -> Vec<Vec<String>> {
    let (mut lines, mut commands) = (sent.split("\r\n"), Vec::new());
    while let Some(count) = lines.next().and_then(|line| line.strip_prefix('*')) {
        let count = count.parse().expect("a number");
        commands.push((0..count).map(|_| lines.nth(1).expect("an argument").to_uppercase()).collect());
    }
    commands
}

/// A server that answers as it is told to, and hangs up where it is told nothing.
fn acting(answer: impl Fn(&[String], &Address) -> Option<String> + Send + Sync + 'static) -> Address {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("finds a port");
    let address = Address::new("127.0.0.1", listener.local_addr().expect("has an address").port());
    let (own, answer) = (address.clone(), std::sync::Arc::new(answer));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, own, answer) = (stream.expect("somebody comes"), own.clone(), answer.clone());
            std::thread::spawn(move || {
                let mut sent = [0; 4096];
                while let Ok(read @ 1..) = stream.read(&mut sent) {
                    for command in commands(&String::from_utf8_lossy(&sent[..read])) {
                        let Some(answer) = answer(&command, &own) else { return };
                        if stream.write_all(answer.as_bytes()).is_err() {
                            return;
                        }
                    }
                }
            });
        }
    });
    address
}

fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

/// The user that the documentation wants may not ask for `ROLE`.
#[test]
fn a_replica_that_sentinels_name_is_not_used_by_who_may_not_ask_for_its_role() {
    let demoted = acting(|command, own| {
        Some(match command[0].as_str() {
            "SENTINEL" => format!("*2\r\n{}{}", bulk(&own.host), bulk(&own.port.to_string())),
            "ROLE" => "-NOPERM this user has no permissions to run the 'role' command\r\n".to_owned(),
            "INFO" => bulk("redis_version:7.0.15\r\nrole:slave\r\n"),
            "GET" => "$-1\r\n".to_owned(),
            _ => "+OK\r\n".to_owned(),
        })
    });
    for error in said(&sentinels(vec![demoted.clone()], "shop")) {
        let told = format!("it takes no writes: {demoted}, which the sentinels name, is a slave");
        assert!(error.to_string().ends_with(&told) && error.problem.passes(), "{error}");
    }
}

#[test]
fn nodes_of_a_cluster_are_found_by_those_that_are_known_when_all_that_were_named_are_gone() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    fn slots(owner: &Address) -> String {
        let node = format!("*3\r\n{}:{}\r\n{}", bulk(&owner.host), owner.port, bulk("id"));
        format!("*1\r\n*3\r\n:0\r\n:16383\r\n{node}")
    }
    let asked = AtomicUsize::new(0);
    let node = acting(move |command, own| match command[0].as_str() {
        "CLUSTER" => Some(slots(own)),
        // its connection breaks once
        "GET" => (asked.fetch_add(1, Ordering::SeqCst) != 1).then(|| "$-1\r\n".to_owned()),
        _ => Some("+OK\r\n".to_owned()),
    });
    let (is_gone, owner) = (Arc::new(AtomicBool::new(false)), node);
    let gone = is_gone.clone();
    let named = acting(move |command, _| match command[0].as_str() {
        _ if gone.load(Ordering::SeqCst) => None,
        "CLUSTER" => Some(slots(&owner)),
        _ => Some("+OK\r\n".to_owned()),
    });
    let settings = Settings { topology: Topology::Cluster(vec![named]), ..Settings::new("", 0) };
    let link = Blocking::new(settings).expect("needs no certificates");
    let get = || link.send("a", |connection| cmd("GET").arg("a").query::<Option<String>>(connection));
    assert_eq!(get().expect("answers"), None);
    is_gone.store(true, Ordering::SeqCst);
    assert_eq!(get().expect("the other node tells where the key is"), None);
}
