//! What `serve` on file state has acknowledged is there after `kill -9`, once.

use rankwright_e2e::events::{DURABLE, at, cheap_wins, feature, ranking};
use rankwright_e2e::{Service, http};
use serde_json::{Value, json};
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::mpsc::{Sender, channel};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("there is room for temporary files")
}

/// A service whose model is trained.
fn trained(folder: &Path) -> Service {
    let service = Service::serve(DURABLE, folder);
    service.feedback(&cheap_wins(100));
    service.feedback(&[later()]);
    service.settle();
    service.train("m");
    service
}

/// An event long after the lists, so that they close.
fn later() -> Value {
    json!({"event": "user", "id": "later", "timestamp": at(1000), "user": "u", "fields": []})
}

/// A click on an item page, which no list caused.
fn lone_click(id: &str, item: &str) -> Value {
    json!({"event": "interaction", "id": id, "timestamp": at(2000), "type": "click", "item": item, "user": "u"})
}

/// How often an item was clicked, as a model sees it.
fn clicks(service: &Service, item: &str) -> Option<u64> {
    let answer = service.rank("m", &ranking("q", 3000, "u", &[item]));
    feature(&answer, item, "clicks").as_f64().map(|count| count as u64)
}

/// Clicks on an item, one call after the other, until the service is gone; how many it acknowledged.
fn click_on(address: SocketAddr, item: &str, first: u64, told: &Sender<()>) -> u64 {
    for number in first.. {
        let event = lone_click(&format!("{item}-{number}"), item).to_string();
        match http::post(address, "/feedback", event.as_bytes()) {
            Ok(answer) if answer.status == 200 => drop(told.send(())),
            Ok(answer) => panic!("{}", answer.text),
            Err(_) => return number,
        }
    }
    unreachable!("a service does not live for ever")
}

#[test]
fn every_acknowledged_event_is_there_after_kill_9_and_none_twice() {
    const VISITORS: usize = 4;
    let folder = folder();
    let mut service = trained(folder.path());
    let mut acknowledged = [0; VISITORS];
    for _ in 0..3 {
        let (told, heard) = channel();
        let address = service.address();
        let visitors = acknowledged.iter().enumerate().map(|(visitor, &first)| {
            let told = told.clone();
            std::thread::spawn(move || click_on(address, &format!("x{visitor}"), first, &told))
        });
        let visitors: Vec<_> = visitors.collect();
        heard.iter().take(150).for_each(drop);
        service.kill();
        for (acknowledged, visitor) in acknowledged.iter_mut().zip(visitors) {
            *acknowledged = visitor.join().expect("every answer was a success");
        }
        service = Service::serve(DURABLE, folder.path());
        for (visitor, acknowledged) in acknowledged.iter_mut().enumerate() {
            let item = format!("x{visitor}");
            service.feedback(&[lone_click(&format!("{item}-{acknowledged}"), &item)]);
            *acknowledged += 1;
            assert_eq!(clicks(&service, &item), Some(*acknowledged), "of {item}");
        }
    }
}

#[test]
fn an_event_whose_answer_was_lost_in_a_crash_counts_once_when_it_is_sent_again() {
    let folder = folder();
    let service = trained(folder.path());
    let event = lone_click("only", "x");
    let mut stream = TcpStream::connect(service.address()).expect("the service listens");
    stream.write_all(&http::request("POST", "/feedback", event.to_string().as_bytes())).expect("the service reads");
    service.until("counted", || clicks(&service, "x") == Some(1));
    service.kill();
    let service = Service::serve(DURABLE, folder.path());
    assert_eq!(clicks(&service, "x"), Some(1));
    service.feedback(&[event]);
    assert_eq!(clicks(&service, "x"), Some(1));
}

#[test]
fn a_list_that_was_open_in_a_crash_still_becomes_a_click_through_that_is_trained_on() {
    let folder = folder();
    let service = Service::serve(DURABLE, folder.path());
    // all of it lies within a session's length, so nothing has closed
    let events: Vec<Value> = cheap_wins(8);
    service.feedback(&events);
    assert_eq!(service.status()["ingest"]["clickthroughs"], 0);
    service.kill();
    let service = Service::serve(DURABLE, folder.path());
    service.feedback(&[later()]);
    service.settle();
    service.train("m");
    service.until("it tells what it trained on", || service.log().contains(" trained "));
    let log = service.log();
    let line = log.lines().find(|line| line.contains(" trained ")).unwrap_or_else(|| panic!("{log}"));
    assert!(line.contains("rankings=6"), "eight lists, 80% of which are trained on: {line}");
    // the model and the click-throughs survive as well
    service.kill();
    let service = Service::serve(DURABLE, folder.path());
    assert_eq!(service.rank("m", &ranking("q", 3000, "u", &["i1"]))["fallback"], Value::Null);
    service.train("m");
}
