//! Commands that pages show, run as they stand over made-up shops, and the answers that pages show of them.

use rankwright_e2e::Ended;
use rankwright_e2e::events::{columns, tracked};
use rankwright_e2e::folder::{folder, names, write};
use rankwright_e2e::page::{self, Block, Serving};
use rankwright_e2e::program::{models_for_tests, shell};
use rankwright_e2e::{http, ports};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::net::SocketAddr;
use std::path::Path;

/// Pages of which every command is run over a small shop, in this order. The first ones read its state themselves. Then a page
/// starts a service, which answers the commands after it, and the last page writes another configuration.
const PAGES: [&str; 11] = [
    "sort",
    "validate",
    "models",
    "status",
    "editor",
    "forget",
    "snowplow",
    "scheduled-training",
    "moving",
    "http",
    "autofeature",
];

/// Pages with answers of the shop that `rankwright generate` makes.
const ANSWERS: [&str; 3] = ["text-matching", "export", "recommendations"];

/// Pages whose commands need text models.
const TEXTS: [&str; 2] = ["recommenders", "inference"];

/// Blocks that are not run here: the page, how they begin, and what runs them or why nothing does. Those that need a cluster are
/// run by operator/tests/cluster/commands.rs, which has such a list as well.
const ELSEWHERE: [(&str, &str, &str); 16] = [
    ("../README", "./run quickstart", "quickstart.rs"),
    ("../README", "curl", "quickstart.rs"),
    ("benchmarks", "", "its events take minutes: `./run bench` and people"),
    ("editor", "pipx", "installs a package: e2e/python/schema.py checks with the schema"),
    ("encoders", "services/", "`./run test` has fetched them so"),
    ("evaluation", "", "evaluate.rs"),
    ("explanations", "", "explain.rs"),
    ("first-ranking", "", "first_ranking.rs"),
    ("first-ranking-service", "curl", "operator/tests/cluster/node/story.rs"),
    ("install", "", "builds the programs"),
    ("kubernetes-install", "docker", "needs Docker and a registry"),
    ("kubernetes-install", "eval", "e2e/cluster/tests.sh makes and loads its image so"),
    ("kubernetes-install", "identity", "needs a release, and there is none"),
    ("python", "", "clients.rs"),
    ("shared-state", "", "needs Redis: replicas.rs, rebuild.rs and purge.rs run these programs"),
    ("traces", "", "needs a collector: traces.rs has one"),
];

/// Commands of a page that need no cluster, and the answer that it shows right behind them.
struct Step {
    commands: String,
    answer: Option<Block>,
}

fn steps(page: &str) -> Vec<Step> {
    let blocks = page::blocks(&page::read(page));
    let answer = |place: usize| blocks.get(place + 1).filter(|next| next.follows && !next.is_shell());
    let commands = blocks.iter().enumerate().filter(|(_, block)| block.is_shell() && !block.is_of_cluster());
    let step = |(place, block): (usize, &Block)| Step { commands: block.text.clone(), answer: answer(place).cloned() };
    commands.map(step).collect()
}

/// The place among [`ELSEWHERE`] of commands that are not run here.
fn elsewhere(page: &str, commands: &str) -> Option<usize> {
    ELSEWHERE.iter().position(|(name, begin, _)| *name == page && commands.trim_start().starts_with(begin))
}

#[test]
fn every_command_of_a_page_is_run_or_there_is_a_reason() {
    let here: Vec<&str> = [&PAGES[..], &ANSWERS, &TEXTS].concat();
    let mut used = BTreeSet::new();
    for page in page::all().into_iter().chain(["../README".to_owned()]) {
        for Step { commands, .. } in steps(&page) {
            let place = elsewhere(&page, &commands);
            assert!(place.is_some() || here.contains(&&*page), "no test runs this of docs/{page}.md:\n{commands}");
            used.extend(place);
        }
    }
    let unused = ELSEWHERE.iter().enumerate().filter(|(place, _)| !used.contains(place));
    assert_eq!(unused.map(|(_, entry)| entry).collect::<Vec<_>>(), [&("", "", ""); 0], "no page has such a block");
}

/// A shop in a folder, and its service where one runs.
struct Shop<'a> {
    folder: &'a Path,
    port: u16,
    /// What its commands have in place of what pages show.
    named: Vec<(&'static str, String)>,
    serving: Option<Serving>,
}

impl<'a> Shop<'a> {
    /// A made-up one whose events are imported.
    fn generated(folder: &'a Path, options: &str) -> Self {
        page::run(folder, &format!("rankwright generate --out . {options}"));
        let config = std::fs::read_to_string(folder.join("config.yml")).expect("was written");
        write(folder, "config.yml", config.replace("type: memory", "type: file\n  path: ./state"));
        let shop = Self::configured(folder, "");
        page::run(folder, "rankwright import --config config.yml --data events.jsonl.gz");
        shop
    }

