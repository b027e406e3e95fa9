//! Items with similar texts, from events or a file to answers, in the program as users start it.

use rankwright_e2e::events::{click, item, lines, ranking};
use rankwright_e2e::program::models_for_tests;
use rankwright_e2e::{Launch, Service, run};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const OF_FILE: &str = "
state: {type: file, path: ./state}
features: []
models:
  alike: {type: semantic, encoder: {type: csv, dim: 2, path: ./embeddings.csv}}
  popular: {type: trending, weights: [{interaction: click}]}
";

const OF_TEXTS: &str = "
state: {type: file, path: ./state}
core: {clickthrough: {maxSessionLength: 10s}}
features: []
models:
  alike: {type: semantic, encoder: {type: bert, model: test/minilm-int8, dim: 384}, itemFields: [title, text]}
";

fn written(folder: &Path, events: &[Value]) -> PathBuf {
    let file = folder.join("events.jsonl");
    std::fs::write(&file, lines(events)).expect("can be written");
    file
}

fn recommend(service: &Service, request: Value) -> Value {
    let answer = service.post("/recommend/alike", &request);
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

fn items(answer: &Value) -> Vec<String> {
    let items = answer["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(|item| item["item"].as_str().map(str::to_owned)).collect()
}

#[test]
fn a_file_of_embeddings_says_which_items_are_alike() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let embeddings = folder.path().join("embeddings.csv");
    std::fs::write(&embeddings, "north,0,1\nnortheast,1,1.2\neast,2,0\nsouth,0,-1\n\"west, far\",-3,0\n")
        .expect("can be written");
    let events = [ranking("r", 0, "u", &["south", "north"]), click("c", 1, "r", "u", "south")];
    let file = written(folder.path(), &events);
    let service = Service::standalone(OF_FILE, &file, folder.path());
    let ask = |request: Value| recommend(&service, request);

    let one = ask(json!({"count": 2, "items": ["north"]}));
    assert_eq!(
        (items(&one), &one["fallback"]),
        (vec!["northeast".to_owned(), "east".to_owned()], &Value::Null),
        "equal ones by name"
    );
    assert!((one["items"][0]["score"].as_f64().unwrap_or_default() - 0.768).abs() < 0.001, "the cosine, {one}");
    let cart = ask(json!({"count": 1, "items": ["north", "east", "nothing known"]}));
    assert_eq!(items(&cart), ["northeast"], "the mean of both");
    assert!((cart["items"][0]["score"].as_f64().unwrap_or_default() - 0.996).abs() < 0.001, "{cart}");
    assert_eq!(items(&ask(json!({"count": 1, "items": ["north"], "exclude": ["northeast"]}))), ["east"]);
    assert_eq!(items(&ask(json!({"count": 100, "items": ["north"]}))).len(), 4, "as many as there are");
    for (request, why) in [
        (json!({"count": 3, "items": ["no such item"]}), "none of the items"),
        (json!({"count": 3}), "no item"),
        (json!({"count": 3, "items": ["north", "south"]}), "nothing in common"),
    ] {
        let answer = ask(request);
        let fallback = answer["fallback"].as_str().unwrap_or_default();
        assert!(fallback.contains(why) && fallback.contains("model popular answers in its place"), "{answer}");
    }
    let status = service.status();
    let first = status["models"]["alike"]["version"].as_str().unwrap_or_default().to_owned();
    assert!(!first.is_empty() && status["models"]["alike"]["metrics"]["RECALL@10"] == 1.0, "{status}");

    std::fs::write(&embeddings, "north,0,1\neast,0.1,1,7\n").expect("can be written");
    let failed = service.post_text("/train/alike", "");
    assert!(failed.status == 500 && failed.text.contains("line 2: 4 fields where 3 are expected"), "{}", failed.text);
    assert_eq!(service.status()["models"]["alike"]["version"], first, "the running one stays");
    std::fs::write(&embeddings, "north,0,1\neast,0.1,1\n").expect("can be written");
    service.train("alike");
    assert_eq!(items(&ask(json!({"count": 9, "items": ["north"]}))), ["east", "south"], "the second one is popular");
    assert_ne!(service.status()["models"]["alike"]["version"], first);
}

#[test]
fn what_embeds_is_looked_for_before_anything_is_imported() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let file = written(folder.path(), &[item("a", 0, &[])]);
    let config = folder.path().join("config.yml");
    let refused = |text: &str| {
        let state = format!("path: {}/state", folder.path().display());
        let text = text.replace("path: ./state", &state);
        std::fs::write(&config, text).expect("can be written");
        run(&["standalone", "--config", &config.to_string_lossy(), "--data", &file.to_string_lossy()]).refused().stderr
    };
    let told = refused(&OF_FILE.replace("./embeddings.csv", "/nowhere/e.csv"));
    assert!(told.contains("models.alike.encoder.path: failed to read the embeddings /nowhere/e.csv"), "{told}");
}

#[test]
fn titles_that_mean_alike_are_recommended_and_a_new_item_from_the_next_training_on() {
    let Some(_) = models_for_tests() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let title = |text: &str| [("title", json!(text))];
    let events = [
        item("boots", 0, &title("waterproof boots for the mountains")),
        item("shoes", 0, &[("text", json!("light shoes")), ("title", json!("hiking"))]),
        item("mixer", 0, &title("kitchen mixer with three bowls")),
        item("spoon", 0, &title("a wooden spoon to stir dough")),
        item("untitled", 0, &[("title", json!(7))]),
    ];
    let data = written(folder.path(), &events);
    let cache = folder.path().join("cache").display().to_string();
    let environment = [("RANKWRIGHT_ENCODERS_CACHE", cache.as_str())];
    let launch = Launch {
        subcommand: "standalone",
        config: OF_TEXTS,
        data: Some(&data),
        folder: folder.path(),
        environment: &environment,
    };
    let service = launch.start();
    let first = |item: &str| items(&recommend(&service, json!({"count": 1, "items": [item]})));
    assert_eq!((first("boots"), first("mixer")), (vec!["shoes".to_owned()], vec!["spoon".to_owned()]));
    assert_eq!(items(&recommend(&service, json!({"count": 9, "items": ["boots"]}))).len(), 3, "one has no text");
    for unknown in ["untitled", "no such item"] {
        let answer = recommend(&service, json!({"count": 1, "items": [unknown]}));
        assert!(answer["items"] == json!([]) && answer["fallback"].is_string(), "{answer}");
    }
    assert!(service.log().contains("items without a text"), "{}", service.log());

    service.feedback(&[item("sandals", 60, &title("open boots for walks in the mountains"))]);
    service.settle();
    service.train("alike");
    assert_eq!(first("boots"), ["sandals"]);
}

#[test]
fn texts_that_were_imported_without_the_model_are_not_there_for_it() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let (config, state) = (folder.path().join("config.yml"), folder.path().join("state").display().to_string());
    let file = written(folder.path(), &[item("a", 0, &[("title", json!("boots"))])]);
    let (config, file) = (config.to_string_lossy().into_owned(), file.to_string_lossy().into_owned());
    let before = format!("state: {{type: file, path: '{state}'}}\nfeatures: []\nmodels: {{m: {{type: noop}}}}\n");
    std::fs::write(&config, before).expect("can be written");
    run(&["import", "--config", &config, "--data", &file]).ok();
    std::fs::write(&config, OF_TEXTS.replace("./state", &state)).expect("can be written");
    let ended = run(&["train", "--config", &config]).refused();
    assert!(ended.stderr.contains("no item in the state has a text in title or text"), "{}", ended.stderr);
}
