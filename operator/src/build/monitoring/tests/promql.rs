//! As much of Prometheus' language as it takes to see what an expression reads.

/// Words that name neither a metric nor a function.
const OPERATORS: [&str; 5] = ["and", "or", "unless", "bool", "offset"];

/// Words before a list of labels.
const BEFORE_LABELS: [&str; 6] = ["by", "without", "on", "ignoring", "group_left", "group_right"];

/// Series that an expression reads.
#[derive(Debug, PartialEq)]
pub(super) struct Series {
    /// Their name.
    pub(super) metric: String,
    /// The labels by which they are chosen.
    pub(super) labels: Vec<String>,
}

/// Every place of an expression where series are read.
pub(super) fn series(expression: &str) -> Vec<Series> {
    let (mut found, mut rest) = (Vec::new(), &tokens(expression)[..]);
    while let [token, after @ ..] = rest {
        rest = after;
        if BEFORE_LABELS.contains(&token.as_str()) || token == "[" {
            let end = rest.iter().position(|token| [")", "]"].contains(&token.as_str())).unwrap_or(rest.len());
            rest = &rest[end..];
        } else if is_name(token) && !OPERATORS.contains(&token.as_str()) && !is_call(after) {
            let mut labels = Vec::new();
            if after.first().is_some_and(|next| next == "{") {
                let end = after.iter().position(|token| token == "}").unwrap_or(after.len());
                labels.extend(after[..end].iter().filter(|token| is_name(token)).cloned());
                rest = &after[end..];
            }
            found.push(Series { metric: token.clone(), labels });
        }
    }
    found
}

/// Whether this is what comes after the name of a function.
fn is_call(after: &[String]) -> bool {
    after.first().is_some_and(|next| ["(", "by", "without"].contains(&next.as_str()))
}

/// Labels by which an expression groups.
pub(super) fn grouping(expression: &str) -> Vec<String> {
    let (mut found, mut listing) = (Vec::new(), false);
    for token in tokens(expression) {
        match token.as_str() {
            ")" => listing = false,
            word if BEFORE_LABELS.contains(&word) => listing = true,
            _ if listing && is_name(&token) => found.push(token),
            _ => {}
        }
    }
    found
}

fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
}

/// Names, numbers with their units, texts and signs.
fn tokens(expression: &str) -> Vec<String> {
    let (mut found, mut rest) = (Vec::new(), expression.trim_start());
    while let Some(first) = rest.chars().next() {
        let word = |sign: char| sign.is_ascii_alphanumeric() || "_:.".contains(sign);
        let length = match first {
            '"' => rest[1..].find('"').map_or(rest.len(), |end| end + 2),
            first if word(first) => rest.find(|sign| !word(sign)).unwrap_or(rest.len()),
            first => first.len_utf8(),
        };
        found.push(rest[..length].to_owned());
        rest = rest[length..].trim_start();
    }
    found
}

#[test]
fn series_and_groups_are_found_and_nothing_else() {
    let expression = r#"sum by (pod, le) (rate(a_total{x="b_c",y=~"d{2}"}[5m] offset 10m)) / on (pod) max(e) > 0.5
        unless time() - f"#;
    let metric = |name: &str, labels: &[&str]| Series {
        metric: name.to_owned(),
        labels: labels.iter().map(|&label| label.to_owned()).collect(),
    };
    assert_eq!(series(expression), [metric("a_total", &["x", "y"]), metric("e", &[]), metric("f", &[])]);
    assert_eq!(grouping(expression), ["pod", "le", "pod"]);
}
