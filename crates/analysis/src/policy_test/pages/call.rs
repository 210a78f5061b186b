//! The `call` column: a shell command in backticks, `Tool {json}`, or `Tool: value of its primary field`.

use mayi_core::catalogue;
use serde_json::{Map, Value};

use super::markdown;

/// The tool and the input that a cell names.
pub(in crate::policy_test) fn read(cell: &str) -> Result<(String, Value), String> {
    let code = markdown::code(cell);
    let text = code.unwrap_or(cell);
    if let Some(call) = with_input(text).or_else(|| with_primary(text)) {
        return Ok(call);
    }
    match code {
        Some(command) => Ok(("Bash".to_owned(), field("command", command))),
        None => Err(format!(
            "`{cell}` is neither a command in backticks nor a tool with its input\n\
             help: `git status`, `Read: src/a.rs` or `Skill {{\"skill\": \"deploy\"}}`"
        )),
    }
}

/// `Tool {json}`, for any name that no program is likely to have.
fn with_input(text: &str) -> Option<(String, Value)> {
    let (name, input) = text.split_once(' ')?;
    let is_tool = catalogue::built_in(catalogue::present_name(name)).is_some()
        || name.starts_with("mcp__")
        || name.starts_with(|first: char| first.is_ascii_uppercase());
    let input = serde_json::from_str::<Value>(input).ok().filter(|_| is_tool)?;
    Some((name.to_owned(), input))
}

/// `Tool: value`, for tools that are known to have a primary field.
fn with_primary(text: &str) -> Option<(String, Value)> {
    let (name, value) = text.split_once(": ")?;
    let primary = catalogue::built_in(catalogue::present_name(name))?.field?;
    Some((name.to_owned(), field(primary, value.trim())))
}

fn field(name: &str, value: &str) -> Value {
    Value::Object(Map::from_iter([(name.to_owned(), Value::String(value.to_owned()))]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(cell: &str, tool: &str, input: Value) {
        assert_eq!(read(cell), Ok((tool.to_owned(), input)), "{cell}");
    }

    #[test]
    fn commands_and_tools_are_told_apart() {
        check("`git status`", "Bash", json!({"command": "git status"}));
        check("`echo {1,2}`", "Bash", json!({"command": "echo {1,2}"}));
        check("`FOO=1 make`", "Bash", json!({"command": "FOO=1 make"}));
        check("`` echo `date` ``", "Bash", json!({"command": "echo `date`"}));
        check("`Read: src/a.rs`", "Read", json!({"file_path": "src/a.rs"}));
        check("Edit: src/a b.rs", "Edit", json!({"file_path": "src/a b.rs"}));
        check("WebFetch: https://example.com/x", "WebFetch", json!({"url": "https://example.com/x"}));
        check("`Bash {\"command\": \"a\\nb\"}`", "Bash", json!({"command": "a\nb"}));
        check("`mcp__db__query {}`", "mcp__db__query", json!({}));
        check("Frobnicate {}", "Frobnicate", json!({}));
        check("Read \"no object\"", "Read", json!("no object"));
    }

    #[test]
    fn a_bare_word_is_no_call() {
        assert!(read("git status").is_err());
        assert!(read("").is_err());
        assert!(read("TodoWrite: x").is_err());
    }
}
