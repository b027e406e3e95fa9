//! The page in a browser. Needs Node, Chromium, and the packages of `services/console/page`, which `./run test` installs.

use rankwright_e2e::events::{DURABLE, cheap_wins, click, item, ranking};
use rankwright_e2e::folder::{folder, names};
use rankwright_e2e::many::launch;
use rankwright_e2e::program::{Ended, clean, command, run};
use rankwright_e2e::redis::Redis;
use rankwright_e2e::{Service, http, ports, wait};
use serde_json::json;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const PAGE: &str = "../services/console/page";
const DIST: &str = "../services/console/dist";
/// Where pictures of all views stay, to be looked at.
const VIEWS: &str = env!("CARGO_TARGET_TMPDIR");
/// The pictures of the documentation.
const PICTURES: &str = "../docs/images";

/// What a browser test runs with.
struct Tools {
    /// Packages, as `install.sh` of the page has them.
    modules: PathBuf,
    chromium: PathBuf,
}

/// What is there of these.
fn tools() -> Option<Tools> {
    let (modules, chromium) = (modules(), chromium());
    go_on(missing(node(), modules.is_some(), chromium.is_some()))?;
    modules.zip(chromium).map(|(modules, chromium)| Tools { modules, chromium })
}

/// A test is skipped where something is missing, or fails where `RANKWRIGHT_REQUIRE_ALL` is 1.
fn go_on(missing: Option<String>) -> Option<()> {
    let Some(missing) = missing else { return Some(()) };
    assert!(std::env::var("RANKWRIGHT_REQUIRE_ALL").as_deref() != Ok("1"), "{missing}");
    println!("SKIPPED: {missing}");
    None
}

/// What a browser test lacks, and where that comes from.
fn missing(node: Option<u32>, modules: bool, chromium: bool) -> Option<String> {
    let lacks = match node {
        None => "Node is not installed: the page needs version 18 or newer".to_owned(),
        Some(old) if old < 18 => format!("this is Node {old}: the page needs version 18 or newer"),
        _ if !modules => "RANKWRIGHT_PAGE_MODULES names no folder made by services/console/page/install.sh".to_owned(),
        _ if !chromium => "there is no Chromium for the page: install Debian's package chromium, or on Ubuntu, whose package only asks for a snap, Google's google-chrome, or name one in RANKWRIGHT_CHROMIUM".to_owned(),
        _ => return None,
    };
    Some(lacks)
}

/// The major version of Node.
fn node() -> Option<u32> {
    let told = Command::new("node").arg("--version").output().ok()?;
    String::from_utf8_lossy(&told.stdout).trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}

fn modules() -> Option<PathBuf> {
    let beside = || Path::new(PAGE).join("node_modules");
    let modules = std::env::var_os("RANKWRIGHT_PAGE_MODULES").map_or_else(beside, PathBuf::from);
    modules.join("esbuild").is_dir().then(|| std::path::absolute(modules).expect("there is a working folder"))
}

fn chromium() -> Option<PathBuf> {
    match std::env::var_os("RANKWRIGHT_CHROMIUM") {
        Some(named) => Some(PathBuf::from(named)).filter(|path| path.is_file()),
        None => ["chromium", "google-chrome"].into_iter().find_map(in_path),
    }
}

fn in_path(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// The sources of the page with its packages, as a copy: the checkout stays as it is.
fn sources(modules: &Path, into: &Path) -> PathBuf {
    let page = into.join("console/page");
    copy(Path::new(PAGE), &page);
    std::os::unix::fs::symlink(modules, page.join("node_modules")).expect("links can be made");
    page
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("folders can be made");
    for entry in fs::read_dir(from).expect("is there").flatten().filter(|entry| entry.file_name() != "node_modules") {
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &target),
            false => fs::copy(entry.path(), target).map(drop).expect("files can be copied"),
        }
    }
}

/// Runs a scenario of the browser against a service.
fn browse(tools: &Tools, scenario: &str, service: &Service, more: &[&str]) {
    browse_at(tools, scenario, service.address(), || service.log(), more);
}

