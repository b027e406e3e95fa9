//! The most memory that `sort` and `validate` take over many events, as Linux counts it.

use rankwright_e2e::Ended;
use rankwright_e2e::folder::folder;
use rankwright_e2e::program::{self, run};
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

/// The most resident memory of a run that ends well, in MB. What it adds within its last 5 ms is missed.
fn most_memory(arguments: &[&str]) -> f64 {
    let child = program::command(arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let child = child.expect("the program can be started");
    let status = format!("/proc/{}/status", child.id());
    let high_water = move || -> Option<f64> {
        let text = std::fs::read_to_string(&status).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        Some(line.split_whitespace().next()?.parse::<f64>().ok()? * 1.024e-3)
    };
    let sampler = std::thread::spawn(move || {
        let mut most = 0.0;
        // one that has ended has no memory
        while let Some(now) = high_water() {
            most = now;
            sleep(Duration::from_millis(5));
        }
        most
    });
    Ended::of_running(child).ok();
    sampler.join().expect("the sampler does not panic")
}

#[test]
fn sort_and_validate_take_less_memory_than_the_events_have_bytes() {
    let folder = folder();
    let place = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (data, config, out) = (place("events.jsonl"), place("config.yml"), place("sorted.jsonl.zst"));
    run(&["generate", "--plain", "--rankings", "100000", "--out", &folder.path().to_string_lossy()]).ok();
    let size = std::fs::metadata(&data).expect("was written").len() as f64 / 1e6;
    assert!(size > 200.0, "{size:.0} MB are too few");
    let sort = most_memory(&["sort", "--memory", "16MiB", "--data", &data, "--out", &out]);
    let validate = most_memory(&["validate", "--config", &config, "--data", &data]);
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get()) as f64; // each unpacks or packs some blocks
    println!("of {size:.0} MB: sort {sort:.0} MB, validate {validate:.0} MB");
    assert!((5.0..70.0 + 5.0 * cores).contains(&sort), "sort took {sort:.0} MB");
    assert!((5.0..150.0 + 5.0 * cores).contains(&validate), "validate took {validate:.0} MB");
}
