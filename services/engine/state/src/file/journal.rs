//! Looks at the journal of the store below before that is opened: it cuts a journal behind the first commit that it cannot read,
//! and does not say so.
//!
//! A process that is killed leaves the beginning of a commit at the end, which was never acknowledged: that may be cut. Anything
//! else that cannot be read is damage, and cutting it would lose commits that were acknowledged. The store below syncs a journal
//! before it begins the next one, so an unfinished or empty journal in front of a written one is damage, too.
//!
//! The format is that of fjall 3 (its `journal/entry.rs`): a commit is a start with the number of its entries and that of the
//! commit, which goes up, the entries, and an end with their checksum and a mark.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

const MARK: &[u8] = b"FJL\x03";
const FIRST: &str = "0.jnl";
const START_BYTES: usize = 13;
const END_BYTES: usize = 9 + MARK.len();

/// What is wrong with a journal.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// It ends in the middle of a commit, which is this many bytes long.
    Unfinished { journal: PathBuf, bytes: usize },
    /// From this byte on it cannot be read, although commits that were finished may lie there.
    /// `newest` where no commit follows it in another journal.
    Damaged { journal: PathBuf, at: usize, newest: bool },
    /// Nothing is written in it, nor in a journal behind it.
    Empty { journal: PathBuf },
    /// There is no journal; an empty one may lie here.
    Missing { journal: PathBuf },
}

/// Looks at every journal of a folder that is not open.
///
/// # Errors
/// Where a journal cannot be read.
pub(super) fn troubles(folder: &Path) -> io::Result<Vec<Trouble>> {
    let mut troubles = Vec::new();
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(troubles),
        entries => entries?,
    };
    let paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
    let number = |path: &PathBuf| path.file_stem()?.to_str()?.parse::<u64>().ok();
    let journals = paths.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "jnl"));
    let journals: BTreeMap<Option<u64>, PathBuf> = journals.map(|path| (number(&path), path)).collect();
    if journals.is_empty() {
        return Ok(vec![Trouble::Missing { journal: folder.join(FIRST) }]);
    }
    let mut newest = true;
    for journal in journals.into_values().rev() {
        let written = match written(&journal) {
            // another process holds the folder, and is done with it
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof) => continue,
            written => written?,
        };
        troubles.extend(trouble(journal, &written, newest));
        newest &= written.is_empty();
    }
    troubles.reverse(); // the oldest first
    Ok(troubles)
}

/// Why bytes are no commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// They may be the beginning of one.
    Short,
    Wrong,
}

/// What is wrong with a journal, given its written part, which ends with its last byte that is not zero. `newest` where no
/// commit follows it in another journal.
fn trouble(journal: PathBuf, written: &[u8], newest: bool) -> Option<Trouble> {
    if written.is_empty() && newest {
        return Some(Trouble::Empty { journal });
    }
    let (mut at, mut last) = (0, None);
    let fault = loop {
        match commit(&written[at..]) {
            Ok((length, number)) if Some(number) > last => (at, last) = (at + length, Some(number)),
            Ok(_) => break Fault::Wrong,
            Err(fault) => break fault,
        }
    };
    let rest = &written[at..];
    let more = || rest.ends_with(MARK) || (1..rest.len()).any(|place| commit(&rest[place..]).is_ok());
    match rest.len() {
        0 if at > 0 => None,
        _ if !newest || fault == Fault::Wrong || more() => Some(Trouble::Damaged { journal, at, newest }),
        bytes => Some(Trouble::Unfinished { journal, bytes }),
    }
}

/// Bytes of the whole commit that these begin with, and its number.
fn commit(bytes: &[u8]) -> Result<(usize, u64), Fault> {
    if bytes.first().is_some_and(|&tag| tag != 1) {
        return Err(Fault::Wrong);
    }
    let entries = u32::from_le_bytes(array(bytes, 1)?);
    let number = u64::from_le_bytes(array(bytes, 5)?);
    let mut length = START_BYTES;
    for _ in 0..entries {
        length += entry(bytes.get(length..).ok_or(Fault::Short)?)?;
    }
    let end: [u8; END_BYTES] = array(bytes, length)?;
    let checksum = xxh3_64(&bytes[START_BYTES..length]).to_le_bytes();
    let whole = end[0] == 3 && end[1..9] == checksum && end.ends_with(MARK);
    if whole { Ok((length + END_BYTES, number)) } else { Err(Fault::Wrong) }
}

/// Bytes of the entry of a commit that these begin with.
fn entry(bytes: &[u8]) -> Result<usize, Fault> {
    match bytes.first().ok_or(Fault::Short)? {
        2 => {
            // behind type of value, compression and number of the key space: length of the key, of the value, of what is stored of it
            let key = u16::from_le_bytes(array(bytes, 11)?) as usize;
            Ok(21 + key + u32::from_le_bytes(array(bytes, 17)?) as usize)
        }
        4 => Ok(9),
        _ => Err(Fault::Wrong),
    }
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], Fault> {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().ok_or(Fault::Short)
}

/// The written part of a journal; room that is only reserved behind it is all zeros.
fn written(path: &Path) -> io::Result<Vec<u8>> {
    const STEP: u64 = 1 << 16;
    let mut file = File::open(path)?;
    let (mut end, mut bytes) = (file.metadata()?.len(), Vec::new());
    while end > 0 {
        let begin = (end - 1) / STEP * STEP;
        bytes.resize((end - begin) as usize, 0);
        file.seek(SeekFrom::Start(begin))?;
        file.read_exact(&mut bytes)?;
        if let Some(last) = bytes.iter().rposition(|&byte| byte != 0) {
            end = begin + last as u64 + 1;
            break;
        }
        end = begin;
    }
    file.rewind()?;
    bytes.clear();
    file.take(end).read_to_end(&mut bytes)?;
    Ok(bytes)
}
