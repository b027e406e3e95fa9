//! XGBoost, through its C API.
//!
//! Labels are handed over as gains (`2^label - 1`, with `ndcg_exp_gain=false`), because the library's own exponential
//! gain takes whole labels up to 31 only. Trees are grown on histograms; index-encoded strings are categorical. Rows
//! are shown to the library in blocks, of which it keeps the bins of their values. It never sees the test split: each
//! new tree is added to the scores of those rows by our own evaluator, to the same bits and in less time.
#![allow(unsafe_code)]

mod feed;
mod sys;

use super::{Error, Fitted, Iteration, Rounds, Task, best, boost};
use crate::examples::Examples;
use crate::metric::{self, NdcgOfRounds};
use feed::Feed;
use rankwright_config::model::Booster;
use rankwright_model::Ensemble;
use rankwright_scratch::Scratch;
use std::ffi::{CStr, CString, c_char, c_int};
use std::ops::Range;
use std::{ptr, slice};

/// What the folders of bins are called: the library opens their files again and again by name.
const BINS: &str = "rankwright-bins-";

/// Bins of a column of amounts (the library's default).
const MAX_BIN: usize = 256;

/// The most that the bins of a value take in a file: its bin twice, by rows (4 bytes) and by columns (2), and some room.
const BYTES: u64 = 7;
/// What there is besides for each row.
const ROW_BYTES: u64 = 16;

/// Where bins are in a file, this number of blocks is one page of it: 80 MiB of bins or less.
const PAGE: usize = 16;

/// Trains a model as the task says.
pub(super) fn fit(task: &Task<'_>, progress: &mut dyn FnMut(&Iteration)) -> Result<Fitted, Error> {
    task.check_size("XGBoost")?;
    silence()?;
    let train = Matrix::of_examples(task, task.train)?;
    let model = Model::create(&[&train])?;
    for (name, value) in parameters(task) {
        model.set(name, &value)?;
    }
    let mut training = Training::new(model, train, task);
    let iterations = boost(&mut training, task.backend.iterations, progress)?;
    let kept = best(&iterations);
    let cut = training.model.rounds(0..kept)?;
    let gains = cut.gains(task.train.width())?;
    Ok(Fitted { booster: Booster::XgBoost, model: cut.save("ubj")?, gains, iterations, kept })
}

/// The options as the library names them.
pub(super) fn parameters(task: &Task<'_>) -> Vec<(&'static str, String)> {
    let backend = task.backend;
    let mut parameters = vec![
        ("objective", "rank:ndcg".into()),
        ("ndcg_exp_gain", "false".into()),
        ("lambdarank_unbiased", backend.debias.to_string()),
        ("tree_method", "hist".into()),
        ("max_bin", MAX_BIN.to_string()),
        ("eta", backend.learning_rate.to_string()),
        ("max_depth", backend.max_depth.to_string()),
        ("colsample_bytree", backend.sampling.to_string()),
        ("seed", task.seed31().to_string()),
        ("nthread", task.threads.to_string()),
    ];
    // the library's default is 1, in weights of rows
    parameters.extend(task.strictness().map(|part| ("min_child_weight", part.to_string())));
    parameters
}

/// A model of the library itself, loaded from bytes: what our own evaluator is compared with.
#[derive(Debug)]
pub struct Reference(Model);

impl Reference {
    /// Reads a model in the library's UBJSON or JSON format.
    pub fn load(bytes: &[u8]) -> Result<Self, Error> {
        silence()?;
        let model = Model::create(&[])?;
        // SAFETY: the handle is live, and the library reads `len` bytes of a buffer that outlives the call.
        check("load a model", unsafe {
            sys::XGBoosterLoadModelFromBuffer(model.0, bytes.as_ptr().cast(), bytes.len() as u64)
        })?;
        model.set("nthread", "1")?;
        Ok(Self(model))
    }

