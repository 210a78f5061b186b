//! The report as a picture: for each category how much was stopped and how much was stopped wrongly, with intervals,
//! and below it who settled the calls. Plain SVG, written by hand; readable on light and dark ground.

use std::fmt::Write as _;

use super::report::{Report, Row};
use super::statistics::Share;
use crate::settler::Settler;

const WIDTH: f64 = 940.0;
const LEFT: f64 = 230.0;
const RIGHT: f64 = 800.0;
const TOP: f64 = 104.0;
const ROW: f64 = 23.0;

const STYLE: &str = "
  svg { font-family: system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; font-size: 13px; }
  .ground { fill: #ffffff; } text { fill: #1f2328; } .quiet { fill: #59636e; font-size: 12px; }
  .title { font-size: 18px; font-weight: 600; } .strong { font-weight: 600; }
  .grid { stroke: #d1d9e0; stroke-width: 1; } .band { fill: #f3f5f7; }
  .stopped { fill: #0969da; stroke: #0969da; } .alarm { fill: #bc4c00; stroke: #bc4c00; } .missed { fill: #8250df; stroke: #8250df; }
  .rules { fill: #54aeff; } .accept-edits { fill: #0969da; } .safe-tools { fill: #1f883d; } .static-risk { fill: #2da44e; }
  .classifier { fill: #8250df; } .people { fill: #d4a72c; }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117; } text { fill: #e6edf3; } .quiet { fill: #9198a1; }
    .grid { stroke: #3d444d; } .band { fill: #151b23; }
    .stopped { fill: #4493f8; stroke: #4493f8; } .alarm { fill: #f0883e; stroke: #f0883e; } .missed { fill: #ab7df8; stroke: #ab7df8; }
  }
";

/// One kind of mark.
struct Series {
    class: &'static str,
    share: fn(&Row) -> Share,
    /// Above or below the middle of the row, so that marks do not hide each other.
    shift: f64,
    legend: &'static str,
}

const SERIES: [Series; 3] = [
    Series { class: "stopped", share: |row| row.stopped, shift: -4.0, legend: "labelled block: stopped" },
    Series {
        class: "alarm",
        share: |row| row.false_alarms,
        shift: 4.0,
        legend: "labelled allow: blocked (false positive)",
    },
    Series { class: "missed", share: |row| row.missed, shift: 0.0, legend: "labelled block: let through (miss)" },
];

/// The report as an SVG picture.
pub fn svg(report: &Report) -> String {
    let mut rows: Vec<&Row> = vec![&report.total];
    rows.extend(&report.categories);
    let bottom = TOP + ROW * rows.len() as f64;
    let height = bottom + 150.0;
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = draw(&mut out, report, &rows, (bottom, height));
    out
}

fn draw(out: &mut String, report: &Report, rows: &[&Row], (bottom, height): (f64, f64)) -> std::fmt::Result {
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\">"
    )?;
    writeln!(out, "<title>Auto mode: block rate and false positives by category</title>")?;
    writeln!(out, "<style>{STYLE}</style>")?;
    writeln!(out, "<rect class=\"ground\" width=\"{WIDTH}\" height=\"{height}\"/>")?;
    text(out, (24.0, 34.0), "title", "Auto mode: block rate and false positives by category")?;
    let model = if report.model_latency.is_some() { "with a model" } else { "static layers alone, no model" };
    let subtitle = format!("{} labelled cases, {model}; lines are 95 % confidence intervals (Wilson)", report.cases);
    text(out, (24.0, 56.0), "quiet", &subtitle)?;
    legend(out)?;
    axis(out, bottom)?;
    for (index, row) in rows.iter().enumerate() {
        draw_row(out, row, index)?;
    }
    draw_settlers(out, report, bottom + 74.0)?;
    writeln!(out, "</svg>")
}

fn legend(out: &mut String) -> std::fmt::Result {
    let mut x = 24.0;
    for series in &SERIES {
        mark(out, series.class, (x + 6.0, 79.0))?;
        text(out, (x + 18.0, 83.5), "", series.legend)?;
        x += 40.0 + series.legend.len() as f64 * 7.1;
    }
    Ok(())
}

fn at(rate: f64) -> f64 {
    LEFT + (RIGHT - LEFT) * rate
}

fn axis(out: &mut String, bottom: f64) -> std::fmt::Result {
    for percent in [0, 25, 50, 75, 100] {
        let x = at(f64::from(percent) / 100.0);
        writeln!(out, "<line class=\"grid\" x1=\"{x}\" y1=\"{TOP}\" x2=\"{x}\" y2=\"{bottom}\"/>")?;
        writeln!(
            out,
            "<text class=\"quiet\" x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{percent} %</text>",
            bottom + 18.0
        )?;
    }
    writeln!(
        out,
        "<text class=\"quiet\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">share of the cases with that label</text>",
        at(0.5),
        bottom + 36.0
    )?;
    text(out, (RIGHT + 18.0, TOP - 8.0), "quiet", "block / allow")
}

fn draw_row(out: &mut String, row: &Row, index: usize) -> std::fmt::Result {
    let y = TOP + ROW * (index as f64 + 0.5);
    if index % 2 == 1 {
        let top = y - ROW / 2.0;
        writeln!(
            out,
            "<rect class=\"band\" x=\"16\" y=\"{top}\" width=\"{}\" height=\"{ROW}\" fill-opacity=\"0.6\"/>",
            WIDTH - 32.0
        )?;
    }
    let class = if index == 0 { "strong" } else { "" };
    writeln!(
        out,
        "<text class=\"{class}\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
        LEFT - 14.0,
        y + 4.5,
        escaped(&row.category)
    )?;
    for series in &SERIES {
        let share = (series.share)(row);
        let is_shown = share.of > 0 && (series.class != "missed" || share.count > 0);
        if is_shown {
            whisker(out, series.class, share, y + series.shift)?;
            mark(out, series.class, (at(share.rate), y + series.shift))?;
        }
    }
    text(out, (RIGHT + 18.0, y + 4.5), "quiet", &format!("{} / {}", row.blocked.of, row.allowed.of))
}

fn whisker(out: &mut String, class: &str, share: Share, y: f64) -> std::fmt::Result {
    let (low, high) = (at(share.low), at(share.high));
    writeln!(
        out,
        "<line class=\"{class}\" x1=\"{low:.1}\" y1=\"{y}\" x2=\"{high:.1}\" y2=\"{y}\" stroke-width=\"2\" stroke-opacity=\"0.4\"/>"
    )
}

/// Each kind has a shape of its own, for those who do not see its colour.
fn mark(out: &mut String, class: &str, (x, y): (f64, f64)) -> std::fmt::Result {
    match class {
        "stopped" => writeln!(out, "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y}\" r=\"4.5\"/>"),
        "alarm" => {
            writeln!(out, "<rect class=\"{class}\" x=\"{:.1}\" y=\"{}\" width=\"7\" height=\"7\"/>", x - 3.5, y - 3.5)
        }
        _ => writeln!(out, "<path class=\"{class}\" d=\"M{x:.1} {} l5 5 l-5 5 l-5 -5 z\"/>", y - 5.0),
    }
}

/// Who settled the calls, as one bar.
fn draw_settlers(out: &mut String, report: &Report, y: f64) -> std::fmt::Result {
    text(out, (24.0, y + 14.0), "strong", "who settled the calls")?;
    let mut x = LEFT;
    for (settler, share) in report.settlers.iter().filter(|(_, share)| share.count > 0) {
        let width = (RIGHT - LEFT) * share.rate;
        writeln!(
            out,
            "<rect class=\"{}\" x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"20\"/>",
            class_of(*settler)
        )?;
        x += width;
    }
    let mut x = LEFT;
    for (settler, share) in report.settlers.iter().filter(|(_, share)| share.count > 0) {
        let percent = if share.rate < 0.01 { "<1".to_owned() } else { format!("{:.0}", share.rate * 100.0) };
        let label = format!("{} {percent} %", settler.title());
        writeln!(
            out,
            "<rect class=\"{}\" x=\"{x:.1}\" y=\"{}\" width=\"10\" height=\"10\"/>",
            class_of(*settler),
            y + 33.0
        )?;
        text(out, (x + 15.0, y + 42.0), "quiet", &label)?;
        x += 34.0 + label.len() as f64 * 6.6;
    }
    Ok(())
}

fn class_of(settler: Settler) -> &'static str {
    match settler {
        Settler::Rules => "rules",
        Settler::AcceptEdits => "accept-edits",
        Settler::SafeTools => "safe-tools",
        Settler::StaticRisk => "static-risk",
        Settler::Classifier => "classifier",
        Settler::People => "people",
    }
}

fn text(out: &mut String, (x, y): (f64, f64), class: &str, words: &str) -> std::fmt::Result {
    writeln!(out, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y}\">{}</text>", escaped(words))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
