//! Has the programs look for the boosters' libraries where the training crate found them.

use std::env;

fn main() {
    let path = env::var("DEP_BOOSTERS_RPATH").expect("the training crate's build script says it");
    println!("cargo:rustc-link-arg={path}");
}
