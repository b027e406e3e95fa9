//! Models that cannot be used, and what is said of them.

#![allow(dead_code)] // other tests use more of what is given

#[path = "minilm/given.rs"]
mod given;
#[path = "made/graph.rs"]
mod graph;

use graph::{INT32, INT64, Made};
use rankwright_encoder::{Encoder, FileNames, Files, Settings};
use std::fs;
use std::path::Path;

/// What is said of a model that is the 8-bit MiniLM but for what `change` does to its folder.
fn refusal(settings: Settings, change: impl FnOnce(&Path)) -> Option<String> {
    let (runtime, files) = (given::runtime()?, given::files("minilm-int8")?);
    let folder = tempfile::tempdir().expect("a folder is made");
    for from in [&files.model, &files.tokenizer] {
        fs::copy(from, folder.path().join(from.file_name().expect("it has a name"))).expect("it is copied");
    }
    change(folder.path());
    let error = match Files::of(folder.path(), &FileNames::default()) {
        Err(error) => error.to_string(),
        Ok(files) => match Encoder::open(&runtime, &files, settings) {
            Ok(_) => panic!("it was opened"),
            Err(error) => error.to_string(),
        },
    };
    Some(error.replace(&folder.path().display().to_string(), "FOLDER"))
}

fn of(change: impl FnOnce(&Path)) -> Option<String> {
    refusal(Settings::default(), change)
}

fn write(folder: &Path, name: &str, content: impl AsRef<[u8]>) {
    fs::write(folder.join(name), content).expect("a file is written");
}

#[test]
fn a_file_that_is_no_graph() {
    let Some(error) = of(|folder| write(folder, "model.onnx", "<html>not found</html>")) else { return };
    assert_eq!(error, "FOLDER/model.onnx is no ONNX graph, or was cut off (22 bytes)");
}

#[test]
fn an_empty_file() {
    let Some(error) = of(|folder| write(folder, "model.onnx", "")) else { return };
    assert_eq!(error, "FOLDER/model.onnx is no ONNX graph, or was cut off (0 bytes)");
}

#[test]
fn a_graph_that_was_cut_off() {
    let Some(error) = of(|folder| {
        let whole = fs::read(folder.join("model.onnx")).expect("it is there");
        write(folder, "model.onnx", &whole[..whole.len() / 2]);
    }) else {
        return;
    };
    assert_eq!(error, "FOLDER/model.onnx is no ONNX graph, or was cut off (11486185 bytes)");
}

/// The smallest graph: it gives back its inputs, of a type and under names.
fn echo(kind: u64, names: &[(&str, &str)]) -> Vec<u8> {
    let inputs: Vec<&str> = names.iter().map(|(input, _)| *input).collect();
    let echoed = |made: Made, (input, output): &(&str, &str)| {
        made.node("Identity", &[input], output, &[]).output(output, kind, &["rows", "width"])
    };
    names.iter().fold(Made::of(kind, &inputs), echoed).file()
}

#[test]
fn a_graph_that_lacks_an_input() {
    let graph = echo(INT64, &[("input_ids", "logits")]);
    let Some(error) = of(|folder| write(folder, "model.onnx", graph)) else { return };
    assert!(
        error.starts_with("FOLDER/model.onnx takes the inputs input_ids, an encoder takes input_ids, attention"),
        "{error}"
    );
}

#[test]
fn a_graph_that_wants_more() {
    let graph = echo(INT64, &[("input_ids", "logits"), ("attention_mask", "b"), ("pixels", "c")]);
    let Some(error) = of(|folder| write(folder, "model.onnx", graph)) else { return };
    assert!(error.contains("takes the inputs input_ids, attention_mask, pixels"), "{error}");
}

#[test]
fn a_graph_of_other_types() {
    let names = [("input_ids", "logits"), ("attention_mask", "b")];
    let Some(error) = of(|folder| write(folder, "model.onnx", echo(INT32, &names))) else { return };
    assert_eq!(error, "FOLDER/model.onnx: input_ids is i32 and has to be 64-bit integers");
    let Some(error) = of(|folder| write(folder, "model.onnx", echo(INT64, &names))) else { return };
    assert_eq!(error, "FOLDER/model.onnx: logits is i64 and has to be 32-bit floats");
}

#[test]
fn a_graph_without_a_known_output() {
    let graph = echo(INT64, &[("input_ids", "a"), ("attention_mask", "b")]);
    let Some(error) = of(|folder| write(folder, "model.onnx", graph)) else { return };
    assert!(error.starts_with("FOLDER/model.onnx has the outputs a, b, an encoder has one of logits"), "{error}");
}

#[test]
fn a_folder_without_a_tokenizer() {
    let remove = |folder: &Path| fs::remove_file(folder.join("tokenizer.json")).expect("it was there");
    let Some(error) = of(remove) else { return };
    assert_eq!(error, "FOLDER holds no tokenizer.json, a model needs it; it holds model.onnx");
}

#[test]
fn a_tokenizer_that_is_none() {
    for text in ["", "{}", "{\"model\": {\"type\": \"WordPiece\"", "[1]"] {
        let Some(error) = of(|folder| write(folder, "tokenizer.json", text)) else { return };
        assert!(error.starts_with("FOLDER/tokenizer.json is no tokenizer of the tokenizers library: "), "{error}");
    }
}

#[test]
fn embeddings_of_another_size_than_wanted() {
    let Some(error) = refusal(Settings { dim: Some(768), ..Settings::default() }, |_| {}) else { return };
    assert_eq!(error, "FOLDER/model.onnx gives embeddings of 384 dimensions, not 768");
}
