//! Which Redis servers there are: one, one that sentinels name, or a cluster.

use crate::secret::Secret;
use crate::section::Section;
use crate::state::{Node, Sentinels, Topology};
use crate::value::Value;

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Standalone,
    Sentinel,
    Cluster,
}

/// What `sentinel` says.
#[derive(Default)]
struct Names {
    master: Option<String>,
    user: Option<String>,
    password: Option<Secret>,
}

/// The server, or the first of those that know it, and how the others are found.
pub(super) fn read(section: &Section<'_>) -> Option<(Node, Topology)> {
    let modes = [("standalone", Mode::Standalone), ("sentinel", Mode::Sentinel), ("cluster", Mode::Cluster)];
    let (list, names) = (section.get("nodes"), section.get("sentinel"));
    let mode = section.get("mode");
    if mode.is_none() {
        section.leaves_out("mode", &"standalone".to_owned());
    }
    let mode = mode.map_or(Some(Mode::Standalone), |value| value.choice("mode", &modes));
    let nodes = list.as_ref().map(|list| nodes(list));
    let server = server(section, list.is_some());
    let names = names.map(|value| (value.clone(), names_of(&value, mode)));
    let mode = mode?;
    if let Some(list) = list.filter(|_| mode == Mode::Standalone) {
        list.wrong("a standalone server has no nodes", "`host` and `port`, or the mode sentinel or cluster");
    }
    if let Some((value, _)) = names.as_ref().filter(|_| mode != Mode::Sentinel) {
        value.wrong("there are sentinels in the mode sentinel alone", "`mode: sentinel`, or no such section");
    }
    if mode == Mode::Cluster {
        warn_of_databases(section);
    }
    let names = match (mode, names) {
        (Mode::Sentinel, None) => {
            section.missing("sentinel", "a section with the name of the master: {master: NAME}")?
        }
        (_, names) => names.map(|(_, names)| names).unwrap_or_default(),
    };
    let nodes = match nodes {
        Some(nodes) => nodes,
        None => vec![server.clone()?],
    };
    let first = server.or_else(|| nodes.first().cloned())?;
    Some((first, topology(mode, nodes, names)?))
}

fn topology(mode: Mode, nodes: Vec<Node>, names: Names) -> Option<Topology> {
    let Names { master, user, password } = names;
    Some(match mode {
        Mode::Standalone => Topology::Standalone,
        Mode::Cluster => Topology::Cluster(nodes),
        Mode::Sentinel => Topology::Sentinel(Sentinels { nodes, master: master?, user, password }),
    })
}

/// Host and port, which nodes take the place of.
fn server(section: &Section<'_>, nodes: bool) -> Option<Node> {
    let (host, port) = match nodes {
        true => (section.get("host"), section.get("port")),
        false => (
            section.required("host", "the server's name or address"),
            section.required("port", "the server's port, usually 6379"),
        ),
    };
    if let Some(value) = host.as_ref().or(port.as_ref()).filter(|_| nodes) {
        value.wrong("`nodes` takes the place of `host` and `port`", "one of them");
    }
    let host = host.and_then(|value| value.text());
    let port = port.and_then(|value| value.whole(1..=65_535));
    Some(Node { host: host?, port: port? })
}

fn nodes(list: &Value<'_>) -> Vec<Node> {
    let what = "a list of servers such as [\"10.0.0.1:6379\"]";
    list.one_or_more(what).iter().filter_map(node).collect()
}

/// `host:port`, an IPv6 address in brackets.
fn node(value: &Value<'_>) -> Option<Node> {
    let text = value.text()?;
    let parsed = || {
        let (host, port) = text.rsplit_once(':')?;
        let host = host.strip_prefix('[').map_or(Some(host), |host| host.strip_suffix(']'))?;
        let port = port.parse().ok().filter(|&port: &u16| port > 0)?;
        (!host.is_empty() && !host.contains('/')).then(|| Node { host: host.to_owned(), port })
    };
    parsed().or_else(|| value.other("host:port"))
}

fn names_of(value: &Value<'_>, mode: Option<Mode>) -> Names {
    let Some(section) = value.section() else { return Names::default() };
    let what = "what the sentinels call the server";
    let master = match mode {
        Some(Mode::Sentinel) => section.required("master", what),
        _ => section.get("master"),
    };
    let master = master.and_then(|value| value.text());
    let user = section.get("user").and_then(|value| value.text());
    let password = section.get("password").and_then(|value| value.text()).map(Secret::from);
    section.finish();
    Names { master, user, password }
}

fn warn_of_databases(section: &Section<'_>) {
    if let Some(value) = section.get("db") {
        value.warn("a cluster has one database: names of keys keep apart what would lie in several");
    }
}
