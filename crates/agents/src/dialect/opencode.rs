//! opencode. Its hooks are functions of plugins, so what is spoken here is between us and our own plugin.
//!
//! The plugin writes one JSON object to `mayi hook opencode`:
//!
//! ```json
//! {"event": "before", "session": "ses_1", "directory": "/home/me/project",
//!  "tool": "bash", "input": {"command": "npm test"}, "callId": "call_1"}
//! ```
//!
//! | event | when | tool and input |
//! | --- | --- | --- |
//! | `before` | `tool.execute.before` | as the plugin got them |
//! | `permission` | opencode is about to ask a person | those of the `before` with the same `callId`; without one, the name of the permission, and what came with it |
//! | `after` | `tool.execute.after` | as the plugin got them, and `response` |
//!
//! It reads back one object, `{"verdict": "allow", "reason": "…"}`, perhaps with an `input` to use instead. On
//! `before` the verdict is allow or deny, and the plugin throws on anything but a readable allow: opencode cannot be
//! made to ask, so a question becomes a denial. On `permission` an ask leaves the question to the person. On `after`
//! the answer is `{}`.
//!
//! Recorded: what a plugin throws in `tool.execute.before` blocks the call and is the tool's result; it runs before
//! opencode's own permission check, which an allow does not skip; the plugin hook `permission.ask` was not called.

use std::time::Duration;

use mayi_core::call::Call;
use mayi_core::verdict::Verdict;
use serde_json::{Value, json};

use crate::adapter::{Changes, Dialect, Event, Foreign, Message, Reply, Surroundings, Told};
use crate::dialect::{envelope, wording};
use crate::translate::catalogue::OPENCODE;
use crate::translate::{McpNames, Tongue};

const NAME: &str = "opencode";
const TITLE: &str = "opencode";
const TONGUE: Tongue = Tongue { agent: NAME, tools: OPENCODE, mcp: McpNames::ItsOwn };

pub(super) const DIALECT: Dialect = Dialect {
    name: NAME,
    title: TITLE,
    read,
    write,
    refuse,
    deadline: Duration::from_secs(50),
    changes: Changes::Always,
    notice: None,
};

fn read(value: &Value, _: &Surroundings<'_>) -> Result<Message, Foreign> {
    let word = envelope::event_word(NAME, value, "event")?;
    let event = match word {
        "before" => Event::Before,
        "permission" => Event::Request,
        "after" => Event::After,
        other => return Err(Foreign { agent: NAME, problem: format!("`{other}` is no event of the plugin") }),
    };
    let message = Message {
        session: envelope::text(value, "session").unwrap_or_default().to_owned(),
        original: envelope::call(value, "tool", "input"),
        call_id: envelope::text(value, "callId").map(str::to_owned),
        directory: envelope::folder(value, "directory"),
        response: value.get("response").cloned(),
        ..envelope::blank(event, word)
    };
    envelope::whole(NAME, envelope::translated(&TONGUE, message))
}

fn write(message: &Message, told: &Told) -> Reply {
    match message.event {
        Event::Before => before(message, told),
        Event::Request => request(told),
        Event::After => Reply { stderr: wording::aside(told).stderr, ..wording::said(&json!({})) },
        Event::Denied | Event::Failed | Event::Other => wording::said(&json!({})),
    }
}

fn before(message: &Message, told: &Told) -> Reply {
    let reason = wording::reason(&told.reason);
    match (wording::verdict(told), &told.changed) {
        (Verdict::Allow, None) => answered(Verdict::Allow, &reason),
        (Verdict::Allow, Some(changed)) => changed_to(message, told, changed),
        (Verdict::Ask, None) if wording::speaks_to_a_person(message) => answered(Verdict::Allow, &reason),
        (Verdict::Ask, _) => answered(Verdict::Deny, &wording::instead_of_asking(TITLE, told)),
        (Verdict::Deny, _) => answered(Verdict::Deny, &reason),
    }
}

fn changed_to(message: &Message, told: &Told, changed: &Call) -> Reply {
    match TONGUE.given_back(&message.original, &message.calls, changed) {
        Some(input) => {
            let reason = wording::reason(&told.reason);
            wording::said(&json!({ "verdict": Verdict::Allow, "reason": reason, "input": input }))
        }
        None => answered(Verdict::Deny, &wording::instead_of_changing(TITLE, &told.reason)),
    }
}

/// The question is about the call as it is: a changed one cannot be given any more.
fn request(told: &Told) -> Reply {
    match (wording::verdict(told), &told.changed) {
        (Verdict::Allow | Verdict::Ask, Some(_)) => {
            answered(Verdict::Deny, &wording::instead_of_changing(TITLE, &told.reason))
        }
        (verdict, _) => answered(verdict, &wording::reason(&told.reason)),
    }
}

fn answered(verdict: Verdict, reason: &str) -> Reply {
    wording::said(&json!({ "verdict": verdict, "reason": reason }))
}

fn refuse(_: Verdict, reason: &str) -> Reply {
    answered(Verdict::Deny, &wording::reason(reason))
}
