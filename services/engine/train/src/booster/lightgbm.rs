//! LightGBM, through its C API.
//!
//! The library wants whole labels and a table of their gains. Ours may be any weight (0.5, 1, 5), so each distinct
//! label becomes its rank among them, 0 staying 0, and the table holds `2^label - 1` for it: the same gains and the same
//! order, and nothing is rounded. Index-encoded strings are categorical. Rows are pushed in blocks into bins, whose
//! borders come from a sample of rows that the library chooses itself.
#![allow(unsafe_code)]

mod sys;

use super::{Error, Fitted, Iteration, Rounds, Task, best, boost, heap};
use crate::examples::Examples;
use crate::lists::Lists;
use crate::metric;
use rankwright_config::model::Booster;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;

const FLOAT32: c_int = sys::C_API_DTYPE_FLOAT32;
const INT32: c_int = sys::C_API_DTYPE_INT32;
const GAIN: c_int = sys::C_API_FEATURE_IMPORTANCE_GAIN;
const RAW_SCORE: c_int = sys::C_API_PREDICT_RAW_SCORE;
const CONTRIBUTIONS: c_int = sys::C_API_PREDICT_CONTRIB;

/// The objective looks at pairs with a member among this number of first places: the library's default, or a little
/// more than the cutoff, as its manual advises.
const TRUNCATION: usize = 30;

/// Rows that the borders of the bins are found from (the library's default, 200,000, takes four times as long and as much memory, as `f64`).
const BIN_SAMPLE: usize = 50_000;

/// Amounts up to this count as zero (the library's `kZeroThreshold`).
const ZERO: f64 = 1e-35_f32 as f64;

/// Keeps the biases of seldom seen positions finite.
const POSITION_BIAS_REGULARIZATION: f64 = 0.01;

/// Trains a model as the task says.
pub(super) fn fit(task: &Task<'_>, progress: &mut dyn FnMut(&Iteration)) -> Result<Fitted, Error> {
    task.check_size("LightGBM")?;
    silence()?;
    let levels = levels(&[task.train.lists.labels, task.test.lists.labels]);
    let options = options(task, &levels)?;
    let train = Data::of_examples(task.train, &options)?;
    let test = Data::like(&train, task.test)?; // before the labels: it would copy what there is of them
    train.set_lists(task.train.lists, &levels)?;
    test.set_lists(task.test.lists, &levels)?;
    if task.backend.debias {
        train.set(c"position", &task.train.lists.positions(), INT32)?;
    }
    heap::trim(); // what binning has freed
    let mut training = Training { model: Model::create(&train, &test, &options)? };
    let iterations = boost(&mut training, task.backend.iterations, progress)?;
    let kept = best(&iterations);
    let model = training.model.save(kept)?;
    Ok(Fitted {
        booster: Booster::LightGbm,
        model,
        gains: training.model.gains(kept, task.train.width())?,
        iterations,
        kept,
    })
}

/// The options as the library names them.
pub(super) fn options(task: &Task<'_>, levels: &[f32]) -> Result<CString, Error> {
    let backend = task.backend;
    let listed = |values: &mut dyn Iterator<Item = String>| values.collect::<Vec<_>>().join(",");
    // Position biases are summed by thread in an order that chance decides: one thread, or no two models are alike.
    let threads = if backend.debias { 1 } else { task.threads };
    let mut options = vec![
        "objective=lambdarank boosting=gbdt verbosity=-1".to_owned(),
        "deterministic=true force_col_wise=true".to_owned(), // the same sums whatever the number of threads
        "is_enable_sparse=false".to_owned(), // a byte a value: sparse columns are kept twice, and take up to three
        format!("metric=ndcg eval_at={}", backend.ndcg_cutoff),
        format!("bin_construct_sample_cnt={BIN_SAMPLE}"),
        format!("lambdarank_truncation_level={}", TRUNCATION.max(backend.ndcg_cutoff.saturating_add(3))),
        format!("label_gain={}", listed(&mut levels.iter().map(|&level| metric::gain(level).to_string()))),
        format!("num_iterations={}", backend.iterations),
        format!("learning_rate={}", backend.learning_rate),
        format!("max_depth={} num_leaves={}", backend.max_depth, backend.num_leaves),
        format!("feature_fraction={}", backend.sampling),
        format!("seed={} num_threads={threads}", task.seed31()),
    ];
    options.extend(task.strictness().map(limits_of_leaves));
    if backend.debias {
        options.push(format!("lambdarank_position_bias_regularization={POSITION_BIAS_REGULARIZATION}"));
    }
    if !task.categorical.is_empty() {
        options.push(format!("categorical_feature={}", listed(&mut task.categorical.iter().map(usize::to_string))));
    }
    CString::new(options.join(" ")).map_err(|error| failure("set options", error.to_string()))
}

