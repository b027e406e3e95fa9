//! What a process costs, as Linux counts it.

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Ticks in a second, on every Linux that there is.
const TICKS: f64 = 100.0;

/// A process that has ended, and what it took.
#[derive(Debug)]
pub(crate) struct Cost {
    /// Its log.
    pub log: String,
    /// Processor time, all threads.
    pub cpu: f64,
    /// Most resident memory, in MB.
    pub peak: f64,
}

/// Processor time of a process in seconds, of all threads; also of one that has ended and was not waited for.
pub(crate) fn cpu(pid: u32) -> f64 {
    let ticks = stat(pid).map(|fields| [11, 12].map(|at| fields[at].parse::<f64>().unwrap_or(0.0)));
    ticks.map_or(f64::NAN, |[user, system]| (user + system) / TICKS)
}

/// Resident memory of a process in MB, now and at most so far.
pub(crate) fn memory(pid: u32) -> (f64, f64) {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let of = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key));
        line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok()).map_or(0.0, |kib| kib * 1.024e-3)
    };
    (of("VmRSS:"), of("VmHWM:"))
}

/// Fields of `/proc/PID/stat` from the state on.
fn stat(pid: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = text.rsplit_once(") ")?;
    Some(fields.split(' ').map(str::to_owned).collect()).filter(|fields: &Vec<String>| fields.len() > 12)
}

/// Runs a command to its end.
///
/// # Panics
/// When it fails, with its log.
pub(crate) fn run(command: Command) -> Cost {
    let (cost, success) = run_to_any_end(command);
    assert!(success, "the program failed:\n{}", cost.log);
    cost
}

/// Runs a command to its end, and tells whether it was a success.
pub(crate) fn run_to_any_end(mut command: Command) -> (Cost, bool) {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program can be started");
    let (pid, ended, mut log) = (child.id(), AtomicBool::new(false), String::new());
    let mut stderr = child.stderr.take().expect("standard error is a pipe");
    let peak = std::thread::scope(|scope| {
        let sampler = scope.spawn(|| most_memory(pid, &ended));
        // the end of the log is the end of the process, or nearly
        let _ = stderr.read_to_string(&mut log);
        while stat(pid).is_some_and(|fields| fields[0] != "Z") {
            std::thread::sleep(Duration::from_millis(1));
        }
        ended.store(true, Ordering::Relaxed);
        sampler.join().unwrap_or(f64::NAN)
    });
    let cpu = cpu(pid);
    let status = child.wait().expect("a child can be waited for");
    (Cost { log, cpu, peak }, status.success())
}

fn most_memory(pid: u32, ended: &AtomicBool) -> f64 {
    let mut most: f64 = 0.0;
    while !ended.load(Ordering::Relaxed) {
        most = most.max(memory(pid).1);
        std::thread::sleep(Duration::from_millis(50)) // the peak so far is what is read, so seldom is enough;
    }
    most
}
