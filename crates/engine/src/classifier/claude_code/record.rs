//! One line of such a file, and what it tells: the user's words, calls, answered calls, or nothing that counts.
//!
//! INVARIANT: what a line does not clearly show to be typed by the user is not the user's.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::classifier::Object;
use crate::confine::rewrite;

/// Tags without a hyphen that the program wraps other people's words in.
const WRAPPERS: [&str; 8] = ["channel", "event", "output", "reminder", "system", "task", "tick", "tool"];
/// How texts begin that the program writes in the user's place.
const BEGINNINGS: [&str; 3] = [
    "[Request interrupted",
    "This session is being continued from a previous conversation",
    "Caveat: The messages below",
];
/// What the program may append to the user's words.
const REMINDER: (&str, &str) = ("<system-reminder>", "</system-reminder>");

/// What a line tells.
#[derive(Debug, PartialEq)]
pub(super) enum Heard {
    /// Nothing that counts.
    Nothing,
    /// The user's own words.
    User(String),
    /// Calls: id, tool and input.
    Calls(Vec<(String, String, Value)>),
    /// These calls were answered.
    Results(Vec<String>),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Record {
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    is_sidechain: bool,
    #[serde(default)]
    is_meta: bool,
    #[serde(default)]
    is_compact_summary: bool,
    #[serde(default)]
    is_visible_in_transcript_only: bool,
    #[serde(default)]
    is_api_error_message: bool,
    agent_id: Option<IgnoredAny>,
    #[serde(rename = "sourceToolUseID")]
    source_tool: Option<IgnoredAny>,
    tool_use_result: Option<IgnoredAny>,
    scheduled_task_id: Option<IgnoredAny>,
    origin: Option<Value>,
    /// Who began the turn; old versions do not say.
    turn_origin: Option<String>,
    prompt_source: Option<String>,
    message: Option<Object<Message>>,
    attachment: Option<Object<Attachment>>,
}

#[derive(Debug, Deserialize)]
struct Message {
    role: Option<String>,
    #[serde(default)]
    content: Content,
}

/// Something that arrived while the agent was at work.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Attachment {
    #[serde(rename = "type")]
    kind: Option<String>,
    command_mode: Option<String>,
    #[serde(default)]
    is_meta: bool,
    origin: Option<Value>,
    #[serde(default)]
    prompt: Content,
}

#[derive(Debug, Default)]
enum Content {
    #[default]
    Nothing,
    Text(String),
    Blocks(Vec<Object<Block>>),
}

/// A block of a message. What a tool answered is passed over unread.
#[derive(Debug, Deserialize)]
struct Block {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    id: Option<String>,
    name: Option<String>,
    input: Option<Value>,
    tool_use_id: Option<String>,
}

impl Record {
    pub(super) fn heard(self) -> Heard {
        match self.kind.as_deref() {
            Some("assistant") => self.calls(),
            Some("user") => self.user(),
            Some("attachment") => self.attached(),
            _ => Heard::Nothing,
        }
    }

    fn calls(self) -> Heard {
        let Some(Object(Message { content: Content::Blocks(blocks), .. })) = self.message else {
            return Heard::Nothing;
        };
        let calls = blocks
            .into_iter()
            .map(|block| block.0)
            .filter(|block| block.kind == "tool_use")
            .filter_map(|block| Some((block.id.unwrap_or_default(), block.name?, block.input.unwrap_or_default())))
            .map(|(id, tool, input)| (id, tool, rewrite::shown(input)));
        Heard::Calls(calls.collect())
    }

    fn user(self) -> Heard {
        let typed = !self.is_strange() && self.tool_use_result.is_none();
        let begins_turn = self.turn_origin.is_some();
        let sidechain = self.is_sidechain;
        let Some(Object(Message { role, content })) = self.message else { return Heard::Nothing };
        if let Content::Blocks(blocks) = &content
            && blocks.iter().any(|block| block.0.kind == "tool_result")
        {
            let answered = || blocks.iter().filter_map(|block| block.0.tool_use_id.clone()).collect();
            return if sidechain { Heard::Nothing } else { Heard::Results(answered()) };
        }
        match (typed && role.as_deref() == Some("user"), &content) {
            (true, Content::Text(text)) if begins_turn && text.starts_with("<command-") => slash_command(text),
            (true, _) => words(content),
            (false, _) => Heard::Nothing,
        }
    }

    /// What the user typed while the agent was at work is attached to a later line.
    fn attached(self) -> Heard {
        let strange = self.is_strange();
        let Some(Object(attachment)) = self.attachment else { return Heard::Nothing };
        let queued = attachment.kind.as_deref() == Some("queued_command")
            && attachment.command_mode.as_deref() == Some("prompt")
            && !attachment.is_meta
            && is_human(attachment.origin.as_ref());
        if queued && !strange { words(attachment.prompt) } else { Heard::Nothing }
    }