/// The library's limits on what a leaf, a bin and a group of categories hold, of which this part applies.
fn limits_of_leaves(part: f64) -> String {
    let rows = |usual: f64| (usual * part).max(1.0) as usize;
    format!(
        "min_data_in_leaf={} min_data_in_bin={} min_data_per_group={} cat_smooth={} min_sum_hessian_in_leaf={}",
        rows(20.0),
        rows(3.0),
        rows(100.0),
        10.0 * part,
        1e-3 * part
    )
}

/// The distinct labels, rising, 0 first.
pub(crate) fn levels(labels: &[&[f32]]) -> Vec<f32> {
    let mut levels = vec![0.0];
    for &label in labels.iter().copied().flatten() {
        if label > 0.0 && levels.last() != Some(&label) {
            levels.push(label);
            if levels.len() > 4096 {
                distinct(&mut levels);
            }
        }
    }
    distinct(&mut levels);
    levels
}

fn distinct(levels: &mut Vec<f32>) {
    levels.sort_by(f32::total_cmp);
    levels.dedup();
}

/// A label's rank among the levels.
pub(crate) fn rank(levels: &[f32], label: f32) -> f32 {
    levels.partition_point(|&level| level < label) as f32
}

/// A model of the library itself, loaded from its text: what our own evaluator is compared with.
#[derive(Debug)]
pub struct Reference(Model);

impl Reference {
    /// Reads a model in the library's text format.
    pub fn load(text: &[u8]) -> Result<Self, Error> {
        silence()?;
        let text = CString::new(text).map_err(|error| failure("load a model", error.to_string()))?;
        let (mut rounds, mut handle) = (0, ptr::null_mut());
        // SAFETY: a NUL-terminated string that outlives the call, and our own out pointers.
        check("load a model", unsafe {
            sys::LGBM_BoosterLoadModelFromString(text.as_ptr(), &mut rounds, &mut handle)
        })?;
        Ok(Self(Model(handle)))
    }

    /// Raw scores of rows of `width` values each, on one thread.
    pub fn predict(&self, rows: &[f32], width: usize) -> Result<Vec<f64>, Error> {
        self.ask(rows, width, RAW_SCORE, 1)
    }

    /// The library's `pred_contrib` of rows, on one thread: for each row what its columns bring, then the bias.
    pub fn contributions(&self, rows: &[f32], width: usize) -> Result<Vec<f64>, Error> {
        self.ask(rows, width, CONTRIBUTIONS, width + 1)
    }

    /// `each` values for each row; the model must have been trained on as many columns where they are more than one.
    fn ask(&self, rows: &[f32], width: usize, kind: c_int, each: usize) -> Result<Vec<f64>, Error> {
        let height = rows.len() / width.max(1);
        let mut scores = vec![0.0; height * each];
        let (mut written, options) = (0, c"num_threads=1");
        // SAFETY: `height * width` values at `rows`; a ranking has one score a row, or contributions of its columns and
        // a bias, and there is room for as many.
        check("predict", unsafe {
            let (height, width) = (height as i32, width as i32);
            let (rows, scores) = (rows.as_ptr().cast(), scores.as_mut_ptr());
            sys::LGBM_BoosterPredictForMat(
                self.0.0,
                rows,
                FLOAT32,
                height,
                width,
                1,
                kind,
                0,
                -1,
                options.as_ptr(),
                &mut written,
                scores,
            )
        })?;
        Ok(scores)
    }
}

/// A data set of the library.
#[derive(Debug)]
struct Data(sys::DatasetHandle);

