//! Serving: from start to first answer, answers under load, memory, training; beside it, a server that only echoes.

use crate::import::reading;
use crate::load::Load;
use crate::table::Table;
use crate::wrk::{self, Figures};
use crate::{Effort, median, process};
use rankwright_e2e::{Service, http};
use serde_json::Value;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Different requests, sent in turn.
const REQUESTS: usize = 200;

/// Items, connections, what is asked for besides the order, and what must be reached.
const CASES: [(usize, usize, &str, &str); 4] = [
    (100, 1, "", "p50 0.35 ms, p99 0.8 ms, 0.3 ms CPU"),
    (50, 8, "", "8,000 requests/s, p99 3 ms"),
    (100, 8, "", "4,500 requests/s"),
    (100, 1, "?explain=contributions", "-"),
];

/// Fills the rows on serving and training.
pub(crate) fn measure(load: &Load, effort: Effort, folder: &Path, table: &mut Table) {
    let path = format!("/rank/{}", load.model);
    let first = load.requests(100, 1);
    let mut starts = Vec::new();
    let start = || {
        let began = Instant::now();
        let service = Service::standalone(&load.config, &load.events, folder);
        service.post_text(&path, &first[0]).ok();
        (service, began.elapsed().as_secs_f64())
    };
    let (mut service, took) = start();
    starts.push(took);
    for _ in 1..effort.runs {
        service.kill();
        let (again, took) = start();
        service = again;
        starts.push(took);
    }
    let (resident, _) = process::memory(service.pid());
    let mut echoing = f64::NAN;
    let first_trained = service.log().lines().filter(|line| line.contains(" trained ")).collect::<Vec<_>>().join("; ");
    for (items, connections, query, wanted) in CASES {
        let path = format!("{path}{query}");
        let bodies = load.requests(items, REQUESTS);
        let answer = service.post_text(&path, &bodies[0]).ok().text.len();
        let ours = wrk::load(service.address(), service.pid(), &path, &bodies, connections, effort, folder);
        let echo = Echo::start();
        let limit = echo.load(answer, &bodies, connections, effort, folder);
        echoing = process::memory(echo.child.id()).0;
        let connections =
            if connections == 1 { "1 connection".to_owned() } else { format!("{connections} connections") };
        let what = format!("rank{query}, {items} items, {connections}");
        table.add(&what, shown(ours), wanted, format!("echo {}", shown(limit)));
    }
    let (loaded, peak) = process::memory(service.pid());
    let memory = format!("{resident:.0} MB, {loaded:.0} MB after the requests above ({peak:.0} MB at most)");
    table.add("resident memory, serving", memory, "150 MB", format!("echo {echoing:.0} MB"));
    cost_of_page(load, effort, folder, table);
    training(&service, load, effort, &first_trained, folder, table);
    let first_answer = format!("{:.2} s", median(starts));
    let limit = format!("reading the events {:.2} s, and the booster's time above", reading(&load.events));
    table.add("standalone, start to first answer", first_answer, "5 s", limit);
    let answers = (0..effort.runs).map(|_| start_with_many_values(folder));
    let measured = format!("{:.2} s", median(answers.collect()));
    table.add("serve, 100,000 values of one feature, to first answer", measured, "2 s", "-".to_owned());
    let (resident, told) = memory_of_open_rankings(folder);
    let limit = format!("{told:.0} bytes by `openRankingBytes`, of which the values are 40");
    let what = "open rankings of 10,000 items and 10 features, memory an item";
    table.add(what, format!("{resident:.0} bytes"), "140 bytes", limit);
}

