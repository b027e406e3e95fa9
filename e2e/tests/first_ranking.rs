//! docs/first-ranking.md, done as it stands: its commands, its configuration and what it says comes of them.

use rankwright_e2e::folder::{folder, write};
use rankwright_e2e::page::{self, Serving, block, blocks};
use rankwright_e2e::{ports, quality};
use serde_json::Value;

const PAGE: &str = include_str!("../../docs/first-ranking.md");

#[test]
fn the_page_does_what_it_says() {
    let folder = folder();
    let (port, folder) = (ports::free(1), folder.path());
    let config = block(PAGE, "yaml", "state:");
    write(folder, "config.yml", format!("{config}api: {{host: 127.0.0.1, port: {port}}}\n"));
    let ran = |line: &str| page::run(folder, line);

    ran(&block(PAGE, "sh", "rankwright generate"));
    let steps = block(PAGE, "sh", "rankwright import");
    let steps: Vec<&str> = steps.lines().collect();
    let [import, train, serve] = steps[..] else { panic!("three steps: {steps:?}") };
    ran(import);
    let [shown] = &quality::of_log(&block(PAGE, "text", "quality"))[..] else { panic!("one quality") };
    let [reached] = &quality::of_log(&ran(train).stderr)[..] else { panic!("one model") };
    assert_eq!((reached.shown, reached.random), (shown.shown, shown.random));
    assert!((reached.reranked - shown.reranked).abs() < 0.02, "the page shows {shown:?}, this is {reached:?}");

    let _serving = Serving::start(folder, serve, port);
    let asked = |command: &str| -> Value {
        serde_json::from_str(&ran(&page::asking(command, port)).stdout).expect("the answer is JSON")
    };
    let shown =
        |begins: &str| -> Value { serde_json::from_str(&block(PAGE, "json", begins)).expect("the page has JSON") };
    let requests = blocks(PAGE).into_iter().filter(|block| block.text.starts_with("curl")).map(|block| block.text);
    let requests: Vec<String> = requests.collect();
    let [rank, feedback] = &requests[..] else { panic!("two requests: {requests:?}") };
    page::assert_items(&asked(rank), &shown("{\"items\""));
    let (told, expected) = (asked(feedback), shown("{\"accepted\""));
    for name in ["accepted", "status", "updated"] {
        assert_eq!(told[name], expected[name], "{told}");
    }
}

#[test]
fn the_events_of_the_page_are_read() {
    let folder = folder();
    write(folder.path(), "config.yml", block(PAGE, "yaml", "state:"));
    write(folder.path(), "events.jsonl", block(PAGE, "json", "{\"event\""));
    let told = page::run(folder.path(), "rankwright import --config config.yml --data events.jsonl").stderr;
    assert!(told.contains("items=1 users=1 rankings=1 interactions=1 clickthroughs=1 skipped=0"), "{told}");
}
