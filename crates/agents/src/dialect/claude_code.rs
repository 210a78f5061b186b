//! Claude Code. Its tools are ours, so nothing is translated.
//!
//! - An allow does not overrule the client's own deny and ask rules, its protected paths or plan mode.
//! - An ask is honoured, except for edits in `bypassPermissions`: there the client runs edits of its own protected
//!   files although a hook asks. Which these are is the client's affair, so such a question becomes a denial.
//! - A tool that puts something to a person (a question, a plan) gets no answer instead of an ask: its own dialogue
//!   is the question, and an allow without a new input would not skip it either.
//! - With `-p` somebody can still answer, through a prompt tool, so the environment's word that nobody attends is not
//!   taken for it: an ask is right there too, and the client makes its own denial of it.
//! - A hook that is late or breaks is ignored unless it is installed with `"onFailure": "block"`. A hook's output under
//!   another event's name is ignored too.

use std::time::Duration;

use mayi_core::call::Call;
use mayi_core::catalogue::{self, Kind};
use mayi_core::mode::Mode;
use mayi_core::verdict::Verdict;
use serde_json::{Map, Value, json};

use crate::adapter::{Changes, Dialect, Event, Foreign, Message, Reply, Surroundings, Told};
use crate::dialect::{envelope, wording};

const NAME: &str = "claude-code";
const TITLE: &str = "Claude Code";

pub(super) const DIALECT: Dialect = Dialect {
    name: NAME,
    title: TITLE,
    read,
    write,
    refuse,
    deadline: Duration::from_secs(50),
    changes: Changes::Always,
    notice: Some("systemMessage"),
};

fn read(value: &Value, _: &Surroundings<'_>) -> Result<Message, Foreign> {
    let word = envelope::event_word(NAME, value, "hook_event_name")?;
    let event = match word {
        "PreToolUse" => Event::Before,
        "PermissionRequest" => Event::Request,
        "PermissionDenied" => Event::Denied,
        "PostToolUse" => Event::After,
        "PostToolUseFailure" => Event::Failed,
        other => envelope::unknown_event(NAME, other, value)?,
    };
    let mut message = envelope::opened(value, event, word);
    if !message.original.tool.is_empty() {
        message.calls = vec![Call::new(&message.original.tool, message.original.input.clone())];
    }
    envelope::whole(NAME, message)
}

fn write(message: &Message, told: &Told) -> Reply {
    match message.event {
        Event::Before => before(message, told),
        Event::Request => request(message, told),
        Event::Denied if told.may_retry => wording::said(&specific(&message.named, json!({ "retry": true }))),
        Event::After | Event::Failed => after(message, told),
        Event::Denied | Event::Other => wording::silence(),
    }
}

fn before(message: &Message, told: &Told) -> Reply {
    let mut reason = wording::reason(&told.reason);
    let mut verdict = wording::verdict(told);
    let changed = told.changed.as_ref();
    if changed.is_some_and(|changed| !same_tool(message, changed)) && verdict != Verdict::Deny {
        (verdict, reason) = (Verdict::Deny, wording::instead_of_changing(TITLE, &told.reason));
    }
    if verdict == Verdict::Ask && changed.is_none() && wording::speaks_to_a_person(message) {
        return wording::silence();
    }
    if verdict == Verdict::Ask && edits_unasked(message) {
        (verdict, reason) = (Verdict::Deny, wording::instead_of_asking("Claude Code in bypassPermissions", told));
    }
    let mut answer = json!({ "permissionDecision": verdict, "permissionDecisionReason": reason });
    if let (Some(changed), Verdict::Allow | Verdict::Ask) = (changed, verdict) {
        answer = wording::joined(answer, json!({ "updatedInput": changed.input }));
    }
    if let Some(context) = wording::context(told) {
        answer = wording::joined(answer, json!({ "additionalContext": context }));
    }
    ending(told, specific(&message.named, answer))
}

fn same_tool(message: &Message, changed: &Call) -> bool {
    message.calls.iter().all(|call| call.tool == changed.tool)
}

/// Whether the client may run the call although it is told to ask.
fn edits_unasked(message: &Message) -> bool {
    let edits = |call: &Call| catalogue::built_in(&call.tool).is_some_and(|tool| tool.kind == Kind::Edit);
    message.mode == Some(Mode::BypassPermissions) && message.calls.iter().any(edits)
}

fn request(message: &Message, told: &Told) -> Reply {
    let mut decision = Map::new();
    let changed = told.changed.as_ref();
    let lost = changed.is_some_and(|changed| !same_tool(message, changed) || told.verdict == Verdict::Ask);
    match wording::verdict(told) {
        Verdict::Allow | Verdict::Ask if lost => {
            decision.insert("behavior".to_owned(), "deny".into());
            decision.insert("message".to_owned(), wording::instead_of_changing(TITLE, &told.reason).into());
        }
        Verdict::Ask => return wording::silence(),
        Verdict::Allow => {
            decision.insert("behavior".to_owned(), "allow".into());
            if let Some(changed) = changed {
                decision.insert("updatedInput".to_owned(), changed.input.clone());
            }
            if !told.updates.is_empty() {
                decision.insert("updatedPermissions".to_owned(), json!(told.updates));
            }
        }
        Verdict::Deny => {
            decision.insert("behavior".to_owned(), "deny".into());
            decision.insert("message".to_owned(), wording::reason(&told.reason).into());
            if told.ends_run {
                decision.insert("interrupt".to_owned(), true.into());
            }
        }
    }
    wording::said(&specific(&message.named, json!({ "decision": decision })))
}

fn after(message: &Message, told: &Told) -> Reply {
    let context = wording::context(told).map(|context| json!({ "additionalContext": context }));
    let replaced = told.replaced.as_ref().map(|output| json!({ "updatedToolOutput": output }));
    let inside = context.into_iter().chain(replaced).reduce(wording::joined);
    let mut answer = inside.map_or_else(|| json!({}), |inside| specific(&message.named, inside));
    if !told.objections.is_empty() {
        let reason = wording::reason(&told.objections.join("\n"));
        answer = wording::joined(json!({ "decision": "block", "reason": reason }), answer);
    }
    match answer == json!({}) && !told.ends_run {
        true => wording::silence(),
        false => ending(told, answer),
    }
}

/// An answer about one event. The client ignores it unless it repeats the event's name.
fn specific(event: &str, answer: Value) -> Value {
    let named = json!({ "hookEventName": event });
    json!({ "hookSpecificOutput": wording::joined(named, answer) })
}

/// The same answer, with the end of the run in front if it ends.
fn ending(told: &Told, answer: Value) -> Reply {
    if !told.ends_run {
        return wording::said(&answer);
    }
    let end = json!({ "continue": false, "stopReason": wording::reason(&told.reason) });
    wording::said(&wording::joined(end, answer))
}

/// Under the name of `PreToolUse`, the only event where silence would let something run.
fn refuse(verdict: Verdict, reason: &str) -> Reply {
    let verdict = verdict.max(Verdict::Ask);
    let answer = json!({ "permissionDecision": verdict, "permissionDecisionReason": wording::reason(reason) });
    wording::said(&specific("PreToolUse", answer))
}
