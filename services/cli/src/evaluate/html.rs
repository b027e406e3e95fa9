//! A comparison as one page that needs no network: tables, and plots as SVG.

use super::plot::{Row, curve, intervals};
use rankwright_prepare::count;
use rankwright_train::evaluate::{Difference, Figure, Report, Score, Segments, Worst};
use rankwright_train::examination::{Curve, FLOOR};

/// The whole page. The policy keeps a browser from loading or running anything, whatever ids hold.
pub(super) fn page(report: &Report) -> String {
    let mut body = head(report);
    body += &section("Metrics", &metrics(report));
    body += &section("Differences", &differences(report));
    body += &section("Examination of positions", &examination(report));
    if let Some(segments) = &report.segments {
        body += &section(&format!("By {}", segments.field), &by_segment(segments, report));
    }
    if report.worst.iter().any(|worst| !worst.lists.is_empty()) {
        body +=
            &section("Worst lists", &report.worst.iter().map(|worst| worst_lists(worst, report)).collect::<String>());
    }
    let title = escaped(&format!("Comparison of {}", report.model));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n"
    )
}

const STYLE: &str = include_str!("page.css");

/// A text as HTML shows it, within tags and quotes. Control characters become visible.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            '\'' => safe += "&#39;",
            sign if sign.is_control() || is_hidden(sign) => safe += &sign.escape_unicode().to_string(),
            sign => safe.push(sign),
        }
    }
    safe
}

