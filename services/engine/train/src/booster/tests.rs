#![allow(clippy::unwrap_used)]
use super::*;
use crate::dataset::Dataset;
use crate::lists::Lists;
use crate::metric;
use crate::rows::{Room, Rows, RowsWriter};
use crate::testing::{CATEGORICAL, backend, random_lists};
use rankwright_config::model::Metric;
use rankwright_model::Ensemble;

const BOTH: [Booster; 2] = [Booster::XgBoost, Booster::LightGbm];

/// Plays back test metrics.
struct Recorded(std::vec::IntoIter<f64>);

impl Rounds for Recorded {
    fn advance(&mut self) -> Result<bool, Error> {
        Ok(self.0.len() > 0)
    }

    fn evaluate(&mut self) -> Result<(f64, f64), Error> {
        Ok((self.0.next().unwrap_or(0.5), 0.0))
    }
}

fn rounds(metrics: impl IntoIterator<Item = f64>, limit: usize) -> Vec<Iteration> {
    let metrics: Vec<f64> = metrics.into_iter().collect();
    boost(&mut Recorded(metrics.into_iter()), limit, &mut |_| ()).unwrap()
}

#[test]
fn training_stops_after_twenty_rounds_without_progress() {
    let iterations = rounds([0.1, 0.3, 0.2].into_iter().chain([0.3; 100]), 500);
    assert_eq!(best(&iterations), 2);
    assert_eq!(iterations.len(), 2 + PATIENCE);
}

#[test]
fn training_stops_at_the_limit() {
    let iterations = rounds((0..100).map(f64::from), 30);
    assert_eq!((iterations.len(), best(&iterations)), (30, 30));
}

#[test]
fn training_stops_when_nothing_is_left_to_learn_and_keeps_one_round_at_least() {
    assert_eq!(rounds([0.1, 0.2], 30).len(), 2);
    assert_eq!(rounds([], 30).len(), 1);
}

/// Fits the first 80 % of lists and tests on the rest.
fn fitted(backend: &Backend, data: &Dataset, threads: usize) -> Fitted {
    let (train, test) = data.split_at(data.len() * 4 / 5);
    let task = Task {
        backend,
        seed: backend.seed.unwrap(),
        threads,
        categorical: &CATEGORICAL,
        room: &Room::default(),
        train,
        test,
    };
    fit(&task, &mut |_| ()).unwrap()
}

fn ours(fitted: &Fitted) -> Ensemble {
    match fitted.booster {
        Booster::XgBoost => Ensemble::xgboost(&fitted.model).unwrap(),
        Booster::LightGbm => Ensemble::lightgbm(&fitted.model).unwrap(),
    }
}

/// Scores of the library itself.
fn theirs(fitted: &Fitted, examples: Examples<'_>) -> Vec<f64> {
    let (rows, width) = (examples.values().unwrap(), examples.width());
    match fitted.booster {
        Booster::XgBoost => {
            let scores = xgboost::Reference::load(&fitted.model).unwrap().predict(&rows, width).unwrap();
            scores.into_iter().map(f64::from).collect()
        }
        Booster::LightGbm => lightgbm::Reference::load(&fitted.model).unwrap().predict(&rows, width).unwrap(),
    }
}

fn score(ensemble: &Ensemble, examples: Examples<'_>) -> Vec<f64> {
    let mut scores = vec![0.0; examples.height()];
    ensemble.score(&examples.values().unwrap(), examples.width(), &mut scores);
    scores
}

fn bits(scores: &[f64]) -> Vec<u64> {
    scores.iter().map(|score| score.to_bits()).collect()
}

#[test]
fn our_evaluator_gives_the_bits_of_both_libraries() {
    for booster in BOTH {
        for (seed, max_depth, num_leaves) in [(1, 8, 16), (2, 3, 64), (3, 12, 200), (4, 1, 2), (5, 0, 300)] {
            let data = random_lists(seed, 400);
            let options = Backend { max_depth, num_leaves, seed: Some(seed), iterations: 40, ..backend(booster) };
            let model = fitted(&options, &data, 2);
            let unseen = random_lists(seed + 100, 200);
            for examples in [data.examples(), unseen.examples()] {
                let same = bits(&score(&ours(&model), examples)) == bits(&theirs(&model, examples));
                assert!(same, "{booster:?} with seed {seed}, depth {max_depth}");
            }
        }
    }
}