impl Data {
    /// Bins the rows.
    fn of_examples(examples: Examples<'_>, options: &CStr) -> Result<Self, Error> {
        let mut sample = Sample::draw(examples, options)?;
        let (height, width, sampled) = (examples.height(), examples.width() as i32, sample.rows as i32);
        let mut values: Vec<*mut f64> = sample.columns.iter_mut().map(|column| column.values.as_mut_ptr()).collect();
        let mut places: Vec<*mut c_int> = sample.columns.iter_mut().map(|column| column.places.as_mut_ptr()).collect();
        let counts: Vec<c_int> = sample.columns.iter().map(|column| column.values.len() as c_int).collect();
        let mut handle = ptr::null_mut();
        // SAFETY: `width` columns, each of as many values and places as its count says; the call copies what it keeps.
        check("find the borders of bins", unsafe {
            sys::LGBM_DatasetCreateFromSampledColumn(
                values.as_mut_ptr(),
                places.as_mut_ptr(),
                width,
                counts.as_ptr(),
                sampled,
                height as i32,
                height as i64,
                options.as_ptr(),
                &mut handle,
            )
        })?;
        drop(sample);
        Self(handle).pushed(examples)
    }

    /// Bins the rows of a test set like those of the train set.
    fn like(train: &Self, examples: Examples<'_>) -> Result<Self, Error> {
        let mut handle = ptr::null_mut();
        // SAFETY: the train set is live.
        check("prepare the test split", unsafe {
            sys::LGBM_DatasetCreateByReference(train.0, examples.height() as i64, &mut handle)
        })?;
        Self(handle).pushed(examples)
    }

    /// Pushes all rows, the last of which completes the data set.
    fn pushed(self, examples: Examples<'_>) -> Result<Self, Error> {
        let width = examples.width();
        let mut blocks = examples.blocks();
        while let Some(block) = blocks.advance()? {
            let height = block.values.len() / width.max(1);
            // SAFETY: the handle is live; `height * width` values, which the call bins.
            check("read the rows", unsafe {
                let (values, row) = (block.values.as_ptr().cast(), block.row as i32);
                sys::LGBM_DatasetPushRows(self.0, values, FLOAT32, height as i32, width as i32, row)
            })?;
        }
        Ok(self)
    }

    /// Sets labels and lengths of the lists.
    fn set_lists(&self, lists: Lists<'_>, levels: &[f32]) -> Result<(), Error> {
        let ranks: Vec<f32> = lists.labels.iter().map(|&label| rank(levels, label)).collect();
        self.set(c"label", &ranks, FLOAT32)?;
        let lengths: Vec<i32> = lists.lengths.iter().map(|&length| length as i32).collect();
        self.set(c"group", &lengths, INT32)
    }

    /// `kind` names the type of `T`.
    fn set<T>(&self, field: &CStr, values: &[T], kind: c_int) -> Result<(), Error> {
        // SAFETY: the handle is live; as many values of that type as said, copied by the call.
        check("set a field", unsafe {
            let length = values.len() as c_int;
            sys::LGBM_DatasetSetField(self.0, field.as_ptr(), values.as_ptr().cast::<c_void>(), length, kind)
        })
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        // SAFETY: the handle came from a create call and is freed once. A failure leaves nothing to do.
        unsafe { sys::LGBM_DatasetFree(self.0) };
    }
}

/// Rows that the borders of bins are found from.
struct Sample {
    rows: usize,
    columns: Vec<Sampled>,
}

/// A column of a sample: values that are not zero, and which rows of the sample have them.
#[derive(Default)]
struct Sampled {
    values: Vec<f64>,
    places: Vec<c_int>,
}

impl Sample {
    /// The rows that the library itself would choose, were it shown all.
    fn draw(examples: Examples<'_>, options: &CStr) -> Result<Self, Error> {
        let (mut rows, mut count) = (vec![0i32; examples.height().min(BIN_SAMPLE)], 0);
        // SAFETY: room for as many numbers as the options (or the height, where it is less) let the library choose.
        check("choose rows", unsafe {
            let (height, rows) = (examples.height() as i32, rows.as_mut_ptr().cast());
            sys::LGBM_SampleIndices(height, options.as_ptr(), rows, &mut count)
        })?;
        rows.truncate(count as usize);
        let mut columns: Vec<Sampled> = (0..examples.width()).map(|_| Sampled::default()).collect();
        let mut place = 0;
        examples.pick(&rows, |row| {
            for (column, &value) in columns.iter_mut().zip(row) {
                let value = f64::from(value);
                if value.abs() > ZERO || value.is_nan() {
                    column.values.push(value);
                    column.places.push(place);
                }
            }
            place += 1;
        })?;
        Ok(Self { rows: rows.len(), columns })
    }
}