/// Whether a character changes the direction of what follows, or shows nothing.
fn is_hidden(sign: char) -> bool {
    matches!(sign, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

fn section(title: &str, body: &str) -> String {
    format!("<section>\n<h2>{}</h2>\n{body}</section>\n", escaped(title))
}

fn head(report: &Report) -> String {
    let lists = &report.lists;
    let (test, visitors, train) = (count(lists.test as u64), count(lists.visitors as u64), count(lists.train as u64));
    let time = |time: Option<_>| time.map_or_else(String::new, |time: rankwright_event::Timestamp| time.to_string());
    let mut text = format!(
        "<h1>Comparison of models</h1>\n<p>{test} lists of {visitors} visitors, {} to {}. Split {} of model {}: {train} lists are on the \
         train side. Intervals hold 95 % of {} draws of visitors.</p>\n",
        time(lists.from),
        time(lists.to),
        escaped(&report.split),
        escaped(&report.model),
        count(report.resamples as u64)
    );
    let versions = report.rankers.iter().filter_map(|ranker| Some((&ranker.name, ranker.version.as_ref()?)));
    for (name, version) in versions {
        text += &format!("<p>{}: version <code>{}</code></p>\n", escaped(name), escaped(version));
    }
    report.notes.iter().for_each(|note| text += &format!("<p class=\"note\">{}</p>\n", escaped(note)));
    text
}

/// What the two colours mean.
fn legend(report: &Report) -> &'static str {
    match report.weighted.curve {
        Some(_) => {
            "<p class=\"legend\"><span class=\"plain\">each list counts the same</span> <span class=\"weighted\">clicks weighted by the examination of their positions</span></p>\n"
        }
        None => "",
    }
}

fn metrics(report: &Report) -> String {
    let mut text = legend(report).to_owned();
    for metric in report.scores.chunk_by(|left, right| left.metric == right.metric) {
        let rows: Vec<Row> = metric.iter().map(of_score).collect();
        text += &plotted(&metric[0].metric, &rows, report);
    }
    text
}

fn differences(report: &Report) -> String {
    let mut text = legend(report).to_owned();
    for metric in report.differences.chunk_by(|left, right| left.metric == right.metric) {
        let rows: Vec<Row> = metric.iter().map(of_difference).collect();
        text += &plotted(&metric[0].metric, &rows, report);
    }
    text
}

fn of_score(score: &Score) -> Row {
    Row { label: score.ranker.clone(), plain: score.figure, weighted: score.weighted }
}

fn of_difference(difference: &Difference) -> Row {
    let label = format!("{} − {}", difference.ranker, difference.than);
    Row { label, plain: difference.figure, weighted: difference.weighted }
}

/// A plot with its table.
fn plotted(metric: &str, rows: &[Row], report: &Report) -> String {
    let weighted = report.weighted.curve.is_some();
    let mut table =
        format!("<tr><th></th><th>{}</th>{}</tr>\n", escaped(metric), if weighted { "<th>weighted</th>" } else { "" });
    for row in rows {
        let second = row.weighted.map_or_else(String::new, |figure| format!("<td>{}</td>", shown(&figure)));
        table += &format!("<tr><th>{}</th><td>{}</td>{second}</tr>\n", escaped(&row.label), shown(&row.plain));
    }
    format!("<h3>{}</h3>\n{}\n<table>\n{table}</table>\n", escaped(metric), intervals(metric, rows))
}

fn shown(figure: &Figure) -> String {
    let number =
        |value: f64| if value.is_finite() { format!("{value:.4}").replace('-', "−") } else { "–".to_owned() };
    match (figure.low, figure.high) {
        (Some(low), Some(high)) => {
            format!("{} <small>{} to {}</small>", number(figure.value), number(low), number(high))
        }
        _ => number(figure.value),
    }
}

fn examination(report: &Report) -> String {
    let Some(found) = &report.weighted.curve else {
        let why = report.weighted.unavailable.as_deref().unwrap_or_default();
        return format!(
            "<p class=\"note\">There are no weighted figures, because the examination of positions cannot be estimated: {}</p>\n",
            escaped(why)
        );
    };
    let effective = report.weighted.effective_lists.unwrap_or_default().round() as u64;
    format!(
        "<p>Estimated from {}.</p>\n<p>The line shows how often visitors look at a position; the first one has 1. A click counts by the inverse, \
         at most {} times. Weighted figures are worth as much as {} lists of equal weight, of {}.</p>\n{}\n{}",
        escaped(&found.estimated_from),
        (1.0 / FLOOR).round(),
        count(effective),
        count(report.lists.test as u64),
        curve("Examination by position", &found.points),
        points(found)
    )
}

fn points(curve: &Curve) -> String {
    let mut table = "<tr><th>position</th><th>looked at</th><th>shown</th><th>clicks</th></tr>\n".to_owned();
    for point in &curve.points {
        let figure = Figure { value: point.examination, low: point.low, high: point.high };
        let (shown_at, clicks) = (count(point.shown), count(point.clicks));
        table += &format!(
            "<tr><th>{}</th><td>{}</td><td>{shown_at}</td><td>{clicks}</td></tr>\n",
            point.position,
            shown(&figure)
        );
    }
    format!("<details>\n<summary>All positions</summary>\n<table>\n{table}</table>\n</details>\n")
}

/// The first metric of each value; all metrics are in the JSON.
fn by_segment(segments: &Segments, report: &Report) -> String {
    let metric = report.metrics.first().map_or("", String::as_str);
    let mut text = legend(report).to_owned();
    for segment in &segments.segments {
        let value = segment.value.as_deref().unwrap_or("(none)");
        let rows: Vec<Row> = segment.scores.iter().filter(|score| score.metric == metric).map(of_score).collect();
        let (lists, visitors) = (count(segment.lists as u64), count(segment.visitors as u64));
        text += &format!("<h3>{}: {lists} lists of {visitors} visitors</h3>\n", escaped(value));
        text += &format!("{}\n", intervals(&format!("{metric} of {value}"), &rows));
    }
    if segments.others > 0 {
        text += &format!("<p>{} further values are not shown.</p>\n", count(segments.others as u64));
    }
    text
}

fn worst_lists(worst: &Worst, report: &Report) -> String {
    let metric = report.metrics.first().map_or("", String::as_str);
    let mut table = format!(
        "<tr><th>list</th><th>{0}</th><th>as shown</th><th>items</th><th>relevant</th><th>time</th></tr>\n",
        escaped(metric)
    );
    for list in &worst.lists {
        let tenant = if list.tenant == "default" { String::new() } else { format!(" of tenant {}", list.tenant) };
        let segment = list.segment.as_ref().map_or_else(String::new, |value| format!(" ({value})"));
        table += &format!(
            "<tr><th><code>{}</code>{}</th><td>{:.4}</td><td>{:.4}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
            escaped(&list.ranking),
            escaped(&(tenant + &segment)),
            list.value,
            list.shown,
            list.items,
            list.relevant,
            list.time
        );
    }
    format!("<h3>{}</h3>\n<table>\n{table}</table>\n", escaped(&worst.ranker))
}

#[cfg(test)]
mod tests;
