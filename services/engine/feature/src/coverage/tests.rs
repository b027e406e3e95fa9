use super::*;

fn gaps(feature: &str, events: &[&str]) -> Vec<String> {
    gaps_of(&format!("features:\n  - {feature}\nmodels:\n  none: {{type: noop}}\n"), events)
}

fn gaps_of(text: &str, events: &[&str]) -> Vec<String> {
    let (config, _) = Config::parse(text, "test").expect("a valid configuration");
    let mut coverage = Coverage::of(&config);
    let decode = |line: &&str| rankwright_event::json::decode(line.as_bytes()).expect("a valid event");
    events.iter().map(decode).for_each(|event| coverage.see(&event));
    coverage.gaps(&config)
}

const FILM: &str = r#"{"event":"item","id":"e","timestamp":"1","item":"a","fields":[{"name":"genres","value":["x"]}]}"#;

#[test]
fn a_field_that_no_item_has_is_told() {
    let rate = "{name: ctr, type: rate, top: click, bottom: impression, bucket: 1d, periods: [7], scope: item.genre}";
    let click = r#"{"event":"interaction","id":"c","timestamp":"1","type":"click","item":"a"}"#;
    assert_eq!(gaps(rate, &[FILM, click]), ["features[0] 'ctr' refers to item.genre, which no event carried"]);
}

#[test]
fn an_interaction_that_never_happened_is_told() {
    let count = "{name: n, type: interaction_count, interaction: clik, scope: item}";
    assert_eq!(gaps(count, &[FILM]), ["features[0] 'n' refers to the interaction 'clik', which no event carried"]);
}

#[test]
fn a_weight_of_an_interaction_that_never_happened_is_told() {
    let model = "models: {m: {type: lambdamart, weights: {click: 1, clik: 2}, features: [relevance]}}\n\
                 features: [{name: relevance, type: relevancy}]";
    let click = r#"{"event":"interaction","id":"c","timestamp":"1","type":"click","item":"a"}"#;
    let gaps = gaps_of(model, &[click]);
    assert!(gaps.contains(&"models.m.weights refers to the interaction 'clik', which no event carried".to_owned()));
    assert!(!gaps.iter().any(|gap| gap.contains("'click'")), "{gaps:?}");
}

#[test]
fn a_field_that_a_selector_or_a_split_waits_for_is_told() {
    let model = "models: {m: {type: lambdamart, features: [p], split: 'field=categori:a:b', \
                 selector: {not: {rankingField: categori, value: shoes}}}}\n\
                 features: [{name: p, type: position, position: 1}]";
    let shown = |field: &str| {
        format!(
            r#"{{"event":"ranking","id":"r","timestamp":"1","user":"u","session":"s","fields":[{{"name":"{field}","value":"x"}}],"items":[{{"id":"a"}}]}}"#
        )
    };
    let told = gaps_of(model, &[&shown("category")]);
    let told_of = |key: &str| format!("models.m.{key} refers to ranking.categori, which no event carried");
    assert_eq!(told, [told_of("selector"), told_of("split")]);
    assert!(gaps_of(model, &[&shown("categori")]).is_empty());
}

#[test]
fn a_field_that_no_interaction_has_is_told() {
    let click = |field: &str| {
        format!(
            r#"{{"event":"interaction","id":"c","timestamp":"1","type":"click","item":"a","fields":[{{"name":"{field}","value":"x"}}]}}"#
        )
    };
    let medium = "{name: m, type: referer, source: interaction.ref}";
    assert_eq!(gaps(medium, &[&click("other")]), ["features[0] 'm' refers to interaction.ref, which no event carried"]);
    assert!(gaps(medium, &[&click("ref")]).is_empty());
}

#[test]
fn a_field_of_interactions_of_one_type_is_looked_for_among_them() {
    let click = r#"{"event":"interaction","id":"c","timestamp":"1","type":"click","item":"a","fields":[{"name":"ref","value":"x"}]}"#;
    let medium = |source: &str| gaps(&format!("{{name: m, type: referer, source: '{source}'}}"), &[click]);
    assert!(medium("interaction:click.ref").is_empty());
    assert!(medium("*.ref").is_empty());
    let told = medium("interaction:like.ref");
    assert_eq!(told, ["features[0] 'm' refers to interaction:like.ref, which no event carried"]);
    assert_eq!(medium("*.other"), ["features[0] 'm' refers to *.other, which no event carried"]);
}

