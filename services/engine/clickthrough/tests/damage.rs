//! Parts come back bit for bit; damaged ones without what was damaged, and nothing else is missing or made up.
#![allow(clippy::unwrap_used)]

use proptest::collection::vec;
use proptest::prelude::*;
use rankwright_clickthrough::part::Encoder;
use rankwright_clickthrough::testing::{header, ranking, sample_records};
use rankwright_clickthrough::{Click, Clickthrough, Error, Format, Kind, Losses, Part, Rows, Shown, read_part};
use rankwright_event::{Field, Timestamp, Value};
use std::io::Cursor;
use std::ops::Range;

const FORMATS: [Format; 2] = [Format::Binary, Format::Json];

/// A part, and where in it the headers and the blocks are.
struct Written {
    bytes: Vec<u8>,
    headers: [Range<usize>; 2],
    blocks: Vec<Range<usize>>,
}

fn write(format: Format, columns: usize, blocks: &[Vec<Clickthrough>]) -> Written {
    let mut encoder = Encoder::new(format, header(columns));
    let mut bytes = encoder.head().unwrap();
    let half = bytes.len() / 2;
    let headers = [0..half, half..bytes.len()];
    let write_block = |records: &Vec<Clickthrough>| {
        records.iter().for_each(|record| encoder.push(record).unwrap());
        let begin = bytes.len();
        bytes.extend(encoder.take().unwrap().map(|block| block.bytes).unwrap_or_default());
        begin..bytes.len()
    };
    let blocks = blocks.iter().map(write_block).collect();
    Written { bytes, headers, blocks }
}

/// What is left of damaged bytes, and what is lost: the same whether rows and items are read or not.
fn read(format: Format, bytes: &[u8]) -> (Vec<Clickthrough>, Losses) {
    let reader = || read_part(Part::new("part", format, Box::new(Cursor::new(bytes.to_vec()))));
    let readers = [reader(), reader().without_rows(), reader().without_items()];
    let [(records, losses), (without, lost), (least, lost_of_least)] = readers.map(|mut part| {
        let records: Vec<_> = part.by_ref().map(|entry| entry.unwrap().1).collect();
        (records, part.losses().clone())
    });
    let bare = |record: &Clickthrough| Clickthrough { rows: Rows::default(), ..record.clone() };
    assert_eq!((without, lost), (records.iter().map(bare).collect(), losses.clone()));
    let bare = |record: &Clickthrough| Clickthrough { items: Vec::new(), ..bare(record) };
    assert_eq!((least, lost_of_least), (records.iter().map(bare).collect(), losses.clone()));
    (records, losses)
}

fn four_blocks() -> Vec<Vec<Clickthrough>> {
    (0..4).map(|block| (0..2).map(|number| ranking(2 * block + number, 2, 2)).collect()).collect()
}

#[test]
fn a_part_cut_anywhere_loses_the_block_that_was_cut_and_counts_it() {
    for format in FORMATS {
        // a line is a block of its own
        let per_block = if format == Format::Json { 1 } else { 2 };
        let blocks: Vec<Vec<Clickthrough>> = four_blocks().concat().chunks(per_block).map(<[_]>::to_vec).collect();
        let part = write(format, 2, &blocks);
        for cut in 0..part.bytes.len() {
            let (records, losses) = read(format, &part.bytes[..cut]);
            // a line that lacks nothing but its end is whole
            let whole_at = |end: usize| end == cut || (format == Format::Json && end - 1 == cut);
            let reached = |range: &&Range<usize>| range.end <= cut || whole_at(range.end);
            let whole = part.blocks.iter().filter(reached).count();
            assert_eq!(records, blocks[..whole].concat(), "{format:?} cut at {cut}");
            let clean = cut == 0 || part.headers.iter().chain(&part.blocks).any(|range| whole_at(range.end));
            assert_eq!((losses.cut, losses.damaged), (u64::from(!clean), 0), "{format:?} cut at {cut}");
            // what a block holds is known from its frame, and that a line holds a record from its first words
            let told = if format == Format::Json { 29 } else { 32 };
            let begun = part.blocks.get(whole).is_some_and(|block| !clean && block.start + told <= cut);
            assert_eq!(losses.records, if begun { per_block as u64 } else { 0 }, "{format:?} cut at {cut}");
        }
    }
}

