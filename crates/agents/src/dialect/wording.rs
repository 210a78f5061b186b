//! Writing answers: what is the same for all agents.
//!
//! An answer is never milder than the verdict, and a denial never comes without a reason: some clients run a call
//! whose denial has none.

use mayi_core::catalogue::{self, Kind};
use mayi_core::verdict::Verdict;
use serde_json::Value;

use crate::adapter::{Message, Reply, Told};
use crate::remedy::Remedy;

/// Letters of a reason that are passed on. Clients cut long ones at places of their own.
const LONGEST: usize = 4000;

/// The verdict to be written. A run that ends does not run this call.
pub(super) fn verdict(told: &Told) -> Verdict {
    if told.ends_run { Verdict::Deny } else { told.verdict }
}

/// The reason, never empty and never endless.
pub(super) fn reason(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() {
        return "mayi gave no reason".to_owned();
    }
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The reason of a denial that stands for a question, because the client cannot put it to a person.
pub(super) fn instead_of_asking(title: &str, told: &Told) -> String {
    let help = match told.remedy {
        Some(Remedy::AllowRule) => "a person can run it, or allow it with a rule in mayi's settings".to_owned(),
        Some(remedy) => format!("a person can run it; {remedy}"),
        None => "a person can run it".to_owned(),
    };
    format!(
        "{}\nA person has to decide this, and a hook cannot make {title} ask one, so the answer is no.\nhelp: {help}",
        reason(&told.reason)
    )
}

/// The reason of a denial that stands for a changed call, because the client cannot be given one.
pub(super) fn instead_of_changing(title: &str, text: &str) -> String {
    format!(
        "{}\nA hook changed the call, and {title} cannot be given the changed one, so the answer is no.",
        reason(text)
    )
}

/// Whether the message is about a tool that puts something to a person by its nature, such as a question. To ask
/// whether it may ask is pointless: its own dialogue is the question.
pub(super) fn speaks_to_a_person(message: &Message) -> bool {
    let speaks = |tool: &str| catalogue::built_in(tool).is_some_and(|tool| tool.kind == Kind::Person);
    !message.calls.is_empty() && message.calls.iter().all(|call| speaks(&call.tool))
}

/// What hooks want the model to read, as one text.
pub(super) fn context(told: &Told) -> Option<String> {
    (!told.context.is_empty()).then(|| told.context.join("\n"))
}

/// What hooks say of a call that ran, as one text: for an agent that does not tell objections from other words.
pub(super) fn remarks(told: &Told) -> Option<String> {
    let remarks: Vec<&str> = told.objections.iter().chain(&told.context).map(String::as_str).collect();
    (!remarks.is_empty()).then(|| remarks.join("\n"))
}

/// The same for an agent that listens to nobody after a call: the person can read it where hooks leave their words.
pub(super) fn aside(told: &Told) -> Reply {
    let stderr = remarks(told).map(|remarks| format!("mayi: {remarks}\n"));
    Reply { stderr: stderr.unwrap_or_default(), ..Reply::default() }
}

/// Two objects as one.
pub(super) fn joined(mut one: Value, other: Value) -> Value {
    if let (Value::Object(fields), Value::Object(more)) = (&mut one, other) {
        fields.extend(more);
    }
    one
}

/// An answer on standard output.
pub(super) fn said(answer: &Value) -> Reply {
    Reply { stdout: answer.to_string(), ..Reply::default() }
}

/// No answer: the client goes on as if nobody had been asked.
pub(super) fn silence() -> Reply {
    Reply::default()
}
