//! A model that was trained elsewhere, as a new version.

use super::{known, pin};
use crate::rank::beside;
use crate::stop;
use crate::told::line;
use anyhow::{Context, Result, bail};
use rankwright_assembly::{columns_of, now, runtime};
use rankwright_config::Config;
use rankwright_model::{Column, Foreign, Kind, Metadata, Place, Version, VersionStore};
use rankwright_train::{export::plain, model_columns, weights};
use std::collections::BTreeMap;
use std::path::Path;

/// Checks the file against the model's features, and stores it; what to print.
///
/// # Errors
/// Names each column that differs.
pub(super) fn run(
    config: &Config,
    versions: &dyn VersionStore,
    model: &str,
    file: &Path,
    promote: bool,
) -> Result<String> {
    let known = known(config, model)?;
    let Some(definition) = known.trees() else {
        bail!("model '{model}' is of type {}: only a model of type lambdamart takes trees", known.type_name());
    };
    let runtime = runtime()?;
    let _importing = stop::at_once(&runtime, "interrupted: 'rankwright models list' shows what is stored");
    let missing = || format!("failed to read {}{}", file.display(), beside(file));
    let bytes = std::fs::read(file).with_context(missing)?;
    let foreign = Foreign::read(&bytes).with_context(|| file.display().to_string())?;
    let all = runtime.block_on(columns_of(config))?;
    let columns = model_columns(model, definition, &all)?;
    let (foreign, bytes) = match beside_features(&foreign, columns.len()) {
        0 => (foreign, bytes),
        several => foreign
            .without_first(several, &bytes)
            .with_context(|| format!("{}: only a file without splits by label or group can be used", file.display()))?,
    };
    let problems = mismatches(&foreign, &columns);
    if !problems.is_empty() {
        bail!("{} does not fit model '{model}':\n  {}", file.display(), problems.join("\n  "));
    }
    let notes = notes(&foreign, &columns);
    let version = version(model, file, &foreign, columns, bytes)?;
    match promote {
        true => {
            let version = match versions.current(model)? {
                Some(current) => version.in_place_of(current)?,
                None => version,
            };
            versions.publish(&version, Place::Told)?;
            Ok(told(&version, &notes, "current; servers load it within 10 seconds") + &pin(model, known))
        }
        false => {
            versions.add(&version)?;
            let next = format!(
                "stored; compare it with 'rankwright evaluate', and make it current with 'rankwright models promote --model {model} --to {}'",
                version.id()
            );
            Ok(told(&version, &notes, &next))
        }
    }
}

fn told(version: &Version, notes: &[String], what: &str) -> String {
    let notes: String = notes.iter().map(|note| format!("note: {note}\n")).collect();
    format!("{}\t{}\t{what}\n{notes}", version.metadata().model, version.id())
}

fn version(model: &str, file: &Path, foreign: &Foreign, columns: Vec<Column>, bytes: Vec<u8>) -> Result<Version> {
    let name = file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let metadata = Metadata {
        model: model.to_owned(),
        kind: foreign.kind,
        created_at: now(),
        metrics: BTreeMap::new(),
        iterations: foreign.trees,
        weights: weights(&foreign.gains, &columns),
        columns,
        trained_on: None,
        settings: BTreeMap::from([("imported from".to_owned(), name)]),
        replaced: None,
        record: Default::default(),
    };
    Ok(Version::new(metadata, Vec::new(), bytes)?)
}

/// Columns of the file that are not those of the model, a sentence each.
fn mismatches(foreign: &Foreign, columns: &[Column]) -> Vec<String> {
    if foreign.features != columns.len() {
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        return vec![format!(
            "the file has {} columns, and the features of the model have {}: {}",
            foreign.features,
            columns.len(),
            names.join(", ")
        )];
    }
    let (mut problems, written) = (Vec::new(), Written::of(foreign.kind, columns));
    for (place, column) in columns.iter().enumerate() {
        let (number, wanted) = (place + 1, &column.name);
        let found = foreign.names.get(place).filter(|_| foreign.is_named());
        if let Some(found) = found.filter(|found| !written.takes(place, found)) {
            problems
                .push(format!("column {number} is {:?} in the file, and {wanted:?} in the configuration", line(found)));
        } else if foreign.categorical[place] && !column.categorical {
            problems.push(format!(
                "column {number}, {wanted:?}, holds categories in the file, and numbers in the configuration"
            ));
        }
    }
    problems
}

/// What columns may be called in a file.
struct Written([Vec<String>; 4]);

impl Written {
    /// As in the configuration, as the library writes that, or as `export` does, with `label` and `group` beside it or without.
    fn of(kind: Kind, columns: &[Column]) -> Self {
        let names = || columns.iter().map(|column| column.name.as_str());
        let own: Vec<String> = names().map(str::to_owned).collect();
        // LightGBM takes no white space
        let spaced = |name: &String| match kind {
            Kind::LightGbm => name.replace(char::is_whitespace, "_"),
            _ => name.clone(),
        };
        let spaced = own.iter().map(spaced).collect();
        Self([own, spaced, plain(names(), &[]), plain(names(), &BESIDE)])
    }

    fn takes(&self, place: usize, name: &str) -> bool {
        self.0.iter().any(|names| names[place] == name)
    }
}

/// Columns that LightGBM counts and that are no features, first in a file of `export`.
const BESIDE: [&str; 2] = ["label", "group"];

