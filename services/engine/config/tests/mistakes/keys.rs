//! Keys that are unknown, that are missing, that come twice; and what depends on them.

use super::{errors, feature, lambdamart, only};
use rankwright_config::Offset;
use std::str::FromStr;

#[test]
fn what_hangs_on_a_misspelt_type_is_looked_at_as_well() {
    let text = "state: {tpye: redis, host: h, port: no}
train: {type: s4, bukket: b, prefix: p, region: r}
features:
  - {name: a, tpye: number, field: item.a, refesh: 1h}
  - {name: b, type: numbr, field: price}
models:
  m: {type: lambdamrt, weights: {click: high}, features: [zzz]}
  n: {tpye: noop}
  o: {type: nothing like it, other: 1}
  p: {tpye: zzz, other: 1}
  q: {type: lambdamart_model, weights: []}
";
    let errors = errors(text);
    let told: Vec<_> =
        errors.mistakes().iter().map(|mistake| (mistake.path.as_str(), mistake.nearest.as_deref())).collect();
    assert_eq!(
        told,
        [
            ("state.tpye", Some("`type`")),
            ("state.port", None),
            ("train.type", Some("`s3`")),
            ("train.bukket", Some("`bucket`")),
            ("features[0].tpye", Some("`type`")),
            ("features[0].refesh", Some("`refresh`")),
            ("features[1].type", Some("`number`")),
            ("features[1].field", Some("`item.price`")),
            ("models.m.type", Some("`lambdamart`")),
            ("models.m.weights.click", None),
            ("models.m.features[0]", None),
            ("models.n.tpye", Some("`type`")),
            ("models.o.type", None),
            ("models.p.tpye", Some("`type`")),
            ("models.p.tpye", None),
            ("models.q.type", Some("`lambdamart`")),
            ("models.q.weights", None),
        ]
    );
}

#[test]
fn what_hangs_on_a_misspelt_mode_is_no_mistake_as_well() {
    let nodes = "nodes: ['a:1', 'b:1']";
    for mode in ["modee: cluster", "modes: cluster", "mod: sentinel, sentinel: {master: m}"] {
        let mode = format!("{mode}, {nodes}");
        let text = format!("state: {{type: redis, {mode}}}\nmodels: {{n: {{type: noop}}}}");
        let errors = errors(&text);
        let told: Vec<_> = errors.mistakes().iter().map(|mistake| mistake.nearest.as_deref()).collect();
        assert_eq!(told, [Some("`mode`")], "{errors}");
    }
    let errors = errors("state: {type: redis, node: ['a:1'], mode: cluster}\nmodels: {n: {type: noop}}");
    let told: Vec<_> = errors.mistakes().iter().map(|mistake| mistake.nearest.as_deref()).collect();
    assert!(told.contains(&Some("`nodes`")), "{errors}");
}

#[test]
fn a_misspelt_key_is_not_read_as_another_one_that_is_as_near() {
    let errors = errors("state: {type: redis, host: h, port: 6379, node: ['a:1']}\nmodels: {n: {type: noop}}");
    let told: Vec<_> = errors.mistakes().iter().map(|mistake| mistake.nearest.as_deref()).collect();
    assert_eq!(told, [Some("`nodes`")], "{errors}");
}

