//! The agents, one file each. To add one, add its file and a line here.

mod claude_code;
mod cline;
mod codex;
mod copilot;
mod cursor;
mod gemini;
mod generic;
mod goose;
mod opencode;

use super::facts::Agent;

/// Every agent, in the order they are listed to people.
pub const ALL: &[&Agent] = &[
    &claude_code::AGENT,
    &codex::AGENT,
    &gemini::AGENT,
    &copilot::AGENT,
    &cursor::AGENT,
    &opencode::AGENT,
    &cline::AGENT,
    &goose::AGENT,
    &generic::AGENT,
];

/// An agent by its name on the command line.
pub fn named(name: &str) -> Option<&'static Agent> {
    ALL.iter().find(|agent| agent.name == name).copied()
}
