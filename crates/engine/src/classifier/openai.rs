//! OpenAI's chat API, as many servers speak it: how a prompt is written for it, and what counts as its answer.

use serde::{Deserialize, Serialize};

use super::client::Problem;
use super::ledger::Usage;
use super::prompt::{Prompt, Stage};
use super::{Object, Reply};

/// A request. Texts are plain strings and there is one message of each role: some servers take nothing else. Such
/// servers cache by prefix, so what differs between the stages comes last.
#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    messages: [Message<'a>; 2],
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: &'a str,
}

/// How a server wants to be told the length of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    /// The old field, which compatible servers know.
    MaxTokens,
    /// The new one, which OpenAI's own models require.
    MaxCompletionTokens,
}

impl Length {
    /// What a host wants.
    pub(crate) fn of_host(host: Option<&str>) -> Self {
        if host == Some("api.openai.com") { Self::MaxCompletionTokens } else { Self::MaxTokens }
    }

    /// The values of both fields.
    pub(crate) fn fields(self, tokens: u32) -> (Option<u32>, Option<u32>) {
        match self {
            Self::MaxTokens => (Some(tokens), None),
            Self::MaxCompletionTokens => (None, Some(tokens)),
        }
    }
}

/// The body of a request.
pub(super) fn request(model: &str, prompt: &Prompt<'_>, (stage, length): (Stage, Length)) -> Vec<u8> {
    let content = [prompt.past.concat().as_str(), &prompt.present, stage.instruction()].concat();
    let system = Message { role: "system", content: prompt.system };
    let messages = [system, Message { role: "user", content: &content }];
    let (max_tokens, max_completion_tokens) = length.fields(stage.tokens());
    let request = Request { model, messages, max_tokens, max_completion_tokens };
    serde_json::to_vec(&request).unwrap_or_default()
}

#[derive(Deserialize)]
struct Answer {
    choices: Vec<Object<Choice>>,
    usage: Option<Object<Tokens>>,
}

#[derive(Deserialize)]
struct Choice {
    message: Object<Said>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Said {
    role: String,
    content: Option<String>,
    refusal: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<serde::de::IgnoredAny>>,
}

/// What was used, as the API counts it.
#[derive(Deserialize)]
pub(crate) struct Tokens {
    prompt_tokens: u64,
    completion_tokens: u64,
    prompt_tokens_details: Option<Object<Details>>,
}

#[derive(Deserialize)]
struct Details {
    cached_tokens: Option<u64>,
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        let cached = tokens.prompt_tokens_details.and_then(|details| details.0.cached_tokens).unwrap_or_default();
        Self {
            requests: 1,
            // Here the cached tokens are part of the prompt's.
            input: tokens.prompt_tokens.saturating_sub(cached),
            output: tokens.completion_tokens,
            cache_write: 0,
            cache_read: cached,
        }
    }
}

/// What the body of an answer says. Text counts only when the model came to its end by itself, refused nothing and
/// called nothing.
pub(super) fn read(body: &[u8]) -> Result<Reply, Problem> {
    let Object(answer) = serde_json::from_slice::<Object<Answer>>(body).map_err(|_| Problem::Unreadable)?;
    let usage = answer.usage.map_or(Usage { requests: 1, ..Usage::default() }, |tokens| Usage::from(tokens.0));
    let mut choices = answer.choices.into_iter();
    let (Some(Object(Choice { message: Object(message), finish_reason })), None) = (choices.next(), choices.next())
    else {
        return Ok(Reply { text: None, usage });
    };
    let whole = message.role == "assistant"
        && finish_reason.as_deref() == Some("stop")
        && message.refusal.is_none()
        && message.tool_calls.is_none_or(|calls| calls.is_empty());
    Ok(Reply { text: message.content.filter(|_| whole), usage })
}
