//! Clients of others, as PyPI has them, against the program.

use rankwright_e2e::Service;
use rankwright_e2e::program::{clean, models_for_tests};
use std::path::{Path, PathBuf};
use std::process::Command;

const CONFIG: &str = "
state: {type: memory}
models:
  none: {type: noop}
inference:
  exact: {type: bi-encoder, model: test/minilm-f32, dim: 384}
  small: {type: bi-encoder, model: test/minilm-int8, dim: 384}
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

#[test]
fn cohere_and_openai_are_answered_with_what_onnx_runtime_computes() {
    let (Some(models), Some(python)) = (models_for_tests(), python()) else { return };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let service = Service::serve(CONFIG, folder.path());
    let script = Path::new("python/clients.py").canonicalize().expect("it is in the repository");
    let mut command = clean(Command::new(python));
    command.arg(script).arg(service.address().to_string()).arg(models).current_dir(folder.path());
    let said = command.env("PYTHONDONTWRITEBYTECODE", "1").output().expect("the interpreter can be started");
    let [out, error] = [said.stdout, said.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    println!("{out}");
    assert!(said.status.success(), "{out}{error}\n{}", service.log());
}
