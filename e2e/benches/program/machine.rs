//! What figures depend on: the machine, and what else it is doing.

use std::fs;

/// Prints processor, cores and memory.
pub(crate) fn print() {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let of = |text: &str, key: &str| {
        let line = text.lines().find(|line| line.starts_with(key));
        line.and_then(|line| line.split_once(':')).map_or("unknown".to_owned(), |(_, value)| value.trim().to_owned())
    };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    println!(
        "Machine: {}, {cores} cores, memory {}",
        of(&read("/proc/cpuinfo"), "model name"),
        of(&read("/proc/meminfo"), "MemTotal")
    );
}

/// Prints what else the machine is doing, or what it was made to do.
pub(crate) fn print_load(when: &str) {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("Load average at the {when}: {}", load.split(' ').take(3).collect::<Vec<_>>().join(" "));
}
