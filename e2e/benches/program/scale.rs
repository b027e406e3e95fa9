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
    let sample = generate(&folder.join("sample"), 10_000, 7);
    let rankings = |events: u64| events * 10_000 / sample.visits;
    let effort = Effort { runs: 1, span: Duration::ZERO };
    for (events, days) in SIZES {
        let shop = folder.join(events.to_string());
        let generated = generate(&shop, rankings(events), days);
        let outcome = imports(&generated.config, &shop.join("events.jsonl.gz"), effort);
        assert_eq!(outcome.events, generated.events, "every event is imported");
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

/// What was generated.
struct Generated {
    config: PathBuf,
    events: u64,
    /// Lists and what was done with them: events that grow with their number.
    visits: u64,
}

/// A shop with its configuration, click-throughs beside it.
fn generate(out: &Path, rankings: u64, days: u64) -> Generated {
    let (rankings, days, folder) = (rankings.to_string(), days.to_string(), out.to_string_lossy());
    let options = ["--items", "20000", "--users", "50000", "--rankings", &rankings, "--days", &days];
    let ended = program::run(&[&["generate", "--out", &folder], &options[..]].concat()).ok();
    // "9 events: 3 of items, 2 of users, 1 rankings,", "2 clicks, 1 purchases; ..."
    let words = ended.stdout.split([' ', '\n']);
    let [events, items, users] = words.filter_map(|word| word.parse().ok()).take(3).collect::<Vec<u64>>()[..] else {
        panic!("the summary has no numbers: {}", ended.stdout)
    };
    let config = out.join("config.yml");
    let text = fs::read_to_string(&config).expect("a configuration was written");
    let store = format!("\ntrain: {{type: file, path: '{}', format: binary}}\n", out.join("clickthroughs").display());
    fs::write(&config, text + &store).expect("the folder can be written to");
    Generated { config, events, visits: events - items - users }
}

/// Megabytes of a folder's files.
fn size(folder: &Path) -> f64 {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let sizes = entries.filter_map(|entry| Some((entry.path(), entry.metadata().ok()?)));
    sizes.map(|(path, data)| if data.is_dir() { size(&path) } else { data.len() as f64 / 1e6 }).sum()
}
