//! Explanations by a model: one request, forced to call the tool `explain_command`. A side call: what it uses is not
//! in the session's books. Whatever is not a well-formed call of that tool is an error, and the caller explains by the
//! static analysis instead. An explanation informs a person; nothing is decided by it.

use std::time::Duration;

use mayi_core::call::Call;
use mayi_settings::settings::Settings;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Explanation, Level, Source};
use crate::classifier::{
    AnthropicTokens, Client, Environment, Misconfigured, Object, OpenAiTokens, Problem, Provider, Usage, action,
    escape, for_people,
};

/// The tool that is forced.
const TOOL: &str = "explain_command";
/// Characters of recent context that are sent.
const CONTEXT: usize = 1_000;
/// How much may be answered.
const TOKENS: u32 = 512;

/// A model that explains. Keep it: it keeps its connections.
#[derive(Debug)]
pub struct Explainer {
    client: Client,
}

/// The input of the tool.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Input {
    explanation: String,
    reasoning: String,
    risk: String,
    risk_level: Level,
}

impl Explainer {
    /// The explainer of these settings; `None` when it is turned off or no model is configured.
    pub fn configured(settings: &Settings, environment: &Environment) -> Result<Option<Self>, Misconfigured> {
        if settings.permission_explainer_enabled == Some(false) {
            return Ok(None);
        }
        let client = Client::configured(settings, environment, settings.explainer.model.as_deref())?;
        Ok(client.map(|client| Self { client }))
    }

    /// What went wrong with the credential, though the model took it.
    pub fn warning(&self) -> Option<&str> {
        self.client.warning()
    }

    /// Whether settings name a model that would explain.
    pub fn is_named(settings: &Settings) -> bool {
        settings.explainer.model.is_some() || settings.classifier.model.is_some()
    }

    /// Explains a call. Of the context, the last thousand characters are sent.
    pub async fn explain(&self, call: &Call, context: &str, within: Duration) -> Result<(Explanation, Usage), Problem> {
        let body = self.request(call, context).to_string();
        let answer = self.client.send(body.as_bytes(), Instant::now() + within).await?;
        let (input, usage) = match self.client.provider {
            Provider::Anthropic => of_anthropic(&answer)?,
            Provider::OpenAi => of_openai(&answer)?,
        };
        let explanation = Explanation {
            explanation: said(&input.explanation)?,
            reasoning: said(&input.reasoning)?,
            risk: said(&input.risk)?,
            level: input.risk_level,
            source: Source::Model,
        };
        Ok((explanation, usage))
    }

    fn request(&self, call: &Call, context: &str) -> Value {
        let skipped = context.chars().count().saturating_sub(CONTEXT);
        let recent: String = context.chars().skip(skipped).collect();
        let recent = escape(&Value::from(recent).to_string());
        let asked = format!("<context>\n{recent}\n</context>\n<call>\n{}\n</call>", action(call));
        let (system, model) = (include_str!("../../data/explainer.md"), &self.client.model);
        let about = "Explains the call to the person who must allow or refuse it.";
        match self.client.provider {
            Provider::Anthropic => json!({
                "model": model,
                "max_tokens": TOKENS,
                "system": system,
                "messages": [{"role": "user", "content": asked}],
                "tools": [{"name": TOOL, "description": about, "input_schema": schema()}],
                "tool_choice": {"type": "tool", "name": TOOL, "disable_parallel_tool_use": true},
            }),
            Provider::OpenAi => {
                let mut body = json!({
                    "model": model,
                    "messages": [{"role": "system", "content": system}, {"role": "user", "content": asked}],
                    "tools": [{"type": "function", "function": {"name": TOOL, "description": about, "parameters": schema()}}],
                    "tool_choice": {"type": "function", "function": {"name": TOOL}},
                });
                let (old, new) = self.client.length().fields(TOKENS);
                for (name, tokens) in [("max_tokens", old), ("max_completion_tokens", new)] {
                    if let (Some(tokens), Some(body)) = (tokens, body.as_object_mut()) {
                        body.insert(name.to_owned(), tokens.into());
                    }
                }
                body
            }
        }
    }
}

fn schema() -> Value {
    let text = |about: &str| json!({"type": "string", "description": about});
    json!({
        "type": "object",
        "properties": {
            "explanation": text("What the call does."),
            "reasoning": text("Why, in the agent's first person."),
            "risk": text("What could go wrong."),
            "riskLevel": {"type": "string", "enum": ["LOW", "MEDIUM", "HIGH"]},
        },
        "required": ["explanation", "reasoning", "risk", "riskLevel"],
        "additionalProperties": false,
    })
}

/// The model's words, fit to be shown; words that leave nothing to show are none.
fn said(text: &str) -> Result<String, Problem> {
    Some(for_people(text)).filter(|text| !text.is_empty()).ok_or(Problem::Unreadable)
}

fn of_anthropic(answer: &[u8]) -> Result<(Input, Usage), Problem> {
    #[derive(Deserialize)]
    struct Answer {
        content: Vec<Object<Block>>,
        usage: Object<AnthropicTokens>,
    }
    #[derive(Deserialize)]
    struct Block {
        r#type: String,
        name: Option<String>,
        input: Option<Value>,
    }
    let Object(answer) = serde_json::from_slice::<Object<Answer>>(answer).map_err(|_| Problem::Unreadable)?;
    let mut calls = answer.content.into_iter().map(|block| block.0).filter(|block| block.r#type == "tool_use");
    let (Some(Block { name: Some(name), input: Some(input), .. }), None) = (calls.next(), calls.next()) else {
        return Err(Problem::Unreadable);
    };
    let Object(input) = serde_json::from_value::<Object<Input>>(input).map_err(|_| Problem::Unreadable)?;
    if name == TOOL { Ok((input, answer.usage.0.into())) } else { Err(Problem::Unreadable) }
}

fn of_openai(answer: &[u8]) -> Result<(Input, Usage), Problem> {
    #[derive(Deserialize)]
    struct Answer {
        choices: Vec<Object<Choice>>,
        usage: Option<Object<OpenAiTokens>>,
    }
    #[derive(Deserialize)]
    struct Choice {
        message: Object<Said>,
    }
    #[derive(Deserialize)]
    struct Said {
        #[serde(default)]
        tool_calls: Vec<Object<Called>>,
    }
    #[derive(Deserialize)]
    struct Called {
        function: Object<Function>,
    }
    #[derive(Deserialize)]
    struct Function {
        name: String,
        arguments: String,
    }
    let Object(answer) = serde_json::from_slice::<Object<Answer>>(answer).map_err(|_| Problem::Unreadable)?;
    let usage = answer.usage.map_or(Usage { requests: 1, ..Usage::default() }, |tokens| tokens.0.into());
    let mut calls = answer.choices.into_iter().flat_map(|choice| choice.0.message.0.tool_calls);
    let (Some(Object(Called { function: Object(function) })), None) = (calls.next(), calls.next()) else {
        return Err(Problem::Unreadable);
    };
    let input = serde_json::from_str::<Object<Input>>(&function.arguments).map_err(|_| Problem::Unreadable)?;
    if function.name == TOOL { Ok((input.0, usage)) } else { Err(Problem::Unreadable) }
}
