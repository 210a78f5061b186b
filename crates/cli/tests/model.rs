//! What asks a model, with the real binary and a model's API on loopback: measuring, explaining, and the hook's words.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use serde_json::{Value, json};
use support::World;

/// A model's API at which every request is answered with this content. Gives settings that lead there.
fn model(content: &Value) -> Value {
    let body = json!({
        "type": "message", "role": "assistant", "content": [content], "stop_reason": "end_turn",
        "usage": {"input_tokens": 1000, "output_tokens": 5},
    })
    .to_string();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = BufReader::new(stream);
            let (mut line, mut length) = (String::new(), 0);
            while stream.read_line(&mut line).unwrap() > 2 {
                if let Some(said) = line.to_lowercase().strip_prefix("content-length:") {
                    length = said.trim().parse().unwrap();
                }
                line.clear();
            }
            stream.read_exact(&mut vec![0; length]).unwrap();
            let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json";
            write!(stream.get_mut(), "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
        }
    });
    json!({"classifier": {"model": "m", "baseUrl": format!("http://{address}"), "retries": 0}})
}

fn explaining(tool: &str) -> Value {
    let input = json!({"explanation": "Frobs.", "reasoning": "I need it.", "risk": "It may not.", "riskLevel": "HIGH"});
    json!({"type": "tool_use", "id": "1", "name": tool, "input": input})
}

fn message(world: &World, session: &str, mode: &str) -> String {
    json!({
        "session_id": session, "cwd": world.path(""), "permission_mode": mode, "hook_event_name": "PreToolUse",
        "tool_name": "Bash", "tool_input": {"command": "frob --all"}, "tool_use_id": "1",
    })
    .to_string()
}

#[test]
fn cases_are_put_to_the_model_unless_the_static_layers_shall_be_alone() {
    let world = World::new();
    world.write(
        "cases.jsonl",
        r#"{"id":"open","label":"allow","context":[{"user":"frob it"}],"tool":"Bash","input":{"command":"frob"}}"#,
    );
    let settings = model(&json!({"type": "text", "text": "<block>no</block>"})).to_string();
    let eval = ["classifier", "eval", "cases.jsonl", "--json", "--settings", &settings];
    let report = world.mayi(&eval).json();
    assert_eq!(report["tokens"], json!({"input": 1000, "output": 5}), "{report}");
    assert_eq!(report["settlers"]["classifier"]["count"], 1);
    assert!(report["model_latency"].is_object(), "{report}");
    let report = world.mayi(&[&eval[..], &["--static"]].concat()).json();
    assert_eq!((&report["tokens"]["input"], &report["settlers"]["people"]["count"]), (&json!(0), &json!(1)));
}

#[test]
fn a_model_explains_and_where_it_fails_the_analysis_does() {
    let world = World::new();
    let explain = |tool: &str, more: &[&str]| {
        let settings = model(&explaining(tool)).to_string();
        world.mayi(&[&["explain", "--json", "--settings", &settings], more, &["frob", "--all"]].concat())
    };
    let said = explain("explain_command", &[]);
    assert_eq!((&said.json()["source"], &said.json()["riskLevel"]), (&json!("model"), &json!("HIGH")));
    assert_eq!(said.err, "");
    assert_eq!(explain("explain_command", &["--static"]).json()["source"], "static");
    let said = explain("another_tool", &[]);
    assert_eq!((said.code, &said.json()["source"]), (0, &json!("static")));
    assert!(said.err.starts_with("note: the model does not explain this: "), "{}", said.err);
}

#[test]
fn what_the_model_used_in_sessions_is_in_the_figures() {
    let world = World::new();
    let settings = model(&json!({"type": "text", "text": "<block>no</block>"})).to_string();
    for session in ["s", "t"] {
        let said = world.fed(&["hook", "claude-code", "--settings", &settings], message(&world, session, "auto"));
        assert_eq!(said.json()["hookSpecificOutput"]["permissionDecision"], "allow", "{}", said.out);
    }
    let stats = world.mayi(&["classifier", "stats", "--json"]).json();
    assert_eq!(stats["ledger"], json!({"judged": 2, "requests": 2, "tokens": 2010, "usd": 0.0}));
    let said = world.mayi(&["classifier", "stats"]).out;
    assert!(said.contains("2 calls judged, 2 requests, 2010 tokens"), "{said}");
    let records = world.mayi(&["audit", "query", "--json"]).json();
    for record in records.as_array().unwrap() {
        let spent = record.pointer("/ground/heard/spent").unwrap();
        let told = ["requests", "input", "output"].map(|name| spent[name].as_u64().unwrap());
        assert_eq!(told, [1, 1000, 5], "each record says what its own call used: {spent}");
        assert!(spent["model"].is_string() && spent["took_ms"].is_u64() && spent.get("usd").is_none(), "{spent}");
    }
}

#[test]
fn a_prompt_says_what_the_call_does_where_settings_want_that() {
    let world = World::new();
    let message = message(&world, "s", "default");
    let reason = |settings: &Value| {
        let said = world.fed(&["hook", "claude-code", "--settings", &settings.to_string()], &message).json();
        assert_eq!(said["hookSpecificOutput"]["permissionDecision"], "ask");
        said["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap().to_owned()
    };
    let plain = reason(&json!({}));
    let explained = reason(&json!({"explainer": {"always": true}}));
    let added = explained.strip_prefix(&plain).unwrap();
    assert!(added.starts_with("\nRuns `frob`, a program that is not known. Why: I want to "), "{added}");
    assert!(added.ends_with(" Risk MEDIUM: Not certain: `frob --all`: runs frob."), "{added}");
    let mut settings = model(&explaining("explain_command"));
    settings["explainer"] = json!({"always": true});
    assert_eq!(reason(&settings).strip_prefix(&plain), Some("\nFrobs. Why: I need it. Risk HIGH: It may not."));
}
