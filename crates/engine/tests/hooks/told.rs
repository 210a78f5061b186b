//! What hooks are told, for every event.

use std::path::PathBuf;

use mayi_core::call::Call;
use mayi_core::mode::Mode;
use mayi_engine::hooks::{Occasion, Runner};
use serde_json::{Value, json};

use crate::support::{Stage, command, on, prints, with};

/// What a hook that keeps what it is told was told.
struct Told {
    stage: Stage,
    runner: Runner,
}

impl Told {
    fn on(event: &str) -> Self {
        let stage = Stage::new();
        let runner = stage.runner(on(event, &[command("cat > told")]));
        Self { stage, runner }
    }

    fn folder(&self) -> String {
        self.stage.path("").to_str().unwrap().trim_end_matches('/').to_owned()
    }

    fn occasion(&self) -> Occasion {
        Occasion {
            mode: Mode::AcceptEdits,
            transcript: Some(PathBuf::from("/t/transcript.jsonl")),
            call_id: Some("call-7".to_owned()),
            ..self.stage.occasion()
        }
    }

    fn told(&self) -> (Value, Vec<String>) {
        let text = self.stage.read("told");
        assert!(text.ends_with("}\n") && text.lines().count() == 1, "one line: {text}");
        let told: Value = serde_json::from_str(&text).unwrap();
        let names = told.as_object().unwrap().keys().cloned().collect();
        (told, names)
    }
}

#[tokio::test]
async fn before_a_call() {
    let told = Told::on("PreToolUse");
    let call = Call::new("Bash", json!({"command": "ls -la", "description": "List"}));
    told.runner.before(&call, &told.occasion()).await.unwrap();
    let expected = json!({
        "session_id": "s-1", "transcript_path": "/t/transcript.jsonl", "cwd": told.folder(),
        "permission_mode": "acceptEdits", "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": {"command": "ls -la", "description": "List"}, "tool_use_id": "call-7"});
    assert_eq!(told.told().0, expected);
}

#[tokio::test]
async fn an_agent_within_the_session_is_named() {
    let told = Told::on("PreToolUse");
    let agent = Some(("a-1".to_owned(), Some("Explore".to_owned())));
    let occasion = Occasion { agent, transcript: None, call_id: None, ..told.occasion() };
    told.runner.before(&Call::new("mcp__gh__read", json!({})), &occasion).await.unwrap();
    let (said, _) = told.told();
    assert_eq!((&said["agent_id"], &said["agent_type"]), (&json!("a-1"), &json!("Explore")));
    assert_eq!((&said["transcript_path"], &said["tool_use_id"]), (&json!(""), &json!("")));
    assert_eq!(said["mcp_server"], json!({"name": "gh"}));
}

#[tokio::test]
async fn paths_are_told_in_full() {
    let told = Told::on("PreToolUse");
    let call = Call::new("Write", json!({"file_path": "src/../a.txt", "content": "x"}));
    told.runner.before(&call, &told.occasion()).await.unwrap();
    let path = format!("{}/a.txt", told.folder());
    assert_eq!(told.told().0["tool_input"], json!({"file_path": path, "content": "x"}));
    // Handing it back unchanged is no change.
    let own = json!({"hookEventName": "PreToolUse", "permissionDecision": "allow",
        "updatedInput": {"file_path": path, "content": "x"}});
    let line = prints(&json!({ "hookSpecificOutput": own }));
    let runner = told.stage.runner(on("PreToolUse", &[command(&line)]));
    let before = runner.before(&call, &told.occasion()).await.unwrap();
    assert_eq!((before.changed, before.said.is_some()), (None, true));
}

#[tokio::test]
async fn a_question() {
    let told = Told::on("PermissionRequest");
    told.runner.request(&Call::shell("ls"), &told.occasion()).await.unwrap();
    let (said, names) = told.told();
    assert_eq!((&said["hook_event_name"], &said["permission_suggestions"]), (&json!("PermissionRequest"), &json!([])));
    assert!(!names.contains(&"tool_use_id".to_owned()));
}

#[tokio::test]
async fn a_refusal() {
    let told = Told::on("PermissionDenied");
    assert!(!told.runner.denied(&Call::shell("ls"), &told.occasion(), "too risky").await);
    let (said, _) = told.told();
    assert_eq!((&said["reason"], &said["tool_use_id"]), (&json!("too risky"), &json!("call-7")));
    let retry = |event: &str, retry: Value| json!({"hookSpecificOutput": {"hookEventName": event, "retry": retry}});
    let table = [
        (prints(&retry("PermissionDenied", json!(true))), true),
        (format!("{}; exit 1", prints(&retry("PermissionDenied", json!(true)))), true),
        (prints(&retry("PermissionDenied", json!(false))), false),
        (prints(&retry("PermissionDenied", json!("true"))), false),
        (prints(&retry("PreToolUse", json!(true))), false),
        ("exit 1".to_owned(), false),
    ];
    for (line, expected) in table {
        let runner = told.stage.runner(on("PermissionDenied", &[command(&line)]));
        assert_eq!(runner.denied(&Call::shell("ls"), &told.occasion(), "x").await, expected, "{line}");
    }
}

#[tokio::test]
async fn a_response() {
    let told = Told::on("PostToolUse");
    let response = json!({"stdout": "a\n", "interrupted": false});
    let after = told.runner.after(&Call::shell("ls"), &told.occasion(), &response).await;
    assert_eq!(after, Default::default());
    assert_eq!(told.told().0["tool_response"], response);
    let own =
        json!({"hookEventName": "PostToolUse", "additionalContext": "mind this", "updatedToolOutput": {"stdout": ""}});
    let answer = json!({"decision": "block", "reason": "tests fail", "hookSpecificOutput": own});
    let stop = json!({"continue": false, "stopReason": "enough"});
    let hooks = [command(&prints(&answer)), command("echo no >&2; exit 2"), command(&prints(&stop)), command("exit 1")];
    let runner = told.stage.runner(on("PostToolUse", &hooks));
    let after = runner.after(&Call::shell("ls"), &told.occasion(), &response).await;
    assert_eq!((after.objections, after.context), (vec!["tests fail".into(), "no".into()], vec!["mind this".into()]));
    assert_eq!((after.replaced, after.ends_run), (Some(json!({"stdout": ""})), Some("enough".into())));
    assert_eq!(after.problems.len(), 1, "{:?}", after.problems);
    let unwatched = with(json!({}), on("PreToolUse", &[command("exit 0")]));
    let after = told.stage.runner(unwatched).after(&Call::shell("ls"), &told.occasion(), &response).await;
    assert_eq!(after, Default::default());
}
