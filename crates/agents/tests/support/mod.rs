//! What the tests of the dialects share: messages read and answers written by an agent's name.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::path::PathBuf;

use mayi_agents::adapter::{Foreign, Surroundings};
use mayi_agents::{Dialect, Message, Reply, Told, dialect};
use mayi_core::call::Call;
use mayi_core::verdict::Verdict;
use serde_json::Value;

pub(crate) fn speaker(agent: &str) -> &'static Dialect {
    dialect::named(agent).unwrap_or_else(|| panic!("{agent} speaks no dialect"))
}

pub(crate) fn try_read(agent: &str, message: &Value) -> Result<Message, Foreign> {
    let surroundings = Surroundings { variable: &|_| None, directory: PathBuf::from("/p") };
    (speaker(agent).read)(message, &surroundings)
}

pub(crate) fn read(agent: &str, message: &Value) -> Message {
    try_read(agent, message).unwrap_or_else(|foreign| panic!("{foreign}: {message}"))
}

pub(crate) fn answer(agent: &str, message: &Value, told: &Told) -> Reply {
    (speaker(agent).write)(&read(agent, message), told)
}

/// The answer as JSON; `null` where there is none.
pub(crate) fn answered(agent: &str, message: &Value, told: &Told) -> Value {
    let reply = answer(agent, message, told);
    if reply.stdout.is_empty() { Value::Null } else { serde_json::from_str(&reply.stdout).unwrap() }
}

pub(crate) fn told(verdict: Verdict) -> Told {
    Told::new(verdict, "because")
}

pub(crate) fn changed(tool: &str, input: Value) -> Told {
    Told { changed: Some(Call { tool: tool.to_owned(), input }), ..told(Verdict::Allow) }
}
