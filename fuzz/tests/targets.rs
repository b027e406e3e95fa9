//! A few thousand executions of each target, of bytes that differ a little from good ones; `./run fuzz` runs many more, by coverage.
#![allow(missing_docs, reason = "a test says what it shows by its name")]

use rankwright_fuzz::TARGETS;

/// Time for all of it is a few seconds.
const RUNS: usize = 3000;

/// Words that mean something to one format or another.
const WORDS: [&str; 12] =
    ["null", "-1", "1e309", "18446744073709551616", "\"", "{", "]", "\u{0}", "NaN", "\\ud800", "\r\n", "\u{202e}"];

/// Changes some bytes: overwrites, removes, doubles, puts words in, cuts.
fn changed(random: &mut fastrand::Rng, seed: &[u8]) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..random.usize(1..6) {
        let at = random.usize(..=bytes.len());
        let end = (at + random.usize(..8)).min(bytes.len());
        match random.u8(..6) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.u8(..8),
            1 => drop(bytes.drain(at..end)),
            2 => bytes.extend_from_within(at..end),
            3 => drop(bytes.splice(at..at, WORDS[random.usize(..WORDS.len())].bytes())),
            4 => bytes.truncate(at),
            _ => drop(bytes.splice(at..end, std::iter::repeat_with(|| random.u8(..)).take(3))),
        }
    }
    bytes
}

#[test]
fn every_target_takes_its_seeds_and_survives_what_differs_from_them() {
    for target in &TARGETS {
        let seeds = (target.seeds)();
        assert!(!seeds.is_empty(), "{}", target.name);
        let mut random = fastrand::Rng::with_seed(7);
        for seed in &seeds {
            assert!((target.run)(seed), "{} does not take {}", target.name, seed.escape_ascii());
        }
        for _ in 0..RUNS {
            let seed = random.usize(..seeds.len());
            let bytes = changed(&mut random, &seeds[seed]);
            let survived = std::panic::catch_unwind(|| (target.run)(&bytes));
            assert!(survived.is_ok(), "{} on {:?}", target.name, bytes.escape_ascii().to_string());
        }
    }
}

#[test]
fn each_target_has_a_name_of_its_own() {
    let names: std::collections::BTreeSet<_> = TARGETS.iter().map(|target| target.name).collect();
    assert_eq!(names.len(), TARGETS.len());
}
