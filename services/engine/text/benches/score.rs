//! What text matching adds to a request: 100 items of 30 terms against a query of 5.

use rankwright_text::{Analyzer, Bag, BagRef, Dictionary, DictionaryBuilder, Language};

fn main() {
    divan::main();
}

/// Titles of 30 terms, of which three or so are in the query.
fn titles() -> Vec<String> {
    let word = |number: usize| format!("word{} ", number * number % 997);
    (0..100).map(|item| (0..30).map(|place| word(item * 31 + place)).collect()).collect()
}

const QUERY: &str = "word1 word4 word9 word16 word25";

fn stored() -> (Analyzer, Vec<Vec<u8>>) {
    let analyzer = Analyzer::new(Language::English);
    let bags = titles().iter().map(|title| Bag::of(&analyzer, [&**title]).to_bytes()).collect();
    (analyzer, bags)
}

#[divan::bench]
fn analyse_100_titles(bencher: divan::Bencher<'_, '_>) {
    let (analyzer, titles) = (Analyzer::new(Language::English), titles());
    bencher.bench_local(|| titles.iter().map(|title| Bag::of(&analyzer, [&**title]).len()).sum::<usize>());
}

#[divan::bench]
fn term_100_items(bencher: divan::Bencher<'_, '_>) {
    let (analyzer, stored) = stored();
    let query = Bag::of(&analyzer, [QUERY]);
    let one = |bytes: &Vec<u8>| BagRef::new(bytes).map_or(0.0, |item| item.similarity(&query));
    bencher.bench_local(|| stored.iter().map(one).sum::<f64>());
}

#[divan::bench]
fn bm25_100_items(bencher: divan::Bencher<'_, '_>) {
    let (analyzer, stored) = stored();
    let query = dictionary().query(&Bag::of(&analyzer, [QUERY]));
    let one = |bytes: &Vec<u8>| BagRef::new(bytes).map_or(0.0, |item| query.score_ref(item));
    bencher.bench_local(|| stored.iter().map(one).sum::<f64>());
}

#[divan::bench]
fn prepare_a_query(bencher: divan::Bencher<'_, '_>) {
    let (analyzer, dictionary) = (Analyzer::new(Language::English), dictionary());
    bencher.bench_local(|| dictionary.query(&Bag::of(&analyzer, [QUERY])));
}

/// A dictionary of the titles.
fn dictionary() -> Dictionary {
    let mut builder = DictionaryBuilder::new(Language::English);
    titles().iter().for_each(|title| builder.add([[&**title]]));
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let path = folder.path().join("tf.json");
    let file = std::fs::File::create(&path).expect("the folder is new");
    builder.write(&["title".to_owned()], file).expect("there is room");
    Dictionary::open(&path).expect("was written")
}
