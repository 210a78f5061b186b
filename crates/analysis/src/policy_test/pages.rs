//! Markdown pages whose tables are tests.
//!
//! This module turns pages into lines of the batch format with what they should be answered, and compares. It
//! decides nothing itself, and it never skips a table row it cannot read: that is a problem of the page, reported
//! with its line. `spec/README.md` explains the format to those who write pages.

pub(super) mod call;
mod markdown;
mod run;

pub use run::{Failure, run};

use std::collections::BTreeMap;
use std::fmt;

use mayi_core::verdict::Verdict;
use serde_json::{Map, Value};

use markdown::{Block, Table};

/// Columns that say something to people only.
const REMARKS: [&str; 3] = ["note", "why", "#"];

/// Fields of the batch format that a block or a column may set.
pub(super) const FIELDS: [&str; 14] = [
    "additional_directories",
    "bypass_available",
    "classifier",
    "cwd",
    "denials",
    "files",
    "home",
    "hook",
    "layers",
    "mode",
    "sandbox",
    "settings",
    "trusted",
    "unattended",
];

/// A page, read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// Its tests, in order.
    pub rows: Vec<Row>,
    /// What cannot be read.
    pub problems: Vec<Problem>,
}

/// A row of a table: one test.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Where it stands.
    pub at: At,
    /// The row as written.
    pub text: String,
    /// The line of the batch format.
    pub request: Value,
    /// What should come back.
    pub expected: Expected,
}

/// What a row says should come back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The verdict.
    pub verdict: Verdict,
    /// The id of the step that settles it, if the row cares.
    pub step: Option<String>,
    /// A part of the message, if the row cares.
    pub because: Option<String>,
    /// The rule that settles it, if the row cares.
    pub rule: Option<String>,
}

/// A place in a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At {
    /// The page's name.
    pub page: String,
    /// The line, from 1.
    pub line: usize,
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.page, self.line)
    }
}

/// Something in a page that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {what}")]
pub struct Problem {
    /// Where.
    pub at: At,
    /// What is wrong, and what to do.
    pub what: String,
}

/// Reads a page.
pub fn read(name: &str, text: &str) -> Page {
    let mut page = Page::default();
    let mut scope = Scope::default();
    for block in markdown::blocks(text) {
        match block {
            Block::Heading { level } => scope.enter(level),
            Block::Json { line, text } => match fields(&text) {
                Ok(fields) => scope.set(fields),
                Err(what) => page.problems.push(Problem { at: at(name, line), what }),
            },
            Block::Table(table) => read_table(name, &table, &scope, &mut page),
        }
    }
    page
}

pub(super) fn at(page: &str, line: usize) -> At {
    At { page: page.to_owned(), line }
}

/// The fields of a JSON block: a policy on its own is short for the user's settings.
fn fields(text: &str) -> Result<Map<String, Value>, String> {
    let value = serde_json::from_str(text).map_err(|error| {
        format!("this JSON cannot be read: {error}\nhelp: a block that is no policy is fenced as `text`")
    })?;
    let Value::Object(object) = value else {
        return Err("a policy is an object\nhelp: a block that is no policy is fenced as `text`".to_owned());
    };
    let is_policy = object.contains_key("permissions") || !object.keys().any(|key| FIELDS.contains(&key.as_str()));
    if is_policy {
        return Ok(Map::from_iter([("settings".to_owned(), Value::Object(object))]));
    }
    match object.keys().find(|key| !FIELDS.contains(&key.as_str())) {
        Some(unknown) => {
            Err(format!("`{unknown}` is no field of the batch format\nhelp: one of {}", FIELDS.join(", ")))
        }
        None => Ok(object),
    }
}

/// The blocks that hold at a place: those of the section, then those of the sections around it.
#[derive(Default)]
struct Scope {
    by_level: BTreeMap<usize, Map<String, Value>>,
    level: usize,
}

impl Scope {
    /// A heading ends every section of its level and below.
    fn enter(&mut self, level: usize) {
        self.by_level.retain(|set_at, _| *set_at < level);
        self.level = level;
    }

    /// A later block of a section takes the place of the earlier one.
    fn set(&mut self, fields: Map<String, Value>) {
        self.by_level.insert(self.level, fields);
    }

    /// Inner sections win, field by field.
    fn fields(&self) -> Map<String, Value> {
        self.by_level.values().flatten().map(|(key, value)| (key.clone(), value.clone())).collect()
    }
}

fn read_table(page_name: &str, table: &Table, scope: &Scope, page: &mut Page) {
    let names: Vec<String> = table.head.iter().map(|title| markdown::plain(title).to_lowercase()).collect();
    let is_test = ["call", "verdict"].iter().all(|needed| names.iter().any(|name| name == needed));
    if !is_test {
        return;
    }
    let known = |name: &str| {
        matches!(name, "call" | "verdict" | "step" | "because" | "rule")
            || REMARKS.contains(&name)
            || FIELDS.contains(&name)
    };
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        let what = format!(
            "`{unknown}` is no column of a test table\nhelp: call, verdict, step, because, rule, {}, {}",
            REMARKS.join(", "),
            FIELDS.join(", ")
        );
        return page.problems.push(Problem { at: at(page_name, table.line), what });
    }
    for (line, cells) in &table.rows {
        if cells.len() > names.len() {
            let what = "the row has more cells than the head\nhelp: a pipe in a cell is written `\\|`".to_owned();
            page.problems.push(Problem { at: at(page_name, *line), what });
            continue;
        }
        let cells: BTreeMap<&str, &str> =
            names.iter().map(String::as_str).zip(cells.iter().map(String::as_str)).collect();
        match read_row(&cells, scope.fields()) {
            Ok((request, expected)) => {
                let at = at(page_name, *line);
                page.rows.push(Row { request: with_id(request, &at), at, text: written(&names, &cells), expected });
            }
            Err(what) => page.problems.push(Problem { at: at(page_name, *line), what }),
        }
    }
}