#[test]
fn a_damaged_block_is_named_and_the_others_are_read() {
    for format in FORMATS {
        let blocks: Vec<Vec<Clickthrough>> = (0..4).map(|number| vec![ranking(number, 3, 2)]).collect();
        for (damaged, place) in [(0, 0), (1, 5), (2, 40), (3, 100)] {
            let mut part = write(format, 2, &blocks);
            let offset = part.blocks[damaged].start;
            part.bytes[offset + place] ^= 0x10;
            let (records, losses) = read(format, &part.bytes);
            let mut expected = blocks.clone();
            expected.remove(damaged);
            assert_eq!(records, expected.concat(), "{format:?}");
            assert_eq!((losses.cut, losses.damaged, losses.named.len()), (0, 1, 1), "{format:?}, {losses:?}");
            let told = format == Format::Json || place >= 32; // else the damage is where the block says what it holds
            assert_eq!(losses.records, u64::from(told), "{format:?}");
            assert_eq!((losses.named[0].place.as_str(), losses.named[0].offset), ("part", offset as u64), "{format:?}");
        }
    }
}

#[test]
fn a_part_with_one_damaged_header_is_read_by_the_other_and_without_both_not_at_all() {
    for format in FORMATS {
        let part = write(format, 2, &four_blocks());
        for damaged in part.headers.clone() {
            let mut bytes = part.bytes.clone();
            bytes[damaged.start + 30] ^= 1;
            let (records, losses) = read(format, &bytes);
            assert_eq!((records, losses.damaged), (four_blocks().concat(), 1), "{format:?}");
        }
        let (records, losses) = read(format, &part.bytes[part.headers[1].end..]);
        assert!(records.is_empty() && losses.damaged >= 4, "{format:?}, {losses:?}");
        assert!(losses.named[0].reason.contains("header"), "{losses:?}");
    }
}

#[test]
fn zeros_behind_the_last_block_are_damage_and_lose_nothing() {
    for format in FORMATS {
        let mut part = write(format, 2, &four_blocks());
        part.bytes.extend([0; 4096]);
        let (records, losses) = read(format, &part.bytes);
        assert_eq!((records, losses.damaged, losses.cut), (four_blocks().concat(), 1, 0), "{format:?}");
    }
}

#[test]
fn blank_lines_and_foreign_line_ends_in_json_are_no_damage() {
    let part = write(Format::Json, 2, &four_blocks());
    let text = String::from_utf8(part.bytes).unwrap().replace('\n', "\r\n\n  \n");
    assert_eq!(read(Format::Json, text.as_bytes()), (four_blocks().concat(), Losses::default()));
}

#[test]
fn parts_put_together_are_read_with_the_columns_of_each() {
    for format in FORMATS {
        let narrow = write(format, 1, &[vec![ranking(1, 3, 1)]]).bytes;
        let wide = write(format, 3, &[vec![ranking(2, 3, 3)]]).bytes;
        let bytes = Box::new(Cursor::new([narrow, wide].concat()));
        let entries: Vec<_> = read_part(Part::new("part", format, bytes)).map(Result::unwrap).collect();
        assert_eq!(
            entries,
            [(header(1).columns, ranking(1, 3, 1)), (header(3).columns, ranking(2, 3, 3))],
            "{format:?}"
        );
    }
}

