//! GitHub Copilot CLI. Everything here is documented, nothing recorded.
//!
//! - `preToolUse` takes allow, ask and deny, and changed arguments. With nobody there, an ask becomes the client's own
//!   denial; users report that `--allow-all-tools` answers it with yes.
//! - `permissionRequest` comes before the client's own rules, and an allow would skip them: it gets silence instead.
//! - Events in camel case do not name themselves; what is in the message tells them apart. `toolArgs` is JSON in a
//!   text, or JSON. Events in Pascal case do, and use the widespread names; the answer is given in both forms then.
//! - Tools of MCP servers are called `SERVER-TOOL`. Both parts may hold a dash, so they keep that name.
//! - A hook that breaks denies, by the newer documentation; one that is late is ignored.

use std::path::PathBuf;
use std::time::Duration;

use mayi_core::call::Call;
use mayi_core::verdict::Verdict;
use serde_json::{Value, json};

use crate::adapter::{Changes, Dialect, Event, Foreign, Message, Reply, Surroundings, Told};
use crate::dialect::{envelope, wording};
use crate::translate::catalogue::COPILOT;
use crate::translate::{McpNames, Tongue};

const NAME: &str = "copilot";
const TITLE: &str = "Copilot CLI";
const TONGUE: Tongue = Tongue { agent: NAME, tools: COPILOT, mcp: McpNames::ItsOwn };

pub(super) const DIALECT: Dialect = Dialect {
    name: NAME,
    title: TITLE,
    read,
    write,
    refuse,
    deadline: Duration::from_secs(25),
    changes: Changes::Always,
    notice: None,
};

/// Fields of documented messages that are not about a tool.
const OTHERS: [&str; 9] = [
    "source",
    "reason",
    "prompt",
    "stopReason",
    "agentName",
    "trigger",
    "errorContext",
    "notification_type",
    "initialPrompt",
];

fn read(value: &Value, _: &Surroundings<'_>) -> Result<Message, Foreign> {
    let (event, word) = match by_name(value)? {
        Some(named) => named,
        None => by_content(value)?,
    };
    envelope::whole(NAME, envelope::translated(&TONGUE, opened(value, event, word)?))
}

/// The event by the name that the message gives it. Two names must be two spellings of one event.
fn by_name(value: &Value) -> Result<Option<(Event, &str)>, Foreign> {
    let mut found: Option<(Event, &str)> = None;
    for word in envelope::EVENT_NAMES.iter().filter_map(|field| envelope::first_text(value, &[field])) {
        let event = match word {
            "preToolUse" | "PreToolUse" => Event::Before,
            "permissionRequest" | "PermissionRequest" => Event::Request,
            "postToolUse" | "PostToolUse" => Event::After,
            "postToolUseFailure" | "PostToolUseFailure" => Event::Failed,
            other => envelope::unknown_event(NAME, other, value)?,
        };
        if found.is_some_and(|(known, _)| known != event) {
            return Err(Foreign { agent: NAME, problem: "it names two events".to_owned() });
        }
        found = found.or(Some((event, word)));
    }
    Ok(found)
}

/// The event by what the message holds. A result or an error that says nothing makes no report of a call: it may be
/// one that is still to be decided.
fn by_content(value: &Value) -> Result<(Event, &'static str), Foreign> {
    if !envelope::is_about_a_tool(value) {
        if OTHERS.iter().any(|field| value.get(field).is_some()) || value.get("error").is_some_and(Value::is_object) {
            return Ok((Event::Other, "other"));
        }
        return Err(Foreign { agent: NAME, problem: "it names no event and no tool".to_owned() });
    }
    let says = |field: &str| match value.get(field) {
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Object(members)) => !members.is_empty(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_)) | None => false,
    };
    Ok(match (says("toolResult"), says("error")) {
        (true, _) => (Event::After, "postToolUse"),
        (false, true) => (Event::Failed, "postToolUseFailure"),
        (false, false) => (Event::Before, "preToolUse"),
    })
}