fn browse_at(tools: &Tools, scenario: &str, address: SocketAddr, log: impl Fn() -> String, more: &[&str]) {
    let folder = folder();
    let page = sources(&tools.modules, folder.path());
    let mut command = clean(Command::new("node"));
    command.arg(page.join("test/browser.mjs")).args([scenario, &format!("http://{address}")]).args(more);
    let ended = Ended::of(command.env("RANKWRIGHT_CHROMIUM", &tools.chromium));
    print!("{}", ended.stdout);
    assert_eq!(ended.code, Some(0), "{scenario}: {}\n{}", ended.stderr, log());
}

/// The configuration of a service that shows its page, with titles and prices of items.
fn with_page(config: &str) -> String {
    format!("{config}\napi: {{host: 127.0.0.1, port: 0, page: {{item: {{title: title, price: price}}}}}}\n")
}

/// A made-up shop in a folder: its configuration.
fn generate(folder: &Path, more: &[&str]) -> String {
    run(&[&["generate", "--plain", "--out", &folder.to_string_lossy()], more].concat()).ok();
    fs::read_to_string(folder.join("config.yml")).expect("it was written")
}

#[test]
fn a_browser_test_that_is_skipped_says_what_is_missing_and_where_to_get_it() {
    let said = |node, modules, chromium| missing(node, modules, chromium).unwrap_or_default();
    assert_eq!(said(Some(18), true, true), "");
    assert!(said(None, true, true).contains("version 18 or newer"));
    assert!(said(Some(12), true, true).starts_with("this is Node 12"), "Ubuntu 22.04 has it");
    assert!(said(Some(22), false, true).contains("services/console/page/install.sh"));
    let browser = said(Some(22), true, false);
    for word in ["package chromium", "Ubuntu", "snap", "google-chrome", "RANKWRIGHT_CHROMIUM"] {
        assert!(browser.contains(word), "{word} in {browser}");
    }
}

#[test]
fn the_page_is_built_from_its_sources_byte_for_byte() {
    let modules = modules();
    let Some(((), modules)) = go_on(missing(node(), modules.is_some(), true)).zip(modules) else { return };
    let folder = folder();
    let page = sources(&modules, folder.path());
    let types =
        clean(Command::new("node")).arg("node_modules/typescript/bin/tsc").arg("--noEmit").current_dir(&page).output();
    let types = types.expect("node is there");
    assert!(types.status.success(), "{}", String::from_utf8_lossy(&types.stdout));
    let built = Ended::of(clean(Command::new("node")).arg("build.mjs").current_dir(&page)).ok();
    print!("{}", built.stdout);
    let (built, kept) = (files(&folder.path().join("console/dist")), files(Path::new(DIST)));
    let names = |files: &[(PathBuf, Vec<u8>)]| files.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&built), names(&kept), "services/console/dist is not built from its sources: npm run build");
    assert!(built == kept, "services/console/dist is not built from its sources: npm run build");
}

#[test]
fn types_of_answers_are_written_from_the_description_of_the_interface() {
    let Some(()) = go_on(missing(node(), true, true)) else { return };
    let folder = folder();
    let service = Service::serve(&with_page("models: {keep: {type: noop}}\n"), folder.path());
    let [description, written] = ["openapi.json", "answers.ts"].map(|name| folder.path().join(name));
    fs::write(&description, service.get("/openapi.json").ok().text).expect("can be written");
    let script = Path::new(PAGE).join("types.mjs");
    Ended::of(clean(Command::new("node")).args([&script, &description, &written])).ok();
    let kept = Path::new(PAGE).join("src/answers.ts");
    if std::env::var_os("UPDATE_RENDERED").is_some() {
        fs::copy(&written, &kept).expect("can be written");
    }
    let same = fs::read(&written).expect("was written") == fs::read(&kept).expect("is there");
    assert!(same, "{} is not written from the description: see CONTRIBUTING.md", kept.display());
}

