//! The little Markdown that pages need: headings, fenced blocks and pipe tables. Everything else is prose.

/// A piece of a page that means something to the runner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Block {
    /// `#` and its deeper forms.
    Heading {
        /// How many `#`.
        level: usize,
    },
    /// A block fenced as `json`.
    Json {
        /// The line of its fence, from 1.
        line: usize,
        /// What is inside.
        text: String,
    },
    /// A pipe table.
    Table(Table),
}

/// A pipe table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table {
    /// The line of its head, from 1.
    pub(super) line: usize,
    /// The head's cells.
    pub(super) head: Vec<String>,
    /// The rows, each with its line.
    pub(super) rows: Vec<(usize, Vec<String>)>,
}

type Lines<'a> = std::iter::Peekable<std::iter::Enumerate<std::str::Lines<'a>>>;

/// The blocks of a page, in order.
pub(super) fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().enumerate().peekable();
    while let Some((number, line)) = lines.next() {
        if let Some((fence, language)) = fence(line) {
            let inside = take_fenced(&mut lines, fence);
            if language == "json" {
                blocks.push(Block::Json { line: number + 1, text: inside });
            }
        } else if let Some(level) = heading(line) {
            blocks.push(Block::Heading { level });
        } else if is_row(line) && lines.peek().is_some_and(|(_, next)| is_rule(next)) {
            lines.next();
            let rows = take_rows(&mut lines);
            blocks.push(Block::Table(Table { line: number + 1, head: cells(line), rows }));
        }
    }
    blocks
}

/// The fence that a line opens, and the language after it.
fn fence(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let mark = if line.starts_with("```") { '`' } else { '~' };
    let length = line.chars().take_while(|letter| *letter == mark).count();
    let (fence, language) = line.split_at_checked(length)?;
    (length >= 3 && !language.contains('`')).then(|| (fence, language.trim()))
}

fn take_fenced(lines: &mut Lines<'_>, fence: &str) -> String {
    let mut inside = Vec::new();
    for (_, line) in lines {
        let closing = line.trim();
        if closing.starts_with(fence) && closing.trim_start_matches(fence.chars().next().unwrap_or('`')).is_empty() {
            break;
        }
        inside.push(line);
    }
    inside.join("\n")
}

fn heading(line: &str) -> Option<usize> {
    let level = line.chars().take_while(|letter| *letter == '#').count();
    let rest = line.get(level..)?;
    ((1..=6).contains(&level) && (rest.is_empty() || rest.starts_with(' '))).then_some(level)
}

fn is_row(line: &str) -> bool {
    line.trim_start().starts_with('|')
}

/// `| --- | :-: |`
fn is_rule(line: &str) -> bool {
    is_row(line) && line.contains('-') && line.chars().all(|letter| matches!(letter, '|' | '-' | ':' | ' '))
}

fn take_rows(lines: &mut Lines<'_>) -> Vec<(usize, Vec<String>)> {
    let mut rows = Vec::new();
    while let Some((number, line)) = lines.next_if(|(_, line)| is_row(line)) {
        rows.push((number + 1, cells(line)));
    }
    rows
}

/// The cells of a row. As in every such table, `\|` is a pipe, also between backticks.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let mut cells = vec![String::new()];
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        let is_pipe = letter == '\\' && letters.next_if_eq(&'|').is_some();
        match (letter, cells.last_mut()) {
            ('|', _) => cells.push(String::new()),
            (_, Some(cell)) if is_pipe => cell.push('|'),
            (other, Some(cell)) => cell.push(other),
            (_, None) => {}
        }
    }
    // What stands after the last pipe is no cell, unless the row was left open.
    if cells.last().is_some_and(|last| last.trim().is_empty()) {
        cells.pop();
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

/// The text between the backticks of a cell that is one code span.
pub(super) fn code(cell: &str) -> Option<&str> {
    let length = cell.chars().take_while(|letter| *letter == '`').count();
    let fence = cell.get(..length).filter(|fence| !fence.is_empty())?;
    let inside = cell.strip_prefix(fence)?.strip_suffix(fence)?;
    let is_one_span = !inside.is_empty() && !runs_of_backticks(inside).any(|run| run == length);
    is_one_span.then(|| match inside.strip_prefix(' ').and_then(|rest| rest.strip_suffix(' ')) {
        // One blank on each side keeps a backtick at the edge from joining the fence.
        Some(shielded) if !shielded.trim().is_empty() => shielded,
        Some(_) | None => inside,
    })
}

fn runs_of_backticks(text: &str) -> impl Iterator<Item = usize> {
    text.split(|letter| letter != '`').map(str::len).filter(|length| *length > 0)
}

/// A cell's text, without the backticks if it is one code span.
pub(super) fn plain(cell: &str) -> String {
    code(cell).unwrap_or(cell).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_hold_pipes_and_backticks() {
        assert_eq!(cells("| `a \\| b` | ask |"), ["`a | b`", "ask"]);
        assert_eq!(cells("| a | |"), ["a", ""]);
        assert_eq!(cells("| a | b"), ["a", "b"]);
        assert_eq!(cells(r"| `printf '\\n'` |"), [r"`printf '\\n'`"]);
    }

    #[test]
    fn code_spans_end_where_they_began() {
        assert_eq!(code("`ls -la`"), Some("ls -la"));
        assert_eq!(code("`` echo `date` ``"), Some("echo `date`"));
        assert_eq!(code("` ls `"), Some("ls"));
        assert_eq!(code("`a` or `b`"), None);
        assert_eq!(code("ls"), None);
        assert_eq!(code("`ls"), None);
        assert_eq!(code(""), None);
    }

    #[test]
    fn only_json_fences_are_blocks_and_nothing_inside_a_fence_is() {
        let text = "```text\n| a |\n|-|\n| b |\n# x\n```\n~~~json\n{}\n~~~\n````\n```json\n```\n````\n";
        assert_eq!(blocks(text), [Block::Json { line: 7, text: "{}".to_owned() }]);
    }

    #[test]
    fn a_table_needs_its_rule() {
        assert_eq!(blocks("| a |\n| b |\n"), []);
        let table = Table { line: 2, head: vec!["a".to_owned()], rows: vec![(4, vec!["b".to_owned()])] };
        assert_eq!(blocks("x\n| a |\n|---|\n| b |\n\n| c |\n"), [Block::Table(table)]);
    }

    #[test]
    fn headings_have_levels() {
        assert_eq!(blocks("# a\n### b\n#!/bin/sh\n"), [Block::Heading { level: 1 }, Block::Heading { level: 3 }]);
    }
}