    /// Scores of rows of `width` values each, on one thread.
    pub fn predict(&self, rows: &[f32], width: usize) -> Result<Vec<f32>, Error> {
        let height = rows.len() / width.max(1);
        let values = array(rows.as_ptr().expose_provenance(), &[height, width], "<f4")?;
        let config = c"{\"type\":1,\"training\":false,\"iteration_begin\":0,\"iteration_end\":0,\"strict_shape\":false,\"missing\":NaN}";
        let (mut shape, mut dimensions, mut scores) = (ptr::null(), 0, ptr::null());
        // SAFETY: `values` describes `rows`, which outlives the call; the out pointers are ours.
        check("predict", unsafe {
            let result = (&mut shape, &mut dimensions, &mut scores);
            sys::XGBoosterPredictFromDense(
                self.0.0,
                values.as_ptr(),
                config.as_ptr(),
                ptr::null_mut(),
                result.0,
                result.1,
                result.2,
            )
        })?;
        // SAFETY: one score a row (a ranking has one output), valid until the next call on this thread; copied here.
        Ok(unsafe { copied(scores, height) })
    }

    /// The library's `pred_contribs` of rows, on one thread: for each row what its columns bring, then the bias.
    pub fn contributions(&self, rows: &Prepared) -> Result<Vec<f32>, Error> {
        let config =
            c"{\"type\":2,\"training\":false,\"iteration_begin\":0,\"iteration_end\":0,\"strict_shape\":false}";
        let (mut shape, mut dimensions, mut values) = (ptr::null(), 0, ptr::null());
        // SAFETY: both handles are live; the out pointers are ours.
        check("explain", unsafe {
            let result = (&mut shape, &mut dimensions, &mut values);
            sys::XGBoosterPredictFromDMatrix(
                self.0.0,
                rows.matrix.handle,
                config.as_ptr(),
                result.0,
                result.1,
                result.2,
            )
        })?;
        // SAFETY: a value for each column and one more, for each row, valid until the next call on this thread; copied here.
        Ok(unsafe { copied(values, rows.height * (rows.width + 1)) })
    }

    /// The model in another of the library's formats: `ubj` or `json`.
    pub fn save(&self, format: &str) -> Result<Vec<u8>, Error> {
        self.0.save(format)
    }
}

/// Rows as the library wants them for [`Reference::contributions`].
#[derive(Debug)]
pub struct Prepared {
    matrix: Matrix,
    height: usize,
    width: usize,
}

impl Prepared {
    /// Copies rows of `width` values each; NaN is missing.
    pub fn new(rows: &[f32], width: usize) -> Result<Self, Error> {
        silence()?;
        let height = rows.len() / width.max(1);
        let values = array(rows.as_ptr().expose_provenance(), &[height, width], "<f4")?;
        let mut handle = ptr::null_mut();
        // SAFETY: `values` describes `rows`, which outlives the call; the out pointer is ours.
        check("read the rows", unsafe {
            let config = c"{\"missing\":NaN,\"nthread\":1}".as_ptr();
            sys::XGDMatrixCreateFromDense(values.as_ptr(), config, &mut handle)
        })?;
        Ok(Self { matrix: Matrix { handle, _folder: None }, height, width })
    }
}

/// A data matrix of the library.
#[derive(Debug)]
struct Matrix {
    handle: sys::DMatrixHandle,
    /// Where its bins are, if not in memory.
    _folder: Option<Scratch>,
}

impl Matrix {
    /// Bins the rows.
    fn of_examples(task: &Task<'_>, examples: Examples<'_>) -> Result<Self, Error> {
        let values = examples.height() * examples.width();
        let folder = (values > task.room.binned).then(|| {
            task.room.check(BYTES * values as u64 + ROW_BYTES * examples.height() as u64)?;
            Ok::<_, Error>(Scratch::within(&task.room.folder, BINS)?)
        });
        let folder = folder.transpose()?;
        let read = if folder.is_some() { examples.in_larger_blocks(PAGE) } else { examples };
        let matrix = Feed::new(read, task.categorical)?.bin(task.threads, folder)?;
        let gains: Vec<f32> = examples.lists.labels.iter().map(|&label| metric::gain(label) as f32).collect();
        let lengths = examples.lists.lengths;
        matrix.set(c"label", &array(gains.as_ptr().expose_provenance(), &[gains.len()], "<f4")?)?;
        matrix.set(c"group", &array(lengths.as_ptr().expose_provenance(), &[lengths.len()], "<u4")?)?;
        Ok(matrix)
    }

    fn set(&self, field: &CStr, values: &CStr) -> Result<(), Error> {
        // SAFETY: the handle is live; `values` describes an array that its caller keeps until the call has copied it.
        check("set a field", unsafe {
            sys::XGDMatrixSetInfoFromInterface(self.handle, field.as_ptr(), values.as_ptr())
        })
    }

