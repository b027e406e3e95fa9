//! What is no configuration at all, and what YAML has beside keys and values.

use super::{errors, only};

#[test]
fn broken_yaml_is_one_mistake_with_its_line() {
    let errors = errors("features:\n  - name: a\n   type: number\n");
    let [mistake] = errors.mistakes() else { panic!("{errors}") };
    assert_eq!((mistake.line, mistake.column), (3, 4));
    assert!(mistake.problem.starts_with("this is not YAML: "), "{mistake}");
    assert!(errors.to_string().starts_with("config.yml: 1 mistake\n\nconfig.yml:3:4\n"), "{errors}");
}

#[test]
fn what_is_wrong_with_an_anchor_is_reported_once() {
    let text = "x-a: &a {type: number, field: price}\nfeatures: [{<<: *a, name: f}, {<<: *a, name: g}]";
    assert_eq!(errors(text).mistakes().len(), 1);
}

#[test]
fn aliases_cannot_fill_the_memory() {
    let mut text = "x-0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for level in 1..12 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        text += &format!("x-{level}: &a{level} [{aliases}]\n");
    }
    assert!(only(&text).1.contains("too large"));
    let deep = format!("features: {}{}", "[".repeat(200), "]".repeat(200));
    assert!(only(&deep).1.contains("too deeply"));
    assert!(only("x-a: &a [*a]").1.contains("inside of what it refers to"));
}

#[test]
fn what_yaml_allows_and_a_configuration_does_not_is_a_mistake() {
    for (text, problem) in [
        ("api: {port: 1}\n---\napi: {}", "a second document begins here"),
        ("api: !port 8080", "this value has a tag (`!`)"),
        ("? [a, b]\n: c", "a key is a list or a mapping"),
        ("api: {<<: 5}", "`<<` merges something other than a mapping"),
    ] {
        assert_eq!(only(text).1, problem, "{text}");
    }
}
