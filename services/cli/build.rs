//! Has the programs look for the boosters' libraries where the training crate found them.

use std::env;

fn main() {
    if let Ok(path) = env::var("DEP_BOOSTERS_RPATH") {
        println!("cargo:rustc-link-arg={path}");
    }
}
