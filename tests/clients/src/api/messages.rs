//! The Messages API: server-sent events, or one document when the client does not want a stream.

use serde_json::{Value, json};

use super::{Answer, LAST_WORD, ToolResult, flattened, list, text};
use crate::script::Use;

pub(super) fn results(body: &Value) -> Vec<ToolResult> {
    let blocks = list(body, "messages").filter(|message| text(message, "role") == "user");
    let blocks = blocks.flat_map(|message| list(message, "content"));
    let results = blocks.filter(|block| text(block, "type") == "tool_result");
    results
        .map(|block| ToolResult {
            id: text(block, "tool_use_id").to_owned(),
            text: flattened(block.get("content")),
            is_error: block.get("is_error").and_then(Value::as_bool).unwrap_or_default(),
        })
        .collect()
}

pub(super) fn opening(body: &Value) -> String {
    list(body, "messages").next().map(|message| flattened(message.get("content"))).unwrap_or_default()
}

pub(super) fn answer(body: &Value, uses: &[Use]) -> Answer {
    let blocks = blocks(uses);
    let stop = if uses.is_empty() { "end_turn" } else { "tool_use" };
    let message = |content: Value, stop: Option<&str>| {
        json!({
            "id": "msg_standin", "type": "message", "role": "assistant", "model": text(body, "model"),
            "content": content, "stop_reason": stop, "stop_sequence": null,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        })
    };
    if !body.get("stream").and_then(Value::as_bool).unwrap_or_default() {
        return Answer::json(&message(Value::Array(blocks), Some(stop)));
    }
    let mut events = vec![("message_start", json!({"type": "message_start", "message": message(json!([]), None)}))];
    for (index, block) in blocks.iter().enumerate() {
        events.extend(block_events(index, block));
    }
    let delta = json!({"stop_reason": stop, "stop_sequence": null});
    events.push(("message_delta", json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 1}})));
    events.push(("message_stop", json!({"type": "message_stop"})));
    Answer::events(events)
}

fn blocks(uses: &[Use]) -> Vec<Value> {
    if uses.is_empty() {
        return vec![json!({"type": "text", "text": LAST_WORD})];
    }
    uses.iter().map(|one| json!({"type": "tool_use", "id": one.id, "name": one.tool, "input": one.input})).collect()
}

/// A block in the stream: empty at first, then its whole content in one piece.
fn block_events(index: usize, block: &Value) -> [(&'static str, Value); 3] {
    let (empty, delta) = match block.get("input") {
        None => (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": text(block, "text")})),
        Some(input) => (
            json!({"type": "tool_use", "id": text(block, "id"), "name": text(block, "name"), "input": {}}),
            json!({"type": "input_json_delta", "partial_json": input.to_string()}),
        ),
    };
    let event = |kind: &'static str, key: &str, value: Value| (kind, json!({"type": kind, "index": index, key: value}));
    [
        event("content_block_start", "content_block", empty),
        event("content_block_delta", "delta", delta),
        ("content_block_stop", json!({"type": "content_block_stop", "index": index})),
    ]
}
