//! Gemini CLI.
//!
//! - `BeforeTool` honours allow, deny and, though its documentation does not name it, ask: seen with 0.61, where it
//!   brings up the client's own question even in yolo mode; without a person the call does not run. An unknown word
//!   counts as none, so an older client may not know it.
//! - An allow does not overrule the client's own policy.
//! - A changed input is merged into the old one: a field cannot be taken away.
//! - The approval mode is not part of the message.
//! - A hook that is late or breaks is ignored. Exit code 2 blocks.

use std::time::Duration;

use mayi_core::call::Call;
use mayi_core::verdict::Verdict;
use serde_json::{Value, json};

use crate::adapter::{Changes, Dialect, Event, Foreign, Message, Reply, Surroundings, Told};
use crate::dialect::{envelope, wording};
use crate::translate::catalogue::GEMINI;
use crate::translate::{McpNames, Tongue, mcp_name};

const NAME: &str = "gemini";
const TITLE: &str = "Gemini CLI";
const TONGUE: Tongue = Tongue { agent: NAME, tools: GEMINI, mcp: McpNames::ItsOwn };

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
        "BeforeTool" => Event::Before,
        "AfterTool" if value.pointer("/tool_response/error").is_some_and(|error| !error.is_null()) => Event::Failed,
        "AfterTool" => Event::After,
        other => envelope::unknown_event(NAME, other, value)?,
    };
    let message = envelope::opened(value, event, word);
    let message = match value.get("mcp_context").filter(|context| !context.is_null()) {
        Some(context) => Message { calls: vec![of_server(&message.original, context)], ..message },
        None => envelope::translated(&TONGUE, message),
    };
    envelope::whole(NAME, message)
}

/// A call of an MCP tool. The name alone (`mcp_SERVER_TOOL`) does not tell where the server's name ends.
fn of_server(original: &Call, context: &Value) -> Call {
    let part = |field| envelope::text(context, field);
    let name = part("server_name").zip(part("tool_name")).and_then(|(server, tool)| mcp_name(server, tool));
    match name {
        Some(name) => Call { tool: name, input: original.input.clone() },
        None => TONGUE.unknown(original),
    }
}

fn write(message: &Message, told: &Told) -> Reply {
    match message.event {
        Event::Before => before(message, told),
        Event::After | Event::Failed => after(message, told),
        Event::Request | Event::Denied | Event::Other => wording::silence(),
    }
}

fn before(message: &Message, told: &Told) -> Reply {
    let changed = told.changed.as_ref();
    match wording::verdict(told) {
        Verdict::Allow => match changed {
            None => wording::said(&json!({ "decision": Verdict::Allow })),
            Some(changed) => match given_back(message, changed) {
                Some(input) => wording::said(&json!({
                    "decision": Verdict::Allow,
                    "hookSpecificOutput": { "hookEventName": message.named, "tool_input": input },
                })),
                None => decided(Verdict::Deny, &wording::instead_of_changing(TITLE, &told.reason)),
            },
        },
        Verdict::Ask if changed.is_some() => decided(Verdict::Deny, &wording::instead_of_changing(TITLE, &told.reason)),
        Verdict::Ask if wording::speaks_to_a_person(message) => wording::silence(),
        Verdict::Ask => decided(Verdict::Ask, &wording::reason(&told.reason)),
        Verdict::Deny if told.ends_run => {
            let reason = wording::reason(&told.reason);
            wording::said(
                &json!({ "continue": false, "stopReason": reason, "decision": Verdict::Deny, "reason": reason }),
            )
        }
        Verdict::Deny => decided(Verdict::Deny, &wording::reason(&told.reason)),
    }
}

fn decided(verdict: Verdict, reason: &str) -> Reply {
    wording::said(&json!({ "decision": verdict, "reason": reason }))
}

/// The changed input, if merging it into the old one leaves nothing of that.
fn given_back(message: &Message, changed: &Call) -> Option<Value> {
    let input = TONGUE.given_back(&message.original, &message.calls, changed)?;
    let before = message.original.input.as_object()?;
    let after = input.as_object()?;
    before.keys().all(|field| after.contains_key(field)).then_some(input)
}

fn after(message: &Message, told: &Told) -> Reply {
    let mut answer = json!({});
    if told.ends_run {
        answer = json!({ "continue": false, "stopReason": wording::reason(&told.reason) });
    }
    if let Some(context) = wording::remarks(told) {
        let specific = json!({ "hookEventName": message.named, "additionalContext": context });
        answer = wording::joined(answer, json!({ "hookSpecificOutput": specific }));
    }
    wording::said(&answer)
}

fn refuse(verdict: Verdict, reason: &str) -> Reply {
    decided(verdict.max(Verdict::Ask), &wording::reason(reason))
}
