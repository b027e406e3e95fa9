//! The list of hosts and the medium that each stands for.

use super::Medium;
use foldhash::HashMap;
use std::sync::LazyLock;

/// Known hosts, by three spellings of the list.
#[derive(Default)]
pub(crate) struct Hosts {
    exact: HashMap<&'static str, Medium>,
    /// Without the top-level domain, which may be any.
    anywhere: HashMap<&'static str, Medium>,
    applications: HashMap<&'static str, Medium>,
}

static LIST: &str = include_str!("../../../data/referrers.txt");

/// Labels between a name and a country's domain, as in `google.co.uk`.
const SECOND_LEVELS: [&str; 7] = ["co", "com", "org", "net", "ne", "or", "web"];

impl Hosts {
    /// The list of this program.
    pub(crate) fn shared() -> &'static Self {
        static SHARED: LazyLock<Hosts> = LazyLock::new(|| Hosts::read(LIST));
        &SHARED
    }

    /// Reads the list; lines of a section that is none of the mediums are left out (a test finds them).
    fn read(list: &'static str) -> Self {
        let (mut hosts, mut section) = (Self::default(), None);
        for line in list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                Some(name) => section = named(name),
                None => section.into_iter().for_each(|medium| hosts.insert(line, medium)),
            }
        }
        hosts
    }

    fn insert(&mut self, line: &'static str, medium: Medium) {
        if let Some(package) = line.strip_prefix("app:") {
            self.applications.insert(package, medium);
        } else if let Some(name) = line.strip_suffix(".*") {
            self.anywhere.insert(name, medium);
        } else {
            self.exact.insert(line, medium);
        }
    }

    /// The medium of an Android application, by its package.
    pub(crate) fn application(&self, package: &str) -> Medium {
        self.applications.get(package).copied().unwrap_or(Medium::Unknown)
    }

    /// The medium of a host in lower case: that of the longest listed name which it is, or lies below.
    pub(crate) fn medium(&self, host: &str) -> Medium {
        let name_end = name_end(host);
        let starts = std::iter::once(0).chain(host.match_indices('.').map(|(dot, _)| dot + 1));
        let found = starts.map_while(|start| Some((&host[start..], host.get(start..name_end)?)));
        found
            .filter_map(|(exact, name)| self.exact.get(exact).or_else(|| self.anywhere.get(name)))
            .next()
            .map_or(Medium::Unknown, |medium| *medium)
    }
}

/// Where the name before the top-level domain ends: `www.google` of `www.google.co.uk` and of `www.google.de`.
fn name_end(host: &str) -> usize {
    let Some((rest, top)) = host.rsplit_once('.') else { return host.len() };
    match rest.rsplit_once('.') {
        Some((name, second)) if top.len() == 2 && SECOND_LEVELS.contains(&second) => name.len(),
        _ => rest.len(),
    }
}

fn named(section: &str) -> Option<Medium> {
    use Medium::{Email, Internal, Paid, Search, Social, Unknown};
    let mediums = [Unknown, Search, Internal, Social, Email, Paid];
    mediums.into_iter().find(|medium| Medium::NAMES[medium.index()] == section)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_list_is_a_name_of_its_own_in_a_known_section() {
        let lines = || LIST.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let (sections, names): (Vec<&str>, Vec<&str>) = lines().partition(|line| line.starts_with('['));
        assert!(sections.iter().all(|line| named(line.trim_matches(['[', ']'])).is_some()), "{sections:?}");
        let hosts = Hosts::shared();
        assert_eq!(hosts.exact.len() + hosts.anywhere.len() + hosts.applications.len(), names.len());
        for name in names {
            let host = name.trim_start_matches("app:").trim_end_matches(".*");
            assert!(!host.is_empty() && !host.starts_with('.') && !host.ends_with('.'), "{name}");
            assert!(
                host.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-._".contains(&b)),
                "{name}"
            );
        }
    }

    #[test]
    fn the_longest_name_decides() {
        let hosts =
            Hosts::read("[search]\na.*\nb.com\n[email]\nmail.a.*\n[unknown]\nx.mail.a.com\n[nonsense]\nc.com\n");
        for (host, medium) in [
            ("a.com", Medium::Search),
            ("www.a.co.uk", Medium::Search),
            ("mail.a.com", Medium::Email),
            ("deep.mail.a.de", Medium::Email),
            ("x.mail.a.com", Medium::Unknown),
            ("x.mail.a.de", Medium::Email),
            ("b.com", Medium::Search),
            ("b.de", Medium::Unknown),
            ("ab.com", Medium::Unknown),
            ("a.example.com", Medium::Unknown),
            ("a", Medium::Search),
            ("com", Medium::Unknown),
            ("c.com", Medium::Unknown),
        ] {
            assert_eq!(hosts.medium(host), medium, "{host}");
        }
    }
}
