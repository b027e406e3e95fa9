use super::*;
use rankwright_event::Timestamp;
use rankwright_train::evaluate::{Kind, Lists, RankerReport, Segment, Weighted, WorstList};
use rankwright_train::examination::{Method, Point};

/// What no id of an honest sender holds.
const HOSTILE: &str = "<script>alert('x')</script>\"&\u{202e}\n";

fn figure(value: f64) -> Figure {
    Figure { value, low: Some(value - 0.1), high: Some(value + 0.1) }
}

fn report(name: &str) -> Report {
    let score = |ranker: &str, value: f64| Score {
        metric: "NDCG@10".to_owned(),
        ranker: ranker.to_owned(),
        figure: figure(value),
        weighted: Some(figure(value / 2.0)),
    };
    let difference = Difference {
        metric: "NDCG@10".to_owned(),
        ranker: name.to_owned(),
        than: "shown".to_owned(),
        figure: figure(0.2),
        weighted: Some(figure(-0.3)),
    };
    let point = |position: usize| Point {
        position,
        examination: 1.0 / position as f64,
        low: None,
        high: None,
        shown: 1000,
        clicks: 9,
    };
    let (time, text) = (Timestamp::from_millis(0), name.to_owned());
    let list = WorstList {
        ranking: text.clone(),
        tenant: text.clone(),
        time,
        items: 3,
        relevant: 1,
        value: 0.0,
        shown: 1.0,
        segment: Some(text.clone()),
    };
    let segment = Segment {
        value: Some(text.clone()),
        lists: 2,
        visitors: 1,
        effective_lists: Some(1.0),
        scores: vec![score(name, 0.5)],
        differences: vec![difference.clone()],
    };
    Report {
        model: text.clone(),
        split: text.clone(),
        resamples: 1000,
        seed: 0,
        lists: Lists {
            train: 4,
            test: 1932,
            items: 9,
            visitors: 2,
            from: Some(time),
            to: Some(time),
            without_relevant: 0,
        },
        metrics: vec!["NDCG@10".to_owned()],
        rankers: vec![RankerReport { name: text.clone(), kind: Kind::Model, version: Some(text.clone()) }],
        scores: vec![score(name, 0.6), score("shown", 0.4)],
        differences: vec![difference],
        weighted: Weighted {
            curve: Some(Curve {
                method: Method::Items,
                estimated_from: text.clone(),
                compared: 7,
                points: (1..=3).map(point).collect(),
            }),
            effective_lists: Some(1234.4),
            unavailable: None,
        },
        segments: Some(Segments { field: text.clone(), segments: vec![segment], others: 3 }),
        worst: vec![Worst { ranker: text.clone(), lists: vec![list] }],
        notes: vec![text],
    }
}

#[test]
fn ids_from_outside_are_text_and_nothing_else() {
    let page = page(&report(HOSTILE));
    assert!(!page.contains("<script") && !page.contains("alert('x')"), "{page}");
    assert!(!page.contains('\u{202e}'));
    let shown = "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot;&amp;\\u{202e}\\u{a}";
    assert!(page.matches(shown).count() >= 12, "{page}");
}

#[test]
fn a_page_loads_nothing() {
    let page = page(&report("shop"));
    assert!(page.contains("default-src 'none'; style-src 'unsafe-inline'"));
    for part in ["http://", "https://", "<script", "<link", "@import", "url(", "src="] {
        assert!(!page.replace("default-src", "").replace("style-src", "").contains(part), "{part}");
    }
}

#[test]
fn each_tag_that_opens_closes() {
    let page = page(&report(HOSTILE));
    for tag in [
        "html", "head", "body", "section", "h1", "h2", "h3", "p", "table", "tr", "th", "td", "svg", "text", "details",
        "code", "small", "span", "style",
    ] {
        let opened = page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag}");
    }
}

#[test]
fn figures_stand_in_tables_and_plots() {
    let page = page(&report("shop"));
    assert!(
        page.contains("<td>0.6000 <small>0.5000 to 0.7000</small></td><td>0.3000 <small>0.2000 to 0.4000</small></td>"),
        "{page}"
    );
    assert!(page.contains("−0.3000 <small>−0.4000 to −0.2000</small>"), "{page}");
    assert_eq!(page.matches("<svg").count(), 4, "metric, difference, curve, segment");
    assert!(page.contains("as much as 1,234 lists of equal weight, of 1,932"), "{page}");
    assert!(page.contains("3 further values are not shown"));
}

#[test]
fn without_a_curve_the_page_says_why() {
    let mut report = report("shop");
    report.weighted = Weighted { curve: None, effective_lists: None, unavailable: Some("only 3 clicks".to_owned()) };
    report.scores.iter_mut().for_each(|score| score.weighted = None);
    report.differences.iter_mut().for_each(|difference| difference.weighted = None);
    let page = page(&report);
    assert!(page.contains("cannot be estimated: only 3 clicks"), "{page}");
    assert!(!page.contains("<th>weighted</th>") && !page.contains("legend\""), "{page}");
}

#[test]
fn the_tables_of_plain_text_hold_the_same() {
    let text = super::super::table::of(&report("shop"));
    assert!(text.contains("1,932 lists of 2 visitors"), "{text}");
    let row =
        |label: &str| text.lines().find(|line| line.starts_with(label)).unwrap_or_else(|| panic!("{label} in {text}"));
    assert!(
        row("  shop   ").contains("0.6000 [0.5000, 0.7000]") && row("  shop   ").ends_with("0.3000 [0.2000, 0.4000]")
    );
    assert!(row("  shop - shown").contains("+0.2000 [+0.1000, +0.3000]"));
    assert!(row("       2  0.50").ends_with("1,000          9"), "{text}");
    assert!(
        text.contains("lists that shop ranks worst, by NDCG@10") && text.contains("shop of tenant shop (shop)"),
        "{text}"
    );
    let hostile = super::super::table::of(&report("a\u{1b}[2J"));
    assert!(!hostile.contains('\u{1b}') && hostile.contains("a\\u{1b}[2J"), "{hostile}");
}
