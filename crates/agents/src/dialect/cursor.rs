//! Cursor. Everything here is documented or reported, nothing recorded.
//!
//! - Deny is honoured everywhere. Allow does not overrule the client's own lists. Ask is not enforced on `preToolUse`,
//!   not known on `beforeReadFile`, and reported to be ignored on `beforeShellExecution` in auto-review mode: nothing
//!   in a message tells the mode, so a question becomes a denial.
//! - `preToolUse` tells the tool by name, the older events tell it by their own; one call may come as both.
//! - Only `preToolUse` can be given a changed input.
//! - MCP tools come without their server's name. They are called `mcp__unnamed__TOOL`, never by their bare name,
//!   which a server could choose to be one of ours.
//! - A hook that breaks or is late is ignored unless it is installed with `failClosed`. Exit code 2 blocks.

use std::path::{Path, PathBuf};
use std::time::Duration;

use mayi_core::call::Call;
use mayi_core::path;
use mayi_core::verdict::Verdict;
use serde_json::{Value, json};

use crate::adapter::{Changes, Dialect, Event, Foreign, Message, Reply, Surroundings, Told};
use crate::dialect::{envelope, wording};
use crate::translate::catalogue::CURSOR;
use crate::translate::{McpNames, Tongue, mcp_name};

const NAME: &str = "cursor";
const TITLE: &str = "Cursor";
const TONGUE: Tongue = Tongue { agent: NAME, tools: CURSOR, mcp: McpNames::ItsOwn };

pub(super) const DIALECT: Dialect = Dialect {
    name: NAME,
    title: TITLE,
    read,
    write,
    refuse,
    deadline: Duration::from_secs(25),
    changes: Changes::At("preToolUse"),
    notice: None,
};

/// What stands for the server's name, which Cursor does not tell.
const SERVER: &str = "unnamed";

/// The fields of a command's input that name the directory it runs in.
const DIRECTORIES: [&str; 2] = ["working_directory", "cwd"];

/// Where a message has its tool.
enum Form {
    /// `tool_name` and `tool_input`.
    Tool,
    /// `tool_name` and `tool_input` of an MCP tool.
    Mcp,
    /// `command` and `cwd`.
    Shell,
    /// `file_path`, of a file that is read.
    Reading,
    /// `file_path`, of a file that was edited.
    Edited,
}

fn read(value: &Value, _: &Surroundings<'_>) -> Result<Message, Foreign> {
    let word = envelope::event_word(NAME, value, "hook_event_name")?;
    let (event, form) = match word {
        "preToolUse" => (Event::Before, Form::Tool),
        "postToolUse" => (Event::After, Form::Tool),
        "postToolUseFailure" => (Event::Failed, Form::Tool),
        "beforeShellExecution" => (Event::Before, Form::Shell),
        "afterShellExecution" => (Event::After, Form::Shell),
        "beforeMCPExecution" => (Event::Before, Form::Mcp),
        "afterMCPExecution" => (Event::After, Form::Mcp),
        "beforeReadFile" | "beforeTabFileRead" => (Event::Before, Form::Reading),
        "afterFileEdit" | "afterTabFileEdit" => (Event::After, Form::Edited),
        other if value.get("command").is_some() => {
            return Err(Foreign { agent: NAME, problem: format!("`{other}` is an unknown event about a command") });
        }
        other => (envelope::unknown_event(NAME, other, value)?, Form::Tool),
    };
    let message = Message {
        session: envelope::first_text(value, &["conversation_id", "session_id"]).unwrap_or_default().to_owned(),
        directory: project(value),
        ..envelope::opened(value, event, word)
    };
    envelope::whole(NAME, called(value, &form, message))
}

/// The session's project. The directory of one command is that command's own.
fn project(value: &Value) -> Option<PathBuf> {
    let root = value.pointer("/workspace_roots/0").and_then(Value::as_str).filter(|root| !root.is_empty());
    root.map(PathBuf::from).or_else(|| envelope::folder(value, "cwd"))
}

fn called(value: &Value, form: &Form, message: Message) -> Message {
    let original = match form {
        Form::Tool | Form::Mcp => return tool(value, form, message),
        Form::Shell => envelope::text(value, "command").map(|command| {
            let cwd = envelope::text(value, "cwd").unwrap_or_default();
            Call { tool: "Shell".to_owned(), input: json!({ "command": command, "cwd": cwd }) }
        }),
        Form::Reading => file(value, "Read"),
        Form::Edited => file(value, "Write"),
    };
    let Some(original) = original else { return message };
    envelope::translated(&TONGUE, Message { original, ..message })
}

