//! The configurations that pages show load, and the commands and options that they name are there.

use rankwright_e2e::program::{Ended, run};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

/// README.md and the pages of docs/ by their paths, sorted.
fn pages() -> Vec<(PathBuf, String)> {
    let folder = std::fs::read_dir("../docs").expect("there are pages");
    let mut paths: Vec<PathBuf> = folder.map(|entry| entry.expect("folders can be read").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.push("../README.md".into());
    paths.sort();
    let read = |path: PathBuf| (path.clone(), std::fs::read_to_string(path).expect("pages are text"));
    paths.into_iter().map(read).collect()
}

#[test]
fn every_configuration_of_the_pages_loads() {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let path = folder.path().join("config.yml");
    let mut found = 0;
    for (page, text) in &pages() {
        for block in text.split("\n```yaml\n").skip(1) {
            let block = block.split("\n```").next().unwrap_or_default();
            if block.starts_with("spec:") || page.to_string_lossy().contains("kubernetes") {
                continue; // of a RankingService, or of what stands beside it
            }
            // the features of docs/features.md stand alone
            let config = if block.starts_with("- ") { format!("features:\n{block}\n") } else { format!("{block}\n") };
            std::fs::write(&path, &config).expect("files can be written");
            let Ended { code, stderr, .. } = run(&["serve", "--config", &path.to_string_lossy(), "--print-analytics"]);
            assert_eq!(code, Some(0), "{}:\n{config}\n{stderr}", page.display());
            found += 1;
        }
    }
    assert!(found > 25, "{found} configurations");
}

#[test]
fn every_command_and_option_that_a_page_names_is_there() {
    let pages = pages();
    let mut helps = BTreeMap::new();
    let mut found = 0;
    for (page, text) in &pages {
        // kubectl's plugin has commands of its own
        let ours = text.match_indices("rankwright ").filter(|(at, _)| !text[..*at].ends_with("kubectl "));
        let named = ours.map(|(at, name)| &text[at + name.len()..]);
        for said in named.filter_map(|rest| rest.split(['`', '|', '#', ';', '\n']).next()) {
            let words: Vec<&str> = said.split_whitespace().collect();
            let subcommand: Vec<&str> = match words[..] {
                ["models", ..] => {
                    ["models"].into_iter().chain(words[1..].iter().copied().find(|word| is_name(word))).collect()
                }
                [name, ..] if is_name(name) => vec![name],
                _ => continue, // an option of the program itself
            };
            let help = helps
                .entry(subcommand.clone())
                .or_insert_with(|| run(&[&subcommand[..], &["--help"]].concat()).ok().stdout);
            for option in words.iter().filter(|word| word.starts_with("--")) {
                let name = option.split('=').next().unwrap_or_default();
                let name = name.trim_end_matches(|last: char| !last.is_ascii_alphanumeric());
                assert!(help.contains(name), "{}: 'rankwright {said}': no {name} in\n{help}", page.display());
            }
            found += 1;
        }
    }
    assert!(found > 30, "{found} commands");
    let help = run(&["help"]).ok().stdout;
    let commands = help.split("\nCommands:\n").nth(1).expect("it has commands").lines();
    // a description that goes on in the next line is indented further
    let names = commands.map_while(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    for command in names.filter_map(|line| line.split(' ').next()).filter(|&command| command != "help") {
        let named = |(_, text): &(PathBuf, String)| text.contains(&format!("rankwright {command}"));
        assert!(pages.iter().any(named), "no page names 'rankwright {command}'");
    }
}

#[test]
fn the_page_about_the_command_line_names_each_option_of_each_command() {
    let page = include_str!("../../docs/cli.md");
    let rows = |title: &str| {
        let (_, rest) = page.split_once(&format!("## {title}\n")).expect("the page has this section");
        let section = rest.split("\n#").next().unwrap_or_default();
        let rows = section.lines().filter(|line| line.starts_with("| `"));
        rows.map(|row| row.split('|').map(str::trim).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    let of_events: Vec<String> = rows("Options of events").iter().flat_map(|row| options_in(row[1])).collect();
    assert_eq!(of_events.len(), 4, "{of_events:?}");
    let mut of_import = BTreeSet::new();
    let commands = rows("`rankwright`");
    assert!(commands.len() > 20, "{} commands", commands.len());
    for row in &commands {
        let [_, command, does, options, _] = row[..] else { panic!("three columns: {row:?}") };
        let words = command.trim_matches('`').split(' ').skip(1);
        let words: Vec<&str> = words.filter(|word| is_name(word)).chain(["--help"]).collect();
        let mut named: BTreeSet<String> = options_in(options).collect();
        if options.contains("those of [events]") {
            named.extend(of_events.iter().cloned());
        }
        match command {
            "`rankwright import`" => of_import = named.clone(),
            "`rankwright standalone`" => named.clone_from(&of_import),
            _ => {}
        }
        if !does.contains("takes no `--config`") {
            named.insert("-c, --config".to_owned());
        }
        let help = run(&words).ok().stdout;
        let mut there: BTreeSet<String> = help.lines().filter_map(option_of_help).collect();
        assert!(there.remove("-h, --help"), "{help}");
        assert_eq!(named, there, "docs/cli.md, {command}");
    }
}

/// Options that a text has as code, as `-m, --model` or `--by`.
fn options_in(text: &str) -> impl Iterator<Item = String> {
    let code = text.split('`').skip(1).step_by(2);
    code.filter(|code| code.starts_with('-')).map(str::to_owned)
}

/// The option that a line of a help text is about.
fn option_of_help(line: &str) -> Option<String> {
    const INDENT: usize = 6;
    let option = line.trim_start();
    let (short, long) = match option.split_once(", --") {
        Some((short, long)) if short.len() == 2 && short.starts_with('-') => (format!("{short}, "), long),
        _ => (String::new(), option.strip_prefix("--")?),
    };
    let name = long.split(|sign: char| !sign.is_ascii_lowercase() && sign != '-').next()?;
    (line.len() - option.len() <= INDENT).then(|| format!("{short}--{name}"))
}

/// Whether a word of a command may name a subcommand, and is not the path of an option.
fn is_name(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase())
}

#[test]
fn the_filter_of_the_page_about_moving_brings_both_answers_into_one_form() {
    let page = include_str!("../../docs/moving.md");
    let filter =
        page.split_once("values='").and_then(|(_, rest)| rest.split_once('\'')).expect("the page has a filter").0;
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let answers = [
        r#"{"items": [{"item": "a", "score": 2, "features": {"price": 3, "ctr": [1, 2]}}, {"item": "b", "features": {}}]}"#,
        r#"{"items": [{"item": "a", "features": [{"name": "ctr", "value": [1, 2]}, {"name": "price", "value": 3},
           {"name": "age", "value": null}]}, {"item": "b", "score": 1, "features": []}], "took": 0}"#,
    ];
    let values = answers.map(|answer| {
        let path = folder.path().join("answer.json");
        std::fs::write(&path, answer).expect("files can be written");
        let ended = Command::new("jq").args(["-S", "-c", filter]).arg(&path).output();
        ended.map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
    });
    match values {
        [Ok(upstream), Ok(ours)] => {
            assert_eq!(upstream, "{\"a\":{\"ctr\":[1,2],\"price\":3},\"b\":{}}\n");
            assert_eq!(ours, upstream);
        }
        _ => {
            assert!(std::env::var("RANKWRIGHT_REQUIRE_ALL").as_deref() != Ok("1"), "jq is missing");
            println!("SKIPPED: jq is missing");
        }
    }
}
