//! The JSON Schema of settings, made from the table of keys, so that editors complete and check what the reader reads.

use serde_json::{Map, Value as Json, json};

use crate::hooks::EVENTS;
use crate::keys::{KEYS, Key, Scope, Shape};

/// The schema, draft 2020-12.
pub fn schema() -> Json {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "mayi settings",
        "description": "Rules and settings of mayi, and of every agent that shares the format.",
        "type": "object",
        "properties": properties(KEYS),
        "$defs": { "rule": rule(), "hook": hook() },
    })
}

fn properties(keys: &[Key]) -> Json {
    Json::Object(keys.iter().map(|key| (key.name.to_owned(), property(key))).collect())
}

fn property(key: &Key) -> Json {
    let about = if key.scope == Scope::Anywhere {
        key.about.to_owned()
    } else {
        format!("{} Counts in {}.", key.about, key.scope.layers())
    };
    let mut property = Map::from_iter([("description".to_owned(), Json::from(about))]);
    property.extend(shape(&key.shape));
    Json::Object(property)
}

fn shape(shape: &Shape) -> Map<String, Json> {
    let schema = match shape {
        Shape::Flag => json!({"type": "boolean"}),
        Shape::Count { least, most } => json!({"type": "integer", "minimum": least, "maximum": most}),
        Shape::Amount => json!({"type": "number", "minimum": 0}),
        Shape::Text | Shape::Path => json!({"type": "string"}),
        Shape::Word(words) => json!({"enum": words}),
        Shape::Texts | Shape::Paths | Shape::Directories => json!({"type": "array", "items": {"type": "string"}}),
        Shape::Rules(_) => json!({"type": "array", "items": {"$ref": "#/$defs/rule"}}),
        Shape::Object(keys) => object(keys),
        Shape::Map(inner) => json!({"type": "object", "additionalProperties": self::shape(inner)}),
        Shape::List(keys) => json!({"type": "array", "items": object(keys)}),
        Shape::Hooks => hooks(),
        Shape::Anything => json!({}),
    };
    match schema {
        Json::Object(members) => members,
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => Map::new(),
    }
}

fn object(keys: &[Key]) -> Json {
    json!({"type": "object", "properties": properties(keys), "additionalProperties": false})
}

fn rule() -> Json {
    json!({
        "description": "`Tool` or `Tool(content)`, or the same as an object without escapes.",
        "examples": ["Read(./.env)", "Bash(npm test:*)", {"tool": "Bash", "content": "rm -rf:*"}],
        "oneOf": [
            {"type": "string", "pattern": "^\\s*[^\\s()]+(\\(.*\\))?\\s*$"},
            {
                "type": "object",
                "properties": {"tool": {"type": "string", "minLength": 1}, "content": {"type": "string"}},
                "required": ["tool"],
                "additionalProperties": false,
            },
        ],
    })
}

fn hooks() -> Json {
    let entry = json!({
        "type": "object",
        "properties": {
            "matcher": {"description": "Tool names or a pattern over them; all tools when absent.", "type": "string"},
            "hooks": {"type": "array", "items": {"$ref": "#/$defs/hook"}},
        },
        "required": ["hooks"],
    });
    let events: Map<String, Json> =
        EVENTS.iter().map(|event| ((*event).to_owned(), json!({"type": "array", "items": entry}))).collect();
    json!({"type": "object", "properties": events})
}

fn hook() -> Json {
    json!({
        "type": "object",
        "properties": {
            "type": {"enum": ["command", "http", "mcp_tool", "prompt", "agent"]},
            "command": {"description": "What to run.", "type": "string"},
            "args": {"description": "Arguments; with them no shell is involved.", "type": "array", "items": {"type": "string"}},
            "url": {"description": "What to call.", "type": "string"},
            "headers": {"type": "object", "additionalProperties": {"type": "string"}},
            "allowedEnvVars": {"description": "Variables that headers may hold.", "type": "array", "items": {"type": "string"}},
            "if": {"description": "A rule that the call must match as well.", "type": "string"},
            "timeout": {"description": "Seconds.", "type": "number", "exclusiveMinimum": 0, "maximum": 86_400},
            "onFailure": {"description": "What a failure means.", "enum": ["allow", "ask", "deny", "continue", "block"]},
        },
        "required": ["type"],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every object says what its members are, every property what it means, and every reference leads somewhere.
    fn check(schema: &Json, whole: &Json, path: &str) {
        if let Some(reference) = schema.get("$ref").and_then(Json::as_str) {
            assert!(whole.pointer(reference.trim_start_matches('#')).is_some(), "{path}: {reference}");
        }
        for (name, property) in schema.get("properties").and_then(Json::as_object).into_iter().flatten() {
            check(property, whole, &format!("{path}/{name}"));
        }
        for inner in ["items", "additionalProperties"] {
            if let Some(inner) = schema.get(inner).filter(|inner| inner.is_object()) {
                check(inner, whole, path);
            }
        }
    }

    #[test]
    fn the_schema_is_whole() {
        let schema = schema();
        check(&schema, &schema, "");
        let described =
            |path: &str| schema.pointer(path).unwrap_or_else(|| panic!("{path}"))["description"].is_string();
        assert!(described("/properties/sandbox/properties/network/properties/allowedDomains"));
        assert!(described("/properties/tools/additionalProperties/properties/kind"));
        assert_eq!(schema["properties"]["permissions"]["properties"]["deny"]["items"]["$ref"], "#/$defs/rule");
        assert_eq!(schema["properties"]["permissions"]["additionalProperties"], false);
        let about = schema["properties"]["autoMode"]["description"].as_str().unwrap();
        assert!(about.ends_with("Counts in user, flag and managed settings."), "{about}");
    }

    #[test]
    fn every_mode_of_the_core_is_a_word_of_the_schema() {
        let words = &schema()["properties"]["permissions"]["properties"]["defaultMode"]["enum"];
        for mode in mayi_core::mode::Mode::ALL {
            assert!(words.as_array().unwrap().contains(&json!(mode.word())), "{mode}");
        }
        let kinds = &schema()["properties"]["tools"]["additionalProperties"]["properties"]["kind"]["enum"];
        for tool in mayi_core::catalogue::all() {
            assert!(kinds.as_array().unwrap().contains(&serde_json::to_value(tool.kind).unwrap()), "{}", tool.name);
        }
    }
}
