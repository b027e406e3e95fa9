//! MiniLM in 32-bit floats, in 8-bit integers, and with a head of one logit, against what PyPI's packages compute.

#[path = "minilm/given.rs"]
mod given;

use given::{encoder, encoder_with};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use rankwright_encoder::{EncodeError, Encoder, Settings, Task};
use serde::Deserialize;
use std::thread;
use std::time::{Duration, Instant};

#[derive(Deserialize)]
struct Reference {
    texts: Vec<Text>,
    pairs: Vec<Pair>,
}

/// Leading components of unit embeddings.
#[derive(Deserialize)]
struct Text {
    text: String,
    f32: [f32; 8],
    int8: [f32; 8],
}

#[derive(Deserialize)]
struct Pair {
    query: String,
    document: String,
    score: f32,
}

fn reference() -> Reference {
    serde_json::from_str(include_str!("minilm/reference.json")).expect("the file is valid")
}

fn one_by_one() -> Settings {
    Settings { threads: 1, batch: 1, ..Settings::default() }
}

fn cosine(left: &[f32], right: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    dot(left, right) / (dot(left, left) * dot(right, right)).sqrt()
}

/// What 8 bits leave of a cosine of 1, of usual texts and of odd ones.
fn assert_near(cosines: &[f32]) {
    let (mean, least) =
        (cosines.iter().sum::<f32>() / cosines.len() as f32, cosines.iter().copied().fold(1.0, f32::min));
    assert!(mean > 0.985 && least > 0.95, "mean {mean}, least {least}");
}

fn furthest(left: &[f32], right: &[f32]) -> f32 {
    left.iter().zip(right).map(|(left, right)| (left - right).abs()).fold(0.0, f32::max)
}

fn embeddings(encoder: &Encoder, texts: &[&str]) -> Vec<std::sync::Arc<[f32]>> {
    encoder.embed(texts, None).expect("computed")
}

#[test]
fn embeddings_are_those_of_other_programs() {
    let Some(exact) = encoder("minilm-f32") else { return };
    let Some(small) = encoder_with("minilm-int8", one_by_one()) else { return };
    let reference = reference();
    let texts: Vec<&str> = reference.texts.iter().map(|text| text.text.as_str()).collect();
    let (exact, small) = (embeddings(&exact, &texts), embeddings(&small, &texts));
    let mut cosines = Vec::new();
    for ((text, exact), small) in reference.texts.iter().zip(exact).zip(small) {
        assert_eq!((exact.len(), small.len()), (384, 384));
        assert!(
            (cosine(&exact, &exact) - 1.0).abs() < 1e-6
                && (exact.iter().map(|v| v * v).sum::<f32>() - 1.0).abs() < 1e-4
        );
        assert!(furthest(&exact[..8], &text.f32) < 2e-4, "{:?}: {:?} {:?}", text.text, &exact[..8], text.f32);
        assert!(cosine(&exact[..8], &text.f32) > 0.9999, "{:?}", text.text);
        // processors round 8-bit products in their own ways
        assert!(cosine(&small[..8], &text.int8) > 0.99, "{:?}: {:?} {:?}", text.text, &small[..8], text.int8);
        cosines.push(cosine(&small, &exact));
    }
    assert_near(&cosines);
}

#[test]
fn scores_are_those_of_other_programs() {
    let Some(cross) = encoder_with("minilm-cross", one_by_one()) else { return };
    let reference = reference();
    let pairs: Vec<(&str, &str)> = reference.pairs.iter().map(|pair| (&*pair.query, &*pair.document)).collect();
    let scores = cross.score(&pairs, None).expect("computed");
    for (pair, score) in reference.pairs.iter().zip(scores) {
        // processors round 8-bit products in their own ways
        assert!((pair.score - score).abs() < 0.3, "{:?} {:?}: {score} {}", pair.query, pair.document, pair.score);
    }
}

