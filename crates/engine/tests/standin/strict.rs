//! What the documented APIs take. Fields and shapes that are not listed are refused, so that a request which passes
//! here uses nothing but what is documented.

use serde_json::{Map, Value};

use super::{Api, KEY, Seen};

type Checked = Result<(), String>;

/// Why the API would refuse a request.
pub(crate) fn violation(api: Api, request: &Seen) -> Option<String> {
    let checked = match api {
        Api::Anthropic => anthropic(request),
        Api::OpenAi => openai(request),
    };
    checked.err()
}

/// Ends the check with what is wrong unless something holds.
macro_rules! require {
    ($holds:expr, $what:expr) => {
        if !$holds {
            return Err($what.to_owned());
        }
    };
}

fn fields<'a>(value: &'a Value, known: &[&str]) -> Result<&'a Map<String, Value>, String> {
    let object = value.as_object().ok_or("not an object")?;
    match object.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(format!("{key}: extra inputs are not permitted")),
        None => Ok(object),
    }
}

fn envelope(request: &Seen, path: &str) -> Result<Value, String> {
    require!(request.method == "POST", "method");
    require!(request.path == path, "path");
    require!(request.header("content-type") == Some("application/json"), "content-type");
    require!(request.header("user-agent").is_some_and(|agent| agent.starts_with("mayi/")), "user-agent");
    serde_json::from_slice(&request.body).map_err(|_| "the body is not JSON".to_owned())
}

fn anthropic(request: &Seen) -> Checked {
    let body = envelope(request, "/v1/messages")?;
    require!(request.header("anthropic-version") == Some("2023-06-01"), "anthropic-version");
    require!(request.header("x-api-key") == Some(KEY), "x-api-key");
    require!(request.header("authorization").is_none(), "two kinds of keys");
    let known = ["model", "max_tokens", "system", "messages", "tools", "tool_choice", "stream", "temperature"];
    let object = fields(&body, &known)?;
    require!(body["model"].as_str().is_some_and(|model| !model.is_empty()), "model");
    require!(body["max_tokens"].as_u64().is_some_and(|tokens| tokens > 0), "max_tokens");
    require!(object.get("stream").is_none_or(|stream| stream == false), "stream");
    let mut breakpoints = 0;
    if let Some(system) = object.get("system") {
        texts(system, &mut breakpoints)?;
    }
    let messages = body["messages"].as_array().filter(|list| !list.is_empty()).ok_or("messages")?;
    for (number, message) in messages.iter().enumerate() {
        fields(message, &["role", "content"])?;
        let role = if number % 2 == 0 { "user" } else { "assistant" };
        require!(message["role"] == role, "roles must alternate, and the user begins");
        texts(&message["content"], &mut breakpoints)?;
    }
    require!(breakpoints <= 4, "a maximum of 4 blocks with cache_control may be provided");
    anthropic_tools(object)
}

fn texts(content: &Value, breakpoints: &mut usize) -> Checked {
    if let Some(text) = content.as_str() {
        require!(!text.is_empty(), "text content must not be empty");
        return Ok(());
    }
    let blocks = content.as_array().filter(|list| !list.is_empty()).ok_or("content")?;
    for block in blocks {
        let block = fields(block, &["type", "text", "cache_control"])?;
        require!(block.get("type").is_some_and(|kind| kind == "text"), "type");
        let text = block.get("text").and_then(Value::as_str).ok_or("text")?;
        require!(!text.trim().is_empty(), "text content blocks must contain non-whitespace text");
        if let Some(control) = block.get("cache_control") {
            require!(*control == serde_json::json!({"type": "ephemeral"}), "cache_control");
            *breakpoints += 1;
        }
    }
    Ok(())
}

fn anthropic_tools(body: &Map<String, Value>) -> Checked {
    let Some(tools) = body.get("tools") else {
        require!(!body.contains_key("tool_choice"), "tool_choice");
        return Ok(());
    };
    for tool in tools.as_array().ok_or("tools")? {
        fields(tool, &["name", "description", "input_schema"])?;
        require!(tool["input_schema"]["type"] == "object", "input_schema");
    }
    let choice = body.get("tool_choice").ok_or("tool_choice")?;
    fields(choice, &["type", "name", "disable_parallel_tool_use"])?;
    require!(choice["type"] == "tool" && choice["name"] == tools[0]["name"], "tool_choice");
    Ok(())
}

fn openai(request: &Seen) -> Checked {
    let body = envelope(request, "/v1/chat/completions")?;
    let key = request.header("authorization");
    require!(key.is_none() || key == Some(&format!("Bearer {KEY}")), "authorization");
    require!(request.header("x-api-key").is_none(), "two kinds of keys");
    let known = ["model", "messages", "max_tokens", "max_completion_tokens", "tools", "tool_choice", "stream"];
    let object = fields(&body, &known)?;
    require!(body["model"].as_str().is_some_and(|model| !model.is_empty()), "model");
    let lengths = ["max_tokens", "max_completion_tokens"].map(|name| object.get(name).map(Value::as_u64));
    require!(lengths.iter().flatten().count() == 1 && lengths.iter().flatten().all(Option::is_some), "max_tokens");
    let messages = body["messages"].as_array().ok_or("messages")?;
    let roles: Vec<&str> = messages.iter().filter_map(|message| message["role"].as_str()).collect();
    require!(roles == ["system", "user"], "roles: strict templates take a system message and then the user's");
    for message in messages {
        fields(message, &["role", "content"])?;
        require!(message["content"].as_str().is_some_and(|text| !text.is_empty()), "content must be text");
    }
    let Some(tools) = object.get("tools") else {
        require!(!object.contains_key("tool_choice"), "tool_choice");
        return Ok(());
    };
    for tool in tools.as_array().ok_or("tools")? {
        fields(tool, &["type", "function"])?;
        fields(&tool["function"], &["name", "description", "parameters", "strict"])?;
        require!(tool["type"] == "function", "type");
    }
    let choice = object.get("tool_choice").ok_or("tool_choice")?;
    require!(choice["type"] == "function" && choice["function"]["name"] == tools[0]["function"]["name"], "tool_choice");
    Ok(())
}
