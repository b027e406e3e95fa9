//! Requests that browsers send for a page.

use crate::service::{Answer, CONFIG, Service, ranking};
use axum::Router;
use axum::body::Body;
use axum::http::{HeaderValue, Method, Request};
use rankwright_serve::Front;

async fn from_page(service: &Service, method: Method, path: &str, headers: &[(&str, &str)]) -> Answer {
    let mut request = Request::builder().method(method).uri(path).header("host", "localhost:8080");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    service.ask(request.body(Body::from(ranking(&["a"]))).unwrap()).await
}

#[tokio::test]
async fn a_page_of_another_origin_is_refused() {
    let service = Service::start().await;
    for origin in [
        "https://evil.example",
        "http://localhost:8081",
        "http://localhost",
        "null",
        "http://localhost:8080.evil.example",
    ] {
        for (method, path) in [(Method::POST, "/rank/plain"), (Method::POST, "/train/shop"), (Method::GET, "/status")] {
            let answer = from_page(&service, method, path, &[("origin", origin), ("content-type", "text/plain")]).await;
            assert_eq!(answer.headers["connection"], "close", "its body is not read");
            assert!(!answer.headers.contains_key("access-control-allow-origin"));
            assert!(answer.error(403, "foreign_origin", None).contains("api.cors.allowedOrigins"));
        }
        let asks = [("origin", origin), ("access-control-request-method", "POST")];
        from_page(&service, Method::OPTIONS, "/feedback", &asks).await.error(403, "foreign_origin", None);
    }
    assert_eq!(service.get("/status").await.json()["models"]["shop"]["version"], "1", "nothing was trained");
}

#[tokio::test]
async fn the_services_own_pages_and_clients_that_are_no_browsers_notice_nothing() {
    let service = Service::start().await;
    for headers in [&[][..], &[("origin", "http://localhost:8080")], &[("origin", "https://LOCALHOST:8080")]] {
        let answer = from_page(&service, Method::POST, "/rank/plain", headers).await;
        assert_eq!(answer.items(), ["a"]);
        assert!(!answer.headers.contains_key("access-control-allow-origin"));
    }
}

#[tokio::test]
async fn a_page_whose_origin_is_allowed_has_its_preflights_answered() {
    let config =
        format!("{CONFIG}\napi: {{cors: {{allowedOrigins: ['https://shop.example', 'http://localhost:3000/']}}}}");
    let service = Service::start_with(&config, |builder| builder).await;
    for origin in ["https://shop.example", "http://localhost:3000"] {
        let asks = [
            ("origin", origin),
            ("access-control-request-method", "POST"),
            ("access-control-request-headers", "content-type, authorization"),
        ];
        let preflight = from_page(&service, Method::OPTIONS, "/train/shop", &asks).await;
        assert_eq!(preflight.status, 204);
        assert_eq!(preflight.headers["access-control-allow-origin"], origin);
        assert_eq!(preflight.headers["access-control-allow-methods"], "GET, POST, PUT, DELETE");
        assert_eq!(preflight.headers["access-control-allow-headers"], "content-type, authorization");
        let answer = from_page(&service, Method::POST, "/rank/plain", &[("origin", origin)]).await;
        assert_eq!(
            (&answer.headers["access-control-allow-origin"], &answer.headers["vary"]),
            (&origin.parse().unwrap(), &"Origin".parse().unwrap())
        );
        assert_eq!(answer.items(), ["a"]);
        let missing = from_page(&service, Method::POST, "/nowhere", &[("origin", origin)]).await;
        assert_eq!(missing.headers["access-control-allow-origin"], origin, "pages can read errors");
        missing.error(404, "not_found", None);
    }
    from_page(&service, Method::POST, "/rank/plain", &[("origin", "https://other.example")]).await.error(
        403,
        "foreign_origin",
        None,
    );
}

#[tokio::test]
async fn an_answer_that_depends_on_more_than_the_origin_says_both() {
    let config = format!("{CONFIG}\napi: {{cors: {{allowedOrigins: '*'}}}}");
    let service = Service::start_with(&config, |builder| builder.page(Front::new(Router::new()))).await;
    let answer = from_page(&service, Method::GET, "/", &[("origin", "https://any.example")]).await;
    let varies: Vec<&HeaderValue> = answer.headers.get_all("vary").iter().collect();
    assert_eq!(varies, ["Accept", "Origin"]);
}

#[tokio::test]
async fn all_origins_may_be_allowed() {
    let service =
        Service::start_with(&format!("{CONFIG}\napi: {{cors: {{allowedOrigins: '*'}}}}"), |builder| builder).await;
    let answer = from_page(&service, Method::POST, "/rank/plain", &[("origin", "https://any.example")]).await;
    assert_eq!(answer.headers["access-control-allow-origin"], "https://any.example");
}
