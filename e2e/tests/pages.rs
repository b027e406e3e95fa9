//! Links and anchors of all pages lead somewhere, words are plain, sentences and pages are short.

use std::path::Path;
use std::process::{Command, Output};

fn pages(folder: &Path) -> Output {
    Command::new("python3").arg("pages.py").arg(folder).output().expect("python3 is there")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn write(folder: &Path, name: &str, text: &str) {
    let file = folder.join(name);
    std::fs::create_dir_all(file.parent().expect("it has a folder")).expect("folders can be made");
    std::fs::write(file, text).expect("files can be written");
}

#[test]
fn every_link_of_the_pages_resolves_and_words_sentences_and_pages_are_as_they_should_be() {
    let output = pages("..".as_ref());
    assert!(output.status.success(), "{}", said(&output));
}

#[test]
fn broken_links_anchors_mentions_and_long_sentences_are_reported() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let long = "word ".repeat(36);
    let readme = format!("# Here\n[a](docs/a.md#one) [b](docs/b.md) [c](docs/a.md#two) `[d](d.md)`\n\n{long}.\n");
    write(folder.path(), "README.md", &readme);
    let (short, rest) = ("word ".repeat(34), "Three more words. ".repeat(100));
    let page = format!("# One\n\n- [up](../README.md#here) {short}.\n\n```sh\n[e](e.md) {long}\n```\n\n{rest}\n");
    write(folder.path(), "docs/a.md", &page);
    write(folder.path(), "main.rs", "// see docs/a.md#one and docs/c.md\n");
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

#[test]
fn vague_words_long_cells_long_and_short_pages_and_missing_tests_are_reported() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let row = format!("| short | {}|\n", "word ".repeat(36));
    let page = format!("Nobody reads `nobody`.\n\n| a | b |\n|---|---|\n{row}\nIt is to be measured.\n");
    write(folder.path(), "ARCHITECTURE.md", &page);
    let program = "// nobody\nfn main() {\n    warn!(\"somebody took {former}\");\n    mark(\"anew\");\n}\n";
    write(folder.path(), "services/main.rs", &format!("{program}\n/// For whoever asks\n#[arg(long)]\n"));
    write(folder.path(), "charts/values.yaml", "a: 1\n# Who is told of it\n");
    write(folder.path(), "run", "# so many ports\n");
    let index = "# Docs\n\n[a](a.md) [b](b.md)\n\n## Reference\n\n[c](c.md)\n\n## Explanation\n\n[d](d.md)\n";
    write(folder.path(), "docs/README.md", index);
    for (name, words) in [("a", 299), ("b", 300), ("c", 1001), ("d", 1001)] {
        write(folder.path(), &format!("docs/{name}.md"), &"word. ".repeat(words));
    }
    write(folder.path(), "operator/CAPABILITIES.md", "`it_is_there`, `node::…is_there_too`, `it_is_gone`\n");
    write(folder.path(), "operator/tests/all.rs", "fn it_is_there() {}\nfn it_is_there_too() {}\n");
    let length = "words: a page has 300 to 1000; merge or split it, or list it under Reference in docs/README.md";
    let plain = "name the component that acts, and use the usual word";
    let expected = [
        format!("services/main.rs:3: 'somebody': {plain}"),
        format!("services/main.rs:7: 'whoever': {plain}"),
        format!("run:1: 'so many': {plain}"),
        format!("charts/values.yaml:2: 'told of': {plain}"),
        "ARCHITECTURE.md:5: a sentence of 36 words: word word word word word word word word ...".to_owned(),
        format!("ARCHITECTURE.md:1: 'Nobody': {plain}"),
        "ARCHITECTURE.md:7: 'to be measured': measure it, or leave out the row".to_owned(),
        format!("docs/a.md: 299 {length}"),
        format!("docs/d.md: 1001 {length}"),
        "operator/CAPABILITIES.md: there is no test it_is_gone".to_owned(),
    ];
    let output = pages(folder.path());
    assert_eq!(said(&output).lines().collect::<Vec<_>>(), expected);
    assert!(!output.status.success());
}
