//! The page for browsers and the calls that it makes, of a real program.

use rankwright_e2e::events::{DURABLE, at, cheap_wins, item, ranking};
use rankwright_e2e::http::{self, Answer};
use rankwright_e2e::many::launch;
use rankwright_e2e::redis::Redis;
use rankwright_e2e::{Launch, Service};
use serde_json::{Value, json};

const CONFIG: &str = "
state: {type: memory}
api: {host: 127.0.0.1, port: 0, page: {item: {title: title, price: price}, imageOrigins: [\"https://cdn.example\"]}}
features:
  - {name: price, type: number, field: item.price}
  - {name: clicks, type: interaction_count, interaction: click, scope: item}
models:
  plain: {type: noop}
  other: {type: shuffle, maxPositionChange: 1}
";

/// What a browser gets that opens a path.
fn browse(service: &Service, path: &str) -> Answer {
    let head = "accept: text/html,application/xhtml+xml,*/*;q=0.8\r\nhost: localhost\r\nconnection: close";
    http::send(service.address(), format!("GET {path} HTTP/1.1\r\n{head}\r\n\r\n").as_bytes()).expect("it answers")
}

fn header<'a>(answer: &'a Answer, name: &str) -> &'a str {
    answer.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
}

/// Assets that a page names.
fn assets(page: &str) -> Vec<&str> {
    let attributes = page.split(['"', '\'', ' ', '=', '>']);
    attributes.filter(|text| text.trim_start_matches('/').starts_with("assets/")).collect()
}

#[test]
fn a_browser_gets_the_page_with_all_it_loads_and_programs_get_json() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let service = Service::serve(CONFIG, folder.path());
    let page = browse(&service, "/").ok();
    assert!(header(&page, "content-type").starts_with("text/html"), "{page:?}");
    let policy = header(&page, "content-security-policy");
    assert!(policy.starts_with("default-src 'none'; ") && policy.contains("data: https://cdn.example;"), "{policy}");
    let assets = assets(&page.text);
    assert!(!assets.is_empty(), "{}", page.text);
    for asset in assets {
        let answer = browse(&service, &format!("/{}", asset.trim_start_matches('/'))).ok();
        assert!(header(&answer, "cache-control").contains("immutable"), "{asset}: {answer:?}");
    }
    assert_eq!(service.get("/").ok().json()["name"], "rankwright");
    assert_eq!(service.get("/page").ok().json()["item"], json!({"title": "title", "price": "price", "image": null}));
}

#[test]
fn a_real_request_is_ranked_again_and_its_items_are_looked_up() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let service = Service::serve(CONFIG, folder.path());
    service.feedback(&[item("a", 1, &[("price", json!(7.5)), ("title", json!("A <b>"))]), item("b", 1, &[])]);
    service.post("/rank/plain", &ranking("r1", 5, "visitor", &["a", "b"])).ok();
    let kept = service.get("/requests").ok().json()["requests"][0].clone();
    assert_eq!((&kept["model"], &kept["items"], &kept["request"]["user"]), (&json!("plain"), &json!(2), &Value::Null));
    let again = service.post_text(&format!("/requests/{}/rank/other", kept["number"]), "").ok().json();
    assert_eq!(again["items"].as_array().map(Vec::len), Some(2), "{again}");
    let named = service.get("/items?id=a&id=b&id=c").ok().json();
    assert_eq!(named["items"]["a"], json!({"title": "A <b>", "price": 7.5, "image": null}));
    let stored = service.get("/items/a").ok().json();
    let price =
        stored["values"].as_array().and_then(|values| values.iter().find(|value| value["name"] == "item.price"));
    let expected = json!({
        "name": "item.price", "features": ["price", "api.page"], "value": 7.5, "time": at(1).parse::<i64>().ok(),
    });
    assert_eq!(price, Some(&expected), "{stored}");
    assert_eq!(service.get("/items/nothing").status, 404);
}

