//! The catalogue of tools: which fields a tool has and which inspection reads them. Data (`data/tools.toml`), plus
//! the tools a user declares in settings.

use serde::{Deserialize, Serialize};

/// Which inspection reads a tool's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Text for a POSIX shell.
    Shell,
    /// Text for PowerShell.
    Powershell,
    /// Reads one file.
    Read,
    /// Lists or searches below a directory.
    Search,
    /// Writes one file.
    Edit,
    /// Fetches a URL.
    Fetch,
    /// Starts another agent.
    Agent,
    /// Runs a skill.
    Skill,
    /// Keeps the agent's own books.
    Books,
    /// Speaks to a person.
    Person,
    /// Nothing is known of it but its name.
    Plain,
}

/// A tool of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tool<'a> {
    /// Its name.
    pub name: &'a str,
    /// Which inspection reads it.
    pub kind: Kind,
    /// The primary field.
    pub field: Option<&'a str>,
    /// On auto mode's safe list.
    pub safe: bool,
    /// Needs a person.
    pub person: bool,
    /// The field with a file pattern, which may lead elsewhere than the primary field.
    pub glob: Option<&'a str>,
    /// Declared scalar fields.
    pub params: &'a [&'a str],
}

/// A tool that a user declares in settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeclaredTool {
    /// Its name.
    pub name: String,
    /// Which inspection reads it.
    pub kind: Kind,
    /// The field with the path, command or URL.
    pub field: Option<String>,
}

type BuiltIn = Tool<'static>;

mod data {
    use super::{BuiltIn as Tool, Kind};
    include!(concat!(env!("OUT_DIR"), "/tools.rs"));
}

/// The built-in tool of that name.
pub fn built_in(name: &str) -> Option<&'static Tool<'static>> {
    let found = data::TOOLS.binary_search_by(|tool| tool.name.cmp(name)).ok()?;
    data::TOOLS.get(found)
}

/// All built-in tools, by name.
pub fn all() -> &'static [Tool<'static>] {
    data::TOOLS
}

/// The present name of a tool that was renamed; any other name as it is.
pub fn present_name(name: &str) -> &str {
    data::OLD_NAMES.iter().find(|(old, _)| *old == name).map_or(name, |(_, present)| present)
}

/// The names that were rewritten, with the present ones.
pub fn old_names() -> &'static [(&'static str, &'static str)] {
    data::OLD_NAMES
}

/// The server of an MCP tool's name: `mcp__SERVER__TOOL`.
pub fn mcp_server(name: &str) -> Option<&str> {
    name.strip_prefix("mcp__")?.split_once("__").map(|(server, _)| server)
}

impl<'a> Tool<'a> {
    /// A tool of which nothing is known but its name.
    pub fn unknown(name: &'a str) -> Self {
        Tool { name, kind: Kind::Plain, field: None, safe: false, person: false, glob: None, params: &[] }
    }

    /// Its input is shell text.
    pub fn runs_commands(&self) -> bool {
        self.kind.runs_commands()
    }
}

impl Kind {
    /// The input of such tools is shell text.
    pub fn runs_commands(self) -> bool {
        matches!(self, Kind::Shell | Kind::Powershell)
    }
}

impl DeclaredTool {
    /// As a tool of the catalogue.
    pub fn as_tool(&self) -> Tool<'_> {
        let person = self.kind == Kind::Person;
        Tool { field: self.field.as_deref(), kind: self.kind, person, ..Tool::unknown(&self.name) }
    }
}