#[test]
fn a_part_of_a_newer_version_is_refused() {
    let mut binary = write(Format::Binary, 2, &four_blocks()).bytes;
    binary[8] += 1;
    let checksum = crc32fast::hash(&binary[..28]);
    binary[28..32].copy_from_slice(&checksum.to_le_bytes());
    let body = r#""header":{"version":2,"columns":{"of":"another shape"}}}"#;
    let json = format!("{{\"crc32\":\"{:08x}\",{body}\n", crc32fast::hash(body.as_bytes())).into_bytes();
    for (format, bytes) in [(Format::Binary, binary), (Format::Json, json)] {
        let mut part = read_part(Part::new("part", format, Cursor::new(bytes)));
        let error = part.next().unwrap().unwrap_err();
        assert!(matches!(error, Error::Newer { found: 2, newest: 1, .. }), "{error}");
        assert_eq!(error.to_string(), "part: format version 2, this program reads versions up to 1; use a newer one");
        assert!(part.next().is_none());
    }
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![3 => "[a-z0-9-]{0,12}", 1 => ".{0,40}"]
}

fn number() -> impl Strategy<Value = f64> {
    use proptest::num::f64::{NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO};
    NEGATIVE | POSITIVE | NORMAL | SUBNORMAL | ZERO
}

fn field() -> impl Strategy<Value = Field> {
    let value = prop_oneof![
        any::<bool>().prop_map(Value::Bool),
        number().prop_map(Value::Number),
        text().prop_map(|text| Value::Text(text.into())),
        vec(number(), 1..4).prop_map(Value::Numbers),
        vec(text(), 0..4).prop_map(|texts| Value::Texts(texts.into_iter().map(Into::into).collect())),
    ];
    (text(), value).prop_map(|(name, value)| Field::new(&name, value))
}

fn click() -> impl Strategy<Value = Click> {
    (any::<i64>(), text(), text(), text()).prop_map(|(time, id, kind, item)| Click {
        timestamp: Timestamp::from_millis(time),
        id: id.into(),
        kind: kind.into(),
        item: item.into(),
    })
}

/// Any record, with rows of any bits.
fn record(columns: usize) -> impl Strategy<Value = Clickthrough> {
    let identity = (text(), any::<bool>(), text(), any::<i64>());
    let visitor = (proptest::option::of(text()), proptest::option::of(text()));
    let items = vec((text(), proptest::option::of(number()), vec(any::<u32>(), columns)), 0..6);
    let inside = (vec(field(), 0..4), items, any::<bool>(), vec(click(), 0..4));
    (identity, visitor, inside).prop_map(
        move |((tenant, is_ranking, id, time), (user, session), (fields, items, has_rows, interactions))| {
            let values = items.iter().flat_map(|(_, _, row)| row.iter().map(|&bits| f32::from_bits(bits))).collect();
            Clickthrough {
                tenant: tenant.into(),
                kind: if is_ranking { Kind::Ranking } else { Kind::Interaction },
                ranking: id.into(),
                timestamp: Timestamp::from_millis(time),
                user: user.map(Into::into),
                session: session.map(Into::into),
                fields,
                items: items.into_iter().map(|(id, label, _)| Shown { id: id.into(), label }).collect(),
                rows: if has_rows { Rows { width: columns, values } } else { Rows::default() },
                interactions,
            }
        },
    )
}

fn blocks() -> impl Strategy<Value = (usize, Vec<Vec<Clickthrough>>)> {
    (0..4_usize).prop_flat_map(|columns| (Just(columns), vec(vec(record(columns), 1..4), 1..5)))
}

/// Something that happens to bytes, at a place given in 1/65536 of them.
#[derive(Debug, Clone)]
enum Mishap {
    Flip(u16, u8),
    Insert(u16, Vec<u8>),
    Delete(u16, u8),
    Zero(u16, u8),
}