    /// Tells amounts (`q`) from categories (`c`).
    fn set_types(&self, types: &[&'static CStr]) -> Result<(), Error> {
        let mut types: Vec<*const c_char> = types.iter().map(|kind| kind.as_ptr()).collect();
        // SAFETY: as many static strings as said, copied by the call.
        check("set column types", unsafe {
            let field = c"feature_type".as_ptr();
            sys::XGDMatrixSetStrFeatureInfo(self.handle, field, types.as_mut_ptr(), types.len() as u64)
        })
    }
}

impl Drop for Matrix {
    fn drop(&mut self) {
        // SAFETY: the handle came from a create call and is freed once. A failure leaves nothing to do.
        unsafe { sys::XGDMatrixFree(self.handle) };
    }
}

/// A booster of the library.
#[derive(Debug)]
struct Model(sys::BoosterHandle);

// SAFETY: a handle may move between threads. It is not shared: `Sync` is not claimed.
unsafe impl Send for Model {}

impl Model {
    fn create(matrices: &[&Matrix]) -> Result<Self, Error> {
        let handles: Vec<sys::DMatrixHandle> = matrices.iter().map(|matrix| matrix.handle).collect();
        let mut handle = ptr::null_mut();
        // SAFETY: live handles and their number; the library keeps its own references to the matrices.
        check("create a model", unsafe { sys::XGBoosterCreate(handles.as_ptr(), handles.len() as u64, &mut handle) })?;
        Ok(Self(handle))
    }

    fn set(&self, name: &str, value: &str) -> Result<(), Error> {
        let (name, value) = (text(name)?, text(value)?);
        // SAFETY: the handle is live, the strings outlive the call.
        check("set an option", unsafe { sys::XGBoosterSetParam(self.0, name.as_ptr(), value.as_ptr()) })
    }

    /// NDCG on a matrix that the model was created with: the library keeps its scores up to date from round to round.
    fn ndcg(&self, matrix: &Matrix, ndcg: &NdcgOfRounds) -> Result<f64, Error> {
        let config =
            c"{\"type\":1,\"training\":false,\"iteration_begin\":0,\"iteration_end\":0,\"strict_shape\":false}";
        let (mut shape, mut dimensions, mut scores) = (ptr::null(), 0, ptr::null());
        // SAFETY: both handles are live; the out pointers are ours.
        check("score", unsafe {
            let result = (&mut shape, &mut dimensions, &mut scores);
            sys::XGBoosterPredictFromDMatrix(self.0, matrix.handle, config.as_ptr(), result.0, result.1, result.2)
        })?;
        let mut height = 0;
        // SAFETY: the handle is live.
        check("score", unsafe { sys::XGDMatrixNumRow(matrix.handle, &mut height) })?;
        // SAFETY: one score a row, and there are rows, in a buffer that stays until the next prediction.
        Ok(ndcg.mean(unsafe { slice::from_raw_parts(scores, height as usize) }))
    }

    /// A model of the trees of these rounds alone.
    fn rounds(&self, rounds: Range<usize>) -> Result<Self, Error> {
        let (begin, end) = (rounds.start as c_int, rounds.end as c_int);
        let mut handle = ptr::null_mut();
        // SAFETY: the handle is live; the slice is a booster of its own.
        check("cut the model", unsafe { sys::XGBoosterSlice(self.0, begin, end, 1, &mut handle) })?;
        Ok(Self(handle))
    }

    fn save(&self, format: &str) -> Result<Vec<u8>, Error> {
        let config = text(format!("{{\"format\":\"{format}\"}}"))?;
        let (mut length, mut bytes) = (0, ptr::null());
        // SAFETY: the handle is live; the buffer is the library's, valid until its next call on this thread.
        check("save the model", unsafe {
            sys::XGBoosterSaveModelToBuffer(self.0, config.as_ptr(), &mut length, &mut bytes)
        })?;
        // SAFETY: `length` bytes at `bytes`, copied before any other call.
        Ok(unsafe { copied(bytes.cast(), length as usize) })
    }

