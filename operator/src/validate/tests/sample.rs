//! The sample with an encoder.

use crate::resolve::{Content, Kind, Resolved};
use crate::testing::{defaults, resolved};
use crate::validate::configuration::Texts;
use crate::validate::plan;
use rankwright_crds::RankingService;

#[test]
fn the_sample_with_an_encoder_brings_it_to_all_that_compute_with_it() {
    let text = std::fs::read_to_string("../manifests/samples/09-text-and-recommendations.yaml").unwrap();
    let document = text.split("\n---\n").find(|part| part.contains("kind: RankingService")).unwrap();
    let service: serde_json::Value = serde_saphyr::from_str(document).unwrap();
    let mut service: RankingService = serde_json::from_value(service).unwrap();
    service.metadata.uid = Some("0-0".to_owned());
    let mut there = resolved().objects;
    there.insert((Kind::Secret, "encoders".to_owned()), Content::of_texts([("credentials", "c")]));
    let plan = plan(&service, &Resolved { objects: there, ..resolved() }, &defaults()).unwrap();
    assert_eq!(
        plan.configuration.texts,
        Texts { features: true, inference: true, training: vec!["default".to_owned()] }
    );
    assert!(plan.warnings.is_empty(), "{:?}", plan.warnings);
    let spec = &plan.spec;
    let training = spec.training.as_ref().unwrap();
    for pod in [&spec.rank.pod, &spec.ingest.pod, &training.pod] {
        let env = |name: &str| pod.env.iter().any(|variable| variable.name == name && variable.value.is_some());
        assert!(env("RANKWRIGHT_ENCODERS_CACHE") && env("AWS_ENDPOINT_URL") && env("AWS_SHARED_CREDENTIALS_FILE"));
        assert_eq!(pod.volumes.len(), 2, "room for the model, and the key of its bucket");
    }
}
