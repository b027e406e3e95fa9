//! Recommendations of a made-up shop, from events to answers.

use rankwright_e2e::program::command;
use rankwright_e2e::{Ended, Service, run};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

const CONFIG: &str = "
state: {type: file, path: ./state}
features: []
models:
  similar: {type: als, interactions: [click, purchase], factors: 32, iterations: 10}
  popular:
    type: trending
    weights: [{interaction: click, decay: 0.9, window: 7d}, {interaction: purchase, weight: 3, decay: 0.9, window: 7d}]
  untaken: {type: trending, weights: [{interaction: click}, {interaction: purchase}], excludeSeen: true}
  rank: {type: noop}
";

fn generate(out: &Path) -> std::path::PathBuf {
    let out = out.to_string_lossy().into_owned();
    run(&["generate", "--out", &out, "--items", "400", "--users", "600", "--rankings", "4000", "--days", "4"]).ok();
    Path::new(&out).join("events.jsonl.gz")
}

/// The events of the shop.
fn events(file: &Path) -> Vec<Value> {
    let mut text = String::new();
    let file = std::fs::File::open(file).expect("it was written");
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("it is gzip");
    text.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect()
}

fn recommend(service: &Service, model: &str, request: Value) -> Value {
    let answer = service.post(&format!("/recommend/{model}"), &request);
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

fn items(answer: &Value) -> Vec<String> {
    let items = answer["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(|item| item["item"].as_str().map(str::to_owned)).collect()
}

fn scores(answer: &Value) -> Vec<f64> {
    answer["items"].as_array().into_iter().flatten().filter_map(|item| item["score"].as_f64()).collect()
}

/// The newest hundred items that a visitor clicked or bought, the newest first.
fn taken<'a>(events: &'a [Value], user: &str) -> Vec<&'a str> {
    let took = |event: &&Value| event["user"] == user && ["click", "purchase"].iter().any(|of| event["type"] == *of);
    let time = |event: &Value| event["timestamp"].as_str().and_then(|time| time.parse::<i64>().ok());
    let mut taken: Vec<&Value> = events.iter().filter(took).collect();
    taken.sort_by_key(|event| std::cmp::Reverse(time(event)));
    let mut items: Vec<&str> = Vec::new();
    for item in taken.iter().filter_map(|event| event["item"].as_str()) {
        if !items.contains(&item) {
            items.push(item);
        }
    }
    items.truncate(100);
    items
}

/// How often each item was clicked, most often first; equal ones by name.
fn clicked(events: &[Value]) -> Vec<String> {
    let mut clicks = HashMap::<&str, usize>::new();
    let clicked = events.iter().filter(|event| event["type"] == "click").filter_map(|event| event["item"].as_str());
    clicked.for_each(|item| *clicks.entry(item).or_default() += 1);
    let mut order: Vec<_> = clicks.into_iter().collect();
    order.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(other.0)));
    order.into_iter().map(|(item, _)| item.to_owned()).collect()
}