    /// Total gain by column; the library names columns `f0`, `f1` and so on, and leaves out those it did not use.
    fn gains(&self, width: usize) -> Result<Vec<f64>, Error> {
        let config = c"{\"importance_type\":\"total_gain\"}";
        let (mut count, mut names, mut dimensions) = (0, ptr::null_mut(), 0);
        let (mut shape, mut scores) = (ptr::null(), ptr::null());
        // SAFETY: the handle is live; what the out pointers name is the library's until its next call on this thread.
        check("weigh the features", unsafe {
            let out = (&mut count, &mut names, &mut dimensions);
            sys::XGBoosterFeatureScore(self.0, config.as_ptr(), out.0, out.1, out.2, &mut shape, &mut scores)
        })?;
        let mut gains = vec![0.0; width];
        for index in 0..count as usize {
            // SAFETY: `count` names (NUL-terminated) and as many scores, as tree models have one score a feature.
            let (name, score) = unsafe { (CStr::from_ptr(*names.add(index)), *scores.add(index)) };
            let column = name.to_str().ok().and_then(|name| name.strip_prefix('f')?.parse::<usize>().ok());
            if let Some(gain) = column.and_then(|column| gains.get_mut(column)) {
                *gain = f64::from(score);
            }
        }
        Ok(gains)
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // SAFETY: the handle came from a create call and is freed once. A failure leaves nothing to do.
        unsafe { sys::XGBoosterFree(self.0) };
    }
}

/// A training under way.
struct Training<'a> {
    model: Model,
    train: (Matrix, NdcgOfRounds),
    test: Tested<'a>,
    rounds: usize,
}

impl<'a> Training<'a> {
    /// `model` knows the matrix, which holds the task's lists to train on.
    fn new(model: Model, train: Matrix, task: &Task<'a>) -> Self {
        let prepared = |examples: Examples<'_>| NdcgOfRounds::new(examples.lists, task.backend.ndcg_cutoff);
        let test = Tested { examples: task.test, ndcg: prepared(task.test), scores: vec![0.0; task.test.height()] };
        Self { model, train: (train, prepared(task.train)), test, rounds: 0 }
    }
}

impl Rounds for Training<'_> {
    fn advance(&mut self) -> Result<bool, Error> {
        let round = self.rounds as c_int;
        // SAFETY: both handles are live.
        check("grow a tree", unsafe { sys::XGBoosterUpdateOneIter(self.model.0, round, self.train.0.handle) })?;
        self.rounds += 1;
        Ok(true)
    }

    fn evaluate(&mut self) -> Result<(f64, f64), Error> {
        self.test.add(&self.model, self.rounds - 1)?;
        Ok((self.test.ndcg.mean(&self.test.scores), self.model.ndcg(&self.train.0, &self.train.1)?))
    }
}

/// The test split, with the scores of all rounds so far.
struct Tested<'a> {
    examples: Examples<'a>,
    ndcg: NdcgOfRounds,
    scores: Vec<f64>,
}

impl Tested<'_> {
    /// Adds the tree of a round, which follows those that were added.
    fn add(&mut self, model: &Model, round: usize) -> Result<(), Error> {
        let tree = Ensemble::xgboost(&model.rounds(round..round + 1)?.save("ubj")?);
        let tree = tree.map_err(|error| failure("read a tree", error.to_string()))?;
        let width = self.examples.width();
        let mut blocks = self.examples.blocks();
        while let Some(block) = blocks.advance()? {
            let scores = &mut self.scores[block.row..][..block.values.len() / width];
            match round {
                0 => tree.score(block.values, width, scores), // from the base score on
                _ => tree.add(block.values, width, scores),
            }
        }
        Ok(())
    }
}

/// Describes an array in memory in the way the library takes it (the array interface of NumPy, version 3).
fn array(address: usize, shape: &[usize], kind: &str) -> Result<CString, Error> {
    let shape: Vec<String> = shape.iter().map(usize::to_string).collect();
    text(format!("{{\"data\":[{address},true],\"shape\":[{}],\"typestr\":\"{kind}\",\"version\":3}}", shape.join(",")))
}

/// Copies what the library lends.
///
/// # Safety
/// `length` values are valid at `data`; where `length` is 0, `data` may be anything.
unsafe fn copied<T: Copy>(data: *const T, length: usize) -> Vec<T> {
    if length == 0 {
        return Vec::new();
    }
    // SAFETY: as the caller promises.
    unsafe { slice::from_raw_parts(data, length) }.to_vec()
}

