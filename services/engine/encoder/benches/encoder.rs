//! How long pairs and texts take, beside ONNX Runtime alone with the same batches, and what memory many requests leave.
//!
//! Needs the folder that `native/fetch.sh` fills in `RANKWRIGHT_ENCODERS_DIR`. `BENCH_REQUESTS` is how many requests of a
//! hundred pairs the look at memory makes, 100 where it is not set.

#[path = "encoder/bare.rs"]
mod bare;
#[path = "../tests/minilm/given.rs"]
mod given;

use bare::Bare;
use rankwright_encoder::{Encoder, Settings, packed};
use std::hint::black_box;
use std::time::{Duration, Instant};

const WORDS: [&str; 24] = [
    "red",
    "running",
    "shoes",
    "women",
    "waterproof",
    "hiking",
    "boots",
    "leather",
    "sole",
    "summer",
    "light",
    "blue",
    "jacket",
    "winter",
    "wool",
    "cotton",
    "shirt",
    "slim",
    "fit",
    "large",
    "outdoor",
    "trail",
    "soft",
    "grip",
];

/// A text of `words` words, each of one token.
fn text(words: usize, seed: &mut u64) -> String {
    let mut word = || {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        WORDS[(*seed >> 33) as usize % WORDS.len()]
    };
    (0..words).map(|_| word()).collect::<Vec<_>>().join(" ")
}

/// Pairs of about 30 tokens: a query of 4, documents of 20 to 26, three marks.
fn pairs(count: usize, seed: &mut u64) -> Vec<(String, String)> {
    let query = text(4, seed);
    (0..count).map(|place| (query.clone(), text(20 + place % 7, seed))).collect()
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e3
}

/// Resident memory in MB: now, and the most there was.
fn resident() -> [f64; 2] {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ["VmRSS:", "VmHWM:"].map(|name| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("0");
        line.trim().trim_end_matches(" kB").parse::<f64>().unwrap_or(0.0) / 1024.0
    })
}

fn main() {
    let (Some(runtime), Some(files)) = (given::runtime(), given::files("minilm-cross")) else { return };
    let mut seed = 0;
    // as paths of their own have them computed, and as features do: so that a score depends on no other pair
    for batch in [Settings::default().batch, 1] {
        let settings = Settings { memory: 0, batch, ..Settings::default() };
        let threads = settings.threads;
        let Some(cross) = given::encoder_with("minilm-cross", settings) else { return };
        let bare = Bare::open(&runtime, &files, threads);
        println!(
            "MiniLM, 8 bits, {threads} threads, pairs of 30 tokens, {batch} together: \
             p50 ms, ONNX Runtime alone with the same batches, ratio"
        );
        compare(&cross, bare, batch, &mut seed);
    }
    let requests = std::env::var("BENCH_REQUESTS").ok().and_then(|count| count.parse().ok()).unwrap_or(100);
    let Some(cross) = given::encoder_with("minilm-cross", Settings::default()) else { return };
    println!(
        "resident memory in MB after requests of 100 pairs of 10 to 110 tokens, with 64 MiB of results (and the most)"
    );
    for request in 0..=requests {
        if request % (requests / 5).max(1) == 0 {
            let [now, most] = resident();
            println!("  {request:>6}  {now:>6.0}  ({most:.0})");
        }
        let texts: Vec<String> = (0..100).map(|place| text(4 + (place + request) % 100, &mut seed)).collect();
        let pairs: Vec<(&str, &str)> = texts.iter().map(|text| ("red shoes", text.as_str())).collect();
        black_box(cross.score(&pairs, None).expect("computed"));
    }
    drop(cross);
    embeddings(&mut seed);
    products();
}

/// How long pairs take, and ONNX Runtime alone with the same batches.
fn compare(cross: &Encoder, mut bare: Bare, batch: usize, seed: &mut u64) {
    for (count, rounds) in [(1, 200), (10, 60), (100, 15)] {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let pairs = pairs(count, seed);
            let borrowed: Vec<(&str, &str)> = pairs.iter().map(|(query, document)| (&**query, &**document)).collect();
            let batches = bare.batches(&borrowed, batch);
            let start = Instant::now();
            black_box(cross.score(&borrowed, None).expect("computed"));
            ours.push(start.elapsed());
            theirs.push(bare.run(&batches));
        }
        let (ours, theirs) = (median(ours), median(theirs));
        println!("  {count:>3} pairs  {ours:>8.2}  {theirs:>8.2}  {:.3}", ours / theirs);
    }
}

fn embeddings(seed: &mut u64) {
    let Some(encoder) = given::encoder("minilm-int8") else { return };
    let texts: Vec<String> = (0..2000).map(|_| text(10, seed)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let start = Instant::now();
    for hundred in texts.chunks(100) {
        black_box(encoder.embed(hundred, None).expect("computed"));
    }
    println!("texts of 12 tokens a second: {:.0}", texts.len() as f64 / start.elapsed().as_secs_f64());
    let start = Instant::now();
    black_box(encoder.embed(&texts, None).expect("known"));
    println!("microseconds for a text that is known: {:.2}", start.elapsed().as_secs_f64() * 1e6 / texts.len() as f64);
    let vectors = encoder.embed(&texts, None).expect("known");
    let cosine = |vector: &[f32]| packed::Query::of(vector).cosine(&packed::pack(vector)).expect("not zero");
    let least = vectors.iter().map(|vector| cosine(vector)).fold(1.0f32, f32::min);
    let furthest = vectors.windows(2).map(|two| {
        let exact: f32 = two[0].iter().zip(two[1].iter()).map(|(left, right)| left * right).sum();
        (packed::Query::of(&two[0]).cosine(&packed::pack(&two[1])).expect("not zero") - exact).abs()
    });
    let furthest = furthest.fold(0.0, f32::max);
    println!(
        "embeddings packed into bytes: cosine with the exact one at least {least:.6}, error of a cosine at most {furthest:.6}"
    );
}

fn products() {
    let vector = |seed: usize| {
        (0..384).map(|place| ((place * 37 + seed * 101) % 199) as f32 / 199.0 - 0.5).collect::<Vec<f32>>()
    };
    let (query, items) = (vector(0), (1..=100).map(|seed| packed::pack(&vector(seed))).collect::<Vec<_>>());
    let times = (0..1000).map(|_| {
        let start = Instant::now();
        let query = packed::Query::of(black_box(&query));
        for item in &items {
            black_box(query.cosine(black_box(item)));
        }
        start.elapsed()
    });
    println!("microseconds for 100 cosines of 384 packed dimensions: {:.1}", median(times.collect()) * 1e3);
}
