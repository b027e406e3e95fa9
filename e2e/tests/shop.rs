//! The made-up shop from events to rankings, as the quickstart does it.

use rankwright_e2e::events::{self, click, feature, order, ranking};
use rankwright_e2e::quality::of_log;
use rankwright_e2e::{Service, http, run};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("there is room for temporary files")
}

fn generate(out: &Path, more: &[&str]) {
    let out = out.to_string_lossy();
    let usual = [("--items", "400"), ("--users", "300"), ("--rankings", "3000"), ("--days", "4")];
    let usual = usual.iter().filter(|(name, _)| !more.contains(name)).flat_map(|(name, value)| [*name, *value]);
    let options: Vec<&str> = ["generate", "--out", &out].into_iter().chain(usual).chain(more.iter().copied()).collect();
    run(&options).ok();
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The configuration that came with a shop, which leaves the port to the harness.
fn configuration(shop: &Path) -> String {
    let text = String::from_utf8(read(&shop.join("config.yml"))).expect("the configuration is text");
    let api =
        |line: &str| if line.trim_start().starts_with("port:") { line.replace("8080", "0") } else { line.to_owned() };
    text.lines().map(|line| api(line) + "\n").collect()
}

#[test]
fn the_same_seed_gives_the_same_files_and_another_one_others() {
    let folder = folder();
    let [one, same, other] = ["one", "same", "other"].map(|name| folder.path().join(name));
    generate(&one, &["--seed", "5"]);
    generate(&same, &["--seed", "5"]);
    generate(&other, &["--seed", "6"]);
    for file in ["events.jsonl.gz", "terms.dict", "request.txt"] {
        assert!(read(&one.join(file)) == read(&same.join(file)), "{file} differs");
    }
    let named = |folder: &Path| configuration(folder).replace(&*folder.to_string_lossy(), "FOLDER");
    assert_eq!(named(&one), named(&same), "but for where the dictionary lies");
    assert!(read(&one.join("events.jsonl.gz")) != read(&other.join("events.jsonl.gz")));
}

#[test]
fn events_in_another_form_that_an_import_would_read_as_well_are_told() {
    let folder = folder();
    let out = folder.path().to_string_lossy().into_owned();
    let generated = |more: &[&str]| {
        let few = ["generate", "--out", &out, "--items", "50", "--users", "20", "--rankings", "20"];
        run(&[&few[..], more].concat()).ok().stderr
    };
    assert!(!generated(&[]).contains("reads"), "nothing was there");
    let told = generated(&["--plain"]);
    assert!(told.contains("events.jsonl.gz as well, which was there before: remove it"), "{told}");
    assert!(generated(&[]).contains("events.jsonl as well"), "nor is it taken away by itself");
}

#[test]
fn a_model_beats_the_order_that_the_shop_showed_and_answers_its_request() {
    let folder = folder();
    let shop = folder.path().join("shop");
    generate(&shop, &[]);
    let service = Service::standalone(&configuration(&shop), &shop.join("events.jsonl.gz"), folder.path());
    let log = service.log();
    let quality = of_log(&log);
    for model in ["lightgbm", "xgboost"] {
        let quality = quality.iter().find(|quality| quality.model == model).unwrap_or_else(|| panic!("{log}"));
        println!("{quality:?}");
        assert!(quality.as_served.unwrap_or(quality.reranked) > quality.shown + 0.05, "{quality:?}");
    }
    assert!(!log.contains("WARN"), "nothing to warn of in our own data:\n{log}");
    let request: Value = serde_json::from_slice(&read(&shop.join("request.txt"))).expect("the request is JSON");
    for model in ["lightgbm", "xgboost"] {
        let answer = service.rank(model, &request);
        assert_eq!(answer["fallback"], Value::Null, "{answer}");
        let (mut ranked, mut asked) = (order(&answer), items(&request));
        assert_ne!(ranked, asked, "the model changed nothing");
        let scores: Vec<f64> =
            answer["items"].as_array().into_iter().flatten().filter_map(|item| item["score"].as_f64()).collect();
        assert!(scores.len() == asked.len() && scores.is_sorted_by(|one, next| one >= next), "{scores:?}");
        ranked.sort_unstable();
        asked.sort_unstable();
        assert_eq!(ranked, asked);
    }
}

/// Models that know nothing of items but what is said of them, without and with what titles have in common with queries.
const TEXTS: &str = "
models:
  plain: {type: lambdamart, backend: &backend {type: lightgbm, seed: 0}, weights: &weights {click: 1}, features: [price, rating, discount]}
  text: {type: lambdamart, backend: *backend, weights: *weights, features: [price, rating, discount, terms, weighed]}
features:
  - {name: price, type: number, field: item.price}
  - {name: rating, type: number, field: item.rating}
  - {name: discount, type: number, field: item.discount}
  - {name: terms, type: field_match, rankingField: ranking.query, itemField: item.title, method: {type: term, language: en}}
  - {name: weighed, type: field_match, rankingField: ranking.query, itemField: item.title, method: {type: bm25, language: english, termFreq: terms.json}}
";

#[test]
fn what_titles_have_in_common_with_queries_makes_a_model_better() {
    let folder = folder();
    let (shop, terms) = (folder.path().join("shop"), folder.path().join("terms.json"));
    generate(&shop, &[]);
    let (data, out) = (shop.join("events.jsonl.gz"), terms.to_string_lossy());
    let options = ["--data", &data.to_string_lossy(), "--fields", "title", "--language", "en", "--out", &out];
    let counted = run(&[&["termfreq"][..], &options].concat()).ok();
    assert!(terms.exists(), "{}", counted.stderr);
    let service = Service::standalone(TEXTS, &data, folder.path());
    let quality = of_log(&service.log());
    let of = |model: &str| quality.iter().find(|quality| quality.model == model).map(|quality| quality.reranked);
    let (plain, text) = (of("plain").expect("it is trained"), of("text").expect("it is trained"));
    // list by list, of the newest fifth, which no model has learned from; these features stay as they are
    let events = events_of(&data);
    let shown = shown_with_clicks(&events);
    let newest = &shown[shown.len() - shown.len() / 5..];
    let differences: Vec<f64> = newest
        .iter()
        .map(|(request, clicked)| {
            let ndcg = |model| ndcg_at_10(&order(&service.rank(model, request)), clicked);
            ndcg("text") - ndcg("plain")
        })
        .collect();
    let (mean, margin) = mean_with_margin(&differences);
    println!(
        "NDCG@10 without texts {plain}, with them {text}; {mean:.4} +- {margin:.4} more in {} lists",
        newest.len()
    );
    assert!(text > plain + 0.01 && mean - margin > 0.0, "{plain} {text} {mean} +- {margin}");
    // an exact title has all terms in common
    let item = events.iter().find(|event| event["event"] == "item").expect("there are items");
    let title = item["fields"].as_array().and_then(|fields| fields.iter().find(|field| field["name"] == "title"));
    let title = title.map(|field| field["value"].clone()).expect("it has a title");
    let mut request = ranking("list", 400_000, "u", &[item["item"].as_str().expect("it has an id"), "unknown"]);
    request["fields"] = json!([{"name": "query", "value": title}]);
    let answer = service.post("/rank/text?explain=true", &request).json();
    let id = item["item"].as_str().unwrap_or_default();
    assert_eq!(feature(&answer, id, "terms"), 1.0, "{answer}");
    assert!(
        feature(&answer, id, "weighed").as_f64() > Some(0.0) && feature(&answer, "unknown", "weighed").is_null(),
        "{answer}"
    );
}

/// Rankings with the items that were clicked in them, where any was, in the order of time.
fn shown_with_clicks(events: &[Value]) -> Vec<(&Value, HashSet<&str>)> {
    let mut clicked: HashMap<&str, HashSet<&str>> = HashMap::new();
    for click in events.iter().filter(|event| event["type"] == "click") {
        let (Some(ranking), Some(item)) = (click["ranking"].as_str(), click["item"].as_str()) else { continue };
        clicked.entry(ranking).or_default().insert(item);
    }
    let rankings = events.iter().filter(|event| event["event"] == "ranking");
    rankings.filter_map(|ranking| Some((ranking, clicked.remove(ranking["id"].as_str()?)?))).collect()
}

fn ndcg_at_10(order: &[String], clicked: &HashSet<&str>) -> f64 {
    let gain = |place: usize| 1.0 / (place as f64 + 2.0).log2();
    let ideal: f64 = (0..clicked.len().min(10)).map(gain).sum();
    let found = order.iter().take(10).enumerate().filter(|(_, item)| clicked.contains(item.as_str()));
    found.map(|(place, _)| gain(place)).sum::<f64>() / ideal
}

/// The mean of paired differences, and half of its 95 % interval.
fn mean_with_margin(differences: &[f64]) -> (f64, f64) {
    let count = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / count;
    let variance = differences.iter().map(|difference| (difference - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, 1.96 * (variance / count).sqrt())
}

fn events_of(file: &Path) -> Vec<Value> {
    let mut text = String::new();
    let file = std::fs::File::open(file).expect("it was written");
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("it is gzip");
    text.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect()
}

#[test]
fn the_same_events_give_the_same_scores_to_the_last_bit() {
    let folder = folder();
    let shop = folder.path().join("shop");
    generate(&shop, &["--rankings", "1000"]);
    let request: Value = serde_json::from_slice(&read(&shop.join("request.txt"))).expect("the request is JSON");
    let answers = [0, 1].map(|_| {
        let service = Service::standalone(&configuration(&shop), &shop.join("events.jsonl.gz"), folder.path());
        ["lightgbm", "xgboost"].map(|model| service.rank(model, &request)["items"].to_string())
    });
    assert_eq!(answers[0], answers[1]);
}

fn items(request: &Value) -> Vec<String> {
    let items = request["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(|item| item["id"].as_str().map(str::to_owned)).collect()
}

const RATES: &str = r"
core: {clickthrough: {maxSessionLength: 10s}}
models:
  m:
    type: lambdamart
    backend: {type: xgboost, iterations: 20, seed: 0}
    weights: {click: 1}
    features: [ctr]
  similar: {type: als, interactions: [click]}
  plain: {type: noop}
features:
  - {name: ctr, type: rate, top: click, bottom: impression, bucket: 1d, periods: [7], scope: item}
";

const SHELF: [&str; 5] = ["a", "b", "c", "d", "e"];

/// Lists of the whole shelf, thirty seconds apart, each with a click on one item.
fn clicks_on(item: &str, lists: std::ops::Range<i64>) -> Vec<Value> {
    let list = |list: i64| {
        let (id, at, mut shelf) = (format!("r{list}"), list * 30, SHELF);
        shelf.rotate_left(list as usize % SHELF.len());
        [ranking(&id, at, "u", &shelf), click(&format!("c{list}"), at + 5, &id, "u", item)]
    };
    lists.flat_map(list).collect()
}

#[test]
fn an_item_that_visitors_click_rises_after_training_again() {
    let folder = folder();
    let service = untrained(folder.path());
    let request = ranking("q", 100_000, "u", &SHELF);
    let untrained = service.post("/rank/m", &request).ok().json();
    assert_eq!(order(&untrained), SHELF, "without a model the order stays");
    assert!(untrained["fallback"].is_string(), "{untrained}");
    let refused = service.post_text("/train/m", "");
    assert_eq!((refused.status, refused.refusal().0.as_str()), (409, "cannot_train"), "{}", refused.text);

    service.feedback(&clicks_on("c", 0..60));
    service.feedback(&[events::item("f", 50_000, &[])]);
    service.settle();
    let trained = service.train("m");
    assert_eq!(trained["features"][0]["name"], "ctr", "{trained}");
    assert!(trained["sizeBytes"].as_u64().is_some_and(|bytes| bytes > 0), "{trained}");
    assert!(trained["iterations"].as_array().is_some_and(|iterations| !iterations.is_empty()), "{trained}");
    let answer = service.rank("m", &request);
    assert_eq!(order(&answer)[0], "c", "{answer}");
    assert_eq!(feature(&answer, "a", "ctr"), &Value::Null, "never clicked");
    assert!(feature(&answer, "c", "ctr").as_f64().is_some_and(|rate| rate == 1.0), "{answer}");
}

/// A service without training data, for its interface.
fn untrained(folder: &Path) -> Service {
    Service::serve(RATES, folder)
}

#[test]
fn metrics_have_their_names_and_summaries_six_quantiles() {
    let folder = folder();
    let service = untrained(folder.path());
    service.feedback(&[events::item("a", 0, &[]), events::item("b", 0, &[])]);
    for _ in 0..3 {
        service.post("/rank/plain", &ranking("q", 1, "u", &["a"])).ok();
    }
    let metrics = service.metrics();
    let value = |name: &str| -> f64 {
        let line = metrics.lines().find(|line| line.starts_with(name) && !line.starts_with('#'));
        let value = line.and_then(|line| line.rsplit(' ').next()?.parse().ok());
        value.unwrap_or_else(|| panic!("no {name} in\n{metrics}"))
    };
    assert_eq!(value("service_feedback_events_total "), 2.0);
    assert_eq!(value("service_rank_requests_total{model=\"plain\"}"), 3.0);
    for quantile in ["0.5", "0.8", "0.9", "0.95", "0.98", "0.99"] {
        let name = format!("service_rank_latency_seconds{{model=\"plain\",quantile=\"{quantile}\"}}");
        assert!((1e-7..10.0).contains(&value(&name)), "{name}:\n{metrics}");
    }
    assert!(metrics.contains("# TYPE service_rank_latency_seconds summary"), "{metrics}");
    assert!(value("process_resident_memory_bytes ") > 1e6);
}

#[test]
fn a_ranker_does_not_recommend_and_says_what_it_is() {
    let folder = folder();
    let service = untrained(folder.path());
    let answer = service.post("/recommend/plain", &json!({"count": 3, "items": ["a"]}));
    let (code, message, _) = answer.refusal();
    assert_eq!((answer.status, code.as_str()), (404, "wrong_model_type"));
    assert!(message.contains("noop"), "{message}");
    let answer = service.post("/recommend/m", &json!({"count": 3, "items": ["a"]}));
    assert!(answer.status == 404 && answer.refusal().1.contains("lambdamart"), "{}", answer.text);
}

#[test]
fn a_running_request_is_finished_when_the_service_is_told_to_stop() {
    let folder = folder();
    let service = untrained(folder.path());
    let body = ranking("q", 1, "u", &["a", "b"]).to_string();
    let request = http::request("POST", "/rank/plain", body.as_bytes());
    let (head, _) = request.split_at(request.len() - body.len() - 2);
    let mut running = TcpStream::connect(service.address()).expect("the service listens");
    running.write_all(&[head, b"expect: 100-continue\r\n\r\n"].concat()).expect("the service reads");
    let mut asked_for_more = [0; 25];
    running.read_exact(&mut asked_for_more).expect("the service works on the request, and wants its body");
    assert_eq!(&asked_for_more, b"HTTP/1.1 100 Continue\r\n\r\n");
    service.terminate();
    service.wait_until_closed();
    running.write_all(body.as_bytes()).expect("the service still reads");
    let mut answer = String::new();
    running.read_to_string(&mut answer).expect("the answer comes");
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"item\":\"a\""), "{answer}");
    assert_eq!(service.wait(), Some(0));
}
