//! What hooks of settings want the person to read, beside an answer: in the field that the agent shows to its user, or on
//! standard error where it has none. It never changes what was answered.

use serde_json::{Map, Value};

use super::words;
use crate::adapter::{Dialect, Reply};

/// The reply with what the person is to read.
pub(super) fn added(mut reply: Reply, notices: &[String], dialect: &Dialect) -> Reply {
    if notices.is_empty() {
        return reply;
    }
    let text = words::plain(&notices.join("\n"));
    match dialect.notice.and_then(|field| with(&reply.stdout, field, &text)) {
        Some(stdout) => reply.stdout = stdout,
        None => text.lines().for_each(|line| reply.stderr.extend(["mayi: ", line, "\n"])),
    }
    reply
}

/// An answer with one more field. Where there was none, the field alone is no answer either.
fn with(answer: &str, field: &str, text: &str) -> Option<String> {
    let mut fields = match answer {
        "" => Map::new(),
        answer => serde_json::from_str::<Map<String, Value>>(answer).ok()?,
    };
    fields.insert(field.to_owned(), text.into());
    Some(Value::Object(fields).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect;

    fn shown(agent: &str, stdout: &str) -> Reply {
        let reply = Reply { stdout: stdout.to_owned(), code: 10, ..Reply::default() };
        let notices = ["look\u{1b}[2J".to_owned(), "and here".to_owned()];
        added(reply, &notices, dialect::named(agent).unwrap())
    }

    #[test]
    fn a_person_reads_it_in_the_agents_own_field_or_on_standard_error() {
        for (agent, field) in [("claude-code", "systemMessage"), ("codex", "systemMessage"), ("generic", "notice")] {
            for before in ["", r#"{"a":{"b":1}}"#] {
                let reply = shown(agent, before);
                let answer: Value = serde_json::from_str(&reply.stdout).unwrap();
                assert_eq!(answer[field], "look\\u{1b}[2J\nand here", "{agent}");
                assert_eq!((answer["a"]["b"].as_u64(), reply.code), ((!before.is_empty()).then_some(1), 10));
                assert_eq!(reply.stderr, "", "{agent}");
            }
        }
        for agent in ["copilot", "cursor", "opencode", "cline", "goose"] {
            let reply = shown(agent, "{}");
            assert_eq!((reply.stdout.as_str(), reply.code), ("{}", 10));
            assert_eq!(reply.stderr, "mayi: look\\u{1b}[2J\nmayi: and here\n", "{agent}");
        }
    }

    #[test]
    fn nothing_to_read_changes_nothing() {
        let reply = Reply { stdout: "{ }".to_owned(), ..Reply::default() };
        assert_eq!(added(reply.clone(), &[], dialect::named("codex").unwrap()), reply);
    }
}
