//! Python clients against the program: those of others, as PyPI has them, our own, and schemathesis, which sends what the
//! description of the interface allows and what it does not.

use rankwright_e2e::Service;
use rankwright_e2e::program::{Ended, clean, models, models_for_tests, run};
use std::path::{Path, PathBuf};
use std::process::Command;

const CONFIG: &str = "
state: {type: memory}
models:
  none: {type: noop}
inference:
  exact: {type: bi-encoder, model: test/minilm-f32, dim: 384}
  small: {type: bi-encoder, model: test/minilm-int8, dim: 384}
  words: {type: bi-encoder, model: test/minilm-int8, dim: 384}
  pairs: {type: cross-encoder, model: test/minilm-cross}
";

/// An interpreter with the packages of `e2e/python`. Without it a test is skipped, or fails where `RANKWRIGHT_REQUIRE_ALL` is 1.
fn python() -> Option<PathBuf> {
    let python = std::env::var_os("RANKWRIGHT_TEST_PYTHON").map(PathBuf::from);
    if python.is_none() {
        assert!(std::env::var("RANKWRIGHT_REQUIRE_ALL").as_deref() != Ok("1"), "RANKWRIGHT_TEST_PYTHON is not set");
        println!("SKIPPED: RANKWRIGHT_TEST_PYTHON names no interpreter made by e2e/python/install.sh");
    }
    python
}

const SHOP: &str = "
state: {type: memory}
api: {token: secret, host: 127.0.0.1, port: 0}
features:
  - {name: price, type: number, field: item.price}
  - {name: ctr, type: rate, top: click, bottom: impression, bucket: 24h, periods: [7, 30]}
models:
  shop: {type: lambdamart, backend: {type: xgboost, iterations: 10, seed: 1}, weights: {click: 1}, features: [price, ctr]}
  plain: {type: noop}
  similar: {type: als, interactions: [click]}
";

/// A file or folder of the repository.
fn of_repository(path: &str) -> PathBuf {
    Path::new("..").join(path).canonicalize().unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Runs a command in a folder of its own, and expects success of it.
fn succeeds(mut command: Command, folder: &Path, service: &Service) {
    let ended = Ended::of(command.current_dir(folder).env("PYTHONDONTWRITEBYTECODE", "1"));
    println!("{}", ended.stdout);
    assert_eq!(ended.code, Some(0), "{}{}\n{}", ended.stdout, ended.stderr, service.log());
}

#[test]
fn cohere_and_openai_are_answered_with_what_onnx_runtime_computes() {
    let (Some(models), Some(python)) = (models_for_tests(), python()) else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let service = Service::serve(CONFIG, folder.path());
    let mut command = clean(Command::new(python));
    command.arg(of_repository("e2e/python/clients.py")).arg(service.address().to_string()).arg(models);
    succeeds(command, folder.path(), &service);
}

#[test]
fn our_python_client_trains_ranks_and_repeats_what_is_lost_on_the_way() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let service = Service::serve(SHOP, folder.path());
    let client = of_repository("clients/python");
    let mut command = clean(Command::new(python));
    command.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]).arg(client.join("tests"));
    command.env("PYTHONPATH", client.join("src")).env("RANKWRIGHT_URL", format!("http://{}", service.address()));
    succeeds(command, folder.path(), &service);
}

#[test]
fn our_python_client_is_typed_and_installs() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let client = of_repository("clients/python");
    let succeeds = |command: &mut Command| {
        let ended = Ended::of(command.env("PYTHONDONTWRITEBYTECODE", "1"));
        assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    };
    let of_python = |arguments: &[&str]| {
        let mut command = clean(Command::new(&python));
        command.args(arguments);
        command
    };
    let (types, installed) = (folder.path().join("types"), folder.path().join("installed"));
    succeeds(of_python(&["-m", "mypy", "--cache-dir"]).arg(types).current_dir(&client)); // as its pyproject.toml says
    let install = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--target"];
    succeeds(of_python(&install).arg(&installed).arg(&client));
    assert!(installed.join("rankwright/py.typed").is_file(), "its users see its types");
    let import = "import rankwright; rankwright.Client; rankwright.AsyncClient";
    succeeds(of_python(&["-c", import]).env("PYTHONPATH", &installed).current_dir(folder.path()));
}

#[test]
fn every_sample_configuration_fits_the_schema_and_none_does_with_a_misspelt_key() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let schema = folder.path().join("schema.json");
    std::fs::write(&schema, run(&["schema"]).ok().stdout).expect("there is room for temporary files");
    let ended = Ended::of(clean(Command::new(python)).arg(of_repository("e2e/python/schema.py")).arg(&schema)).ok();
    println!("{}", ended.stdout);
}

#[test]
fn schemathesis_finds_nothing() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let texts = CONFIG.split("inference:").nth(1).filter(|_| models().is_some());
    let config = texts.map_or_else(|| SHOP.to_owned(), |texts| format!("{SHOP}inference:{texts}"));
    let service = Service::serve(&config, folder.path());
    let mut command = clean(Command::new(python.with_file_name("st")));
    command.arg("run").arg(format!("http://{}/openapi.json", service.address()));
    command.args(["--checks", "all", "--max-examples", "15", "--seed", "7", "--continue-on-failure", "--no-color"]);
    command.args(["--request-timeout", "120", "--warnings", "off", "-H", "Authorization: Bearer secret"]);
    command.env("SCHEMATHESIS_HOOKS", "openapi_hooks").env("PYTHONPATH", of_repository("e2e/python"));
    succeeds(command, folder.path(), &service);
}