#[test]
fn what_is_configured_is_shown_without_its_secrets_to_those_who_have_the_token() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let config = CONFIG.replace("api: {", "api: {token: hunter2, analytics: false, ");
    let config = config.replace(", imageOrigins: [\"https://cdn.example\"]", "");
    let service = Service::serve(&config, folder.path());
    for path in [
        "/configuration",
        "/evaluation",
        "/requests",
        "/models",
        "/models/plain/features",
        "/items/a",
        "/users/u",
        "/items?id=a",
    ] {
        assert_eq!(service.get(path).refusal().0, "unauthorized", "{path}");
    }
    let head =
        "GET /configuration HTTP/1.1\r\nhost: shop.example\r\nauthorization: Bearer hunter2\r\nconnection: close";
    let told = http::send(service.address(), format!("{head}\r\n\r\n").as_bytes()).expect("it answers").ok();
    assert!(!told.text.contains("hunter2"), "{}", told.text);
    let told = told.json();
    assert_eq!(told["configuration"]["api"]["token"], "hidden");
    assert_eq!(told["configuration"]["features"][0]["name"], "price");
    let defaults = told["defaults"].as_array().expect("a list");
    assert!(defaults.contains(&json!("api.limits.drainTimeout")) && !defaults.contains(&json!("api.port")), "{told}");
    let page = &told["configuration"]["api"]["page"];
    assert_eq!((&page["enabled"], &page["imageOrigins"]), (&json!(true), &json!([])));
    for path in ["api.page.enabled", "api.page.imageOrigins"] {
        assert!(defaults.contains(&json!(path)), "{path} in {told}");
    }
    assert!(told["warnings"][0].as_str().is_some_and(|text| text.contains("analytics is ignored")), "{told}");
}

#[test]
fn versions_are_listed_rolled_back_and_promoted() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let service = Service::serve(DURABLE, folder.path());
    service.feedback(&cheap_wins(200));
    service.settle();
    service.train("m");
    let serving = || service.status()["models"]["m"]["version"].clone();
    let first = serving();
    service.train("m");
    let second = serving();
    assert_ne!(first, second);
    let model = service.get("/models").ok().json()["models"][0].clone();
    assert_eq!((&model["name"], &model["serving"], &model["current"]), (&json!("m"), &second, &second));
    assert_eq!(model["versions"].as_array().map(Vec::len), Some(2), "{model}");
    let version = &model["versions"][0];
    assert!(version["metrics"].as_object().is_some_and(|metrics| !metrics.is_empty()), "{version}");
    assert!(version["features"][0]["gain"].is_number() && version["data"]["rankings"].is_number(), "{version}");
    let rounds = version["curve"]["rounds"].as_array().expect("a curve");
    assert!(rounds.iter().all(|round| round["test"].is_number() && round["train"].is_number()), "{version}");
    assert!(rounds.iter().any(|round| round["round"] == version["trees"]) && version["gate"].is_null(), "{version}");
    let features = service.get("/models/m/features").ok().json();
    let column = &features["features"][0]["columns"][0];
    assert_eq!((&features["version"], &column["now"]), (&second, &Value::Null), "{features}");
    assert!(column["training"]["bins"][0]["share"].is_number(), "{features}");
    let back = service.post_text("/models/m/rollback", "").ok().json();
    assert_eq!((&back["version"], &back["serving"]), (&first, &first));
    assert_eq!(serving(), first, "it is served at once");
    assert_eq!(service.post("/models/m/promote", &json!({"version": second})).ok().json()["version"], second);
    assert_eq!(serving(), second);
}

#[test]
fn a_page_that_is_off_leaves_nothing() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let config = CONFIG.replace("page: {", "page: {enabled: false, ");
    let launch = Launch { subcommand: "serve", config: &config, data: None, folder: folder.path(), environment: &[] };
    let service = launch.start();
    assert_eq!(browse(&service, "/").ok().json()["name"], "rankwright");
    for path in ["/page", "/requests", "/models", "/configuration", "/items/a", "/assets/main.js"] {
        assert_eq!(service.get(path).refusal().0, "not_found", "{path}");
    }
}

