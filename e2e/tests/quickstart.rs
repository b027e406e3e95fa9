//! The README's first command, as it stands, and the figures that the README shows of it.

use rankwright_e2e::page::block;
use rankwright_e2e::program;
use std::process::Command;

const README: &str = include_str!("../../README.md");

/// The number behind these words.
fn figure(words: &str) -> f64 {
    let rest = README.split_once(words).unwrap_or_else(|| panic!("no {words:?} in the README")).1.trim_start();
    let number = rest.split(|letter: char| !letter.is_ascii_digit() && letter != '.').next().unwrap_or_default();
    number.trim_end_matches('.').parse().unwrap_or_else(|_| panic!("no number behind {words:?}"))
}

/// Items of an answer, first to last, and their scores; the README leaves the last ones out.
fn scored(answer: &str) -> Vec<(&str, f64)> {
    let items = answer.split("{\"item\":\"").skip(1).filter_map(|rest| rest.split('}').next());
    items
        .filter_map(|item| item.split_once("\",\"score\":"))
        .filter_map(|(id, score)| Some((id, score.parse().ok()?)))
        .collect()
}

#[test]
fn the_quickstart_serves_a_model_that_beats_the_order_shown_as_the_readme_says() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let port = rankwright_e2e::ports::free(1);
    let output = Command::new("bash")
        .args(["../run", "quickstart", "--once"])
        .env("RANKWRIGHT_BIN", program::path())
        .env("QUICKSTART_DIR", folder.path().join("shop"))
        .env("QUICKSTART_PORT", port.to_string())
        .output()
        .expect("bash is there");
    let (said, log) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}{log}");
    assert!(said.contains(&format!("'http://127.0.0.1:{port}/rank/lightgbm'")), "{said}");
    assert!(said.contains(&format!("  http://127.0.0.1:{port}/#/try\n")), "the link to the page: {said}");
    let answer = said.lines().last().and_then(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let items = answer.as_ref().and_then(|answer| answer["items"].as_array()).map_or(0, Vec::len);
    assert!(items > 1 && answer.is_some_and(|answer| answer["fallback"].is_null()), "{said}");
    let shown = block(README, "json", "{\"items\"");
    let (shown, found) = (scored(&shown), scored(said.lines().last().unwrap_or_default()));
    let same = |(one, other): (&(&str, f64), &(&str, f64))| one.0 == other.0 && (one.1 - other.1).abs() < 1e-4;
    assert!(shown.len() > 3 && found.len() >= shown.len(), "{shown:?} in {said}");
    assert!(shown.iter().zip(&found).all(same), "{shown:?} in {said}");
    for command in block(README, "sh", "curl").lines() {
        let command = command.replace("8080", &port.to_string());
        assert!(said.contains(&format!("  {command}\n")), "{command} in {said}");
    }
    let qualities = rankwright_e2e::quality::of_log(&log);
    assert_eq!(qualities.len(), 2, "both ranking models tell their quality:\n{log}");
    for quality in &qualities {
        assert!(quality.reranked > quality.shown + 0.05, "{quality:?}");
    }
    let popular_and_similar: Vec<_> = said.lines().rev().skip(1).take(2).collect();
    for recommended in popular_and_similar {
        let recommended: serde_json::Value = serde_json::from_str(recommended).unwrap_or_else(|_| panic!("{said}"));
        let items = recommended["items"].as_array().map_or(0, Vec::len);
        assert!(items == 5 && recommended["fallback"].is_null(), "{said}");
    }
    let asked = qualities.iter().find(|quality| quality.model == "lightgbm").expect("the model of the request");
    let served = asked.as_served.unwrap_or(asked.reranked);
    let figures =
        [("its NDCG@10 is", served), ("visitors were shown has", asked.shown), ("and a random order", asked.random)];
    for (words, measured) in figures {
        assert!((figure(words) - measured).abs() < 0.01, "the README says {}, this is {asked:?}", figure(words));
    }
}
