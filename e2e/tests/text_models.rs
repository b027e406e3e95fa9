//! Features and endpoints that compute with models of texts, in the program as users start it.

use rankwright_e2e::events::{click, feature, item, lines, ranking};
use rankwright_e2e::program::{self, models_for_tests};
use rankwright_e2e::redis::Redis;
use rankwright_e2e::{Ended, Launch, Service};
use rankwright_object::{Runner, Settings};
use serde_json::{Value, json};
use std::path::Path;

/// The machine has other things to do: there is more time for texts than by default.
const CONFIG: &str = "
api: {host: 127.0.0.1, port: 0, limits: {textTimeout: 2m, requestTimeout: 2m}}
state: {type: file, path: ./state}
features:
  - name: meaning
    type: field_match
    rankingField: ranking.query
    itemField: item.title
    method: {type: bi-encoder, model: test/minilm-int8, dim: 384}
models:
  m: {type: lambdamart, weights: {click: 1}, features: [meaning]}
inference:
  words: {type: bi-encoder, model: test/minilm-int8, dim: 384}
";

#[test]
fn titles_are_compared_with_queries_by_their_meaning() {
    let Some(_) = models_for_tests() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let title = |text: &str| [("title", json!(text))];
    let events = [
        item("boots", 0, &title("waterproof boots for the mountains")),
        item("mixer", 0, &title("kitchen mixer with three bowls")),
        item("untitled", 0, &[]),
    ];
    let data = folder.path().join("events.jsonl");
    std::fs::write(&data, lines(&events)).expect("can be written");
    let cache = folder.path().join("cache").display().to_string();
    let environment = [("RANKWRIGHT_ENCODERS_CACHE", cache.as_str())];
    let launch = Launch {
        subcommand: "standalone",
        config: CONFIG,
        data: Some(&data),
        folder: folder.path(),
        environment: &environment,
    };
    let service = launch.start();
    let ask = |query: &str| {
        let mut request = ranking("list", 60, "u", &["mixer", "boots", "untitled"]);
        request["fields"] = json!([{"name": "query", "value": query}]);
        service.post("/rank/m?explain=true", &request).json()
    };
    let of = |answer: &Value, item: &str| feature(answer, item, "meaning").as_f64();
    let hiking = ask("shoes for hiking");
    assert!(of(&hiking, "boots") > of(&hiking, "mixer"), "{hiking}");
    let baking = ask("a machine that stirs dough");
    assert!(of(&baking, "mixer") > of(&baking, "boots"), "{baking}");
    assert_eq!(of(&hiking, "untitled"), None, "{hiking}");
    // the same text has the same vector, which is stored in a byte for each number
    let same = of(&ask("kitchen mixer with three bowls"), "mixer").expect("it has both");
    assert!((same - 1.0).abs() < 0.01, "{same}");

    let texts = json!({"texts": ["kitchen mixer with three bowls", "boots"]});
    let answer = service.post("/inference/encoder/words", &texts).json();
    let embedding = answer["embeddings"][1].as_array().map(Vec::len);
    assert_eq!(embedding, Some(384), "{answer}");
    let told = json!({"type": "bi-encoder", "dim": 384});
    assert_eq!(service.status()["textModels"], json!({"test/minilm-int8": told}));
}

#[test]
fn a_model_that_is_not_there_is_told_with_its_place() {
    let Some(_) = models_for_tests() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let config = folder.path().join("config.yml");
    std::fs::write(&config, CONFIG.replace("minilm-int8", "no-such-model")).expect("can be written");
    let mut command = program::command(&["serve", "--config", &config.to_string_lossy()]);
    command.current_dir(folder.path()).env("RANKWRIGHT_ENCODERS_CACHE", folder.path().join("cache"));
    let refused = Ended::of(&mut command).refused().stderr;
    assert!(refused.contains("features[0].method.model") && refused.contains("test/no-such-model"), "{refused}");
}