#[test]
fn what_hangs_on_any_misspelt_key_is_looked_at_as_well() {
    let text = "featurse:
  - {nam: price, type: number, feild: price}
  - {name: ctr, type: rate, top: click, bottom: impression, bucket: 24x, periods: [7]}
modles:
  m:
    type: lambdamart
    weigths: {click: x}
    backnd: {type: xgbost, itterationss: -1, samplng: 3}
    selectr: {rato: 7}
    splt: y
    evl: [X]
    features: [price, ctr]
core: {trackin: {analytics: 1}}
";
    let errors = errors(text);
    let told: Vec<_> = errors
        .mistakes()
        .iter()
        .map(|mistake| (mistake.path.as_str(), mistake.nearest.as_deref().unwrap_or(&mistake.problem)))
        .collect();
    assert_eq!(
        told,
        [
            ("featurse", "`features`"),
            ("featurse[0].nam", "`name`"),
            ("featurse[0].feild", "`field`"),
            ("featurse[0].feild", "`item.price`"),
            ("featurse[1].bucket", "found `24x`"),
            ("modles", "`models`"),
            ("modles.m.weigths", "`weights`"),
            ("modles.m.weigths.click", "found `x`"),
            ("modles.m.backnd", "`backend`"),
            ("modles.m.backnd.type", "`xgboost`"),
            ("modles.m.backnd.itterationss", "`iterations`"),
            ("modles.m.backnd.itterationss", "found `-1`"),
            ("modles.m.backnd.samplng", "`sampling`"),
            ("modles.m.backnd.samplng", "found `3`"),
            ("modles.m.selectr", "`selector`"),
            ("modles.m.selectr.rato", "`ratio`"),
            ("modles.m.selectr.rato", "found `7`"),
            ("modles.m.splt", "`split`"),
            ("modles.m.splt", "found `y`"),
            ("modles.m.evl", "`eval`"),
            ("modles.m.evl[0]", "found `X`"),
            ("core.trackin", "`tracking`"),
            ("core.trackin.analytics", "found `1`"),
        ]
    );
}

#[test]
fn keys_and_sections_are_known() {
    for (text, path, problem, nearest) in [
        ("Models: {}", "Models", "unknown key `Models`", Some("`models`")),
        ("api: {prot: 1}", "api.prot", "unknown key `prot`", Some("`port`")),
        ("api: {zebra: 1}", "api.zebra", "unknown key `zebra`", None),
        ("api: {port: 1, port: 2}", "api.port", "`port` is given twice, first in line 1", None),
        ("state: {type: file}", "state", "`path` is missing", None),
        ("state: memory", "state", "found a single value", None),
        ("features: {}", "features", "found a mapping", None),
        ("[]", "", "found an empty list", None),
    ] {
        assert_eq!(only(text), (path.to_owned(), problem.to_owned(), nearest.map(str::to_owned)), "{text}");
    }
}

#[test]
fn a_misspelt_key_is_not_reported_as_missing_too() {
    let (path, problem, _) = feature("type: rate, topp: a, bottom: b, bucket: 1d, periods: [1]");
    assert_eq!((path.as_str(), problem.as_str()), ("features[0].topp", "unknown key `topp`"));
}

#[test]
fn where_a_type_is_missing_what_stands_beside_it_is_looked_at_all_the_same() {
    let told = |text: &str| -> Vec<String> {
        let told = |mistake: &rankwright_config::Mistake| format!("{}: {}", mistake.path, mistake.problem);
        errors(text).mistakes().iter().map(told).collect()
    };
    let all = |text: &str, expected: &[&str]| {
        let told = told(text);
        for expected in expected {
            assert!(told.iter().any(|told| told == expected), "{expected} in {told:#?}");
        }
        assert_eq!(told.len(), expected.len(), "{told:#?}");
    };
    all(
        "models: {l: {backend: xgbost, weights: {click: x}, features: [zzz]}}",
        &[
            "models.l: `type` is missing",
            "models.l.backend: unknown backend `xgbost`",
            "models.l.weights.click: found `x`",
            "models.l.features[0]: the feature `zzz` is not defined",
        ],
    );
    all("source: {path: /x, offset: foo}", &["source: `type` is missing", "source.offset: found `foo`"]);
    all("train: {path: x, format: jsn}", &["train: `type` is missing", "train.format: unknown format `jsn`"]);
    all("state: {host: x, port: no}", &["state: `type` is missing", "state.port: found `no`"]);
    all(
        "features: [{name: a, top: click, bottom: view, bucket: 1d, periods: [x]}]",
        &["features[0]: `type` is missing", "features[0].periods[0]: found `x`"],
    );
    all("features: [{name: a, ttl: 5}]", &["features[0]: `type` is missing", "features[0].ttl: found `5`"]);
    // and where it is one that there is not
    all(
        "models: {m: {type: xgboost, weights: {c: x}, features: [zz], backend: {type: xgboost, iterations: x}}}",
        &[
            "models.m.type: unknown model type `xgboost`",
            "models.m.weights.c: found `x`",
            "models.m.features[0]: the feature `zz` is not defined",
            "models.m.backend.iterations: found `x`",
        ],
    );
    all("state: {type: disk, host: x, port: no}", &["state.type: unknown state type `disk`", "state.port: found `no`"]);
    all(
        "source: {type: folder, path: /x, offset: foo}",
        &["source.type: unknown source type `folder`", "source.offset: found `foo`"],
    );
    all(
        "train: {type: bucket, path: x, format: jsn}",
        &["train.type: unknown train type `bucket`", "train.format: unknown format `jsn`"],
    );
    all(
        "features: [{name: a, type: count, top: click, bottom: view, bucket: 1d, periods: [x]}]",
        &["features[0].type: unknown feature type `count`", "features[0].periods[0]: found `x`"],
    );
}

