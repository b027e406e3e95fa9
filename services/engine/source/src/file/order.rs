//! In what order files are read.

use super::{File, Files};
use crate::Error;
use rankwright_config::FileOrder;
use rankwright_event::Timestamp;

/// The files in the order asked for; what is equal is ordered by name. They are read as `all` is.
pub(super) fn sorted(mut files: Vec<File>, order: FileOrder, all: &Files) -> Result<Vec<File>, Error> {
    files.sort_by(|a, b| a.name.cmp(&b.name));
    match order {
        FileOrder::Name => Ok(files),
        FileOrder::LastModified => {
            files.sort_by_key(|file| file.modified);
            Ok(files)
        }
        FileOrder::Time => by_first_event(files, all),
    }
}

/// Files without events come last.
fn by_first_event(files: Vec<File>, all: &Files) -> Result<Vec<File>, Error> {
    let timed = files.into_iter().map(|file| Ok((first_time(&file, all)?, file)));
    let mut timed = timed.collect::<Result<Vec<_>, Error>>()?;
    timed.sort_by_key(|(time, _)| time.unwrap_or(Timestamp::MAX));
    Ok(timed.into_iter().map(|(_, file)| file).collect())
}

fn first_time(file: &File, all: &Files) -> Result<Option<Timestamp>, Error> {
    let alone = Files { files: [file.clone()].into(), ..all.clone() };
    for batch in alone.read(None)? {
        if let Some(event) = batch?.events.first() {
            return Ok(Some(event.timestamp()));
        }
    }
    Ok(None)
}
