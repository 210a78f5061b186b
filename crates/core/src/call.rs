//! A call: what the agent wants to do. Plain data, nothing is judged here.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::catalogue;

/// One tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// The tool's present name.
    pub tool: String,
    /// Its input, as the agent sent it.
    pub input: Value,
}

impl Call {
    /// A call of `tool`; old tool names are rewritten.
    pub fn new(tool: &str, input: Value) -> Self {
        Self { tool: catalogue::present_name(tool).to_owned(), input }
    }

    /// A shell command.
    pub fn shell(command: &str) -> Self {
        Self::new("Bash", serde_json::json!({ "command": command }))
    }

    /// A field's text, if it is there and is text.
    pub fn text(&self, field: &str) -> Option<&str> {
        self.input.get(field).and_then(Value::as_str)
    }

    /// A scalar field as rules compare it: text as it is, numbers and booleans as JSON writes them.
    pub fn scalar(&self, field: &str) -> Option<String> {
        match self.input.get(field)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(flag) => Some(flag.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// A field that is the literal `true`.
    pub fn is_set(&self, field: &str) -> bool {
        self.input.get(field) == Some(&Value::Bool(true))
    }
}

/// Where a session works: everything a relative path, a `~` or an anchor is resolved against.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Workspace {
    /// The working directory: absolute, cleaned.
    pub directory: String,
    /// The user's home, when known.
    pub home: Option<String>,
    /// Directories added by flag, settings or answer: absolute, cleaned.
    pub added: Vec<String>,
    /// Where a call runs that runs elsewhere: a lead is asked about the calls of a child in the child's directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<String>,
}

impl Workspace {
    /// A workspace with nothing but a directory.
    pub fn at(directory: &str) -> Self {
        Self { directory: crate::path::clean(directory), ..Self::default() }
    }

    /// The same with a home.
    pub fn with_home(mut self, home: &str) -> Self {
        self.home = Some(crate::path::clean(home));
        self
    }

    /// Where a call runs: what relative paths start from.
    pub fn here(&self) -> &str {
        self.elsewhere.as_deref().unwrap_or(&self.directory)
    }

    /// The working directory, then the added ones.
    pub fn directories(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.directory.as_str()).chain(self.added.iter().map(String::as_str))
    }

    /// Whether an absolute, clean path lies in a working directory.
    pub fn holds(&self, path: &str) -> bool {
        self.directories().any(|directory| crate::path::is_within(path, directory))
    }
}