/// How many of them come before as many columns as there are features.
fn beside_features(foreign: &Foreign, features: usize) -> usize {
    let more = foreign.features.saturating_sub(features);
    let are_beside = foreign.names.iter().take(more).all(|name| BESIDE.contains(&name.as_str()));
    if foreign.kind == Kind::LightGbm && foreign.names.len() >= more && are_beside { more } else { 0 }
}

/// What fits, and may yet be a mistake.
fn notes(foreign: &Foreign, columns: &[Column]) -> Vec<String> {
    let mut notes = Vec::new();
    if !foreign.is_named() {
        notes.push("the file has no names of columns, so their order could not be checked".to_owned());
    }
    let amounts =
        |(column, categorical): (&Column, &bool)| (column.categorical && !categorical).then(|| column.name.clone());
    let amounts: Vec<String> = columns
        .iter()
        .zip(&foreign.categorical)
        .zip(&foreign.gains)
        .filter(|(_, gain)| **gain > 0.0)
        .filter_map(|(column, _)| amounts(column))
        .collect();
    if !amounts.is_empty() {
        notes.push(format!("the file treats categories as numbers: {}", amounts.join(", ")));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, categorical: bool) -> Column {
        Column { name: name.into(), feature: name.into(), fingerprint: 1, categorical }
    }

    fn foreign(kind: Kind, names: &[&str], categorical: &[bool]) -> Foreign {
        let features = categorical.len();
        let names = names.iter().map(|&name| name.to_owned()).collect();
        Foreign { kind, features, names, categorical: categorical.to_vec(), gains: vec![1.0; features], trees: 1 }
    }

    #[test]
    fn each_column_that_differs_is_named() {
        let columns = [column("price", false), column("ctr_7", false), column("color", true)];
        let fits = foreign(Kind::XgBoost, &["price", "ctr_7", "color"], &[false, false, true]);
        assert_eq!(mismatches(&fits, &columns), Vec::<String>::new());
        let wrong = foreign(Kind::XgBoost, &["ctr_7", "price", "color"], &[false, false, true]);
        assert_eq!(
            mismatches(&wrong, &columns),
            [
                "column 1 is \"ctr_7\" in the file, and \"price\" in the configuration",
                "column 2 is \"price\" in the file, and \"ctr_7\" in the configuration"
            ]
        );
        let fewer = foreign(Kind::XgBoost, &[], &[false, false]);
        let problem = "the file has 2 columns, and the features of the model have 3: price, ctr_7, color";
        assert_eq!(mismatches(&fewer, &columns), [problem]);
        let categories = foreign(Kind::XgBoost, &[], &[true, false, true]);
        let problem = "column 1, \"price\", holds categories in the file, and numbers in the configuration";
        assert_eq!(mismatches(&categories, &columns), [problem]);
    }

    #[test]
    fn names_that_a_library_made_up_are_not_compared_and_noted() {
        let columns = [column("price", false), column("color", true)];
        for (kind, names) in [(Kind::LightGbm, ["Column_0", "Column_1"]), (Kind::XgBoost, ["f0", "f1"])] {
            let unnamed = foreign(kind, &names, &[false, false]);
            assert_eq!(mismatches(&unnamed, &columns), Vec::<String>::new());
            let notes = notes(&unnamed, &columns);
            assert!(notes[0].contains("order could not be checked"), "{notes:?}");
            assert_eq!(notes[1], "the file treats categories as numbers: color");
        }
    }

    #[test]
    fn a_name_with_spaces_is_written_as_lightgbm_writes_it() {
        let columns = [column("genres_science fiction", false)];
        assert!(mismatches(&foreign(Kind::LightGbm, &["genres_science_fiction"], &[false]), &columns).is_empty());
        assert!(!mismatches(&foreign(Kind::XgBoost, &["genres_fiction"], &[false]), &columns).is_empty());
    }

    #[test]
    fn names_of_exported_files_are_those_of_the_configuration() {
        let columns = [column("science fiction", false), column("a,b", false), column("label", false)];
        for (kind, label) in [(Kind::XgBoost, "label"), (Kind::LightGbm, "label_")] {
            let exported = foreign(kind, &["science_fiction", "a_b", label], &[false; 3]);
            assert_eq!(mismatches(&exported, &columns), Vec::<String>::new());
        }
        let turned = foreign(Kind::XgBoost, &["a_b", "science_fiction", "label"], &[false; 3]);
        assert_eq!(mismatches(&turned, &columns).len(), 2);
    }

    #[test]
    fn a_group_that_lightgbm_counts_is_no_feature() {
        let beside = |kind, names: &[&str], features| {
            beside_features(&foreign(kind, names, &vec![false; names.len()]), features)
        };
        assert_eq!(beside(Kind::LightGbm, &["group", "price"], 1), 1);
        assert_eq!(beside(Kind::LightGbm, &["label", "group", "price"], 1), 2);
        assert_eq!(beside(Kind::LightGbm, &["group", "price"], 2), 0, "it is a feature of this name");
        assert_eq!(beside(Kind::LightGbm, &["price", "color"], 1), 0);
        assert_eq!(beside(Kind::LightGbm, &["price", "group"], 1), 0);
        assert_eq!(beside(Kind::XgBoost, &["group", "price"], 1), 0);
    }
}
