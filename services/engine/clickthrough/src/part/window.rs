//! A view of a stream that slides over it, and looks as far ahead as is asked.

use std::io::{Read, Result};

/// How much is read at once.
const CHUNK: usize = 256 << 10;

pub(crate) struct Window {
    source: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    start: usize,
    offset: u64,
    ended: bool,
}

impl Window {
    pub(crate) fn new(source: Box<dyn Read + Send>) -> Self {
        Self { source, buffer: Vec::new(), start: 0, offset: 0, ended: false }
    }

    /// Where the view begins, in bytes from the start of the stream.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// At least `wanted` bytes from here on, or what is left of the stream.
    pub(crate) fn look(&mut self, wanted: usize) -> Result<&[u8]> {
        while self.buffer.len() - self.start < wanted && !self.ended {
            self.read_more(wanted)?;
        }
        Ok(&self.buffer[self.start..])
    }

    /// Moves the view `by` bytes, or to what it holds at most.
    pub(crate) fn skip(&mut self, by: usize) {
        let by = by.min(self.buffer.len() - self.start);
        self.start += by;
        self.offset += by as u64;
    }

    /// Moves the view to the next `marker` behind its first byte; false at the end of the stream.
    pub(crate) fn seek(&mut self, marker: &[u8]) -> Result<bool> {
        self.skip(1);
        loop {
            let seen = self.look(marker.len())?;
            let (held, found) = (seen.len(), find(seen, marker));
            self.skip(found.unwrap_or(if held < marker.len() { held } else { held - marker.len() + 1 }));
            if found.is_some() || held < marker.len() {
                return Ok(found.is_some());
            }
        }
    }

    fn read_more(&mut self, wanted: usize) -> Result<()> {
        self.buffer.drain(..self.start);
        self.start = 0;
        let held = self.buffer.len();
        // at most doubled, so that a length which lies costs no more memory than the stream has bytes
        let more = (wanted - held).max(CHUNK).min(held.max(CHUNK)) as u64;
        let read = self.source.by_ref().take(more).read_to_end(&mut self.buffer)?;
        self.ended = (read as u64) < more;
        Ok(())
    }
}

/// Where `marker` is first found in `bytes`.
pub(crate) fn find(bytes: &[u8], marker: &[u8]) -> Option<usize> {
    bytes.windows(marker.len()).position(|candidate| candidate == marker)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Gives one byte at a time, as slow networks do.
    struct Slow(Vec<u8>);

    impl Read for Slow {
        fn read(&mut self, into: &mut [u8]) -> Result<usize> {
            let Some(first) = (!self.0.is_empty() && !into.is_empty()).then(|| self.0.remove(0)) else { return Ok(0) };
            into[0] = first;
            Ok(1)
        }
    }

    #[test]
    fn a_marker_is_found_wherever_the_reads_cut_it() {
        let mut window = Window::new(Box::new(Slow(b"..<<>.<<>>..<<>>".to_vec())));
        assert!(window.seek(b"<<>>").unwrap());
        assert_eq!(window.offset(), 6);
        assert!(window.seek(b"<<>>").unwrap());
        assert_eq!(window.offset(), 12);
        assert!(!window.seek(b"<<>>").unwrap());
        assert_eq!((window.offset(), window.look(1).unwrap()), (16, &b""[..]));
    }

    #[test]
    fn a_length_that_lies_gives_what_there_is() {
        let mut window = Window::new(Box::new(&b"abc"[..]));
        assert_eq!(window.look(1 << 40).unwrap(), b"abc");
    }
}
