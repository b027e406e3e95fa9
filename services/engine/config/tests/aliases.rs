//! Both spellings of what upstream and specification spell differently, and what only warns.

#![allow(clippy::expect_used)]

use rankwright_config::feature::{
    AgeSource, Boolean, Encoding, Entity, InteractedWith, InteractionCount, ItemAge, Kind, ListSize, LocalTime,
    LocalTimeSource, Number, Rate, RateScope, Referer, Scope, Source, Text, TimePart, Visitor, WindowCount,
};
use rankwright_config::model::{Booster, LambdaMart, Warmup};
use rankwright_config::{Config, Model};
use std::time::Duration;

fn parse(text: &str) -> (Config, Vec<String>) {
    let (config, warnings) = Config::parse(text, "test.yml").unwrap_or_else(|errors| panic!("{errors}"));
    (config, warnings.iter().filter(|warning| !warning.path.is_empty()).map(ToString::to_string).collect())
}

fn kind(definition: &str) -> Kind {
    let (mut config, warnings) = parse(&format!("features: [{{name: f, {definition}}}]"));
    assert_eq!(warnings, Vec::<String>::new(), "{definition}");
    config.features.remove(0).kind
}

fn warnings(definition: &str) -> Vec<String> {
    parse(&format!("features: [{{name: f, {definition}}}]")).1
}

fn source(entity: Entity, field: &str) -> Source {
    Source { entity, field: field.to_owned() }
}

#[test]
fn field_and_source_are_one_setting() {
    let price = Kind::Number(Number { source: source(Entity::Item, "price") });
    for definition in [
        "type: number, field: item.price",
        "type: number, source: item.price",
        "type: number, source: metadata.price",
        "type: number, scope: item, field: metadata.price, source: item.price",
        "type: number, field: price, source: item",
        "type: number, field: item.price, source: metadata",
    ] {
        assert_eq!(kind(definition), price, "{definition}");
    }
    assert_eq!(
        kind("type: list_size, field: tags, source: item"),
        Kind::ListSize(ListSize { source: source(Entity::Item, "tags") })
    );
    assert_eq!(kind("type: vector, field: item.v, reduce: sum"), kind("type: vector, source: item.v, reduce: [sum]"));
    assert_eq!(kind("type: number, field: item.a.b"), Kind::Number(Number { source: source(Entity::Item, "a.b") }));
}

#[test]
fn a_ranking_field_may_have_any_scope() {
    let relevancy = Kind::Number(Number { source: source(Entity::Ranking, "relevancy") });
    for scope in ["", "scope: ranking,"] {
        assert_eq!(kind(&format!("type: number, {scope} field: ranking.relevancy")), relevancy, "{scope}");
    }
    for scope in ["item", "user", "session", "global"] {
        let warned = warnings(&format!("type: number, scope: {scope}, field: ranking.relevancy"));
        assert!(warned.concat().contains("does nothing"), "{scope}: {warned:?}");
    }
}

#[test]
fn a_scope_that_does_not_fit_its_field_only_warns() {
    let found = warnings("type: number, scope: user, field: item.price");
    assert_eq!(
        found,
        ["line 1: features[0].scope: the scope user does nothing: a field of the item is kept with the item"]
    );
    let found = warnings("type: number, scope: session, field: ranking.x");
    assert_eq!(
        found,
        ["line 1: features[0].scope: the scope session does nothing: a field of the ranking comes with each request"]
    );
    let found = warnings("type: position, position: 1, scope: user");
    assert_eq!(found, ["line 1: features[0].scope: the scope user does nothing with this type"]);
    let found = warnings("type: referer, source: user.ref, scope: session");
    assert_eq!(
        found,
        ["line 1: features[0].scope: the scope session does nothing: a field of the user is kept with the user"]
    );
}

