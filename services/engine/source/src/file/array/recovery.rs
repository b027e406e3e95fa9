//! Continues after an element that cannot end.
//!
//! Its text is looked through again from right behind its beginning, and what follows it, until an element seems to begin
//! (see [`super`]). All that is counted follows from bytes that were read, so that a file which grew is counted the same:
//! where the end of the file leaves open what something is, nothing behind it counts, unless an event in it shows that it
//! cannot end either.
//!
//! The brackets that were open where reading stopped begin elements that cannot end before that place. A search that comes
//! to one of them continues there at once: many elements that lack their ends cost one reading together.

use super::place::Place;
use super::sign::{self, Object};
use super::{Array, Open, Start};
use std::collections::VecDeque;

/// Bytes of a file that are looked at again for signs of elements in broken parts; for a long element, a multiple of its
/// length.
const AGAIN: usize = 1 << 30;
const TIMES: usize = 4;

/// More bytes than an event usually has: the reader waits for this many to see whether one is whole.
const USUAL: usize = 1 << 20;

/// How far an element was read that was left out: of several, the one that was read farthest.
pub(super) struct Stopped {
    /// The brackets that were open, that of the array left out.
    open: VecDeque<Open>,
    place: Place,
    /// What was taken from the buffer before that.
    base: usize,
    /// Nothing is wrong there; but it went on too long, or the file ended.
    undecided: bool,
}

impl Stopped {
    /// Bytes of the file before that place.
    fn reach(&self) -> usize {
        self.base + self.place.at
    }
}

impl Array {
    /// Leaves out the element being read, whose end cannot be found, or what stands beside arrays.
    pub(super) fn lose(&mut self, reason: &str, column: usize) {
        self.leave(reason, column, false);
    }

    /// Leaves out what is too long, or does not end, if there is an event in it.
    pub(super) fn lose_unended(&mut self) -> bool {
        let holds_event = !self.element.blank && self.holds_event(self.element.at);
        if holds_event {
            self.leave("the element does not end", self.element.column, true);
        }
        holds_event
    }

    fn leave(&mut self, reason: &str, column: usize, undecided: bool) {
        let is_element = !self.open.is_empty() && !self.element.blank;
        let begin = if is_element { self.element } else { Start::at(&self.place, false) };
        self.leave_out(
            begin.line,
            match begin.leads {
                true => reason.to_owned(),
                false => format!("{reason} (column {})", begin.column + 1),
            },
        );
        self.index += u64::from(is_element);
        if is_element && self.again < self.most_again() {
            self.rewind(undecided);
        }
        self.open.truncate(1);
        let Place { in_string, escaped, wants_key, behind_text, .. } = &mut self.place;
        for told in [in_string, escaped, wants_key, behind_text] {
            *told = false;
        }
        self.lost = Some(column);
        self.begin(false);
    }

    /// Goes back behind the first byte of the element, or to what is kept of it.
    fn rewind(&mut self, undecided: bool) {
        let Start { at, kept: (line, column), too_long, .. } = self.element;
        let first = usize::from(!too_long);
        let back = Place { fresh: false, ..Place::new(at + first, line, column + first) };
        if back.at < self.place.at.min(self.buffer.len()) {
            let array = self.open.pop_front();
            let open = std::mem::replace(&mut self.open, array.into_iter().collect());
            self.again += self.place.at - back.at;
            let place = std::mem::replace(&mut self.place, back);
            let stopped = Stopped { open, place, base: self.base, undecided };
            if self.stopped.as_ref().is_none_or(|before| before.reach() <= stopped.reach()) {
                self.stopped = Some(stopped);
            }
            self.passed = b'{';
        }
    }

    /// Goes on where reading stopped, if the object that begins here was open there.
    pub(super) fn resume(&mut self) -> bool {
        let at = self.base + self.place.at;
        let Some(index) = self.stopped.as_ref().and_then(|stopped| find(&stopped.open, at)) else { return false };
        let Some(Stopped { mut open, place, base, .. }) = self.stopped.take() else { return false };
        drop(open.drain(..index));
        if let Some(array) = self.open.pop_front() {
            open.push_front(array);
        }
        self.open = open;
        self.begin(false);
        self.element.blank = false;
        let there = place.at + base - self.base;
        self.again = self.again.saturating_sub(there - self.place.at);
        self.place = Place { at: there, ..place };
        true
    }

