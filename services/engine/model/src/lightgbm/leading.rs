//! A model's text without its first columns: those that LightGBM counts as features, and that only tell rankings apart.
//!
//! Such a column has no splits, so only numbers and lists of columns change. What remains is a model of LightGBM itself:
//! `tree_sizes`, by which the library finds trees, fits again.

use super::FORMAT;
use crate::error::ReadError;

/// Header lines with a word for each column.
const LISTS: [&str; 3] = ["feature_names", "feature_infos", "monotone_constraints"];

/// The text without its first columns.
pub(super) fn without(text: &str, columns: usize) -> Result<String, ReadError> {
    let (mut header, mut trees, mut grown) = (String::new(), String::new(), Vec::new());
    let mut lines = text.split_inclusive('\n');
    for line in lines.by_ref() {
        if line.trim_end() == "end of trees" {
            trees.push_str(line);
            break;
        }
        match line.split_once('=') {
            Some(("Tree", _)) => {
                grown.push(0);
                trees.push_str(line);
            }
            Some(("split_feature", numbers)) if !grown.is_empty() => {
                let before = trees.len();
                trees.push_str(&key("split_feature", &shifted(numbers, columns, grown.len() - 1)?, line));
                *grown.last_mut().expect("a tree has begun") += (trees.len() - before) as i64 - line.len() as i64;
            }
            Some((name, words)) if grown.is_empty() => header.push_str(&of_header(name, words, columns, line)?),
            _ if grown.is_empty() => header.push_str(line),
            _ => trees.push_str(line),
        }
    }
    Ok(sized(&header, &grown) + &trees + &lines.collect::<String>())
}

fn of_header(name: &str, words: &str, columns: usize, line: &str) -> Result<String, ReadError> {
    if name == "max_feature_idx" {
        let last = words.trim().parse::<i64>().ok().and_then(|last| last.checked_sub(columns as i64));
        let invalid = || ReadError::invalid(FORMAT, "header", "max_feature_idx is not a number");
        return Ok(key(name, &last.ok_or_else(invalid)?.to_string(), line));
    }
    if LISTS.contains(&name) {
        let words: Vec<&str> = words.split_whitespace().skip(columns).collect();
        return Ok(key(name, &words.join(" "), line));
    }
    Ok(line.to_owned())
}

fn shifted(numbers: &str, columns: usize, tree: usize) -> Result<String, ReadError> {
    let shift = |word: &str| {
        let column = word.parse::<usize>().ok().and_then(|column| column.checked_sub(columns));
        let used = || ReadError::invalid(FORMAT, format!("tree {tree}"), format!("it splits by column {word}"));
        column.map(|column| column.to_string()).ok_or_else(used)
    };
    Ok(numbers.split_whitespace().map(shift).collect::<Result<Vec<_>, _>>()?.join(" "))
}

/// The header with sizes of trees that have become so much longer.
fn sized(header: &str, grown: &[i64]) -> String {
    let line = |line: &str| match line.strip_prefix("tree_sizes=") {
        Some(sizes) => {
            let sizes = sizes.split_whitespace().zip(grown);
            let sizes = sizes.filter_map(|(size, grown)| Some((size.parse::<i64>().ok()? + grown).to_string()));
            key("tree_sizes", &sizes.collect::<Vec<_>>().join(" "), line)
        }
        None => line.to_owned(),
    };
    header.split_inclusive('\n').map(line).collect()
}

/// A line that ends as another one does.
fn key(name: &str, value: &str, like: &str) -> String {
    format!("{name}={value}{}", &like[like.trim_end_matches(['\r', '\n']).len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: &str = "tree\nversion=v4\nmax_feature_idx=10\nfeature_names=group a b c d e f g h i j\nfeature_infos=none [0:1] [0:1]\n\
        tree_sizes=43 41\n\nTree=0\nnum_leaves=3\nsplit_feature=10 1\n\n\nTree=1\nnum_leaves=2\nsplit_feature=2\n\n\nend of trees\n\n\
        feature_importances:\nj=1\n\nparameters:\n[group_column: name:group]\nsplit_feature=0\nend of parameters\n";

    #[test]
    fn a_column_without_splits_goes_and_the_sizes_of_trees_fit() {
        let expected = "tree\nversion=v4\nmax_feature_idx=9\nfeature_names=a b c d e f g h i j\nfeature_infos=[0:1] [0:1]\n\
            tree_sizes=42 41\n\nTree=0\nnum_leaves=3\nsplit_feature=9 0\n\n\nTree=1\nnum_leaves=2\nsplit_feature=1\n\n\nend of trees\n\n\
            feature_importances:\nj=1\n\nparameters:\n[group_column: name:group]\nsplit_feature=0\nend of parameters\n";
        assert_eq!(without(MODEL, 1).expect("nothing splits by it"), expected);
        let windows = MODEL.replace('\n', "\r\n");
        assert_eq!(without(&windows, 1).expect("nothing splits by it"), expected.replace('\n', "\r\n"));
    }

    #[test]
    fn a_column_that_a_split_uses_is_refused_with_its_tree() {
        assert_eq!(
            without(MODEL, 2).expect_err("is used").to_string(),
            "invalid LightGBM model, tree 0: it splits by column 1"
        );
        assert_eq!(
            without(MODEL, 3).expect_err("is used").to_string(),
            "invalid LightGBM model, tree 0: it splits by column 1"
        );
    }
}