#[test]
fn a_shop_recommends_similar_and_popular_items_whatever_is_asked() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let file = generate(&folder.path().join("shop"));
    let events = events(&file);
    let service = Service::standalone(CONFIG, &file, folder.path());
    let log = service.log();
    assert!(log.contains("HIT@10"), "{log}");
    let popular = clicked(&events);
    let known = popular[0].as_str();

    let answer = recommend(&service, "similar", json!({"count": 10, "items": [known]}));
    let similar = items(&answer);
    assert_eq!((similar.len(), &answer["fallback"]), (10, &Value::Null), "{answer}");
    assert!(!similar.iter().any(|item| item == known), "{answer}");
    assert!(scores(&answer).is_sorted_by(|one, next| one >= next) && scores(&answer)[0] <= 1.001, "{answer}");
    let category: HashMap<&str, &Value> = events
        .iter()
        .filter(|event| event["event"] == "item")
        .filter_map(|event| {
            let field = event["fields"].as_array()?.iter().find(|field| field["name"] == "category")?;
            Some((event["item"].as_str()?, &field["value"]))
        })
        .collect();
    let alike = |item: &str| {
        let answer = recommend(&service, "similar", json!({"count": 10, "items": [item]}));
        items(&answer).iter().filter(|other| category[other.as_str()] == category[item]).count()
    };
    let shared: usize = popular.iter().take(20).map(|item| alike(item)).sum();
    assert!(shared > 60, "of 200 similar items {shared} share the category, by chance it would be about 20");

    let answer = recommend(&service, "popular", json!({"count": 5}));
    let trend = items(&answer);
    assert!(
        trend.len() == 5 && trend.iter().all(|item| popular.iter().take(60).any(|other| other == item)),
        "{answer}"
    );
    let empty = recommend(&service, "popular", json!({"count": 5, "items": null, "exclude": null}));
    assert_eq!(empty["items"], recommend(&service, "popular", json!({"count": 5}))["items"], "null is nothing");
    let others = recommend(&service, "popular", json!({"count": 5, "items": [trend[0]], "exclude": [trend[1]]}));
    assert_eq!(items(&others)[..3], trend[2..], "{others}");

    for (request, why) in [
        (json!({"count": 3, "items": ["no such item"]}), "none of the items"),
        (json!({"count": 3, "items": []}), "no item"),
    ] {
        let answer = recommend(&service, "similar", request);
        assert_eq!(items(&answer), trend[..3], "{answer}");
        let fallback = answer["fallback"].as_str().unwrap_or_default();
        assert!(fallback.contains(why) && fallback.contains("model popular answers in its place"), "{answer}");
    }
    let all = recommend(&service, "similar", json!({"count": 1_000_000, "items": [known]}));
    let told = all["fallback"].as_str().unwrap_or_default();
    assert!(items(&all).len() > 200 && told.starts_with("the model has only "), "as many as there are, {told}");
    let cart = recommend(&service, "similar", json!({"count": 10, "items": [known, popular[1], "no such item"]}));
    assert!(items(&cart).len() == 10 && cart["fallback"].is_null(), "{cart}");

    let metrics = service.metrics();
    assert!(metrics.contains("service_recommend_fallbacks_total{model=\"similar\",reason=\"unknown\"} 2"), "{metrics}");
    let status = service.status();
    assert_eq!(status["models"]["similar"]["state"], "loaded", "{status}");
    assert!(status["models"]["similar"]["metrics"]["HIT@10"].as_f64() > Some(0.0), "{status}");
    let trained = service.post_text("/train/popular", "");
    assert_eq!(trained.status, 200, "{}", trained.text);
}

#[test]
fn what_a_visitor_took_is_not_recommended_and_comes_back_when_the_visitor_is_forgotten() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let file = generate(&folder.path().join("shop"));
    let events = events(&file);
    let mut takers: Vec<&str> =
        events.iter().filter(|event| event["type"] == "click").filter_map(|event| event["user"].as_str()).collect();
    takers.sort_unstable();
    takers.dedup();
    let ann = *takers.iter().max_by_key(|user| taken(&events, user).len()).expect("somebody clicked");
    let mine = taken(&events, ann);
    assert!(mine.len() > 3, "{ann} took {mine:?}");
    let service = Service::standalone(CONFIG, &file, folder.path());
    let all = items(&recommend(&service, "untaken", json!({"count": 400})));
    assert!(mine.iter().all(|item| all.iter().any(|known| known == item)), "all of them could be recommended");
    let ask =
        |service: &Service, user: &str| items(&recommend(service, "untaken", json!({"count": 400, "user": user})));
    let expected: Vec<&String> = all.iter().filter(|item| !mine.contains(&item.as_str())).collect();
    assert_eq!(ask(&service, ann).iter().collect::<Vec<_>>(), expected);
    assert_eq!(ask(&service, "nobody"), all);
    let ten = recommend(&service, "untaken", json!({"count": 10, "user": ann}));
    assert_eq!(items(&ten).len(), 10, "others take their places");
    let first = expected[0].as_str();
    let click = json!({"event": "interaction", "id": "late", "timestamp": events.last().expect("some")["timestamp"], "user": ann, "session": "s", "type": "click", "item": first, "fields": []});
    service.feedback(&[click]);
    assert_eq!(ask(&service, ann).iter().collect::<Vec<_>>(), expected[1..], "it counts at once");
    service.kill();
    std::fs::write(folder.path().join("forget.yml"), CONFIG).expect("can be written");
    let mut forget = command(&["forget", "--config", "forget.yml", "--user", ann]);
    Ended::of(forget.current_dir(folder.path())).ok();
    let service = Service::serve(CONFIG, folder.path());
    assert_eq!(ask(&service, ann), all);
}

#[test]
fn nothing_to_learn_from_is_told() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let file = folder.path().join("events.jsonl");
    let item = json!({"event": "item", "id": "e", "timestamp": "1636907100000", "item": "a", "fields": []});
    std::fs::write(&file, format!("{item}\n")).expect("can be written");
    let service = Service::standalone(CONFIG, &file, folder.path());
    let answer = recommend(&service, "similar", json!({"count": 3, "items": ["a"]}));
    assert_eq!(answer["items"], json!([]));
    assert!(answer["fallback"].as_str().is_some_and(|why| why.contains("not trained")), "{answer}");
    let refused = service.post_text("/train/similar", "");
    assert!(refused.status == 409 && refused.text.contains("no click-throughs are stored"), "{}", refused.text);
}
