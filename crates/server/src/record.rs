//! The audit records of everything that the server decides and changes, in the shape of the local audit. Secrets are
//! hidden here, before a record goes anywhere.

use mayi_core::verdict::Decision;
use mayi_engine::audit::Entry;
use mayi_engine::json;
use mayi_engine::remote::wire::{Answer, Approval, Moment};
use mayi_settings::secret;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::principal::Principal;
use crate::problem::Problem;
use crate::store::NewRecord;

/// What an answer may say, in bytes: a comment is a sentence, not a document.
const LONGEST_COMMENT: usize = 4 * 1024;

/// How a record begins.
const HEAD: &str = "{\"v\":1,\"at\":";

/// Who asked, as a record of a decision says it beside what the local audit has.
#[derive(Serialize)]
struct Asker<'a> {
    token: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'a str>,
}

/// The record of a decision.
pub fn decision(
    entry: &Entry<'_>,
    decision: &Decision,
    (session, asker, host): (Option<&str>, &Principal, Option<&str>),
) -> Result<NewRecord, Problem> {
    let mut text = json::text(entry).map_err(|_| Problem::Broken)?;
    let at = text.strip_prefix(HEAD).and_then(|rest| rest.split(',').next()?.parse().ok());
    let asker = serde_json::to_string(&Asker { token: &asker.name, host }).map_err(|_| Problem::Broken)?;
    if text.pop() == Some('}') {
        text.push(',');
        text.push_str(asker.get(1..).unwrap_or("}"));
    }
    secret::redact(&mut text);
    match at {
        // What it says of itself is known already, and reading it again would take as long as writing it did.
        Some(at) if !secret::was_hidden(&text) => Ok(NewRecord {
            at,
            kind: "decision".to_owned(),
            session: session.map(str::to_owned),
            verdict: Some(decision.verdict.word().to_owned()),
            step: Some(decision.step),
            text,
            shipped: None,
        }),
        Some(_) | None => Ok(NewRecord { step: Some(decision.step), ..NewRecord::of(text)? }),
    }
}

fn named(session: &str) -> Option<String> {
    Some(session).filter(|session| !session.is_empty()).map(str::to_owned)
}

/// A record of some kind, with its members in their order.
pub fn of(kind: &str, at: Moment, session: Option<&str>, members: Value) -> NewRecord {
    let mut whole = Map::new();
    whole.insert("v".to_owned(), json!(1));
    whole.insert("at".to_owned(), json!(at));
    whole.insert("kind".to_owned(), json!(kind));
    if let Some(session) = session {
        whole.insert("session".to_owned(), json!(session));
    }
    if let Value::Object(members) = members {
        whole.extend(members);
    }
    let mut text = Value::Object(whole).to_string();
    secret::redact(&mut text);
    let unread =
        |text| NewRecord { at, kind: kind.to_owned(), session: None, verdict: None, step: None, text, shipped: None };
    // What was just written can be read.
    NewRecord::of(text.clone()).unwrap_or_else(|_| unread(text))
}

/// The record of a question that was put.
pub fn question(approval: &Approval) -> NewRecord {
    let question = &approval.question;
    let members = json!({
        "agent": question.agent,
        "child": question.child,
        "lead": question.lead,
        "call_id": question.call_id,
        "host": question.host,
        "approval": approval.id,
        "digest": question.digest,
        "policy": question.policy,
        "cwd": question.cwd,
        "mode": question.mode,
        "tool": question.tool,
        "input": question.input,
        "step": question.step,
        "message": question.message,
        "offers": question.offers,
        "expires_at": approval.expires_at,
    });
    of("question", approval.created_at, named(&question.session).as_deref(), members)
}

/// The record of an answer.
pub fn answer(approval: &Approval, answer: &Answer) -> NewRecord {
    let question = &approval.question;
    let mut comment = answer.comment.clone().unwrap_or_default();
    comment.truncate(comment.floor_char_boundary(LONGEST_COMMENT));
    let members = json!({
        "agent": question.agent,
        "child": question.child,
        "call_id": question.call_id,
        "tool": question.tool,
        "verdict": answer.verdict,
        "by": answer.by,
        "approval": approval.id,
        "digest": question.digest,
        "comment": answer.comment.as_ref().map(|_| comment),
        "remember": answer.remember,
        "rule": answer.rule,
        "layer": answer.layer,
    });
    of("answer", answer.at, named(&question.session).as_deref(), members)
}

/// Hides secrets in a value. They are looked for in the whole text, where a name may stand before its value; if that
/// leaves no value, in each text.
pub fn hide(value: &mut Value) {
    let mut text = value.to_string();
    secret::redact(&mut text);
    match serde_json::from_str(&text) {
        Ok(hidden) => *value = hidden,
        Err(_) => hide_each(value),
    }
}

fn hide_each(value: &mut Value) {
    match value {
        Value::String(text) => secret::redact(text),
        Value::Array(items) => items.iter_mut().for_each(hide_each),
        Value::Object(members) => members.iter_mut().for_each(|(_, member)| hide_each(member)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_its_head_first_and_no_secret() {
        let token = format!("ghp_{}", "a1B2".repeat(9));
        let record = of("mode", 7, Some("s"), json!({"by": "root", "comment": token}));
        assert_eq!(record.text, r#"{"v":1,"at":7,"kind":"mode","session":"s","by":"root","comment":"[secret]"}"#);
        assert_eq!((record.session.as_deref(), record.verdict), (Some("s"), None));
        let mut value = json!({"command": format!("curl -H {token}"), "list": [token]});
        hide(&mut value);
        assert_eq!(value, json!({"command": "curl -H [secret]", "list": ["[secret]"]}));
    }
}
