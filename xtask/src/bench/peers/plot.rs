//! Times as bars on a logarithmic scale: what takes ten times as long is one step further right.

use std::fmt::Write as _;

use anyhow::Result;

use super::page::base;
use super::timing::Timed;

const LEFT: f64 = 230.0;
const RIGHT: f64 = 640.0;
const WIDTH: f64 = 720.0;
const TOP: f64 = 50.0;
const ROW: f64 = 28.0;
/// Light and dark, as the reader's screen is.
const STYLE: &str = "\
<style>
  svg { font-family: system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; font-size: 13px; }
  .ground { fill: #ffffff; } text { fill: #1f2328; } .quiet { fill: #59636e; font-size: 12px; }
  .grid { stroke: #d1d9e0; } .mayi { fill: #0969da; } .peer { fill: #8c959f; }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117; } text { fill: #e6edf3; } .quiet { fill: #9198a1; } .grid { stroke: #3d444d; }
    .mayi { fill: #4493f8; } .peer { fill: #6e7681; }
  }
</style>
";

/// The whole plot.
pub(super) fn drawn(title: &str, timed: &[Timed]) -> Result<String> {
    let base = base(timed)?;
    let rows: Vec<(&str, f64)> = timed.iter().map(|timed| (timed.name.as_str(), timed.seconds / base)).collect();
    // From the power of ten below the quickest to the one above the slowest.
    let low = rows.iter().map(|(_, ratio)| ratio.log10().floor()).fold(0.0, f64::min);
    let high = rows.iter().map(|(_, ratio)| ratio.log10().ceil()).fold(low + 1.0, f64::max);
    let across = |ratio: f64| LEFT + (RIGHT - LEFT) * (ratio.log10() - low) / (high - low);
    let bottom = rows.iter().fold(TOP, |y, _| y + ROW);
    let height = bottom + 40.0;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" role=\"img\">\n<title>{title}</title>\n{STYLE}\
         <rect class=\"ground\" width=\"{WIDTH}\" height=\"{height}\"/>\n<text x=\"20\" y=\"24\">{title}</text>\n"
    );
    let mut power = low;
    while power <= high {
        let ratio = 10_f64.powf(power);
        let x = across(ratio);
        writeln!(text, "<path d=\"M{x:.1} {}V{bottom}\" class=\"grid\"/>", TOP - 8.0)?;
        writeln!(
            text,
            "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\" class=\"quiet\">{ratio}</text>",
            bottom + 18.0
        )?;
        power += 1.0;
    }
    let mut y = TOP;
    for (name, ratio) in rows {
        let class = if name.starts_with("mayi") { "mayi" } else { "peer" };
        let (end, middle) = (across(ratio), y + 14.0);
        writeln!(text, "<text x=\"{}\" y=\"{middle}\" text-anchor=\"end\">{}</text>", LEFT - 8.0, escaped(name))?;
        let width = (end - LEFT).max(1.0);
        writeln!(text, "<rect class=\"{class}\" x=\"{LEFT}\" y=\"{y}\" width=\"{width:.1}\" height=\"18\" rx=\"2\"/>")?;
        writeln!(text, "<text x=\"{:.1}\" y=\"{middle}\" class=\"quiet\">{ratio:.1}</text>", end + 6.0)?;
        y += ROW;
    }
    text.push_str("</svg>\n");
    Ok(text)
}

fn escaped(text: &str) -> String {
    text.replace('`', "").replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::super::BARE;
    use super::{Timed, drawn};

    #[test]
    fn ten_times_as_long_is_one_step_further() {
        let timed = [(BARE, 0.001), ("mayi", 0.01), ("peer", 0.1)];
        let timed = timed.map(|(name, seconds)| Timed { name: name.to_owned(), seconds });
        let text = drawn("t", &timed).unwrap();
        for (class, width) in [("mayi", "205.0"), ("peer", "410.0")] {
            let bar = text.lines().find(|line| line.contains(&format!("rect class=\"{class}\" x=")));
            assert!(text.contains(&format!("width=\"{width}\"")), "{class}: {bar:?}");
        }
    }
}
