//! The page for browsers.

use super::{configuration, refusal};
use crate::testing::planned;
use rankwright_config::api::{Page, PageItem};
use serde_json::{Value, json};

fn page(page: Value) -> Page {
    configuration(json!({"rank": {"page": page}})).api.page
}

#[test]
fn the_resource_switches_the_page_on_as_the_engine_reads_it() {
    assert_eq!(configuration(json!({})).api.page.enabled, None, "rank servers have none then");
    assert_eq!(page(json!({})), Page { enabled: Some(true), ..Page::default() });
    let item = json!({"title": "name", "image": "picture"});
    let origins = json!(["https://cdn.shop.example"]);
    let all = json!({"enabled": false, "sample": 7, "showIds": true, "item": item, "imageOrigins": origins});
    let expected = Page {
        enabled: Some(false),
        sample: 7,
        show_ids: true,
        item: Some(PageItem { title: Some("name".to_owned()), price: None, image: Some("picture".to_owned()) }),
        image_origins: vec!["https://cdn.shop.example".to_owned()],
    };
    assert_eq!(page(all), expected);
    let wrong = refusal(json!({"rank": {"page": {"imageOrigins": ["cdn.shop.example"]}}}));
    assert!(wrong.starts_with("ConfigurationInvalid: api.page.imageOrigins"), "{wrong}");
}

#[test]
fn the_page_is_said_in_one_place() {
    let inline = json!({"inline": {"api": {"page": {"sample": 7}}}});
    let own = configuration(json!({ "configuration": inline }));
    assert_eq!(own.api.page.sample, 7, "the configuration's counts where the resource says nothing");
    assert_eq!(
        refusal(json!({"configuration": inline, "rank": {"page": {}}})),
        "ConfigurationContradicts: configuration.api.page: spec.rank.page says it: leave one of them out"
    );
}

#[test]
fn an_ingress_of_the_page_needs_a_token_and_a_host_of_its_own() {
    let ingress = json!({"host": "page.example.org"});
    assert_eq!(
        refusal(json!({"rank": {"page": {"ingress": ingress}}})),
        "SpecInvalid: spec.rank.page.ingress: through an Ingress, rank servers answer the page with a token alone: give rank.tokenSecretRef, or leave the Ingress out and use kubectl port-forward"
    );
    let token = json!({"name": "admin", "key": "token"});
    let with = |shop: &str| {
        let rank = json!({"page": {"ingress": ingress}, "tokenSecretRef": token, "ingress": {"host": shop}});
        json!({ "rank": rank })
    };
    assert!(planned(with("rank.example.org")).is_ok());
    assert_eq!(
        refusal(with("page.example.org")),
        "SpecInvalid: spec.rank.page.ingress.host: rank.ingress answers for this host, which others may use: give the page a host of its own"
    );
    let off = json!({"rank": {"page": {"enabled": false, "ingress": ingress}}});
    assert!(planned(off).is_ok(), "nothing is made of it");
}

#[test]
fn workers_start_again_for_the_fields_that_the_page_shows_alone() {
    let digest = |over: Value| planned(json!({ "rank": over })).unwrap().configuration.ingest_digest;
    let none = digest(json!({}));
    assert_eq!(digest(json!({"page": {"sample": 7, "imageOrigins": ["https://cdn.shop.example"]}})), none);
    let item = json!({"title": "name"});
    assert_ne!(digest(json!({"page": {"item": item}})), none);
    assert_eq!(digest(json!({"page": {"enabled": false, "item": item}})), none, "what is off stores nothing");
}

#[test]
fn an_ingress_of_the_page_that_nothing_gets_through_is_warned_of() {
    let ingress = json!({"host": "page.example.org", "tlsSecretName": "page-tls"});
    let rank = json!({"page": {"ingress": ingress}, "tokenSecretRef": {"name": "admin", "key": "token"}});
    let warnings = planned(json!({"rank": rank, "networkPolicy": {}})).unwrap().warnings;
    let expected = [
        "spec.networkPolicy.rankFrom: is empty, so what spec.rank.page.ingress lets in from outside of this namespace does not get through: let it in",
        "spec.rank.page.ingress.tlsSecretName: Secret page-tls does not exist, so the Ingress has no certificate of its own: create it",
    ];
    assert_eq!(warnings, expected);
}
