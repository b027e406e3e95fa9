//! How training threads wait, which the environment of the process decides.
#![cfg(target_os = "linux")]

use rankwright_e2e::Launch;

const CONFIG: &str = "models: {none: {type: noop}}";

fn environment(more: &[(&str, &str)]) -> Vec<String> {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let mut environment = vec![("OMP_WAIT_POLICY", ""), ("GOMP_SPINCOUNT", "")];
    environment.retain(|(name, _)| more.iter().all(|(other, _)| other != name));
    let environment = [environment.as_slice(), more].concat();
    let launch =
        Launch { subcommand: "serve", config: CONFIG, data: None, folder: folder.path(), environment: &environment };
    let service = launch.start();
    let text = std::fs::read(format!("/proc/{}/environ", service.pid())).expect("our own process");
    let all = String::from_utf8_lossy(&text).into_owned();
    let waiting = all.split('\0').filter(|entry| entry.starts_with("OMP_WAIT") || entry.starts_with("GOMP_SPIN"));
    waiting.map(str::to_owned).collect()
}

#[test]
fn threads_that_wait_spin_for_a_moment_and_then_sleep() {
    let mut found = environment(&[]);
    found.sort();
    assert_eq!(found, ["GOMP_SPINCOUNT=10000", "OMP_WAIT_POLICY=passive"]);
}

#[test]
fn what_the_environment_says_of_it_stays() {
    let found = environment(&[("GOMP_SPINCOUNT", "7")]);
    assert!(found.contains(&"GOMP_SPINCOUNT=7".to_owned()), "{found:?}");
}