/// Files of a folder with what they hold, by name.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for name in ["", "assets"] {
        let entries = fs::read_dir(folder.join(name)).expect("is there").flatten().map(|entry| entry.path());
        for path in entries.filter(|path| path.is_file()) {
            let content = fs::read(&path).expect("can be read");
            found.push((path.strip_prefix(folder).expect("lies in it").to_owned(), content));
        }
    }
    found.sort();
    found
}

#[test]
fn every_view_shows_what_the_service_of_a_shop_answers() {
    let Some(tools) = tools() else { return };
    let folder = folder();
    let config = with_page(&generate(folder.path(), &[]));
    let service = Service::standalone(&config, &folder.path().join("events.jsonl"), folder.path());
    let pictures = match std::env::var_os("RANKWRIGHT_SCREENSHOT") {
        Some(named) => PathBuf::from(named),
        None => folder.path().join("pictures"),
    };
    fs::create_dir_all(&pictures).expect("folders can be made");
    let views = Path::new(VIEWS).join("page");
    let _ = fs::remove_dir_all(&views); // those of an earlier run
    let request = folder.path().join("request.txt");
    let arguments = [&request, &pictures, &views].map(|path| path.to_string_lossy());
    browse(&tools, "shop", &service, &arguments.each_ref().map(|path| &**path));
    let kinds = ["-dark.png", "-narrow.png", ".png"]
        .map(|kind| names(&views).iter().filter(|name| name.ends_with(kind)).count());
    assert_eq!(kinds, [9, 9, 27], "each view is there to be looked at, in {}", views.display());
    let taken: Vec<String> = names(&pictures).into_iter().filter(|name| name.ends_with(".png")).collect();
    let kept: Vec<String> = names(Path::new(PICTURES)).into_iter().filter(|name| name.ends_with(".png")).collect();
    assert_eq!(taken, kept, "the pictures of the documentation are those that this test takes");
    for name in taken {
        let (taken, kept) = (Picture::read(&pictures.join(&name)), Picture::read(&Path::new(PICTURES).join(&name)));
        assert_eq!((taken.width, taken.height), (kept.width, kept.height), "{name}");
        assert!(
            (20_000..250_000).contains(&taken.bytes) && (20_000..250_000).contains(&kept.bytes),
            "{name}: {taken:?}"
        );
    }
}

/// What is known of a PNG.
#[derive(Debug)]
struct Picture {
    width: u32,
    height: u32,
    bytes: usize,
}

impl Picture {
    fn read(path: &Path) -> Self {
        let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(bytes.get(..8), Some(&b"\x89PNG\r\n\x1a\n"[..]), "{}", path.display());
        let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        Self { width: number(16), height: number(20), bytes: bytes.len() }
    }
}

#[test]
fn the_readme_begins_with_a_picture_of_the_page_and_the_documentation_shows_all_of_them() {
    let read = |path: &str| fs::read_to_string(path).expect("is there");
    let (readme, page) = (read("../README.md"), read("../docs/page.md"));
    let first = readme.split("](").find(|text| text.starts_with("docs/images/"));
    assert!(first.is_some_and(|text| text.starts_with("docs/images/try.png)")), "{first:?}");
    for name in names(Path::new(PICTURES)).iter().filter(|name| name.ends_with(".png")) {
        assert!(page.contains(&format!("](images/{name})")), "docs/page.md shows {name}");
    }
}

#[test]
fn a_model_that_is_trained_on_the_page_orders_its_lists() {
    let Some(tools) = tools() else { return };
    let folder = folder();
    let config = with_page(&generate(folder.path(), &["--items", "300", "--users", "300", "--rankings", "1500"]));
    let service = Service::serve(&config, folder.path());
    let events = fs::read_to_string(folder.path().join("events.jsonl")).expect("they were written");
    let events: Vec<&str> = events.lines().collect();
    for some in events.chunks(500) {
        service.post_text("/feedback", &some.join("\n")).ok();
    }
    browse(&tools, "training", &service, &[&folder.path().join("request.txt").to_string_lossy()]);
}