    /// One whose configuration is there.
    fn configured(folder: &'a Path, limits: &str) -> Self {
        let shop = Self { folder, port: ports::free(1), named: Vec::new(), serving: None };
        shop.listens(limits);
        shop
    }

    /// The port is the test's own.
    fn listens(&self, limits: &str) {
        let config = std::fs::read_to_string(self.folder.join("config.yml")).expect("was written");
        if !config.contains("\napi:") {
            let api = format!("api: {{host: 127.0.0.1, port: {}{limits}}}", self.port);
            write(self.folder, "config.yml", format!("{config}\n{api}\n"));
        }
    }

    /// Does what a page says.
    fn does(&mut self, page: &str) {
        let steps = steps(page);
        assert!(!steps.is_empty(), "docs/{page}.md has no commands");
        for Step { commands, answer } in steps.iter().filter(|step| elsewhere(page, &step.commands).is_none()) {
            if commands.contains("jq ") && !page::has_jq() {
                println!("SKIPPED: jq is missing");
                continue;
            }
            let commands = page::asking(commands, self.port);
            let commands = self.named.iter().fold(commands, |commands, (shown, name)| commands.replace(shown, name));
            let commands = with_version(self.folder, commands);
            let (commands, service) = apart(&commands);
            let ended = page::run(self.folder, commands);
            if let Some(answer) = answer {
                assert_shows(page, answer, &ended);
            }
            if let Some(service) = service {
                self.serving = None; // one process at a time has the state
                self.listens("");
                self.serving = Some(Serving::start(self.folder, service, self.port));
            }
        }
    }

    /// The number of a request that the service keeps.
    fn kept_request(&self, request: &[u8]) -> String {
        let address = SocketAddr::from(([127, 0, 0, 1], self.port));
        http::post(address, "/rank/lightgbm", request).expect("it answers").ok();
        http::get(address, "/requests").expect("it answers").ok().json()["requests"][0]["number"].to_string()
    }
}

/// Where commands name the version that the first of them prints, that one is run, and the others have it.
fn with_version(folder: &Path, commands: String) -> String {
    match commands.split_once('\n') {
        Some((first, rest)) if rest.contains("VERSION") => {
            let told = page::run(folder, first).stdout;
            rest.replace("VERSION", told.split('\t').nth(1).expect("it prints the version"))
        }
        _ => commands,
    }
}

/// Commands, and the last of them if it serves until it is stopped.
fn apart(commands: &str) -> (&str, Option<&str>) {
    let begin = commands.trim_end().rfind('\n').map_or(0, |end| end + 1);
    let (before, last) = commands.split_at(begin);
    let serves = ["rankwright serve", "rankwright standalone"].iter().any(|name| last.starts_with(name));
    if serves { (before, Some(last.trim_end())) } else { (commands, None) }
}

fn assert_shows(page: &str, answer: &Block, ended: &Ended) {
    let json = |text: &str| -> Value { serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}")) };
    match &*answer.language {
        "json" => page::assert_items(&json(&ended.stdout), &json(&answer.text)),
        "text" => {
            let (shown, told) = (&answer.text, &ended.stdout);
            assert!(told.ends_with(shown), "docs/{page}.md shows\n{shown}\nthis is\n{told}");
        }
        _ => {} // what the reader writes next
    }
}

/// What the pages name beside the shop: a folder of events, one of Snowplow's, a request, a model that was trained elsewhere.
fn with_neighbours(folder: &Path) {
    for name in ["events", "enriched"] {
        std::fs::create_dir(folder.join(name)).expect("is new");
    }
    std::fs::copy(folder.join("events.jsonl.gz"), folder.join("events/events.jsonl.gz")).expect("was written");
    std::fs::copy(folder.join("request.txt"), folder.join("request.json")).expect("was written");
    let mut events = String::new();
    let packed = File::open(folder.join("events.jsonl.gz")).expect("was written");
    flate2::read::GzDecoder::new(packed).read_to_string(&mut events).expect("it is gzip");
    let line = |event: &str| columns("unstruct", &tracked(&serde_json::from_str(event).expect("it is JSON")));
    write(folder, "enriched/events.tsv", events.lines().take(300).map(line).collect::<String>());
    page::run(
        folder,
        "rankwright train --config config.yml --model lightgbm
        rankwright train --config config.yml --model xgboost
        rankwright models export --config config.yml --model lightgbm --out tuned.txt",
    );
}

/// The commands in the table of docs/models.md; the current version is not the first one.
fn table_of_models(folder: &Path) {
    let listed = page::run(folder, "rankwright models list --config config.yml").stdout;
    let current = |line: &str| line.strip_prefix("lightgbm\t")?.strip_suffix("\tcurrent").map(str::to_owned);
    let version = listed.lines().find_map(current).unwrap_or_else(|| panic!("{listed}"));
    let page = page::read("models");
    let rows = page.lines().filter(|line| line.starts_with("| "));
    let commands = rows.filter_map(|row| row.split('`').nth(1)).filter(|code| code.starts_with("rankwright models "));
    let commands: Vec<&str> = commands.collect();
    assert!(commands.len() > 5, "{commands:?}");
    for command in commands {
        let command = command.replace("--model M", "--model lightgbm").replace("VERSION", &version);
        page::run(folder, &format!("{} --config config.yml", command.replace("FILE", "tuned.txt")));
    }
}

