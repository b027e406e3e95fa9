//! Plots as SVG, drawn with the page's colours.

use super::html::escaped;
use rankwright_train::evaluate::Figure;
use rankwright_train::examination::Point;

/// Pixels of a plot.
const WIDTH: f64 = 720.0;
const LABEL: f64 = 230.0;
const ROW: f64 = 34.0;
const AXIS: f64 = 30.0;

/// A line of a plot of intervals.
pub(super) struct Row {
    pub(super) label: String,
    pub(super) plain: Figure,
    pub(super) weighted: Option<Figure>,
}

/// Figures as dots with their intervals, one line each; the weighted one below the other. A line marks zero where it is in sight.
pub(super) fn intervals(title: &str, rows: &[Row]) -> String {
    let figures = || rows.iter().flat_map(|row| [Some(row.plain), row.weighted]).flatten();
    let ends = || {
        figures()
            .flat_map(|figure| [Some(figure.value), figure.low, figure.high])
            .flatten()
            .filter(|end| end.is_finite())
    };
    let scale = Scale::over(ends(), LABEL, WIDTH - 20.0);
    let height = ROW * rows.len() as f64 + AXIS;
    let mut body = scale.vertical(height - AXIS);
    for (number, row) in rows.iter().enumerate() {
        let middle = ROW * (number as f64 + 0.5);
        body += &format!(
            r#"<text class="label" x="{:.1}" y="{:.1}">{}</text>"#,
            LABEL - 12.0,
            middle + 4.0,
            escaped(&row.label)
        );
        let apart = if row.weighted.is_some() { 6.0 } else { 0.0 };
        body += &dot(&scale, &row.plain, "plain", middle - apart);
        body += &row.weighted.map_or_else(String::new, |figure| dot(&scale, &figure, "weighted", middle + apart));
    }
    framed(title, height, &body)
}

