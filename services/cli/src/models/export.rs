//! A version as its library's own file.

use crate::told;
use anyhow::{Context, Result, bail};
use rankwright_model::{Kind, Version};
use rankwright_prepare::{Target, output};
use std::path::Path;

/// Writes the file; what to print.
///
/// # Errors
/// Where no library has such a file, or would read it as another format; and where it is `stopped`.
pub(super) fn run(version: &Version, out: &Path, stopped: &dyn Fn() -> bool) -> Result<String> {
    let metadata = version.metadata();
    let Some(library) = metadata.kind.library() else {
        bail!("model '{}' is of type {}, which no other program reads", metadata.model, metadata.kind.type_name());
    };
    // XGBoost goes by the name, and takes what does not end in .json for UBJSON
    let endings: &[&str] = match (metadata.kind, version.body()) {
        (Kind::XgBoost, [b'{', b'L', ..]) => &["ubj"],
        (Kind::XgBoost, _) => &["json"],
        _ => &["txt", "model", "lgb"],
    };
    let ending = out.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    if !endings.contains(&ending) {
        bail!(
            "cannot write {}: the name of a file of {library} has to end in .{}",
            out.display(),
            endings.join(" or .")
        );
    }
    let target = Target::new(out)?;
    let written = output::write(&target, stopped, |to| to.write_all(version.body()));
    if !written.with_context(|| format!("cannot write {}", target.name()))? {
        bail!("interrupted: nothing is written");
    }
    let columns: Vec<&str> = metadata.columns.iter().map(|column| column.name.as_str()).collect();
    Ok(format!(
        "wrote {}: {library}, {} trees of version {}; its columns are, in this order: {}\n",
        out.display(),
        metadata.iterations,
        version.id(),
        told::line(&columns.join(", "))
    ))
}

#[cfg(test)]
mod tests {
    use super::super::testing::metadata;
    use super::*;
    use rankwright_model::Metadata;

    fn version(kind: Kind, body: &[u8]) -> Version {
        Version::new(Metadata { kind, ..metadata(1) }, Vec::new(), body.to_vec()).expect("a version")
    }

    #[test]
    fn the_file_is_the_librarys_own() {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        for (kind, body, name) in [
            (Kind::XgBoost, &b"{L.."[..], "m.ubj"),
            (Kind::XgBoost, b"{\"a\"}", "m.json"),
            (Kind::LightGbm, b"tree", "m.txt"),
        ] {
            let path = folder.path().join(name);
            run(&version(kind, body), &path, &|| false).expect("can be written");
            assert_eq!(std::fs::read(path).expect("is there"), body);
        }
    }

    #[test]
    fn a_name_that_the_library_would_misread_is_refused() {
        let error =
            run(&version(Kind::XgBoost, b"{L.."), Path::new("m.json"), &|| false).expect_err("is refused").to_string();
        assert!(error.ends_with("has to end in .ubj"), "{error}");
        let error = run(&version(Kind::Als, b""), Path::new("m.txt"), &|| false).expect_err("is refused").to_string();
        assert_eq!(error, "model 'm' is of type als, which no other program reads");
    }
}
