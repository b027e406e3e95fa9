//! Real data: visitors of RankLens click what items like their last click are, more often than what is popular.
#![allow(clippy::expect_used, missing_docs)]

use flate2::read::MultiGzDecoder;
use rankwright_recommend::als::{self, Settings};
use rankwright_recommend::{Build, Click, HoldOut, MatrixBuilder, Similar, Trending, Weight};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;
use std::path::PathBuf;

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
    let clicks = clicks.iter().map(|(user, item, time)| Click { user, time: *time, item });
    let split = HoldOut::of(clicks, 5);

    let mut builder = MatrixBuilder::default();
    split.train.iter().for_each(|click| builder.add(click.user, click.item).expect("there is room"));
    let matrix = builder.build();
    let settings = Settings { iterations: 30, ..Settings::default() };
    let factors = als::fit(&matrix, &settings, |_| ControlFlow::Continue(())).expect("is not cancelled");
    let similar = Similar::from_vectors(matrix.items.clone(), factors.items, &Build::default()).expect("is valid");
    let by_likeness = split.hit_rate(|case| {
        let answer = similar.recommend(&[case.context], |item| case.seen.contains(item), 10);
        answer.items.into_iter().map(|(item, _)| item).collect()
    });

    let popular = Trending::fit(split.train.iter().map(|click| (click.item, 0, 0)), &[Weight::default()], 0);
    let by_popularity = split
        .hit_rate(|case| popular.top(10, |item| case.seen.contains(item)).into_iter().map(|(item, _)| item).collect());

    println!("hit@10: {by_likeness:?}, of what is popular: {by_popularity:?}");
    assert!(by_popularity.rate().is_some_and(|rate| (0.02..0.06).contains(&rate)), "{by_popularity:?}");
    assert!(by_likeness.rate().is_some_and(|rate| rate >= 0.15), "{by_likeness:?}");
}