fn file(value: &Value, tool: &str) -> Option<Call> {
    let path = envelope::text(value, "file_path")?;
    Some(Call { tool: tool.to_owned(), input: json!({ "file_path": path }) })
}

fn tool(value: &Value, form: &Form, message: Message) -> Message {
    let Call { tool, input } = &message.original;
    let input = in_text(input).unwrap_or_else(|| input.clone());
    let original = Call { tool: tool.clone(), input };
    let server_tool = match form {
        Form::Mcp => Some(tool.as_str()).filter(|tool| !tool.is_empty()),
        Form::Tool | Form::Shell | Form::Reading | Form::Edited => None,
    };
    match server_tool.or_else(|| tool.strip_prefix("MCP:")) {
        Some(bare) => {
            let name = mcp_name(SERVER, bare.trim()).unwrap_or_else(|| format!("{NAME}:{tool}"));
            let calls = vec![Call { tool: name, input: original.input.clone() }];
            Message { calls, original, ..message }
        }
        None => {
            let placed = Message { original: beside(value, original.clone()), ..message };
            Message { original, ..envelope::translated(&TONGUE, placed) }
        }
    }
}

/// Input that came as JSON in a text.
fn in_text(input: &Value) -> Option<Value> {
    serde_json::from_str(input.as_str()?).ok().filter(Value::is_object)
}

/// A command without a directory of its own runs in the message's, where that is another than the project.
fn beside(value: &Value, original: Call) -> Call {
    let (Some(cwd), "Shell", Value::Object(fields)) =
        (envelope::first_text(value, &["cwd"]), original.tool.as_str(), &original.input)
    else {
        return original;
    };
    let given = DIRECTORIES.iter().any(|field| fields.get(*field).is_some_and(|own| !own.is_null()));
    let project = project(value);
    let project = project.as_deref().and_then(Path::to_str);
    let is_project = project.is_some_and(|project| path::join(project, cwd) == path::clean(project));
    if given || is_project {
        return original;
    }
    let input = wording::joined(original.input, json!({ "cwd": path::clean(cwd) }));
    Call { input, ..original }
}

fn write(message: &Message, told: &Told) -> Reply {
    match message.event {
        Event::Before => before(message, told),
        Event::After => Reply { stderr: wording::aside(told).stderr, ..wording::said(&json!({})) },
        Event::Request | Event::Denied | Event::Failed | Event::Other => wording::said(&json!({})),
    }
}

fn before(message: &Message, told: &Told) -> Reply {
    match (wording::verdict(told), &told.changed) {
        (Verdict::Allow, None) => wording::said(&json!({ "permission": Verdict::Allow })),
        (Verdict::Allow, Some(changed)) => match given_back(message, changed) {
            Some(input) => wording::said(&json!({ "permission": Verdict::Allow, "updated_input": input })),
            None => denied(&wording::instead_of_changing(TITLE, &told.reason)),
        },
        (Verdict::Ask, None) if wording::speaks_to_a_person(message) => wording::said(&json!({})),
        (Verdict::Ask, _) => denied(&wording::instead_of_asking(TITLE, told)),
        (Verdict::Deny, _) => denied(&wording::reason(&told.reason)),
    }
}

/// The changed input. Where the call was judged in a directory that only the message names, the changed one must be
/// for the same, and its input does not name it either.
fn given_back(message: &Message, changed: &Call) -> Option<Value> {
    if message.named != "preToolUse" {
        return None;
    }
    let own = |call: &Call| DIRECTORIES.iter().any(|field| call.input.get(*field).is_some_and(|own| !own.is_null()));
    let [judged] = message.calls.as_slice() else { return None };
    let Some(beside) = judged.input.get("cwd").filter(|_| !own(&message.original)) else {
        return TONGUE.given_back(&message.original, &message.calls, changed);
    };
    let with =
        |call: &Call| Call { input: wording::joined(json!({ "cwd": beside }), call.input.clone()), ..call.clone() };
    let mut input = TONGUE.given_back(&with(&message.original), &message.calls, &with(changed))?;
    input.as_object_mut()?.remove("cwd");
    Some(input)
}

fn denied(reason: &str) -> Reply {
    wording::said(&json!({ "permission": Verdict::Deny, "user_message": reason, "agent_message": reason }))
}

fn refuse(_: Verdict, reason: &str) -> Reply {
    denied(&wording::reason(reason))
}
