//! What agents call their tools: the tables of `data/tools.toml`, compiled in.

/// Where an entry was learnt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Seen in a message of the real client.
    Recorded,
    /// Read in the client's public documentation.
    Documented,
    /// Named in public reports of its users.
    Reported,
}

/// How a tool's input is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Fields, perhaps under other names.
    Plain,
    /// A command, as a text or as a list of words. A patch may be given to it.
    Words,
    /// A patch of several files.
    Patch,
    /// Prose with URLs in it.
    Urls,
}

/// A tool of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    /// The agent's name for it.
    pub name: &'static str,
    /// Our name for it.
    pub is: &'static str,
    /// Where that was learnt.
    pub learnt: Source,
    /// How its input is written.
    pub shape: Shape,
    /// Our fields, each with the agent's names for it.
    pub fields: &'static [(&'static str, &'static [&'static str])],
    /// The agent's fields with a working directory of the call's own.
    pub directory: &'static [&'static str],
    /// Fields that make it something else.
    pub unless: &'static [&'static str],
}

mod data {
    use super::{Named, Shape, Source};
    include!(concat!(env!("OUT_DIR"), "/tools.rs"));
}

pub(crate) use data::{CLINE, CODEX, COPILOT, CURSOR, GEMINI, GOOSE, OPENCODE};

/// The tables, each with the agent's name on the command line.
pub const AGENTS: &[(&str, &[Named])] = &[
    ("codex", CODEX),
    ("gemini", GEMINI),
    ("copilot", COPILOT),
    ("cursor", CURSOR),
    ("opencode", OPENCODE),
    ("cline", CLINE),
    ("goose", GOOSE),
];

/// A tool by the agent's name for it, letter by letter.
pub(crate) fn find(tools: &'static [Named], name: &str) -> Option<&'static Named> {
    let found = tools.binary_search_by(|tool| tool.name.cmp(name)).ok()?;
    tools.get(found)
}
