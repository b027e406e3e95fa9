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

/// What is kept, by number and model.
async fn kept(service: &Service) -> Vec<String> {
    let json = service.get("/requests").await.json();
    let entry = |entry: &Value| format!("{} {}", entry["number"], entry["model"].as_str().unwrap());
    json["requests"].as_array().unwrap_or_else(|| panic!("{json}")).iter().map(entry).collect()
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
    assert_eq!((&new["number"], &new["model"], &new["items"]), (&json!(2), &json!("new"), &json!(1)));
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
    let again = service.post("/requests/1/rank/shop?explain=true", "").await;
    assert_eq!(again.items(), ["b", "a"]);
    assert_eq!(again.json()["items"][0]["features"][0], json!({"name": "price", "value": 2.0}));
    assert_eq!(service.post("/requests/1/rank/new", "").await.json()["fallback"], "model new is not trained yet");
    assert_eq!(kept(&service).await, ["1 plain"]);
    let metrics = service.get("/metrics").await.text().to_owned();
    assert!(metrics.contains("service_rank_requests_total{model=\"shop\"} 0"), "{metrics}");
    assert!(metrics.contains("service_rank_requests_total{model=\"plain\"} 1"), "{metrics}");
    assert!(metrics.contains("service_rank_fallbacks_total{model=\"new\",reason=\"untrained\"} 0"), "{metrics}");
    service.post("/requests/2/rank/shop", "").await.error(404, "not_found", None);
    service.post("/requests/x/rank/shop", "").await.error(400, "invalid_request", None);
    service.post("/requests/1/rank/shp", "").await.error(404, "unknown_model", None);
    service.post("/requests/1/rank/similar", "").await.error(404, "wrong_model_type", None);
    service.post("/requests/1/rank/shop?explain=1", "").await.error(400, "invalid_request", Some("explain"));
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
        ("GET", "/items?ids=a"),
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
    for (method, path) in [("GET", "/requests"), ("POST", "/requests/1/rank/shop")] {
        service.ask(ask(method, path, "Bearer other")).await.error(401, "unauthorized", None);
        assert_eq!(service.ask(ask(method, path, "Bearer secret")).await.status, 200, "{path}");
    }
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
