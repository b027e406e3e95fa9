use super::*;
use rankwright_config::feature::{Kind, MatchMethod};
use rankwright_config::{Config, Feature, Model};
use rankwright_event::json;
use serde_json::{Value, json};

fn options(ruleset: Ruleset) -> Options {
    let (data, events) = ("events".to_owned(), "--data events".to_owned());
    Options { ruleset, threshold: 0.003, data, events, config: "config.yml".to_owned() }
}

fn proposed_with(options: Options, events: &[Value]) -> Result<Proposal, Error> {
    let mut proposer = Proposer::new(options);
    for event in events {
        let line = event.to_string();
        proposer.see(&json::decode(line.as_bytes()).unwrap_or_else(|error| panic!("{error}: {line}")));
    }
    proposer.propose()
}

/// The proposal, and the configuration that it is: it has to load without a warning.
fn proposed(ruleset: Ruleset, events: &[Value]) -> (Proposal, Config) {
    let proposal = proposed_with(options(ruleset), events).unwrap_or_else(|error| panic!("{error}"));
    let (config, warnings) =
        Config::parse(&proposal.text, "proposed").unwrap_or_else(|errors| panic!("{errors}\n{}", proposal.text));
    assert!(warnings.is_empty(), "{warnings:?}\n{}", proposal.text);
    (proposal, config)
}

fn fields(fields: &Value) -> Value {
    let pairs = fields.as_object().expect("an object").iter();
    pairs.map(|(name, value)| json!({"name": name, "value": value})).collect()
}

fn time(second: usize) -> String {
    (1_700_000_000_000u64 + second as u64 * 1000).to_string()
}

fn item(number: usize, of: &Value) -> Value {
    json!({"event": "item", "id": format!("i{number}"), "item": format!("item{number}"), "timestamp": time(0), "fields": fields(of)})
}

fn user(number: usize, of: &Value) -> Value {
    json!({"event": "user", "id": format!("u{number}"), "user": format!("user{number}"), "timestamp": time(0), "fields": fields(of)})
}

fn ranking(number: usize, of: &Value, of_items: &Value) -> Value {
    let items: Vec<Value> =
        (0..3).map(|place| json!({"id": format!("item{}", number + place), "fields": fields(of_items)})).collect();
    json!({
        "event": "ranking", "id": format!("r{number}"), "timestamp": time(number), "user": format!("user{}", number % 60),
        "session": format!("visit{number}"), "fields": fields(of), "items": items,
    })
}

fn interaction(number: usize, kind: &str) -> Value {
    json!({
        "event": "interaction", "id": format!("{kind}{number}"), "timestamp": time(number), "ranking": format!("r{number}"),
        "user": format!("user{}", number % 60), "session": format!("visit{number}"), "type": kind, "item": format!("item{number}"),
    })
}

/// Rankings with a click each, and with these fields.
fn clicked(count: usize, of: &Value, of_items: &Value) -> Vec<Value> {
    (0..count).flat_map(|number| [ranking(number, of, of_items), interaction(number, "click")]).collect()
}

const ITEMS: usize = 800;

/// Items whose field has these values, and rankings with clicks.
fn with_item_field(value: impl Fn(usize) -> Value) -> Vec<Value> {
    let items = (0..ITEMS).map(|number| item(number, &json!({"field": value(number)})));
    items.chain(clicked(200, &json!({}), &json!({}))).collect()
}

fn of_field(ruleset: Ruleset, value: impl Fn(usize) -> Value) -> Vec<String> {
    let (_, config) = proposed(ruleset, &with_item_field(value));
    let reads = |feature: &&Feature| feature.kind.sources().iter().any(|source| source.to_string() == "item.field");
    config
        .features
        .iter()
        .filter(reads)
        .map(|feature| format!("{}: {}", feature.name, feature.kind.type_name()))
        .collect()
}

