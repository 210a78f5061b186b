//! The plot: decisions a second and the slowest hundredth, over the number of connections.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use serde_json::Value;

use super::figure;
use super::page::{STORES, grouped};

const WIDTH: f64 = 720.0;
const PANEL: f64 = 200.0;
const LEFT: f64 = 80.0;
const TOP: f64 = 60.0;
const GAP: f64 = 70.0;
const BOTTOM: f64 = TOP + 2.0 * PANEL + GAP + 60.0;
/// Light and dark, as the reader's screen is.
const STYLE: &str = "\
<style>
  svg { font-family: system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; font-size: 13px; }
  .ground { fill: #ffffff; } text { fill: #1f2328; } .quiet { fill: #59636e; font-size: 12px; }
  .grid { stroke: #d1d9e0; } .line { fill: none; stroke-width: 2; }
  .sqlite { stroke: #0969da; } .postgres { stroke: #bc4c00; }
  .dot.sqlite { fill: #0969da; } .dot.postgres { fill: #bc4c00; }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117; } text { fill: #e6edf3; } .quiet { fill: #9198a1; } .grid { stroke: #3d444d; }
    .sqlite { stroke: #4493f8; } .postgres { stroke: #f0883e; }
    .dot.sqlite { fill: #4493f8; } .dot.postgres { fill: #f0883e; }
  }
</style>
";

/// One of the two panels.
struct Panel {
    title: &'static str,
    member: &'static str,
    top: f64,
    most: f64,
}

/// The whole plot.
pub(super) fn drawn(figures: &Value) -> Result<String> {
    let connections = series(figures, "sqlite", "connections")?;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {BOTTOM}\" width=\"{WIDTH}\" \
         height=\"{BOTTOM}\" role=\"img\">\n<title>Decisions a second with durable audit</title>\n{STYLE}\
         <rect class=\"ground\" width=\"{WIDTH}\" height=\"{BOTTOM}\"/>\n"
    );
    for (place, (store, name)) in STORES.iter().enumerate() {
        let x = LEFT + 130.0 * whole(place);
        writeln!(text, "<circle class=\"dot {store}\" cx=\"{}\" cy=\"19\" r=\"5\"/>", x + 5.0)?;
        writeln!(text, "<text x=\"{}\" y=\"24\">{name}</text>", x + 18.0)?;
    }
    let panels = [
        ("decisions a second", "rate", TOP),
        ("the slowest hundredth takes longer than (ms)", "p99_ms", TOP + PANEL + GAP),
    ];
    for (title, member, top) in panels {
        let mut most: f64 = 0.0;
        for (store, _) in STORES {
            most = series(figures, store, member)?.into_iter().fold(most, f64::max);
        }
        let panel = Panel { title, member, top, most: rounded(most) };
        panel.frame(&mut text, &connections)?;
        for (store, _) in STORES {
            panel.line(&mut text, &series(figures, store, member)?, store)?;
        }
    }
    text.push_str("</svg>\n");
    Ok(text)
}

impl Panel {
    fn frame(&self, text: &mut String, connections: &[f64]) -> Result<()> {
        let Panel { title, top, most, .. } = self;
        writeln!(text, "<text x=\"{LEFT}\" y=\"{}\">{title}</text>", top - 10.0)?;
        for quarter in 0..=4 {
            let value = most * whole(quarter) / 4.0;
            let y = self.height(value);
            writeln!(text, "<path d=\"M{LEFT} {y:.1}H{}\" class=\"grid\"/>", WIDTH - 20.0)?;
            let shown = if self.member == "rate" { grouped(value) } else { format!("{value:.1}") };
            let x = LEFT - 8.0;
            writeln!(text, "<text x=\"{x}\" y=\"{:.1}\" text-anchor=\"end\" class=\"quiet\">{shown}</text>", y + 4.0)?;
        }
        for (place, number) in connections.iter().enumerate() {
            let (x, y) = (across(place, connections.len()), top + PANEL + 18.0);
            writeln!(text, "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\" class=\"quiet\">{number}</text>")?;
        }
        let (x, y) = (LEFT + (WIDTH - LEFT) / 2.0, top + PANEL + 36.0);
        writeln!(text, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" class=\"quiet\">connections</text>")?;
        Ok(())
    }

    fn line(&self, text: &mut String, values: &[f64], store: &str) -> Result<()> {
        let points: Vec<(f64, f64)> = values
            .iter()
            .enumerate()
            .map(|(place, value)| (across(place, values.len()), self.height(*value)))
            .collect();
        let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        writeln!(text, "<polyline points=\"{}\" class=\"line {store}\"/>", path.join(" "))?;
        for (x, y) in points {
            writeln!(text, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" class=\"dot {store}\" r=\"3.5\"/>")?;
        }
        Ok(())
    }

    fn height(&self, value: f64) -> f64 {
        self.top + PANEL * (1.0 - value / self.most)
    }
}

fn across(place: usize, of: usize) -> f64 {
    LEFT + 20.0 + (WIDTH - LEFT - 80.0) * whole(place) / whole(of.saturating_sub(1)).max(1.0)
}

fn series(figures: &Value, store: &str, member: &str) -> Result<Vec<f64>> {
    let rows = figures.pointer(&format!("/{store}/decisions")).and_then(Value::as_array).context("no decisions")?;
    rows.iter().map(|row| figure(row, &format!("/{member}"))).collect()
}

/// The next number that people like to see at the top of an axis.
fn rounded(number: f64) -> f64 {
    let size = 10_f64.powf(number.max(1.0).log10().floor());
    [1.0, 2.0, 4.0, 5.0, 8.0, 10.0].map(|step| step * size).into_iter().find(|top| *top >= number).unwrap_or(number)
}

#[expect(clippy::cast_precision_loss, reason = "places in a plot are few")]
fn whole(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::rounded;

    #[test]
    fn an_axis_ends_at_a_round_number_above_everything() {
        for (number, top) in [(0.3, 1.0), (7.0, 8.0), (21_000.0, 40_000.0), (99.0, 100.0)] {
            assert!((rounded(number) - top).abs() < 1e-9, "{number}: {}", rounded(number));
        }
    }
}