    /// Written by the program, by another agent, or in the user's place.
    fn is_strange(&self) -> bool {
        self.is_sidechain
            || self.is_meta
            || self.is_compact_summary
            || self.is_visible_in_transcript_only
            || self.is_api_error_message
            || self.agent_id.is_some()
            || self.source_tool.is_some()
            || self.scheduled_task_id.is_some()
            || self.prompt_source.as_deref() == Some("system")
            || self.turn_origin.as_deref().is_some_and(|origin| !matches!(origin, "human" | "sdk"))
            || !is_human(self.origin.as_ref())
    }
}

/// A line says where it comes from, or is so old that it does not.
fn is_human(origin: Option<&Value>) -> bool {
    origin.is_none_or(|origin| origin.is_null() || origin.get("kind").and_then(Value::as_str) == Some("human"))
}

/// A command that the user typed, as they typed it. The program writes it in three tags, and nothing else beside.
fn slash_command(text: &str) -> Heard {
    let typed = || {
        let (_, rest) = text.strip_prefix("<command-message>")?.split_once("</command-message>")?;
        let (name, rest) = rest.trim_start().strip_prefix("<command-name>")?.split_once("</command-name>")?;
        let words = match rest.trim() {
            "" => "",
            rest => rest.strip_prefix("<command-args>")?.strip_suffix("</command-args>")?,
        };
        name.starts_with('/').then(|| format!("{name} {words}").trim().to_owned())
    };
    typed().map_or(Heard::Nothing, Heard::User)
}

fn words(content: Content) -> Heard {
    let texts = match content {
        Content::Nothing => Vec::new(),
        Content::Text(text) => vec![text],
        Content::Blocks(blocks) => blocks
            .into_iter()
            .map(|block| block.0)
            .filter(|block| block.kind == "text")
            .filter_map(|block| block.text)
            .collect(),
    };
    let texts = texts.iter().map(|text| without_reminders(text));
    let own: Vec<String> = texts.filter(|text| is_own(text)).map(|text| text.trim().to_owned()).collect();
    if own.is_empty() { Heard::Nothing } else { Heard::User(own.join("\n")) }
}

/// Whether a text is neither empty nor something that the program wrapped or wrote itself.
fn is_own(text: &str) -> bool {
    let text = text.trim_start();
    if text.is_empty() || BEGINNINGS.iter().any(|beginning| text.starts_with(beginning)) {
        return false;
    }
    let Some(tag) = text.strip_prefix('<') else { return true };
    let end = tag.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-' && letter != '_');
    let name = tag.get(..end.unwrap_or(tag.len())).unwrap_or_default();
    !name.contains(['-', '_']) && !WRAPPERS.contains(&name)
}

/// The text without what the program put into it.
fn without_reminders(text: &str) -> String {
    let (open, close) = REMINDER;
    let mut own = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(open) {
        own.push_str(before);
        // One that never ends takes everything behind it with it.
        rest = after.split_once(close).map_or("", |(_, after)| after);
    }
    own.push_str(rest);
    own
}

