//! Medians of the kernels' own benchmarks, which `e2e/bench` has run before.

use crate::table::Table;
use std::path::PathBuf;

/// The median that a table of divan shows for one benchmark.
pub(crate) fn median_of(bench: &str, name: &str) -> Option<String> {
    let folder = PathBuf::from(std::env::var_os("RANKWRIGHT_KERNELS")?);
    let text = std::fs::read_to_string(folder.join(format!("{bench}.txt"))).ok()?;
    let line = text.lines().find(|line| line.contains(&format!("─ {name} ")))?;
    // name and fastest, slowest, median, mean, samples, iterations
    line.split('│').nth(2).map(|median| median.trim().to_owned())
}

/// The row on the evaluator.
pub(crate) fn report(table: &mut Table) {
    let of = |bench: &str, name: &str| median_of(bench, name).unwrap_or_else(|| "?".to_owned());
    let (xgboost, lightgbm) =
        (of("evaluator", "xgboost_full_trees_of_depth_8"), of("evaluator", "lightgbm_full_trees_of_depth_8"));
    let measured = format!("{xgboost} (XGBoost's trees), {lightgbm} (LightGBM's)");
    let libraries = (of("boosters", "score_xgboost_library"), of("boosters", "score_lightgbm_library"));
    let limit = format!("the libraries' own {} and {}", libraries.0, libraries.1);
    table.add("evaluator, 100 rows x 50 x 100 trees of depth 8", measured, "120 µs on one thread", limit);
}
