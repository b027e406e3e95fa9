//! ONNX Runtime that is not there, in a process of its own: a library stays open once it is.

use rankwright_encoder::{Runtime, RuntimeError};
use std::fs;

#[test]
fn the_error_for_a_missing_library_says_what_to_do() {
    if std::env::var_os("RANKWRIGHT_ONNXRUNTIME").is_some() {
        eprintln!("SKIPPED: RANKWRIGHT_ONNXRUNTIME is set");
        return;
    }
    let cache = tempfile::tempdir().expect("a folder is made");
    match Runtime::open(cache.path()) {
        Ok(_) => eprintln!("SKIPPED: the system has ONNX Runtime"),
        Err(error) => {
            let text = error.to_string();
            assert!(matches!(error, RuntimeError::Missing { .. }), "{error}");
            for part in ["onnxruntime==1.31.1", "RANKWRIGHT_ONNXRUNTIME", &cache.path().display().to_string()] {
                assert!(text.contains(part), "{text}");
            }
        }
    }
    let folder = cache.path().join("onnxruntime");
    fs::create_dir(&folder).expect("a folder is made");
    fs::write(folder.join("libonnxruntime.so"), "no library").expect("a file is written");
    if let Err(error) = Runtime::open(cache.path()) {
        assert!(error.to_string().starts_with("failed to open ONNX Runtime from "), "{error}");
    }
}
