//! How long a part takes to write and to read: 8,773 rankings of 24 items with 28 columns.
#![allow(missing_docs)]

use divan::{Bencher, counter::BytesCount};
use rankwright_clickthrough::part::Encoder;
use rankwright_clickthrough::testing::{header, ranking};
use rankwright_clickthrough::{Clickthrough, Format, Part, read_part};

const RANKINGS: u64 = 8773;
const ITEMS: usize = 24;
const COLUMNS: usize = 28;

fn main() {
    for format in [Format::Binary, Format::Json] {
        println!("{format:?}: {} bytes", encode(format, &records()).len());
    }
    divan::main();
}

fn records() -> Vec<Clickthrough> {
    (0..RANKINGS).map(|number| ranking(number, ITEMS, COLUMNS)).collect()
}

fn encode(format: Format, records: &[Clickthrough]) -> Vec<u8> {
    let mut encoder = Encoder::new(format, header(COLUMNS));
    let mut part = encoder.head().expect("headers can be written");
    for (place, record) in records.iter().enumerate() {
        encoder.push(record).expect("the record has the header's columns");
        if encoder.is_full() || place + 1 == records.len() {
            let block = encoder.take().expect("blocks can be packed");
            part.extend(block.expect("a record was pushed").bytes);
        }
    }
    part
}

#[divan::bench(args = [Format::Binary, Format::Json], sample_count = 20)]
fn write(bencher: Bencher, format: Format) {
    let records = records();
    bencher.counter(BytesCount::new(values())).bench_local(|| encode(format, &records));
}

#[divan::bench(args = [Format::Binary, Format::Json], sample_count = 20)]
fn read(bencher: Bencher, format: Format) {
    let part = encode(format, &records());
    bencher.counter(BytesCount::new(values())).bench_local(|| {
        let part = Part::new("part", format, std::io::Cursor::new(part.clone()));
        read_part(part).filter(|entry| entry.is_ok()).count()
    });
}

fn values() -> usize {
    4 * RANKINGS as usize * ITEMS * COLUMNS
}