#[test]
fn titles_that_suit_a_query_of_the_shop_score_more_than_others() {
    let Some(cross) = encoder_with("minilm-cross", one_by_one()) else { return };
    for (query, suits, other) in [
        ("red wool speaker", "red wool speaker by corvid", "black cotton duffel bag by ironleaf"),
        ("windbreaker", "black bamboo windbreaker by quillon", "red wool speaker by corvid"),
        ("cotton bag", "black cotton duffel bag by ironleaf", "black bamboo windbreaker by quillon"),
    ] {
        let scores = cross.score(&[(query, suits), (query, other)], None).expect("computed");
        assert!(scores[0] > scores[1], "{query}: {scores:?}");
    }
}

#[test]
fn a_text_computed_with_others_is_nearly_the_same() {
    let Some(alone) = encoder_with("minilm-int8", one_by_one()) else { return };
    let Some(together) = encoder("minilm-int8") else { return };
    let reference = reference();
    let texts: Vec<&str> = reference.texts.iter().map(|text| text.text.as_str()).collect();
    let (alone, together) = (embeddings(&alone, &texts), embeddings(&together, &texts));
    assert_near(&alone.iter().zip(&together).map(|(alone, together)| cosine(alone, together)).collect::<Vec<_>>());
}

#[test]
fn similar_texts_have_similar_embeddings() {
    let Some(encoder) = encoder("minilm-int8") else { return };
    let texts = ["how do I return a pair of shoes?", "sending back footwear that I bought", "the weather in Paris"];
    let vectors = embeddings(&encoder, &texts);
    assert!(cosine(&vectors[0], &vectors[1]) > 0.4 && cosine(&vectors[0], &vectors[2]) < 0.2);
}

#[test]
fn any_text_is_computed() {
    let long = "word ".repeat(20_000);
    let unbroken = "字".repeat(100_000);
    let marks = "[SEP][CLS][PAD]".repeat(7_000);
    let controls: String = (0..0x3000u32).filter_map(char::from_u32).collect();
    let texts = [
        "",
        " ",
        "\n\r\t",
        "\0",
        "\u{FFFD}\u{FEFF}",
        &long,
        &unbroken,
        &marks,
        &controls,
        "a\u{0301}".repeat(999).leak(),
    ];
    let (Some(embed), Some(cross)) = (encoder("minilm-int8"), encoder("minilm-cross")) else { return };
    assert!(embeddings(&embed, &texts).iter().all(|vector| vector.iter().all(|value| value.is_finite())));
    let pairs: Vec<(&str, &str)> =
        texts.iter().flat_map(|&query| texts.iter().map(move |&other| (query, other))).collect();
    assert!(cross.score(&pairs, None).expect("computed").iter().all(|score| score.is_finite()));
    assert_eq!((embed.embed(&[], None), cross.score(&[], None)), (Ok(vec![]), Ok(vec![])));
}

#[test]
fn texts_at_random_are_computed() {
    let Some(encoder) = encoder("minilm-cross") else { return };
    let config = ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() };
    TestRunner::new(config)
        .run(&(any::<String>(), "\\PC{0,80}"), |(query, document)| {
            let scores = encoder.score(&[(&query, &document)], None);
            prop_assert!(scores.is_ok_and(|scores| scores[0].is_finite()));
            Ok(())
        })
        .expect("each has a score");
}

#[test]
fn an_encoder_is_shared_between_threads() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<Encoder>();
}

#[test]
fn an_encoder_says_what_it_computes_and_refuses_the_rest() {
    let (Some(embed), Some(cross)) = (encoder("minilm-int8"), encoder("minilm-cross")) else { return };
    assert_eq!((embed.task(), embed.dim(), cross.task(), cross.dim()), (Task::Embed, 384, Task::Score, 1));
    assert_eq!(embed.score(&[("a", "b")], None), Err(EncodeError::WrongTask { model: Task::Embed }));
    let error = cross.embed(&["a"], None).expect_err("refused");
    assert_eq!(error.to_string(), "the model computes scores of pairs, not embeddings of texts");
}