#[test]
fn a_field_that_its_feature_cannot_read_is_told_of_with_the_configuration_alone() {
    let number = |source: &str| gaps(&format!("{{name: a4, type: number, source: '{source}'}}"), &[FILM]);
    assert_eq!(number("interaction:click.ua"), Vec::<String>::new());
    assert_eq!(number("*.ua"), Vec::<String>::new());
    assert_eq!(number("item.ua"), ["features[0] 'a4' refers to item.ua, which no event carried"]);
}

#[test]
fn every_item_has_an_id() {
    let again = "{name: again, type: interacted_with, interaction: click, field: [item.id, item.color]}";
    let click = r#"{"event":"interaction","id":"c","timestamp":"1","type":"click","item":"a"}"#;
    assert_eq!(gaps(again, &[FILM, click]), ["features[0] 'again' refers to item.color, which no event carried"]);
}

#[test]
fn a_field_that_counts_are_kept_by_is_looked_for() {
    let count = "{name: n, type: interaction_count, interaction: impression, scope: item.color}";
    assert_eq!(gaps(count, &[FILM]), ["features[0] 'n' refers to item.color, which no event carried"]);
}

#[test]
fn a_list_that_is_read_by_index_is_told() {
    let film = FILM.replace(r#"["x"]"#, r#"["x","y"]"#);
    let genre = |encode: &str, event: &str| {
        gaps(&format!("{{name: g, type: string, source: item.genres, values: [x], encode: {encode}}}"), &[event])
    };
    let told = "features[0] 'g' reads item.genres by index: only the first element of a list counts; \
                encode: onehot reads all";
    assert_eq!(genre("index", &film), [told]);
    assert!(genre("onehot", &film).is_empty());
    assert!(genre("index", FILM).is_empty());
}

#[test]
fn a_field_that_some_items_of_a_ranking_have_was_seen() {
    let shown = r#"{"event":"ranking","id":"r","timestamp":"1","user":"u","session":"s","items":[{"id":"a"},{"id":"b","fields":[{"name":"relevancy","value":1}]}]}"#;
    assert!(gaps("{name: rel, type: relevancy}", &[shown]).is_empty());
    assert!(gaps("{name: rel, type: number, field: ranking.relevancy}", &[shown]).is_empty());
}

#[test]
fn a_field_of_rankings_is_none_of_their_items() {
    let shown = r#"{"event":"ranking","id":"r","timestamp":"1","user":"u","session":"s","fields":[{"name":"query","value":["x","y"]}],"items":[{"id":"a"}]}"#;
    let words = |field: &str| gaps(&format!("{{name: q, type: word_count, field: {field}}}"), &[shown]);
    assert_eq!(words("item.query"), ["features[0] 'q' refers to item.query, which no event carried"]);
    assert!(words("ranking.query").is_empty());
    let first = "{name: q, type: string, source: item.query, values: [x], encode: index}";
    let film = FILM.replace("genres", "query");
    assert!(gaps(first, &[&film, shown]).is_empty(), "a list of a ranking is not what it reads");
}

#[test]
fn a_field_of_items_of_rankings_selects_nothing() {
    let model = "models: {m: {type: lambdamart, features: [p], split: 'field=arm:a:b'}}\n\
                 features: [{name: p, type: position, position: 1}]";
    let shown = r#"{"event":"ranking","id":"r","timestamp":"1","user":"u","session":"s","items":[{"id":"a","fields":[{"name":"arm","value":"a"}]}]}"#;
    assert_eq!(gaps_of(model, &[shown]), ["models.m.split refers to ranking.arm, which no event carried"]);
}

#[test]
fn a_field_that_a_semantic_model_embeds_is_looked_for_in_item_events() {
    let model =
        "models: {alike: {type: semantic, encoder: {type: bert, model: a/b, dim: 2}, itemFields: [genres, titel]}}";
    let shown = r#"{"event":"ranking","id":"r","timestamp":"1","user":"u","session":"s","items":[{"id":"a","fields":[{"name":"titel","value":"x"}]}]}"#;
    let told = "models.alike.itemFields refers to item.titel, which no item event carried";
    assert_eq!(gaps_of(model, &[FILM, shown]), [told]);
}

#[test]
fn an_interaction_that_no_visitor_took_an_item_by_is_told() {
    let model = "models: {m: {type: als, interactions: [clik], excludeSeen: [clik, by]}}";
    let click = r#"{"event":"interaction","id":"c","timestamp":"1","type":"click","item":"a"}"#;
    let told = |key, kind| format!("models.m.{key} refers to the interaction '{kind}', which no event carried");
    assert_eq!(gaps_of(model, &[click]), [told("interactions", "clik"), told("excludeSeen", "by")]);
}

#[test]
fn a_field_that_nothing_reads_is_told() {
    let shown = r#"{"event":"ranking","id":"r","timestamp":"1","user":"u","session":"s","fields":[{"name":"query","value":"x"},{"name":"arm","value":"b"}],"items":[{"id":"a","fields":[{"name":"genres","value":"x"}]}]}"#;
    let click = r#"{"event":"interaction","id":"c","timestamp":"1","type":"click","item":"a","fields":[{"name":"page","value":"1"}]}"#;
    let decode = |line: &str| rankwright_event::json::decode(line.as_bytes()).expect("a valid event");
    let unused = |feature: &str| {
        let text = format!(
            "features:\n  - {feature}\nmodels:\n  m: {{type: lambdamart, weights: {{click: 1}}, features: [f], split: 'field=arm:a:b'}}\n"
        );
        let (config, _) = Config::parse(&text, "test").expect("a valid configuration");
        let mut coverage = Coverage::of(&config);
        [shown, click, FILM].map(decode).iter().for_each(|event| coverage.see(event));
        coverage.unused(&config)
    };
    let genres = "{name: f, type: string, source: item.genres, values: [x], encode: onehot}";
    assert_eq!(unused(genres), ["interaction:click.page", "ranking.query"]);
    assert_eq!(
        unused("{name: f, type: referer, source: '*.page'}"),
        ["item.genres", "ranking.genres", "ranking.query"]
    );
}

#[test]
fn of_very_many_names_some_are_kept_and_those_of_the_configuration_always() {
    let text = "features: [{name: p, type: number, field: item.price}, {name: n, type: interaction_count, \
                interaction: click, scope: item}]\nmodels: {none: {type: noop}}";
    let (config, _) = Config::parse(text, "test").expect("a valid configuration");
    let mut coverage = Coverage::of(&config);
    let mut see = |line: &str| coverage.see(&rankwright_event::json::decode(line.as_bytes()).expect("a valid event"));
    let item = |name: &str| {
        format!(r#"{{"event":"item","id":"e","timestamp":"1","item":"a","fields":[{{"name":"{name}","value":1}}]}}"#)
    };
    let interaction = |kind: &str| {
        format!(
            r#"{{"event":"interaction","id":"c","timestamp":"1","type":"{kind}","item":"a","fields":[{{"name":"n","value":1}}]}}"#
        )
    };
    for number in 0..2 * MOST {
        see(&item(&format!("attr_{number}")));
        see(&interaction(&format!("kind_{number}")));
    }
    see(&item("price"));
    see(&interaction("click"));
    assert_eq!(coverage.missing(&config), Vec::<String>::new());
    assert!(coverage.unused(&config).len() <= MOST, "{}", coverage.unused(&config).len());
    assert!(coverage.beyond() as usize >= 2 * MOST, "{}", coverage.beyond());
}

#[test]
fn what_was_seen_is_not_told() {
    let known = "{name: g, type: string, source: item.genres, values: [x]}";
    assert!(gaps(known, &[FILM]).is_empty());
}
