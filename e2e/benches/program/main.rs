//! The whole program under load, beside the limits of the machine: what `./run bench` prints.
//!
//! `full` takes the median of three, `quick` one short pass of each, `scale` imports up to five million
//! events, `shared` has a state in Redis, of which `stream` is the worker on a topic alone; `text` recommends and encodes; `soak` runs for an hour.

mod import;
mod kernels;
mod load;
mod machine;
mod prepare;
mod process;
mod rank;
mod scale;
mod shared;
mod soak;
mod table;
mod texts;
mod wrk;

use load::Load;
use std::num::NonZeroUsize;
use std::time::Duration;
use table::Table;

/// How thoroughly to measure.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    /// Times that each thing is measured; the median counts.
    pub runs: usize,
    /// How long requests are sent for one measurement.
    pub span: Duration,
}

fn main() {
    let mode = std::env::args()
        .find(|argument| ["full", "quick", "scale", "shared", "stream", "soak", "text"].contains(&argument.as_str()));
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    machine::print();
    machine::print_load("start");
    match mode.as_deref() {
        Some(mode @ ("shared" | "stream")) => {
            let load = Load::find(folder.path());
            println!("Data: {}.\n", load.name);
            let effort = Effort { runs: 3, span: Duration::from_secs(8) };
            let measured = match mode {
                "shared" => shared::measure(&load, effort, folder.path()),
                _ => {
                    let workers =
                        std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(NonZeroUsize::MIN);
                    shared::measure_stream(&load, workers.get(), folder.path())
                }
            };
            measured.print();
        }
        Some("soak") => {
            let minutes = std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(60);
            soak::measure(&Load::find(folder.path()), minutes, folder.path());
        }
        Some("text") => {
            let mut table = Table::default();
            texts::measure(Effort { runs: 3, span: Duration::from_secs(8) }, folder.path(), &mut table);
            table.print();
        }
        Some("scale") => scale::measure(folder.path()).print(),
        Some("quick") => measure(Effort { runs: 1, span: Duration::from_secs(2) }, folder.path()).print(),
        _ => measure(Effort { runs: 3, span: Duration::from_secs(8) }, folder.path()).print(),
    }
    machine::print_load("end");
}

fn measure(effort: Effort, folder: &std::path::Path) -> Table {
    let load = Load::find(folder);
    let short = import::SHORT_RUNS * effort.runs;
    println!("Data: {}. Medians of {}, for imports of some half a second of {short}.\n", load.name, effort.runs);
    let mut table = Table::default();
    import::measure(&load, effort, folder, &mut table);
    prepare::measure(&load, effort, folder, &mut table);
    rank::measure(&load, effort, folder, &mut table);
    kernels::report(&mut table);
    table
}

/// The middle of some numbers.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