#[test]
fn a_program_without_onnx_runtime_says_where_it_was_looked_for() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let path = folder.path().join("config.yml");
    std::fs::write(&path, CONFIG).expect("can be written");
    let mut command = program::command(&["serve", "--config", &path.to_string_lossy()]);
    command.current_dir(folder.path()).env("RANKWRIGHT_ENCODERS_CACHE", folder.path());
    let refused = Ended::of(command.env("RANKWRIGHT_ONNXRUNTIME", "/nowhere")).refused().stderr;
    assert!(refused.contains("features[0].method.model") && refused.contains("/nowhere"), "{refused}");
}

#[test]
fn an_import_into_an_empty_redis_opens_a_text_model_once() {
    let (Some(redis), Some(_)) = (Redis::for_tests(), models_for_tests()) else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let (config, data) = (folder.path().join("config.yml"), folder.path().join("events.jsonl"));
    let state = format!("state: {{type: redis, {}}}\ntrain: {{type: discard}}", redis.patient());
    std::fs::write(&config, CONFIG.replace("state: {type: file, path: ./state}", &state)).expect("can be written");
    std::fs::write(&data, lines(&[item("a", 0, &[("title", json!("boots"))])])).expect("can be written");
    let arguments = ["import", "--config", &config.to_string_lossy(), "--data", &data.to_string_lossy()];
    let mut command = program::command(&arguments);
    command.current_dir(folder.path()).env("RANKWRIGHT_ENCODERS_CACHE", folder.path());
    let log = Ended::of(command.env("RANKWRIGHT_SERVICE", redis.own_service("texts"))).ok().stderr;
    assert!(log.contains("the new state is live"), "{log}");
    assert_eq!(log.matches("opened a text model").count(), 1, "{log}");
}

#[test]
fn a_visitor_is_forgotten_and_other_models_are_trained_where_a_text_model_or_a_file_is_not_there() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let (config, data) = (folder.path().join("config.yml"), folder.path().join("events.jsonl"));
    let with = |features: &str, models: &str| {
        let config_text = format!(
            "
state: {{type: file, path: ./state}}
features:
  - {{name: price, type: number, scope: item, field: item.price}}
{features}models:
  popular: {{type: trending, weights: [{{interaction: click}}]}}
{models}"
        );
        std::fs::write(&config, config_text).expect("can be written");
    };
    let mut events = vec![item("a", 0, &[("price", json!(1))]), item("b", 0, &[("price", json!(2))])];
    for list in 0..5 {
        let (id, click_id, at) = (format!("r{list}"), format!("c{list}"), 60 + list * 60);
        events.push(ranking(&id, at, "u", &["a", "b"]));
        events.push(click(&click_id, at + 1, &id, "u", "a"));
    }
    std::fs::write(&data, lines(&events)).expect("can be written");
    let run = |arguments: &[&str]| {
        let config = config.to_string_lossy();
        let mut command = program::command(&[arguments, &["--config", &*config][..]].concat());
        command.current_dir(folder.path()).env("RANKWRIGHT_ENCODERS_CACHE", folder.path().join("cache"));
        Ended::of(command.env("RANKWRIGHT_OFFLINE", "true"))
    };
    with("", "");
    run(&["import", "--data", &data.to_string_lossy()]).ok();
    let cases = [
        ("bi-encoder, model: test/none, dim: 3", "features[1].method.model", "test/none"),
        ("bm25, language: en, termFreq: gone.json", "feature 'f1'", "gone.json"),
        ("bi-encoder, dim: 3, itemFieldCache: items.csv, rankingFieldCache: x.csv", "feature 'f2'", "items.csv"),
        ("cross-encoder, cache: pairs.csv", "feature 'f3'", "pairs.csv"),
    ];
    let (mut features, mut models) = (String::new(), String::new());
    for (index, (method, ..)) in cases.iter().enumerate() {
        let fields = "rankingField: ranking.query, itemField: item.title";
        features += &format!("  - {{name: f{index}, type: field_match, {fields}, method: {{type: {method}}}}}\n");
        models += &format!("  m{index}: {{type: lambdamart, weights: {{click: 1}}, features: [f{index}]}}\n");
    }
    with(&features, &models);
    for (index, (_, place, name)) in cases.iter().enumerate() {
        let refused = run(&["train", "--model", &format!("m{index}")]).refused().stderr;
        assert!(refused.contains(place) && refused.contains(name), "{refused}");
    }
    run(&["train", "--model", "popular"]).ok();
    run(&["forget", "--user", "u"]).ok();
    let nothing = run(&["train", "--model", "popular"]).refused().stderr;
    assert!(nothing.contains("popular"), "{nothing}");
}

