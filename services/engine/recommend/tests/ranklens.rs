//! Real data: visitors of RankLens click what items like their last click are, more often than what is popular.
#![allow(clippy::expect_used, missing_docs)]

use flate2::read::MultiGzDecoder;
use rankwright_recommend::als::{self, Settings};
use rankwright_recommend::{Build, Interactions, Similar, Weight};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

/// User, item and place in the file of each click; `None`, with a line that says so, where the file is missing and need
/// not be there.
fn clicks() -> Option<Vec<(String, String, u64)>> {
    let beside = || PathBuf::from("../../../../shared");
    let shared = std::env::var_os("RANKWRIGHT_SHARED").map_or_else(beside, PathBuf::from);
    let path = shared.join("data/ranklens_events.jsonl.gz");
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) => {
            let required = std::env::var_os("RANKWRIGHT_REQUIRE_ALL").is_some_and(|all| all == "1");
            assert!(!required, "{}: {error}", path.display());
            println!("SKIPPED: {}: {error}", path.display());
            return None;
        }
    };
    let lines = BufReader::new(MultiGzDecoder::new(file)).lines().map(|line| line.expect("is a text"));
    let clicks = lines.zip(0..).filter(|(line, _)| line.contains(r#""event":"interaction""#)).map(|(line, place)| {
        let event: serde_json::Value = serde_json::from_str(&line).expect("is JSON");
        let text = |field: &str| event[field].as_str().expect("is a text").to_owned();
        let time: u64 = text("timestamp").parse().expect("is a time");
        (text("user"), text("item"), time * 1_000_000 + place)
    });
    Some(clicks.collect())
}

#[test]
fn items_like_the_last_click_are_clicked_next_more_often_than_popular_ones() {
    let Some(clicks) = clicks() else { return };
    let mut all = Interactions::default();
    for (user, item, time) in &clicks {
        all.add(Some(user), item, 0, *time as i64).expect("there is room");
    }
    let held_out = all.hold_out(1, 5);
    let matrix = all.matrix(&held_out).expect("it fits");
    let settings = Settings { iterations: 30, ..Settings::default() };
    let factors = als::fit(&matrix, &settings, |_| ControlFlow::Continue(())).expect("is not cancelled");
    let similar = Similar::from_vectors(matrix.items, factors.items, &Build::default()).expect("is valid");
    let names = |found: Vec<(&str, f32)>| found.into_iter().map(|(item, _)| item.to_owned()).collect();
    let rate = all.hit_rate(&held_out, 10, |context, seen| {
        names(similar.recommend(&[context], |item| seen.contains(item), 10).items)
    });
    let trending = all.trending(&[Weight { window: Duration::MAX, ..Weight::default() }], &held_out);
    let trend = all.hit_rate(&held_out, 10, |_, seen| names(trending.top(10, |item| seen.contains(item))));
    println!("hit@10 of {} visitors: {rate:?}, trending {trend:?}", held_out.len());
    assert!(rate.of_model >= 0.14, "{rate:?}");
    assert!((0.02..0.06).contains(&rate.of_popular) && rate.of_random < 0.01, "{rate:?}");
    assert!(trend.of_model > 3.0 * trend.of_random, "{trend:?}");
}