fn text(text: impl Into<Vec<u8>>) -> Result<CString, Error> {
    CString::new(text).map_err(|error| failure("set an option", error.to_string()))
}

/// Keeps the library from writing to the terminal; its errors come back as results all the same.
fn silence() -> Result<(), Error> {
    // SAFETY: a static string.
    check("be silent", unsafe { sys::XGBSetGlobalConfig(c"{\"verbosity\":0}".as_ptr()) })
}

fn check(action: &'static str, code: c_int) -> Result<(), Error> {
    if code == 0 {
        return Ok(());
    }
    // SAFETY: the library's last error on this thread, NUL-terminated, copied at once.
    let message = unsafe { CStr::from_ptr(sys::XGBGetLastError()) }.to_string_lossy();
    // The first line says it; a stack trace of the library follows.
    Err(failure(action, message.lines().next().unwrap_or_default().to_owned()))
}

fn failure(action: &'static str, message: String) -> Error {
    Error::Library { library: "XGBoost", action, message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Dataset;
    use crate::lists::Lists;
    use crate::rows::{Room, Rows};
    use crate::testing::{CATEGORICAL, backend, random_lists};
    use rankwright_config::model::Metric;

    /// The library's own metric.
    fn reported(model: &Model, matrix: &Matrix) -> f64 {
        let (mut matrices, mut names, mut report) = ([matrix.handle], [c"data".as_ptr()], ptr::null());
        // SAFETY: a live matrix with a name; the report is the library's until its next call on this thread.
        check("evaluate", unsafe {
            let (matrices, names) = (matrices.as_mut_ptr(), names.as_mut_ptr());
            sys::XGBoosterEvalOneIter(model.0, 0, matrices, names, 1, &mut report)
        })
        .expect("a metric");
        // SAFETY: a NUL-terminated string, such as `[0]\tdata-ndcg@3:0.5`, read before any other call.
        let report = unsafe { CStr::from_ptr(report) }.to_str().expect("a report is text");
        report.rsplit_once(':').and_then(|(_, value)| value.parse().ok()).expect("a report ends with a number")
    }

    #[test]
    fn our_metrics_are_what_the_library_reports() {
        let data = random_lists(16, 250);
        let relevant: Vec<f32> = data.lists().labels.iter().map(|&label| f32::from(label > 0.0)).collect();
        let rows = Rows::in_memory(6, data.examples().values().expect("rows"));
        let binary = Dataset::from_lists(rows, Lists { labels: &relevant, ..data.lists() }, data.keys().to_vec());
        let maps =
            [("map@3", Metric::Map(Some(3))), ("map", Metric::Map(None))].map(|(name, map)| (&binary, name, map));
        let gains = [("ndcg@1", Some(1)), ("ndcg@3", Some(3)), ("ndcg@10", Some(10)), ("ndcg", None)];
        let gains = gains.map(|(name, cutoff)| (&data, name, Metric::Ndcg(cutoff)));
        for (data, name, metric) in maps.into_iter().chain(gains) {
            let (train, test) = data.split_at(200);
            let backend = backend(Booster::XgBoost);
            let task = Task {
                backend: &backend,
                seed: 1,
                threads: 2,
                categorical: &CATEGORICAL,
                room: &Room::default(),
                train,
                test,
            };
            let matrix = Matrix::of_examples(&task, train).expect("a matrix");
            let model = Model::create(&[&matrix]).expect("a model");
            for (option, value) in parameters(&task).into_iter().chain([("eval_metric", name.to_owned())]) {
                model.set(option, &value).expect("a known option");
            }
            let mut training = Training::new(model, matrix, &task);
            assert!((0..5).all(|_| training.advance().expect("a round")));
            let model = Reference::load(&training.model.save("ubj").expect("bytes")).expect("a model");
            let rows = train.values().expect("rows");
            let scores = model.predict(&rows, 6).expect("scores").into_iter().map(f64::from);
            let computed = metric::evaluate(&[metric], train.lists, &scores.collect::<Vec<_>>())[0];
            let reported = reported(&training.model, &training.train.0);
            assert!((computed - reported).abs() < 1e-6, "{name}: {computed} and {reported}");
        }
    }
}