/// A bucket of our own with files under these keys.
fn bucket_with(files: &[(&str, &Path)]) -> Option<Settings> {
    let settings = rankwright_object::testing::own_bucket()?;
    let runner = Runner::start().expect("there is room for a thread");
    for (key, path) in files {
        let (settings, key) = (settings.clone(), (*key).to_owned());
        let content = std::fs::read(path).expect("the file is there");
        let put = async move { rankwright_object::Bucket::connect(&settings).await.put(&key, content.into()).await };
        runner.wait(put).expect("the server takes it");
    }
    Some(settings)
}

/// The environment of a pod that may read buckets of an endpoint.
fn in_a_pod<'a>(endpoint: &'a str, cache: &'a str, keys: &'a (String, String)) -> [(&'a str, &'a str); 5] {
    [
        ("AWS_ENDPOINT_URL", endpoint),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ACCESS_KEY_ID", &keys.0),
        ("AWS_SECRET_ACCESS_KEY", &keys.1),
        ("RANKWRIGHT_ENCODERS_CACHE", cache),
    ]
}

fn embedding(service: &Service, model: &str) -> Vec<f64> {
    let texts = json!({"texts": ["kitchen mixer with three bowls"]});
    let answer = service.post(&format!("/inference/encoder/{model}"), &texts).ok().json();
    answer["embeddings"][0].as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
}

#[test]
fn a_model_in_a_bucket_is_fetched_once_and_kept() {
    let Some(models) = models_for_tests() else { return };
    let (graph, tokenizer) = ("test/minilm-int8/model.onnx", "test/minilm-int8/tokenizer.json");
    let (graph, tokenizer) = (models.join("models").join(graph), models.join("models").join(tokenizer));
    let files = [
        ("models/minilm/onnx/model.onnx", graph.as_path()),
        ("models/minilm/tokenizer.json", &tokenizer),
        ("models/minilm-2/tokenizer.json", &tokenizer),
        ("models/damaged/model.onnx", &tokenizer),
        ("models/damaged/tokenizer.json", &tokenizer),
    ];
    let Some(bucket) = bucket_with(&files) else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let cache = folder.path().join("cache").display().to_string();
    let key = |name| std::env::var(name).unwrap_or_default();
    let keys = (key("RANKWRIGHT_TEST_S3_KEY"), key("RANKWRIGHT_TEST_S3_SECRET"));
    let endpoint = bucket.endpoint.clone().unwrap_or_default();
    let config = |prefix: &str| {
        let handle = format!("s3://{}/models/{prefix}/", bucket.bucket);
        format!(
            "inference: {{far: {{type: bi-encoder, model: '{handle}', dim: 384}}, \
             near: {{type: bi-encoder, model: test/minilm-int8}}}}\n"
        )
    };
    let serve = |endpoint: &str| {
        let (config, environment) = (config("minilm"), in_a_pod(endpoint, &cache, &keys));
        Launch { subcommand: "serve", config: &config, data: None, folder: folder.path(), environment: &environment }
            .start()
    };
    let service = serve(&endpoint);
    let first = embedding(&service, "far");
    assert_eq!((first.len(), &first), (384, &embedding(&service, "near")), "it is the same model");
    drop(service);
    assert_eq!(embedding(&serve("http://127.0.0.1:1"), "far"), first, "nothing is fetched again");

    let refused = |prefix: &str, endpoint: &str| {
        let path = folder.path().join("refused.yml");
        std::fs::write(&path, config(prefix)).expect("can be written");
        let mut command = program::command(&["serve", "--config", &path.to_string_lossy()]);
        command.current_dir(folder.path()).envs(in_a_pod(endpoint, &cache, &keys));
        Ended::of(&mut command)
    };
    for (prefix, endpoint, code, told) in [
        ("minilm-2", &*endpoint, 1, "model.onnx"),
        ("nothing", &endpoint, 1, "model.onnx"),
        ("damaged", &endpoint, 1, "model.onnx was fetched and is a text"),
        ("elsewhere", "http://127.0.0.1:1", 75, "http://127.0.0.1:1 cannot be reached"), // which may change
    ] {
        let Ended { code: found, stderr, .. } = refused(prefix, endpoint);
        let is_told = stderr.contains("inference.far.model") && stderr.contains(told);
        assert!(found == Some(code) && is_told, "{prefix}, {found:?}: {stderr}");
    }
}