/// A booster of the library.
#[derive(Debug)]
struct Model(sys::BoosterHandle);

// SAFETY: a handle may move between threads. It is not shared: `Sync` is not claimed.
unsafe impl Send for Model {}

impl Model {
    /// The data must outlive the training (not the model's saving): `fit` keeps them until it returns.
    fn create(train: &Data, test: &Data, options: &CStr) -> Result<Self, Error> {
        let mut handle = ptr::null_mut();
        // SAFETY: a live data set, a string that outlives the call.
        check("create a model", unsafe { sys::LGBM_BoosterCreate(train.0, options.as_ptr(), &mut handle) })?;
        let model = Self(handle);
        // SAFETY: both handles are live.
        check("add the test split", unsafe { sys::LGBM_BoosterAddValidData(model.0, test.0) })?;
        Ok(model)
    }

    /// NDCG on train (0) or test (1). (The library lends no scores to compute it from: copying them out costs it an
    /// allocation a row.)
    fn metric(&self, data: c_int) -> Result<f64, Error> {
        let (mut count, mut value) = (0, 0.0);
        // SAFETY: the handle is live; one metric at one cutoff is one value.
        check("evaluate", unsafe { sys::LGBM_BoosterGetEval(self.0, data, &mut count, &mut value) })?;
        Ok(value)
    }

    /// The first `rounds` rounds as text.
    fn save(&self, rounds: usize) -> Result<Vec<u8>, Error> {
        let mut text: Vec<u8> = Vec::new();
        let mut length = 1 << 20;
        while text.len() < length as usize {
            text.resize(length as usize, 0);
            let room = text.len() as i64;
            // SAFETY: `room` bytes at `text`; a longer model is not written, its length is.
            check("save the model", unsafe {
                let out = text.as_mut_ptr().cast::<c_char>();
                sys::LGBM_BoosterSaveModelToString(self.0, 0, rounds as c_int, GAIN, room, &mut length, out)
            })?;
        }
        text.truncate((length as usize).saturating_sub(1)); // without the final NUL
        text.truncate(before_parameters(&text));
        Ok(text)
    }

    /// Total gain by column, over the first `rounds` rounds.
    fn gains(&self, rounds: usize, width: usize) -> Result<Vec<f64>, Error> {
        let mut gains = vec![0.0; width];
        // SAFETY: the handle is live; one value a column of the training data, which has `width` of them.
        check("weigh the features", unsafe {
            sys::LGBM_BoosterFeatureImportance(self.0, rounds as c_int, GAIN, gains.as_mut_ptr())
        })?;
        Ok(gains)
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // SAFETY: the handle came from a create call and is freed once. A failure leaves nothing to do.
        unsafe { sys::LGBM_BoosterFree(self.0) };
    }
}

/// Where the list of options begins that ends a model's text. Nothing reads it, and it tells the number of threads:
/// without it, equal models are equal bytes on any machine.
fn before_parameters(text: &[u8]) -> usize {
    const HEAD: &[u8] = b"\nparameters:\n";
    text.windows(HEAD.len()).rposition(|window| window == HEAD).map_or(text.len(), |place| place + 1)
}

/// A training under way.
struct Training {
    model: Model,
}

impl Rounds for Training {
    fn advance(&mut self) -> Result<bool, Error> {
        let mut finished = 0;
        // SAFETY: the handle is live, and so are its data sets.
        check("grow a tree", unsafe { sys::LGBM_BoosterUpdateOneIter(self.model.0, &mut finished) })?;
        Ok(finished == 0)
    }

    fn evaluate(&mut self) -> Result<(f64, f64), Error> {
        Ok((self.model.metric(1)?, self.model.metric(0)?))
    }
}

/// Keeps the library's log off the terminal (but for the reason of a failure, which it writes in any case).
fn silence() -> Result<(), Error> {
    unsafe extern "C" fn ignore(_: *const c_char) {}
    // SAFETY: a function that lives for ever and does nothing.
    check("be silent", unsafe { sys::LGBM_RegisterLogCallback(Some(ignore)) })
}

fn check(action: &'static str, code: c_int) -> Result<(), Error> {
    if code == 0 {
        return Ok(());
    }
    // SAFETY: the library's last error on this thread, NUL-terminated, copied at once.
    let message = unsafe { CStr::from_ptr(sys::LGBM_GetLastError()) }.to_string_lossy();
    Err(failure(action, message.trim().to_owned()))
}

