//! From a user agent to its classes.

use super::crawler::crawls;
use super::{Browser, Os, Platform, Properties};
use ua_parser::{Extractor, Regexes};

/// The rules of uap-core, compiled.
pub(crate) struct Rules {
    pub(super) extractor: Extractor<'static>,
}

static REGEXES: &str = include_str!("../../../data/uap-core/regexes.yaml");

impl Rules {
    /// Compiles the rules for browsers and operating systems. Of the rules for devices only those for crawlers are
    /// kept: the others name makers and models, which no feature uses, and take most of the time and memory.
    pub(crate) fn compile() -> Self {
        let mut regexes: Regexes<'static> =
            serde_saphyr::from_str(REGEXES).expect("the rules are part of the program, and a test reads them");
        regexes.device_parsers.retain(|parser| parser.device_replacement.as_deref() == Some("Spider"));
        let extractor = regexes.try_into().expect("the rules are part of the program, and a test compiles them");
        Self { extractor }
    }

    /// All properties of an agent.
    pub(crate) fn classify(&self, agent: &str) -> Properties {
        if agent.trim().is_empty() {
            return Properties::default();
        }
        let family = self.extractor.os.extract(agent).map(|found| found.os);
        let os = family.as_deref().and_then(os);
        let browser = self.extractor.ua.extract(agent).map_or(Browser::Other, |found| browser(&found.family));
        // the last rule, meant for what no device's rule matched, would take real devices as well
        let spider = os.is_none() && self.extractor.dev.extract(agent).is_some();
        Properties {
            platform: platform(agent, os, family.as_deref().unwrap_or_default()),
            os,
            browser: Some(browser),
            bot: spider || crawls(agent, matches!(os, Some(Os::Ios | Os::Android))),
        }
    }
}

/// The operating system that a family of uap-core belongs to.
pub(super) fn os(family: &str) -> Option<Os> {
    const LINUX: [&str; 10] =
        ["Linux", "Ubuntu", "Debian", "Fedora", "Red Hat", "Gentoo", "Mandriva", "SUSE", "CentOS", "Arch Linux"];
    match family {
        "iOS" => Some(Os::Ios),
        "Android" | "Kindle" => Some(Os::Android),
        "Mac OS X" | "Mac OS" => Some(Os::MacOs),
        "Chrome OS" => Some(Os::ChromeOs),
        _ if family.starts_with("Windows") => Some(Os::Windows),
        _ if LINUX.contains(&family) || family.ends_with("buntu") || family.ends_with("Mint") => Some(Os::Linux),
        _ => None,
    }
}

/// The browser that a family of uap-core belongs to: families are its names, alone or with more words behind.
pub(super) fn browser(family: &str) -> Browser {
    let words = family.strip_prefix("Mobile ").unwrap_or(family);
    match words.split(' ').next().unwrap_or_default() {
        "Safari" => Browser::Safari,
        "Chrome" | "Chromium" | "HeadlessChrome" => Browser::Chrome,
        "Firefox" => Browser::Firefox,
        "Opera" => Browser::Opera,
        "IE" => Browser::Ie,
        _ => Browser::Other,
    }
}

/// The kind of device: uap-core names models and no kinds, so the words that browsers agreed on decide. A browser on
/// an Android phone says `Mobile`, one on a tablet does not.
fn platform(agent: &str, os: Option<Os>, family: &str) -> Option<Platform> {
    const OTHERS: [&str; 7] = ["TV", "CrKey", "BRAVIA", "PlayStation", "Xbox", "Nintendo", "Watch"];
    const TABLETS: [&str; 5] = ["iPad", "Kindle", "PlayBook", "Silk/", "Tablet;"];
    const PHONES: [&str; 7] = ["Mobi", "Phone", "iPod", "Opera Mini", "MIDP", "BlackBerry", "Symbian"];
    let has = |words: &[&str]| words.iter().any(|word| agent.contains(word));
    let browses = agent.starts_with("Mozilla/") && !has(&PHONES);
    if has(&OTHERS) || family == "tvOS" {
        None
    } else if has(&TABLETS) || (os == Some(Os::Android) && browses) {
        Some(Platform::Tablet)
    } else if has(&PHONES) || matches!(os, Some(Os::Ios | Os::Android)) {
        Some(Platform::Mobile)
    } else {
        os.map(|_| Platform::Desktop)
    }
}
