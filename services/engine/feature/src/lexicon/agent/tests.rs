use super::*;
use proptest::prelude::*;

mod conformance;

use Browser::{Chrome, Firefox, Ie, Opera, Other, Safari};
use Os::{Android, ChromeOs, Ios, Linux, MacOs, Windows};
use Platform::{Desktop, Mobile, Tablet};

type Expected = (Option<Platform>, Option<Os>, Browser, bool);

const KNOWN: &[(&str, Expected)] = &[
    (
        "Mozilla/5.0 (iPhone; CPU iPhone OS 15_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/15.1 Mobile/15E148 Safari/604.1",
        (Some(Mobile), Some(Ios), Safari, false),
    ),
    (
        "Mozilla/5.0 (iPad; CPU OS 12_5_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/12.1.2 Mobile/15E148 Safari/604.1",
        (Some(Tablet), Some(Ios), Safari, false),
    ),
    (
        "Mozilla/5.0 (iPod touch; CPU iPhone OS 12_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/12.0 Mobile/15E148 Safari/604.1",
        (Some(Mobile), Some(Ios), Safari, false),
    ),
    (
        "Mozilla/5.0 (iPhone; CPU iPhone OS 14_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/91.0.4472.80 Mobile/15E148 Safari/604.1",
        (Some(Mobile), Some(Ios), Chrome, false),
    ),
    (
        "Mozilla/5.0 (iPhone; CPU iPhone OS 14_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) FxiOS/34.0 Mobile/15E148 Safari/605.1.15",
        (Some(Mobile), Some(Ios), Firefox, false),
    ),
    (
        "Mozilla/5.0 (iPhone; CPU iPhone OS 14_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148",
        (Some(Mobile), Some(Ios), Safari, false),
    ),
    (
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/15.1 Safari/605.1.15",
        (Some(Desktop), Some(MacOs), Safari, false),
    ),
    (
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/96.0.4664.110 Safari/537.36",
        (Some(Desktop), Some(MacOs), Chrome, false),
    ),
    (
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:95.0) Gecko/20100101 Firefox/95.0",
        (Some(Desktop), Some(MacOs), Firefox, false),
    ),
    (
        "Mozilla/5.0 (Linux; Android 11; SM-G991B) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/96.0.4664.104 Mobile Safari/537.36",
        (Some(Mobile), Some(Android), Chrome, false),
    ),
    (
        "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/114.0.0.0 Mobile Safari/537.36",
        (Some(Mobile), Some(Android), Chrome, false),
    ),
    (
        "Mozilla/5.0 (Linux; Android 10; SM-T510) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/95.0.4638.50 Safari/537.36",
        (Some(Tablet), Some(Android), Chrome, false),
    ),
    (
        "Mozilla/5.0 (Android 11; Tablet; rv:94.0) Gecko/94.0 Firefox/94.0",
        (Some(Tablet), Some(Android), Firefox, false),
    ),
    (
        "Mozilla/5.0 (Android 11; Mobile; rv:94.0) Gecko/94.0 Firefox/94.0",
        (Some(Mobile), Some(Android), Firefox, false),
    ),
    (
        "Mozilla/5.0 (Linux; Android 9; KFMAWI) AppleWebKit/537.36 (KHTML, like Gecko) Silk/95.2.5 like Chrome/95.0.4638.74 Safari/537.36",
        (Some(Tablet), Some(Android), Other, false),
    ),
    (
        "Mozilla/5.0 (Linux; Android 11; SAMSUNG SM-A515F) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/15.0 Chrome/90.0.4430.210 Mobile Safari/537.36",
        (Some(Mobile), Some(Android), Other, false),
    ),
    (
        "Mozilla/5.0 (Linux; Android 10; SM-A205U; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/96.0.4664.45 Mobile Safari/537.36",
        (Some(Mobile), Some(Android), Chrome, false),
    ),
    ("Dalvik/2.1.0 (Linux; U; Android 9; SM-J730F Build/PPR1.180610.011)", (Some(Mobile), Some(Android), Other, false)),
    (
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/96.0.4664.110 Safari/537.36",
        (Some(Desktop), Some(Windows), Chrome, false),
    ),
    (
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/96.0.4664.55 Safari/537.36 Edg/96.0.1054.34",
        (Some(Desktop), Some(Windows), Other, false),
    ),
    (
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/70.0.3538.102 Safari/537.36 Edge/18.18363",
        (Some(Desktop), Some(Windows), Other, false),
    ),
    (
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/95.0.4638.69 Safari/537.36 OPR/81.0.4196.60",
        (Some(Desktop), Some(Windows), Opera, false),
    ),
    ("Opera/9.80 (Windows NT 6.1; WOW64) Presto/2.12.388 Version/12.18", (Some(Desktop), Some(Windows), Opera, false)),
    (
        "Opera/9.80 (J2ME/MIDP; Opera Mini/9.80 (S60; SymbOS; Opera Mobi/23.348; U; en) Presto/2.5.25 Version/10.54",
        (Some(Mobile), None, Opera, false),
    ),
    (
        "Mozilla/5.0 (Linux; Android 11; SM-G991B) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/94.0.4606.85 Mobile Safari/537.36 OPR/65.2.3381.61420",
        (Some(Mobile), Some(Android), Opera, false),
    ),
    (
        "Mozilla/5.0 (Windows NT 10.0; WOW64; Trident/7.0; rv:11.0) like Gecko",
        (Some(Desktop), Some(Windows), Ie, false),
    ),
    (
        "Mozilla/4.0 (compatible; MSIE 8.0; Windows NT 6.1; Trident/4.0; Tablet PC 2.0)",
        (Some(Desktop), Some(Windows), Ie, false),
    ),
    (
        "Mozilla/5.0 (compatible; MSIE 10.0; Windows Phone 8.0; Trident/6.0; IEMobile/10.0; ARM; Touch; NOKIA; Lumia 920)",
        (Some(Mobile), Some(Windows), Ie, false),
    ),
    (
        "Mozilla/5.0 (Windows NT 6.1; Win64; x64; rv:95.0) Gecko/20100101 Firefox/95.0",
        (Some(Desktop), Some(Windows), Firefox, false),
    ),
    (
        "Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:95.0) Gecko/20100101 Firefox/95.0",
        (Some(Desktop), Some(Linux), Firefox, false),
    ),
    (
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/96.0.4664.45 Safari/537.36",
        (Some(Desktop), Some(Linux), Chrome, false),
    ),
    (
        "Mozilla/5.0 (X11; CrOS x86_64 14268.67.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/96.0.4664.111 Safari/537.36",
        (Some(Desktop), Some(ChromeOs), Chrome, false),
    ),
    (
        "Mozilla/5.0 (BB10; Touch) AppleWebKit/537.10+ (KHTML, like Gecko) Version/10.0.9.2372 Mobile Safari/537.10+",
        (Some(Mobile), None, Other, false),
    ),
    (
        "Mozilla/5.0 (SMART-TV; Linux; Tizen 5.0) AppleWebKit/538.1 (KHTML, like Gecko) Version/5.0 TV Safari/538.1",
        (None, None, Safari, false),
    ),
    ("Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", (None, None, Other, true)),
    (
        "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/96.0.4664.45 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
        (Some(Mobile), Some(Android), Other, true),
    ),
    ("Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)", (None, None, Other, true)),
    ("Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)", (None, None, Other, true)),
    ("facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)", (None, None, Other, true)),
    ("curl/7.68.0", (None, None, Other, true)),
    ("python-requests/2.26.0", (None, None, Other, true)),
    ("MyShop/3.2 (iPhone; iOS 15.1; Scale/3.00)", (Some(Mobile), Some(Ios), Safari, false)),
    ("no such thing", (None, None, Other, true)),
];

