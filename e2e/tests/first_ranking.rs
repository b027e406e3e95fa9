//! docs/first-ranking.md, done as it stands: its commands, its configuration and what it says comes of them.

use rankwright_e2e::{ports, program, quality, wait};
use serde_json::Value;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const PAGE: &str = include_str!("../../docs/first-ranking.md");

/// The code blocks of the page in this language, in their order.
fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("\n```{language}\n");
    PAGE.split(&fence).skip(1).map(|rest| rest.split("\n```").next().unwrap_or_default()).collect()
}

fn block(language: &str, begins: &str) -> &'static str {
    blocks(language).into_iter().find(|block| block.starts_with(begins)).unwrap_or_else(|| panic!("no block {begins}"))
}

/// A command of the page, with the program that is tested.
fn shell(folder: &Path, line: &str) -> Command {
    let mut shell = program::clean(Command::new("bash"));
    let beside = program::path().parent().expect("a program lies in a folder").to_path_buf();
    let path = format!("{}:{}", beside.display(), std::env::var("PATH").unwrap_or_default());
    shell.args(["-e", "-c", line]).current_dir(folder).env("PATH", path);
    shell
}

struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill(); // it may have ended
        let _ = self.0.wait();
    }
}

#[test]
fn the_page_does_what_it_says() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let (port, folder) = (ports::free(1), folder.path());
    let config = format!("{}\napi: {{host: 127.0.0.1, port: {port}}}\n", block("yaml", "state:"));
    std::fs::write(folder.join("config.yml"), config).expect("files can be written");
    let ran = |line: &str| program::Ended::of(&mut shell(folder, line)).ok();

    ran(block("sh", "rankwright generate"));
    let steps: Vec<&str> = block("sh", "rankwright import").lines().collect();
    let [import, train, serve] = steps[..] else { panic!("three steps: {steps:?}") };
    ran(import);
    let [shown] = &quality::of_log(block("text", "quality"))[..] else { panic!("one quality") };
    let [reached] = &quality::of_log(&ran(train).stderr)[..] else { panic!("one model") };
    assert_eq!((reached.shown, reached.random), (shown.shown, shown.random));
    assert!((reached.reranked - shown.reranked).abs() < 0.02, "the page shows {shown:?}, this is {reached:?}");

    let serving = shell(folder, &format!("exec {serve}")).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let _serving = Serving(serving.expect("bash is there"));
    wait::until("open", String::new, || TcpStream::connect(("127.0.0.1", port)).is_ok());
    let asked = |command: &str| -> Value {
        let command = command.replacen("curl", "curl -sSf", 1).replace("localhost:8080", &format!("127.0.0.1:{port}"));
        serde_json::from_str(&ran(&command).stdout).expect("the answer is JSON")
    };
    let page = |begins: &str| -> Value { serde_json::from_str(block("json", begins)).expect("the page has JSON") };
    let requests: Vec<&str> = blocks("sh").into_iter().filter(|block| block.starts_with("curl")).collect();
    let [rank, feedback] = requests[..] else { panic!("two requests: {requests:?}") };
    assert_eq!(items(&asked(rank)), items(&page("{\"items\"")));
    let (told, page) = (asked(feedback), page("{\"accepted\""));
    for name in ["accepted", "status", "updated"] {
        assert_eq!(told[name], page[name], "{told}");
    }
}

/// The order of an answer.
fn items(answer: &Value) -> Vec<&str> {
    let items = answer["items"].as_array().map_or(&[][..], Vec::as_slice);
    items.iter().filter_map(|item| item["item"].as_str()).collect()
}
