//! Packing of a part as it is stored, around its format: a member of gzip or a frame of Zstandard for every block.
//!
//! Both formats let members follow one another, so that the usual tools unpack the part as a whole, and damage takes
//! one block with it and not all that follows. Where a member is damaged, the unpacked stream has a line that no part
//! has, or the beginning of something where the part was cut: its reader counts and names either.

use super::window::find;
use super::{Format, LIMIT, frame, json};
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
pub(crate) use rankwright_config::train::Compression;
use std::io::{self, ErrorKind, Read, Write};

/// Stands where a member was damaged: neither a frame nor a line, and the end of any line before it.
const DAMAGE: &[u8] = b"\0\n";

/// Packs a block.
pub(crate) fn pack(block: &[u8], packing: Compression, format: Format) -> io::Result<Vec<u8>> {
    // blocks of the binary format are compressed by themselves: the least effort is enough
    let (gzip, zstd) = match format {
        Format::Binary => (flate2::Compression::fast(), 1),
        Format::Json => (flate2::Compression::default(), 3),
    };
    match packing {
        Compression::None => Ok(block.to_vec()),
        Compression::Gzip => {
            let mut encoder = GzEncoder::new(Vec::new(), gzip);
            encoder.write_all(block)?;
            encoder.finish()
        }
        Compression::Zstd => zstd::bulk::compress(block, zstd),
    }
}

/// Packs what a part begins with: the two copies of its header apart, so that damage leaves one.
pub(crate) fn pack_head(head: &[u8], packing: Compression, format: Format) -> io::Result<Vec<u8>> {
    pack(&head[..head.len() / 2], packing, format).map(|once| once.repeat(2))
}

/// The stream that was packed.
pub(crate) fn unpack(
    packed: impl AsRef<[u8]> + Send + 'static,
    packing: Compression,
    format: Format,
) -> Box<dyn Read + Send> {
    match packing {
        Compression::None => Box::new(io::Cursor::new(packed)),
        Compression::Gzip | Compression::Zstd => {
            Box::new(Unpack { packed, at: 0, packing, format, whole: true, ready: io::Cursor::default() })
        }
    }
}

/// Unpacks one member after the other.
struct Unpack<B> {
    packed: B,
    /// Where the next member begins.
    at: usize,
    packing: Compression,
    format: Format,
    /// Whether the last member was.
    whole: bool,
    ready: io::Cursor<Vec<u8>>,
}

impl<B: AsRef<[u8]>> Read for Unpack<B> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.ready.read(into)?;
            if read > 0 || into.is_empty() || self.at == self.packed.as_ref().len() {
                return Ok(read);
            }
            self.ready = io::Cursor::new(self.member());
        }
    }
}

impl<B: AsRef<[u8]>> Unpack<B> {
    /// Unpacks the next member, and moves behind it.
    fn member(&mut self) -> Vec<u8> {
        let rest = &self.packed.as_ref()[self.at..];
        let mut unpacked = Vec::new();
        let outcome = match self.packing {
            Compression::Zstd => of_zstd(rest, &mut unpacked),
            _ => of_gzip(rest, &mut unpacked),
        };
        let whole = outcome.is_ok();
        let length = match outcome {
            Ok(left) => rest.len() - left,
            Err(error) => {
                let next = find(&rest[1..], self.magic()).map(|found| found + 1);
                if self.whole {
                    self.mark(next.is_none() && error.kind() == ErrorKind::UnexpectedEof, &mut unpacked);
                }
                next.unwrap_or(rest.len())
            }
        };
        (self.at, self.whole) = (self.at + length, whole);
        unpacked
    }

    /// Has the reader of the part notice that something is not there.
    fn mark(&self, cut: bool, unpacked: &mut Vec<u8>) {
        let begun = match self.format {
            Format::Binary => frame::MARKER,
            Format::Json => json::MARKER,
        };
        match cut {
            true if unpacked.is_empty() => unpacked.push(begun[0]),
            true => {} // it ends in the middle, or with all of its records
            false => unpacked.extend_from_slice(DAMAGE),
        }
    }

    /// What a member begins with.
    fn magic(&self) -> &'static [u8] {
        match self.packing {
            Compression::Zstd => &[0x28, 0xb5, 0x2f, 0xfd],
            _ => &[0x1f, 0x8b, 0x08, 0x00],
        }
    }
}

/// Unpacks a member as far as it goes; how many bytes follow it.
fn of_gzip(bytes: &[u8], into: &mut Vec<u8>) -> io::Result<usize> {
    let mut decoder = GzDecoder::new(bytes);
    decoder.by_ref().take(MOST).read_to_end(into)?;
    Ok(decoder.into_inner().len())
}

fn of_zstd(bytes: &[u8], into: &mut Vec<u8>) -> io::Result<usize> {
    let mut decoder = zstd::Decoder::with_buffer(bytes)?.single_frame();
    decoder.by_ref().take(MOST).read_to_end(into)?;
    Ok(decoder.finish().len())
}

