//! Compares what a registry shows with `metrics.txt`, the list that alerts and dashboards are made from.

use prometheus::Registry;
use prometheus::proto::MetricFamily;
use std::collections::BTreeSet;

/// The metrics of a registry, each of which has a value, are those of this section of the list.
pub(crate) fn assert_listed(section: &str, registry: &Registry) {
    let list = include_str!("metrics.txt");
    let part =
        list.split("\n[").find_map(|part| part.strip_prefix(&format!("{section}]\n"))).expect("a section of the list");
    let listed: BTreeSet<String> = part.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
    let families = registry.gather();
    let ours = families.iter().filter(|family| !family.name().starts_with("process_"));
    assert_eq!(ours.map(line).collect::<BTreeSet<_>>(), listed, "services/metrics.txt has to list what is measured");
}

fn line(family: &MetricFamily) -> String {
    let kind = format!("{:?}", family.get_field_type()).to_lowercase();
    let labels = family.get_metric()[0].get_label().iter().map(|label| format!(" {}", label.name()));
    format!("{} {kind}{}", family.name(), labels.collect::<String>())
}