fn failure(action: &'static str, message: String) -> Error {
    Error::Library { library: "LightGBM", action, message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Room;
    use crate::testing::{CATEGORICAL, backend, random_lists};
    use rankwright_config::model::Metric;

    #[test]
    fn distinct_labels_become_their_ranks() {
        let levels = levels(&[&[5.0, 0.0, 1.0], &[0.5, 5.0]]);
        assert_eq!(levels, [0.0, 0.5, 1.0, 5.0]);
        assert_eq!([0.0, 0.5, 1.0, 5.0].map(|label| rank(&levels, label)), [0.0, 1.0, 2.0, 3.0]);
    }

    #[test]
    fn limits_on_leaves_follow_the_data_and_are_the_librarys_own_from_a_hundred_lists_on() {
        let data = random_lists(24, 120);
        let backend = backend(Booster::LightGbm);
        let limits = |lists| {
            let (train, test) = data.split_at(lists);
            let room = &Room::default();
            let task = Task { backend: &backend, seed: 1, threads: 2, categorical: &CATEGORICAL, room, train, test };
            let options = options(&task, &[0.0, 1.0]).expect("options").into_string().expect("options are UTF-8");
            let limits = options.split(' ').filter(|option| option.contains("min_") || option.contains("cat_smooth"));
            limits.map(str::to_owned).collect::<Vec<_>>().join(" ")
        };
        assert_eq!([100, 101, 119].map(limits), ["", "", ""]);
        let of_fifty =
            "min_data_in_leaf=10 min_data_in_bin=1 min_data_per_group=50 cat_smooth=5 min_sum_hessian_in_leaf=0.0005";
        assert_eq!(limits(50), of_fifty);
        assert!(
            limits(16).starts_with("min_data_in_leaf=3 min_data_in_bin=1 min_data_per_group=16 "),
            "{}",
            limits(16)
        );
        assert!(limits(1).starts_with("min_data_in_leaf=1 min_data_in_bin=1 min_data_per_group=1 "), "{}", limits(1));
    }

    #[test]
    fn any_number_of_distinct_labels_is_found() {
        let labels: Vec<f32> = (0..20_000).map(|index| (index * 7919 % 10_000) as f32).collect();
        assert_eq!(levels(&[&labels]).len(), 10_000);
    }

    #[test]
    fn our_metrics_are_what_the_library_reports() {
        let data = random_lists(16, 250);
        let (train, test) = data.split_at(200);
        let backend = backend(Booster::LightGbm);
        let task = Task {
            backend: &backend,
            seed: 1,
            threads: 2,
            categorical: &CATEGORICAL,
            room: &Room::default(),
            train,
            test,
        };
        let metrics = [("map", 3, Metric::Map(Some(3))), ("map", 1000, Metric::Map(None))];
        let gains = [1, 3, 10].map(|cutoff| ("ndcg", cutoff, Metric::Ndcg(Some(cutoff))));
        for (name, cutoff, metric) in metrics.into_iter().chain(gains) {
            let levels = levels(&[train.lists.labels, test.lists.labels]);
            let options = options(&task, &levels).expect("options").into_string().expect("options are UTF-8");
            let options = options.replace("metric=ndcg eval_at=10", &format!("metric={name} eval_at={cutoff}"));
            let options = CString::new(options).expect("options have no NUL");
            let train_data = Data::of_examples(train, &options).expect("a data set");
            let test_data = Data::like(&train_data, test).expect("a data set");
            for (data, examples) in [(&train_data, train), (&test_data, test)] {
                data.set_lists(examples.lists, &levels).expect("labels");
            }
            let model = Model::create(&train_data, &test_data, &options).expect("a model");
            let mut training = Training { model };
            assert!((0..5).all(|_| training.advance().expect("a round")));
            let model = Reference::load(&training.model.save(5).expect("text")).expect("a model");
            for (examples, data) in [(train, 0), (test, 1)] {
                let rows = examples.values().expect("rows");
                let scores = model.predict(&rows, 6).expect("scores");
                let computed = metric::evaluate(&[metric], examples.lists, &scores)[0];
                let reported = training.model.metric(data).expect("a metric");
                assert!((computed - reported).abs() < 1e-6, "{name}@{cutoff}: {computed} and {reported}");
            }
        }
    }
}
