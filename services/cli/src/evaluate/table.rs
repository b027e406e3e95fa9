//! A comparison as tables of plain text.

use crate::told::line;
use rankwright_prepare::count;
use rankwright_train::evaluate::{Difference, Figure, Report, Score, Segments, Weighted, Worst};
use rankwright_train::examination::{Curve, Point};
use std::fmt::Write;

/// The widest name of an order.
const NAME: usize = 44;
/// Width of a figure with its interval.
const FIGURE: usize = 28;
/// Length of a bar.
const BAR: usize = 24;

/// All of it.
pub(super) fn of(report: &Report) -> String {
    let mut text = head(report);
    text += &scores(&report.scores, &report.differences, is_weighted(report));
    text += &examination(&report.weighted, report.lists.test);
    if let Some(segments) = &report.segments {
        text += &by_segment(segments, report);
    }
    report.worst.iter().for_each(|worst| text += &worst_lists(worst, report));
    for note in &report.notes {
        text += &format!("\nnote: {}\n", line(note));
    }
    text
}

fn is_weighted(report: &Report) -> bool {
    report.weighted.curve.is_some()
}

fn head(report: &Report) -> String {
    let lists = &report.lists;
    let (test, visitors, train) = (count(lists.test as u64), count(lists.visitors as u64), count(lists.train as u64));
    let time = match (lists.from, lists.to) {
        (Some(from), Some(to)) => format!("{from} to {to}"),
        _ => String::new(),
    };
    let mut text = format!(
        "{test} lists of {visitors} visitors, {time}\n\
         split {} of model {}: {train} lists are on the train side\n",
        line(&report.split),
        line(&report.model)
    );
    for ranker in &report.rankers {
        if let Some(version) = &ranker.version {
            text += &format!("{}: version {}\n", line(&ranker.name), line(version));
        }
    }
    text
}

/// Metrics of each order, and differences below; in brackets where 95 % of such figures lie.
fn scores(scores: &[Score], differences: &[Difference], weighted: bool) -> String {
    let mut text = String::new();
    for metric in scores.chunk_by(|left, right| left.metric == right.metric) {
        let name = &metric[0].metric;
        text += &row(name, "each list the same", weighted.then_some("weighted by examination"));
        for score in metric {
            let weighted = score.weighted.as_ref().map(|figure| shown(figure, false));
            text +=
                &row(&format!("  {}", cut(&line(&score.ranker))), &shown(&score.figure, false), weighted.as_deref());
        }
        for difference in differences.iter().filter(|difference| difference.metric == *name) {
            let label = format!("  {} - {}", line(&difference.ranker), line(&difference.than));
            let weighted = difference.weighted.as_ref().map(|figure| shown(figure, true));
            text += &row(&cut(&label), &shown(&difference.figure, true), weighted.as_deref());
        }
    }
    text
}

fn row(label: &str, plain: &str, weighted: Option<&str>) -> String {
    let first = if label.starts_with(' ') { "" } else { "\n" };
    let row = format!("{first}{label:NAME$}  {plain:FIGURE$}  {}", weighted.unwrap_or_default());
    format!("{}\n", row.trim_end())
}

/// `0.6123 [0.6011, 0.6234]`; of a difference with its sign.
fn shown(figure: &Figure, signed: bool) -> String {
    let number = |value: f64| match (value.is_finite(), signed) {
        (false, _) => "-".to_owned(),
        (true, true) => format!("{value:+.4}"),
        (true, false) => format!("{value:.4}"),
    };
    match (figure.low, figure.high) {
        (Some(low), Some(high)) => format!("{} [{}, {}]", number(figure.value), number(low), number(high)),
        _ => number(figure.value),
    }
}

fn examination(weighted: &Weighted, lists: usize) -> String {
    let Some(curve) = &weighted.curve else {
        let why = weighted.unavailable.as_deref().unwrap_or_default();
        return format!("\nno weighted figures: the examination of positions cannot be estimated: {}\n", line(why));
    };
    let mut text = format!("\nexamination of positions, from {}\n", line(&curve.estimated_from));
    if let Some(effective) = weighted.effective_lists {
        let (effective, lists) = (count(effective.round() as u64), count(lists as u64));
        text += &format!("weighted figures are worth as much as {effective} lists of equal weight, of {lists}\n");
    }
    text + &points(curve)
}

fn points(curve: &Curve) -> String {
    let mut text =
        format!("{:>8}  {:NAME$}  {:>10}  {:>9}\n", "position", "looked at (1 at the first)", "shown", "clicks");
    let last = curve.points.len();
    for point in curve.points.iter().filter(|point| is_told(point.position, last)) {
        let bar = "#".repeat((point.examination.min(1.0) * BAR as f64).round() as usize);
        let interval = match (point.low, point.high) {
            (Some(low), Some(high)) => format!("[{low:.2}, {high:.2}]"),
            _ => String::new(),
        };
        let Point { position, examination, shown, clicks, .. } = point;
        let looked = format!("{examination:.2} {interval:14} {bar}");
        let _ = writeln!(text, "{position:>8}  {looked:NAME$}  {:>10}  {:>9}", count(*shown), count(*clicks)); // a text takes all
    }
    text
}

/// The first positions, fewer and fewer further down, and the last one.
fn is_told(position: usize, last: usize) -> bool {
    let step = match position {
        0..=10 => 1,
        11..=50 => 5,
        _ => 50,
    };
    position.is_multiple_of(step) || position == last
}

fn by_segment(segments: &Segments, report: &Report) -> String {
    let mut text = format!("\nby {}\n", line(&segments.field));
    for segment in &segments.segments {
        let value = segment.value.as_deref().map_or_else(|| "(none)".to_owned(), line);
        let (lists, visitors) = (count(segment.lists as u64), count(segment.visitors as u64));
        text += &format!("\n{value}: {lists} lists of {visitors} visitors");
        text += &scores(&segment.scores, &segment.differences, is_weighted(report)).replacen("\n\n", "\n", 1);
    }
    if segments.others > 0 {
        text += &format!("\n{} further values are not shown\n", count(segments.others as u64));
    }
    text
}

fn worst_lists(worst: &Worst, report: &Report) -> String {
    let metric = report.metrics.first().map_or("", String::as_str);
    if worst.lists.is_empty() {
        return String::new();
    }
    let mut text = format!("\nlists that {} ranks worst, by {metric}\n", line(&worst.ranker));
    text += &format!("{:>8}  {:>8}  {:>5}  {:>8}  {:24}  list\n", "model", "shown", "items", "relevant", "time");
    for list in &worst.lists {
        let mut name = line(&list.ranking);
        if list.tenant != "default" {
            name += &format!(" of tenant {}", line(&list.tenant));
        }
        if let Some(segment) = &list.segment {
            name += &format!(" ({})", line(segment));
        }
        let (value, shown, items, relevant) = (list.value, list.shown, list.items, list.relevant);
        text +=
            &format!("{value:>8.4}  {shown:>8.4}  {items:>5}  {relevant:>8}  {:24}  {name}\n", list.time.to_string());
    }
    text
}

fn cut(text: &str) -> String {
    match text.chars().count() > NAME {
        true => text.chars().take(NAME - 1).chain(['…']).collect(),
        false => text.to_owned(),
    }
}