fn dot(scale: &Scale, figure: &Figure, class: &str, y: f64) -> String {
    if !figure.value.is_finite() {
        return String::new();
    }
    let line = match (figure.low, figure.high) {
        (Some(low), Some(high)) => {
            format!(
                r#"<line class="{class}" x1="{:.1}" y1="{y:.1}" x2="{:.1}" y2="{y:.1}"/>"#,
                scale.at(low),
                scale.at(high)
            )
        }
        _ => String::new(),
    };
    format!(r#"{line}<circle class="{class}" cx="{:.1}" cy="{y:.1}" r="4"/>"#, scale.at(figure.value))
}

/// How often positions are looked at, with the band of their intervals.
pub(super) fn curve(title: &str, points: &[Point]) -> String {
    const HEIGHT: f64 = 300.0;
    let (left, right, top, bottom) = (50.0, WIDTH - 20.0, 12.0, HEIGHT - AXIS);
    let last = points.len().max(2) as f64;
    let highest = points.iter().filter_map(|point| point.high).fold(1.0, f64::max).min(2.0);
    let x = |position: usize| left + (position as f64 - 1.0) / (last - 1.0) * (right - left);
    let y = |value: f64| bottom - value.clamp(0.0, highest) / highest * (bottom - top);
    let mut body = String::new();
    for tick in ticks(0.0, highest) {
        body += &format!(
            r#"<line class="grid" x1="{left}" y1="{0:.1}" x2="{right}" y2="{0:.1}"/><text class="label" x="{1}" y="{2:.1}">{tick}</text>"#,
            y(tick),
            left - 8.0,
            y(tick) + 4.0
        );
    }
    let step = (points.len() / 12 + 1).max(1);
    for point in points.iter().step_by(step) {
        body += &format!(
            r#"<text class="tick" x="{:.1}" y="{:.1}">{}</text>"#,
            x(point.position),
            HEIGHT - 8.0,
            point.position
        );
    }
    let corner = |position: usize, value: f64| format!("{:.1},{:.1}", x(position), y(value));
    let upper = points.iter().map(|point| corner(point.position, point.high.unwrap_or(point.examination)));
    let lower = points.iter().rev().map(|point| corner(point.position, point.low.unwrap_or(point.examination)));
    let band: Vec<String> = upper.chain(lower).collect();
    let line: Vec<String> = points.iter().map(|point| corner(point.position, point.examination)).collect();
    body += &format!(
        r#"<polygon class="band" points="{}"/><polyline class="curve" points="{}"/>"#,
        band.join(" "),
        line.join(" ")
    );
    framed(title, HEIGHT, &body)
}

fn framed(title: &str, height: f64, body: &str) -> String {
    let title = escaped(title);
    format!(r#"<svg role="img" aria-label="{title}" viewBox="0 0 {WIDTH} {height}">{body}</svg>"#)
}

/// Where values lie on the page.
struct Scale {
    low: f64,
    high: f64,
    left: f64,
    right: f64,
}

impl Scale {
    /// A little wider than the values.
    fn over(values: impl Iterator<Item = f64>, left: f64, right: f64) -> Self {
        let (low, high) =
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        let room = ((high - low) * 0.05).max(1e-3);
        Self { low: low - room, high: high + room, left, right }
    }

    fn at(&self, value: f64) -> f64 {
        self.left + (value - self.low) / (self.high - self.low) * (self.right - self.left)
    }

    /// Lines at round numbers, with the numbers below; the one at zero stands out.
    fn vertical(&self, bottom: f64) -> String {
        let mut text = String::new();
        for tick in ticks(self.low, self.high) {
            let class = if tick == 0.0 { "zero" } else { "grid" };
            text += &format!(
                r#"<line class="{class}" x1="{0:.1}" y1="0" x2="{0:.1}" y2="{bottom}"/><text class="tick" x="{0:.1}" y="{1}">{tick}</text>"#,
                self.at(tick),
                bottom + 18.0
            );
        }
        text
    }
}

/// Round numbers between two values, about five of them.
fn ticks(low: f64, high: f64) -> Vec<f64> {
    let rough = (high - low) / 5.0;
    let power = 10f64.powf(rough.log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].into_iter().map(|of| of * power).find(|step| *step >= rough).unwrap_or(power * 10.0);
    let digits = (-step.log10().floor()).max(0.0) as i32;
    let round = |value: f64| (value * 10f64.powi(digits)).round() / 10f64.powi(digits);
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    (first..=last).map(|number| round(number as f64 * step) + 0.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers_in_sight() {
        assert_eq!(ticks(0.0, 1.0), [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]);
        assert_eq!(ticks(-0.013, 0.021), [-0.01, 0.0, 0.01, 0.02]);
        assert_eq!(ticks(0.36, 0.63), [0.4, 0.5, 0.6]);
        assert_eq!(ticks(0.5612, 0.5618), [0.5612, 0.5614, 0.5616, 0.5618]);
    }

    #[test]
    fn a_plot_of_one_value_has_a_scale() {
        let figure = Figure { value: 0.5, low: None, high: None };
        let row = Row { label: "a<b".to_owned(), plain: figure, weighted: None };
        let plot = intervals("t", &[row]);
        assert!(plot.contains("a&lt;b") && plot.contains(r#"<circle class="plain" cx="465.0""#), "{plot}");
        assert!(!plot.contains("NaN") && !plot.contains("inf"), "{plot}");
        let nothing =
            Row { label: String::new(), plain: Figure { value: f64::NAN, low: None, high: None }, weighted: None };
        assert!(!intervals("t", &[nothing]).contains("NaN"));
    }

    #[test]
    fn a_curve_has_its_band() {
        let point = |position: usize| Point {
            position,
            examination: 1.0 / position as f64,
            low: Some(0.1),
            high: None,
            shown: 1,
            clicks: 1,
        };
        let plot = curve("t", &[1, 2, 3].map(point));
        assert_eq!(plot.matches("polyline").count(), 1);
        assert!(plot.contains(r#"points="50.0,12.0 375.0,141.0 700.0,184.0""#), "{plot}");
        assert!(!curve("t", &[point(1)]).contains("NaN"));
    }
}
