//! The API to generate content, streamed or not as the path says.

use serde_json::{Value, json};

use super::{Answer, LAST_WORD, ToolResult, list, text};
use crate::script::Use;

pub(super) fn results(body: &Value) -> Vec<ToolResult> {
    let parts = list(body, "contents").flat_map(|content| list(content, "parts"));
    let responses = parts.filter_map(|part| part.get("functionResponse"));
    responses
        .map(|response| {
            let said = response.get("response").unwrap_or(&Value::Null);
            ToolResult {
                id: text(response, "id").to_owned(),
                text: said.to_string(),
                is_error: said.get("error").is_some(),
            }
        })
        .collect()
}

pub(super) fn opening(body: &Value) -> String {
    let first = list(body, "contents").filter(|content| text(content, "role") == "user");
    first.flat_map(|content| list(content, "parts")).map(|part| text(part, "text")).collect::<Vec<_>>().join("\n")
}

pub(super) fn answer(path: &str, uses: &[Use]) -> Answer {
    let mut parts: Vec<Value> =
        uses.iter().map(|one| json!({"functionCall": {"id": one.id, "name": one.tool, "args": one.input}})).collect();
    if parts.is_empty() {
        parts.push(json!({"text": LAST_WORD}));
    }
    let document = json!({
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
        "modelVersion": "standin",
    });
    if path.contains("stream") { Answer::events([("", document)]) } else { Answer::json(&document) }
}
