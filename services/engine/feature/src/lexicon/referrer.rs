//! Referers: by which medium a visitor came, from the address of the page that linked here.
//!
//! An address is looked at in this order:
//!
//! 1. `paid`: it carries the click id of an advertising network (`gclid`, `msclkid`, …) or a `utm_medium` that names
//!    paid traffic, or its host serves advertisements. A click id on one of our own pages counts as well: it is how
//!    the page that an advertisement led to shows up, as the referer of the next one. `fbclid` is no sign of it:
//!    Facebook adds it to every link that leaves.
//! 2. `internal`: the host is one of ours, which no key of the configuration names yet, or the machine itself
//!    (`localhost`, loopback addresses).
//! 3. `email`, `social`, `search`: the list of hosts in `data/referrers.txt`, the longest match first.
//! 4. `unknown`: any other address, and whatever is no address.

mod hosts;
mod url;

use hosts::Hosts;
use url::Url;

/// How a visitor came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Medium {
    /// Nothing else is known.
    Unknown,
    /// A search engine, or an assistant that answers in its place.
    Search,
    /// A page of one's own.
    Internal,
    /// A social network, or another place where people share links.
    Social,
    /// A mail service or a newsletter.
    Email,
    /// An advertisement.
    Paid,
}

impl Medium {
    /// Names of the mediums, in the order of their columns.
    pub(crate) const NAMES: [&'static str; 6] = rankwright_config::feature::REFERER_MEDIUMS;

    /// Column of this medium, from 0.
    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

/// The medium of a referer; `own` are hosts of ours, each with all hosts below it. Allocates nothing.
pub(crate) fn medium(referer: &str, own: &[impl AsRef<str>]) -> Medium {
    let Some(url) = Url::parse(referer) else { return Medium::Unknown };
    if is_paid(url.query) {
        return Medium::Paid;
    }
    let mut buffer = [0; url::MAX_HOST];
    let Some(host) = url.lower_host(&mut buffer) else { return Medium::Unknown };
    if url.is_application() {
        return Hosts::shared().application(host);
    }
    if is_own(host, own) {
        return Medium::Internal;
    }
    match Hosts::shared().medium(host) {
        Medium::Search if url.path.starts_with("/aclk") => Medium::Paid, // Google's and Bing's links of advertisements
        medium => medium,
    }
}

/// Whether a query names a click on an advertisement.
fn is_paid(query: &str) -> bool {
    const CLICK_IDS: [&str; 9] =
        ["gclid", "gbraid", "wbraid", "dclid", "msclkid", "yclid", "ttclid", "twclid", "li_fat_id"];
    query.split('&').filter_map(|pair| pair.split_once('=')).any(|(key, value)| {
        let is = |name: &str| key.eq_ignore_ascii_case(name);
        !value.is_empty() && (CLICK_IDS.iter().any(|id| is(id)) || (is("utm_medium") && is_paid_medium(value)))
    })
}

/// Whether a campaign's `utm_medium` is paid traffic: `cpc` and its like, or a word that starts with one of these.
fn is_paid_medium(value: &str) -> bool {
    const STARTS: [&str; 5] = ["paid", "ppc", "display", "banner", "retargeting"];
    let starts = |start: &str| value.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start));
    let cost_per = value.len() == 3 && starts("cp"); // click, mille, action, view
    cost_per || STARTS.into_iter().any(starts)
}

fn is_own(host: &str, own: &[impl AsRef<str>]) -> bool {
    let local = host == "localhost" || host.ends_with(".localhost") || host.starts_with("127.") || host == "[::1]";
    local || own.iter().any(|own| is_below(host, own.as_ref()))
}

/// Whether `host`, in lower case, is `domain` or lies below it.
fn is_below(host: &str, domain: &str) -> bool {
    let domain = domain.trim_matches('.');
    let Some(start) = host.len().checked_sub(domain.len()) else { return false };
    let ends = host.get(start..).is_some_and(|end| !domain.is_empty() && end.eq_ignore_ascii_case(domain));
    ends && (start == 0 || host.as_bytes()[start - 1] == b'.')
}

#[cfg(test)]
mod tests;