#[test]
fn what_a_key_brings_that_is_given_twice_is_looked_at_as_well() {
    let text = "\
features:
  - {name: a, type: position, position: 1}
models:
  m: {type: lambdamart, weights: {click: 1}, features: [a, b]}
features:
  - {name: b, type: position, position: 1}
  - {name: a, type: position, positon: 1}
models:
  n: {type: lambdamart, features: [a], weights: {click: 1}, selectr: {acept: true}}
  m: {type: noop}
";
    let errors = errors(text);
    let found = errors.mistakes().iter().map(|mistake| (mistake.line, mistake.problem.as_str()));
    assert_eq!(
        found.collect::<Vec<_>>(),
        [
            (5, "`features` is given twice, first in line 1"),
            (7, "the name `a` is taken by the feature in line 2"),
            (7, "unknown key `positon`"),
            (8, "`models` is given twice, first in line 3"),
            (9, "unknown key `selectr`"),
            (9, "unknown key `acept`"),
            (10, "`m` is given twice, first in line 4"),
        ],
        "{errors}"
    );
}

#[test]
fn what_a_key_that_is_given_twice_brings_is_looked_at_both_times() {
    let found = |text: &str| {
        let errors = errors(text);
        errors.mistakes().iter().map(|mistake| (mistake.line, mistake.problem.clone())).collect::<Vec<_>>()
    };
    let twice = |line: usize, key: &str, first: usize| (line, format!("`{key}` is given twice, first in line {first}"));
    let of = |text: &str, expected: &[(usize, &str)]| {
        let found = found(text);
        for (line, words) in expected {
            assert!(found.iter().any(|(at, problem)| at == line && problem.contains(words)), "{words}: {found:?}");
        }
        assert_eq!(found.len(), expected.len(), "{found:?}");
    };
    assert_eq!(found("api: {port: 1,\n  port: 2}"), [twice(2, "port", 1)]);
    of("api: {port: 1,\n  port: x}", &[(2, "given twice"), (2, "found `x`")]);
    of("api: {port: 1}\napi: {prt: x}", &[(2, "given twice"), (2, "unknown key `prt`"), (2, "found `x`")]);
    let shuffled = [(3, "given twice"), (3, "shufle"), (3, "`maxPositionChange` is missing")];
    of("models:\n  m: {type: noop}\n  m: {type: shufle}", &shuffled);
    of("models:\n  m: {type: noop,\n    type: nop}", &[(3, "given twice"), (3, "nop")]);
    // what another type would lack is no mistake of anybody
    of("models:\n  m: {type: noop,\n    type: lambdamart}", &[(3, "given twice")]);
}

