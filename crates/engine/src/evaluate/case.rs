//! Labelled cases: JSON lines of the batch format with a label, and what was said and done before. A file may hold
//! comments (`#`) and empty lines. What is wrong with a line is said with its number; no line is guessed at.

use std::collections::HashMap;
use std::fmt;

use mayi_core::call::{Call, Workspace};
use mayi_core::catalogue;
use mayi_core::mode::Mode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::batch::{Classifier, Line};

/// The directory and home of cases that name none.
const DIRECTORY: &str = "/home/u/app";
const HOME: &str = "/home/u";

/// How a person labelled a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Label {
    /// It should be stopped.
    Block,
    /// It should run.
    #[serde(rename = "allow")]
    Run,
    /// Reasonable people differ: somebody should look.
    Unsure,
}

/// A case: a call, its label, and what came before it.
#[derive(Debug)]
pub struct Case {
    /// Its name.
    pub id: String,
    /// The category or exception it is about.
    pub category: String,
    /// The label.
    pub label: Label,
    /// The label holds only for somebody who read what was said before: the static layers do not.
    pub needs_model: bool,
    /// What was said and done before, oldest first.
    pub context: Vec<Before>,
    /// Its file and line.
    pub place: (String, usize),
    pub(super) line: Line,
}

/// What came before a call, written as a transcript has it: `{"user": "…"}`, `{"Bash": "…"}`.
#[derive(Clone, Debug, PartialEq)]
pub enum Before {
    /// The user said this.
    Said(String),
    /// The agent called this.
    Called(Call),
}

impl Case {
    /// The call under judgement.
    pub fn call(&self) -> Call {
        Call::new(&self.line.tool, self.line.input.clone())
    }

    /// Where the session works.
    pub fn workspace(&self) -> Workspace {
        let workspace = Workspace::at(self.line.cwd.as_deref().unwrap_or(DIRECTORY));
        workspace.with_home(self.line.home.as_deref().unwrap_or(HOME))
    }
}

/// A line that is no case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BadCase {
    /// The file.
    pub file: String,
    /// Its number in the file, from one.
    pub line: usize,
    /// What is wrong.
    pub problem: String,
}

impl fmt::Display for BadCase {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}", self.file, self.line, self.problem)
    }
}

/// What a line says beside the call.
#[derive(Deserialize)]
struct Marks {
    #[serde(default)]
    id: Value,
    category: Option<String>,
    label: Value,
    needs: Option<Value>,
    #[serde(default)]
    context: Vec<Map<String, Value>>,
}

/// A file of cases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name, for people.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// The cases of files, in order, and their bad lines.
pub fn read(files: &[File]) -> (Vec<Case>, Vec<BadCase>) {
    let (mut cases, mut bad) = (Vec::<Case>::new(), Vec::new());
    let mut seen: HashMap<String, String> = HashMap::new();
    for File { name, text } in files {
        for (index, text) in text.lines().enumerate() {
            let line = index + 1;
            let text = text.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let place = (name.clone(), line);
            let case =
                case(text, place).and_then(|case| match seen.insert(case.id.clone(), format!("{name}:{line}")) {
                    None => Ok(case),
                    Some(first) => Err(format!("the id `{}` is that of {first} already", case.id)),
                });
            match case {
                Ok(case) => cases.push(case),
                Err(problem) => bad.push(BadCase { file: name.clone(), line, problem }),
            }
        }
    }
    (cases, bad)
}

fn case(text: &str, place: (String, usize)) -> Result<Case, String> {
    let shape = |error: serde_json::Error| format!("not a labelled case: {error}");
    let marks: Marks = serde_json::from_str(text).map_err(shape)?;
    let mut line: Line = serde_json::from_str(text).map_err(shape)?;
    line.mode = Some(line.mode.unwrap_or(Mode::Auto));
    line.cwd.get_or_insert_with(|| DIRECTORY.to_owned());
    line.home.get_or_insert_with(|| HOME.to_owned());
    line.classifier = Some(Classifier::None);
    Ok(Case {
        id: match marks.id {
            Value::Null => format!("{}:{}", place.0, place.1),
            Value::String(id) => id,
            other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => other.to_string(),
        },
        category: marks.category.unwrap_or_else(|| "none".to_owned()),
        label: label(&marks.label)?,
        needs_model: needs(marks.needs.as_ref())?,
        context: marks.context.into_iter().map(before).collect::<Result<_, _>>()?,
        place,
        line,
    })
}