/// The message under either set of names. What comes under two of them must be the same.
fn opened(value: &Value, event: Event, named: &str) -> Result<Message, Foreign> {
    let tool = envelope::agreed(NAME, value, &["tool_name", "toolName"])?;
    let inputs = ["tool_input", "toolArgs", "toolInput"].map(|field| value.get(field).cloned().unwrap_or_default());
    let mut inputs = inputs.into_iter().filter(|input| !input.is_null()).map(parsed);
    let input = inputs.next().unwrap_or_default();
    if inputs.any(|other| other != input) {
        return Err(Foreign { agent: NAME, problem: "it gives two inputs".to_owned() });
    }
    let first = |one: &str, other: &str| envelope::first_text(value, &[one, other]).map(str::to_owned);
    Ok(Message {
        session: first("sessionId", "session_id").unwrap_or_default(),
        original: Call { tool: tool.and_then(Value::as_str).unwrap_or_default().to_owned(), input },
        call_id: first("toolCallId", "tool_use_id"),
        transcript: first("transcriptPath", "transcript_path").map(PathBuf::from),
        response: value.get("tool_result").or_else(|| value.get("toolResult")).cloned(),
        ..envelope::opened(value, event, named)
    })
}

/// Arguments that came as JSON in a text. A text that is no JSON object stays one: a patch may come like that.
fn parsed(input: Value) -> Value {
    let inside = input.as_str().and_then(|text| serde_json::from_str(text).ok());
    inside.filter(Value::is_object).unwrap_or(input)
}

fn write(message: &Message, told: &Told) -> Reply {
    match message.event {
        Event::Before => before(message, told),
        Event::Request => request(message, told),
        Event::After => wording::aside(told),
        Event::Denied | Event::Failed | Event::Other => wording::silence(),
    }
}

fn before(message: &Message, told: &Told) -> Reply {
    let verdict = wording::verdict(told);
    let changed = told.changed.as_ref().filter(|_| verdict != Verdict::Deny);
    let Some(changed) = changed else {
        if verdict == Verdict::Ask && wording::speaks_to_a_person(message) {
            return wording::silence();
        }
        return decided(&message.named, verdict, &wording::reason(&told.reason));
    };
    let input = TONGUE.given_back(&message.original, &message.calls, changed).filter(Value::is_object);
    match (verdict, input) {
        (Verdict::Allow, Some(input)) => {
            let answer = json!({ "modifiedArgs": input });
            let answer = wording::joined(answer_of(verdict, &wording::reason(&told.reason)), answer);
            wording::said(&in_both_forms(&message.named, answer, json!({ "updatedInput": input })))
        }
        (Verdict::Allow | Verdict::Ask | Verdict::Deny, _) => {
            decided(&message.named, Verdict::Deny, &wording::instead_of_changing(TITLE, &told.reason))
        }
    }
}

fn answer_of(verdict: Verdict, reason: &str) -> Value {
    json!({ "permissionDecision": verdict, "permissionDecisionReason": reason })
}

fn decided(named: &str, verdict: Verdict, reason: &str) -> Reply {
    wording::said(&in_both_forms(named, answer_of(verdict, reason), json!({})))
}

/// The answer; beside it the nested form, where the event came under the name that goes with it.
fn in_both_forms(named: &str, answer: Value, more: Value) -> Value {
    if named != "PreToolUse" {
        return answer;
    }
    let decision = |field: &str| answer.get(field).cloned().unwrap_or_default();
    let nested = json!({
        "hookEventName": named,
        "permissionDecision": decision("permissionDecision"),
        "permissionDecisionReason": decision("permissionDecisionReason"),
    });
    let nested = wording::joined(nested, more);
    wording::joined(answer, json!({ "hookSpecificOutput": nested }))
}

fn request(_: &Message, told: &Told) -> Reply {
    let reason = match (wording::verdict(told), &told.changed) {
        (Verdict::Allow | Verdict::Ask, None) => return wording::silence(),
        (Verdict::Allow | Verdict::Ask, Some(_)) => wording::instead_of_changing(TITLE, &told.reason),
        (Verdict::Deny, _) => wording::reason(&told.reason),
    };
    let answer = json!({ "behavior": "deny", "message": reason });
    let end = if told.ends_run { json!({ "interrupt": true }) } else { json!({}) };
    wording::said(&wording::joined(answer, end))
}

fn refuse(verdict: Verdict, reason: &str) -> Reply {
    decided("PreToolUse", verdict.max(Verdict::Ask), &wording::reason(reason))
}
