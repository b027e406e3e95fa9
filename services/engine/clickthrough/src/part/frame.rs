//! Frames of the binary format: what is in it, how long it is, and checksums of both.
//!
//! 32 bytes, then the payload: marker (8), version (1), kind (1), zero (2), records (4), bytes of the payload (4) and
//! of what it unpacks to (4), CRC-32 of the payload (4), CRC-32 of the 28 bytes before (4); numbers little-endian.

use super::reader::{Extent, Frame, Parsed};
use super::window::Window;
use super::{Header, LIMIT, VERSION, block};
use crate::store::Column;
use std::sync::Arc;
use zstd::zstd_safe::{self, CCtx, DCtx};

/// Begins every frame of every version: no text, and broken by whatever rewrites line ends.
pub(crate) const MARKER: &[u8] = b"\xb7RWct\r\n\x1a";

const HEAD: usize = 32;
const HEADER: u8 = 0;
const BLOCK: u8 = 1;

/// Compression that costs less time than the disk.
const LEVEL: i32 = 1;

/// What a frame says about its payload.
struct Head {
    version: u8,
    kind: u8,
    records: u32,
    stored: u32,
    unpacked: u32,
    checksum: u32,
}

/// The frame of a part's header.
pub(crate) fn of_header(header: &Header) -> Result<Vec<u8>, String> {
    let payload = postcard::to_stdvec(&(&header.service, &header.columns[..])).map_err(|error| error.to_string())?;
    Ok(frame(HEADER, 0, payload.len(), &payload))
}

/// Compresses blocks, all in one context: to make one takes as long as a block.
#[derive(Default)]
pub(crate) struct Packer(CCtx<'static>);

impl Packer {
    /// The frame of a block. Its rows are compressed apart, so that a reader without them unpacks the rest alone.
    pub(crate) fn block(&mut self, records: u32, block: &[u8]) -> Result<Vec<u8>, String> {
        let (first, rows) = block.split_at(block::before_rows(block));
        let mut payload = self.pack(first)?;
        payload.extend(self.pack(rows)?);
        Ok(frame(BLOCK, records, block.len(), &payload))
    }

    fn pack(&mut self, part: &[u8]) -> Result<Vec<u8>, String> {
        let mut packed = Vec::with_capacity(zstd_safe::compress_bound(part.len()));
        let done = self.0.compress(&mut packed, part, LEVEL);
        done.map(|_| packed).map_err(|code| zstd_safe::get_error_name(code).to_owned())
    }
}

/// Unpacks blocks, all in one context and into one buffer.
#[derive(Default)]
pub(crate) struct Unpacker {
    context: DCtx<'static>,
    block: Vec<u8>,
}

impl Unpacker {
    /// What was packed, if that is at most `room` bytes.
    fn unpack(&mut self, packed: &[u8], room: usize) -> Option<&[u8]> {
        self.block.clear();
        self.block.reserve(room);
        self.context.decompress(&mut self.block, packed).ok()?;
        Some(&self.block[..]).filter(|block| block.len() <= room)
    }
}

fn frame(kind: u8, records: u32, unpacked: usize, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(HEAD + payload.len());
    frame.extend_from_slice(MARKER);
    frame.extend_from_slice(&[VERSION, kind, 0, 0]);
    // both lengths are within LIMIT: the encoder refuses records that would not be
    for number in [records, payload.len() as u32, unpacked as u32, crc32fast::hash(payload)] {
        frame.extend_from_slice(&number.to_le_bytes());
    }
    frame.extend_from_slice(&crc32fast::hash(&frame).to_le_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// Reads the frame at the beginning of the window, and so much of its records.
pub(crate) fn parse(
    window: &mut Window,
    header: Option<&Header>,
    extent: Extent,
    unpacker: &mut Unpacker,
) -> std::io::Result<Parsed> {
    let seen = window.look(HEAD)?;
    let Some((head, _)) = seen.split_first_chunk::<HEAD>() else {
        let cut = seen.starts_with(&MARKER[..seen.len().min(MARKER.len())]);
        return Ok(if cut { Parsed::Short(0) } else { Parsed::Bad("no block begins here", 0) });
    };
    let Some(head) = Head::read(head) else { return Ok(Parsed::Bad("no block begins here", 0)) };
    if head.version > VERSION {
        return Ok(Parsed::Newer(u64::from(head.version)));
    }
    let (length, records) = (HEAD + head.stored as usize, u64::from(head.records));
    let Some(payload) = window.look(length)?.get(HEAD..length) else { return Ok(Parsed::Short(records)) };
    let unpacked = head.unpack(payload, header, extent, unpacker);
    Ok(unpacked.map_or_else(|reason| Parsed::Bad(reason, records), |frame| Parsed::Frame(frame, length)))
}

impl Head {
    fn read(bytes: &[u8; HEAD]) -> Option<Self> {
        let number = |at: usize| bytes[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        let whole = bytes.starts_with(MARKER) && number(28) == crc32fast::hash(&bytes[..28]);
        let (version, kind) = (bytes[8], bytes[9]);
        let head =
            Self { version, kind, records: number(12), stored: number(16), unpacked: number(20), checksum: number(24) };
        whole.then_some(head)
    }

    fn unpack(
        &self,
        payload: &[u8],
        header: Option<&Header>,
        extent: Extent,
        unpacker: &mut Unpacker,
    ) -> Result<Frame, &'static str> {
        if crc32fast::hash(payload) != self.checksum {
            return Err("checksum does not match");
        }
        match (self.kind, header) {
            (HEADER, _) => read_header(payload).map(Frame::Header).ok_or("unreadable header"),
            (BLOCK, Some(header)) => {
                self.read_block(payload, header.columns.len(), extent, unpacker).ok_or("unreadable block")
            }
            (BLOCK, None) => Err("columns unknown, as the header is damaged"),
            _ => Err("unknown kind of block"),
        }
    }

    /// So much of the records of a block, whose rows have this width.
    fn read_block(&self, payload: &[u8], width: usize, extent: Extent, unpacker: &mut Unpacker) -> Option<Frame> {
        let room = Some(self.unpacked as usize).filter(|&bytes| bytes <= LIMIT)?;
        let records = match extent {
            Extent::Whole => block::read(unpacker.unpack(payload, room)?, width)?,
            Extent::WithoutRows | Extent::WithoutItems => {
                let first = payload.get(..zstd_safe::find_frame_compressed_size(payload).ok()?)?;
                block::read_without_rows(unpacker.unpack(first, room)?, extent == Extent::WithoutRows)?
            }
        };
        (records.len() == self.records as usize).then_some(Frame::Records(records))
    }
}

fn read_header(payload: &[u8]) -> Option<Header> {
    let (service, columns): (String, Vec<Column>) = postcard::from_bytes(payload).ok()?;
    Some(Header { service, columns: Arc::from(columns) })
}