fn with_id(mut request: Map<String, Value>, at: &At) -> Value {
    request.insert("id".to_owned(), Value::String(at.to_string()));
    Value::Object(request)
}

/// The row for people, in the order of its columns.
fn written(names: &[String], cells: &BTreeMap<&str, &str>) -> String {
    let texts = names.iter().filter_map(|name| cells.get(name.as_str()));
    texts.filter(|text| !text.is_empty()).copied().collect::<Vec<_>>().join(" | ")
}

fn read_row(
    cells: &BTreeMap<&str, &str>,
    mut request: Map<String, Value>,
) -> Result<(Map<String, Value>, Expected), String> {
    let text = |column: &str| cells.get(column).map(|cell| markdown::plain(cell)).filter(|text| !text.is_empty());
    let (tool, input) = call::read(cells.get("call").copied().unwrap_or_default())?;
    for field in FIELDS {
        if let Some(value) = text(field) {
            request.insert(field.to_owned(), serde_json::from_str(&value).unwrap_or(Value::String(value)));
        }
    }
    request.insert("tool".to_owned(), Value::String(tool));
    request.insert("input".to_owned(), input);
    let expected = Expected {
        verdict: verdict(&text("verdict").unwrap_or_default())?,
        step: text("step"),
        because: text("because"),
        rule: text("rule"),
    };
    Ok((request, expected))
}

/// The verdict of a word.
pub(super) fn verdict(word: &str) -> Result<Verdict, String> {
    let verdict = Verdict::ALL.into_iter().find(|verdict| verdict.word() == word);
    verdict.ok_or_else(|| format!("`{word}` is no verdict\nhelp: one of allow, ask, deny"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PAGE: &str = "\
# Title

```json
{\"home\": \"/home/u\", \"cwd\": \"/w\"}
```

## One

Prose, and a table that is no test:

| tool | reads |
| --- | --- |
| Read | yes |

```json
{\"permissions\": {\"allow\": [\"Bash(npm:*)\"]}}
```

| call | mode | verdict | step | because | note |
| --- | --- | --- | --- | --- | --- |
| `npm test` |  | allow | 2b | `npm` | |
| `a \\| b` | plan | ask | | | a pipe |

## Two

| call | unattended | verdict |
|---|:-:|--:|
| Read: src/a.rs | true | allow |
";

    #[test]
    fn a_page_gives_rows_with_what_holds_for_them() {
        let page = read("p.md", PAGE);
        assert_eq!(page.problems, []);
        let requests: Vec<_> = page.rows.iter().map(|row| row.request.clone()).collect();
        let policy = json!({"permissions": {"allow": ["Bash(npm:*)"]}});
        assert_eq!(
            requests,
            [
                json!({"id": "p.md:21", "home": "/home/u", "cwd": "/w", "settings": policy.clone(),
                    "tool": "Bash", "input": {"command": "npm test"}}),
                json!({"id": "p.md:22", "home": "/home/u", "cwd": "/w", "settings": policy, "mode": "plan",
                    "tool": "Bash", "input": {"command": "a | b"}}),
                json!({"id": "p.md:28", "home": "/home/u", "cwd": "/w", "unattended": true,
                    "tool": "Read", "input": {"file_path": "src/a.rs"}}),
            ]
        );
        let first = &page.rows[0].expected;
        assert_eq!((first.step.as_deref(), first.because.as_deref()), (Some("2b"), Some("npm")));
        assert_eq!(page.rows[1].expected, Expected { verdict: Verdict::Ask, step: None, because: None, rule: None });
    }

    #[track_caller]
    fn check_problem(text: &str, line: usize, part: &str) {
        let page = read("p.md", text);
        assert_eq!(page.rows, []);
        let [problem] = page.problems.as_slice() else { panic!("{:?}", page.problems) };
        assert_eq!(problem.at, at("p.md", line));
        assert!(problem.what.contains(part), "{problem}");
    }

    #[test]
    fn what_cannot_be_read_is_a_problem_and_never_skipped() {
        check_problem("| call | verdikt | verdict |\n|-|-|-|\n| `ls` | allow | allow |", 1, "`verdikt` is no column");
        check_problem("| call | verdict |\n|-|-|\n| `ls` | allowed |", 3, "`allowed` is no verdict");
        check_problem("| call | verdict |\n|-|-|\n| `ls` | |", 3, "`` is no verdict");
        check_problem("| call | verdict |\n|-|-|\n| ls | allow |", 3, "neither");
        check_problem("| call | verdict |\n|-|-|\n| `a | b` | allow |", 3, "more cells");
        check_problem("```json\n{\"mode\": \"plan\",}\n```", 1, "cannot be read");
        check_problem("```json\n{\"mode\": \"plan\", \"cmd\": 1}\n```", 1, "`cmd` is no field");
        check_problem("```json\n[]\n```", 1, "is an object");
    }

    #[test]
    fn a_later_block_of_a_section_takes_the_place_of_the_earlier_one() {
        let text = "## S\n```json\n{\"mode\":\"plan\"}\n```\n```json\n{\"cwd\":\"/w\"}\n```\n|call|verdict|\n|-|-|\n|`ls`|ask|\n";
        let page = read("p.md", text);
        assert_eq!(page.rows[0].request["cwd"], "/w");
        assert_eq!(page.rows[0].request.get("mode"), None);
    }
}
