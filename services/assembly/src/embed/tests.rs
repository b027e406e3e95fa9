#![allow(clippy::unwrap_used)]
use super::*;
use rankwright_config::{Config, Model};
use std::path::PathBuf;
use tokio::runtime::Runtime;

/// What the items of a configuration's only model are embedded as, after these item events.
fn embedded(model: &str, events: &[(&str, &str)]) -> Result<ItemVectors, String> {
    let runtime = Runtime::new().unwrap();
    let config = Config::parse(&format!("models: {{alike: {model}}}"), "test").unwrap().0;
    let engine = runtime.block_on(Engine::open(config)).unwrap();
    let mut ingest = runtime.block_on(engine.ingest("test")).unwrap();
    let event = |(item, title): &(&str, &str)| {
        let fields = if title.is_empty() { String::new() } else { format!(r#"{{"name":"title","value":"{title}"}}"#) };
        format!(r#"{{"event":"item","id":"{item}","timestamp":"1","item":"{item}","fields":[{fields}]}}"#)
    };
    let events: Vec<_> =
        events.iter().map(|item| rankwright_event::json::decode(event(item).as_bytes()).unwrap()).collect();
    runtime.block_on(ingest.apply(events, Default::default())).unwrap();
    let Model::Semantic(semantic) = &engine.config.models["alike"] else { panic!() };
    engine.embed(semantic, &mut |_, _| ()).map_err(|error| chain(&error))
}

fn csv(text: &str) -> (tempfile::NamedTempFile, String) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let model = format!("{{type: semantic, encoder: {{type: csv, dim: 2, path: '{}'}}}}", file.path().display());
    (file, model)
}

#[test]
fn a_file_has_the_embeddings_of_items_by_their_ids() {
    let (_file, model) = csv("a,1,0\nb,0,1\n\"c,d\",1,1\na,0,2\n");
    let found = embedded(&model, &[]).unwrap();
    assert_eq!(found.len(), 3);
}

#[test]
fn what_is_wrong_with_a_file_is_told_with_its_path_and_line() {
    let (file, model) = csv("a,1,0\nb,0,1,5\n");
    let error = embedded(&model, &[]).unwrap_err();
    let path = file.path().display().to_string();
    assert!(error.contains(&path) && error.contains("line 2: 4 fields where 3 are expected"), "{error}");
    let error = embedded("{type: semantic, encoder: {type: csv, dim: 2, path: /nowhere.csv}}", &[]).unwrap_err();
    assert!(error.contains("failed to read the embeddings /nowhere.csv"), "{error}");
}

#[test]
fn a_state_without_texts_needs_no_model() {
    let model = "{type: semantic, encoder: {type: bert, model: 'file:///nowhere', dim: 384}, itemFields: [title]}";
    assert!(embedded(model, &[("a", "")]).unwrap().is_empty());
}

#[test]
fn more_items_than_a_version_has_room_for_are_refused() {
    assert!(fits(2_000_000, 384).is_ok());
    let error = fits(3_000_000, 384).unwrap_err().to_string();
    assert!(error.starts_with("3000000 items with embeddings of 384 numbers are too many"), "{error}");
}

#[test]
fn a_state_that_fails_over_is_asked_again_and_a_damaged_one_is_not() {
    let (mut asked, away) = (0, || Error::Failed { action: "read", source: "connection refused".into() });
    let read = patiently(Duration::ZERO, || {
        asked += 1;
        if asked < 3 { Err(away()) } else { Ok("texts") }
    });
    assert_eq!((read.ok(), asked), (Some("texts"), 3));
    let damaged = || Error::Damaged { key: "item".to_owned(), reason: "cut".to_owned() };
    for (is_away, attempts) in [(true, ATTEMPTS), (false, 1)] {
        let mut asked = 0;
        let read = patiently(Duration::ZERO, || {
            asked += 1;
            Err::<(), _>(if is_away { away() } else { damaged() })
        });
        assert_eq!((read.is_err(), asked), (true, attempts));
    }
}

/// The folder of real models. Without it a test is skipped, or fails where `RANKWRIGHT_REQUIRE_ALL` is 1.
fn minilm() -> Option<PathBuf> {
    let folder = std::env::var_os("RANKWRIGHT_ENCODERS_DIR").map(PathBuf::from).filter(|folder| folder.is_dir());
    if folder.is_none() {
        let missing = "RANKWRIGHT_ENCODERS_DIR names no folder filled by services/engine/encoder/native/fetch.sh";
        assert!(std::env::var("RANKWRIGHT_REQUIRE_ALL").as_deref() != Ok("1"), "{missing}");
        eprintln!("SKIPPED: {missing}");
    }
    let folder = folder?;
    rankwright_encoder::Runtime::open(&folder).unwrap(); // once per process: others find it
    Some(folder.join("models/test/minilm-int8"))
}

#[test]
fn a_model_embeds_the_texts_of_items_and_leaves_out_those_without() {
    let Some(folder) = minilm() else { return };
    let of = |dim: usize, folder: &str| {
        let encoder = format!("{{type: bert, model: 'file://{folder}', dim: {dim}}}");
        format!("{{type: semantic, encoder: {encoder}, itemFields: [title]}}")
    };
    let folder = folder.display().to_string();
    let items = [("boots", "waterproof boots for the mountains"), ("untitled", ""), ("mixer", "a kitchen mixer")];
    let all = embedded(&of(384, &folder), &items).unwrap();
    assert_eq!(all.len(), 2);
    let one = embedded(&of(384, &folder), &items[..2]).unwrap();
    let alike = |items: ItemVectors| rankwright_recommend::Similar::of(items, &Default::default()).unwrap();
    let vector = |items: ItemVectors| {
        let similar = alike(items);
        let place = similar.ids().position(|id| id == "boots").unwrap();
        similar.neighbours().vectors().row(place).to_vec()
    };
    assert_eq!(vector(all), vector(one), "it depends on no other item");
    let error = embedded(&of(2, &folder), &items).unwrap_err();
    assert!(error.starts_with("models.alike.encoder.dim: ") && error.contains("384 dimensions, not 2"), "{error}");
    let error = embedded(&of(384, "/nowhere"), &items).unwrap_err();
    assert!(error.starts_with("models.alike.encoder.model: ") && error.contains("/nowhere"), "{error}");
}
