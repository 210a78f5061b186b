//! The model APIs the agents speak, one file each, written from their public documentation: how a conversation is
//! read, and how an answer is written.

mod chat_completions;
mod generate_content;
mod messages;
mod responses;

use serde_json::Value;

use crate::script::Use;

/// A model API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// Messages, spoken by Claude Code.
    Messages,
    /// Responses, spoken by Codex.
    Responses,
    /// Generate content, spoken by Gemini CLI.
    GenerateContent,
    /// Chat completions, spoken by opencode.
    ChatCompletions,
}

/// What came back from a tool call, as the model is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    /// The name of the call; empty where the API does not repeat it, then the order tells.
    pub id: String,
    /// Its text.
    pub text: String,
    /// Whether it is marked as an error.
    pub is_error: bool,
}

/// An answer of the server.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Its content type.
    pub content_type: &'static str,
    /// Its body.
    pub body: String,
}

impl Answer {
    /// A JSON document.
    pub fn json(value: &Value) -> Self {
        Self { content_type: "application/json", body: value.to_string() }
    }

    /// A stream of events with their data; an event without a name has data alone.
    fn events<'a>(events: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        let lines = events.into_iter().map(|(name, data)| match name {
            "" => format!("data: {data}\n\n"),
            named => format!("event: {named}\ndata: {data}\n\n"),
        });
        Self { content_type: "text/event-stream", body: lines.collect() }
    }
}

impl Api {
    /// Whether a request at this path continues a conversation.
    pub fn is_conversation(self, path: &str) -> bool {
        match self {
            Self::Messages => path.ends_with("/v1/messages"),
            Self::Responses => path.ends_with("/responses"),
            Self::GenerateContent => path.to_ascii_lowercase().ends_with("generatecontent"),
            Self::ChatCompletions => path.ends_with("/chat/completions"),
        }
    }

    /// The results of tool calls in a conversation, in their order.
    pub fn results(self, body: &Value) -> Vec<ToolResult> {
        match self {
            Self::Messages => messages::results(body),
            Self::Responses => responses::results(body),
            Self::GenerateContent => generate_content::results(body),
            Self::ChatCompletions => chat_completions::results(body),
        }
    }

    /// The text a person, or another agent, opened the conversation with.
    pub fn opening(self, body: &Value) -> String {
        match self {
            Self::Messages => messages::opening(body),
            Self::Responses => responses::opening(body),
            Self::GenerateContent => generate_content::opening(body),
            Self::ChatCompletions => chat_completions::opening(body),
        }
    }

    /// An answer: these calls, or a last word when there are none.
    pub fn answer(self, body: &Value, path: &str, uses: &[Use]) -> Answer {
        match self {
            Self::Messages => messages::answer(body, uses),
            Self::Responses => responses::answer(uses),
            Self::GenerateContent => generate_content::answer(path, uses),
            Self::ChatCompletions => chat_completions::answer(body, uses),
        }
    }
}

/// What the model says when its script is over.
const LAST_WORD: &str = "done";

/// The elements of a list in a document, none where there is no list.
fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// The text in a document, empty where there is none.
fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Content that is a text, or a list of parts with texts.
fn flattened(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().map(|part| text(part, "text")).collect::<Vec<_>>().join("\n"),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}
