#![allow(clippy::unwrap_used)]

use super::*;
use proptest::prelude::*;

const SAMPLE: &[u8] = include_bytes!("../../samples/version-1.model");

pub(crate) fn column(name: &str, fingerprint: u64) -> Column {
    Column { name: name.into(), feature: name.into(), fingerprint, categorical: false }
}

fn metadata() -> Metadata {
    Metadata {
        model: "xgboost".into(),
        kind: Kind::XgBoost,
        created_at: Timestamp::from_millis(1_636_907_100_000),
        columns: vec![column("price", 1), Column { feature: "ctr".into(), ..column("ctr_7", u64::MAX) }],
        metrics: BTreeMap::from([("NDCG@10".into(), 0.612)]),
        iterations: 2,
        weights: vec![FeatureWeight { name: "price".into(), weights: vec![45.0] }],
        trained_on: None,
        settings: Default::default(),
        replaced: None,
        record: Default::default(),
    }
}

fn version() -> Version {
    Version::new(metadata(), b"warm".to_vec(), b"trees".to_vec()).unwrap()
}

fn error(bytes: &[u8]) -> String {
    Version::decode(bytes).expect_err("the bytes are damaged").to_string()
}

#[test]
fn a_version_comes_back_as_it_was() {
    for kind in [Kind::XgBoost, Kind::LightGbm, Kind::Noop, Kind::Shuffle(Shuffle { max_position_change: 3, seed: 9 })]
    {
        let version = Version::new(Metadata { kind, ..metadata() }, Vec::new(), vec![0; 300]).unwrap();
        assert_eq!(Version::decode(&version.encode().unwrap()).unwrap(), version);
    }
}

#[test]
fn the_sample_of_the_first_format_is_read_by_every_later_one() {
    let sample = Version::decode(SAMPLE).unwrap();
    assert_eq!(sample, version());
    assert_eq!(sample.id().as_str(), "20211114T162500000Z-8c5b492a");
}

#[test]
fn a_version_knows_which_one_it_was_published_in_place_of() {
    let before = version();
    let after = version().in_place_of(before.id().clone()).unwrap();
    assert_ne!(after.id(), before.id());
    let read = Version::decode(&after.encode().unwrap()).unwrap();
    assert_eq!((read.id(), read.metadata().replaced.as_ref()), (after.id(), Some(before.id())));
    assert_eq!((read.body(), read.warmup()), (before.body(), before.warmup()));
}

#[test]
fn what_a_training_leaves_to_look_at_comes_back() {
    let curve = LearningCurve::new("NDCG@10".into(), [(0.5, f64::NAN), (0.25, 0.75)].into_iter(), 1);
    let values = BTreeMap::from([("price".into(), Spread::of(vec![0.1, 2.5, f32::NAN], false))]);
    let record = TrainingRecord { curve: Some(curve), values, gate: None };
    let version = Version::new(Metadata { record, ..metadata() }, b"warm".to_vec(), Vec::new()).unwrap();
    let gate = Verdict { reason: "FirstVersion".into(), message: "no version runs yet".into() };
    let decided = version.clone().decided(gate.clone()).unwrap();
    assert_ne!(decided.id(), version.id());
    let read = Version::decode(&decided.encode().unwrap()).unwrap();
    assert_eq!(read, decided);
    let TrainingRecord { curve, values, gate: told } = read.metadata().record.clone();
    assert_eq!((curve, values), (version.metadata().record.curve.clone(), version.metadata().record.values.clone()));
    assert_eq!((told, read.warmup()), (Some(gate), version.warmup()));
}

#[test]
fn other_content_is_another_version() {
    let other = Version::new(metadata(), b"warm".to_vec(), b"bees".to_vec()).unwrap();
    assert_ne!(other.id(), version().id());
}

#[test]
fn each_fault_has_its_message() {
    let bytes = version().encode().unwrap();
    let mut newer = bytes.clone();
    newer[8] = 2;
    assert!(error(&newer).contains("written by a newer version"), "{}", error(&newer));
    let mut damaged = bytes.clone();
    *damaged.last_mut().unwrap() ^= 1;
    assert!(error(&damaged).contains("checksum"), "{}", error(&damaged));
    assert!(error(&[&bytes[..], b"!"].concat()).contains("followed by 1 bytes"));
    assert!(error(b"tree\nversion=v4\n").contains("not a model version"));
    for end in [0, 5, 8, 23, 24, bytes.len() - 1] {
        assert!(error(&bytes[..end]).contains("truncated"), "{}", error(&bytes[..end]));
    }
}

#[test]
fn a_metric_without_a_value_is_kept_as_such() {
    let metrics = BTreeMap::from([("MRR".into(), f64::NAN)]);
    let version = Version::new(Metadata { metrics, ..metadata() }, Vec::new(), Vec::new()).unwrap();
    let decoded = Version::decode(&version.encode().unwrap()).unwrap();
    assert!(decoded.metadata().metrics["MRR"].is_nan());
}

#[test]
fn a_model_of_other_columns_is_refused_by_name() {
    let version = version();
    assert_eq!(version.check_columns(&version.metadata().columns), Ok(()));
    let wanted = [column("ctr_7", u64::MAX), column("price", 2), column("age", 3)];
    let mismatch = version.check_columns(&wanted).unwrap_err();
    assert_eq!(
        mismatch.to_string(),
        "model was trained with other features: new: age; defined in another way: price; in another order: ctr_7; \
         train it again, or give it the previous features back; a dictionary or text model that was replaced needs \
         another key"
    );
    let mismatch = version.check_columns(&wanted[..1]).unwrap_err();
    assert_eq!(mismatch.missing, ["price"]);
    assert!(ColumnMismatch::is_told_by(&mismatch.to_string()));
}

proptest! {
    #[test]
    fn mutated_bytes_are_an_error_and_never_a_panic(
        at in 0_usize..1000, value: u8, cut in 0_usize..1000, noise in prop::collection::vec(any::<u8>(), 0..100)
    ) {
        let bytes = version().encode().unwrap();
        let mut mutated = bytes.clone();
        let at = at % bytes.len();
        mutated[at] = value;
        prop_assert_eq!(Version::decode(&mutated).is_ok(), mutated == bytes);
        prop_assert!(Version::decode(&bytes[..cut % bytes.len()]).is_err());
        prop_assert!(Version::decode(&noise).is_err());
    }

    #[test]
    fn a_right_checksum_over_wrong_content_is_an_error(content in prop::collection::vec(any::<u8>(), 0..100)) {
        let mut bytes = version().encode().unwrap();
        bytes.truncate(12);
        bytes.extend((content.len() as u64).to_le_bytes());
        bytes.extend(crc32fast::hash(&content).to_le_bytes());
        bytes.extend(content);
        prop_assert!(Version::decode(&bytes).is_err());
    }
}