#[test]
fn the_digest_is_of_the_model_and_how_it_is_used() {
    let Some(one) = encoder("minilm-int8") else { return };
    let Some(same) = encoder_with("minilm-int8", one_by_one()) else { return };
    let Some(shorter) = encoder_with("minilm-int8", Settings { max_tokens: Some(16), ..Settings::default() }) else {
        return;
    };
    let Some(other) = encoder("minilm-cross") else { return };
    assert_eq!((one.digest(), one.digest().len()), (same.digest(), 64));
    assert!(one.digest() != shorter.digest() && one.digest() != other.digest());
}

#[test]
fn texts_are_cut_to_what_the_model_takes() {
    let Some(encoder) = encoder_with("minilm-f32", Settings { max_tokens: Some(8), ..one_by_one() }) else { return };
    let vectors = embeddings(&encoder, &["one two three four five six", "one two three four five six seven eight"]);
    assert_eq!(vectors[0], vectors[1]);
}

#[test]
fn what_was_computed_is_not_computed_again() {
    let Some(encoder) = encoder("minilm-int8") else { return };
    let first = embeddings(&encoder, &["red", "blue", "red"]);
    assert_eq!((encoder.hits_and_misses(), &first[0]), ((0, 2), &first[2]));
    assert_eq!(embeddings(&encoder, &["blue", "red"]), [first[1].clone(), first[0].clone()]);
    assert_eq!(encoder.hits_and_misses(), (2, 2));
}

#[test]
fn texts_that_several_ask_for_at_a_time_are_computed_once() {
    let Some(encoder) = encoder("minilm-int8") else { return };
    let texts: Vec<String> = (0..40).map(|number| format!("a text of many words with the number {number}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let backwards: Vec<&str> = texts.iter().rev().copied().collect();
    thread::scope(|scope| {
        for caller in 0..6 {
            let (encoder, texts) = (&encoder, if caller % 2 == 0 { &texts } else { &backwards });
            scope.spawn(move || assert_eq!(embeddings(encoder, texts).len(), 40));
        }
    });
    assert_eq!(encoder.hits_and_misses().1, 40);
}

#[test]
fn without_memory_every_call_is_answered() {
    let Some(encoder) = encoder_with("minilm-int8", Settings { memory: 0, ..Settings::default() }) else { return };
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(embeddings(&encoder, &["one", "two", "one"]).len(), 3));
        }
    });
}

#[test]
fn a_call_ends_at_its_deadline_and_the_next_one_is_answered() {
    let Some(encoder) = encoder_with("minilm-f32", Settings { threads: 1, ..Settings::default() }) else { return };
    let texts: Vec<String> = (0..200).map(|number| format!("{number} {}", "word ".repeat(100))).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (start, by) = (Instant::now(), Instant::now() + Duration::from_millis(150));
    assert_eq!(encoder.embed(&texts, Some(by)), Err(EncodeError::OutOfTime));
    assert_eq!(encoder.embed(&["late"], Some(start)), Err(EncodeError::OutOfTime));
    assert_eq!(embeddings(&encoder, &texts[..2]).len(), 2);
    assert!(encoder.embed(&["soon"], Some(Instant::now() + Duration::from_secs(60))).is_ok());
}

#[test]
fn what_was_computed_before_the_deadline_is_kept() {
    let Some(encoder) = encoder_with("minilm-int8", one_by_one()) else { return };
    let texts: Vec<String> = (0..60).map(|number| format!("{number} {}", "word ".repeat(40))).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let soon = || Some(Instant::now() + Duration::from_millis(400));
    let answered = (0..100).any(|_| encoder.embed(&texts, soon()).is_ok());
    assert!(answered, "each call goes on where the last one ended");
}

