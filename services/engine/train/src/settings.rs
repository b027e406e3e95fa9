//! What a model was trained with, as a version keeps it: keys of the configuration with their values, defaults included.

use crate::metric;
use rankwright_config::model::{Als, Booster, Encoder, LambdaMart, Selector, Semantic, Trending};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Keys and values.
pub(crate) type Settings = BTreeMap<String, String>;

fn settings<const N: usize>(pairs: [(&str, String); N]) -> Settings {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Of trees.
pub(crate) fn of_trees(config: &LambdaMart) -> Settings {
    let backend = &config.backend;
    let eval = config.eval.iter().map(|&of| metric::name(of)).collect::<Vec<_>>().join(", ");
    let mut all = settings([
        ("split", config.split.to_string()),
        ("selector", selector(&config.learning.selector).to_string()),
        ("eval", eval),
        ("backend.iterations", backend.iterations.to_string()),
        ("backend.learningRate", backend.learning_rate.to_string()),
        ("backend.ndcgCutoff", backend.ndcg_cutoff.to_string()),
        ("backend.maxDepth", backend.max_depth.to_string()),
        ("backend.seed", backend.seed.map_or_else(|| "random".to_owned(), |seed| seed.to_string())),
        ("backend.sampling", backend.sampling.to_string()),
        ("backend.debias", backend.debias.to_string()),
    ]);
    let library = match backend.booster {
        Booster::XgBoost => settings([("backend.type", "xgboost".to_owned())]),
        Booster::LightGbm => {
            settings([("backend.type", "lightgbm".to_owned()), ("backend.numLeaves", backend.num_leaves.to_string())])
        }
    };
    all.extend(library);
    all.extend(
        config.weights.iter().map(|(interaction, weight)| (format!("weights.{interaction}"), weight.to_string())),
    );
    all
}

/// Of factors.
pub(crate) fn of_als(config: &Als) -> Settings {
    settings([
        ("interactions", config.interactions.join(", ")),
        ("factors", config.factors.to_string()),
        ("iterations", config.iterations.to_string()),
        ("userReg", config.user_reg.to_string()),
        ("itemReg", config.item_reg.to_string()),
        ("seed", config.seed.to_string()),
        ("selector", selector(&config.learning.selector).to_string()),
    ])
}

/// Of what is in demand.
pub(crate) fn of_trending(config: &Trending) -> Settings {
    let mut all = settings([("selector", selector(&config.learning.selector).to_string())]);
    for (number, part) in config.weights.iter().enumerate() {
        let text = format!(
            "{} of {}, decay {} a day, window {} s",
            part.weight,
            part.interaction,
            part.decay,
            part.window.as_secs()
        );
        all.insert(format!("weights[{number}]"), text);
    }
    all
}

/// Of embeddings.
pub(crate) fn of_semantic(config: &Semantic) -> Settings {
    let (kind, from, dim) = match &config.encoder {
        Encoder::Bert { model, dim } => ("bert", model.handle.clone(), dim),
        Encoder::Csv { path, dim } => ("csv", path.clone(), dim),
    };
    settings([
        ("encoder.type", kind.to_owned()),
        ("encoder.from", from),
        ("encoder.dim", dim.to_string()),
        ("itemFields", config.item_fields.join(", ")),
        ("selector", selector(&config.learning.selector).to_string()),
    ])
}

/// A selector with the keys of the configuration, as JSON.
fn selector(of: &Selector) -> Value {
    let all = |nested: &[Selector]| nested.iter().map(selector).collect::<Vec<_>>();
    let within = |low: &str, min: Option<usize>, high: &str, max: Option<usize>| {
        let bounds = [(low, min), (high, max)].into_iter();
        bounds.filter_map(|(key, bound)| Some((key.to_owned(), bound?.into()))).collect()
    };
    match of {
        Selector::Accept(all) => json!({ "accept": all }),
        Selector::Field { ranking_field, values } => json!({ "rankingField": ranking_field, "value": values }),
        Selector::Sampling(ratio) => json!({ "ratio": ratio }),
        Selector::InteractionPosition { min, max } => {
            Value::Object(within("minInteractionPosition", *min, "maxInteractionPosition", *max))
        }
        Selector::Length { min, max } => Value::Object(within("minItems", *min, "maxItems", *max)),
        Selector::And(nested) => json!({ "and": all(nested) }),
        Selector::Or(nested) => json!({ "or": all(nested) }),
        Selector::Not(nested) => json!({ "not": selector(nested) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankwright_config::{Config, Model};

    fn model(text: &str) -> Model {
        let text = format!("features: [{{name: f, type: position, position: 1}}]\nmodels: {{m: {{{text}}}}}");
        let (config, _) = Config::parse(&text, "test").unwrap_or_else(|errors| panic!("{errors}"));
        config.models["m"].clone()
    }

    #[test]
    fn settings_have_the_names_of_the_configuration_with_defaults_filled_in() {
        let Model::LambdaMart(trees) = model(
            "type: lambdamart, weights: {click: 1, buy: 2.5}, features: [f], backend: lightgbm, split: random=70%",
        ) else {
            panic!("another model")
        };
        let settings = of_trees(&trees);
        let of = |key: &str| settings.get(key).map_or("-", String::as_str);
        assert_eq!((of("backend.type"), of("backend.numLeaves"), of("backend.seed")), ("lightgbm", "16", "random"));
        assert_eq!((of("split"), of("weights.buy"), of("eval")), ("random=70%", "2.5", "NDCG@10"));
        let Model::Als(als) = model("type: als, interactions: [click]") else { panic!("another model") };
        assert_eq!(of_als(&als)["factors"], "100");
        let Model::Trending(trending) = model("type: trending, weights: [{interaction: click, decay: 0.5}]") else {
            panic!("another model")
        };
        assert_eq!(of_trending(&trending)["weights[0]"], "1 of click, decay 0.5 a day, window 2592000 s");
        let Model::Semantic(semantic) = model("type: semantic, encoder: {type: csv, dim: 2, path: /e.csv}") else {
            panic!("another model")
        };
        assert_eq!(of_semantic(&semantic)["encoder.from"], "/e.csv");
        assert_eq!((of("selector"), &*of_als(&als)["selector"]), (r#"{"accept":true}"#, r#"{"accept":true}"#));
    }

    #[test]
    fn a_selector_is_told_as_a_configuration_has_it() {
        let selectors = [
            r#"{"accept":false}"#,
            r#"{"rankingField":"source","value":["search","mail"]}"#,
            r#"{"ratio":0.5}"#,
            r#"{"and":[{"minItems":3},{"not":{"maxInteractionPosition":10,"minInteractionPosition":2}}]}"#,
            r#"{"or":[{"maxItems":9,"minItems":3},{"accept":true}]}"#,
        ];
        for text in selectors {
            let trees = format!("type: lambdamart, weights: {{click: 1}}, features: [f], selector: {text}");
            let Model::LambdaMart(trees) = model(&trees) else { panic!("another model") };
            assert_eq!(of_trees(&trees)["selector"], text);
        }
    }
}
