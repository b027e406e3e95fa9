//! What is done with events before an import: sorting and checking them.

use crate::import::{SHORT_RUNS, parse, told};
use crate::load::Load;
use crate::process::{self, Cost};
use crate::table::Table;
use crate::{Effort, median};
use rankwright_e2e::program;
use std::path::Path;

/// Fills the rows on `sort` and `validate`.
pub(crate) fn measure(load: &Load, effort: Effort, folder: &Path, table: &mut Table) {
    let (config, events, out) =
        (load.config_file.to_string_lossy(), load.events.to_string_lossy(), folder.join("sorted.jsonl"));
    let out = out.to_string_lossy();
    let little = ["sort", "--memory", "16MiB", "--data", &events, "--out", &out];
    for (what, took, wanted, arguments) in [
        ("sort, within 16 MiB", "sort took", "200,000", &little[..]),
        ("validate", "validate took", "200,000", &["validate", "--config", &config, "--data", &events]),
    ] {
        // what checks come to makes no difference
        let run = |_| process::run_to_any_end(program::command(arguments)).0;
        let costs: Vec<Cost> = (0..SHORT_RUNS * effort.runs).map(run).collect();
        let rate = |cost: &Cost| told(&cost.log, took, "events") / told(&cost.log, took, "elapsed_ms") * 1e3;
        let of = |part: &dyn Fn(&Cost) -> f64| median(costs.iter().map(part).collect());
        let measured = format!("{:.0} events/s, {:.0} MB at most", of(&rate), of(&|cost| cost.peak));
        let limit = format!("parsing alone {:.0} events/s", parse(&load.events));
        table.add(what, measured, &format!("{wanted} events/s"), limit);
    }
}
