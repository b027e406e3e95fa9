//! Reading a part: what is whole in it, and what is not.

use super::window::Window;
use super::{Format, Header, Part, VERSION, frame, json};
use crate::{Clickthrough, Entry, Error, Loss, Losses, Result, Rows};
use std::vec;

/// How much of records is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All.
    Whole,
    /// All but the rows.
    WithoutRows,
    /// All but the rows and what was shown.
    WithoutItems,
}

/// What a reader found whole.
pub(crate) enum Frame {
    Header(Header),
    Records(Vec<Clickthrough>),
}

/// What stands at the beginning of a window.
pub(crate) enum Parsed {
    /// Something whole, and how many bytes it takes.
    Frame(Frame, usize),
    /// Something of a later version of the format.
    Newer(u64),
    /// Nothing that could be read, why, and how many records it held as far as it tells.
    Bad(&'static str, u64),
    /// The beginning of something that the end of the part cuts off, and how many records it held as far as it tells.
    Short(u64),
}

/// Streams the records of a part, and counts what it has to leave out.
///
/// One block is held in memory at a time. An error (the disk fails, the format is of a later version) ends it;
/// damage does not.
pub struct PartReader {
    place: String,
    format: Format,
    window: Window,
    unpacker: frame::Unpacker,
    header: Option<Header>,
    ready: vec::IntoIter<Clickthrough>,
    losses: Losses,
    /// Records to come, as far as the part's name tells.
    missing: Option<u64>,
    extent: Extent,
    ended: bool,
}

/// Reads a part from its beginning.
pub fn read_part(part: Part) -> PartReader {
    PartReader {
        place: part.place,
        format: part.format,
        window: Window::new(part.bytes),
        unpacker: frame::Unpacker::default(),
        header: None,
        ready: Vec::new().into_iter(),
        losses: Losses::default(),
        missing: part.records,
        extent: Extent::Whole,
        ended: false,
    }
}

impl PartReader {
    /// Gives records without their rows, in a fraction of the time.
    pub fn without_rows(self) -> Self {
        self.reading(Extent::WithoutRows)
    }

    /// Gives records without their rows and without what was shown, in less time still.
    pub fn without_items(self) -> Self {
        self.reading(Extent::WithoutItems)
    }

    pub(crate) fn reading(self, extent: Extent) -> Self {
        Self { extent, ..self }
    }

    /// What the part says about itself; known with its first record.
    pub fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }

    /// What was left out so far.
    pub fn losses(&self) -> &Losses {
        &self.losses
    }

    /// The next thing that is whole; `None` at the end.
    fn advance(&mut self) -> Result<Option<Frame>> {
        while !self.look(1)?.is_empty() {
            let parsed = match self.format {
                Format::Binary => frame::parse(&mut self.window, self.header.as_ref(), self.extent, &mut self.unpacker),
                Format::Json => json::parse(&mut self.window, self.header.as_ref()),
            };
            match parsed.map_err(|source| self.failed(source))? {
                Parsed::Frame(frame, length) => {
                    self.window.skip(length);
                    return Ok(Some(frame));
                }
                Parsed::Newer(found) => return Err(self.newer(found)),
                Parsed::Bad(reason, records) => self.leave_out(reason, records, false)?,
                Parsed::Short(records) => self.leave_out("cut short", records, true)?,
            }
        }
        Ok(None)
    }

    /// Moves to the next marker, and names what lies before it.
    fn leave_out(&mut self, reason: &'static str, records: u64, short: bool) -> Result<()> {
        let offset = self.window.offset();
        let marker = match self.format {
            Format::Binary => frame::MARKER,
            Format::Json => json::MARKER,
        };
        let more = self.window.seek(marker).map_err(|source| self.failed(source))?;
        let loss = Loss { place: self.place.clone(), offset, reason };
        tracing::warn!(place = loss.place, offset, reason, records, "left out a part of the click-throughs");
        self.losses.add(loss, short && !more);
        self.losses.records += records;
        Ok(())
    }

    /// Ends the part. One that was cut between two blocks looks whole, but for the number of its records.
    fn end(&mut self) {
        self.ended = true;
        self.losses.records = self.losses.records.max(self.missing.unwrap_or(0));
        if self.missing.unwrap_or(0) > 0 && self.losses.is_empty() {
            let (place, offset) = (self.place.clone(), self.window.offset());
            tracing::warn!(place, offset, missing = self.missing, "a part of the click-throughs is not complete");
            self.losses.add(Loss { place, offset, reason: "records are missing" }, true);
        }
    }

    fn look(&mut self, wanted: usize) -> Result<&[u8]> {
        let place = &self.place;
        self.window.look(wanted).map_err(|source| Error::Io { place: place.clone(), action: "read", source })
    }

    fn failed(&self, source: std::io::Error) -> Error {
        Error::Io { place: self.place.clone(), action: "read", source }
    }

    fn newer(&self, found: u64) -> Error {
        Error::Newer { place: self.place.clone(), found, newest: u64::from(VERSION) }
    }
}

impl Iterator for PartReader {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let (Some(record), Some(header)) = (self.ready.next(), &self.header) {
                return Some(Ok((header.columns.clone(), record)));
            }
            if self.ended {
                return None;
            }
            match self.advance() {
                Ok(Some(Frame::Header(header))) => self.header = Some(header),
                Ok(Some(Frame::Records(mut records))) => {
                    // a line is read as a whole
                    if self.extent != Extent::Whole {
                        records.iter_mut().for_each(|record| record.rows = Rows::default());
                    }
                    if self.extent == Extent::WithoutItems {
                        records.iter_mut().for_each(|record| record.items.clear());
                    }
                    self.missing = self.missing.map(|missing| missing.saturating_sub(records.len() as u64));
                    self.ready = records.into_iter();
                }
                Ok(None) => self.end(),
                Err(error) => {
                    self.ended = true;
                    return Some(Err(error));
                }
            }
        }
    }
}
