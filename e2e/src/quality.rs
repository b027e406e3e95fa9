//! How good models are, as the program logs it after training.

/// One line `quality on the test split` of a log.
#[derive(Debug, Clone, PartialEq)]
pub struct Quality {
    /// Name of the model.
    pub model: String,
    /// Such as `NDCG@10`.
    pub metric: String,
    /// Of the order that visitors saw.
    pub shown: f64,
    /// Of a random order.
    pub random: f64,
    /// Of the model's order.
    pub reranked: f64,
    /// The same with position features at what serving puts there.
    pub as_served: Option<f64>,
}

/// All lines of a log that tell a quality.
pub fn of_log(log: &str) -> Vec<Quality> {
    log.lines().filter_map(|line| Some(line.split_once("quality on the test split ")?.1)).filter_map(of_line).collect()
}

fn of_line(fields: &str) -> Option<Quality> {
    let field = |name: &str| {
        let value = fields.split(' ').find_map(|field| field.strip_prefix(name)?.strip_prefix('='))?;
        Some(value.trim_matches('"').to_owned())
    };
    let number = |name: &str| field(name)?.parse().ok();
    Some(Quality {
        model: field("model")?,
        metric: field("metric")?,
        shown: number("shown")?,
        random: number("random")?,
        reranked: number("reranked")?,
        as_served: number("as_served"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_log_is_understood() {
        let log = r#"2026-01-01T00:00:00Z  INFO quality on the test split model="m" metric="NDCG@10" shown="0.3779" random="0.33" reranked="0.61" as_served="0.6""#;
        let (model, metric) = ("m".to_owned(), "NDCG@10".to_owned());
        let quality = Quality { model, metric, shown: 0.3779, random: 0.33, reranked: 0.61, as_served: Some(0.6) };
        assert_eq!(of_log(log), [quality]);
    }
}
