//! Lists of tools: what the agent is shown of them, and what the server wishes for them. Tools that are denied outright
//! are left out; everything else about a list stays as the server wrote it.

use std::collections::HashSet;

use serde_json::Value;

use super::counter::Counter;
use super::naming;
use super::wire::Message;

/// A server's wish that a person sees every call of a tool. It can only make a call stricter.
const NEEDS_PERSON: &str = "anthropic/requiresUserInteraction";

/// What the server has said of its tools so far.
#[derive(Default)]
pub(crate) struct Tools {
    listed: HashSet<String>,
    /// In a form that is the same for every writing of a name: a server may be careless about it.
    need_person: HashSet<String>,
}

impl Tools {
    /// Takes in a list, or a page of one. False when it is none.
    pub(crate) fn learn(&mut self, result: &Value) -> bool {
        let Some(tools) = result.get("tools").and_then(Value::as_array) else { return false };
        for tool in tools {
            let name = name(tool);
            self.listed.insert(name.to_owned());
            if tool.get("_meta").and_then(|meta| meta.get(NEEDS_PERSON)) == Some(&Value::Bool(true)) {
                self.need_person.insert(alike(name));
            }
        }
        true
    }

    /// The list has changed, so tools must be looked up again. A wish for a person stays.
    pub(crate) fn forget(&mut self) {
        self.listed.clear();
    }

    /// Whether a tool was in a list.
    pub(crate) fn has(&self, tool: &str) -> bool {
        self.listed.contains(tool)
    }

    /// Whether the server wants a person to see every call of a tool.
    pub(crate) fn needs_person(&self, tool: &str) -> bool {
        self.need_person.contains(&alike(tool))
    }
}

fn name(tool: &Value) -> &str {
    tool.get("name").and_then(Value::as_str).unwrap_or_default()
}

fn alike(name: &str) -> String {
    naming::plain(name.trim()).to_ascii_lowercase()
}

/// The answer to `tools/list` as the agent gets it. One that is no list of tools is passed on as it is.
pub(crate) fn shown(message: Message, mut result: Value, counter: &Counter) -> Message {
    let Some(tools) = result.get_mut("tools").and_then(Value::as_array_mut) else { return message };
    let before = tools.len();
    tools.retain(|tool| !counter.hides(name(tool)));
    if tools.len() == before { message } else { message.with_result(result).unwrap_or(message) }
}
