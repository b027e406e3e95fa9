//! Writes the seeds of all targets into folders of their names, for libFuzzer: `rankwright-fuzz-seeds FOLDER`.

use libfuzzer_sys as _; // has what the compiler's counters call
use rankwright_fuzz::TARGETS;
use std::path::Path;

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "corpus".to_owned());
    for target in &TARGETS {
        let folder = Path::new(&folder).join(target.name);
        std::fs::create_dir_all(&folder)?;
        for (number, seed) in (target.seeds)().iter().enumerate() {
            std::fs::write(folder.join(format!("seed-{number}")), seed)?;
        }
        println!("{}", target.name);
    }
    Ok(())
}