#[test]
fn buckets_and_windows_have_two_names_each() {
    let window = kind("type: window_count, interaction: click, bucket_size: 24h, windows: [7, 30]");
    assert_eq!(window, kind("type: window_count, interaction: click, scope: item, bucket: 1d, periods: [7, 30]"));
    assert_eq!(window, kind("type: window_event_count, interaction: click, bucket: 24h, windows: [7, 30]"));
    let rate = kind("type: rate, top: click, bottom: impression, bucket: 24h, periods: [7]");
    assert_eq!(rate, kind("type: rate, top: click, bottom: impression, bucket_size: 24 hours, windows: 7"));
}

#[test]
fn a_rate_belongs_to_items_their_fields_or_ranking_fields() {
    for (scope, expected) in [
        ("item", RateScope::Item),
        ("item.brand", RateScope::ItemField("brand".to_owned())),
        ("metadata.brand", RateScope::ItemField("brand".to_owned())),
        ("ranking.query", RateScope::RankingField("query".to_owned())),
    ] {
        let kind = kind(&format!("type: rate, top: a, bottom: b, bucket: 1d, periods: [1], scope: {scope}"));
        let Kind::Rate(Rate { scope: found, .. }) = kind else { panic!("{kind:?}") };
        assert_eq!(found, expected, "{scope}");
    }
}

#[test]
fn counts_belong_to_fields_as_rates_do() {
    for (scope, expected) in [
        ("item.brand", Scope::ItemField("brand".to_owned())),
        ("metadata.brand", Scope::ItemField("brand".to_owned())),
        ("ranking.query", Scope::RankingField("query".to_owned())),
        ("global", Scope::Global),
    ] {
        let Kind::InteractionCount(InteractionCount { scope: found, .. }) =
            kind(&format!("type: interaction_count, interaction: click, scope: {scope}"))
        else {
            panic!("{scope}")
        };
        assert_eq!(found, expected, "{scope}");
        let Kind::WindowCount(WindowCount { scope: found, .. }) =
            kind(&format!("type: window_count, interaction: click, bucket: 1d, windows: [1], scope: {scope}"))
        else {
            panic!("{scope}")
        };
        assert_eq!(found, expected, "{scope}");
    }
}

#[test]
fn fields_of_interactions_are_accepted_and_missing_where_they_cannot_be_read() {
    let click = Entity::Interaction(Some("click".to_owned()));
    for (of_type, keys) in [
        ("number", ""),
        ("boolean", ""),
        ("word_count", ""),
        ("string", ", encode: index, values: [a]"),
        ("ua", ", field: os"),
    ] {
        for (field, owner) in [("interaction:click.x", "interactions"), ("'*.x'", "any event")] {
            let found = warnings(&format!("type: {of_type}, scope: item, source: {field}{keys}"));
            let read = if of_type == "ua" {
                "ranking.<field>, user.<field>"
            } else {
                "item.<field>, user.<field>, ranking.<field>"
            };
            let why =
                format!("fields of {owner} cannot be used here, so the value is always missing; accepted: {read}");
            assert_eq!(found, [format!("line 1: features[0].source: {why}")], "{of_type} {field}");
        }
    }
    let referer = |field: &str| kind(&format!("type: referer, source: {field}"));
    let read = |entity| Kind::Referer(Referer { source: source(entity, "x"), scope: Visitor::Session });
    assert_eq!(referer("interaction:click.x"), read(click));
    assert_eq!(referer("interaction.x"), read(Entity::Interaction(None)));
    assert_eq!(referer("'*.x'"), read(Entity::Any));
}

#[test]
fn a_feature_without_columns_is_left_out() {
    let text = "features:
  - {name: none, type: interacted_with, interaction: click, field: []}
  - {name: never, type: rate, top: a, bottom: b, bucket: 1d, periods: []}
  - {name: price, type: number, field: item.price}
models:
  m: {type: lambdamart, weights: {click: 1}, features: [none, price, never]}";
    let (config, found) = parse(text);
    let left_out = "an empty list gives the feature no columns: it is left out";
    assert_eq!(found, [format!("line 2: features[0]: {left_out}"), format!("line 3: features[1]: {left_out}")]);
    let names: Vec<&str> = config.features.iter().map(|feature| feature.name.as_str()).collect();
    assert_eq!(names, ["price"]);
    let Model::LambdaMart(model) = &config.models["m"] else { panic!() };
    assert_eq!(model.features, ["price"]);
    let (config, found) =
        Config::parse(&text.replace("[none, price, never]", "[none]"), "test.yml").expect("it is read");
    let Model::LambdaMart(model) = &config.models["m"] else { panic!() };
    assert!(model.features.is_empty());
    let cannot = "no feature of the model `m` has columns: it cannot be trained, and keeps the order of requests";
    assert!(found.iter().any(|warning| warning.message == cannot), "{found:?}");
}