    /// Looks for the next element, or the end of the array. False where more of the file has to tell.
    pub(super) fn seek(&mut self, byte: u8, column: usize) -> bool {
        let Place { fresh, indent, bracket, column: before, .. } = self.place;
        let here = fresh && indent.unwrap_or(before) <= column;
        let found = match byte {
            b'{' => self.is_element(here),
            b'[' => Some(here && self.open.is_empty()),
            b']' if here && !bracket && !self.open.is_empty() => self.is_end(),
            _ => Some(false),
        };
        match found {
            None => return false,
            Some(false) => self.pass(byte),
            Some(true) => {
                self.lost = None;
                if byte == b']' {
                    self.place.step(byte);
                    self.open.clear();
                }
                self.begin(false);
            }
        }
        true
    }

    /// Goes on behind a byte of which nothing is kept.
    fn pass(&mut self, byte: u8) {
        if !byte.is_ascii_whitespace() {
            self.passed = byte;
        }
        self.place.step(byte);
        self.element.at = self.place.at;
    }

    /// Whether an element begins with this object, which stands where elements do or `here`, where only they do.
    fn is_element(&mut self, here: bool) -> Option<bool> {
        let (text, ended) = (&self.buffer[self.place.at..], self.input.has_ended());
        let is_value = !here && self.passed == b':';
        match sign::begins_event(text) {
            Some(true) if !is_value => return Some(true),
            None if !ended => return None,
            _ => {}
        }
        if !here && !matches!(self.passed, b',' | b'[' | b']' | b'}') {
            return Some(false);
        }
        if self.again >= self.most_again() {
            return Some(here);
        }
        let bytes = text.len();
        match self.object() {
            Object::Event => Some(true),
            Object::Other => Some(false),
            Object::Unended if ended => self.holds_event(self.place.at).then_some(here),
            Object::Unended if bytes < USUAL => None,
            Object::Broken | Object::Unended => Some(here),
        }
    }

    fn object(&mut self) -> Object {
        let at = self.base + self.place.at;
        match &self.stopped {
            Some(stopped) if find(&stopped.open, at).is_some() => match stopped.undecided {
                true => Object::Unended,
                false => Object::Broken,
            },
            _ => {
                let (object, read) = sign::object(&self.buffer[self.place.at..]);
                self.again += read;
                object
            }
        }
    }

    fn most_again(&self) -> usize {
        AGAIN + TIMES * (self.base + self.place.at)
    }

    /// Whether this bracket closes the array: only the end of the file, another array, or lines may follow.
    fn is_end(&self) -> Option<bool> {
        match self.buffer[self.place.at + 1..].trim_ascii_start().first() {
            Some(byte) => Some(matches!(byte, b'[' | b'{')),
            None => self.input.has_ended().then_some(true),
        }
    }

    /// Whether a whole event stands behind the byte at `at`, as far as the file was read.
    fn holds_event(&mut self, at: usize) -> bool {
        let from = at + 1;
        if self.event.is_some_and(|event| event >= self.base + from) {
            return true;
        }
        let open = match &self.stopped {
            Some(stopped) if self.lost.is_some() => &stopped.open,
            _ => &self.open,
        };
        let text = self.buffer.get(from..).unwrap_or_default();
        let (mut again, mut found, most) = (self.again, None, self.most_again());
        for sign in sign::signs(text) {
            let place = self.base + from + sign;
            if find(open, place).is_some() {
                continue; // it does not end
            }
            let (is_event, read) = sign::is_event(&text[sign..]);
            again += read;
            found = is_event.then_some(place);
            if is_event || again >= most {
                break;
            }
        }
        self.again = again;
        self.event = found.or(self.event);
        found.is_some()
    }
}

/// The bracket that was opened at a byte of the file.
fn find(open: &VecDeque<Open>, at: usize) -> Option<usize> {
    open.binary_search_by_key(&at, |bracket| bracket.at).ok()
}
