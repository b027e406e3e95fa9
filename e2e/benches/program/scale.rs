//! Import of up to five million generated events, click-throughs in files: does time grow with events, and memory not?

use crate::Effort;
use crate::import::imports;
use crate::table::Table;
use rankwright_e2e::program;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Events wanted, and over how many days: as dense in time at every size.
const SIZES: [(u64, u64); 3] = [(1_000_000, 7), (2_500_000, 18), (5_000_000, 35)];

/// One import of each size.
pub(crate) fn measure(folder: &Path) -> Table {
    let mut table = Table::default();
    let sample = generate(&folder.join("sample"), 10_000, 7).1;
    let rankings = |events: u64| events * 10_000 / sample;
    let effort = Effort { runs: 1, span: Duration::ZERO };
    for (events, days) in SIZES {
        let shop = folder.join(events.to_string());
        let (config, generated) = generate(&shop, rankings(events), days);
        let outcome = imports(&config, &shop.join("events.jsonl.gz"), effort);
        assert_eq!(outcome.events, generated, "every event is imported");
        let parts = size(&shop.join("clickthroughs"));
        let measured = format!(
            "{} events: {:.0} events/s, {:.1} CPU s, {:.0} MB at most, {parts:.0} MB of click-throughs",
            outcome.events, outcome.rate, outcome.cpu, outcome.peak
        );
        let limit = format!("parsing alone {:.0} events/s", outcome.parsing);
        table.add(&format!("import of {events} events"), measured, "linear, under 2,000 MB", limit);
        // the larger ones need the room
        fs::remove_dir_all(&shop).expect("the folder can be removed");
    }
    table
}

/// A shop with its configuration, click-throughs beside it, and the number of its events.
fn generate(out: &Path, rankings: u64, days: u64) -> (PathBuf, u64) {
    let (rankings, days, folder) = (rankings.to_string(), days.to_string(), out.to_string_lossy());
    let options = ["--items", "20000", "--users", "50000", "--rankings", &rankings, "--days", &days];
    let ended = program::run(&[&["generate", "--out", &folder], &options[..]].concat()).ok();
    let count = ended.stdout.split(' ').next().and_then(|count| count.parse().ok());
    let config = out.join("config.yml");
    let text = fs::read_to_string(&config).expect("a configuration was written");
    let store = format!("\ntrain: {{type: file, path: '{}', format: binary}}\n", out.join("clickthroughs").display());
    fs::write(&config, text + &store).expect("the folder can be written to");
    (config, count.expect("the number of events comes first"))
}

/// Megabytes of a folder's files.
fn size(folder: &Path) -> f64 {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let sizes = entries.filter_map(|entry| Some((entry.path(), entry.metadata().ok()?)));
    sizes.map(|(path, data)| if data.is_dir() { size(&path) } else { data.len() as f64 / 1e6 }).sum()
}
