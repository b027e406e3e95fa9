#![allow(clippy::unwrap_used)]
use super::*;

/// What opening the models of a configuration fails with.
async fn failure(config: &str) -> String {
    let config = Config::parse(config, "test").unwrap().0;
    let error = Encoders::open(Wanted::of_inference(&config), 8).await.map(|_| ()).unwrap_err();
    format!("{error:#}")
}

/// The folder of real models. Without it a test is skipped, or fails where `RANKWRIGHT_REQUIRE_ALL` is 1.
fn models() -> Option<PathBuf> {
    let folder = env::var_os("RANKWRIGHT_ENCODERS_DIR").map(PathBuf::from).filter(|folder| folder.is_dir());
    if folder.is_none() {
        let missing = "RANKWRIGHT_ENCODERS_DIR names no folder filled by services/engine/encoder/native/fetch.sh";
        assert!(env::var("RANKWRIGHT_REQUIRE_ALL").as_deref() != Ok("1"), "{missing}");
        eprintln!("SKIPPED: {missing}");
    }
    let folder = folder?;
    Runtime::open(&folder).unwrap(); // once per process: others find it
    Some(folder.join("models/test"))
}

#[tokio::test]
async fn a_model_that_is_named_twice_is_opened_once() {
    let Some(models) = models() else { return };
    let model = format!("file://{}/minilm-int8", models.display());
    let text = format!(
        "inference: {{a: {{type: bi-encoder, model: '{model}', dim: 384}}, b: {{type: bi-encoder, model: '{model}'}}}}"
    );
    let config = Config::parse(&text, "test").unwrap().0;
    let encoders = Encoders::open(Wanted::of_inference(&config), 8).await.unwrap();
    let [a, b] = ["a", "b"].map(|name| encoders.get(&config.inference[name].model).unwrap());
    assert!(Arc::ptr_eq(&a, &b));
}

#[tokio::test]
async fn a_model_that_is_not_what_was_configured_is_refused_with_the_path() {
    let Some(models) = models() else { return };
    let of = |what: &str| {
        let folder = models.display();
        format!("inference: {{words: {{{}}}}}", what.replace("DIR", &format!("file://{folder}")))
    };
    for (what, told) in [
        ("type: bi-encoder, model: DIR/minilm-int8, dim: 2", "inference.words.dim: "),
        ("type: cross-encoder, model: DIR/minilm-int8", "computes embeddings: it is a bi-encoder"),
        ("type: bi-encoder, model: DIR/minilm-cross", "computes scores of pairs: it is a cross-encoder"),
        ("type: bi-encoder, model: DIR/nothing", "inference.words.model: the model file://"),
        ("type: bi-encoder, model: DIR/minilm-int8, modelFile: x.onnx", "x.onnx"),
    ] {
        let error = failure(&of(what)).await;
        assert!(error.starts_with("inference.words.") && error.contains(told), "{error}");
    }
}

#[tokio::test]
async fn without_models_nothing_is_opened() {
    let encoders = Encoders::open(Vec::new(), 8).await.unwrap();
    assert!(encoders.open.is_empty());
}

#[tokio::test]
async fn where_only_present_models_are_wanted_none_is_fetched() {
    if models().is_none() {
        return;
    }
    let config = "inference: {words: {type: bi-encoder, model: 's3://no-such-bucket-of-ours/words/'}}";
    let config = Config::parse(config, "test").unwrap().0;
    let error = Encoders::open_present(Wanted::of_inference(&config), 1).await.map(|_| ()).unwrap_err();
    let told = format!("{error:#}");
    assert!(
        told.starts_with("inference.words.model: the model s3://no-such-bucket-of-ours/words/ is not in "),
        "{told}"
    );
    assert!(told.ends_with("; this program does not fetch it"), "{told}");
}
