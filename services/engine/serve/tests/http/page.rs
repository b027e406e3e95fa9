//! The page for browsers: where it is, what it may see, and the requests that are kept for it.

use crate::server::{answer, listener};
use crate::service::{Answer, CONFIG, Service, ranking};
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::routing::get;
use rankwright_serve::{Front, Peer, run};
use serde_json::{Value, json};
use std::net::IpAddr;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// A service with a page of these settings.
async fn service(page: &str, api: &str) -> Service {
    let config = format!("{CONFIG}\napi: {{page: {{{page}}}, {api}}}");
    let files = Router::new().route("/", get(|| async { "the page" })).route("/assets/a.js", get(|| async { "code" }));
    Service::start_with(&config, |builder| builder.page(Front::new(files))).await
}

fn to(path: &str) -> Request<Body> {
    Request::builder().uri(path).body(Body::empty()).unwrap()
}

async fn accepting(service: &Service, path: &str, accept: &str) -> Answer {
    let mut request = to(path);
    request.headers_mut().insert("accept", accept.parse().unwrap());
    service.ask(request).await
}

/// What is kept, by number and model; the oldest is number 1 here.
async fn kept(service: &Service) -> Vec<String> {
    let json = service.get("/requests").await.json();
    let requests = json["requests"].as_array().unwrap_or_else(|| panic!("{json}"));
    let number = |entry: &Value| entry["number"].as_u64().unwrap();
    let first = requests.iter().map(number).min().unwrap_or_default();
    let entry = |entry: &Value| format!("{} {}", number(entry) - first + 1, entry["model"].as_str().unwrap());
    requests.iter().map(entry).collect()
}

/// The number of the newest request.
async fn newest(service: &Service) -> u64 {
    service.get("/requests").await.json()["requests"][0]["number"].as_u64().unwrap()
}

#[tokio::test]
async fn a_browser_gets_the_page_and_a_program_what_there_was_before() {
    let service = service("", "").await;
    assert_eq!(accepting(&service, "/", "text/html,*/*;q=0.8").await.text(), "the page");
    let json = accepting(&service, "/", "application/json").await;
    assert_eq!((&json.json()["name"], &json.headers["vary"]), (&json!("rankwright"), &"Accept".parse().unwrap()));
    assert_eq!(service.get("/assets/a.js").await.text(), "code");
    service.get("/assets/b.js").await.error(404, "not_found", None);
    service.post("/assets/a.js", "").await.error(405, "method_not_allowed", None);
}

#[tokio::test]
async fn without_a_page_there_is_nothing_of_it() {
    let service = Service::start().await;
    assert_eq!(accepting(&service, "/", "text/html").await.json()["name"], "rankwright");
    service.post("/rank/shop", ranking(&["a"])).await;
    for path in ["/page", "/requests"] {
        assert!(service.get(path).await.error(404, "not_found", None).contains("api.page.enabled"), "{path}");
    }
    service.post("/requests/1/rank/shop", "").await.error(404, "not_found", None);
    service.get("/assets/a.js").await.error(404, "not_found", None);
}

#[tokio::test]
async fn the_page_is_told_how_it_is_set_up() {
    let plain = service("", "").await.get("/page").await.json();
    let expected = json!({
        "title": "rankwright", "version": env!("CARGO_PKG_VERSION"), "item": null, "imageOrigins": [], "sample": 100,
        "showIds": false, "tokenNeeded": false,
        "forgetUnavailable": "this process does not forget; run: rankwright forget --config CONFIG",
    });
    assert_eq!(plain, expected);
    let settings = "sample: 7, showIds: true, item: {title: name}, imageOrigins: 'https://cdn.example'";
    let service = service(settings, "token: secret").await;
    let mut request = to("/page");
    request.extensions_mut().insert(Peer([10, 0, 0, 7].into()));
    let told = service.ask(request).await.json();
    assert_eq!(told["item"], json!({"title": "name", "price": null, "image": null}));
    assert_eq!((&told["imageOrigins"], &told["sample"]), (&json!(["https://cdn.example"]), &json!(7)));
    assert_eq!((&told["showIds"], &told["tokenNeeded"]), (&json!(true), &json!(true)));
}

