//! Codex CLI.
//!
//! - `PreToolUse` knows one word, deny. An `allow` or `ask` is reported as a broken hook and the call runs, so an
//!   allow is silence and a question becomes a denial: nothing in the message tells whether Codex would ask by itself.
//!   An allow with a changed input is honoured, and the only use of the word.
//! - A denial without a reason, with an unknown field or without the event's name is ignored: answers are exact.
//! - `PermissionRequest` comes when Codex is about to ask. Allow and deny are honoured; a question is silence, and
//!   Codex puts it to the person. It cannot be given a changed input.
//! - A request for the network names its host in the description only. The host is judged as well as the command,
//!   because a rule that allows the command says nothing of the host.
//! - The mode `default` says no more than that Codex asks when it sees fit, and `bypassPermissions` no more than that
//!   it asks nobody: `codex exec` says so whatever its policy and sandbox are. Neither is a mode of ours, and the one of
//!   the settings or of `--mode` counts.
//! - A hook that is late or breaks is ignored. Exit code 2 with a text on standard error blocks both events.

use std::time::Duration;

use mayi_core::call::Call;
use mayi_core::mode::Mode;
use mayi_core::verdict::Verdict;
use serde_json::{Value, json};

use crate::adapter::{Changes, Dialect, Event, Foreign, Message, Reply, Surroundings, Told};
use crate::dialect::{envelope, wording};
use crate::translate::catalogue::CODEX;
use crate::translate::{McpNames, Tongue};

const NAME: &str = "codex";
const TITLE: &str = "Codex";
const TONGUE: Tongue = Tongue { agent: NAME, tools: CODEX, mcp: McpNames::AsOurs };

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
        "PostToolUse" => Event::After,
        other => envelope::unknown_event(NAME, other, value)?,
    };
    let mut message = envelope::translated(&TONGUE, envelope::opened(value, event, word));
    message.mode = message.mode.filter(is_chosen);
    if event == Event::Request {
        message.calls.extend(network(&message.original));
    }
    envelope::whole(NAME, message)
}

/// Whether a mode is one that a person chose, and not just Codex's word for whether it may ask.
fn is_chosen(mode: &Mode) -> bool {
    match mode {
        Mode::Default | Mode::BypassPermissions => false,
        Mode::Plan | Mode::AcceptEdits | Mode::Auto | Mode::DontAsk => true,
    }
}

/// The host that a request for the network is about, as a call of its own.
fn network(original: &Call) -> Option<Call> {
    let host = original.text("description")?.strip_prefix("network-access")?.trim();
    let url = if host.contains("://") { host.to_owned() } else { format!("https://{host}") };
    Some(Call::new("WebFetch", json!({ "url": url })))
}

fn write(message: &Message, told: &Told) -> Reply {
    match message.event {
        Event::Before => before(message, told),
        Event::Request => request(message, told),
        Event::After => after(told),
        Event::Denied | Event::Failed | Event::Other => wording::silence(),
    }
}

fn before(message: &Message, told: &Told) -> Reply {
    let changed = told.changed.as_ref();
    match wording::verdict(told) {
        Verdict::Allow => match changed {
            None => noted(told),
            Some(changed) => match TONGUE.given_back(&message.original, &message.calls, changed) {
                Some(input) => replaced(&input, &told.reason),
                None => denied(&wording::instead_of_changing(TITLE, &told.reason)),
            },
        },
        Verdict::Ask if changed.is_none() && wording::speaks_to_a_person(message) => wording::silence(),
        Verdict::Ask => denied(&wording::instead_of_asking(TITLE, told)),
        Verdict::Deny => denied(&wording::reason(&told.reason)),
    }
}

fn after(told: &Told) -> Reply {
    let Some(remarks) = wording::remarks(told) else { return wording::silence() };
    wording::said(&json!({ "hookSpecificOutput": { "hookEventName": "PostToolUse", "additionalContext": remarks } }))
}

fn noted(told: &Told) -> Reply {
    let Some(context) = wording::context(told) else { return wording::silence() };
    wording::said(&json!({ "hookSpecificOutput": { "hookEventName": "PreToolUse", "additionalContext": context } }))
}

fn replaced(input: &Value, reason: &str) -> Reply {
    wording::said(&json!({ "hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": Verdict::Allow,
        "permissionDecisionReason": wording::reason(reason),
        "updatedInput": input,
    }}))
}

fn denied(reason: &str) -> Reply {
    wording::said(&json!({ "hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": Verdict::Deny,
        "permissionDecisionReason": reason,
    }}))
}

fn request(_: &Message, told: &Told) -> Reply {
    let decision = match wording::verdict(told) {
        Verdict::Allow | Verdict::Ask if told.changed.is_some() => {
            json!({ "behavior": "deny", "message": wording::instead_of_changing(TITLE, &told.reason) })
        }
        Verdict::Allow => json!({ "behavior": "allow" }),
        Verdict::Ask => return wording::silence(),
        Verdict::Deny => json!({ "behavior": "deny", "message": wording::reason(&told.reason) }),
    };
    wording::said(&json!({ "hookSpecificOutput": { "hookEventName": "PermissionRequest", "decision": decision } }))
}

/// By exit code, which both events honour: it is not known which of them it was.
fn refuse(_: Verdict, reason: &str) -> Reply {
    Reply { stdout: String::new(), stderr: format!("{}\n", wording::reason(reason)), code: 2 }
}
