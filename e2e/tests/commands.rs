//! Commands that pages show, run as they stand over one made-up shop.

use rankwright_e2e::Ended;
use rankwright_e2e::folder::{folder, names};
use rankwright_e2e::program::shell;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// Pages of which every command is run, in this order.
const PAGES: [&str; 8] = ["sort", "validate", "models", "export", "status", "text-matching", "editor", "forget"];

/// Runs a line in a folder.
fn ran(folder: &Path, line: &str) -> Ended {
    let ended = Ended::of(shell(line).current_dir(folder));
    assert_eq!(ended.code, Some(0), "{line}:\n{}{}", ended.stdout, ended.stderr);
    ended
}

/// The commands of `rankwright` in the shell blocks of a page.
fn commands(page: &str) -> Vec<String> {
    let text = std::fs::read_to_string(format!("../docs/{page}.md")).expect("the page is there");
    let blocks = text.split("\n```").filter_map(|block| block.strip_prefix("sh\n").or(block.strip_prefix("bash\n")));
    let lines = blocks.flat_map(str::lines).filter(|line| line.starts_with("rankwright "));
    lines.map(str::to_owned).collect()
}

/// A shop whose state stays, with trained models and what the pages name beside it.
fn shop(folder: &Path) {
    ran(folder, "rankwright generate --out . --rankings 400 --items 100 --users 50");
    let config = std::fs::read_to_string(folder.join("config.yml")).expect("was written");
    let config = config.replace("type: memory", "type: file\n  path: ./state");
    std::fs::write(folder.join("config.yml"), config).expect("can be written");
    std::fs::create_dir(folder.join("events")).expect("is new");
    std::fs::copy(folder.join("events.jsonl.gz"), folder.join("events/events.jsonl.gz")).expect("was written");
    for line in [
        "rankwright import --config config.yml --data events.jsonl.gz",
        "rankwright train --config config.yml --model lightgbm",
        "rankwright train --config config.yml --model xgboost",
        "rankwright models export --config config.yml --model lightgbm --out tuned.txt",
    ] {
        ran(folder, line);
    }
}

/// Whether jq is there; a test without it is left out in part.
fn has_jq() -> bool {
    let found = Command::new("jq").arg("--version").stdout(Stdio::null()).status().is_ok_and(|status| status.success());
    assert!(found || std::env::var("RANKWRIGHT_REQUIRE_ALL").as_deref() != Ok("1"), "jq is missing");
    found
}

#[test]
fn the_commands_of_pages_do_what_they_say() {
    let folder = folder();
    let folder = folder.path();
    shop(folder);
    let request = std::fs::read(folder.join("request.txt")).expect("was written");
    let request: Value = serde_json::from_slice(&request).expect("a request is JSON");
    let (mut version, mut count) = (String::new(), 0);
    for page in PAGES {
        for command in commands(page) {
            if command.contains("| jq ") && !has_jq() {
                println!("SKIPPED: jq is missing");
                continue;
            }
            let id = match command.contains("--user ID") {
                true => &request["user"],
                false => &request["items"][0]["id"],
            };
            let line =
                command.replace("VERSION", &version).replace(" ID", &format!(" {}", id.as_str().expect("an id")));
            let ended = ran(folder, &line);
            if command.contains("models import") {
                version = ended.stdout.split('\t').nth(1).expect("it prints the version").to_owned();
            }
            count += 1;
        }
    }
    assert!(count > 15, "{count} commands");
    let made = names(folder);
    for name in ["sorted.jsonl.gz", "model.ubj", "training", "tf-title.json", "rankwright.schema.json"] {
        assert!(made.iter().any(|made| made == name), "no {name}: {made:?}");
    }
}
