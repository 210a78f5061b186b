//! The content of a change, as far as a person will read it: a diff with bounds on everything.

use std::fmt::Write as _;
use std::io::{self, Read};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use similar::{ChangeTag, TextDiff};

use super::beneath::Held;
use super::visible;

/// Files with more bytes are told in a line.
const SHOWN_BYTES: u64 = 512 * 1024;
/// Lines of one diff.
const SHOWN_LINES: usize = 400;
/// Letters of one line.
const SHOWN_LETTERS: usize = 400;
/// How long two files are compared before the rest is taken to differ.
const PATIENCE: Duration = Duration::from_millis(500);

/// What to show of a change's content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "content")]
pub enum Content {
    /// There is nothing to show: a folder, a link, another mode.
    Nothing,
    /// The lines that differ.
    Text(Diff),
    /// It is no text.
    Binary,
    /// It is too large.
    Large,
    /// It cannot be read.
    Unreadable,
}

/// The lines that differ, in the unified form, with nothing in them that would command a terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diff {
    /// The lines.
    pub text: String,
    /// How many lines are new.
    pub added: usize,
    /// How many lines are gone.
    pub removed: usize,
    /// How many lines of the diff are not shown.
    pub cut: usize,
}

/// A file's content, as far as a person would read it.
enum Side {
    Text(String),
    Binary,
    Large,
    Unreadable,
}

/// Compares two files; one that is not there is empty.
pub(super) fn content(before: Option<&Held>, after: Option<&Held>) -> io::Result<Content> {
    Ok(match (side(before)?, side(after)?) {
        (Side::Large, _) | (_, Side::Large) => Content::Large,
        (Side::Unreadable, _) | (_, Side::Unreadable) => Content::Unreadable,
        (Side::Binary, _) | (_, Side::Binary) => Content::Binary,
        (Side::Text(before), Side::Text(after)) => Content::Text(diff(&before, &after)),
    })
}

fn side(held: Option<&Held>) -> io::Result<Side> {
    let Some(held) = held else { return Ok(Side::Text(String::new())) };
    let mut bytes = Vec::new();
    match held.file() {
        Ok(file) => file.take(SHOWN_BYTES + 1).read_to_end(&mut bytes)?,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(Side::Unreadable),
        Err(error) => return Err(error),
    };
    if u64::try_from(bytes.len()).is_ok_and(|length| length > SHOWN_BYTES) {
        return Ok(Side::Large);
    }
    Ok(match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Side::Text(text),
        Ok(_) | Err(_) => Side::Binary,
    })
}

fn diff(before: &str, after: &str) -> Diff {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let compared = TextDiff::configure().timeout(PATIENCE).diff_slices(&old, &new);
    let mut diff = Diff::default();
    let mut lines = 0;
    for hunk in compared.unified_diff().context_radius(3).iter_hunks() {
        diff.push(&hunk.header().to_string(), &mut lines);
        for change in hunk.iter_changes() {
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            diff.added += usize::from(sign == '+');
            diff.removed += usize::from(sign == '-');
            let whole = change.value().strip_suffix('\n');
            diff.push(&format!("{sign}{}", shortened(whole.unwrap_or(change.value()))), &mut lines);
            if whole.is_none() {
                diff.push("\\ No newline at end of file", &mut lines);
            }
        }
    }
    diff
}

impl Diff {
    fn push(&mut self, line: &str, lines: &mut usize) {
        *lines += 1;
        if *lines > SHOWN_LINES {
            self.cut += 1;
        } else {
            self.text.push_str(line.trim_end_matches('\n'));
            self.text.push('\n');
        }
    }
}

/// A line with every character visible, cut where nobody would read on.
fn shortened(line: &str) -> String {
    let Some((end, _)) = line.char_indices().nth(SHOWN_LETTERS) else { return visible::line(line) };
    let (shown, rest) = line.split_at(end);
    let mut text = visible::line(shown);
    let _ = write!(text, " … {} more letters", rest.chars().count());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_shows_what_differs_with_three_lines_around_it() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let shown = diff(before, &before.replace('5', "five"));
        assert_eq!(shown.text, "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
        assert_eq!((shown.added, shown.removed, shown.cut), (1, 1, 0));
    }

    #[test]
    fn a_missing_newline_is_told() {
        assert_eq!(diff("a\n", "a").text, "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n");
    }

    #[test]
    fn a_carriage_return_or_an_escape_cannot_hide_a_line() {
        let shown = diff("", "rm -rf /\r\u{1b}[2Kecho hello\n").text;
        assert_eq!(shown, "@@ -0,0 +1 @@\n+rm -rf /\\r\\u{1b}[2Kecho hello\n");
    }

    #[test]
    fn long_diffs_and_long_lines_are_cut_and_say_so() {
        let shown = diff("", &"x\n".repeat(1000));
        assert_eq!((shown.added, shown.cut, shown.text.lines().count()), (1000, 601, 400));
        let shown = diff("", &"x".repeat(1000));
        assert!(shown.text.contains("x … 600 more letters\n"), "{}", shown.text);
    }
}
