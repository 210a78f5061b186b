//! Anthropic's Messages API: how a prompt is written for it, and what counts as its answer.

use serde::{Deserialize, Serialize};

use super::client::Problem;
use super::ledger::Usage;
use super::prompt::{Prompt, Stage};
use super::{Object, Reply};

/// A request. The order of the fields is the order in the body: everything but the stage's instruction and length
/// comes first, the same byte for byte at both stages.
#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    system: [Text<'a>; 1],
    messages: [Message<'a>; 1],
    max_tokens: u32,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Vec<Text<'a>>,
}

#[derive(Serialize)]
struct Text<'a> {
    r#type: &'static str,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

/// The provider keeps the prompt up to here.
#[derive(Serialize)]
struct CacheControl {
    r#type: &'static str,
}

impl<'a> Text<'a> {
    fn plain(text: &'a str) -> Self {
        Self { r#type: "text", text, cache_control: None }
    }

    fn kept(text: &'a str) -> Self {
        Self { cache_control: Some(CacheControl { r#type: "ephemeral" }), ..Self::plain(text) }
    }
}

/// The body of a request.
pub(super) fn request(model: &str, prompt: &Prompt<'_>, stage: Stage) -> Vec<u8> {
    let mut content: Vec<Text<'_>> = prompt.past.iter().map(|block| Text::plain(block)).collect();
    if let [_, .., last] = content.as_mut_slice() {
        *last = Text::kept(last.text);
    }
    content.push(Text::kept(&prompt.present));
    content.push(Text::plain(stage.instruction()));
    let system = [Text::kept(prompt.system)];
    let messages = [Message { role: "user", content }];
    let request = Request { model, system, messages, max_tokens: stage.tokens() };
    serde_json::to_vec(&request).unwrap_or_default()
}

#[derive(Deserialize)]
struct Answer {
    r#type: String,
    role: String,
    content: Vec<Object<Block>>,
    stop_reason: Option<String>,
    usage: Object<Tokens>,
}

#[derive(Deserialize)]
struct Block {
    r#type: String,
    text: Option<String>,
}

/// What was used, as the API counts it.
#[derive(Deserialize)]
pub(crate) struct Tokens {
    input_tokens: u64,
    output_tokens: u64,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        Self {
            requests: 1,
            input: tokens.input_tokens,
            output: tokens.output_tokens,
            cache_write: tokens.cache_creation_input_tokens.unwrap_or_default(),
            cache_read: tokens.cache_read_input_tokens.unwrap_or_default(),
        }
    }
}

/// What the body of an answer says. Text counts only when the model came to its end by itself and wrote one text.
pub(super) fn read(body: &[u8]) -> Result<Reply, Problem> {
    let Object(answer) = serde_json::from_slice::<Object<Answer>>(body).map_err(|_| Problem::Unreadable)?;
    let usage = Usage::from(answer.usage.0);
    let blocks: Vec<Block> = answer.content.into_iter().map(|block| block.0).collect();
    let whole = answer.r#type == "message"
        && answer.role == "assistant"
        && answer.stop_reason.as_deref() == Some("end_turn")
        && blocks.iter().all(|block| matches!(block.r#type.as_str(), "text" | "thinking" | "redacted_thinking"));
    let mut texts = blocks.into_iter().filter(|block| block.r#type == "text");
    let text = match (texts.next(), texts.next()) {
        (Some(Block { text: Some(text), .. }), None) if whole => Some(text),
        _ => None,
    };
    Ok(Reply { text, usage })
}