#[test]
fn a_dictionary_in_a_bucket_is_fetched_once_and_kept() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let [terms, page] = ["terms.json", "page.json"].map(|name| folder.path().join(name));
    let dictionary = json!({"language": "en", "fields": ["title"], "docs": 9, "avgdl": 4.0, "termfreq": {"boot": 2}});
    std::fs::write(&terms, dictionary.to_string()).expect("can be written");
    std::fs::write(&page, "<html>").expect("can be written");
    let Some(bucket) = bucket_with(&[("terms/en.json", &terms), ("terms/page.json", &page)]) else { return };
    let cache = folder.path().join("cache").display().to_string();
    let key = |name| std::env::var(name).unwrap_or_default();
    let keys = (key("RANKWRIGHT_TEST_S3_KEY"), key("RANKWRIGHT_TEST_S3_SECRET"));
    let endpoint = bucket.endpoint.clone().unwrap_or_default();
    let config = |name: &str| {
        let method = format!("{{type: bm25, language: en, termFreq: 's3://{}/terms/{name}'}}", bucket.bucket);
        let fields = "rankingField: ranking.query, itemField: item.title";
        format!(
            "state: {{type: file, path: ./state}}\n\
             features: [{{name: weighed, type: field_match, {fields}, method: {method}}}]\n\
             models: {{m: {{type: lambdamart, weights: {{click: 1}}, features: [weighed]}}}}\n"
        )
    };
    let run = |name: &str, endpoint: &str, arguments: &[&str]| {
        std::fs::write(folder.path().join("run.yml"), config(name)).expect("can be written");
        let mut command = program::command(&[arguments, &["--config", "run.yml"]].concat());
        Ended::of(command.current_dir(folder.path()).envs(in_a_pod(endpoint, &cache, &keys)))
    };
    let events = [item("boots", 0, &[("title", json!("waterproof boots"))]), item("mixer", 0, &[])];
    std::fs::write(folder.path().join("events.jsonl"), lines(&events)).expect("can be written");
    let nowhere = "http://127.0.0.1:1";
    for (name, endpoint, code, told) in [
        ("none.json", &*endpoint, 1, "there is no file s3://"),
        ("page.json", &endpoint, 1, "/terms/page.json cannot be used"),
        ("en.json", nowhere, 75, "http://127.0.0.1:1 cannot be reached"), // which may change
    ] {
        let Ended { code: found, stderr, .. } = run(name, endpoint, &["import", "--data", "events.jsonl"]);
        let is_told = stderr.contains("feature 'weighed'") && stderr.contains(told);
        assert!(found == Some(code) && is_told, "{name}, {found:?}: {stderr}");
    }
    let validated = run("en.json", &endpoint, &["validate", "--data", "events.jsonl"]).stdout;
    assert!(validated.contains("for values of features"), "it is read: {validated}");
    run("en.json", nowhere, &["import", "--data", "events.jsonl"]).ok(); // nothing is fetched again
    let mut request = ranking("list", 60, "u", &["mixer", "boots"]);
    request["fields"] = json!([{"name": "query", "value": "boots for hiking"}]);
    std::fs::write(folder.path().join("request.json"), request.to_string()).expect("can be written");
    run("en.json", nowhere, &["rank", "request.json", "--model", "m"]).ok();
    let environment = in_a_pod(nowhere, &cache, &keys);
    let config = config("en.json");
    let launch =
        Launch { subcommand: "serve", config: &config, data: None, folder: folder.path(), environment: &environment };
    let answer = launch.start().rank("m", &request);
    // ln(1 + (9 - 2 + 0.5) / (2 + 0.5)) / (1 + 1.2 * (0.25 + 0.75 * 2 / 4))
    let weighed = feature(&answer, "boots", "weighed").as_f64().expect("it matches");
    assert!((weighed - 0.792_168).abs() < 1e-5, "{answer}");
}
