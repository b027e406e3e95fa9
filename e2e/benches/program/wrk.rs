//! Sending requests as fast as they are answered: `wrk`, one thread.

use crate::{Effort, median};
use std::fmt::Write;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// What a server did under load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Figures {
    /// Milliseconds within which half of the answers came.
    pub p50: f64,
    /// 99 of a hundred did.
    pub p99: f64,
    /// Answers a second.
    pub rate: f64,
    /// The server's processor time for one, in milliseconds.
    pub cpu: f64,
}

/// Sends these bodies in turn to a path, over some connections; warms up first.
pub(crate) fn load(
    address: SocketAddr,
    pid: u32,
    path: &str,
    bodies: &[String],
    connections: usize,
    effort: Effort,
    folder: &Path,
) -> Figures {
    let script = folder.join("requests.lua");
    fs::write(&script, lua(path, bodies)).expect("the folder can be written to");
    let send = |span: Duration| wrk(address, &script, connections, span);
    send(Duration::from_secs(2));
    let runs: Vec<Figures> = (0..effort.runs)
        .map(|_| {
            let before = crate::process::cpu(pid);
            let (figures, requests) = send(effort.span);
            Figures { cpu: (crate::process::cpu(pid) - before) / requests * 1e3, ..figures }
        })
        .collect();
    median_of(&runs)
}

/// The medians of each figure.
pub(crate) fn median_of(runs: &[Figures]) -> Figures {
    let of = |part: fn(&Figures) -> f64| median(runs.iter().map(part).collect());
    Figures { p50: of(|run| run.p50), p99: of(|run| run.p99), rate: of(|run| run.rate), cpu: of(|run| run.cpu) }
}

/// A script with all requests ready to be sent.
fn lua(path: &str, bodies: &[String]) -> String {
    let mut script = "local headers = {['content-type'] = 'application/json'}\nlocal bodies = {\n".to_owned();
    for body in bodies {
        // ids and numbers need no escapes in a long bracket
        writeln!(script, "[==[{body}]==],").expect("a string takes any text");
    }
    let rest = "}\nlocal requests, at = {}, 0\nfunction init()\n  for i, body in ipairs(bodies) do\n    \
        requests[i] = wrk.format('POST', 'PATH', headers, body)\n  end\nend\nfunction request()\n  \
        at = at % #requests + 1\n  return requests[at]\nend\n";
    script + &rest.replace("PATH", path)
}

/// Figures without processor time, and the number of requests.
fn wrk(address: SocketAddr, script: &Path, connections: usize, span: Duration) -> (Figures, f64) {
    let mut command = Command::new("wrk");
    command.args(["--threads", "1", "--latency", "--connections", &connections.to_string()]);
    command.arg("--duration").arg(format!("{}s", span.as_secs())).arg("--script").arg(script);
    let output = command.arg(format!("http://{address}")).output().expect("wrk is installed");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && !text.contains("Non-2xx"), "{text}");
    let after = |key: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(key));
        line.unwrap_or_else(|| panic!("no {key} in\n{text}")).trim().to_owned()
    };
    let requests = text.lines().find(|line| line.contains(" requests in "));
    let requests = requests.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(f64::NAN);
    let rate = after("Requests/sec:").parse().unwrap_or(f64::NAN);
    (Figures { p50: millis(&after("50%")), p99: millis(&after("99%")), rate, cpu: f64::NAN }, requests)
}

/// `1.25ms`, `730.00us` and `2.00s` in milliseconds.
fn millis(text: &str) -> f64 {
    let units = [("us", 1e-3), ("ms", 1.0), ("s", 1e3)];
    let found = units.iter().find_map(|(unit, factor)| Some(text.strip_suffix(unit)?.parse::<f64>().ok()? * factor));
    found.unwrap_or(f64::NAN)
}
