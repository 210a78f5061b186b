//! Commands that settings want confined. A hook cannot run them, so it puts `mayi run` in their place, where the agent
//! takes a changed call; and it knows that text again when the agent shows it later.

use std::path::PathBuf;
use std::sync::Arc;

use mayi_core::call::Call;
use mayi_core::catalogue::Kind;
use mayi_core::verdict::Verdict;
use mayi_engine::confine::{self, rewrite, slip::Slips};
use mayi_engine::desk::{Answered, Asked, Confinement, Desk, Replaced};
use mayi_engine::waiting::Waiting;
use mayi_settings::{Flag, Loaded, Places, own_hook};
use serde_json::Value;

use super::options::Options;
use crate::adapter::{Dialect, Message};

/// Who confines the commands of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Confiner {
    /// Nobody, or nobody has to.
    Nobody,
    /// mayi, by the text that it puts in the command's place.
    Mayi,
    /// mayi, by the text that was put there already.
    Already,
    /// The agent.
    Agent,
}

/// Whether a command was put to us before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// It is new.
    First,
    /// It comes in the text that we put in its place, and the slip of that is there: it may run as it is.
    Replaced,
}

/// Takes the text of ours that stands in for a command out of a message, so that the command itself is judged.
pub(super) fn taken_back(message: &mut Arc<Message>, places: &Places) -> Seen {
    let [call] = message.calls.as_slice() else { return Seen::First };
    let Some(text) = call.text("command").filter(|text| text.contains(" run --permit ")) else { return Seen::First };
    let Some(program) = program() else { return Seen::First };
    let (before, own) = parts(&message.original, text);
    let Some((name, command)) = rewrite::original(&program.to_string_lossy(), own) else { return Seen::First };
    let there = places.state.as_deref().map(Slips::in_folder);
    let holds = there.is_some_and(|slips| slips.holds(&name, &message.session, &command));
    let whole = format!("{before}{command}");
    if let Some(field) = Arc::make_mut(message).calls.first_mut().and_then(|call| call.input.get_mut("command")) {
        *field = whole.into();
    }
    if holds { Seen::Replaced } else { Seen::First }
}

/// What is known when a message is looked at.
#[derive(Clone, Copy)]
pub(super) struct Ground<'a> {
    pub(super) loaded: &'a Loaded,
    pub(super) places: &'a Places,
    /// Told before a process is waited for.
    pub(super) waiting: &'a Waiting,
}

/// Who confines what the message is about, and whether that is sure.
pub(super) fn confiner(
    Ground { loaded, places, waiting }: Ground<'_>,
    dialect: &Dialect,
    message: &Message,
    seen: Seen,
) -> (Confiner, Confinement) {
    let is_shell = |call: &Call| loaded.policy.tool(&call.tool).kind == Kind::Shell;
    if !loaded.settings.sandbox.enabled || !message.calls.iter().any(is_shell) {
        return (Confiner::Nobody, Confinement::Unasked);
    }
    if seen == Seen::Replaced {
        return (Confiner::Already, Confinement::Sure);
    }
    if confines_itself(loaded, dialect) {
        return (Confiner::Agent, by_itself(loaded, message));
    }
    let missing = |why: String| (Confiner::Nobody, Confinement::Missing(why));
    if !dialect.changes.answers(message) {
        return missing(format!("{} cannot be given a changed call", dialect.title));
    }
    if message.calls.len() > 1 {
        return missing("it is more than a command".to_owned());
    }
    match confine::known(loaded, places.state.as_deref(), waiting) {
        Ok(()) => (Confiner::Mayi, Confinement::Sure),
        Err(why) => missing(why),
    }
}

/// Whether the agent's own settings make it confine commands. Only one agent shares settings with us.
fn confines_itself(loaded: &Loaded, dialect: &Dialect) -> bool {
    dialect.name == "claude-code" && says(loaded, "enabled")
}

/// What the strongest of the files that Claude Code reads says about a switch of the sandbox.
fn says(loaded: &Loaded, switch: &str) -> bool {
    let path = ["sandbox", switch];
    let mut theirs = loaded.said(&path).filter(|(file, _)| own_hook::is_of_claude_code(file));
    theirs.next().is_some_and(|(_, value)| value == Value::Bool(true))
}

/// The agent goes on without a sandbox that it cannot start, unless its settings forbid that; and it may let a call
/// step out where our settings would not.
fn by_itself(loaded: &Loaded, message: &Message) -> Confinement {
    let steps_out = message.calls.iter().any(|call| call.is_set("dangerouslyDisableSandbox"));
    if says(loaded, "failIfUnavailable") && !steps_out { Confinement::Sure } else { Confinement::Unasked }
}

/// Puts `mayi run` in the place of a command that has to run confined. What cannot be replaced must not be let through.
pub(super) fn replace(
    desk: &Desk,
    (asked, answered): (&Asked, &mut Answered),
    message: &Message,
    options: &Options,
) -> Result<(), String> {
    let ends = answered.decision.verdict == Verdict::Deny || answered.aborted.is_some();
    if ends || !desk.is_to_be_confined(answered) {
        return Ok(());
    }
    let text = replacement(desk, (asked, answered), message, options)?;
    let field = answered.call.input.get_mut("command").ok_or("the call has no command")?;
    *field = text.into();
    answered.changed = true;
    Ok(())
}

fn replacement(
    desk: &Desk,
    (asked, answered): (&Asked, &Answered),
    message: &Message,
    options: &Options,
) -> Result<String, String> {
    let program = program().ok_or("where mayi itself is cannot be found out")?;
    let text = answered.call.text("command").ok_or("the call has no command")?;
    let (before, command) = if answered.changed { ("", text) } else { parts(&message.original, text) };
    let settings: Vec<String> = options.settings.iter().map(argument).collect();
    let by = Replaced { program: &program, command, settings: &settings };
    Ok(format!("{before}{}", desk.replaced(asked, answered, by)?))
}

fn argument(flag: &Flag) -> String {
    match flag {
        Flag::File(file) => file.display().to_string(),
        Flag::Inline(text) => text.clone(),
    }
}

fn program() -> Option<PathBuf> {
    std::env::current_exe().ok().filter(|program| program.is_absolute() && program.to_str().is_some())
}

/// A judged command parted into what was put before it, to judge it in a directory of its own, and what the agent runs.
fn parts<'t>(original: &Call, text: &'t str) -> (&'t str, &'t str) {
    let sent = |value: &Value| match value {
        Value::String(sent) => sent == text,
        Value::Array(words) => words.last().and_then(Value::as_str) == Some(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    };
    let as_sent = original.input.as_object().is_some_and(|fields| fields.values().any(sent));
    let moved = text.starts_with("cd -- ") && !as_sent;
    match text.find('\n').filter(|_| moved) {
        Some(end) => text.split_at(end + 1),
        None => ("", text),
    }
}
