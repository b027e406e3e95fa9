//! `autofeature` as a user runs it: what it proposes loads, trains, and is about as good as what people write.

use flate2::Compression;
use flate2::write::GzEncoder;
use rankwright_e2e::events::{cheap_wins, click, columns, lines, tracked};
use rankwright_e2e::folder::{folder, names, write};
use rankwright_e2e::page::block;
use rankwright_e2e::program::{self, run, run_on};
use rankwright_e2e::quality::{Quality, of_log};
use rankwright_e2e::{Ended, shared};
use serde_json::json;
use std::io::Write;
use std::path::Path;
use std::process::Command;

const PAGE: &str = include_str!("../../docs/autofeature.md");

/// So much worse than a configuration that a person wrote it may be.
const MARGIN: f64 = 0.02;

fn autofeature(data: &Path, out: &Path, more: &[&str]) -> Ended {
    let (data, out) = (data.to_string_lossy(), out.to_string_lossy());
    run(&[&["autofeature", "--data", &data, "--out", &out], more].concat())
}

/// The text of a configuration that is proposed for these events.
fn proposed(data: &Path, more: &[&str]) -> String {
    let folder = folder();
    let out = folder.path().join("proposed.yml");
    let ended = autofeature(data, &out, more).ok();
    assert_eq!(ended.stdout.trim(), out.canonicalize().expect("is written").to_string_lossy());
    std::fs::read_to_string(out).expect("is written")
}

/// Imports events under a configuration, and trains a model of it.
fn trained(config: &str, data: &Path, model: &str) -> Quality {
    let folder = folder();
    let state = format!("state: {{type: file, path: {}}}\n", folder.path().join("state").display());
    let without = config.replacen("  type: memory\n", "", 1).replacen("state:\n", "", 1);
    let config = write(folder.path(), "config.yml", state + &without);
    run_on("import", &config, data, &[]).ok();
    let ended = run(&["train", "--config", &config.to_string_lossy(), "--model", model]).ok();
    of_log(&ended.stderr).into_iter().next().unwrap_or_else(|| panic!("no quality in the log:\n{}", ended.stderr))
}

/// Asserts that a row of docs/autofeature.md has the NDCG of this configuration, in this column.
fn assert_on_page(row: &str, column: usize, quality: &Quality) {
    let row = PAGE.lines().find(|line| line.starts_with(&format!("| {row}"))).expect("the page has the row");
    let shown = row.split('|').nth(column + 2).and_then(|cell| cell.trim().parse::<f64>().ok());
    let shown = shown.unwrap_or_else(|| panic!("no figure {column} in {row}"));
    assert!((served(quality) - shown).abs() < 0.01, "docs/autofeature.md shows {row}, column {column} is {quality:?}");
}

/// NDCG@10 as visitors would get it: without knowing where items were shown.
fn served(quality: &Quality) -> f64 {
    quality.as_served.unwrap_or(quality.reranked)
}

#[test]
fn what_is_proposed_for_a_shop_is_about_as_good_as_its_own_configuration() {
    let folder = folder();
    let shop = folder.path().join("shop");
    run(&["generate", "--rankings", "4000", "--items", "600", "--users", "600", "--out", &shop.to_string_lossy()]).ok();
    let data = shop.join("events.jsonl.gz");
    let own = std::fs::read_to_string(shop.join("config.yml")).expect("is written");
    // the same relevance: what a purchase is worth is a matter of taste
    let weigh = |config: &str| config.replacen("purchase: 2\n", "purchase: 3\n", 1);
    let own = trained(&own, &data, "xgboost");
    assert_on_page("4,000 lists", 0, &own);
    for (ruleset, column) in [("stable", 1), ("all", 2)] {
        let config = proposed(&data, &["--ruleset", ruleset]);
        assert!(config.contains("      purchase: 2\n"), "{config}");
        let quality = trained(&weigh(&config), &data, "default");
        println!("{ruleset}: {quality:?}; its own: {own:?}");
        assert!(served(&quality) >= served(&own) - MARGIN, "{ruleset}: {quality:?} is no match for {own:?}");
        assert!(quality.reranked > quality.shown, "{quality:?}");
        assert_on_page("4,000 lists", column, &quality);
    }
}

#[test]
fn what_is_proposed_for_films_is_about_as_good_as_a_configuration_that_was_tuned_for_them() {
    let Some(data) = shared::path("data/ranklens_events.jsonl.gz") else { return };
    let own = trained(include_str!("../ranklens.yml"), &data, "xgboost");
    assert_on_page("RankLens", 0, &own);
    for (ruleset, column) in [("stable", 1), ("all", 2)] {
        let quality = trained(&proposed(&data, &["--ruleset", ruleset]), &data, "default");
        println!("{ruleset}: {quality:?}; by hand: {own:?}");
        assert!(served(&quality) >= served(&own) - MARGIN, "{ruleset}: {quality:?} is no match for {own:?}");
        assert_on_page("RankLens", column, &quality);
    }
}