#[test]
fn known_agents_are_what_they_are() {
    let agents = Agents::shared();
    let wrong: Vec<String> = KNOWN
        .iter()
        .filter_map(|(agent, (platform, os, browser, bot))| {
            let expected = Properties { platform: *platform, os: *os, browser: Some(*browser), bot: *bot };
            let found = agents.properties(agent);
            (found != expected).then(|| format!("{agent}\n  found    {found:?}\n  expected {expected:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_property_can_be_asked_for_alone_and_twice() {
    let (agents, (agent, _)) = (Agents::shared(), KNOWN[0]);
    for _ in 0..2 {
        assert_eq!((agents.platform(agent), agents.os(agent)), (Some(Mobile), Some(Ios)));
        assert_eq!((agents.browser(agent), agents.bot(agent)), (Some(Safari), false));
    }
}

#[test]
fn an_empty_agent_says_nothing() {
    assert_eq!(Agents::shared().properties(""), Properties::default());
    assert_eq!(Agents::shared().properties("  "), Properties::default());
}

#[test]
fn an_agent_of_a_megabyte_is_read_by_its_beginning() {
    let agent = format!("{} {}", KNOWN[0].0, "é".repeat(500_000));
    assert_eq!(Agents::shared().platform(&agent), Some(Mobile));
}

proptest! {
    #[test]
    fn any_text_has_properties(agent in "\\PC{0,2000}") {
        let _ = Agents::shared().properties(&agent);
    }

    #[test]
    fn what_is_remembered_equals_what_is_found(cut in 0..100usize, which in 0..KNOWN.len()) {
        let agent = KNOWN[which].0.get(cut..).unwrap_or_default();
        prop_assert_eq!(Agents::shared().properties(agent), Rules::classify(&Agents::shared().rules, agent));
    }
}
