//! Mistakes of a configuration: all of them at once, each with its place.

use std::fmt;
use std::path::PathBuf;

/// One mistake, as its author needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Such as `features[3].bucket_size`; empty for the whole text.
    pub path: String,
    /// What was found, and why that is wrong.
    pub problem: String,
    /// What is accepted in its place.
    pub accepted: Option<String>,
    /// The nearest right spelling.
    pub nearest: Option<String>,
}

/// Every mistake of one text, sorted by place; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Errors {
    place: String,
    mistakes: Vec<Mistake>,
}

/// Something that works, and probably not as meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Line, from 1; 0 where it has none, as in the environment.
    pub line: usize,
    /// Such as `features[3].count`.
    pub path: String,
    /// What was found and what becomes of it.
    pub message: String,
}

/// A text that is not what it should be; configuration and command line share such spellings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is no {what}: expected {accepted}")]
pub struct Invalid {
    /// What it should be.
    pub what: &'static str,
    /// What it is.
    pub found: String,
    /// What would be right.
    pub accepted: &'static str,
}

/// A configuration that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Neither an argument nor the environment names one.
    #[error("no configuration given: pass --config PATH or set SERVICE_CONFIG")]
    Unnamed,
    /// A variable of the environment cannot be read.
    #[error("{variable}: the value of this variable is not Unicode (UTF-8)")]
    NotUnicode {
        /// Its name.
        variable: String,
    },
    /// A URL that nothing is read from.
    #[error("configuration {url}: give a file, or an object as s3://bucket/key")]
    Remote {
        /// The URL.
        url: String,
    },
    /// No such file, or not readable.
    #[error("cannot read configuration {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It was read, and has mistakes.
    #[error(transparent)]
    Invalid(#[from] Errors),
}

impl Invalid {
    pub(crate) fn new(what: &'static str, found: &str, accepted: &'static str) -> Self {
        Self { what, found: shown(found), accepted }
    }
}

/// Text from outside as messages may repeat it: without control characters, not too long.
pub(crate) fn shown(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut shown = String::new();
    for (count, c) in text.chars().enumerate() {
        match c {
            _ if count == LONGEST => return shown + "...",
            c if c.is_control() => shown.extend(c.escape_default()),
            c => shown.push(c),
        }
    }
    shown
}

impl Errors {
    /// Mistakes of the text called `place`, in any order.
    pub(crate) fn new(place: &str, mut mistakes: Vec<Mistake>) -> Self {
        mistakes.sort_by(|a, b| (a.line, a.column, &a.path).cmp(&(b.line, b.column, &b.path)));
        Self { place: place.to_owned(), mistakes }
    }

    /// The mistakes, sorted by place.
    pub fn mistakes(&self) -> &[Mistake] {
        &self.mistakes
    }
}

impl std::error::Error for Errors {}

impl fmt::Display for Errors {
    /// A headline, then a block for each mistake with its place in front, as editors and terminals can follow it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, most) = (self.mistakes.len(), crate::report::MOST);
        match count {
            1 => write!(f, "{}: 1 mistake", self.place)?,
            _ if count >= most => write!(f, "{}: {count} mistakes or more, of which {most} are shown", self.place)?,
            _ => write!(f, "{}: {count} mistakes", self.place)?,
        }
        for mistake in &self.mistakes {
            write!(f, "\n\n{}:{}:{}", self.place, mistake.line, mistake.column)?;
            if !mistake.path.is_empty() {
                write!(f, "  {}", mistake.path)?;
            }
            write!(f, "\n{mistake}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Mistake {
    /// What is wrong and what would be right, indented, without the place.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "    {}", self.problem)?;
        if let Some(accepted) = &self.accepted {
            write!(f, "\n    accepted: {}", wrapped(accepted, "\n              "))?;
        }
        if let Some(nearest) = &self.nearest {
            write!(f, "\n    did you mean {nearest}?")?;
        }
        Ok(())
    }
}

/// Long lists in lines of a width that terminals have.
fn wrapped(text: &str, separator: &str) -> String {
    const WIDTH: usize = 90;
    let (mut lines, mut length) = (String::new(), 0);
    for word in text.split(' ') {
        let longer = length + 1 + word.chars().count();
        if length > 0 && longer > WIDTH {
            lines.push_str(separator);
            length = 0;
        } else if length > 0 {
            lines.push(' ');
            length += 1;
        }
        lines.push_str(word);
        length += word.chars().count();
    }
    lines
}

impl fmt::Display for Warning {
    /// One line: where, if anywhere, and what.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}