#[test]
fn a_service_with_nothing_in_it_says_so() {
    let Some(tools) = tools() else { return };
    let folder = folder();
    let service = Service::serve(&with_page("state: {type: memory}\nfeatures: []\nmodels: {}\n"), folder.path());
    browse(&tools, "empty", &service, &[]);
}

#[test]
fn strings_of_a_hostile_shop_stay_text() {
    const CONFIG: &str = "
state: {type: memory}
features:
  - {name: price, type: number, field: item.price}
  - {name: liked, type: interacted_with, interaction: click, field: item.title, scope: user, count: 20}
models: {keep: {type: noop}, mix: {type: shuffle, maxPositionChange: 3}}
";
    let Some(tools) = tools() else { return };
    let folder = folder();
    let service = Service::serve(&with_page(CONFIG), folder.path());
    browse(&tools, "hostile", &service, &[]);
}

#[test]
fn a_service_with_a_token_wants_it_for_what_is_not_public() {
    let Some(tools) = tools() else { return };
    let folder = folder();
    let config = DURABLE.replace("models:\n", "models:\n  keep: {type: noop}\n");
    let service =
        Service::serve(&format!("{config}\napi: {{host: 127.0.0.1, port: 0, token: open-sesame}}\n"), folder.path());
    service.feedback(&cheap_wins(200));
    service.settle();
    browse(&tools, "token", &service, &["open-sesame"]);
}

#[test]
fn a_rank_server_shows_its_page_and_says_what_it_leaves_to_others() {
    const MODELS: &str = "models: {keep: {type: noop}, mix: {type: shuffle, maxPositionChange: 3}}\n";
    const API: &str = "api: {host: 127.0.0.1, port: 0, page: {enabled: true}}\n";
    let (Some(tools), Some(redis)) = (tools(), Redis::for_tests()) else { return };
    let (folder, service) = (folder(), redis.own_service("rank-server-page"));
    let config = format!("state: {{type: redis, {}}}\n{MODELS}{API}", redis.keys());
    let server = launch("rank-server", &config, &service, folder.path());
    server.post("/rank/keep", &ranking("asked", 300, "jane", &["a", "b", "c", "d"])).ok();
    browse(&tools, "rank-server", &server, &[]);
}

#[test]
fn a_visitor_and_an_item_are_forgotten_on_the_page_and_it_says_what_was_removed() {
    const FEATURES: &str = "
features: [{name: liked, type: interacted_with, interaction: click, field: item.title, scope: user}]
models: {keep: {type: noop}}
api: {host: 127.0.0.1, port: 0, token: open-sesame, page: {item: {title: title}}}
";
    let (Some(tools), Some(redis)) = (tools(), Redis::of_its_own()) else { return };
    let folder = folder();
    let service = Service::serve(&format!("state: {{type: redis, {}}}\n{FEATURES}", redis.keys()), folder.path());
    service.feedback(&[
        item("a", 1, &[("title", json!("A boot"))]),
        item("b", 2, &[("title", json!("A hat"))]),
        ranking("r", 3, "jane", &["a", "b"]),
        click("c", 4, "r", "jane", "a"),
    ]);
    service.until("her click is stored", || stored(&service, "/users/jane"));
    browse(&tools, "forget", &service, &["open-sesame"]);
    assert!(!stored(&service, "/users/jane") && !stored(&service, "/items/a") && stored(&service, "/items/b"));
}

/// Whether something is stored there, for those who have the token.
fn stored(service: &Service, path: &str) -> bool {
    let head = format!("GET {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer open-sesame\r\nconnection: close");
    let answer = http::send(service.address(), format!("{head}\r\n\r\n").as_bytes()).expect("it answers");
    assert!([200, 404].contains(&answer.status), "{answer:?}");
    answer.status == 200
}

