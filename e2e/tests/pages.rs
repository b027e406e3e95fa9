//! Links and anchors of all pages lead somewhere, and sentences are short.

use std::process::{Command, Output};

fn pages(folder: &std::path::Path) -> Output {
    Command::new("python3").arg("pages.py").arg(folder).output().expect("python3 is there")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn every_link_of_the_pages_resolves_and_sentences_are_short() {
    let output = pages("..".as_ref());
    assert!(output.status.success(), "{}", said(&output));
}

#[test]
fn broken_links_anchors_mentions_and_long_sentences_are_reported() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let write = |name: &str, text: &str| {
        let file = folder.path().join(name);
        std::fs::create_dir_all(file.parent().expect("it has a folder")).expect("folders can be made");
        std::fs::write(file, text).expect("files can be written");
    };
    let long = "word ".repeat(36);
    write(
        "README.md",
        &format!("# Here\n[a](docs/a.md#one) [b](docs/b.md) [c](docs/a.md#two) `[d](d.md)`\n\n{long}.\n"),
    );
    write(
        "docs/a.md",
        &format!("# One\n\n- [up](../README.md#here) {}.\n\n```sh\n[e](e.md) {long}\n```\n", "word ".repeat(34)),
    );
    write("main.rs", "// see docs/a.md#one and docs/c.md\n");
    let output = pages(folder.path());
    let expected = [
        "README.md:2: docs/b.md: there is no docs/b.md",
        "README.md:2: docs/a.md#two: docs/a.md has no heading with this anchor",
        "main.rs:1: docs/c.md: there is no docs/c.md",
        "docs/a.md: docs/README.md has no link to it",
        "README.md:4: a sentence of 36 words: word word word word word word word word ...",
    ];
    assert_eq!(said(&output).lines().collect::<Vec<_>>(), expected);
    assert!(!output.status.success());
}
