#![allow(clippy::unwrap_used)]

mod promql;

use super::*;
use crate::apis::Apis;
use crate::testing::{measured, planned_with};
use promql::{grouping, series};
use std::collections::BTreeSet;

/// Labels of every series that Prometheus reads from a target, by its own means or by the PodMonitor's.
const OF_THE_TARGET: [&str; 4] = ["namespace", "pod", "rankingservice", "component"];

fn file(path: &str) -> String {
    std::fs::read_to_string(format!("../{path}")).unwrap()
}

fn rules(text: &str) -> Vec<Value> {
    let file: Value = serde_saphyr::from_str(text).unwrap();
    file["groups"].as_array().unwrap().iter().flat_map(|group| group["rules"].as_array().unwrap().clone()).collect()
}

fn every_rule() -> Vec<Value> {
    [rules(ALERTS), rules(&file("charts/rankwright-operator/files/alerts.yaml"))].concat()
}

fn text<'a>(rule: &'a Value, path: &str) -> &'a str {
    rule.pointer(path).and_then(Value::as_str).unwrap_or_else(|| panic!("{path} is missing in {rule:#}"))
}

/// Expressions of the panels.
fn shown() -> Vec<String> {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let targets = |panel: &Value| panel["targets"].as_array().cloned().unwrap_or_default();
    let panels = dashboard["panels"].as_array().unwrap();
    panels.iter().flat_map(targets).map(|target| text(&target, "/expr").to_owned()).collect()
}

/// What programs measure, each name with the labels of its series: of services by the list that their tests compare with,
/// of the operator by what it shows.
fn exported() -> BTreeMap<String, BTreeSet<String>> {
    let mut exported: BTreeMap<String, BTreeSet<String>> = BTreeMap::from([("up".to_owned(), BTreeSet::new())]);
    for line in file("services/metrics.txt").lines().filter(|line| line.starts_with("service_")) {
        let mut words = line.split(' ').map(str::to_owned);
        let (name, kind) = (words.next().unwrap(), words.next().unwrap());
        let labels: BTreeSet<String> = words.collect();
        let with = |label: &str| labels.iter().cloned().chain([label.to_owned()]).collect();
        match kind.as_str() {
            "histogram" => drop(exported.insert(format!("{name}_bucket"), with("le"))),
            "summary" => drop(exported.insert(name.clone(), with("quantile"))),
            _ => drop(exported.insert(name.clone(), labels.clone())),
        }
        if matches!(kind.as_str(), "histogram" | "summary") {
            exported.insert(format!("{name}_sum"), labels.clone());
            exported.insert(format!("{name}_count"), labels);
        }
    }
    let shown = measured();
    let found = shown.lines().filter(|line| !line.starts_with('#')).flat_map(series);
    exported.extend(found.map(|series| (series.metric, series.labels.into_iter().collect())));
    exported
}

#[test]
fn alerts_and_dashboard_use_nothing_that_the_programs_do_not_measure() {
    let exported = exported();
    let alerts = every_rule().into_iter().map(|rule| text(&rule, "/expr").to_owned());
    let mut looked_at = 0;
    for expression in alerts.chain(shown()) {
        let (used, by) = (series(&expression), grouping(&expression));
        assert!(!used.is_empty(), "{expression}");
        for series in &used {
            let Some(labels) = exported.get(&series.metric) else { panic!("{} in {expression}", series.metric) };
            let known = |label: &String| labels.contains(label) || OF_THE_TARGET.contains(&label.as_str());
            let unknown = series.labels.iter().chain(&by).find(|label| !known(label));
            assert_eq!(unknown, None, "{} in {expression}", series.metric);
            looked_at += 1;
        }
    }
    assert!(looked_at > 70, "{looked_at}");
}

#[test]
fn a_service_has_alerts_and_a_dashboard_of_its_own() {
    for rule in rules(ALERTS) {
        let expression = text(&rule, "/expr");
        assert_eq!(expression.matches(ANY_SERVICE).count(), series(expression).len(), "{expression}");
    }
    for expression in shown() {
        let chosen = r#"{namespace="$namespace",rankingservice="$service""#;
        assert_eq!(expression.matches(chosen).count(), series(&expression).len(), "{expression}");
    }
    let alerts = serde_saphyr::to_string(&alerts_of("search", "shop", |_| false)).unwrap();
    let kept = "monitoring/tests/shop.rules.yaml";
    if std::env::var_os("UPDATE_RENDERED").is_some() {
        std::fs::write(kept, &alerts).unwrap();
    }
    assert!(alerts == std::fs::read_to_string(kept).unwrap(), "look at what UPDATE_RENDERED=1 changes in {kept}");
    let dashboard = |namespace: &str| serde_json::from_str::<Value>(&dashboard_of(namespace, "shop")).unwrap();
    let (one, other) = (dashboard("search"), dashboard("test"));
    assert_eq!(one["title"], "Rankwright search/shop");
    assert_ne!(one["uid"], other["uid"]);
    assert!(one["uid"].as_str().unwrap().len() <= 40);
    let only = |name: &str| {
        let variables = one["templating"]["list"].as_array().unwrap();
        variables.iter().find(|variable| variable["name"] == name).unwrap()["query"].clone()
    };
    assert_eq!((only("namespace"), only("service")), (json!("search"), json!("shop")));
}

#[test]
fn nobody_is_called_for_a_part_of_which_none_is_wanted() {
    let names = |over: Value| -> BTreeSet<String> {
        let mut spec = json!({"monitoring": {"alertRules": {}}});
        spec.as_object_mut().unwrap().extend(over.as_object().unwrap().clone());
        let children = children(&planned_with(Apis::of(OptionalApi::ALL), spec));
        let rules = children[0].object.data["spec"]["groups"][0]["rules"].as_array().unwrap().clone();
        rules.iter().map(|rule| text(rule, "/alert").to_owned()).collect()
    };
    let (all, ingest) = (names(json!({})), names(json!({"rank": {"replicas": 0}})));
    assert_eq!(all.difference(&ingest).collect::<Vec<_>>(), ["RankwrightNoRankServer"]);
    let rank = names(json!({"ingest": {"replicas": 0}}));
    assert_eq!(all.difference(&rank).collect::<Vec<_>>(), ["RankwrightIngestStopped"]);
    let scaled = json!({"rank": {"replicas": 0, "autoscaling": {"maxReplicas": 4, "cpuUtilization": 70}}});
    assert_eq!(names(scaled), all, "an autoscaler's number counts");
}

#[test]
fn each_alert_tells_what_to_do_and_has_a_run_book() {
    let book = file("docs/kubernetes-runbooks.md");
    let mut named = BTreeSet::new();
    for rule in every_rule() {
        let name = text(&rule, "/alert");
        assert!(named.insert(name.to_owned()), "{name} is there twice");
        assert!(["critical", "warning"].contains(&text(&rule, "/labels/severity")), "{name}");
        assert!(!text(&rule, "/annotations/summary").ends_with('.'), "{name}");
        assert!(text(&rule, "/annotations/description").ends_with('.'), "{name}");
        let page = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/kubernetes-runbooks.md#");
        assert_eq!(text(&rule, "/annotations/runbook_url"), format!("{page}{}", name.to_lowercase()));
    }
    let sections = book.lines().filter_map(|line| line.strip_prefix("## Rankwright"));
    assert_eq!(sections.map(|name| format!("Rankwright{name}")).collect::<BTreeSet<_>>(), named);
}
