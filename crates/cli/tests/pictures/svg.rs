//! A terminal's text with its colours, as a picture that follows the reader's light or dark theme.
//!
//! Every run of one style is placed by its column and stretched to its width, so that columns stand where they belong
//! whatever font the reader has.

use std::fmt::Write as _;

/// In pixels: how wide a letter is, how high a line, how far the text is from the edge.
const LETTER: f32 = 8.4;
const LINE: f32 = 19.0;
const EDGE: f32 = 18.0;

const STYLE: &str = "\
  .ground { fill: #fbfaf8; stroke: #d9d5cd }
  text { font: 14px ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace; white-space: pre; fill: #24292f }
  .bold { font-weight: 700 } .dim { fill: #68707a }
  .red { fill: #b3261e } .green { fill: #1a7f37 } .yellow { fill: #8a5a00 } .cyan { fill: #0b6e85 }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #161b22; stroke: #30363d }
    text { fill: #d7dde4 } .dim { fill: #8d96a0 }
    .red { fill: #ff7b72 } .green { fill: #57c26a } .yellow { fill: #e3b341 } .cyan { fill: #56c7de }
  }
";

/// How a run of letters looks: names of classes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Look {
    weight: Option<&'static str>,
    colour: Option<&'static str>,
}

impl Look {
    /// After an escape of the terminal. What it does not know it refuses: a picture must not lose a colour silently.
    fn after(&self, codes: &str) -> Self {
        let mut look = self.clone();
        for code in codes.split(';') {
            match code {
                "" | "0" => look = Self::default(),
                "1" => look.weight = Some("bold"),
                "2" => look.colour = Some("dim"),
                "31" => look.colour = Some("red"),
                "32" => look.colour = Some("green"),
                "33" => look.colour = Some("yellow"),
                "36" => look.colour = Some("cyan"),
                other => panic!("the picture has no colour for `{other}`"),
            }
        }
        look
    }

    fn classes(&self) -> String {
        self.weight.into_iter().chain(self.colour).collect::<Vec<_>>().join(" ")
    }
}

/// The picture of a command and its answer.
pub(crate) fn drawn(command: &str, answer: &str) -> String {
    let bold = Look { weight: Some("bold"), colour: None };
    let mut lines =
        vec![vec![(Look { colour: Some("dim"), ..Look::default() }, "$ ".to_owned()), (bold, command.to_owned())]];
    let mut look = Look::default();
    for line in answer.trim_end().lines() {
        lines.push(runs(line, &mut look));
    }
    let length = |line: &Vec<(Look, String)>| line.iter().map(|(_, text)| text.chars().count()).sum::<usize>();
    let widest = lines.iter().map(length).max().unwrap_or(0);
    let width = (widest as f32).mul_add(LETTER, 2.0 * EDGE).ceil();
    let height = (lines.len() as f32).mul_add(LINE, 2.0 * EDGE).ceil();
    let mut picture = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n\
         <rect class=\"ground\" x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"8\"/>\n",
        escaped(command),
        width - 1.0,
        height - 1.0
    );
    for (row, line) in lines.iter().enumerate() {
        let y = (row as f32).mul_add(LINE, EDGE + 14.0);
        draw(&mut picture, line, y);
    }
    picture.push_str("</svg>\n");
    picture
}

fn draw(picture: &mut String, line: &[(Look, String)], y: f32) {
    let mut column = 0;
    for (look, text) in line {
        let (all, blank) = (text.chars().count(), text.chars().take_while(|letter| *letter == ' ').count());
        let shown = text.trim();
        if !shown.is_empty() {
            let classes = look.classes();
            let class = if classes.is_empty() { String::new() } else { format!(" class=\"{classes}\"") };
            let x = ((column + blank) as f32).mul_add(LETTER, EDGE);
            let length = shown.chars().count() as f32 * LETTER;
            writeln!(
                picture,
                "<text{class} x=\"{x:.1}\" y=\"{y:.0}\" textLength=\"{length:.1}\" xml:space=\"preserve\">{}</text>",
                escaped(shown)
            )
            .unwrap();
        }
        column += all;
    }
}

/// A line as runs of one look. A look lasts until the next escape, also over the end of a line.
fn runs(line: &str, look: &mut Look) -> Vec<(Look, String)> {
    let mut runs = Vec::new();
    let mut pieces = line.split("\u{1b}[");
    runs.push((look.clone(), pieces.next().unwrap_or_default().to_owned()));
    for piece in pieces {
        let (codes, text) = piece.split_once('m').expect("an escape that is no colour");
        *look = look.after(codes);
        runs.push((look.clone(), text.to_owned()));
    }
    runs
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[test]
fn colours_blanks_and_markup_are_drawn_as_they_are() {
    let picture = drawn("mayi <x>", "\u{1b}[1m\u{1b}[33mask\u{1b}[0m  Bash\n  a & b\n");
    assert!(picture.contains("<title>mayi &lt;x&gt;</title>"), "{picture}");
    assert!(picture.contains("<text class=\"bold yellow\" x=\"18.0\" y=\"51\" textLength=\"25.2\""), "{picture}");
    assert!(
        picture.contains("<text x=\"60.0\" y=\"51\" textLength=\"33.6\" xml:space=\"preserve\">Bash</text>"),
        "{picture}"
    );
    assert!(
        picture.contains("<text x=\"34.8\" y=\"70\" textLength=\"42.0\" xml:space=\"preserve\">a &amp; b</text>"),
        "{picture}"
    );
}