#[tokio::test]
async fn rank_requests_are_kept_with_their_answers_and_without_their_visitors() {
    let service = service("", "").await;
    service.post("/rank/shop", ranking(&["a", "b"])).await;
    service.post("/rank/new", ranking(&["c"])).await;
    service.post("/rank/shop?explain=true", ranking(&["a"])).await; // a look
    service.post("/rank/shop", "{").await; // none
    let json = service.get("/requests").await.json();
    let (new, shop) = (&json["requests"][0], &json["requests"][1]);
    assert_eq!(json["requests"].as_array().map(Vec::len), Some(2), "{json}");
    assert_eq!(new["number"].as_u64(), shop["number"].as_u64().map(|number| number + 1));
    assert_eq!((&new["model"], &new["items"]), (&json!("new"), &json!(1)));
    assert_eq!(new["fallback"], "model new is not trained yet");
    assert_eq!((&shop["fallback"], shop["took"].is_u64()), (&json!(null), true));
    assert!(shop["time"].as_u64().is_some_and(|time| time > 1_700_000_000_000), "{shop}");
    let expected: Value = serde_json::from_str(&ranking(&["a", "b"])).unwrap();
    for (key, value) in expected.as_object().unwrap() {
        let shown = if ["user", "session"].contains(&key.as_str()) { &Value::Null } else { value };
        assert_eq!(&shop["request"][key], shown, "{key}");
    }
}

#[tokio::test]
async fn a_service_that_starts_again_gives_no_request_the_number_that_another_one_had() {
    let before = service("", "").await;
    before.post("/rank/shop", ranking(&["a"])).await;
    tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    let after = service("", "").await;
    after.post("/rank/shop", ranking(&["b"])).await;
    let (old, new) = (newest(&before).await, newest(&after).await);
    assert!(old < new && new < 1 << 53, "{old} {new}: a browser knows them exactly");
    after.post(&format!("/requests/{old}/rank/shop"), "").await.error(404, "not_found", None);
}

#[tokio::test]
async fn visitors_are_shown_where_that_is_wanted() {
    let service = service("showIds: true", "").await;
    service.post("/rank/shop", ranking(&["a"])).await;
    let request = service.get("/requests").await.json()["requests"][0]["request"].clone();
    assert_eq!(request, serde_json::from_str::<Value>(&ranking(&["a"])).unwrap());
}

#[tokio::test]
async fn only_the_newest_of_each_model_are_kept() {
    let few = service("sample: 2", "").await;
    few.post("/rank/plain", ranking(&["a"])).await;
    for _ in 0..3 {
        few.post("/rank/shop", ranking(&["a"])).await;
    }
    assert_eq!(kept(&few).await, ["4 shop", "3 shop", "1 plain"]);
    let none = service("sample: 0", "").await;
    none.post("/rank/shop", ranking(&["a"])).await;
    assert!(kept(&none).await.is_empty());
}

#[tokio::test]
async fn a_kept_request_is_ranked_again_by_any_model_and_counts_as_none() {
    let service = service("", "").await;
    service.price(&[("a", 1.0), ("b", 2.0)]).await;
    service.post("/rank/plain", ranking(&["a", "b"])).await;
    let number = newest(&service).await;
    let again = async |model: &str| service.post(&format!("/requests/{number}/rank/{model}"), "").await;
    let shop = again("shop?explain=true").await;
    assert_eq!(shop.items(), ["b", "a"]);
    assert_eq!(shop.json()["items"][0]["features"][0], json!({"name": "price", "value": 2.0}));
    assert_eq!(again("new").await.json()["fallback"], "model new is not trained yet");
    assert_eq!(kept(&service).await, ["1 plain"]);
    let metrics = service.get("/metrics").await.text().to_owned();
    assert!(metrics.contains("service_rank_requests_total{model=\"shop\"} 0"), "{metrics}");
    assert!(metrics.contains("service_rank_requests_total{model=\"plain\"} 1"), "{metrics}");
    assert!(metrics.contains("service_rank_fallbacks_total{model=\"new\",reason=\"untrained\"} 0"), "{metrics}");
    service.post(&format!("/requests/{}/rank/shop", number + 1), "").await.error(404, "not_found", None);
    service.post("/requests/x/rank/shop", "").await.error(400, "invalid_request", None);
    again("shp").await.error(404, "unknown_model", None);
    again("similar").await.error(404, "wrong_model_type", None);
    again("shop?explain=1").await.error(400, "invalid_request", Some("explain"));
}

