//! Parts of every version of the format are read as they were meant.
#![allow(clippy::unwrap_used)]

use rankwright_clickthrough::testing::{sample_header, sample_records};
use rankwright_clickthrough::{Clickthrough, Format, Part, read_part};

#[test]
fn the_samples_of_every_version_are_read() {
    for version in 1..=rankwright_clickthrough::part::VERSION {
        for (format, suffix) in [(Format::Binary, "bin"), (Format::Json, "json")] {
            let name = format!("version-{version}.{suffix}");
            let file = std::fs::File::open(format!("samples/{name}")).unwrap();
            let mut part = read_part(Part::new(name.clone(), format, file));
            let records: Vec<Clickthrough> = part.by_ref().map(|entry| entry.unwrap().1).collect();
            assert_eq!(records, sample_records(), "{name}");
            assert_eq!(part.header(), Some(&sample_header()), "{name}");
            assert!(part.losses().is_empty(), "{name}: {:?}", part.losses());
        }
    }
}