fn mishap() -> impl Strategy<Value = Mishap> {
    prop_oneof![
        (any::<u16>(), 1..=255_u8).prop_map(|(at, bits)| Mishap::Flip(at, bits)),
        (any::<u16>(), vec(any::<u8>(), 1..50)).prop_map(|(at, bytes)| Mishap::Insert(at, bytes)),
        (any::<u16>(), 1..200_u8).prop_map(|(at, length)| Mishap::Delete(at, length)),
        (any::<u16>(), 1..200_u8).prop_map(|(at, length)| Mishap::Zero(at, length)),
    ]
}

impl Mishap {
    /// Does it to the bytes, of which each knows where it was at first.
    fn happen(&self, bytes: &mut Vec<(Option<usize>, u8)>) {
        let place = |at: u16| bytes.len() * usize::from(at) / 65536;
        let range = |at: u16, length: u8| place(at)..(place(at) + usize::from(length)).min(bytes.len());
        match self {
            _ if bytes.is_empty() => {}
            Self::Flip(at, bits) => {
                let place = place(*at);
                bytes[place] = (None, bytes[place].1 ^ bits);
            }
            Self::Insert(at, new) => drop(bytes.splice(place(*at)..place(*at), new.iter().map(|&byte| (None, byte)))),
            Self::Delete(at, length) => drop(bytes.drain(range(*at, *length))),
            Self::Zero(at, length) => {
                let range = range(*at, *length);
                bytes[range].fill((None, 0));
            }
        }
    }
}

/// Whether the bytes of a range still stand together, as they were.
fn untouched(bytes: &[(Option<usize>, u8)], range: &Range<usize>) -> bool {
    let begin = bytes.iter().position(|&(place, _)| place == Some(range.start));
    let now = begin.and_then(|begin| bytes.get(begin..begin + range.len()));
    now.is_some_and(|now| now.iter().map(|&(place, _)| place).eq(range.clone().map(Some)))
}

proptest! {
    #[test]
    fn any_record_comes_back_bit_for_bit((columns, blocks) in blocks()) {
        for format in FORMATS {
            let (records, losses) = read(format, &write(format, columns, &blocks).bytes);
            prop_assert_eq!(&records, &blocks.concat());
            prop_assert!(losses.is_empty());
        }
    }

    #[test]
    fn mishaps_lose_what_they_touch_and_nothing_else(
        (columns, blocks) in blocks(),
        mishaps in vec(mishap(), 1..4),
        cut in proptest::option::weighted(0.3, any::<u16>()),
    ) {
        for format in FORMATS {
            let part = write(format, columns, &blocks);
            let mut bytes: Vec<_> = part.bytes.iter().copied().enumerate().map(|(place, byte)| (Some(place), byte)).collect();
            mishaps.iter().for_each(|mishap| mishap.happen(&mut bytes));
            bytes.truncate(cut.map_or(usize::MAX, |cut| bytes.len() * usize::from(cut) / 65536));
            let (records, _) = read(format, &bytes.iter().map(|&(_, byte)| byte).collect::<Vec<u8>>());

            let mut found = records.iter();
            if part.headers.iter().any(|header| untouched(&bytes, header)) {
                let whole = part.blocks.iter().zip(&blocks).filter(|(range, _)| untouched(&bytes, range));
                for record in whole.flat_map(|(_, records)| records) {
                    prop_assert!(found.any(|found| found == record), "lost {}", record.ranking);
                }
            }
            let all = blocks.concat();
            prop_assert!(records.iter().all(|record| all.contains(record)), "made up a record");
        }
    }

    #[test]
    fn any_bytes_at_all_are_read_without_a_panic(mut bytes in vec(any::<u8>(), 0..300), format in 0..2_usize) {
        let (records, _) = read(FORMATS[format], &bytes);
        prop_assert!(records.is_empty());
        // and the same behind a whole part
        let mut part = write(FORMATS[format], 2, &[sample_records()]).bytes;
        part.append(&mut bytes);
        let (records, _) = read(FORMATS[format], &part);
        prop_assert_eq!(records, sample_records());
    }
}