#[test]
fn each_kind_of_field_gets_the_features_that_suit_it() {
    let stable = |value: &dyn Fn(usize) -> Value| of_field(Ruleset::Stable, value);
    assert_eq!(stable(&|number| json!(number % 7)), ["field: number", "field_diversity: diversity"]);
    assert_eq!(stable(&|number| json!(number % 2 == 0)), ["field: boolean"]);
    assert_eq!(stable(&|number| json!([number, 2])), ["field: vector"]);
    assert_eq!(stable(&|number| json!(1_600_000_000 + number * 86_400)), ["field_age: item_age"]);
    assert_eq!(stable(&|number| json!(format!("2024-01-01T00:{:02}:00Z", number % 60))), ["field_age: item_age"]);
    assert_eq!(stable(&|number| json!(format!("word{number} and more words"))), ["field_words: word_count"]);
    let shared = [
        "field_diversity: diversity",
        "click_rate_field: rate",
        "click_user_profile: interacted_with",
        "click_session_profile: interacted_with",
    ];
    let category = stable(&|number| json!(["red", "green", "blue"][number % 3]));
    assert_eq!(category, [&["field: string"][..], &shared].concat());
    let tags = stable(&|number| json!(["sale", (["new", "old"][number % 2])]));
    assert_eq!(tags, [&["field: string"][..], &shared].concat());
    let names = stable(&|number| json!(format!("Author {}", number % 400)));
    assert_eq!(names, ["click_user_profile: interacted_with", "click_session_profile: interacted_with"]);
}

#[test]
fn all_rules_propose_more_of_the_same_fields_and_nothing_less() {
    let values: [&dyn Fn(usize) -> Value; 4] = [
        &|number| json!(number),
        &|number| json!(["sale", (["new", "old"][number % 2])]),
        &|number| json!(format!("Author {}", number % 400)),
        &|number| json!(format!("word{number} and more")),
    ];
    for value in values {
        let (stable, all) = (of_field(Ruleset::Stable, value), of_field(Ruleset::All, value));
        assert!(stable.iter().all(|feature| all.contains(feature)), "{stable:?} {all:?}");
    }
    let sizes = of_field(Ruleset::All, |number| json!(vec![["a", "b"][number % 2]; number % 3]));
    assert!(sizes.contains(&"field_count: list_size".to_owned()), "{sizes:?}");
}

#[test]
fn what_says_nothing_is_left_out_with_the_reason() {
    let left_out = |value: &dyn Fn(usize) -> Value| {
        let (proposal, config) = proposed(Ruleset::All, &with_item_field(value));
        assert!(
            config.features.iter().all(|feature| feature.kind.sources().iter().all(|source| source.field != "field"))
        );
        assert!(proposal.text.contains(&format!("# - {}", proposal.left_out[0])), "{}", proposal.text);
        proposal.left_out.join("; ")
    };
    assert_eq!(left_out(&|_| json!(3)), "item.field: it always has the same value, in 800 events");
    assert_eq!(
        left_out(&|number| json!(format!("id{number}"))),
        "item.field: 100 % of its values are different, as ids are"
    );
    let mixed = left_out(&|number| if number % 2 == 0 { json!(1) } else { json!("a") });
    assert_eq!(mixed, "item.field: its values are of several types");
    let embedding = left_out(&|number| json!(vec![number; 32]));
    assert!(embedding.contains("lists of 32 numbers look like embeddings"), "{embedding}");
}

