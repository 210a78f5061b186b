//! Settings of mayi that several agents are tried with.

use serde_json::{Value, json};

/// A hook in mayi's own settings that answers with this document.
fn answering(event: &str, answer: &Value) -> Value {
    let line = format!("cat > /dev/null; printf '%s' '{answer}'");
    json!({event: [{"matcher": "*", "hooks": [{"type": "command", "command": line}]}]})
}

/// A hook in mayi's own settings that changes the input of every call into this one.
pub fn changing(input: &Value) -> Value {
    let changed = json!({"hookEventName": "PreToolUse", "updatedInput": input});
    answering("PreToolUse", &json!({"hookSpecificOutput": changed}))
}

/// A hook in mayi's own settings that ends the run instead of asking.
pub fn interrupting() -> Value {
    let decision = json!({"behavior": "deny", "message": "that is enough", "interrupt": true});
    let answer = json!({"hookEventName": "PermissionRequest", "decision": decision});
    answering("PermissionRequest", &json!({"hookSpecificOutput": answer}))
}
