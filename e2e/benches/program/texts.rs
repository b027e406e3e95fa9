//! Recommendations over HTTP, and an import whose items are encoded, beside the encoder alone.

use crate::process;
use crate::table::Table;
use crate::{Effort, median, wrk};
use rankwright_e2e::program::{self, models_for_tests};
use rankwright_e2e::{Launch, events};
use rankwright_encoder::{Encoder, FileNames, Files, Runtime, Settings};
use serde_json::json;
use std::path::Path;
use std::time::Instant;

/// Items of the shop, as many as the limits are wanted for.
const ITEMS: u32 = 100_000;

/// Items whose titles are encoded: `BENCH_ITEMS`, else a tenth of those that the limit is for, which takes the same for each.
fn encoded() -> usize {
    std::env::var("BENCH_ITEMS").ok().and_then(|items| items.parse().ok()).unwrap_or(10_000)
}

const RECOMMENDERS: &str = "
state: {type: memory}
models:
  similar: {type: als, interactions: [click, purchase], factors: 100, iterations: 5}
  popular: {type: trending, weights: [{interaction: click}]}
features: []
";

/// Fills the rows.
pub(crate) fn measure(effort: Effort, folder: &Path, table: &mut Table) {
    recommend(effort, folder, table);
    encode(effort, folder, table);
}

fn recommend(effort: Effort, folder: &Path, table: &mut Table) {
    let shop = folder.join("large shop");
    let (out, items) = (shop.to_string_lossy(), ITEMS.to_string());
    let size = ["--items", &items, "--users", "100000", "--rankings", "300000"];
    program::run(&[&["generate", "--out", &out], &size[..]].concat()).ok();
    let data = shop.join("events.jsonl.gz");
    let launch = Launch { subcommand: "standalone", config: RECOMMENDERS, data: Some(&data), folder, environment: &[] };
    let service = launch.start();
    let ask = |item: usize| json!({"count": 10, "items": [format!("p{item}")]}).to_string();
    let bodies: Vec<String> = (0..2000).map(|place| ask(1 + place * 37 % ITEMS as usize)).collect();
    for (model, bodies) in [("similar", bodies), ("popular", vec![r#"{"count": 10}"#.to_owned()])] {
        let path = format!("/recommend/{model}");
        let figures = wrk::load(service.address(), service.pid(), &path, &bodies, 8, effort, folder);
        let (p50, p99, rate) = (figures.p50, figures.p99, figures.rate);
        let measured = format!("p50 {p50:.2} ms, p99 {p99:.2} ms, {rate:.0} requests/s");
        let what = format!("/recommend/{model}, {ITEMS} items, 8 connections");
        table.add(&what, measured, "10,000 requests/s", "-".to_owned());
    }
}

fn encode(effort: Effort, folder: &Path, table: &mut Table) {
    let Some(models) = models_for_tests() else { return };
    let words = ["red", "running", "shoes", "waterproof", "hiking", "boots", "leather", "jacket", "wool", "shirt"];
    let word = |number: usize, place: u32| words[number / 10_usize.pow(place) % words.len()];
    let items = encoded();
    let places = (items.max(2) - 1).ilog10() + 1; // each title stands once: a model keeps what it computed
    let title = |number: usize| (0..places).map(|place| word(number, place)).collect::<Vec<_>>().join(" ");
    let titles: Vec<String> = (0..items).map(title).collect();
    let item = |(number, title): (usize, &String)| events::item(&format!("i{number}"), 1, &[("title", json!(title))]);
    let (data, first, config) = (folder.join("titles.jsonl"), folder.join("title.jsonl"), folder.join("titles.yml"));
    let lines: Vec<_> = titles.iter().enumerate().map(item).collect();
    std::fs::write(&data, events::lines(&lines)).expect("can be written");
    std::fs::write(&first, events::lines(&lines[..1])).expect("can be written");
    let method = "{type: bi-encoder, model: test/minilm-int8, dim: 384}";
    let feature =
        format!("{{name: f, type: field_match, rankingField: ranking.query, itemField: item.title, method: {method}}}");
    let model = "models:\n  m: {type: lambdamart, weights: {click: 1}, features: [f]}\n";
    std::fs::write(&config, format!("state: {{type: memory}}\nfeatures:\n  - {feature}\n{model}"))
        .expect("can be written");
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let import = |data: &Path| {
        let mut command = program::command(&["import"]);
        command.arg("--config").arg(&config).arg("--data").arg(data);
        let began = Instant::now();
        process::run(command);
        began.elapsed().as_secs_f64()
    };
    let (mut alone, mut together, mut imported, mut starts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..effort.runs {
        alone.push(items as f64 / encoding(&models, threads, 1, &titles));
        together.push(items as f64 / encoding(&models, threads, 8, &titles));
        let start = import(&first); // of an import of any size
        imported.push(items as f64 / (import(&data) - start));
        starts.push(start);
    }
    let (alone, together, imported, start) = (median(alone), median(together), median(imported), median(starts));
    let measured = format!("{imported:.0} items/s, {:.0} % of the encoder alone", 100.0 * imported / alone);
    table.add(
        &format!("import of {items} titles with a bi-encoder, after a start of {start:.1} s"),
        measured,
        "95 %",
        format!("encoder alone, a text at a time: {alone:.0} texts/s, 8 at a time: {together:.0}"),
    );
}

/// Seconds that an encoder takes for texts, `batch` at a time; features have each computed by itself.
fn encoding(models: &Path, threads: usize, batch: usize, texts: &[String]) -> f64 {
    let runtime = Runtime::open(models).expect("ONNX Runtime is there");
    let files = Files::of(&models.join("models/test/minilm-int8"), &FileNames::default()).expect("the model is there");
    let settings = Settings { threads, batch, ..Settings::default() };
    let encoder = Encoder::open(&runtime, &files, settings).expect("the model can be opened");
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let began = Instant::now();
    encoder.embed(&texts, None).expect("they are computed");
    began.elapsed().as_secs_f64()
}