#[test]
fn the_scope_of_a_referer_is_no_mistake_beside_another_one() {
    for text in ["type: referer, scope: user", "type: referer, source: bad.x, scope: user"] {
        let (_, problem, _) = feature(text);
        assert!(!problem.contains("unknown key"), "{problem}");
    }
}

#[test]
fn each_accepted_key_is_named_once() {
    let errors = errors("features: [{name: r, type: referer, source: user.r, scope: user, x1y2z3: 1}]");
    let accepted = errors.mistakes().iter().find_map(|mistake| mistake.accepted.as_deref()).expect("some are accepted");
    assert_eq!(accepted.matches("scope").count(), 1, "{accepted}");
}

#[test]
fn a_part_of_one_is_no_per_cent() {
    for part in ["0.8", "1", "80%%", "% %"] {
        let (path, problem, _) = lambdamart(&format!("weights: {{click: 1}}, features: [price], split: 'time={part}'"));
        assert!(path.ends_with(".split") && problem.contains(part), "{path}: {problem}");
    }
}

#[test]
fn an_offset_out_of_range_tells_the_range() {
    for (offset, range) in [("ts=1636907100000000", "up to the year 9999"), ("last=999999d", "at most 36600d")] {
        let refused = Offset::from_str(offset).expect_err("is out of range").to_string();
        assert!(refused.contains(offset) && refused.contains(range), "{refused}");
    }
}

#[test]
fn keys_of_a_semantic_model_are_checked_one_by_one() {
    const BERT: &str = "encoder: {type: bert, model: a/b, dim: 3}, itemFields: [title]";
    const CSV: &str = "encoder: {type: csv, dim: 3, path: /e.csv}";
    for (model, right, wrong, path, problem, nearest) in [
        (BERT, "itemFields", "itemField", "itemField", "unknown key `itemField`", Some("`itemFields`")),
        (BERT, "[title]", "[]", "itemFields", "found an empty list", None),
        (BERT, "[title]", "[user.title]", "itemFields[0]", "", None),
        (BERT, "[title]", "[title, item.title]", "itemFields[1]", "the field `title` is given twice", None),
        (BERT, "[title]", "[title], ttl: 0s", "ttl", "found `0s`", None),
        (BERT, "bert", "brt", "encoder.type", "unknown encoder type `brt`", Some("`bert`")),
        (BERT, "a/b", "bert", "encoder.model", "found `bert`", None),
        (BERT, "model: a/b, ", "", "encoder", "`model` is missing", None),
        (BERT, "model:", "modle:", "encoder.modle", "unknown key `modle`", Some("`model`")),
        (BERT, "dim: 3", "dim: 0", "encoder.dim", "found `0`", None),
        (BERT, ", dim: 3", "", "encoder", "`dim` is missing", None),
        (BERT, "itemFields: [title]", "keepVersions: 1", "", "`itemFields` is missing", None),
        (CSV, "path: /e.csv", "pth: /e.csv", "encoder.pth", "unknown key `pth`", Some("`path`")),
        (CSV, "dim: 3", "dim: x", "encoder.dim", "found `x`", None),
        (CSV, "}", ", model: a/b}", "encoder.model", "unknown key `model`", None),
        (CSV, "encoder: {type: csv, dim: 3, path: /e.csv}", "itemFields: [t]", "", "`encoder` is missing", None),
    ] {
        let text = format!("models: {{m: {{type: semantic, {}}}}}", model.replacen(right, wrong, 1));
        let errors = errors(&text);
        let found = errors.mistakes().iter().find(|mistake| mistake.path.starts_with("models.m"));
        let Some(found) = found.filter(|_| errors.mistakes().len() == 1) else { panic!("{text}: {errors}") };
        assert_eq!(found.path.trim_start_matches("models.m").trim_start_matches('.'), path, "{text}");
        assert!(found.problem.contains(problem), "{text}: {found:?}");
        assert!(nearest.is_none() || found.nearest.as_deref() == nearest, "{text}: {found:?}");
    }
}
