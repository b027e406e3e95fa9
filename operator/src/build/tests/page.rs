//! The page has a way in of its own.

use super::*;
use std::path::Path;

/// A service whose page has an Ingress, with this laid over the page.
fn paged(over: Value) -> Plan {
    let mut page = json!({"ingress": {"host": "page.example.org"}});
    for (key, value) in over.as_object().unwrap() {
        page[key] = value.clone();
    }
    let rank =
        json!({"page": page, "tokenSecretRef": {"name": "admin", "key": "token"}, "tls": {"secretName": "port-tls"}});
    planned(json!({ "rank": rank })).unwrap()
}

fn found(plan: &Plan, name: &str) -> Option<Value> {
    let child = desired(plan).into_iter().find(|child| child.name() == name)?;
    Some(serde_json::to_value(child.object).unwrap())
}

fn paths(ingress: &Value) -> Vec<(String, String)> {
    let paths = ingress["spec"]["rules"][0]["http"]["paths"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    paths.iter().map(|path| (text(&path["path"]), text(&path["pathType"]))).collect()
}

#[test]
fn the_page_is_reached_by_its_host_at_its_own_paths() {
    let plan = paged(json!({}));
    let ingress = found(&plan, "Ingress shop-page").unwrap();
    assert_eq!(ingress["spec"]["rules"][0]["host"], "page.example.org");
    let paths = paths(&ingress);
    assert_eq!(paths[0], ("/".to_owned(), "Exact".to_owned()), "not all that a server has");
    for inside in ["/feedback", "/metrics", "/log-level", "/inference"] {
        assert!(!paths.iter().any(|(path, _)| path == inside), "{inside}");
    }
    let service = &ingress["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["name"];
    assert_eq!(service, "shop-page");
    assert_eq!(found(&plan, "Ingress shop-rank"), None, "rank requests have another way");
}

#[test]
fn a_browser_stays_at_one_server_whose_requests_it_sees() {
    let plan = paged(json!({}));
    let annotations = |name: &str| found(&plan, name).unwrap()["metadata"]["annotations"].clone();
    let nginx = json!({
        "nginx.ingress.kubernetes.io/affinity": "cookie",
        "nginx.ingress.kubernetes.io/backend-protocol": "HTTPS",
    });
    assert_eq!(annotations("Ingress shop-page"), nginx);
    let traefik = json!({
        "traefik.ingress.kubernetes.io/service.serversscheme": "https",
        "traefik.ingress.kubernetes.io/service.sticky.cookie": "true",
    });
    assert_eq!(annotations("Service shop-page"), traefik);
    let own = json!({"nginx.ingress.kubernetes.io/affinity": "none"});
    let chosen = paged(json!({"ingress": {"host": "page.example.org", "annotations": own}}));
    let ingress = found(&chosen, "Ingress shop-page").unwrap();
    assert_eq!(ingress["metadata"]["annotations"]["nginx.ingress.kubernetes.io/affinity"], "none", "its author's");
}

#[test]
fn a_page_without_a_way_in_of_its_own_makes_no_object() {
    let names = |rank: Value| {
        let plan = planned(json!({ "rank": rank })).unwrap();
        // names of ConfigMaps tell the configuration
        desired(&plan).iter().map(Child::name).filter(|name| !name.starts_with("ConfigMap")).collect::<Vec<_>>()
    };
    let none = names(json!({}));
    assert_eq!(names(json!({"page": {}})), none, "it is reached by port-forward");
    assert_eq!(names(json!({"page": {"enabled": false, "ingress": {"host": "page.example.org"}}})), none);
}

/// Calls of the page stand in its source as texts that begin with their path, and links to the service as such attributes.
#[test]
fn the_ingress_has_every_path_that_the_page_calls() {
    let mut sources = Vec::new();
    let mut folders = vec![Path::new("../services/console/page/src").to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            match entry.extension().and_then(|kind| kind.to_str()) {
                None => folders.push(entry),
                Some("ts" | "tsx") => sources.push(std::fs::read_to_string(entry).unwrap()),
                Some(_) => {}
            }
        }
    }
    let begun = |text: &str| {
        let path: String = text.chars().take_while(|sign| sign.is_ascii_lowercase() || ".-".contains(*sign)).collect();
        format!("/{path}")
    };
    let calls = sources.iter().flat_map(|source| ["(\"/", "(`/"].map(|quote| (source, quote)));
    let mut called: Vec<String> = calls.flat_map(|(source, quote)| source.split(quote).skip(1).map(begun)).collect();
    let links = sources.iter().flat_map(|source| source.split("href=\"").skip(1));
    called.extend(links.filter(|link| !link.starts_with('#')).map(|link| begun(link.trim_start_matches('/'))));
    for known in ["/requests", "/openapi.json"] {
        assert!(called.iter().any(|path| path == known), "{known} in {called:?}");
    }
    let open = paths(&found(&paged(json!({})), "Ingress shop-page").unwrap());
    for path in called {
        assert!(
            open.iter().any(|(known, _)| *known == path),
            "{path} is missing in PATHS of operator/src/build/page.rs"
        );
    }
}