#[test]
fn values_are_categories_from_the_threshold_on() {
    // one value in 800 events is a third of a percent
    let value = |number: usize| json!(if number < 10 { "rare" } else { ["red", "green"][number % 2] });
    let values = |threshold| {
        let proposal = proposed_with(Options { threshold, ..options(Ruleset::Stable) }, &with_item_field(value));
        let text = proposal.unwrap_or_else(|error| panic!("{error}")).text;
        let (config, _) = Config::parse(&text, "proposed").unwrap_or_else(|errors| panic!("{errors}"));
        match &config.features[0].kind {
            Kind::Text(text) => text.values.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(values(10.0 / 800.0), ["green", "red", "rare"]);
    assert_eq!(values(0.04), ["green", "red"]);
}

#[test]
fn items_that_are_sent_again_do_not_make_names_of_their_titles() {
    let mut events = with_item_field(|number| json!(format!("title{number} of it")));
    let again: Vec<Value> = events[..ITEMS].to_vec();
    (0..3).for_each(|_| events.splice(0..0, again.clone()).for_each(drop));
    let (_, config) = proposed(Ruleset::Stable, &events);
    assert!(config.features.iter().any(|feature| feature.name == "field_words"));
}

#[test]
fn fields_of_rankings_tell_queries_devices_times_and_pages_apart() {
    let items = (0..300).map(|number| item(number, &json!({"title": format!("the shoe of kings number{number}")})));
    let rankings = (0..200).flat_map(|number| {
        let of = json!({
            "query": format!("shoe {}", number % 90), "agent": format!("Mozilla/5.0 (X11; {number})"),
            "local": format!("2024-01-01T0{}:00:00+02:00", number % 9), "referer": format!("https://example.com/{number}"),
            "page": (["home", "search"][number % 2]),
        });
        [ranking(number, &of, &json!({"relevancy": number})), interaction(number, "click")]
    });
    let events: Vec<Value> = items.chain(rankings).collect();
    let (proposal, config) = proposed(Ruleset::Stable, &events);
    let names: Vec<&str> = config.features.iter().map(|feature| feature.name.as_str()).collect();
    for name in [
        "relevancy",
        "ranking_page",
        "hour",
        "weekday",
        "came_from",
        "platform",
        "os",
        "query_title_term",
        "click_rate_ranking_page",
    ] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    let text = &proposal.text;
    assert!(
        text.contains("  #   rankwright termfreq --data events --fields title --language en --out title.dict\n"),
        "{text}"
    );
    assert!(
        text.contains("  # - {name: query_title_bm25, type: field_match")
            && text.contains("      # - query_title_bm25\n"),
        "{text}"
    );
    // what is commented loads as well, once the dictionary and the text model are there
    let uncommented = text.replace("# - ", "- ").replace("title.dict}", "/tmp/title.dict}");
    let (with, _) =
        Config::parse(&uncommented, "uncommented").unwrap_or_else(|errors| panic!("{errors}\n{uncommented}"));
    assert_eq!(with.features.len(), config.features.len() + 2);
    let meaning = with.features.iter().find(|feature| feature.name == "query_title_meaning").map(|found| &found.kind);
    let Some(Kind::FieldMatch(meaning)) = meaning else { panic!("{text}") };
    assert!(matches!(meaning.method, MatchMethod::BiEncoder { model: Some(_), .. }), "{meaning:?}");
    let (_, all) = proposed(Ruleset::All, &events);
    for name in ["browser", "bot", "query_words", "query_title_ngram"] {
        assert!(all.features.iter().any(|feature| feature.name == name), "{name}");
    }
}

#[test]
fn commands_name_the_events_as_a_shell_reads_them() {
    let items = (0..300).map(|number| item(number, &json!({"a/b c": format!("the shoe of kings number{number}")})));
    let rankings = (0..200).flat_map(|number| {
        [ranking(number, &json!({"query": format!("shoe {}", number % 90)}), &json!({})), interaction(number, "click")]
    });
    let events: Vec<Value> = items.chain(rankings).collect();
    let (events_read, config) = ("--data 'my events' --format snowplow:tsv".to_owned(), "my config.yml".to_owned());
    let options = Options { events: events_read, config, ..options(Ruleset::Stable) };
    let text = proposed_with(options, &events).unwrap_or_else(|error| panic!("{error}")).text;
    for command in [
        "standalone --config 'my config.yml' --data 'my events' --format snowplow:tsv\n",
        "termfreq --data 'my events' --format snowplow:tsv --fields 'a/b c' --language en --out 'a_b c.dict'\n",
    ] {
        assert!(text.contains(&format!("#   rankwright {command}")), "{command}: {text}");
    }
}

#[test]
fn fields_of_visitors_are_features_as_well() {
    let users = (0..100).map(|number| {
        user(
            number,
            &json!({"age": number, "country": (["FR", "NO"][number % 2]), "registered": 1_600_000_000 + number * 999}),
        )
    });
    let events: Vec<Value> = users.chain(clicked(100, &json!({}), &json!({}))).collect();
    let (_, config) = proposed(Ruleset::Stable, &events);
    let found: Vec<String> = config.features.iter().map(|feature| feature.name.clone()).collect();
    for name in ["user_age", "user_country", "user_registered_age"] {
        assert!(found.iter().any(|found| found == name), "{found:?}");
    }
    // a country that YAML takes for false
    assert!(
        config
            .features
            .iter()
            .any(|feature| matches!(&feature.kind, Kind::Text(text) if text.values.contains(&"NO".to_owned())))
    );
}

#[test]
fn interactions_weigh_by_how_rare_they_are_and_unwanted_ones_not_at_all() {
    let mut events = clicked(400, &json!({}), &json!({}));
    events.extend((0..25).map(|number| interaction(number, "purchase")));
    events.extend((0..30).map(|number| interaction(number, "dislike")));
    events.extend((0..90).map(|number| interaction(number, "impression")));
    let (proposal, config) = proposed(Ruleset::Stable, &events);
    let Some(Model::LambdaMart(model)) = config.models.get("default") else { panic!("there is a model") };
    let weights: Vec<(&str, f64)> = model.weights.iter().map(|(name, weight)| (name.as_str(), *weight)).collect();
    assert_eq!(weights, [("click", 1.0), ("purchase", 4.0)]);
    assert!(
        proposal.text.contains("# 'dislike' (30) does not count: by its name, the item was not wanted\n"),
        "{}",
        proposal.text
    );
    assert!(proposal.text.contains("# 25, 0.06 a ranking\n      purchase: 4\n"), "{}", proposal.text);
}

#[test]
fn recommenders_are_proposed_where_visitors_tell_what_is_alike() {
    let (proposal, config) = proposed(Ruleset::Stable, &clicked(300, &json!({}), &json!({})));
    assert_eq!(proposal.models, ["default", "popular", "similar"]);
    assert!(
        matches!(config.models["popular"], Model::Trending(_)) && matches!(config.models["similar"], Model::Als(_))
    );
    let (proposal, _) = proposed(Ruleset::Stable, &clicked(100, &json!({}), &json!({})));
    assert_eq!(proposal.models, ["default", "popular"], "a visitor has one or two clicks");
    let (proposal, _) = proposed(Ruleset::Stable, &clicked(20, &json!({}), &json!({})));
    assert_eq!(proposal.models, ["default"], "twenty clicks say little");
}

#[test]
fn texts_of_items_bring_a_recommender_as_a_comment_that_loads() {
    let (proposal, config) =
        proposed(Ruleset::Stable, &with_item_field(|number| json!(format!("word{number} and more words"))));
    assert!(!config.models.contains_key("alike") && !proposal.models.contains(&"alike".to_owned()));
    let uncomment = |line: &str| match line.strip_prefix("  # ") {
        Some(rest) if rest == "alike:" || rest.starts_with("  ") => format!("  {rest}\n"),
        _ => format!("{line}\n"),
    };
    let text: String = proposal.text.lines().map(uncomment).collect();
    let (config, warnings) = Config::parse(&text, "uncommented").unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    let Some(Model::Semantic(alike)) = config.models.get("alike") else { panic!("{text}") };
    assert!(alike.item_fields == ["field"] && warnings.is_empty(), "{alike:?} {warnings:?}");
    let (proposal, _) = proposed(Ruleset::Stable, &with_item_field(|number| json!(number)));
    assert!(!proposal.text.contains("alike"), "numbers are no texts");
}

#[test]
fn rankings_stay_open_as_long_as_interactions_come() {
    let session = |delay: usize| {
        let late = |number: usize| {
            let mut click = interaction(number, "click");
            click["timestamp"] = json!(time(number + delay));
            click
        };
        let events = (0..100).flat_map(|number| [ranking(number, &json!({}), &json!({})), late(number)]);
        let (proposal, config) = proposed(Ruleset::Stable, &events.collect::<Vec<_>>());
        (config.core.clickthrough.max_session_length.as_secs(), proposal.text.contains("maxSessionLength"))
    };
    assert_eq!(
        [session(5), session(100), session(800), session(9000)],
        [(60, true), (300, true), (1800, false), (43_200, true)]
    );
}

#[test]
fn a_rare_kind_that_comes_late_keeps_rankings_open() {
    let session = |purchases: usize, delay: usize| {
        let mut events = clicked(5000, &json!({}), &json!({}));
        events.extend((0..purchases).map(|number| {
            let mut late = interaction(number, "purchase");
            late["timestamp"] = json!(time(number + delay));
            late
        }));
        let (proposal, config) = proposed(Ruleset::Stable, &events);
        (config.core.clickthrough.max_session_length.as_secs(), proposal.text.contains("of 45 'purchase' come within"))
    };
    assert_eq!(session(0, 0), (60, false));
    assert_eq!(session(45, 9000), (43_200, true), "fewer than one in a hundred interactions");
    assert_eq!(session(45, 60), (1800, false), "too few to say that none comes later");
    assert_eq!(
        session(45, 0),
        (1800, false),
        "the frequent kind comes later, and decides: too few of the other all the same"
    );
    assert_eq!(session(60, 60), (300, false));
    assert_eq!(session(3, 9000), (1800, false), "three say nothing");
}

#[test]
fn labels_alone_are_enough_to_learn_from() {
    let mut events: Vec<Value> = (0..20).map(|number| ranking(number, &json!({}), &json!({"score": number}))).collect();
    events.iter_mut().for_each(|event| event["items"][1]["label"] = json!(2));
    let proposal = proposed_with(options(Ruleset::Stable), &events).unwrap_or_else(|error| panic!("{error}"));
    let (config, warnings) = Config::parse(&proposal.text, "proposed").unwrap_or_else(|errors| panic!("{errors}"));
    assert!(warnings.len() == 1 && warnings[0].to_string().contains("no weights are given"), "{warnings:?}");
    let Some(Model::LambdaMart(model)) = config.models.get("default") else { panic!("there is a model") };
    assert!(model.weights.is_empty() && model.features == ["score"]);
    assert!(proposal.text.contains("# 20 of 20 rankings have items[].label"), "{}", proposal.text);
}

#[test]
fn events_that_teach_nothing_are_refused_with_what_is_missing() {
    let error =
        |events: &[Value]| proposed_with(options(Ruleset::Stable), events).expect_err("nothing to learn").to_string();
    let items: Vec<Value> = (0..5).map(|number| item(number, &json!({"price": number}))).collect();
    assert!(error(&items).starts_with("there is nothing to rank: of 5 events none is a ranking"), "{}", error(&items));
    let shown: Vec<Value> = (0..5).map(|number| ranking(number, &json!({}), &json!({}))).collect();
    assert!(
        error(&shown).starts_with("there is nothing to learn from: 5 rankings, no interactions"),
        "{}",
        error(&shown)
    );
    let unwanted = (0..5).flat_map(|number| [interaction(number, "impression"), interaction(number, "return")]);
    let unwanted: Vec<Value> = shown.iter().cloned().chain(unwanted).collect();
    let told =
        "5 rankings, no interactions that say an item was wanted (there are impression, return) and no items[].label";
    assert!(error(&unwanted).contains(told), "{}", error(&unwanted));
    let mut labelled = unwanted;
    labelled[0]["items"][0]["label"] = json!(1);
    assert!(proposed_with(options(Ruleset::Stable), &labelled).is_ok());
}

#[test]
fn names_that_yaml_or_other_features_would_trip_over_are_made_safe() {
    let odd = json!({"a: b": 1, "a-b": 2, "a_b": 3, "yes": 4, "#": 5, "größe": 6, "x\ny": 7});
    let items = (0..300).map(|number| {
        let of: serde_json::Map<String, Value> =
            odd.as_object().expect("an object").keys().map(|name| (name.clone(), json!(number))).collect();
        item(number, &Value::Object(of))
    });
    let events: Vec<Value> = items.chain(clicked(100, &json!({}), &json!({}))).collect();
    let (_, config) = proposed(Ruleset::All, &events);
    let numbers = config.features.iter().filter_map(|feature| match &feature.kind {
        Kind::Number(number) => Some((feature.name.as_str(), number.source.field.as_str())),
        _ => None,
    });
    let mut numbers: Vec<(&str, &str)> = numbers.collect();
    numbers.sort_unstable();
    let expected = [
        ("_", "#"),
        ("a__b", "a: b"),
        ("a_b", "a-b"),
        ("a_b_2", "a_b"),
        ("größe", "größe"),
        ("x_y", "x\ny"),
        ("yes", "yes"),
    ];
    assert_eq!(numbers, expected);
}

#[test]
fn fields_that_nothing_reads_are_told() {
    let of = json!({"query": "shoe", "depth": 1});
    let varied = |number: usize| {
        let mut of = of.clone();
        of["query"] = json!(format!("shoe {}", number % 90));
        of["depth"] = json!(number);
        [ranking(number, &of, &json!({"depth": number})), interaction(number, "click")]
    };
    let (proposal, _) = proposed(Ruleset::Stable, &(0..200).flat_map(varied).collect::<Vec<_>>());
    let expected = [
        "ranking.query: no item has a text to compare it with",
        "ranking.depth: items of rankings have a field of this name, which goes first",
    ];
    for line in expected {
        assert!(proposal.left_out.iter().any(|told| told == line), "{line}: {:?}", proposal.left_out);
    }
}

#[test]
fn a_query_is_a_field_of_rankings_alone() {
    let terms = (0..300).map(|number| item(number, &json!({"terms": (["12 months", "24 months"][number % 2])})));
    let (_, config) = proposed(Ruleset::Stable, &terms.chain(clicked(100, &json!({}), &json!({}))).collect::<Vec<_>>());
    assert!(config.features.iter().any(|of| of.name == "terms" && matches!(of.kind, Kind::Text(_))));
}

#[test]
fn memory_has_room_for_a_bounded_number_of_fields() {
    let wide = |number: usize| {
        let of = (0..100).map(|field| (format!("field{}", number * 100 + field), json!(number % 5)));
        item(number, &Value::Object(of.collect()))
    };
    let events: Vec<Value> = (0..20).map(wide).chain(clicked(20, &json!({}), &json!({}))).collect();
    let (proposal, _) = proposed(Ruleset::Stable, &events);
    let told = "item.*: 1,744 values of fields beyond the first ones were not looked at";
    assert!(proposal.left_out.iter().any(|line| line == told), "{:?}", proposal.left_out.last());
    let shown = |number: usize| {
        let of = (0..100).map(|field| (format!("field{}", number * 100 + field), json!(number % 5)));
        [ranking(number, &json!({}), &Value::Object(of.collect())), interaction(number, "click")]
    };
    let (proposal, _) = proposed(Ruleset::Stable, &(0..20).flat_map(shown).collect::<Vec<_>>());
    let told = "values of fields of items of rankings beyond the first ones were not looked at";
    assert!(proposal.left_out.iter().any(|line| line.starts_with("ranking.*: ") && line.ends_with(told)));
}
