//! GitHub Copilot CLI. Everything here is documented, nothing recorded.
//!
//! - `preToolUse` takes allow, ask and deny, and changed arguments. With nobody there, an ask becomes the client's own
//!   denial; users report that `--allow-all-tools` answers it with yes.
//! - `permissionRequest` comes before the client's own rules, and an allow would skip them: it gets silence instead.
//! - Events in camel case do not name themselves; what is in the message tells them apart. `toolArgs` is JSON in a
//!   text, or JSON. Events in Pascal case do, and use the widespread names; the answer is given in both forms then.
//! - Tools of MCP servers are called `SERVER-TOOL`. Both parts may hold a dash, so they keep that name.
//! - A hook that breaks denies, by the newer documentation; one that is late is ignored.

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
    let named = envelope::first_text(value, &["hook_event_name", "hookEventName", "hookName"]);
    let message = match named {
        Some(word) => {
            let tool = value.get("tool_name").or_else(|| value.get("toolName"));
            opened(value, by_name(word, tool)?, word)
        }
        None => {
            let (event, word) = by_content(value)?;
            opened(value, event, word)
        }
    };
    envelope::whole(NAME, envelope::translated(&TONGUE, message))
}

fn by_name(word: &str, tool: Option<&Value>) -> Result<Event, Foreign> {
    Ok(match word {
        "preToolUse" | "PreToolUse" => Event::Before,
        "permissionRequest" | "PermissionRequest" => Event::Request,
        "postToolUse" | "PostToolUse" => Event::After,
        "postToolUseFailure" | "PostToolUseFailure" => Event::Failed,
        other => envelope::unknown_event(NAME, other, tool)?,
    })
}

fn by_content(value: &Value) -> Result<(Event, &'static str), Foreign> {
    let has = |field: &str| value.get(field).is_some();
    if !has("toolName") {
        if OTHERS.iter().any(|field| has(field)) || value.get("error").is_some_and(Value::is_object) {
            return Ok((Event::Other, "other"));
        }
        return Err(Foreign { agent: NAME, problem: "it names no event and no tool".to_owned() });
    }
    if has("toolResult") {
        return Ok((Event::After, "postToolUse"));
    }
    if has("error") {
        return Ok((Event::Failed, "postToolUseFailure"));
    }
    Ok((Event::Before, "preToolUse"))
}

/// The message under either set of names.
fn opened(value: &Value, event: Event, named: &str) -> Message {
    let snake = envelope::opened(value, event, named);
    if value.get("tool_name").is_some() {
        let input = parsed(snake.original.input.clone());
        let response = value.get("tool_result").cloned();
        return Message { original: Call { input, ..snake.original }, response, ..snake };
    }
    let arguments = if value.get("toolArgs").is_some() { "toolArgs" } else { "toolInput" };
    let original = envelope::call(value, "toolName", arguments);
    Message {
        session: envelope::first_text(value, &["sessionId", "session_id"]).unwrap_or_default().to_owned(),
        original: Call { input: parsed(original.input), ..original },
        call_id: envelope::text(value, "toolCallId").map(str::to_owned),
        transcript: envelope::folder(value, "transcriptPath"),
        response: value.get("toolResult").cloned(),
        ..snake
    }
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
