//! Names of columns in files that do not take every name.

use std::collections::HashSet;

/// Names without blanks and without what LightGBM or XGBoost refuses or takes for a separator, each once, and none of `taken`.
pub fn plain<'n>(names: impl IntoIterator<Item = &'n str>, taken: &[&str]) -> Vec<String> {
    let plain = |name: &str| -> String {
        let keeps = |letter: char| !(letter.is_whitespace() || letter.is_control() || r#"",:[]{}\<"#.contains(letter));
        name.chars().map(|letter| if keeps(letter) { letter } else { '_' }).collect()
    };
    distinct(names.into_iter().map(plain), taken)
}

/// Names as they are, but for those that are there already: an underscore follows each of those.
pub(super) fn distinct(names: impl IntoIterator<Item = String>, taken: &[&str]) -> Vec<String> {
    let mut taken: HashSet<String> = taken.iter().map(ToString::to_string).collect();
    let mut free = |mut name: String| {
        while !taken.insert(name.clone()) {
            name.push('_');
        }
        name
    };
    names.into_iter().map(&mut free).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_letters_and_stay_apart() {
        let names = ["genre_science fiction", "genre_science_fiction", "größe", "a,b:{c}[\"d\"]", "label", "", "a<b"];
        let written = ["genre_science_fiction", "genre_science_fiction_", "größe", "a_b__c___d__", "label_", "", "a_b"]
            .map(str::to_owned);
        assert_eq!(plain(names, &["label", "group"]), written);
    }
}