#[test]
fn a_string_that_does_not_say_how_it_is_encoded_gets_one_warning() {
    let definition = "type: string, field: item.genre, values: [a, b]";
    let Kind::Text(Text { encode, .. }) =
        parse(&format!("features: [{{name: f, {definition}}}]")).0.features.remove(0).kind
    else {
        panic!()
    };
    assert_eq!(encode, Encoding::Index);
    assert_eq!(
        warnings(definition),
        [
            "line 1: features[0]: `encode` is missing: index is used here, onehot by the upstream service. Of a list, index reads the first \
          element alone. Write `encode: index` or `encode: onehot`"
        ]
    );
    for encode in ["index", "onehot"] {
        assert_eq!(warnings(&format!("{definition}, encode: {encode}")), Vec::<String>::new());
    }
}

#[test]
fn interacted_with_takes_one_field_or_many() {
    let one = kind("type: interacted_with, interaction: click, scope: user, field: item.color");
    assert_eq!(one, kind("type: interacted_with, interaction: click, scope: user, field: [metadata.color]"));
    let Kind::InteractedWith(InteractedWith { fields, scope, count, duration, .. }) =
        kind("type: interacted_with, interaction: on, field: [item.a, item.b], scope: session, count: 3, duration: 1h")
    else {
        panic!()
    };
    assert_eq!((fields, scope), (vec!["a".to_owned(), "b".to_owned()], Visitor::Session));
    assert_eq!((count, duration), (3, Duration::from_secs(3600)));
}

#[test]
fn times_come_from_fields_or_from_events() {
    let age = |source: &str| kind(&format!("type: item_age, source: {source}"));
    assert_eq!(age("item.timestamp"), Kind::ItemAge(ItemAge { source: AgeSource::Updated }));
    let created = AgeSource::Field("created".to_owned());
    assert_eq!(age("metadata.created"), Kind::ItemAge(ItemAge { source: created }));
    let time = |keys: &str| kind(&format!("type: local_time, parse: day_of_month{keys}"));
    let at = |source| Kind::LocalTime(LocalTime { source, parse: TimePart::DayOfMonth });
    assert_eq!(time(""), at(LocalTimeSource::Timestamp));
    assert_eq!(time(", source: ranking.timestamp"), at(LocalTimeSource::Timestamp));
    assert_eq!(time(", source: ranking.localts"), at(LocalTimeSource::Field("localts".to_owned())));
}

#[test]
fn words_that_yaml_takes_for_booleans_or_numbers_stay_texts() {
    let Kind::InteractionCount(InteractionCount { interaction, .. }) = kind("type: interaction_count, interaction: on")
    else {
        panic!()
    };
    assert_eq!(interaction, "on");
    let Kind::Text(Text { values, .. }) =
        kind("type: string, field: item.x, encode: index, values: [no, 2020, 1.50, true, 'null']")
    else {
        panic!()
    };
    assert_eq!(values, ["no", "2020", "1.50", "true", "null"]);
}

#[test]
fn old_and_idle_settings_warn() {
    assert!(warnings("type: relevancy")[0].contains("use number with field ranking.relevancy"));
    let idle = warnings("type: window_count, interaction: click, bucket: 1d, periods: [1], count: 5");
    assert_eq!(idle, ["line 1: features[0].count: count does nothing in a window_count"]);
    assert_eq!(warnings("type: string, field: item.x, encode: index, values: [a, b, a]").len(), 1);
}

