//! What a hook is told: one JSON object, in the shape that hooks everywhere read.

use std::path::Path;

use mayi_core::call::Call;
use mayi_core::catalogue::{self, Kind};
use mayi_core::path;
use mayi_core::policy::Policy;
use serde_json::{Map, Value, json};

use crate::hooks::{Event, Occasion};

/// What an event adds to what every hook is told.
#[derive(Clone, Copy, Debug)]
pub(super) enum About<'a> {
    /// A call that has not run.
    Call,
    /// A question that is about to be put to a person.
    Question,
    /// A refusal.
    Refusal(&'a str),
    /// A call that ran, and what came of it.
    Response(&'a Value),
}

impl About<'_> {
    pub(super) fn event(self) -> Event {
        match self {
            About::Call => Event::PreToolUse,
            About::Question => Event::PermissionRequest,
            About::Refusal(_) => Event::PermissionDenied,
            About::Response(_) => Event::PostToolUse,
        }
    }
}

/// The text for a hook's standard input or a request's body.
pub(super) fn told(about: About<'_>, call: &Call, input: &Value, occasion: &Occasion) -> String {
    let mut told = Map::new();
    let mut tell = |name: &str, value: Value| told.insert(name.to_owned(), value);
    tell("session_id", json!(occasion.session));
    tell("transcript_path", json!(occasion.transcript.as_deref().unwrap_or(Path::new("")).to_string_lossy()));
    tell("cwd", json!(occasion.directory.to_string_lossy()));
    tell("permission_mode", json!(occasion.mode.word()));
    if let Some((id, kind)) = &occasion.agent {
        tell("agent_id", json!(id));
        if let Some(kind) = kind {
            tell("agent_type", json!(kind));
        }
    }
    tell("hook_event_name", json!(about.event().word()));
    tell("tool_name", json!(call.tool));
    if let Some(server) = catalogue::mcp_server(&call.tool) {
        tell("mcp_server", json!({ "name": server }));
    }
    tell("tool_input", input.clone());
    if let About::Response(response) = about {
        tell("tool_response", response.clone());
    }
    match about {
        About::Question => tell("permission_suggestions", json!([])),
        About::Call | About::Refusal(_) | About::Response(_) => {
            tell("tool_use_id", json!(occasion.call_id.as_deref().unwrap_or_default()))
        }
    };
    if let About::Refusal(reason) = about {
        tell("reason", json!(reason));
    }
    let mut text = Value::Object(told).to_string();
    text.push('\n');
    text
}

/// The input as hooks see it: with the path of a file tool absolute, so that a script can compare it.
pub(super) fn input(call: &Call, policy: &Policy) -> Value {
    let mut input = call.input.clone();
    let tool = policy.tool(&call.tool);
    let is_path = match tool.kind {
        Kind::Read | Kind::Search | Kind::Edit => true,
        Kind::Shell | Kind::Powershell | Kind::Fetch | Kind::Agent | Kind::Skill => false,
        Kind::Books | Kind::Person | Kind::Plain => false,
    };
    let field = tool.field.filter(|_| is_path).and_then(|field| input.get_mut(field));
    if let Some(Value::String(text)) = field
        && let Ok(absolute) = path::place(text, &policy.workspace)
    {
        *text = absolute;
    }
    input
}
