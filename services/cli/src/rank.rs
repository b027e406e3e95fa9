//! `rank`: one request, answered as the service would, with what each feature brings to the scores.

mod table;

use crate::options::{Output, RankOptions};
use crate::stop;
use anyhow::{Context, Result, anyhow};
use rankwright_assembly::{as_owner, configuration, rank_once, runtime};
use rankwright_serve::Explain;
use std::io::{self, Read};
use std::path::Path;

/// Names of a folder that an error lists.
const LISTED: usize = 10;

/// Ranks the items of a request; what is printed.
pub(crate) fn run(options: &RankOptions) -> Result<String> {
    let config = configuration(options.config.as_deref())?;
    as_owner(&config)?; // before there are other threads
    let runtime = runtime()?;
    let _ranking = stop::at_once(&runtime, "interrupted: nothing is ranked");
    let (request, name) = read(&options.request)?;
    let explain = if options.explain { Explain::Contributions } else { Explain::Nothing };
    let asked = runtime.block_on(rank_once(config, &options.model, &request, explain));
    let answer = asked.map_err(|error| match error.downcast_ref::<rankwright_serve::RankError>() {
        Some(rankwright_serve::RankError::Body(_)) => error.context(name),
        _ => error,
    })?;
    match options.output {
        Output::Json => Ok(String::from_utf8(answer).context("the answer is text")? + "\n"),
        Output::Table => table::of(&serde_json::from_slice(&answer).context("the answer is JSON")?),
    }
}

/// The request, and what errors call it.
fn read(path: &Path) -> Result<(Vec<u8>, String)> {
    if path == Path::new("-") {
        let mut request = Vec::new();
        io::stdin().lock().read_to_end(&mut request).context("failed to read standard input")?;
        return Ok((request, "standard input".to_owned()));
    }
    match std::fs::read(path) {
        Ok(request) => Ok((request, path.display().to_string())),
        Err(error) => Err(anyhow!(error).context(format!("failed to read {}{}", path.display(), beside(path)))),
    }
}

/// What lies where a file was looked for.
pub(crate) fn beside(path: &Path) -> String {
    if path.is_dir() {
        return " (it is a folder: name a file)".to_owned();
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(entries) = folder.read_dir() else {
        return format!(" (there is no folder {})", folder.display());
    };
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort_unstable();
    let more = names.len().saturating_sub(LISTED);
    names.truncate(LISTED);
    match (names.is_empty(), more) {
        (true, _) => format!(" ({} is empty)", folder.display()),
        (false, 0) => format!(" ({} has {})", folder.display(), names.join(", ")),
        (false, more) => format!(" ({} has {} and {more} more)", folder.display(), names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_missing_is_answered_with_what_is_there() {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        let missing = folder.path().join("reqest.json");
        let refused = |path: &Path| rankwright_assembly::chain(&read(path).expect_err("it is not there"));
        assert!(refused(&missing).contains("is empty)"), "{}", refused(&missing));
        for name in ["request.json", "config.yml", ".hidden"] {
            std::fs::write(folder.path().join(name), "{}").expect("can be written");
        }
        assert!(refused(&missing).contains("has config.yml, request.json)"), "{}", refused(&missing));
        assert!(refused(folder.path()).contains("it is a folder"), "{}", refused(folder.path()));
        let nowhere = folder.path().join("none/request.json");
        assert!(refused(&nowhere).contains("there is no folder"), "{}", refused(&nowhere));
        let found = read(&folder.path().join("request.json")).expect("it is there");
        assert_eq!(found.0, b"{}");
    }
}