/// What the page costs: two services beside each other, one without it, that answer the same requests in turn.
fn cost_of_page(load: &Load, effort: Effort, folder: &Path, table: &mut Table) {
    const TURNS: usize = 3;
    let (path, bodies) = (format!("/rank/{}", load.model), load.requests(100, REQUESTS));
    let services = [true, false].map(|enabled| {
        let api = format!("api: {{host: 127.0.0.1, port: 0, page: {{enabled: {enabled}}}}}\n");
        Service::standalone(&format!("{}{api}", load.config), &load.events, folder)
    });
    keep_full(load, &services);
    evaluate(&services[0]);
    let mut turns = [const { Vec::new() }; 2];
    for _ in 0..TURNS {
        for (service, figures) in services.iter().zip(&mut turns) {
            figures.push(wrk::load(service.address(), service.pid(), &path, &bodies, 1, effort, folder));
        }
    }
    let [with, without] = turns.map(|figures| shown(wrk::median_of(&figures)));
    table.add("rank, 100 items, 1 connection, with the page", with, "as without it", format!("without {without}"));
    // requests have had the allocator give back what the start, and the evaluation, took for a while
    let [with, without] = services.each_ref().map(|service| process::memory(service.pid()).0);
    let measured = format!("{:.1} MB", with - without);
    table.add("resident memory, with the page less without", measured, "5 MB", format!("without {without:.0} MB"));
}

/// Has the page keep as many requests as it can, and show what it can about versions. Before other requests, because a sample that is
/// full takes one a second.
fn keep_full(load: &Load, services: &[Service; 2]) {
    const SAMPLED: usize = 100; // `api.page.sample`
    const SAMPLE_BYTES: usize = 3 << 20;
    let status = services[0].status();
    let ranks = |model: &Value| ["order", "learnedOrder"].iter().any(|purpose| model["purpose"] == *purpose);
    let models = status["models"].as_object().into_iter().flatten();
    let rankers: Vec<&String> = models.filter(|(_, model)| ranks(model)).map(|(name, _)| name).collect();
    let full = load.full_requests(SAMPLE_BYTES / rankers.len() / SAMPLED, SAMPLED + 1);
    for service in services {
        for model in &rankers {
            full.iter().for_each(|body| drop(service.post_text(&format!("/rank/{model}"), body).ok()));
        }
    }
    let page = &services[0];
    for path in ["/models".to_owned(), format!("/models/{}/features", load.model)] {
        page.get(&path).ok();
    }
}

/// Has the page evaluate all models, and keep their worst lists.
fn evaluate(page: &Service) {
    let evaluation = || page.get("/evaluation").ok().json();
    page.post_text("/evaluation", "{}").ok();
    page.until("evaluated", || evaluation()["running"].is_null());
    let last = evaluation()["last"].clone();
    assert!(last["report"].is_object(), "{}", last["problem"]);
}