#[test]
fn the_commands_of_pages_do_what_they_say() {
    let folder = folder();
    let folder = folder.path();
    let mut shop = Shop::generated(folder, "--rankings 400 --items 100 --users 50");
    with_neighbours(folder);
    let request = std::fs::read(folder.join("request.txt")).expect("was written");
    let asked: Value = serde_json::from_slice(&request).expect("a request is JSON");
    let id = |value: &Value| value.as_str().expect("an id").to_owned();
    shop.named = vec![
        ("--user ID", format!("--user {}", id(&asked["user"]))),
        ("--item ID", format!("--item {}", id(&asked["items"][0]["id"]))),
        ("--model default", "--model lightgbm".to_owned()),
        ("/rank/default", "/rank/lightgbm".to_owned()),
    ];
    for page in PAGES {
        if page == "http" {
            let number = shop.kept_request(&request);
            shop.named.push(("1796137200017", number));
        }
        shop.does(page);
        if page == "models" {
            table_of_models(folder);
        }
    }
    let made = names(folder);
    for name in ["sorted.jsonl.gz", "model.ubj", "rankwright.schema.json", "rankwright.json"] {
        assert!(made.iter().any(|made| made == name), "no {name}: {made:?}");
    }
    if page::has_jq() {
        let values = std::fs::read_to_string(folder.join("jvm.json")).expect("was written");
        assert!(values.contains("\"price\":"), "the answers that are compared have values: {values}");
    }
}

#[test]
fn answers_that_pages_show_are_those_of_the_shop_that_is_generated() {
    let folder = folder();
    let folder = folder.path();
    let mut shop = Shop::generated(folder, "");
    page::run(folder, "rankwright train --config config.yml --model similar");
    for page in ANSWERS {
        assert!(steps(page).iter().any(|step| step.answer.is_some()), "docs/{page}.md shows no answer");
        if page == "recommendations" {
            shop.serving = Some(Serving::start(folder, "rankwright serve --config config.yml", shop.port));
        }
        shop.does(page);
    }
    assert_worked_out(folder);
}

/// Asserts that the example of BM25 in docs/text-matching.md is worked out for the dictionary of the page.
fn assert_worked_out(folder: &Path) {
    let dictionary = std::fs::read(folder.join("tf-title.json")).expect("was written");
    let dictionary: Value = serde_json::from_slice(&dictionary).expect("it is JSON");
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{value} is no number"));
    let (documents, average) = (number(&dictionary["docs"]), number(&dictionary["avgdl"]));
    let terms = ["red", "speaker"].map(|term| number(&dictionary["termfreq"][term]));
    let below = 1.0 + 1.2 * (0.25 + 0.75 * 4.0 / average);
    let [red, speaker] = terms.map(|having| (1.0 + (documents - having + 0.5) / (having + 0.5)).ln());
    let page = page::read("text-matching").split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        format!("It has \"red\" in {} titles and \"speaker\" in {}.", terms[0], terms[1]),
        format!("\"red\" adds {red:.4} / {below:.4} = {:.3}", red / below),
        format!("\"speaker\" adds {speaker:.4} / {below:.4} = {:.3}.", speaker / below),
        format!("The score is {:.2}.", (red + speaker) / below),
    ] {
        assert!(page.contains(&expected), "docs/text-matching.md has not: {expected}");
    }
}

#[test]
fn pages_about_text_models_do_what_they_say() {
    let Some(_) = models_for_tests() else { return };
    let folder = folder();
    let recommender = page::block(&page::read("recommenders"), "yaml", "state:");
    // the same model, as tests have it
    let recommender = recommender.replace("sentence-transformers/all-MiniLM-L6-v2", "test/minilm-f32");
    let inference = page::block(&page::read("encoders"), "yaml", "inference:");
    write(folder.path(), "config.yml", recommender + &inference);
    // the machine has other things to do
    let mut shop = Shop::configured(folder.path(), ", limits: {requestTimeout: 2m}");
    assert!(steps("recommenders").iter().any(|step| step.answer.is_some()), "docs/recommenders.md shows no answer");
    for page in TEXTS {
        shop.does(page);
    }
}

#[test]
fn the_mistake_that_the_page_about_editors_shows_is_reported_so() {
    let (folder, page) = (folder(), page::read("editor"));
    let config = page::block(&page, "yaml", "# yaml-language-server");
    write(folder.path(), "config.yml", config.replace("features: [price]", "features: [prices]"));
    let command = page::block(&page, "sh", "rankwright validate");
    let refused = Ended::of(shell(&command).current_dir(folder.path())).refused();
    assert_eq!(refused.stderr, page::block(&page, "text", "error:"));
}
