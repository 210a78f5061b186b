//! The chat completions API, as a stream or as one document.

use serde_json::{Value, json};

use super::{Answer, LAST_WORD, ToolResult, flattened, list, text};
use crate::script::Use;

pub(super) fn results(body: &Value) -> Vec<ToolResult> {
    let said = list(body, "messages").filter(|message| text(message, "role") == "tool");
    said.map(|message| ToolResult {
        id: text(message, "tool_call_id").to_owned(),
        text: flattened(message.get("content")),
        // This API marks no errors; the words must tell.
        is_error: false,
    })
    .collect()
}

pub(super) fn opening(body: &Value) -> String {
    let first = list(body, "messages").find(|message| text(message, "role") == "user");
    first.map(|message| flattened(message.get("content"))).unwrap_or_default()
}

pub(super) fn answer(body: &Value, uses: &[Use]) -> Answer {
    let calls: Vec<Value> = uses.iter().enumerate().map(|(index, one)| call(index, one)).collect();
    let (message, finish) = if calls.is_empty() {
        (json!({"role": "assistant", "content": LAST_WORD}), "stop")
    } else {
        (json!({"role": "assistant", "content": null, "tool_calls": calls}), "tool_calls")
    };
    let usage = json!({"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2});
    let document = |object: &str, choice: Value| {
        json!({
            "id": "chat_standin", "object": object, "created": 0, "model": text(body, "model"),
            "choices": [choice], "usage": usage,
        })
    };
    if !body.get("stream").and_then(Value::as_bool).unwrap_or_default() {
        let choice = json!({"index": 0, "message": message, "finish_reason": finish});
        return Answer::json(&document("chat.completion", choice));
    }
    let chunk = |delta: Value, finish: Option<&str>| {
        ("", document("chat.completion.chunk", json!({"index": 0, "delta": delta, "finish_reason": finish})))
    };
    let mut answer = Answer::events([chunk(message, None), chunk(json!({}), Some(finish))]);
    answer.body.push_str("data: [DONE]\n\n");
    answer
}

fn call(index: usize, one: &Use) -> Value {
    let function = json!({"name": one.tool, "arguments": one.input.to_string()});
    json!({"index": index, "id": one.id, "type": "function", "function": function})
}