#[test]
fn too_much_at_a_time_is_refused_where_that_is_asked_for_and_a_small_call_is_answered_beside_a_large_one() {
    let settings = Settings { queue: 2, memory: 0, ..one_by_one() };
    let Some(encoder) = encoder_with("minilm-f32", settings) else { return };
    let texts: Vec<String> = (0..40).map(|number| format!("{number} {}", "word ".repeat(100))).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    thread::scope(|scope| {
        let long = scope.spawn(|| encoder.embed(&texts, None).map(|vectors| vectors.len()));
        let refused = || matches!(encoder.try_embed(&["x", "y"], None), Err(EncodeError::Busy { waiting: 2 }));
        assert!(soon(refused), "two of its batches come before two of ours");
        assert_eq!(encoder.try_embed(&["x"], None).map(|vectors| vectors.len()), Ok(1));
        assert!(!long.is_finished(), "the small call was answered beside the large one");
        assert_eq!(encoder.embed(&["x", "y"], None).map(|vectors| vectors.len()), Ok(2));
        assert_eq!(long.join().expect("no panic"), Ok(40));
    });
}

#[test]
fn a_text_of_a_large_call_that_is_computed_is_there_for_others() {
    let Some(encoder) = encoder_with("minilm-f32", one_by_one()) else { return };
    let texts: Vec<String> = (0..40).map(|number| "word ".repeat(100 - number)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    thread::scope(|scope| {
        let long = scope.spawn(|| encoder.embed(&texts, None).map(|vectors| vectors.len()));
        assert!(soon(|| encoder.hits_and_misses().1 == 40), "the large call computes all of them");
        assert_eq!(encoder.embed(&texts[..1], None).map(|vectors| vectors.len()), Ok(1));
        assert!(!long.is_finished(), "the longest comes first");
        assert_eq!(long.join().expect("no panic"), Ok(40));
    });
    assert_eq!(encoder.hits_and_misses().1, 40);
}

#[test]
fn a_call_that_ends_early_leaves_the_queue() {
    let settings = Settings { queue: 2, memory: 0, ..one_by_one() };
    let Some(encoder) = encoder_with("minilm-f32", settings) else { return };
    let texts: Vec<String> = (0..100).map(|number| format!("{number} {}", "word ".repeat(100))).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let by = Instant::now() + Duration::from_millis(300);
    assert_eq!(encoder.embed(&texts, Some(by)), Err(EncodeError::OutOfTime));
    assert_eq!(encoder.try_embed(&["x", "y"], None).map(|vectors| vectors.len()), Ok(2));
}

#[test]
fn what_would_be_computed_too_late_is_refused_at_once_where_that_is_asked_for() {
    let settings = Settings { threads: 1, memory: 0, ..Settings::default() };
    let Some(encoder) = encoder_with("minilm-f32", settings) else { return };
    let texts: Vec<String> = (0..80).map(|number| format!("{number} {}", "word ".repeat(100))).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    embeddings(&encoder, &texts[..8]); // so that it knows how long a token takes
    thread::scope(|scope| {
        let long = scope.spawn(|| encoder.embed(&texts, None).map(|vectors| vectors.len()));
        let by = || Some(Instant::now() + Duration::from_millis(20));
        let refused = || matches!(encoder.try_embed(&["x"], by()), Err(EncodeError::Busy { .. }));
        assert!(soon(refused), "others are before it");
        assert_eq!(long.join().expect("no panic"), Ok(80));
    });
}

/// Whether it holds within seconds.
fn soon(mut holds: impl FnMut() -> bool) -> bool {
    (0..500).any(|_| {
        thread::sleep(Duration::from_millis(10));
        holds()
    })
}

#[test]
fn an_encoder_ends_with_its_threads() {
    let Some(encoder) = encoder_with("minilm-int8", Settings { threads: 3, ..Settings::default() }) else { return };
    embeddings(&encoder, &["one"]);
    drop(encoder); // returns when all of them have ended
}
