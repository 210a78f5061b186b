//! The Responses API, as a stream of events.

use serde_json::{Value, json};

use super::{Answer, LAST_WORD, ToolResult, flattened, list, text};
use crate::script::Use;

pub(super) fn results(body: &Value) -> Vec<ToolResult> {
    let outputs = list(body, "input").filter(|item| text(item, "type").ends_with("call_output"));
    outputs
        .map(|item| ToolResult {
            id: text(item, "call_id").to_owned(),
            text: flattened(item.get("output")),
            // This API marks no errors; the words must tell.
            is_error: false,
        })
        .collect()
}

pub(super) fn opening(body: &Value) -> String {
    let said = list(body, "input").filter(|item| text(item, "role") == "user");
    said.map(|item| flattened(item.get("content"))).collect::<Vec<_>>().join("\n")
}

pub(super) fn answer(uses: &[Use]) -> Answer {
    let response = "resp_standin";
    let mut events = vec![("response.created", json!({"type": "response.created", "response": {"id": response}}))];
    for (index, item) in items(uses).into_iter().enumerate() {
        for kind in ["response.output_item.added", "response.output_item.done"] {
            events.push((kind, json!({"type": kind, "output_index": index, "item": item})));
        }
    }
    let usage = json!({
        "input_tokens": 1, "input_tokens_details": null,
        "output_tokens": 1, "output_tokens_details": null, "total_tokens": 2,
    });
    let completed = json!({"type": "response.completed", "response": {"id": response, "usage": usage}});
    events.push(("response.completed", completed));
    Answer::events(events)
}

fn items(uses: &[Use]) -> Vec<Value> {
    if uses.is_empty() {
        let content = json!([{"type": "output_text", "text": LAST_WORD}]);
        return vec![json!({"type": "message", "id": "msg_standin", "role": "assistant", "content": content})];
    }
    let call = |one: &Use| {
        json!({
            "type": "function_call", "id": format!("fc_{}", one.id), "call_id": one.id, "name": one.tool,
            "arguments": one.input.to_string(),
        })
    };
    uses.iter().map(call).collect()
}
