//! Goose. Everything here is documented, nothing recorded.
//!
//! - `PreToolUse` hooks of plugins can block; no other event decides anything. They cannot ask, so a question becomes
//!   a denial, and they cannot be given a changed input.
//! - An allow does not skip the client's own approval.
//! - Standard output is read strictly: an answer is one object, and the exit code of an allow is zero.
//! - Extensions are MCP servers: `EXTENSION__TOOL` is `mcp__EXTENSION__TOOL`, unless it is a tool we know.
//! - A hook that breaks or is late (30 seconds by default) is ignored unless it is installed with
//!   `"on_failure": "block"`. Exit code 2 blocks.

use std::time::Duration;

use mayi_core::call::Call;
use mayi_core::verdict::Verdict;
use serde_json::{Value, json};

use crate::adapter::{Changes, Dialect, Event, Foreign, Message, Reply, Surroundings, Told};
use crate::dialect::{envelope, wording};
use crate::translate::catalogue::{GOOSE, find};
use crate::translate::{McpNames, Tongue, mcp_name};

const NAME: &str = "goose";
const TITLE: &str = "Goose";
const TONGUE: Tongue = Tongue { agent: NAME, tools: GOOSE, mcp: McpNames::ItsOwn };

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

fn read(value: &Value, _: &Surroundings<'_>) -> Result<Message, Foreign> {
    let word = envelope::event_word(NAME, value, "event")?;
    let event = match word {
        "PreToolUse" => Event::Before,
        "PostToolUse" => Event::After,
        "PostToolUseFailure" => Event::Failed,
        // These are about tools too, and decide nothing.
        "PreToolUseResult" | "BeforeReadFile" | "AfterFileEdit" | "BeforeShellExecution" | "AfterShellExecution" => {
            Event::Other
        }
        other => envelope::unknown_event(NAME, other, value)?,
    };
    let message = Message {
        call_id: envelope::text(value, "tool_call_id").map(str::to_owned),
        directory: envelope::folder(value, "working_dir"),
        ..envelope::opened(value, event, word)
    };
    let message = match of_extension(&message.original) {
        Some(call) => Message { calls: vec![call], ..message },
        None => envelope::translated(&TONGUE, message),
    };
    envelope::whole(NAME, message)
}

fn of_extension(original: &Call) -> Option<Call> {
    if find(GOOSE, &original.tool).is_some() {
        return None;
    }
    let (extension, tool) = original.tool.split_once("__")?;
    Some(Call { tool: mcp_name(extension, tool)?, input: original.input.clone() })
}

fn write(message: &Message, told: &Told) -> Reply {
    match message.event {
        Event::Before => before(message, told),
        Event::Request | Event::After => wording::aside(told),
        Event::Denied | Event::Failed | Event::Other => wording::silence(),
    }
}

fn before(message: &Message, told: &Told) -> Reply {
    match (wording::verdict(told), &told.changed) {
        (Verdict::Allow, None) => allowed(),
        (Verdict::Allow, Some(_)) => blocked(&wording::instead_of_changing(TITLE, &told.reason)),
        (Verdict::Ask, None) if wording::speaks_to_a_person(message) => allowed(),
        (Verdict::Ask, _) => blocked(&wording::instead_of_asking(TITLE, told)),
        (Verdict::Deny, _) => blocked(&wording::reason(&told.reason)),
    }
}

fn allowed() -> Reply {
    wording::said(&json!({ "decision": Verdict::Allow }))
}

fn blocked(reason: &str) -> Reply {
    wording::said(&json!({ "decision": "block", "reason": reason }))
}

fn refuse(_: Verdict, reason: &str) -> Reply {
    blocked(&wording::reason(reason))
}
