//! Stores and streams that refuse, are not there, or are of another version: each program says in one line what to change,
//! ends with 1, and leaves everything as it was. Those that are away are waited for, or tried again.

mod away;
mod refused;

use rankwright_e2e::many::FEATURES;
use rankwright_e2e::redis::Redis;
use rankwright_e2e::said::Said;

/// Starts of lines by which a program shows that it goes on, which none of these may.
pub(crate) const GOES_ON: [&str; 2] = ["serving address=", "waiting for the"];

/// Features and models over this state.
pub(crate) fn over(state: &str) -> String {
    let model = "  m: {type: lambdamart, backend: lightgbm, weights: {click: 1}, features: [clicks]}";
    format!("state: {{{state}}}\n{FEATURES}{model}\n")
}

pub(crate) fn plain(redis: &Redis) -> String {
    over(&format!("type: redis, {}", redis.keys()))
}

/// Asserts that programs end with one line that has these words.
pub(crate) fn assert_refused(programs: &[&str], config: &str, service: &str, words: &[&str]) {
    for program in programs {
        let said = Said::by(program, config, &[("RANKWRIGHT_SERVICE", service)], &GOES_ON);
        assert_eq!(said.code, Some(1), "{program}: {}", said.text);
        let errors: Vec<&str> = said.text.lines().filter(|line| line.starts_with("error: ")).collect();
        let [line] = errors[..] else { panic!("{program}: {}", said.text) };
        assert!(words.iter().all(|word| line.contains(word)), "{program}: not {words:?} in {line}");
    }
}
