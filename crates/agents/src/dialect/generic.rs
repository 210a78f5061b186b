//! Any other agent: our own documented JSON, described in `docs/agents.md`.
//!
//! The caller is expected to honour all three verdicts, a changed input and the end of the run. The exit code repeats
//! the verdict as `mayi check` does: 0 allow, 10 ask, 11 deny; whatever else comes back is to be read as a denial.

use std::time::Duration;

use mayi_core::call::Call;
use mayi_core::session::Attendance;
use mayi_core::verdict::Verdict;
use serde_json::{Value, json};

use crate::adapter::{Changes, Child, Dialect, Event, Foreign, Message, Reply, Surroundings, Told};
use crate::dialect::{envelope, wording};

const NAME: &str = "generic";
const TITLE: &str = "the agent";

pub(super) const DIALECT: Dialect = Dialect {
    name: NAME,
    title: "Any other agent",
    read,
    write,
    refuse,
    deadline: Duration::from_secs(50),
    changes: Changes::Always,
    notice: Some("notice"),
};

fn read(value: &Value, _: &Surroundings<'_>) -> Result<Message, Foreign> {
    let word = envelope::event_word(NAME, value, "event")?;
    let event = match word {
        "before" => Event::Before,
        "request" => Event::Request,
        "denied" => Event::Denied,
        "after" => Event::After,
        "failed" => Event::Failed,
        "other" => Event::Other,
        unknown => return Err(Foreign { agent: NAME, problem: format!("`{unknown}` is no event") }),
    };
    let original = envelope::call(value, "tool", "input");
    let known = (!original.tool.is_empty()).then(|| Call::new(&original.tool, original.input.clone()));
    let message = Message {
        session: envelope::text(value, "session").unwrap_or_default().to_owned(),
        calls: known.into_iter().collect(),
        original,
        call_id: envelope::text(value, "call_id").map(str::to_owned),
        mode: envelope::mode(value, "mode"),
        attendance: attendance(value),
        directory: envelope::folder(value, "cwd"),
        transcript: envelope::folder(value, "transcript"),
        child: child(value),
        response: value.get("response").cloned(),
        denial: envelope::text(value, "reason").filter(|_| event == Event::Denied).map(str::to_owned),
        ..envelope::blank(event, word)
    };
    envelope::whole(NAME, message)
}

/// What is neither true nor false is read as the stricter of the two.
fn attendance(value: &Value) -> Option<Attendance> {
    let unattended = value.get("unattended").filter(|word| !word.is_null())?;
    Some(if *unattended == Value::Bool(false) { Attendance::Attended } else { Attendance::Unattended })
}

fn child(value: &Value) -> Option<Child> {
    let agent = value.get("agent")?;
    let kind = envelope::text(agent, "type").map(str::to_owned);
    Some(Child { id: envelope::text(agent, "id")?.to_owned(), kind })
}

fn write(message: &Message, told: &Told) -> Reply {
    match message.event {
        Event::Before | Event::Request => decided(message, told),
        Event::Denied => wording::said(&json!({ "may_retry": told.may_retry })),
        Event::After | Event::Failed | Event::Other => {
            let end = json!({ "ends_run": told.ends_run });
            let context = wording::context(told).map(|context| json!({ "context": context }));
            let objection = (!told.objections.is_empty()).then(|| json!({ "objection": told.objections.join("\n") }));
            let replaced = told.replaced.as_ref().map(|output| json!({ "output": output }));
            wording::said(&[context, objection, replaced].into_iter().flatten().fold(end, wording::joined))
        }
    }
}

fn decided(message: &Message, told: &Told) -> Reply {
    let verdict = wording::verdict(told);
    let changed = told.changed.as_ref().filter(|_| verdict != Verdict::Deny);
    let lost = changed.is_some_and(|changed| message.calls.iter().any(|call| call.tool != changed.tool));
    if lost {
        return answered(Verdict::Deny, &wording::instead_of_changing(TITLE, &told.reason), json!({}));
    }
    let input = changed.map(|changed| json!({ "input": changed.input })).unwrap_or_default();
    let end = json!({ "ends_run": told.ends_run });
    let context = wording::context(told).map(|context| json!({ "context": context })).unwrap_or_default();
    let more = [input, end, context].into_iter().fold(json!({}), wording::joined);
    answered(verdict, &wording::reason(&told.reason), more)
}

fn answered(verdict: Verdict, reason: &str, more: Value) -> Reply {
    let answer = wording::joined(json!({ "verdict": verdict, "reason": reason }), more);
    Reply { code: code(verdict), ..wording::said(&answer) }
}

fn code(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Allow => 0,
        Verdict::Ask => 10,
        Verdict::Deny => 11,
    }
}

fn refuse(verdict: Verdict, reason: &str) -> Reply {
    answered(verdict.max(Verdict::Ask), &wording::reason(reason), json!({ "ends_run": false }))
}
