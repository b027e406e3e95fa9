//! Feeds one target, which `RANKWRIGHT_FUZZ_TARGET` names, with bytes that libFuzzer chooses by what they reach.
#![no_main]
#![allow(unsafe_code, reason = "libFuzzer calls the program by a C function")]

use rankwright_fuzz::{TARGETS, Target};
use std::sync::OnceLock;

fn chosen() -> &'static Target {
    static CHOSEN: OnceLock<&Target> = OnceLock::new();
    CHOSEN.get_or_init(|| {
        let name = std::env::var("RANKWRIGHT_FUZZ_TARGET").unwrap_or_default();
        let found = TARGETS.iter().find(|target| target.name == name);
        found.unwrap_or_else(|| panic!("RANKWRIGHT_FUZZ_TARGET names no target: {name:?}"))
    })
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drop((chosen().run)(bytes)));
