//! Reading messages: the fields that most agents name alike, and what is the same for all.
//!
//! Nothing here fails on an odd message: what is missing is left empty, and only a call without a tool is refused.

use std::path::PathBuf;

use mayi_core::call::Call;
use mayi_core::mode::Mode;
use serde_json::Value;

use crate::adapter::{Child, Event, Foreign, Message};
use crate::translate::Tongue;

/// A field's text.
pub(super) fn text<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value.get(field).and_then(Value::as_str)
}

/// The text of the first of several fields that has one and is not empty.
pub(super) fn first_text<'a>(value: &'a Value, fields: &[&str]) -> Option<&'a str> {
    fields.iter().filter_map(|field| text(value, field)).find(|text| !text.is_empty())
}

/// A message with nothing in it but what happened.
pub(super) fn blank(event: Event, named: &str) -> Message {
    Message {
        event,
        named: named.to_owned(),
        session: String::new(),
        calls: Vec::new(),
        original: Call { tool: String::new(), input: Value::Null },
        call_id: None,
        mode: None,
        attendance: None,
        directory: None,
        transcript: None,
        child: None,
        response: None,
        denial: None,
        begins: false,
    }
}

/// A message in the widespread form: `session_id`, `cwd`, `transcript_path`, `tool_name`, `tool_input` and so on.
/// The calls are for the dialect to fill in.
pub(super) fn opened(value: &Value, event: Event, named: &str) -> Message {
    Message {
        session: text(value, "session_id").unwrap_or_default().to_owned(),
        original: call(value, "tool_name", "tool_input"),
        call_id: text(value, "tool_use_id").map(str::to_owned),
        mode: mode(value, "permission_mode"),
        directory: folder(value, "cwd"),
        transcript: folder(value, "transcript_path"),
        child: text(value, "agent_id")
            .map(|id| Child { id: id.to_owned(), kind: text(value, "agent_type").map(str::to_owned) }),
        response: value.get("tool_response").cloned(),
        denial: text(value, "reason").filter(|_| event == Event::Denied).map(str::to_owned),
        begins: named == "SessionStart" && matches!(text(value, "source"), Some("startup" | "resume")),
        ..blank(event, named)
    }
}

/// The tool and its input, as they were sent.
pub(super) fn call(value: &Value, tool: &str, input: &str) -> Call {
    let tool = text(value, tool).unwrap_or_default().to_owned();
    Call { tool, input: value.get(input).cloned().unwrap_or_default() }
}

/// A field with a path, unless it is empty.
pub(super) fn folder(value: &Value, field: &str) -> Option<PathBuf> {
    first_text(value, &[field]).map(PathBuf::from)
}

/// The mode in a field. A word that is no mode of ours counts as the default, never as what settings would choose.
pub(super) fn mode(value: &Value, field: &str) -> Option<Mode> {
    let word = value.get(field).filter(|word| !word.is_null())?;
    Some(word.as_str().and_then(|word| word.parse().ok()).unwrap_or_default())
}

/// The message with its calls, in the words of an agent whose tools have other names than ours.
pub(super) fn translated(tongue: &Tongue, message: Message) -> Message {
    if message.original.tool.is_empty() {
        return message;
    }
    let base = message.directory.as_ref().and_then(|directory| directory.to_str());
    let calls = tongue.calls(&message.original, base);
    Message { calls, ..message }
}

/// The message, unless something is to be decided and nobody can tell about what.
pub(super) fn whole(agent: &'static str, message: Message) -> Result<Message, Foreign> {
    let decides = match message.event {
        Event::Before | Event::Request | Event::Denied => true,
        Event::After | Event::Failed | Event::Other => false,
    };
    if decides && message.calls.is_empty() {
        return Err(Foreign { agent, problem: format!("`{}` names no tool", message.named) });
    }
    Ok(message)
}

/// The fields in which agents name an event in the widespread form.
pub(super) const EVENT_NAMES: [&str; 3] = ["hook_event_name", "hookEventName", "hookName"];

/// Fields of which any tells that a message is about a tool.
const TOOL_SIGNS: [&str; 5] = ["tool_name", "toolName", "tool_input", "toolInput", "toolArgs"];

/// The word in a field that says what happened.
pub(super) fn event_word<'a>(agent: &'static str, value: &'a Value, field: &str) -> Result<&'a str, Foreign> {
    let missing = || Foreign { agent, problem: format!("it does not say what happened (`{field}`)") };
    let word = text(value, field).ok_or_else(missing)?;
    // One of two names may be that of a call to be decided.
    let differs = |other: &&str| text(value, other).is_some_and(|other| other != word);
    if EVENT_NAMES.contains(&field) && EVENT_NAMES.iter().any(differs) {
        return Err(Foreign { agent, problem: "it names two events".to_owned() });
    }
    Ok(word)
}

/// Whether a message holds anything that only messages about tools hold.
pub(super) fn is_about_a_tool(value: &Value) -> bool {
    TOOL_SIGNS.iter().any(|sign| value.get(sign).is_some())
}

/// What an unknown event is. One that is about a tool may be a question in new words, so it is no message of ours.
pub(super) fn unknown_event(agent: &'static str, word: &str, value: &Value) -> Result<Event, Foreign> {
    if is_about_a_tool(value) {
        return Err(Foreign { agent, problem: format!("`{word}` is an unknown event about a tool") });
    }
    Ok(Event::Other)
}

/// The value that several fields agree on: an error when two of them differ, because nobody can tell which counts.
pub(super) fn agreed<'a>(agent: &'static str, value: &'a Value, fields: &[&str]) -> Result<Option<&'a Value>, Foreign> {
    let mut there = fields.iter().filter_map(|field| value.get(field)).filter(|value| !value.is_null());
    let first = there.next();
    if there.any(|other| Some(other) != first) {
        let names: Vec<String> = fields.iter().map(|field| format!("`{field}`")).collect();
        return Err(Foreign { agent, problem: format!("{} say different things", names.join(" and ")) });
    }
    Ok(first)
}
