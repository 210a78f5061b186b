//! Cline. Everything here is documented, nothing recorded.
//!
//! - The only answer is `cancel`, which blocks the call and halts the task until a person resumes it. It cannot ask,
//!   so a question becomes a denial: the person who is shown it decides by resuming or by a rule.
//! - It cannot be given a changed input.
//! - Two versions of the documentation name the tool and the workspace differently; both are read.
//! - A path that starts with `@` may name another workspace folder: which one, only the client knows.
//! - A hook that breaks or is late (30 seconds) is ignored. Only `cancel` blocks.

use std::path::PathBuf;
use std::time::Duration;

use mayi_core::call::Call;
use mayi_core::verdict::Verdict;
use serde_json::{Value, json};

use crate::adapter::{Changes, Dialect, Event, Foreign, Message, Reply, Surroundings, Told};
use crate::dialect::{envelope, wording};
use crate::translate::catalogue::CLINE;
use crate::translate::{McpNames, Tongue, mcp_name};

const NAME: &str = "cline";
const TITLE: &str = "Cline";
const TONGUE: Tongue = Tongue { agent: NAME, tools: CLINE, mcp: McpNames::ItsOwn };

pub(super) const DIALECT: Dialect = Dialect {
    name: NAME,
    title: TITLE,
    read,
    write,
    refuse,
    deadline: Duration::from_secs(25),
    changes: Changes::Never,
    notice: None,
};

/// What other documented messages are about.
const OTHERS: [&str; 6] = ["taskStart", "taskResume", "taskCancel", "taskComplete", "userPromptSubmit", "preCompact"];

fn read(value: &Value, _: &Surroundings<'_>) -> Result<Message, Foreign> {
    let (event, word) = happened(value)?;
    let message = Message {
        session: envelope::text(value, "taskId").unwrap_or_default().to_owned(),
        directory: project(value),
        ..envelope::blank(event, word)
    };
    match value.get(word).filter(|_| event != Event::Other) {
        Some(about) => envelope::whole(NAME, called(about, message)?),
        None => envelope::whole(NAME, message),
    }
}

/// What a message is about. One that names a call to be decided is that, whatever else it holds: a member that is empty
/// or comes in addition must not make it a report of something that has happened.
fn happened(value: &Value) -> Result<(Event, &'static str), Foreign> {
    let about = |member: &str| value.get(member).filter(|about| !about.is_null());
    let is_named = envelope::text(value, "hookName").is_some_and(|name| name.eq_ignore_ascii_case("preToolUse"));
    if is_named || about("preToolUse").is_some() {
        return Ok((Event::Before, "preToolUse"));
    }
    if let Some(after) = about("postToolUse") {
        let failed = after.get("success") == Some(&Value::Bool(false));
        return Ok((if failed { Event::Failed } else { Event::After }, "postToolUse"));
    }
    let other = OTHERS.into_iter().find(|other| about(other).is_some()).map(|other| (Event::Other, other));
    other.ok_or_else(|| Foreign { agent: NAME, problem: "it does not say what happened".to_owned() })
}

fn project(value: &Value) -> Option<PathBuf> {
    let root = value.pointer("/workspaceRoots/0").and_then(Value::as_str).filter(|root| !root.is_empty());
    root.map(PathBuf::from).or_else(|| envelope::folder(value, "workspacePath"))
}

fn called(about: &Value, message: Message) -> Result<Message, Foreign> {
    let (newer, older) = (envelope::text(about, "toolName"), envelope::text(about, "tool"));
    if newer.is_some() && older.is_some() && newer != older {
        return Err(Foreign { agent: NAME, problem: "it names two tools".to_owned() });
    }
    let tool = newer.or(older).unwrap_or_default().to_owned();
    let original = Call { tool, input: about.get("parameters").cloned().unwrap_or_default() };
    let message = Message { original, response: about.get("result").cloned(), ..message };
    if message.original.tool == "use_mcp_tool" {
        let calls = vec![of_server(&message.original)];
        return Ok(Message { calls, ..message });
    }
    if message.original.text("path").is_some_and(|path| path.starts_with('@')) {
        let calls = vec![TONGUE.unknown(&message.original)];
        return Ok(Message { calls, ..message });
    }
    Ok(envelope::translated(&TONGUE, message))
}

/// A call of an MCP tool, whose arguments are JSON in a text.
fn of_server(original: &Call) -> Call {
    let name = original.text("server_name").zip(original.text("tool_name"));
    let Some(tool) = name.and_then(|(server, tool)| mcp_name(server, tool)) else { return TONGUE.unknown(original) };
    let arguments = original.input.get("arguments").cloned().unwrap_or_default();
    let inside = arguments.as_str().and_then(|text| serde_json::from_str(text).ok());
    Call { tool, input: inside.unwrap_or(arguments) }
}

fn write(message: &Message, told: &Told) -> Reply {
    match message.event {
        Event::Before => before(message, told),
        Event::Request | Event::Denied | Event::After | Event::Failed | Event::Other => going_on(told),
    }
}

fn before(message: &Message, told: &Told) -> Reply {
    match (wording::verdict(told), &told.changed) {
        (Verdict::Allow, None) => going_on(told),
        (Verdict::Allow, Some(_)) => cancelled(&wording::instead_of_changing(TITLE, &told.reason)),
        (Verdict::Ask, None) if wording::speaks_to_a_person(message) => going_on(told),
        (Verdict::Ask, _) => cancelled(&wording::instead_of_asking(TITLE, told)),
        (Verdict::Deny, _) => cancelled(&wording::reason(&told.reason)),
    }
}

fn going_on(told: &Told) -> Reply {
    let context = wording::remarks(told).map(|context| json!({ "contextModification": context }));
    wording::said(&wording::joined(json!({ "cancel": false }), context.unwrap_or_default()))
}

/// The person reads the error; the model reads the context.
fn cancelled(reason: &str) -> Reply {
    wording::said(&json!({ "cancel": true, "errorMessage": reason, "contextModification": reason }))
}

fn refuse(_: Verdict, reason: &str) -> Reply {
    cancelled(&wording::reason(reason))
}