#[tokio::test]
async fn without_a_token_what_is_protected_is_for_the_same_machine() {
    let service = service("", "").await;
    for (peer, allowed) in [
        ("127.0.0.1", true),
        ("127.9.9.9", true),
        ("::1", true),
        ("::ffff:127.0.0.1", true),
        ("10.0.0.7", false),
        ("::ffff:10.0.0.7", false),
        ("2001:db8::1", false),
    ] {
        let mut request = to("/requests");
        request.extensions_mut().insert(Peer(peer.parse::<IpAddr>().unwrap()));
        let answer = service.ask(request).await;
        match allowed {
            true => assert_eq!(answer.status, 200, "{peer}"),
            false => assert!(answer.error(403, "not_local", None).contains("api.token"), "{peer}"),
        }
    }
}

#[tokio::test]
async fn a_name_that_somebody_points_to_this_machine_does_not_open_it() {
    let service = service("", "").await;
    for (host, allowed) in
        [("localhost:8080", true), ("[::1]:8080", true), ("127.0.0.1", true), ("evil.example:8080", false)]
    {
        for origin in [None, Some(format!("http://{host}"))] {
            let mut request = to("/requests");
            request.headers_mut().insert("host", host.parse().unwrap());
            if let Some(origin) = origin {
                request.headers_mut().insert("origin", origin.parse().unwrap());
            }
            let answer = service.ask(request).await;
            match allowed {
                true => assert_eq!(answer.status, 200, "{host}"),
                false => drop(answer.error(403, "not_local", None)),
            }
        }
    }
    let mut foreign = to("/requests");
    foreign.headers_mut().insert("host", "localhost:8080".parse().unwrap());
    foreign.headers_mut().insert("origin", "https://evil.example".parse().unwrap());
    service.ask(foreign).await.error(403, "foreign_origin", None);
}

#[tokio::test]
async fn what_comes_through_a_proxy_needs_a_token() {
    let service = service("", "").await;
    for (name, value) in [
        ("forwarded", "for=10.0.0.7"),
        ("via", "1.1 proxy"),
        ("x-forwarded-for", "10.0.0.7"),
        ("x-forwarded-host", "shop.example"),
        ("x-forwarded-proto", "https"),
        ("x-real-ip", "10.0.0.7"),
    ] {
        let mut request = to("/requests");
        request.headers_mut().insert(name, value.parse().unwrap());
        let told = service.ask(request).await.error(403, "not_local", None);
        assert_eq!(told, "this call came through a proxy: set api.token", "{name}");
    }
    for host in ["shop.example", "10.0.0.7:8080"] {
        let mut request = to("/requests");
        request.headers_mut().insert("host", host.parse().unwrap());
        assert!(service.ask(request).await.error(403, "not_local", None).contains("api.token"), "{host}");
    }
}

/// Of an allowed origin, to a service that its browser reaches as localhost.
#[tokio::test]
async fn pages_of_allowed_origins_need_a_token_for_what_is_the_pages_own() {
    let ask = |method: &str, path: &str, origin: &str| {
        let request = Request::builder().method(method).uri(path).header("host", "localhost:8080");
        let request = request.header("origin", origin).header("authorization", "Bearer secret");
        request.body(Body::empty()).unwrap()
    };
    let calls = [
        ("GET", "/requests"),
        ("GET", "/users/u"),
        ("GET", "/items?id=a"),
        ("GET", "/configuration"),
        ("GET", "/models"),
        ("POST", "/models/shop/rollback"),
        ("DELETE", "/users/u"),
    ];
    for origins in ["'*'", "['https://shop.example']"] {
        let open = service("", &format!("cors: {{allowedOrigins: {origins}}}")).await;
        for (method, path) in calls {
            let answer = open.ask(ask(method, path, "https://shop.example")).await;
            assert!(answer.error(403, "not_local", None).contains("set api.token"), "{method} {path}");
            let own = open.ask(ask(method, path, "http://localhost:8080")).await;
            assert_ne!(own.status, 403, "{method} {path}");
        }
        let guarded = service("", &format!("token: secret, cors: {{allowedOrigins: {origins}}}")).await;
        assert_eq!(guarded.ask(ask("GET", "/requests", "https://shop.example")).await.status, 200);
    }
}

