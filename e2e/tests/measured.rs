//! What programs measure, as `promtool check metrics` sees it: every metric has a help text, and a name that says its unit.
//! And the configuration of Prometheus that a page shows.

use rankwright_e2e::events::{click, ranking};
use rankwright_e2e::folder::folder;
use rankwright_e2e::many::config;
use rankwright_e2e::page;
use rankwright_e2e::redis::Redis;
use rankwright_e2e::{Launch, Service};
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Nothing listens there; with it, programs measure traces as well.
const COLLECTOR: &str = "http://127.0.0.1:9";

/// The tool. Without it a test is skipped, or fails where `RANKWRIGHT_REQUIRE_ALL` is 1.
fn promtool() -> Option<PathBuf> {
    let found = Command::new("../operator/monitoring/promtool.sh").output().expect("there is bash");
    if !found.status.success() {
        assert!(std::env::var("RANKWRIGHT_REQUIRE_ALL").as_deref() != Ok("1"), "{found:?}");
        println!("SKIPPED: promtool is missing");
        return None;
    }
    Some(PathBuf::from(String::from_utf8_lossy(&found.stdout).trim()))
}

/// Asserts that the tool finds nothing.
fn check(promtool: &PathBuf, what: &str, page: &str) {
    let mut checking = Command::new(promtool);
    checking.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut checking = checking.spawn().expect("it runs");
    checking.stdin.take().expect("is a pipe").write_all(page.as_bytes()).expect("it reads all");
    let checked = checking.wait_with_output().expect("it ends");
    let found = [checked.stdout, checked.stderr].concat();
    assert!(checked.status.success() && found.is_empty(), "{what}: {}\n{page}", String::from_utf8_lossy(&found));
}

fn start(program: &str, config: &str, redis: &Redis, place: &tempfile::TempDir) -> Service {
    let service = redis.own_service("measured");
    let environment = [("RANKWRIGHT_SERVICE", service.as_str()), ("OTEL_EXPORTER_OTLP_ENDPOINT", COLLECTOR)];
    let folder = place.path();
    Launch { subcommand: program, config, data: None, folder, environment: &environment }.start_unasked()
}

#[test]
fn pages_of_all_programs_pass_and_show_traces() {
    let (Some(promtool), Some(redis)) = (promtool(), Redis::for_tests()) else { return };
    for program in ["serve", "rank-server", "ingest-worker"] {
        let place = folder();
        let service = start(program, &config(&redis), &redis, &place);
        service.feedback(&[ranking("r", 1, "u", &["a", "b"]), click("c", 2, "r", "u", "a")]);
        if program != "ingest-worker" {
            service.post("/rank/same", &ranking("q", 3, "u", &["a", "b"])).ok();
        }
        let page = service.metrics();
        check(&promtool, program, &page);
        for name in
            ["service_trace_waiting_spans", "service_trace_dropped_spans_total", "service_trace_exported_spans_total"]
        {
            assert!(page.contains(&format!("# HELP {name} ")), "{program}: {name}");
        }
    }

    let place = folder();
    let trees = "trees: {type: lambdamart, backend: {type: xgboost}, weights: {click: 1}, features: [clicks]}";
    let config = config(&redis).replace("same: {type: noop}", trees);
    // it is reading as long as this is open
    std::fs::create_dir(place.path().join("parts")).expect("is new");
    let part = place.path().join(format!("parts/00000001-1-{:032x}.json", 1));
    assert!(Command::new("mkfifo").arg(&part).status().is_ok_and(|status| status.success()));
    let _held = OpenOptions::new().read(true).write(true).open(&part).expect("is there");
    let training = start("training-job", &config, &redis, &place);
    check(&promtool, "training-job", &training.metrics());
}

#[test]
fn names_of_all_metrics_that_there_are_pass() {
    let Some(promtool) = promtool() else { return };
    let mut page = String::new();
    let list = std::fs::read_to_string("../services/metrics.txt").expect("is there");
    for metric in list.lines().filter(|line| line.starts_with("service_")) {
        let mut words = metric.split(' ');
        let (name, kind) = (words.next().expect("a name"), words.next().expect("a kind"));
        let labels = words.map(|label| format!("{label}=\"x\"")).collect::<Vec<_>>().join(",");
        let bucket = if kind == "histogram" { format!("{name}_bucket{{le=\"+Inf\"}} 1\n") } else { String::new() };
        let samples = match kind {
            "summary" | "histogram" => format!("{bucket}{name}_sum{{{labels}}} 1\n{name}_count{{{labels}}} 1"),
            _ => format!("{name}{{{labels}}} 1"),
        };
        writeln!(page, "# HELP {name} Something.\n# TYPE {name} {kind}\n{samples}").expect("a string takes all");
    }
    check(&promtool, "services/metrics.txt", &page);
}

#[test]
fn the_scrape_configuration_of_the_page_is_one() {
    let Some(promtool) = promtool() else { return };
    let shown = page::block(&page::read("kubernetes-monitoring"), "yaml", "scrape_configs:");
    // Debian's promtool is built without Kubernetes
    let without = shown.replace("kubernetes_sd_configs: [{role: pod}]", "static_configs: [{targets: [shop]}]");
    assert_ne!(without, shown);
    let folder = folder();
    std::fs::write(folder.path().join("prometheus.yml"), without).expect("can be written");
    let checked = Command::new(promtool).args(["check", "config", "prometheus.yml"]).current_dir(&folder).output();
    let checked = checked.expect("it runs");
    assert!(checked.status.success(), "{checked:?}");
}
