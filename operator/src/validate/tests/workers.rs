//! When workers, trainings and imports get another configuration or image.

use super::*;
use crate::build::{self, Mode};

#[test]
fn workers_start_again_for_what_models_are_trained_on_alone() {
    let of = |models: Value| {
        let plan = planned(json!({"configuration": {"inline": {"models": models}}})).unwrap();
        (plan.configuration.digest, plan.configuration.ingest_digest)
    };
    let semantic = |fields: &[&str]| {
        let encoder = json!({"type": "bert", "dim": 384, "model": "file:///models/minilm"});
        json!({"alike": {"type": "semantic", "encoder": encoder, "itemFields": fields}})
    };
    let csv = json!({"alike": {"type": "semantic", "encoder": {"type": "csv", "dim": 2, "path": "/e.csv"}}});
    let [none, file, title, both] = [json!({}), csv, semantic(&["title"]), semantic(&["title", "text"])].map(of);
    assert!(none.0 != file.0 && none.1 == file.1, "a file is nothing to workers");
    assert!(title.1 != none.1 && both.1 != title.1);
}

#[test]
fn workers_keep_their_config_map_until_they_start_again() {
    let wanted = planned(json!({})).unwrap();
    let with = |image: &str, digest: &str, config_map: Option<&str>| {
        let (digests, image) = (Some([digest.to_owned(), String::new()]), image.to_owned());
        let ingest = Rollout { image, digests, config_map: config_map.map(str::to_owned), ..Rollout::default() };
        let resolved = Resolved { ingest: Some(ingest), ..resolved() };
        plan(&service(json!({})), &resolved, &defaults()).unwrap().ingest_config_map
    };
    let of = |digest: &str, config_map: Option<&str>| with(&wanted.images.ingest, digest, config_map);
    let (digest, begun) = (&wanted.configuration.ingest_digest, "shop-config-0123456789");
    assert_eq!(with("of:before", digest, Some(begun)), wanted.config_map(), "they begin again with another image");
    assert_eq!(of(digest, Some(begun)), begun, "another one would make new pods");
    assert_eq!(of("0123456789abcdef", Some(begun)), wanted.config_map());
    assert_eq!(of(digest, None), wanted.config_map(), "theirs is gone");
    assert_eq!(wanted.ingest_config_map, wanted.config_map(), "there are none yet");
}

#[test]
fn workers_stay_as_they_are_until_a_rank_server_has_started_with_a_changed_configuration() {
    let wanted = planned(json!({})).unwrap();
    let stay = |servers: i32, configured: &str, started: &str| {
        let at = |replicas: i32, configured: &str| {
            let (digests, image) = (Some([configured.to_owned(), String::new()]), wanted.images.rank.clone());
            Some(Rollout { image, digests, replicas, complete: true, ..Rollout::default() })
        };
        let (rank, ingest) = (at(servers, "0"), at(1, configured));
        let resolved = Resolved { rank, ingest, started: [started.to_owned()].into(), ..resolved() };
        let plan = plan(&service(json!({})), &resolved, &defaults()).unwrap();
        let children = build::desired(&plan);
        let workers = children.iter().find(|child| child.name() == "Deployment shop-ingest").unwrap();
        assert_eq!(workers.mode == Mode::Keep, plan.held.is_some());
        assert!(plan.held.iter().all(|held| held.contains("all other changes of the workers wait")));
        plan.held.is_some()
    };
    let (new, theirs) = (&wanted.configuration.digest, &wanted.configuration.ingest_digest);
    assert!(stay(2, "0", "0"));
    assert!(!stay(2, "0", new));
    assert!(!stay(2, theirs, "0"), "nothing changes that they work by");
    assert!(!stay(0, "0", "0"), "no server would ever show it");
}

#[test]
fn workers_keep_their_image_until_servers_are_rolled_out() {
    let asked = service(json!({"image": "rankwright:2"}));
    let at = |image: &str, complete| {
        Some(Rollout {
            image: image.to_owned(),
            digests: Some(["c", "r"].map(str::to_owned)),
            config_map: Some("shop-config-0123456789".to_owned()),
            complete,
            ..Rollout::default()
        })
    };
    let images = |rank: Option<Rollout>, ingest: Option<Rollout>| {
        let plan = plan(&asked, &Resolved { rank, ingest, ..resolved() }, &defaults()).unwrap();
        assert_eq!(plan.images.training, plan.images.ingest, "models are written by the same image as the state");
        let kept = plan.configuration.ingest_digest == "c" && plan.references.ingest == "r";
        assert_eq!(kept, plan.held.is_some(), "what the new image is to start with makes no pods of the former one");
        let theirs = plan.ingest_config_map == "shop-config-0123456789";
        assert_eq!(theirs, plan.held.is_some(), "nor does the former one read what is written for the new one");
        (plan.images.rank, plan.images.ingest, plan.held.is_some())
    };
    let (old, new) = ("rankwright:1", "rankwright:2");
    assert_eq!(images(None, None), (new.into(), new.into(), false), "a new service waits for nothing");
    assert_eq!(images(at(old, true), at(old, true)), (new.into(), old.into(), true));
    assert_eq!(images(at(new, false), at(old, true)), (new.into(), old.into(), true));
    assert_eq!(images(at(new, true), at(old, true)), (new.into(), new.into(), false));
}

#[test]
fn trainings_and_imports_wait_for_the_rank_servers_where_workers_have_an_image_of_their_own() {
    let over = json!({"image": "rankwright:2", "ingest": {"pod": {"image": "rankwright:own"}}});
    let at = |image: &str, complete| Some(Rollout { image: image.to_owned(), complete, ..Rollout::default() });
    let images = |former: Option<&str>, rank: Option<Rollout>| {
        let mut asked = service(over.clone());
        asked.status = serde_json::from_value(json!({"rank": {
            "replicas": 1, "readyReplicas": 1, "ready": "1/1", "selector": "", "endpoint": "", "image": former,
        }}))
        .unwrap();
        let resolved = Resolved { rank, ingest: at("rankwright:own", true), ..resolved() };
        let plan = plan(&asked, &resolved, &defaults()).unwrap();
        assert_eq!((plan.images.ingest.as_str(), plan.held.is_some()), ("rankwright:own", false));
        assert_eq!(plan.images.import, plan.images.training);
        plan.images.training
    };
    let (old, new) = ("rankwright:1", "rankwright:2");
    assert_eq!(images(Some(old), at(old, true)), old, "the servers are not told yet");
    assert_eq!(images(Some(old), at(new, false)), old, "they are being replaced");
    assert_eq!(images(None, at(new, false)), new, "a new service waits for nothing");
    assert_eq!(images(Some(new), at(new, true)), new);
    assert_eq!(images(None, None), new);
}
