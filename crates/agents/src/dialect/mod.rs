//! The agents, one file each.

mod claude_code;
mod cline;
mod codex;
mod copilot;
mod cursor;
mod envelope;
mod gemini;
mod generic;
mod goose;
mod opencode;
mod wording;

use crate::adapter::Dialect;

/// Every dialect, in the order they are listed to people.
pub const ALL: &[Dialect] = &[
    claude_code::DIALECT,
    codex::DIALECT,
    gemini::DIALECT,
    copilot::DIALECT,
    cursor::DIALECT,
    opencode::DIALECT,
    cline::DIALECT,
    goose::DIALECT,
    generic::DIALECT,
];

/// The dialect of an agent, by its name on the command line.
pub fn named(name: &str) -> Option<&'static Dialect> {
    ALL.iter().find(|dialect| dialect.name == name)
}
