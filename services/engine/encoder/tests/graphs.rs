//! What is made of a graph's outputs, with graphs whose numbers can be worked out by hand.
#![allow(missing_docs, dead_code, reason = "a test says what it shows by its name; others use more of what is given")]

#[path = "minilm/given.rs"]
mod given;
#[path = "made/graph.rs"]
mod graph;

use graph::{Attribute, FLOAT, INT64, Made};
use rankwright_encoder::{EncodeError, Encoder, FileNames, Files, ModelError, Pooling, Settings, Task};
use std::fs;

/// Each word is a number.
const TOKENIZER: &str = r#"{
    "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
    "pre_tokenizer": {"type": "WhitespaceSplit"}, "decoder": null,
    "post_processor": {"type": "TemplateProcessing", "special_tokens": {}, "single": [{"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}]},
    "model": {"type": "WordLevel", "vocab": {"[PAD]": 0, "one": 1, "two": 2, "three": 3, "four": 4}, "unk_token": "three"}
}"#;

const PLAIN: [&str; 2] = ["input_ids", "attention_mask"];
const WITH_TYPES: [&str; 3] = ["input_ids", "attention_mask", "token_type_ids"];

/// The numbers of tokens as floats, in `ids`.
fn numbers(inputs: &[&str]) -> Made {
    Made::of(INT64, inputs).node("Cast", &["input_ids"], "ids", &[("to", Attribute::Int(FLOAT))])
}

/// Each token is its number and the square of it.
fn tokens(output: &str) -> Made {
    let wide = [("axes", Attribute::Ints(2))];
    let axis = [("axis", Attribute::Int(2))];
    numbers(&PLAIN).node("Unsqueeze", &["ids"], "wide", &wide).node("Mul", &["wide", "wide"], "squares", &[]).node(
        "Concat",
        &["wide", "squares"],
        output,
        &axis,
    )
}

/// The sum of all tokens of a row in `all`, and of those of the second text in `second`.
fn sums() -> Made {
    let over = || [("axes", Attribute::Ints(1)), ("keepdims", Attribute::Int(0))];
    numbers(&WITH_TYPES)
        .node("Cast", &["token_type_ids"], "types", &[("to", Attribute::Int(FLOAT))])
        .node("Mul", &["ids", "types"], "others", &[])
        .node("ReduceSum", &["ids"], "all", &over())
        .node("ReduceSum", &["others"], "second", &over())
}

fn opened(made: &Made, settings: Settings, files: &[(&str, &str)]) -> Option<Result<Encoder, ModelError>> {
    let (runtime, folder) = (given::runtime()?, tempfile::tempdir().expect("a folder is made"));
    let write = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder is made");
        fs::write(path, content).expect("a file is written");
    };
    write("model.onnx", &made.file());
    write("tokenizer.json", TOKENIZER.as_bytes());
    files.iter().for_each(|(name, content)| write(name, content.as_bytes()));
    let files = Files::of(folder.path(), &FileNames::default()).expect("both are there");
    Some(Encoder::open(&runtime, &files, settings))
}

fn as_it_is() -> Settings {
    Settings { normalize: Some(false), threads: 1, ..Settings::default() }
}

fn embeddings(encoder: &Encoder, texts: &[&str]) -> Vec<Vec<f32>> {
    let vectors = encoder.embed(texts, None).expect("all are computed");
    vectors.iter().map(|vector| vector.to_vec()).collect()
}

fn of_tokens(settings: Settings, files: &[(&str, &str)]) -> Option<Encoder> {
    let made = tokens("last_hidden_state").output("last_hidden_state", FLOAT, &["rows", "width", "dim"]);
    Some(opened(&made, settings, files)?.expect("the graph is opened"))
}

#[test]
fn the_mean_is_that_of_a_texts_own_tokens_however_long_others_are() {
    let Some(encoder) = of_tokens(as_it_is(), &[]) else { return };
    assert_eq!((encoder.task(), encoder.dim()), (Task::Embed, 2));
    let found = embeddings(&encoder, &["one three", "one two three four", "four"]);
    assert_eq!(found, [[2.0, 5.0], [2.5, 7.5], [4.0, 16.0]]);
}

#[test]
fn cls_is_the_first_token() {
    let Some(encoder) = of_tokens(Settings { pooling: Some(Pooling::Cls), ..as_it_is() }, &[]) else { return };
    let texts = ["one three", "four one two", "two"];
    assert_eq!(embeddings(&encoder, &texts), [[1.0, 1.0], [4.0, 16.0], [2.0, 4.0]]);
    let pooling = [("1_Pooling/config.json", r#"{"pooling_mode_cls_token": true}"#)];
    let by_file = of_tokens(as_it_is(), &pooling).expect("ONNX Runtime is there");
    assert_eq!(embeddings(&by_file, &texts), embeddings(&encoder, &texts));
    let mean = of_tokens(as_it_is(), &[]).expect("ONNX Runtime is there");
    assert!(encoder.digest() == by_file.digest() && encoder.digest() != mean.digest(), "results depend on it");
}

#[test]
fn an_embedding_is_brought_to_a_length_of_one_after_its_tokens_are_pooled() {
    let Some(encoder) = of_tokens(Settings { normalize: None, ..as_it_is() }, &[]) else { return };
    let found = &embeddings(&encoder, &["one three"])[0]; // 2, 5
    let expected = [2.0 / 29.0_f32.sqrt(), 5.0 / 29.0_f32.sqrt()];
    assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-6), "{found:?}");
}

#[test]
fn a_text_is_cut_to_the_tokens_that_a_model_takes() {
    let Some(encoder) = of_tokens(Settings { max_tokens: Some(8), ..as_it_is() }, &[]) else { return };
    let long = format!("four {}", "one ".repeat(50));
    assert_eq!(embeddings(&encoder, &[&long, ""]), [[11.0 / 8.0, 23.0 / 8.0], [0.0, 0.0]]);
}

#[test]
fn a_call_with_a_text_that_the_tokenizer_refuses_fails_and_is_counted() {
    let strict = TOKENIZER.replace("\"unk_token\": \"three\"", "\"unk_token\": \"none\"");
    let Some(encoder) = of_tokens(as_it_is(), &[("tokenizer.json", &strict)]) else { return };
    assert_eq!((encoder.embed(&["one"], None).is_ok(), encoder.failures()), (true, 0));
    let failed = encoder.embed(&["two", "five"], None);
    assert!(matches!(failed, Err(EncodeError::Failed { .. })), "{failed:?}");
    assert_eq!((encoder.embed(&["two"], None).is_ok(), encoder.failures()), (true, 1));
}

#[test]
fn a_graph_that_pools_itself_gives_the_embedding() {
    let over = [("axes", Attribute::Ints(1)), ("keepdims", Attribute::Int(0))];
    let made = tokens("tokens").node("ReduceMean", &["tokens"], "sentence_embedding", &over);
    let made = made.output("sentence_embedding", FLOAT, &["rows", "dim"]);
    let Some(encoder) = opened(&made, Settings { batch: 1, ..as_it_is() }, &[]) else { return };
    let encoder = encoder.expect("the graph is opened");
    assert_eq!(embeddings(&encoder, &["one three", "four"]), [[2.0, 5.0], [4.0, 16.0]]);
}

#[test]
fn only_a_graph_that_pools_itself_may_have_modules_that_are_not_computed_here() {
    let modules = [("modules.json", r#"[{"type": "sentence_transformers.models.Dense"}]"#)];
    let made = tokens("last_hidden_state").output("last_hidden_state", FLOAT, &["rows", "width", "dim"]);
    let Some(refused) = opened(&made, as_it_is(), &modules) else { return };
    let told = refused.err().expect("it is refused").to_string();
    assert!(told.contains("modules.json asks for the module Dense, "), "{told}");
    let over = [("axes", Attribute::Ints(1)), ("keepdims", Attribute::Int(0))];
    let made = tokens("tokens").node("ReduceMean", &["tokens"], "sentence_embedding", &over);
    let made = made.output("sentence_embedding", FLOAT, &["rows", "dim"]);
    opened(&made, as_it_is(), &modules).expect("ONNX Runtime is there").expect("the graph is opened");
}

#[test]
fn a_score_is_one_number_or_how_much_a_yes_outweighs_a_no() {
    let one = sums().node("Identity", &["second"], "logits", &[]).output("logits", FLOAT, &["rows"]);
    let Some(encoder) = opened(&one, as_it_is(), &[]) else { return };
    let encoder = encoder.expect("the graph is opened");
    let pairs = [("one two", "four"), ("four", "one two"), ("three", "")];
    assert_eq!((encoder.task(), encoder.score(&pairs, None)), (Task::Score, Ok(vec![4.0, 3.0, 0.0])));
    let last = || [("axes", Attribute::Ints(1))];
    let two = sums()
        .node("Unsqueeze", &["all"], "no", &last())
        .node("Unsqueeze", &["second"], "yes", &last())
        .node("Concat", &["no", "yes"], "logits", &[("axis", Attribute::Int(1))])
        .output("logits", FLOAT, &["rows", "classes"]);
    let encoder = opened(&two, as_it_is(), &[]).expect("ONNX Runtime is there").expect("the graph is opened");
    assert_eq!(encoder.score(&pairs, None), Ok(vec![-3.0, -4.0, -3.0]));
}

#[test]
fn an_output_of_another_shape_is_refused_with_it() {
    let flat = numbers(&PLAIN).node("Identity", &["ids"], "last_hidden_state", &[]);
    let flat = flat.output("last_hidden_state", FLOAT, &["rows", "width"]);
    let over_rows = [("axes", Attribute::Ints(0)), ("keepdims", Attribute::Int(0))];
    let turned = numbers(&PLAIN).node("ReduceSum", &["ids"], "logits", &over_rows).output("logits", FLOAT, &["rows"]);
    for (made, expected) in [
        (flat, "last_hidden_state came in the shape [1, 1] for 1 rows"),
        (turned, "logits came in the shape [2] for 1 rows"),
    ] {
        let Some(refused) = opened(&made, as_it_is(), &[]) else { return };
        let error = refused.err().expect("the shape is wrong");
        let told = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        assert!(told.contains(expected), "{error}: {told}");
    }
}
