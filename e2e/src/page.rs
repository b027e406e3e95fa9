//! Pages of `docs`: tests run the commands that they show.

use crate::folder::names;
use crate::program::{Ended, shell};
use crate::{http, wait};
use serde_json::Value;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Addresses of services in the commands of pages.
const SHOWN: [&str; 3] = ["localhost:8080", "localhost:8090", "127.0.0.1:8080"];

/// A block of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Such as `sh`.
    pub language: String,
    /// What stands between the fences, with a line break at its end.
    pub text: String,
    /// Whether only empty lines are between the previous block and this one.
    pub follows: bool,
}

impl Block {
    /// Whether it has commands.
    pub fn is_shell(&self) -> bool {
        matches!(&*self.language, "sh" | "bash")
    }

    /// Whether it has commands that need a cluster.
    pub fn is_of_cluster(&self) -> bool {
        let needs = |line: &str| ["kubectl ", "helm "].iter().any(|name| line.trim_start().starts_with(name));
        self.is_shell() && self.text.lines().any(needs)
    }
}

/// Names of all pages of `docs`.
///
/// # Panics
/// When the folder is missing.
pub fn all() -> Vec<String> {
    let pages = names("../docs".as_ref()).into_iter();
    pages.filter_map(|name| Some(name.strip_suffix(".md")?.to_owned())).collect()
}

/// The text of a page of `docs` by its name; `../README` is the one of the repository.
///
/// # Panics
/// When there is no such page.
pub fn read(name: &str) -> String {
    let path = format!("../docs/{name}.md");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The blocks of a page in their order.
pub fn blocks(page: &str) -> Vec<Block> {
    let (mut blocks, mut open, mut follows) = (Vec::new(), None::<Block>, false);
    for line in page.lines() {
        match (open.take(), line.trim_start().strip_prefix("```")) {
            (None, Some(language)) => {
                open = Some(Block { language: language.to_owned(), text: String::new(), follows })
            }
            (None, None) => follows &= line.trim().is_empty(),
            (Some(block), Some(_)) => {
                blocks.push(block);
                follows = true;
            }
            (Some(mut block), None) => {
                block.text.push_str(line);
                block.text.push('\n');
                open = Some(block);
            }
        }
    }
    blocks
}

/// The first block of a page in a language that begins so.
///
/// # Panics
/// When there is none.
pub fn block(page: &str, language: &str, begins: &str) -> String {
    let found = blocks(page).into_iter().find(|block| block.language == language && block.text.starts_with(begins));
    found.unwrap_or_else(|| panic!("no block of {language} begins with {begins:?}")).text
}

/// Whether jq is there, which some commands use. Without it a test leaves them out, and fails where `RANKWRIGHT_REQUIRE_ALL` is 1.
///
/// # Panics
/// Where nothing may be skipped.
pub fn has_jq() -> bool {
    let found = Command::new("jq").arg("--version").stdout(Stdio::null()).status().is_ok_and(|status| status.success());
    assert!(found || std::env::var("RANKWRIGHT_REQUIRE_ALL").as_deref() != Ok("1"), "jq is missing");
    found
}

/// Runs the commands of a block in a folder.
///
/// # Panics
/// When one fails, with what they print.
pub fn run(folder: &Path, commands: &str) -> Ended {
    let ended = Ended::of(
        shell(&format!("set -eo pipefail\n{commands}"))
            .current_dir(folder)
            .env("RANKWRIGHT_ENCODERS_CACHE", folder.join("cache")),
    );
    assert_eq!(ended.code, Some(0), "{commands}\n{}{}", ended.stdout, ended.stderr);
    ended
}

/// Commands that ask a service at this port, and fail when it refuses.
pub fn asking(commands: &str, port: u16) -> String {
    let commands = commands.replace("curl ", "curl -sSf ");
    SHOWN.iter().fold(commands, |commands, shown| commands.replace(shown, &format!("127.0.0.1:{port}")))
}

/// Asserts that an answer has these items in this order, with these scores but for rounding.
///
/// # Panics
/// When it has not.
pub fn assert_items(found: &Value, expected: &Value) {
    let items = |answer: &Value| -> Vec<(Value, f64)> {
        let items = answer["items"].as_array().map_or(&[][..], Vec::as_slice);
        items.iter().map(|item| (item["item"].clone(), item["score"].as_f64().unwrap_or(f64::NAN))).collect()
    };
    let (these, those) = (items(found), items(expected));
    let same = |(one, other): (&(Value, f64), &(Value, f64))| one.0 == other.0 && (one.1 - other.1).abs() < 1e-4;
    let all = !those.is_empty() && these.len() == those.len() && these.iter().zip(&those).all(same);
    assert!(all, "the page shows {expected}, this is {found}");
}

/// A service that a command of a page has started; it ends with this.
pub struct Serving(Child);

impl Serving {
    /// Runs a command in a folder and waits until the service at this port is ready.
    ///
    /// # Panics
    /// When it is not in time, with its log.
    pub fn start(folder: &Path, command: &str, port: u16) -> Self {
        let (log, address) = (folder.join("serving.log"), SocketAddr::from(([127, 0, 0, 1], port)));
        let kept = std::fs::File::create(&log).expect("the folder can be written to");
        let mut running = shell(&format!("exec {command}"));
        running.current_dir(folder).env("RANKWRIGHT_ENCODERS_CACHE", folder.join("cache"));
        let child = running.stdout(Stdio::null()).stderr(kept).spawn().expect("bash is there");
        let mut serving = Self(child);
        let told = || std::fs::read_to_string(&log).unwrap_or_default();
        wait::until("ready", told, || {
            let ended = serving.0.try_wait().expect("can be asked");
            assert!(ended.is_none(), "{command} ended:\n{}", told());
            http::get(address, "/ready").is_ok_and(|answer| answer.status == 200)
        });
        serving
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill(); // it may have ended
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_found_also_in_lists_and_told_from_text() {
        let page = "# A\n\n```sh\none\n\ntwo\n```\n\n```text\n1\n```\nB\n\n   ```sh\n   three\n   ```\n";
        let block =
            |language: &str, text: &str, follows| Block { language: language.into(), text: text.into(), follows };
        let expected =
            [block("sh", "one\n\ntwo\n", false), block("text", "1\n", true), block("sh", "   three\n", false)];
        assert_eq!(blocks(page), expected);
        assert_eq!(super::block(page, "sh", "   three"), "   three\n");
    }

    #[test]
    fn commands_that_need_a_cluster_are_told_from_others() {
        let is = |page: &str| blocks(page)[0].is_of_cluster();
        assert!(is("```sh\ncd a\n   kubectl get pods\n```") && is("```bash\nhelm install a b\n```"));
        assert!(!is("```text\nkubectl get pods\n```") && !is("```sh\necho kubectl get pods\n```"));
    }

    #[test]
    fn commands_ask_the_service_of_the_test() {
        let commands = "curl -s 'localhost:8080/a' | jq\ncurl http://127.0.0.1:8080/b localhost:8090/c\n";
        let asked = "curl -sSf -s '127.0.0.1:9/a' | jq\ncurl -sSf http://127.0.0.1:9/b 127.0.0.1:9/c\n";
        assert_eq!(asking(commands, 9), asked);
    }
}
