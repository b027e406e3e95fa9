//! Writes the sample parts of the present format version, once: `cargo run -p rankwright-clickthrough --example samples`.
//!
//! They stay in the repository for good, and every later version has to read them.

use rankwright_clickthrough::Format;
use rankwright_clickthrough::part::{Encoder, VERSION};
use rankwright_clickthrough::testing::{sample_header, sample_records};
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?).join("samples");
    for (format, suffix) in [(Format::Binary, "bin"), (Format::Json, "json")] {
        let mut encoder = Encoder::new(format, sample_header());
        let mut file = File::create_new(folder.join(format!("version-{VERSION}.{suffix}")))?;
        file.write_all(&encoder.head()?)?;
        for record in sample_records() {
            encoder.push(&record)?;
            file.write_all(&encoder.take()?.map(|block| block.bytes).unwrap_or_default())?;
        }
    }
    Ok(())
}
