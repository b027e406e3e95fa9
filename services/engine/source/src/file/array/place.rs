//! A place in the text, and what was seen on the way to it.

/// Where reading stands.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Byte of the buffer that is looked at next.
    pub(super) at: usize,
    /// Line of that byte, from 1.
    pub(super) line: u64,
    /// Bytes of this line before that byte, whether all of them are blanks, commas and brackets that open, and how many of
    /// them are blanks before the others.
    pub(super) column: usize,
    pub(super) fresh: bool,
    pub(super) indent: Option<usize>,
    /// One of them is a bracket.
    pub(super) bracket: bool,
    pub(super) in_string: bool,
    /// Right behind a backslash.
    pub(super) escaped: bool,
    /// In an object, before a key.
    pub(super) wants_key: bool,
    /// Behind a text, and perhaps blanks.
    pub(super) behind_text: bool,
}

impl Place {
    /// Outside of all texts.
    pub(super) fn new(at: usize, line: u64, column: usize) -> Self {
        Self {
            at,
            line,
            column,
            fresh: column == 0,
            indent: None,
            bracket: false,
            in_string: false,
            escaped: false,
            wants_key: false,
            behind_text: false,
        }
    }

    /// Goes on behind bytes of one line that are within a text.
    pub(super) fn pass(&mut self, bytes: usize) {
        self.at += bytes;
        self.column += bytes;
    }

    /// Goes on behind a byte.
    pub(super) fn step(&mut self, byte: u8) {
        self.at += 1;
        if byte == b'\n' {
            (self.line, self.column) = (self.line + 1, 0);
            (self.fresh, self.indent, self.bracket) = (true, None, false);
            return;
        }
        if self.fresh && is_mark(byte) {
            self.indent = self.indent.or(Some(self.column));
            self.bracket |= byte == b'[';
        }
        self.column += 1;
        self.fresh &= is_lead(byte);
    }
}

/// What may stand before the first element of a line.
pub(super) fn is_lead(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r') || is_mark(byte)
}

/// What may stand there beside blanks.
pub(super) fn is_mark(byte: u8) -> bool {
    matches!(byte, b',' | b'[')
}