/// No block of ours is larger.
const MOST: u64 = 2 * LIMIT as u64;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::Clickthrough;
    use crate::part::{Encoder, Part, read_part};
    use crate::testing::{header, ranking};

    const PACKINGS: [Compression; 3] = [Compression::None, Compression::Gzip, Compression::Zstd];

    fn packed(packing: Compression) -> Vec<Vec<u8>> {
        [&b"one\n"[..], b"", b"two\n", b"three\n"].map(|block| pack(block, packing, Format::Json).unwrap()).to_vec()
    }

    fn unpacked(bytes: Vec<u8>, packing: Compression) -> String {
        let mut text = String::new();
        unpack(bytes, packing, Format::Json).read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn blocks_come_back_one_after_the_other() {
        for packing in PACKINGS {
            assert_eq!(unpacked(packed(packing).concat(), packing), "one\ntwo\nthree\n", "{packing:?}");
        }
    }

    #[test]
    fn packed_samples_are_read_by_every_later_version() {
        let read = |bytes: &'static [u8], packing| {
            let mut unpacked = Vec::new();
            unpack(bytes, packing, Format::Binary).read_to_end(&mut unpacked).unwrap();
            unpacked
        };
        let binary = read(include_bytes!("../../samples/version-1.bin.gz"), Compression::Gzip);
        assert!(binary == include_bytes!("../../samples/version-1.bin"));
        let json = read(include_bytes!("../../samples/version-1.json.zst"), Compression::Zstd);
        assert!(json == include_bytes!("../../samples/version-1.json"));
    }

    #[test]
    fn the_usual_decoder_reads_the_part_as_a_whole() {
        let mut text = String::new();
        let gzip = packed(Compression::Gzip).concat();
        flate2::read::MultiGzDecoder::new(&gzip[..]).read_to_string(&mut text).unwrap();
        assert_eq!(text, "one\ntwo\nthree\n");
        assert_eq!(zstd::decode_all(&packed(Compression::Zstd).concat()[..]).unwrap(), text.as_bytes());
    }

    #[test]
    fn a_damaged_block_leaves_a_mark_and_the_others() {
        for packing in [Compression::Gzip, Compression::Zstd] {
            let mut blocks = packed(packing);
            blocks[2][0] ^= 1; // not even its beginning is known
            assert_eq!(unpacked(blocks.concat(), packing), "one\n\0\nthree\n", "{packing:?}");
        }
    }

    #[test]
    fn a_part_cut_within_a_block_ends_with_the_beginning_of_something() {
        for packing in [Compression::Gzip, Compression::Zstd] {
            let blocks = packed(packing);
            let bytes = [&blocks[0][..], &blocks[2][..5]].concat();
            assert_eq!(unpacked(bytes, packing), "one\n{", "{packing:?}");
        }
    }

    /// A part of ten blocks, one record each, and where each block ends.
    fn part(packing: Compression, format: Format) -> (Vec<u8>, Vec<Clickthrough>) {
        let mut encoder = Encoder::new(format, header(2));
        let mut part = pack_head(&encoder.head().unwrap(), packing, format).unwrap();
        let records: Vec<Clickthrough> = (0..10).map(|number| ranking(number, 3, 2)).collect();
        for record in &records {
            encoder.push(record).unwrap();
            part.extend(pack(&encoder.take().unwrap().unwrap().bytes, packing, format).unwrap());
        }
        (part, records)
    }

    /// The records that are read of damaged bytes: some of those written, all of them unless a loss is named.
    fn read_of(bytes: Vec<u8>, packing: Compression, format: Format, written: &[Clickthrough]) -> usize {
        let part = Part::new("part", format, unpack(bytes, packing, format)).with_records(written.len() as u64);
        let mut reader = read_part(part);
        let read: Vec<Clickthrough> = reader.by_ref().map(|entry| entry.unwrap().1).collect();
        assert!(read.iter().all(|record| written.contains(record)), "a record that nobody wrote");
        assert!(read.len() == written.len() || !reader.losses().is_empty(), "a loss without a name");
        read.len()
    }

    #[test]
    fn a_part_cut_anywhere_keeps_the_blocks_before_and_names_the_loss() {
        for (packing, format) in every() {
            let (bytes, written) = part(packing, format);
            let mut before = 0;
            for cut in 0..bytes.len() {
                let read = read_of(bytes[..cut].to_vec(), packing, format, &written);
                assert!(
                    read >= before && written.len() * cut / bytes.len() <= read + 3,
                    "{read} records of {cut} bytes"
                );
                before = read;
            }
        }
    }

    #[test]
    fn a_part_damaged_anywhere_loses_little_and_names_it() {
        for (packing, format) in every() {
            let (bytes, written) = part(packing, format);
            for place in (0..bytes.len()).step_by(3) {
                let mut bytes = bytes.clone();
                bytes[place] ^= 0x55;
                let read = read_of(bytes, packing, format, &written);
                assert!(read + 2 >= written.len(), "{packing:?}, {format:?}: {read} records, byte {place}");
            }
        }
    }

    fn every() -> impl Iterator<Item = (Compression, Format)> {
        PACKINGS.into_iter().flat_map(|packing| [(packing, Format::Binary), (packing, Format::Json)])
    }
}