/// Bytes of resident memory that an item of an open ranking takes, and those that the program counts.
fn memory_of_open_rankings(folder: &Path) -> (f64, f64) {
    const RANKINGS: usize = 300;
    const ITEMS: usize = 10_000;
    let features: String =
        (0..10).map(|of| format!("  - {{name: f{of}, type: number, field: item.f{of}}}\n")).collect();
    let bounds = "core: {clickthrough: {maxOpenBytes: 4294967296}}";
    let service = Service::serve(&format!("{bounds}\nfeatures:\n{features}models:\n  none: {{type: noop}}\n"), folder);
    let items: Vec<String> = (0..ITEMS).map(|item| format!(r#"{{"id":"item{item}"}}"#)).collect();
    let items = items.join(",");
    let show = |list: usize| {
        let list = format!(r#"{{"event":"ranking","id":"r{list}","timestamp":"1636907100000","items":[{items}]}}"#);
        service.post_text("/feedback", &list).ok();
    };
    let state = || {
        let status = service.status();
        let of = |name: &str| status["ingest"][name].as_f64().unwrap_or(f64::NAN);
        [process::memory(service.pid()).0 * 1e6, of("openRankingBytes"), of("openRankings")]
    };
    (0..10).for_each(show); // what a request takes for a while is taken by now
    let before = state();
    (10..10 + RANKINGS).for_each(show);
    let after = state();
    assert_eq!(after[2] - before[2], RANKINGS as f64, "all of them are open");
    let of = |part: usize| (after[part] - before[part]) / (RANKINGS * ITEMS) as f64;
    (of(0), of(1))
}

/// Seconds from the start to the first answer where a feature has a column for each of very many values.
fn start_with_many_values(folder: &Path) -> f64 {
    let values: Vec<String> = (0..100_000).map(|value| format!("value {value}")).collect();
    let feature = format!("{{name: v, type: string, field: item.v, encode: onehot, values: [{}]}}", values.join(", "));
    let model = "{type: lambdamart, weights: {click: 1}, features: [v]}";
    let began = Instant::now();
    let service = Service::serve(&format!("features:\n  - {feature}\nmodels:\n  m: {model}\n"), folder);
    service.post_text("/rank/m", r#"{"id":"r","timestamp":"1","items":[{"id":"a"}]}"#).ok();
    began.elapsed().as_secs_f64()
}

fn training(service: &Service, load: &Load, effort: Effort, first: &str, folder: &Path, table: &mut Table) {
    let library = crate::kernels::median_of("boosters", "train_lightgbm_as_many_rows_as_ranklens");
    let limit = library.map_or("-".to_owned(), |time| format!("LightGBM alone, 160 trees, as many rows: {time}"));
    let (seconds, trees) = trained(service, load, effort);
    let measured =
        format!("{seconds:.2} s, {trees} trees kept (at the start {:.2} s)", logged(first, "elapsed_ms") / 1e3);
    table.add("training, reading included", measured, "2.5 s for about 160 trees", limit.clone());
    let Some(config) = load.of_more_trees() else { return };
    let (seconds, trees) = trained(&Service::standalone(&config, &load.events, folder), load, effort);
    let measured = format!("{seconds:.2} s, {trees} trees kept, and 20 rounds to see that there is no better one");
    table.add("the same with another seed", measured, "2.5 s for about 160 trees", limit);
}

/// Median time of trainings in seconds, and the trees that each has kept.
fn trained(service: &Service, load: &Load, effort: Effort) -> (f64, f64) {
    let before = service.log().len();
    (0..effort.runs).for_each(|_| drop(service.train(load.model)));
    let log = service.log();
    let lines: Vec<&str> = log[before..].lines().filter(|line| line.contains(" trained ")).collect();
    let seconds = median(lines.iter().map(|line| logged(line, "elapsed_ms") / 1e3).collect());
    (seconds, lines.first().map_or(f64::NAN, |line| logged(line, "trees")))
}

/// A number in a line of the log.
fn logged(line: &str, name: &str) -> f64 {
    let value = line.split(' ').find_map(|field| field.strip_prefix(name)?.strip_prefix('='));
    value.and_then(|value| value.parse().ok()).unwrap_or(f64::NAN)
}

fn shown(figures: Figures) -> String {
    let Figures { p50, p99, rate, cpu } = figures;
    format!("p50 {p50:.2} ms, p99 {p99:.2} ms, {rate:.0} requests/s, {cpu:.3} ms CPU")
}

/// The server of `rankwright-serve`'s example `limit`.
struct Echo {
    child: Child,
    address: SocketAddr,
}

impl Echo {
    fn start() -> Self {
        let program =
            std::env::var_os("RANKWRIGHT_LIMIT").expect("RANKWRIGHT_LIMIT names the example: run ./run bench");
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let address = free.expect("there is a free port");
        let child = Command::new(program).arg(address.to_string()).stderr(Stdio::null()).spawn();
        let echo = Self { child: child.expect("the example can be started"), address };
        let began = Instant::now();
        while TcpStream::connect(address).is_err() {
            assert!(began.elapsed() < Duration::from_secs(30), "the example does not listen");
            std::thread::sleep(Duration::from_millis(10));
        }
        echo
    }

    fn load(&self, answer: usize, bodies: &[String], connections: usize, effort: Effort, folder: &Path) -> Figures {
        let path = format!("/?bytes={answer}");
        let answered = http::post(self.address, &path, b"x").expect("the example answers");
        assert_eq!(answered.ok().text.len(), answer);
        wrk::load(self.address, self.child.id(), &path, bodies, connections, effort, folder)
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