/// One line of context: one member, named for the user or for a tool. A text alone is what the tool is about.
fn before(line: Map<String, Value>) -> Result<Before, String> {
    let mut members = line.into_iter();
    match (members.next(), members.next()) {
        (Some((name, Value::String(words))), None) if name == "user" => Ok(Before::Said(words)),
        (Some((name, _)), None) if name == "user" => Err("in `context`, what the user said is no text".to_owned()),
        (Some((tool, input)), None) => {
            let field = catalogue::built_in(catalogue::present_name(&tool)).and_then(|tool| tool.field);
            let input = match field.filter(|_| input.is_string()) {
                Some(field) => json!({ field: input }),
                None => input,
            };
            Ok(Before::Called(Call::new(&tool, input)))
        }
        (None, _) | (_, Some(_)) => {
            let help = r#"{"user": "…"} for the user's words, {"Bash": "…"} for a call"#;
            Err(format!("a line of `context` has not exactly one member\nhelp: {help}"))
        }
    }
}

fn label(value: &Value) -> Result<Label, String> {
    Label::deserialize(value).map_err(|_| format!("{value} is no label\nhelp: one of block, allow, unsure"))
}

fn needs(value: Option<&Value>) -> Result<bool, String> {
    match value {
        None => Ok(false),
        Some(Value::String(word)) if word == "model" => Ok(true),
        Some(other) => Err(format!("{other} is nothing a case can need\nhelp: leave `needs` out, or write \"model\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> (Vec<Case>, Vec<BadCase>) {
        read(&[File { name: "f".to_owned(), text: text.to_owned() }])
    }

    #[test]
    fn comments_and_empty_lines_are_passed_over() {
        let (cases, bad) =
            read_text("# title\n\n{\"tool\":\"Bash\",\"input\":{\"command\":\"ls\"},\"label\":\"allow\"}\n");
        assert!(bad.is_empty(), "{bad:?}");
        assert_eq!(cases.iter().map(|case| case.id.as_str()).collect::<Vec<_>>(), ["f:3"]);
        assert_eq!(cases[0].call(), Call::shell("ls"));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let rows = [
            ("{", "not a labelled case"),
            (r#"{"tool":"Bash","input":{}}"#, "missing field `label`"),
            (r#"{"tool":"Bash","input":{},"label":"deny"}"#, "\"deny\" is no label"),
            (r#"{"tool":"Bash","input":{},"label":7}"#, "7 is no label"),
            (r#"{"tool":"Bash","label":"block"}"#, "missing field `input`"),
            (r#"{"tool":"Bash","input":{},"label":"block","needs":"luck"}"#, "\"luck\" is nothing"),
            (r#"{"tool":"Bash","input":{},"label":"block","mode":"fast"}"#, "not a labelled case"),
            (r#"{"tool":"Bash","input":{},"label":"block","context":[{}]}"#, "not exactly one member"),
            (r#"{"tool":"Bash","input":{},"label":"block","context":[{"user":"a","Bash":"b"}]}"#, "not exactly one"),
            (r#"{"tool":"Bash","input":{},"label":"block","context":[{"user":{}}]}"#, "what the user said is no text"),
        ];
        for (text, problem) in rows {
            let (cases, bad) = read_text(&format!("\n{text}"));
            assert!(cases.is_empty(), "{text}");
            assert_eq!(bad.len(), 1);
            assert!(bad[0].to_string().starts_with("f:2: "), "{}", bad[0]);
            assert!(bad[0].problem.contains(problem), "{text}: {}", bad[0]);
        }
    }

    #[test]
    fn context_is_the_users_words_and_the_agents_calls() {
        let context = r#"[{"user":"go"},{"Bash":"make"},{"Edit":{"file_path":"a"}},{"mcp__x__y":"z"},{"User":"no"}]"#;
        let (cases, bad) = read_text(&format!(
            r#"{{"tool":"Bash","input":{{"command":"ls"}},"label":"allow","cwd":"/w","context":{context}}}"#
        ));
        assert!(bad.is_empty(), "{bad:?}");
        let expected = [
            Before::Said("go".to_owned()),
            Before::Called(Call::shell("make")),
            Before::Called(Call::new("Edit", json!({"file_path": "a"}))),
            Before::Called(Call::new("mcp__x__y", json!("z"))),
            Before::Called(Call::new("User", json!("no"))),
        ];
        assert_eq!(cases[0].context, expected);
        assert_eq!(cases[0].workspace(), Workspace::at("/w").with_home(HOME));
    }

    #[test]
    fn an_id_stands_for_one_case_in_all_files() {
        let line = r#"{"id":"a","tool":"Bash","input":{"command":"ls"},"label":"allow"}"#;
        let file = |name: &str| File { name: name.to_owned(), text: line.to_owned() };
        let (cases, bad) = read(&[file("f"), file("g")]);
        assert_eq!((cases.len(), bad.len()), (1, 1));
        assert_eq!(bad[0].to_string(), "g:1: the id `a` is that of f:1 already");
    }
}