#[tokio::test]
async fn with_a_token_only_those_who_have_it_may_see_requests_and_rank_them_again() {
    let service = service("", "token: secret").await;
    service.post("/rank/shop", ranking(&["a"])).await;
    let ask = |method: &str, path: &str, token: &str| {
        let mut request = Request::builder().method(method).uri(path).header("authorization", token);
        request = request.extension(Peer([10, 0, 0, 7].into()));
        request.body(Body::empty()).unwrap()
    };
    let again = format!("/requests/{}/rank/shop", {
        let answer = service.ask(ask("GET", "/requests", "Bearer secret")).await.json();
        answer["requests"][0]["number"].as_u64().unwrap()
    });
    for (method, path) in [("GET", "/requests"), ("POST", &again)] {
        service.ask(ask(method, path, "Bearer other")).await.error(401, "unauthorized", None);
        assert_eq!(service.ask(ask(method, path, "Bearer secret")).await.status, 200, "{path}");
    }
}

/// Calls that are described with an answer of this code, each with its method.
async fn refusing(service: &Service, code: &str) -> Vec<(String, String)> {
    let described = service.get("/openapi.json").await.json();
    let refuses = |operation: &Value| {
        let answers = operation["responses"].as_object().unwrap().values();
        answers.filter_map(|answer| answer["description"].as_str()).any(|text| text.contains(&format!("`{code}`")))
    };
    let mut calls = Vec::new();
    for (path, methods) in described["paths"].as_object().unwrap() {
        let filled = path.replace("{number}", "1").replace("{id}", "u").replace("{name}", "shop");
        let filled = filled.replace("{model}", "shop");
        assert!(!filled.contains('{'), "{path}");
        let filled = if path == "/items" { format!("{filled}?id=a") } else { filled };
        let methods = methods.as_object().unwrap().iter().filter(|(_, operation)| refuses(operation));
        calls.extend(methods.map(|(method, _)| (method.to_uppercase(), filled.clone())));
    }
    calls
}

#[tokio::test]
async fn each_call_that_needs_the_token_is_refused_without_it_and_the_pages_own_from_other_machines() {
    let ask = |method: &str, path: &str| {
        let request = Request::builder().method(method).uri(path).extension(Peer([10, 0, 0, 7].into()));
        request.body(Body::empty()).unwrap()
    };
    let (guarded, open) = (service("", "token: secret").await, service("", "").await);
    let calls = refusing(&guarded, "unauthorized").await;
    for (method, path) in &calls {
        guarded.ask(ask(method, path)).await.error(401, "unauthorized", None);
    }
    let own = refusing(&open, "not_local").await;
    for (method, path) in &own {
        open.ask(ask(method, path)).await.error(403, "not_local", None);
    }
    let (calls, own): (Vec<_>, Vec<_>) = (calls.iter().map(line).collect(), own.iter().map(line).collect());
    for change in ["POST /models/shop/promote", "POST /models/shop/rollback", "DELETE /items/u", "DELETE /users/u"] {
        assert!(own.iter().any(|call| call == change), "{change} in {own:?}");
    }
    let others: Vec<_> = calls.iter().filter(|call| !own.contains(call)).collect();
    assert_eq!(others, ["PUT /log-level", "POST /train/shop"]);
}

fn line((method, path): &(String, String)) -> String {
    format!("{method} {path}")
}

#[tokio::test]
async fn the_server_knows_who_asks() {
    let service = service("", "").await;
    let (listener, address) = listener().await;
    let server = tokio::spawn(run(service.app.clone(), listener, None, std::future::pending()));
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET /requests HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let answer = answer(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    server.abort();
}