#[test]
fn pictures_of_items_come_from_the_origins_that_are_named_alone() {
    let Some(tools) = tools() else { return };
    for (written, origin) in [("https://CDN.shop:443/", "https://cdn.shop"), ("*", "*")] {
        let folder = folder();
        let page =
            format!("page: {{showIds: true, item: {{title: title, image: picture}}, imageOrigins: ['{written}']}}");
        let config = format!(
            "state: {{type: memory}}\nfeatures: []\nmodels: {{keep: {{type: noop}}}}\napi: {{host: 127.0.0.1, port: 0, {page}}}\n"
        );
        browse(&tools, "pictures", &Service::serve(&config, folder.path()), &[origin]);
    }
}

#[test]
fn requests_of_several_tenants_and_those_that_are_no_longer_kept_are_shown_as_they_are() {
    const CONFIG: &str = "
state: {type: memory}
api: {host: 127.0.0.1, port: 0, page: {sample: 1, item: {title: title, price: price}}}
features: [{name: price, type: number, field: item.price}]
models: {keep: {type: noop}, mix: {type: shuffle, maxPositionChange: 3}}
";
    let Some(tools) = tools() else { return };
    let folder = folder();
    let service = Service::serve(CONFIG, folder.path());
    browse(&tools, "requests", &service, &[]);
}

#[test]
fn a_service_whose_store_went_away_tells_what_is_wrong() {
    const MODELS: &str = "models:
  keep: {type: noop}
  popular: {type: trending, weights: [{interaction: click, decay: 0.9, window: 7d}]}
";
    let (Some(tools), Some(redis)) = (tools(), Redis::of_its_own()) else { return };
    let folder = folder();
    let state = format!("state: {{type: redis, {}}}", redis.keys());
    let config = DURABLE.replace("state: {type: file, path: ./data}", &state).replace("models:\n", MODELS);
    let service = Service::serve(&with_page(&config), folder.path());
    service.feedback(&cheap_wins(200));
    for model in ["m", "popular"] {
        service.until("trained", || service.post_text(&format!("/train/{model}"), "").status == 200);
    }
    service.post("/rank/m", &ranking("asked", 300, "u1", &["i3", "i1", "i2", "i0"])).ok();
    let _killed = redis.killed();
    service.until("without a store", || service.status()["store"]["answers"] == false);
    browse(&tools, "away", &service, &[]);
}

/// A program that waits for its store; it ends with its test.
struct Waits(Child);

impl Drop for Waits {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_service_that_waits_for_its_store_has_its_page_already() {
    let (Some(tools), Some(redis)) = (tools(), Redis::of_its_own()) else { return };
    let (folder, port) = (folder(), ports::free(1));
    let api = format!("api: {{host: 127.0.0.1, port: {port}}}");
    let config = format!("state: {{type: redis, {}}}\nmodels: {{keep: {{type: noop}}}}\n{api}\n", redis.keys());
    let _killed = redis.killed();
    fs::write(folder.path().join("config.yml"), config).expect("can be written");
    let mut serve = command(&["serve", "--config", "config.yml"]);
    let serve = serve.current_dir(folder.path()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let _waits = Waits(serve.expect("the program can be started"));
    let (address, unknown) = (SocketAddr::from(([127, 0, 0, 1], port)), String::new);
    wait::until("an answer", unknown, || http::get(address, "/health").is_ok());
    browse_at(&tools, "waiting", address, unknown, &[]);
}

#[test]
fn what_is_under_way_and_what_is_wrong_is_shown() {
    const CONFIG: &str = "
state: {type: memory, cache: {}}
api: {host: 127.0.0.1, port: 0, page: {sample: 0}}
features: [{name: price, type: number, field: item.price}]
models:
  keep: {type: noop}
  m: {type: lambdamart, weights: {click: 1}, features: [price]}
  popular: {type: trending, weights: [{interaction: click, decay: 0.9, window: 7d}]}
";
    let Some(tools) = tools() else { return };
    let folder = folder();
    let service = Service::serve(CONFIG, folder.path());
    browse(&tools, "under-way", &service, &[]);
}
