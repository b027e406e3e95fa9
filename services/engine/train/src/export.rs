//! A model's training data for use elsewhere: files that XGBoost and LightGBM read, and Parquet for notebooks.
//!
//! The rows, labels and sides are those that [`train_model`](crate::train_model) learns from, read by the same code. They
//! are written block by block: memory holds what training holds of them before a booster sees them.

mod columnar;
mod conf;
mod files;
mod format;
mod labels;
mod names;
mod part;

pub use names::plain;

use crate::booster;
use crate::booster::Task;
use crate::dataset::{Dataset, Reading};
use crate::examples::Examples;
use crate::rows::Room;
use crate::train::{Progress, model_columns};
use crate::trees::{Read, Trees, categorical};
use files::{File, Files};
use labels::Labels;
use part::Parts;
use rankwright_clickthrough::ClickthroughStore;
use rankwright_config::model::{Booster, LambdaMart};
use rankwright_event::Timestamp;
use rankwright_model::Column;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// What is to be exported.
#[derive(Debug, Clone, Copy)]
pub struct Export<'a> {
    /// Name of the model.
    pub name: &'a str,
    /// Its configuration, with the split that parts train and test.
    pub config: &'a LambdaMart,
    /// All columns there are; the model's own are those of its features.
    pub columns: &'a [Column],
    /// The part of all click-throughs to take, drawn at random; 1 is all.
    pub share: f64,
}

/// Training data that was read, before it is written.
#[derive(Debug)]
pub struct Prepared<'a> {
    export: Export<'a>,
    columns: Vec<Column>,
    dataset: Dataset,
    /// Number of lists, the first ones, that are for training.
    first: usize,
    /// What became of the click-throughs.
    pub reading: Reading,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// The files, by name.
    pub files: Vec<PathBuf>,
    /// Rankings and rows for training.
    pub train: (usize, usize),
    /// Rankings and rows for testing.
    pub test: (usize, usize),
    /// Columns of features.
    pub columns: usize,
}

/// Why nothing was exported.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is nothing to export, or it cannot be read.
    #[error(transparent)]
    Read(#[from] crate::Error),
    /// A file cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// Its final name.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The folder is none.
    #[error("{} is a file: name a folder", path.display())]
    NoFolder {
        /// The path.
        path: PathBuf,
    },
    /// Feature values could not be read back.
    #[error("failed to read feature values from their temporary file")]
    Rows(#[source] io::Error),
    /// Options do not fit the library.
    #[error(transparent)]
    Options(#[from] booster::Error),
    /// The caller stopped it.
    #[error("interrupted: nothing is written")]
    Interrupted,
}

/// Called with the rows that are written so far; `false` stops the export.
pub type Watch<'w> = dyn FnMut(u64) -> bool + 'w;

impl<'a> Export<'a> {
    /// Reads and splits the click-throughs.
    ///
    /// # Errors
    /// As a training that finds nothing to learn from.
    pub fn read(
        self,
        store: &dyn ClickthroughStore,
        progress: &mut (dyn FnMut(Progress<'_>) + Send),
    ) -> Result<Prepared<'a>, Error> {
        let Self { name, config, columns, share } = self;
        let served = BTreeMap::new();
        let trees = Trees { name, config, columns, served: &served, share, now: Timestamp::from_millis(0) };
        let columns = model_columns(name, config, columns)?;
        let Read { dataset, reading, .. } = trees.read(&columns, store, progress)?;
        let (dataset, first) = trees.split(dataset)?;
        Ok(Prepared { export: self, columns, dataset, first, reading })
    }
}

impl Prepared<'_> {
    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.dataset.lists().height() as u64
    }

    /// Writes all files into a folder, which is made where it is not there. Files of an earlier export are replaced once the
    /// new ones are whole, the configuration last.
    ///
    /// # Errors
    /// When a file cannot be written, or the caller stops; the folder is as it was then.
    pub fn write(&self, folder: &Path, parquet: bool, watch: &mut Watch<'_>) -> Result<Exported, Error> {
        let (train, test) = self.dataset.split_at(self.first);
        let labels = Labels::of(self.export.config.backend.booster, self.dataset.lists().labels);
        let mut files = Files::within(folder)?;
        let mut written = 0;
        for (side, examples, lists_before) in [("train", train, 0), ("test", test, self.first)] {
            let parts = Parts { examples, lists_before, labels: &labels };
            self.table(&mut files, side, &parts, &mut |rows| watch(written + rows))?;
            let name = format!("{side}.parquet");
            if parquet {
                let file = files.create(&name)?;
                let all = written + examples.height() as u64; // its rows were counted already
                columnar::write(file, &self.columns, &parts, &mut |_| watch(all))?;
            } else {
                files.none(&name);
            }
            written += examples.height() as u64;
        }
        self.notes(&mut files, train, test, &labels)?;
        let count = |examples: Examples<'_>| (examples.lists.lengths.len(), examples.height());
        Ok(Exported { files: files.finish()?, train: count(train), test: count(test), columns: self.columns.len() })
    }

    /// One side as the booster reads it.
    fn table(&self, files: &mut Files, side: &str, parts: &Parts<'_>, watch: &mut Watch<'_>) -> Result<(), Error> {
        let backend = &self.export.config.backend;
        match backend.booster {
            Booster::XgBoost => format::svm(files.create(&format!("{side}.svm"))?, parts, watch),
            Booster::LightGbm => {
                format::csv(files.create(&format!("{side}.csv"))?, &self.columns, parts, watch)?;
                // what LightGBM looks for beside the data
                let positions = format!("{side}.csv.position");
                if backend.debias && side == "train" {
                    return format::positions(files.create(&positions)?, parts);
                }
                files.none(&positions);
                Ok(())
            }
        }
    }

    /// The booster's options and, where its data carry no names, the columns'.
    fn notes(&self, files: &mut Files, train: Examples<'_>, test: Examples<'_>, labels: &Labels) -> Result<(), Error> {
        let Export { name, config, .. } = self.export;
        let (backend, room) = (&config.backend, &Room::default());
        let (seed, categorical) = (backend.seed.unwrap_or(0), categorical(&self.columns));
        let task = Task { backend, seed, threads: 1, categorical: &categorical, room, train, test };
        if backend.booster == Booster::XgBoost {
            write(files.create("featmap.txt")?, &conf::feature_map(&self.columns))?;
        }
        let conf = conf::Conf { name, task: &task, labels };
        let file = match backend.booster {
            Booster::XgBoost => "xgboost.conf",
            Booster::LightGbm => "lightgbm.conf",
        };
        write(files.create(file)?, &conf.text()?)
    }
}

fn write(mut file: File, text: &str) -> Result<(), Error> {
    file.write(text.as_bytes())?;
    file.finish()
}

#[cfg(test)]
mod tests;
