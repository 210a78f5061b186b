//! Questions to a person, put through the agent's own elicitation, and what their answer means.
//!
//! Only a clear yes is a yes.

use mayi_core::verdict::Verdict;
use serde_json::{Value, json};

/// The method by which a server asks the person at the agent.
pub(crate) const METHOD: &str = "elicitation/create";

/// How much of a call's arguments a question shows.
const SHOWN: usize = 1000;

/// Whether a client with these capabilities can put a form to its person. An empty capability means forms.
pub(crate) fn can_be_put(capabilities: &Value) -> bool {
    match capabilities.get("elicitation") {
        Some(Value::Object(kinds)) => kinds.is_empty() || kinds.contains_key("form"),
        Some(_) | None => false,
    }
}

/// The question whether a call may run.
pub(crate) fn about(tool: &str, arguments: &Value, why: &str) -> Value {
    let arguments = arguments.to_string();
    let shown: String = visible(&arguments).chars().take(SHOWN).collect();
    let more = if shown.len() < arguments.len() { " …" } else { "" };
    json!({
        "message": format!("May `{tool}` run?\n{shown}{more}\n({why})"),
        "requestedSchema": {
            "type": "object",
            "properties": {
                "answer": {
                    "type": "string",
                    "title": "Answer",
                    "description": "allow runs it this once; deny does not",
                    "enum": ["allow", "deny"],
                },
            },
            "required": ["answer"],
        },
    })
}

/// What the person said; nothing when the agent sent what is no answer of a person.
pub(crate) fn answer(result: &Value) -> Option<Verdict> {
    match result.get("action").and_then(Value::as_str)? {
        "accept" if result.pointer("/content/answer").and_then(Value::as_str) == Some("allow") => Some(Verdict::Allow),
        "accept" | "decline" | "cancel" => Some(Verdict::Deny),
        _ => None,
    }
}

/// Letters that would rearrange a terminal or hide text are shown by their number.
fn visible(text: &str) -> String {
    let hidden = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if hidden(letter) {
            shown.extend(letter.escape_unicode());
        } else {
            shown.push(letter);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_is_a_yes() {
        let rows = [
            (json!({"action": "accept", "content": {"answer": "allow"}}), Some(Verdict::Allow)),
            (json!({"action": "accept", "content": {"answer": "deny"}}), Some(Verdict::Deny)),
            (json!({"action": "accept", "content": {}}), Some(Verdict::Deny)),
            (json!({"action": "accept"}), Some(Verdict::Deny)),
            (json!({"action": "decline", "content": {"answer": "allow"}}), Some(Verdict::Deny)),
            (json!({"action": "cancel"}), Some(Verdict::Deny)),
            (json!({"action": "Accept", "content": {"answer": "allow"}}), None),
            (json!({}), None),
            (Value::Null, None),
        ];
        for (result, said) in rows {
            assert_eq!(answer(&result), said, "{result}");
        }
    }

    #[test]
    fn a_form_can_be_put_to_clients_that_say_so() {
        let rows = [
            (json!({"elicitation": {}}), true),
            (json!({"elicitation": {"form": {}, "url": {}}}), true),
            (json!({"elicitation": {"url": {}}}), false),
            (json!({"elicitation": true}), false),
            (json!({}), false),
            (json!(null), false),
        ];
        for (capabilities, can) in rows {
            assert_eq!(can_be_put(&capabilities), can, "{capabilities}");
        }
    }

    #[test]
    fn a_question_shows_the_call_and_hides_nothing() {
        let long = "x".repeat(5000);
        let question = about("mcp__s__t", &json!({"a": "\u{202e}evil", "b": long}), "because");
        let message = question["message"].as_str().unwrap();
        assert!(
            message.contains("mcp__s__t") && message.contains("\\u{202e}evil") && message.ends_with("…\n(because)")
        );
    }
}