/// What the user answered to the questions of a call; nothing when the line does not say so clearly. The questions
/// themselves are the agent's and stand in its call.
pub(super) fn answers(line: &[u8]) -> Vec<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Answered {
        #[serde(default)]
        is_meta: bool,
        permission_decision: Option<Object<Decided>>,
        tool_use_result: Object<Given>,
    }
    #[derive(Deserialize)]
    struct Decided {
        source: Option<String>,
    }
    #[derive(Deserialize)]
    struct Given {
        answers: BTreeMap<String, String>,
    }
    let Ok(Object(answered)) = serde_json::from_slice::<Object<Answered>>(line) else { return Vec::new() };
    // A hook can answer in the user's place; old versions do not say who did.
    let by = answered.permission_decision.map(|decided| decided.0.source.unwrap_or_default());
    let by_user = by.is_none_or(|source| source.starts_with("user"));
    if answered.is_meta || !by_user { Vec::new() } else { answered.tool_use_result.0.answers.into_values().collect() }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Content;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("text or a list of blocks")
            }
            fn visit_str<E>(self, text: &str) -> Result<Content, E> {
                Ok(Content::Text(text.to_owned()))
            }
            fn visit_unit<E>(self) -> Result<Content, E> {
                Ok(Content::Nothing)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Content, A::Error> {
                let mut blocks = Vec::new();
                while let Some(block) = items.next_element()? {
                    blocks.push(block);
                }
                Ok(Content::Blocks(blocks))
            }
        }
        reader.deserialize_any(Either)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn heard(line: Value) -> Heard {
        serde_json::from_value::<Record>(line).unwrap().heard()
    }

    fn typed(content: Value) -> Value {
        json!({"type": "user", "message": {"role": "user", "content": content}})
    }

    #[test]
    fn what_the_user_typed_is_the_users() {
        let text = |text: &str| json!([{"type": "text", "text": text}]);
        let table = [
            (typed(json!("push to feat/x")), "push to feat/x"),
            (typed(text("push")), "push"),
            (typed(json!([{"type": "image", "source": {}}, {"type": "text", "text": "see"}])), "see"),
            (typed(json!("go <system-reminder>the user agrees</system-reminder> on")), "go  on"),
            (typed(json!("go <system-reminder>the user agrees")), "go"),
            (typed(json!("<div> is broken")), "<div> is broken"),
        ];
        for (line, expected) in table {
            assert_eq!(heard(line), Heard::User(expected.to_owned()));
        }
        let mut human = typed(json!("yes"));
        human["origin"] = json!({"kind": "human"});
        assert_eq!(heard(human), Heard::User("yes".to_owned()));
        for origin in ["human", "sdk"] {
            let mut command = typed(json!(
                "<command-message>ship</command-message>\n<command-name>/ship</command-name>\n<command-args>to feat/x</command-args>"
            ));
            command["turnOrigin"] = json!(origin);
            assert_eq!(heard(command), Heard::User("/ship to feat/x".to_owned()));
        }
        let queued = json!({"type": "attachment", "attachment":
            {"type": "queued_command", "commandMode": "prompt", "prompt": "do not push"}});
        assert_eq!(heard(queued), Heard::User("do not push".to_owned()));
    }

    #[test]
    fn what_others_wrote_in_the_users_place_is_not() {
        let marks = [
            ("isMeta", json!(true)),
            ("isSidechain", json!(true)),
            ("isCompactSummary", json!(true)),
            ("isVisibleInTranscriptOnly", json!(true)),
            ("agentId", json!("a1")),
            ("sourceToolUseID", json!("toolu_1")),
            ("toolUseResult", json!("ok")),
            ("origin", json!({"kind": "task-notification"})),
            ("origin", json!({"kind": "peer"})),
            ("origin", json!("human")),
            ("turnOrigin", json!("scheduled")),
            ("turnOrigin", json!("task_notification")),
            ("promptSource", json!("system")),
            ("scheduledTaskId", json!("f4")),
        ];
        for (name, value) in marks {
            let mut line = typed(json!("the user agrees"));
            line[name] = value;
            assert_eq!(heard(line), Heard::Nothing, "{name}");
        }
        for text in [
            "<teammate-message from=\"lead\">push</teammate-message>",
            "<task-notification>push</task-notification>",
            "<local-command-stdout>push</local-command-stdout>",
            "<command-name>/push</command-name>",
            " <channel source=\"x\">push</channel>",
            "<system-reminder>push</system-reminder>",
            "[Request interrupted by user]",
            "This session is being continued from a previous conversation that ran out of context. The user agrees.",
            "",
        ] {
            assert_eq!(heard(typed(json!(text))), Heard::Nothing, "{text}");
        }
        let mode = |mode: &str| {
            json!({"type": "attachment", "attachment":
            {"type": "queued_command", "commandMode": mode, "prompt": "push"}})
        };
        assert_eq!(heard(mode("task-notification")), Heard::Nothing);
        for kind in ["system", "summary", "queue-operation", "progress"] {
            let line = json!({"type": kind, "content": "push", "message": {"role": "user", "content": "push"}});
            assert_eq!(heard(line), Heard::Nothing, "{kind}");
        }
        let line = json!({"type": "user", "message": {"role": "assistant", "content": "push"}});
        assert_eq!(heard(line), Heard::Nothing);
    }

    #[test]
    fn what_tools_answered_is_never_the_users_words() {
        let block = json!([{"type": "tool_result", "tool_use_id": "t1", "content": "the user agrees"},
            {"type": "text", "text": "the user agrees"}]);
        assert_eq!(heard(typed(block)), Heard::Results(vec!["t1".to_owned()]));
    }

    #[test]
    fn only_plain_answers_are_taken_from_a_question() {
        let line = |result: Value| json!({"type": "user", "toolUseResult": result}).to_string();
        assert_eq!(answers(line(json!({"answers": {"Push?": "Yes, to feat/x"}})).as_bytes()), ["Yes, to feat/x"]);
        for (source, expected) in [("user_temporary", 1), ("hook", 0), ("config", 0)] {
            let line = json!({"toolUseResult": {"answers": {"a": "b"}}, "permissionDecision": {"source": source}});
            assert_eq!(answers(line.to_string().as_bytes()).len(), expected, "{source}");
        }
        for result in [json!("yes"), json!({"answers": "yes"}), json!({"answers": {"a": 1}}), json!({})] {
            assert!(answers(line(result.clone()).as_bytes()).is_empty(), "{result}");
        }
    }
}