#[test]
fn a_rank_server_whose_page_is_on_answers_what_the_page_needs_and_says_what_it_does_not_do() {
    let Some(redis) = Redis::for_tests() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let config = CONFIG.replace("{type: memory}", &format!("{{type: redis, {}}}", redis.keys()));
    let config = config.replace("page: {", "page: {enabled: true, ");
    let server = launch("rank-server", &config, &redis.own_service("page"), folder.path());
    let page = browse(&server, "/").ok();
    assert!(header(&page, "content-type").starts_with("text/html"), "{page:?}");
    for asset in assets(&page.text) {
        browse(&server, &format!("/{}", asset.trim_start_matches('/'))).ok();
    }
    let settings = server.get("/page").ok().json();
    assert_eq!((&settings["item"]["title"], &settings["sample"]), (&json!("title"), &json!(100)));
    let forgets = settings["forgetUnavailable"].as_str().unwrap_or_default();
    assert!(forgets.contains("rankwright forget"), "{settings}");
    let status = server.status();
    assert_eq!((&status["phase"], &status["store"]["type"]), (&json!("ready"), &json!("redis")));
    assert_eq!(status["models"]["plain"]["purpose"], "order");
    server.post("/rank/plain", &ranking("r1", 5, "visitor", &["a", "b"])).ok();
    assert_eq!(server.get("/requests").ok().json()["requests"][0]["request"]["id"], "r1");
    let shown = server.get("/configuration").ok().json();
    assert_eq!(shown["configuration"]["api"]["page"]["enabled"], true);
    assert!(!shown["defaults"].to_string().contains("api.page.enabled"), "{shown}");
    let unavailable = server.get("/evaluation").ok().json()["unavailable"].clone();
    let (code, message, _) = server.post("/evaluation", &json!({})).refusal();
    assert_eq!((code.as_str(), Some(message.as_str())), ("not_available", unavailable.as_str()));
    assert!(message.contains("rankwright evaluate"), "{message}");
}

#[test]
fn models_are_evaluated_and_the_lists_that_they_rank_worst_are_ranked_again() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let service = Service::serve(DURABLE, folder.path());
    service.feedback(&cheap_wins(200));
    service.settle();
    let ended = || {
        service.post("/evaluation", &json!({})).ok();
        service.until("evaluated", || service.get("/evaluation").ok().json()["running"].is_null());
        service.get("/evaluation").ok().json()["last"].clone()
    };
    let problem = ended()["problem"].clone();
    assert!(problem.as_str().is_some_and(|text| text.contains("no model that ranks is trained yet")), "{problem}");
    service.train("m");
    let report = ended()["report"].clone();
    assert_eq!(report["rankers"][0]["version"], service.status()["models"]["m"]["version"], "{report}");
    assert!(report["scores"][0]["value"].as_f64().is_some_and(|value| value > 0.5), "{report}");
    let list = report["worst"][0]["lists"][0].clone();
    let requests = service.get("/requests").ok().json()["requests"].clone();
    let of_it = |request: &&Value| request["request"]["id"] == list["ranking"] && request["relevant"].is_array();
    let kept = requests.as_array().and_then(|all| all.iter().find(of_it)).unwrap_or_else(|| panic!("{requests}"));
    assert_eq!(kept["relevant"].as_array().map(Vec::len), list["relevant"].as_u64().map(|number| number as usize));
    let again = service.post_text(&format!("/requests/{}/rank/m", kept["number"]), "").ok().json();
    assert_eq!(again["items"].as_array().map(Vec::len), list["items"].as_u64().map(|number| number as usize));
}

#[test]
fn a_service_without_a_model_that_learns_says_that_there_is_nothing_to_evaluate() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let service = Service::serve(CONFIG, folder.path());
    let told = service.get("/evaluation").ok().json();
    assert!(told["unavailable"].as_str().is_some_and(|text| text.contains("lambdamart")), "{told}");
    assert_eq!(service.post("/evaluation", &json!({})).refusal().0, "not_available");
}
