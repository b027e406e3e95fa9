//! Models that `native/fetch.sh` has put into a folder.

use rankwright_encoder::{Encoder, FileNames, Files, Runtime, Settings};
use std::env;
use std::path::PathBuf;

/// The folder that `RANKWRIGHT_ENCODERS_DIR` names. Without it a test is skipped, or fails where `RANKWRIGHT_REQUIRE_ALL` is 1.
pub(crate) fn folder() -> Option<PathBuf> {
    let folder = env::var_os("RANKWRIGHT_ENCODERS_DIR").map(PathBuf::from).filter(|folder| folder.is_dir());
    if folder.is_none() {
        let missing = "RANKWRIGHT_ENCODERS_DIR names no folder filled by services/engine/encoder/native/fetch.sh";
        assert!(env::var("RANKWRIGHT_REQUIRE_ALL").as_deref() != Ok("1"), "{missing}");
        eprintln!("SKIPPED: {missing}");
    }
    folder
}

pub(crate) fn runtime() -> Option<Runtime> {
    folder().map(|folder| Runtime::open(&folder).expect("ONNX Runtime is opened"))
}

pub(crate) fn files(name: &str) -> Option<Files> {
    let folder = folder()?.join("models/test").join(name);
    Some(Files::of(&folder, &FileNames::default()).expect("the model is there"))
}

pub(crate) fn encoder_with(name: &str, settings: Settings) -> Option<Encoder> {
    Some(Encoder::open(&runtime()?, &files(name)?, settings).expect("the model is opened"))
}

pub(crate) fn encoder(name: &str) -> Option<Encoder> {
    encoder_with(name, Settings::default())
}