#[test]
fn a_configuration_without_models_warns() {
    for text in ["", "features: []", "models: {}"] {
        let warnings = Config::parse(text, "test.yml").expect("it is right").1;
        assert_eq!(warnings[0].to_string(), "line 1: no models are configured, so nothing can be ranked");
    }
}

fn lambdamart(keys: &str) -> (LambdaMart, Vec<String>) {
    let text = format!(
        "features: [{{name: f, type: position, position: 1}}]\n\
         models: {{m: {{type: lambdamart, weights: {{click: 1}}, features: [f]{keys}}}}}"
    );
    let (mut config, warnings) = parse(&text);
    let Some(Model::LambdaMart(model)) = config.models.remove("m") else { panic!("{text}") };
    (model, warnings)
}

#[test]
fn a_backend_may_be_its_name_alone() {
    assert_eq!(lambdamart("").0.backend.booster, Booster::XgBoost);
    assert_eq!(lambdamart(", backend: lightgbm").0, lambdamart(", backend: {type: lightgbm}").0);
    let (_, warnings) = lambdamart(", backend: {type: xgboost, numLeaves: 5}");
    assert_eq!(warnings, ["line 2: models.m.backend.numLeaves: numLeaves does nothing with xgboost"]);
}

#[test]
fn what_no_version_can_come_of_warns() {
    let split = lambdamart(", split: time=100%").1.concat();
    assert!(split.starts_with("line 2: models.m.split: nothing is left to test a version on"), "{split}");
    let text = "features: [{name: f, type: position, position: 1}]\n\
                models: {m: {type: lambdamart, weights: {click: 0, skip: -1}, features: [f]}}";
    let weights = parse(text).1.concat();
    assert!(weights.starts_with("line 2: models.m.weights: no weight is over 0"), "{weights}");
    let below = parse(&text.replace("click: 0", "click: 1")).1.concat();
    assert!(below.starts_with("line 2: models.m.weights: the weight -1 of `skip` counts as 0"), "{below}");
    assert!(lambdamart(", split: time=99%").1.is_empty());
}

#[test]
fn seeds_are_numbers_or_texts() {
    let seed = |seed: &str| lambdamart(&format!(", backend: {{type: xgboost, seed: {seed}}}")).0.backend.seed;
    assert_eq!((seed("0"), seed("'7'"), seed("random")), (Some(0), Some(7), None));
    assert_eq!(seed("-1"), Some(u64::MAX));
    assert!(seed("lucky").is_some());
    assert_ne!(seed("lucky"), seed("unlucky"));
}

#[test]
fn the_warm_up_has_two_spellings() {
    let warmup = Some(Warmup { sampled_requests: 5, duration: Duration::from_secs(1) });
    assert_eq!(lambdamart(", warmup: {sampledRequests: 5, duration: 1s}").0.warmup, warmup);
    assert_eq!(lambdamart(", warmup: {sampleRequests: 5, duration: 1s}").0.warmup, warmup);
}

#[test]
fn anchors_and_merge_keys_save_repetition() {
    let text = "
x-counter: &counter {type: window_count, interaction: click, bucket: 1d, periods: [7]}
features:
  - {<<: *counter, name: item}
  - {<<: *counter, name: user, scope: user}
  - {<<: [*counter], name: buys, interaction: purchase}";
    let (config, _) = parse(text);
    assert_eq!(config.features.len(), 3);
    let Kind::WindowCount(WindowCount { interaction, .. }) = &config.features[2].kind else { panic!() };
    assert_eq!(interaction, "purchase");
}

#[test]
fn json_is_yaml() {
    let text = "\u{feff}{\n\t\"features\": [\n\t\t{\"name\": \"f\", \"type\": \"boolean\",\"field\":\"item.\\u0061\"}\n\t],\n\t\"models\":{\"m\":{\"type\":\"noop\"}}\n}\n";
    let (config, _) = parse(text);
    assert_eq!(config.features[0].kind, Kind::Boolean(Boolean { source: source(Entity::Item, "a") }));
}