#[test]
fn the_page_shows_what_is_proposed_for_the_shop_that_is_generated() {
    let folder = folder();
    run(&["generate", "--out", &folder.path().to_string_lossy()]).ok();
    let config = proposed(&folder.path().join("events.jsonl.gz"), &[]);
    let shown = block(PAGE, "yaml", "features:");
    assert!(shown.lines().count() > 4, "{shown}");
    for line in shown.lines() {
        let begin = line.trim_end_matches("]}"); // of the values, the page has the first ones
        assert!(config.lines().any(|proposed| proposed.starts_with(begin)), "{line} in\n{config}");
    }
}

#[test]
fn every_proposed_model_trains_and_the_events_pass_their_checks() {
    let folder = folder();
    let shop = folder.path().join("shop");
    run(&["generate", "--rankings", "800", "--items", "100", "--users", "100", "--out", &shop.to_string_lossy()]).ok();
    let out = folder.path().join("proposed.yml");
    let ended = autofeature(&shop, &out, &["--validation"]).ok();
    assert!(ended.stderr.contains("PASS field reference"), "{}", ended.stderr);
    let config = std::fs::read_to_string(&out).expect("is written");
    let state = format!("  type: file\n  path: {}\n", folder.path().join("state").display());
    let config = write(folder.path(), "config.yml", config.replacen("  type: memory\n", &state, 1));
    let import = run_on("import", &config, &shop, &[]).ok();
    assert!(!import.stderr.contains("WARN"), "{}", import.stderr);
    let log = run(&["train", "--config", &config.to_string_lossy()]).ok().stderr;
    for model in ["default", "popular", "similar"] {
        assert!(log.contains(&format!("trained model=\"{model}\"")), "{model}: {log}");
    }
}

#[test]
fn a_dictionary_that_the_configuration_asks_for_makes_its_hint_a_feature() {
    let folder = folder();
    let shop = folder.path().join("shop");
    run(&["generate", "--rankings", "300", "--items", "100", "--users", "100", "--out", &shop.to_string_lossy()]).ok();
    let data = shop.join("events.jsonl.gz");
    let config = proposed(&data, &[]);
    let command = config.lines().find_map(|line| line.trim().strip_prefix("#   rankwright termfreq "));
    let command = command.unwrap_or_else(|| panic!("no command: {config}")).replace("--out ", "--out DIR/");
    let command = command.replace("DIR", &folder.path().to_string_lossy());
    run(&[&["termfreq"], &command.split(' ').collect::<Vec<_>>()[..]].concat()).ok();
    let dictionary = folder.path().join("title.dict").to_string_lossy().into_owned();
    let config = config.replace("# - query_title_bm25", "- query_title_bm25");
    let config = config
        .replace("# - {name: query_title_bm25", "- {name: query_title_bm25")
        .replace("title.dict}", &format!("{dictionary}}}"));
    let config = write(folder.path(), "config.yml", config);
    run_on("validate", &config, &data, &[]).ok();
}

#[test]
fn interactions_that_say_an_item_was_not_wanted_do_not_fail_the_validation() {
    let folder = folder();
    let mut events = cheap_wins(60);
    for (place, kind) in ["dislike", "skip", "return", "report"].into_iter().enumerate() {
        let mut unwanted = click(kind, 70 + place as i64, "r59", "u3", "i1");
        unwanted["type"] = json!(kind);
        events.push(unwanted);
    }
    let data = write(folder.path(), "events.jsonl", lines(&events));
    let out = folder.path().join("out.yml");
    let ended = autofeature(&data, &out, &["--validation"]).ok();
    assert!(ended.stderr.contains("PASS interaction type: 60 click, 1 dislike"), "{}", ended.stderr);
}

#[test]
fn the_commands_of_a_proposal_run_as_they_stand() {
    let folder = folder();
    let shop = folder.path().join("shop");
    let sizes = ["--rankings", "300", "--items", "100", "--users", "100", "--plain"];
    run(&[&["generate", "--out", &shop.to_string_lossy()], &sizes[..]].concat()).ok();
    let plain = std::fs::read_to_string(shop.join("events.jsonl")).expect("is written");
    let event = |line: &str| serde_json::from_str(line).expect("an event");
    let data = folder.path().join("my events");
    std::fs::create_dir(&data).expect("is new");
    let enriched: String = plain.lines().map(|line| columns("unstruct", &tracked(&event(line)))).collect();
    write(&data, "events.tsv", enriched);
    let here = |command: &mut Command| Ended::of(command.current_dir(folder.path())).ok();
    let more = ["--format", "snowplow:tsv", "--offset", "ts=1000", "--data", "my events", "--out", "my config.yml"];
    here(&mut program::command(&[&["autofeature"], &more[..]].concat()));
    let config = std::fs::read_to_string(folder.path().join("my config.yml")).expect("is written");
    let commands: Vec<&str> = config.lines().filter_map(|line| line.trim().strip_prefix("#   rankwright ")).collect();
    assert!(commands.len() >= 2, "{config}");
    for command in commands {
        // the same options, and it ends
        here(&mut program::shell(&format!("rankwright {}", command.replacen("standalone", "validate", 1))));
    }
    assert!(folder.path().join("title.dict").exists());
}