#[test]
fn our_evaluator_gives_the_bits_of_xgboost_for_json_as_well() {
    let data = random_lists(5, 300);
    let model = fitted(&backend(Booster::XgBoost), &data, 2);
    let json = xgboost::Reference::load(&model.model).unwrap().save("json").unwrap();
    assert!(json.starts_with(b"{\""));
    let ours = score(&Ensemble::xgboost(&json).unwrap(), data.examples());
    assert_eq!(bits(&ours), bits(&theirs(&model, data.examples())));
}

#[test]
fn categories_that_training_never_saw_are_scored_as_the_libraries_score_them() {
    for booster in BOTH {
        let model = fitted(&backend(booster), &random_lists(6, 400), 2);
        let column = [0.0, 1.0, 5.0, 6.0, 39.0, 40.0, 41.0, 500.0, 70_000.0, f32::NAN];
        let rows: Vec<f32> = column.iter().flat_map(|&category| [0.5, 50.0, 0.5, 1.0, category, category]).collect();
        let lists = Lists { labels: &[0.0; 10], lengths: &[10] };
        let data = Dataset::from_lists(Rows::in_memory(6, rows), lists, vec![]);
        let examples = data.examples();
        assert_eq!(bits(&score(&ours(&model), examples)), bits(&theirs(&model, examples)), "{booster:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let data = random_lists(8, 300);
    for booster in BOTH {
        let first = fitted(&backend(booster), &data, 2);
        assert!(first.model == fitted(&backend(booster), &data, 2).model, "{booster:?}");
        let other = Backend { seed: Some(8), ..backend(booster) };
        assert!(first.model != fitted(&other, &data, 2).model, "{booster:?}");
    }
}

#[test]
fn the_number_of_threads_does_not_change_the_model() {
    let data = random_lists(9, 2000);
    for booster in BOTH {
        let model = |threads| fitted(&Backend { iterations: 15, ..backend(booster) }, &data, threads).model;
        let one = model(1);
        assert!(one == model(2) && one == model(3), "{booster:?}");
    }
}

#[test]
fn the_size_of_blocks_does_not_change_the_model() {
    let data = random_lists(17, 500);
    for booster in BOTH {
        let options = Backend { iterations: 15, ..backend(booster) };
        let model = |block: usize| {
            let (train, test) = data.split_at(400);
            let (train, test) = (train.in_blocks_of(block), test.in_blocks_of(block));
            let task = Task {
                backend: &options,
                seed: 7,
                threads: 2,
                categorical: &CATEGORICAL,
                room: &Room::default(),
                train,
                test,
            };
            let Fitted { model, iterations, .. } = fit(&task, &mut |_| ()).unwrap();
            (model, iterations.iter().map(|round| (round.test_metric, round.train_metric)).collect::<Vec<_>>())
        };
        let whole = model(usize::MAX);
        assert!(whole == model(1) && whole == model(1000), "{booster:?}");
    }
}

#[test]
fn rows_in_a_file_give_the_model_of_rows_in_memory() {
    let data = random_lists(18, 500);
    let folder = tempfile::tempdir().unwrap();
    let kept = |in_memory| {
        let mut rows = RowsWriter::new(6, Room { in_memory, folder: folder.path().to_owned(), ..Room::default() });
        rows.push(data.examples().values().unwrap()).unwrap();
        let order: Vec<u32> = (0..250).flat_map(|half| [half + 250, half]).collect();
        Dataset::from_lists(rows.finish().unwrap(), data.lists(), data.keys().to_vec()).arranged(&order)
    };
    for booster in BOTH {
        let options = Backend { iterations: 15, ..backend(booster) };
        let (memory, file) = (fitted(&options, &kept(usize::MAX), 2), fitted(&options, &kept(100), 2));
        assert!(memory.model == file.model && memory.gains == file.gains, "{booster:?}");
    }
}

#[test]
fn bins_in_a_file_give_the_model_of_bins_in_memory() {
    let data = random_lists(20, 1500);
    let folder = tempfile::tempdir().unwrap();
    let options = Backend { iterations: 15, ..backend(Booster::XgBoost) };
    let model = |binned, block, threads| {
        let room = Room { binned, folder: folder.path().to_owned(), ..Room::default() };
        let (train, test) = data.split_at(1200);
        let train = train.in_blocks_of(block);
        let task = Task { backend: &options, seed: 7, threads, categorical: &CATEGORICAL, room: &room, train, test };
        fit(&task, &mut |_| ()).unwrap()
    };
    let memory = model(usize::MAX, 1000, 2);
    for (block, threads) in [(usize::MAX, 2), (1000, 1), (1000, 2), (100, 3)] {
        let file = model(0, block, threads);
        assert!(memory.model == file.model && memory.gains == file.gains, "blocks of {block}, {threads} threads");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
}

#[test]
fn bins_without_room_are_refused() {
    let data = random_lists(22, 20);
    let (room, backend) = (Room { binned: 0, folder: "/nowhere".into(), ..Room::default() }, backend(Booster::XgBoost));
    let (train, test) = data.split_at(10);
    let task = Task { backend: &backend, seed: 1, threads: 1, categorical: &[], room: &room, train, test };
    let error = fit(&task, &mut |_| ()).unwrap_err();
    assert!(matches!(error, Error::Spill(_)) && error.to_string().contains("/nowhere"), "{error}");
}

#[test]
fn a_training_that_does_not_fit_into_memory_is_refused_unless_it_is_allowed() {
    let data = random_lists(23, 60);
    let (train, test) = data.split_at(50);
    let room = Room { memory: Some(1 << 20), ..Room::default() };
    for (booster, named) in [(Booster::LightGbm, "numLeaves (4096)"), (Booster::XgBoost, "maxDepth (30)")] {
        let backend = Backend { num_leaves: 4096, max_depth: 30, iterations: 2, ..backend(booster) };
        let task = Task { backend: &backend, seed: 1, threads: 1, categorical: &[], room: &room, train, test };
        let error = fit(&task, &mut |_| ()).unwrap_err().to_string();
        assert!(error.contains(named) && error.contains("has 1 MiB") && error.contains("overMemory: true"), "{error}");
        let allowed = Backend { over_memory: true, ..backend };
        assert!(fit(&Task { backend: &allowed, ..task }, &mut |_| ()).is_ok(), "{booster:?}");
    }
}

#[test]
fn rows_that_cannot_be_read_back_end_the_training() {
    let data = random_lists(19, 50);
    let folder = tempfile::tempdir().unwrap();
    let mut rows = RowsWriter::new(6, Room { in_memory: 0, folder: folder.path().to_owned(), ..Room::default() });
    rows.push(data.examples().values().unwrap().into_iter().take(600)).unwrap(); // the file ends too early
    let cut = Dataset::from_lists(rows.finish().unwrap(), data.lists(), data.keys().to_vec());
    for booster in BOTH {
        let backend = backend(booster);
        let (train, test) = cut.split_at(40);
        let task =
            Task { backend: &backend, seed: 1, threads: 1, categorical: &[], room: &Room::default(), train, test };
        assert!(matches!(fit(&task, &mut |_| ()), Err(Error::Rows(_))), "{booster:?}");
    }
}

#[test]
fn position_bias_is_removed_the_same_way_every_time() {
    let data = random_lists(10, 400);
    for booster in BOTH {
        let options = Backend { debias: true, ..backend(booster) };
        let debiased = fitted(&options, &data, 2);
        assert!(debiased.model == fitted(&options, &data, 2).model, "{booster:?}");
        assert!(debiased.model != fitted(&backend(booster), &data, 2).model, "{booster:?}");
        let (_, test) = data.split_at(320);
        let ndcg = metric::evaluate(&[Metric::Ndcg(Some(10))], test.lists, &score(&ours(&debiased), test))[0];
        assert!(ndcg > 0.8, "{booster:?} {ndcg}");
    }
}

#[test]
fn the_ndcg_of_a_round_is_that_of_the_model_after_it() {
    let data = random_lists(11, 500);
    let (train, test) = data.split_at(400);
    for booster in BOTH {
        for cutoff in [1, 3, 10] {
            let model = fitted(&Backend { ndcg_cutoff: cutoff, ..backend(booster) }, &data, 2);
            let best = model.iterations[model.kept - 1];
            for (examples, reported) in [(train, best.train_metric), (test, best.test_metric)] {
                let scores = score(&ours(&model), examples);
                let computed = metric::evaluate(&[Metric::Ndcg(Some(cutoff))], examples.lists, &scores)[0];
                assert!((computed - reported).abs() < 1e-6, "{booster:?} NDCG@{cutoff}: {computed} and {reported}");
            }
        }
    }
}

#[test]
fn the_model_is_cut_to_its_best_round() {
    let data = random_lists(12, 120);
    for booster in BOTH {
        let options = Backend { iterations: 300, learning_rate: 0.3, ..backend(booster) };
        let model = fitted(&options, &data, 2);
        let best = model.iterations.iter().map(|iteration| iteration.test_metric).fold(0.0, f64::max);
        assert_eq!(model.iterations[model.kept - 1].test_metric, best);
        assert_eq!(model.iterations.len(), model.kept + PATIENCE, "{booster:?} stopped early");
        assert_eq!(ours(&model).trees(), model.kept);
    }
}

#[test]
fn gains_name_the_columns_that_matter() {
    for booster in BOTH {
        let model = fitted(&backend(booster), &random_lists(13, 800), 2);
        let mut order: Vec<usize> = (0..6).collect();
        order.sort_by(|&left, &right| model.gains[right].total_cmp(&model.gains[left]));
        let mut best = [order[0], order[1], order[2]];
        best.sort_unstable();
        assert_eq!(best, [0, 1, 5], "{booster:?}: {:?}", model.gains);
    }
}

#[test]
fn any_seed_is_taken() {
    let data = random_lists(14, 60);
    for booster in BOTH {
        for seed in [0, u64::from(u32::MAX), u64::MAX] {
            let options = Backend { seed: Some(seed), iterations: 2, ..backend(booster) };
            assert_eq!(fitted(&options, &data, 2).kept.clamp(1, 2), fitted(&options, &data, 1).kept);
        }
    }
}

#[test]
fn a_library_says_why_it_cannot() {
    let data = random_lists(15, 20);
    let options = |booster| Backend { learning_rate: -1.0, sampling: 7.0, ..backend(booster) };
    for booster in BOTH {
        let options = options(booster);
        let (train, test) = data.split_at(10);
        let task =
            Task { backend: &options, seed: 1, threads: 1, categorical: &[], room: &Room::default(), train, test };
        let error = fit(&task, &mut |_| ()).unwrap_err().to_string();
        assert!(error.contains("failed to"), "{error}");
    }
}

#[test]
fn bytes_that_are_no_model_are_refused() {
    assert!(xgboost::Reference::load(b"{\"learner\": 1}").is_err());
    assert!(lightgbm::Reference::load(b"tree\nnonsense").is_err());
    assert!(lightgbm::Reference::load(b"a\0b").is_err());
}

/// A ranking set in LibSVM's format with the lengths of its lists beside it; absent values are 0.
fn libsvm(folder: &std::path::Path, name: &str) -> Dataset {
    let read = |name: String| std::fs::read_to_string(folder.join(name)).unwrap();
    let (mut rows, mut labels) = (Vec::new(), Vec::new());
    for line in read(name.to_owned()).lines() {
        let mut row = [0.0; 301];
        let mut parts = line.split_ascii_whitespace();
        labels.push(parts.next().unwrap().parse().unwrap());
        for (column, value) in parts.map(|part| part.split_once(':').unwrap()) {
            row[column.parse::<usize>().unwrap()] = value.parse().unwrap();
        }
        rows.extend(row);
    }
    let lengths: Vec<u32> = read(format!("{name}.query")).lines().map(|line| line.parse().unwrap()).collect();
    Dataset::from_lists(Rows::in_memory(301, rows), Lists { labels: &labels, lengths: &lengths }, vec![])
}

#[test]
fn the_ranking_set_of_lightgbm_is_learned_about_as_well_as_by_the_official_packages() {
    let Some(folder) = crate::testing::shared("data/fixtures/lightgbm-lambdarank") else { return };
    let (train, test) = (libsvm(&folder, "rank.train"), libsvm(&folder, "rank.test"));
    // NDCG@10 of the official packages with options of their own, without looking at the test set.
    for (booster, reference) in [(Booster::LightGbm, 0.7478), (Booster::XgBoost, 0.7308)] {
        let options = Backend { iterations: 100, ..backend(booster) };
        let (train, test) = (train.examples(), test.examples());
        let task =
            Task { backend: &options, seed: 0, threads: 2, categorical: &[], room: &Room::default(), train, test };
        let model = fit(&task, &mut |_| ()).unwrap();
        let scores = score(&ours(&model), test);
        let ndcg = metric::evaluate(&[Metric::Ndcg(Some(10))], test.lists, &scores)[0];
        assert!(ndcg > reference - 0.02, "{booster:?}: {ndcg}, the official package {reference}");
        assert_eq!(bits(&scores), bits(&theirs(&model, test)), "{booster:?}");
    }
}

/// The library's own contributions: for each row those of its columns, then the bias.
fn their_contributions(fitted: &Fitted, rows: &[f32], width: usize) -> Vec<f64> {
    match fitted.booster {
        Booster::XgBoost => {
            let prepared = xgboost::Prepared::new(rows, width).unwrap();
            let found = xgboost::Reference::load(&fitted.model).unwrap().contributions(&prepared).unwrap();
            found.into_iter().map(f64::from).collect()
        }
        Booster::LightGbm => lightgbm::Reference::load(&fitted.model).unwrap().contributions(rows, width).unwrap(),
    }
}

/// XGBoost adds in single precision, LightGBM in double.
fn tolerance(booster: Booster) -> f64 {
    if booster == Booster::XgBoost { 2e-5 } else { 1e-9 }
}

fn same_contributions(fitted: &Fitted, rows: &[f32], width: usize, what: &str) {
    let ours = ours(fitted).contributions(rows, width).unwrap();
    let theirs = their_contributions(fitted, rows, width);
    let tolerance = tolerance(fitted.booster);
    for (row, (ours_of_row, theirs)) in ours.values.chunks(width).zip(theirs.chunks(width + 1)).enumerate() {
        let ours_of_row = ours_of_row.iter().chain([&ours.bias]);
        for (column, (ours, theirs)) in ours_of_row.zip(theirs).enumerate() {
            let apart = (ours - theirs).abs();
            assert!(
                apart <= tolerance * theirs.abs().max(1.0),
                "{:?} {what}, row {row}, column {column}: {ours} and {theirs}",
                fitted.booster
            );
        }
    }
}

#[test]
fn contributions_are_those_of_both_libraries_and_add_up_to_the_score() {
    for booster in BOTH {
        let unlimited = (booster == Booster::LightGbm).then_some((5, 0, 300));
        let limited = [(1, 8, 16), (2, 3, 64), (3, 12, 200), (4, 1, 2)];
        for (seed, max_depth, num_leaves) in limited.into_iter().chain(unlimited) {
            let data = random_lists(seed, 400);
            let options = Backend { max_depth, num_leaves, seed: Some(seed), iterations: 40, ..backend(booster) };
            let model = fitted(&options, &data, 2);
            let unseen = random_lists(seed + 100, 40);
            let rows = unseen.examples().values().unwrap();
            same_contributions(&model, &rows, 6, &format!("with depth {max_depth}"));
            let ours_explained = ours(&model).contributions(&rows, 6).unwrap();
            for (row, score) in ours_explained.values.chunks(6).zip(score(&ours(&model), unseen.examples())) {
                let sum = ours_explained.bias + row.iter().sum::<f64>();
                assert!((sum - score).abs() < 1e-6, "{booster:?}, depth {max_depth}: {sum} and {score}");
            }
        }
    }
}

#[test]
fn categories_that_training_never_saw_are_explained_as_the_libraries_explain_them() {
    for booster in BOTH {
        let model = fitted(&backend(booster), &random_lists(6, 400), 2);
        let column = [0.0, 1.0, 5.0, 6.0, 39.0, 40.0, 41.0, 500.0, 70_000.0, f32::NAN];
        let rows: Vec<f32> = column.iter().flat_map(|&category| [0.5, 50.0, 0.5, 1.0, category, category]).collect();
        same_contributions(&model, &rows, 6, "with categories that are new");
    }
}