#[test]
fn options_of_events_and_the_threshold_are_taken() {
    let folder = folder();
    let data = write(folder.path(), "events.jsonl", lines(&cheap_wins(200)));
    let of = |more: &[&str]| proposed(&data, more);
    assert!(of(&[]).contains("ruleset stable, category threshold 0.003) from"), "{}", of(&[]));
    assert!(
        of(&["-r", "all", "-c", "0.5", "-f", "json", "-s", "time"]).contains("ruleset all, category threshold 0.5)")
    );
    // only the last lists are read: items came before them
    let late = of(&["--offset", "ts=1636907200"]);
    assert!(late.contains("0 item events") && !late.contains("price"), "{late}");
    let printed = autofeature(&data, Path::new("-"), &[]).ok();
    let written = of(&[]);
    assert_eq!(printed.stdout, written.replace(&printed_name(&written), "--config config.yml"));
}

/// The part of a proposal's first command that names its own file.
fn printed_name(config: &str) -> String {
    let line = config.lines().find(|line| line.contains("standalone")).unwrap_or_default();
    let end = line.find(" --data").unwrap_or_default();
    line[line.find("--config").unwrap_or_default()..end].to_owned()
}

#[test]
fn what_is_no_help_is_told_and_nothing_is_written() {
    let folder = folder();
    let good = write(folder.path(), "good.jsonl", lines(&cheap_wins(30)));
    let out = folder.path().join("out.yml");
    let refused = |data: &Path, out: &Path, more: &[&str], what: &str| {
        let ended = autofeature(data, out, more).refused();
        assert!(ended.stderr.contains(what), "no {what:?} in {}", ended.stderr);
    };
    refused(&folder.path().join("god.jsonl"), &out, &[], "god.jsonl");
    refused(&write(folder.path(), "empty.jsonl", ""), &out, &[], "empty.jsonl holds no events");
    refused(&write(folder.path(), "text.jsonl", "hello\n"), &out, &[], "holds no events: 1 line that is no event\n");
    refused(&write(folder.path(), "text.jsonl", "hello\n"), &out, &["--strict"], "text.jsonl:1");
    let items: Vec<_> = cheap_wins(1).into_iter().filter(|event| event["event"] == "item").collect();
    refused(&write(folder.path(), "items.jsonl", lines(&items)), &out, &[], "of 20 events none is a ranking");
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(lines(&cheap_wins(500)).as_bytes()).expect("a vector takes all");
    let whole = gzip.finish().expect("a vector takes all");
    let cut = write(folder.path(), "cut.jsonl.gz", &whole[..whole.len() / 2]);
    refused(&cut, &out, &[], "cut.jsonl.gz is damaged or was cut short: no configuration is written");
    refused(&good, folder.path(), &[], "is a folder: name a file in it");
    refused(&good, &good, &[], "good.jsonl is among the events that are read");
    refused(&good, &folder.path().join("no/out.yml"), &[], "cannot write to");
    refused(&good, &out, &["--offset", "ts=2000000000"], "holds no events: 80 events before --offset\n");
    refused(&good, &out, &["--offset", "latest"], "--offset: nothing is left to read after the latest event");
    let mut late = cheap_wins(30);
    late.reverse();
    let unsorted = write(folder.path(), "late.jsonl", lines(&late));
    refused(&unsorted, &out, &["--validation"], "no configuration was written");
    for (option, value, what) in
        [("--ruleset", "best", "expected stable or all"), ("-c", "0", "expected a number over 0")]
    {
        let ended = autofeature(&good, &out, &[option, value]);
        assert!(ended.code == Some(2) && ended.stderr.contains(what), "{}", ended.stderr);
    }
    assert!(!out.exists());
}

#[test]
fn a_file_that_may_not_grow_is_told_and_what_was_there_stays() {
    let folder = folder();
    let data = write(folder.path(), "events.jsonl", lines(&cheap_wins(30)));
    let out = write(folder.path(), "out.yml", "earlier");
    let arguments = ["autofeature", "--data", &data.to_string_lossy(), "--out", &out.to_string_lossy()];
    let ended = Ended::of(&mut program::limited(0, &arguments)).refused();
    assert!(ended.stderr.contains("out.yml: File too large"), "{}", ended.stderr);
    assert_eq!(std::fs::read_to_string(&out).expect("is there"), "earlier");
    assert_eq!(names(folder.path()), ["events.jsonl", "out.yml"]);
}
