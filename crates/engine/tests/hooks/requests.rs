//! PermissionRequest: hooks that answer in a person's place.

use mayi_core::call::Call;
use mayi_core::verdict::Verdict;
use mayi_engine::hooks::Requested;
use serde_json::{Value, json};

use crate::support::{Stage, command, on, prints, with};

async fn requested(hooks: &[Value]) -> Requested {
    let stage = Stage::new();
    let runner = stage.runner(on("PermissionRequest", hooks));
    runner.request(&Call::shell("ls"), &stage.occasion()).await.unwrap()
}

fn answer(decision: Value) -> Value {
    json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}})
}

fn verdict(requested: &Requested) -> Option<Verdict> {
    requested.answer.as_ref().map(|answer| answer.verdict)
}

#[tokio::test]
async fn answers_and_failures() {
    let (allow, deny) = (answer(json!({"behavior": "allow"})), answer(json!({"behavior": "deny", "message": "no"})));
    let table = [
        ("silence", "exit 0".into(), None),
        ("allow", prints(&allow), Some(Verdict::Allow)),
        ("deny", prints(&deny), Some(Verdict::Deny)),
        ("plain text", "echo allow".into(), None),
        ("exit 2", "echo no >&2; exit 2".into(), None),
        ("exit 2 with allow", format!("{}; exit 2", prints(&allow)), None),
        ("exit 2 with deny", format!("{}; exit 2", prints(&deny)), Some(Verdict::Deny)),
        ("exit 1", "exit 1".into(), None),
        ("exit 1 with allow", format!("{}; exit 1", prints(&allow)), Some(Verdict::Allow)),
        ("bad JSON", "echo '{bad'".into(), None),
        ("unknown", prints(&answer(json!({"behavior": "perhaps"}))), None),
        ("no behaviour", prints(&answer(json!({}))), None),
        ("no object", prints(&answer(json!("allow"))), None),
        (
            "another event",
            prints(&json!({"hookSpecificOutput": {"hookEventName": "PreToolUse",
            "permissionDecision": "allow"}})),
            None,
        ),
        ("old words", prints(&json!({"decision": "approve"})), None),
    ];
    for (name, line, expected) in table {
        let requested = requested(&[command(&line)]).await;
        assert_eq!(verdict(&requested), expected, "{name}: {requested:?}");
    }
}

#[tokio::test]
async fn a_failure_answers_only_where_settings_say_deny() {
    let allow = format!("{}; exit 1", prints(&answer(json!({"behavior": "allow"}))));
    let table = [
        ("exit 1", "allow", None),
        ("exit 1", "ask", None),
        ("exit 1", "block", Some(Verdict::Deny)),
        ("exit 2", "block", Some(Verdict::Deny)),
        ("exit 0", "block", None),
        (&allow, "block", Some(Verdict::Deny)),
    ];
    for (line, on_failure, expected) in table {
        let requested = requested(&[with(command(line), json!({"onFailure": on_failure}))]).await;
        assert_eq!(verdict(&requested), expected, "{line} {on_failure}: {requested:?}");
    }
}

#[tokio::test]
async fn a_deny_wins_and_may_end_the_run() {
    let allow = command(&prints(&answer(json!({"behavior": "allow"}))));
    let deny = command(&prints(&answer(json!({"behavior": "deny", "message": "no"}))));
    let stop = command(&prints(&answer(json!({"behavior": "deny", "message": "stop", "interrupt": true}))));
    let ended = command(&prints(&json!({"continue": false, "stopReason": "enough"})));
    let table = [
        (vec![allow.clone(), deny.clone()], "no", false),
        (vec![deny.clone(), allow.clone()], "no", false),
        (vec![deny, stop.clone()], "no\nstop", true),
        (vec![allow, ended], "enough", true),
    ];
    for (hooks, message, interrupt) in table {
        let answer = requested(&hooks).await.answer.unwrap();
        assert_eq!((answer.verdict, answer.message.as_str()), (Verdict::Deny, message));
        assert_eq!(answer.interrupt, interrupt, "{hooks:?}");
    }
}

#[tokio::test]
async fn an_allow_may_change_the_input_and_keep_rules() {
    let update = json!({"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "ls:*"}],
        "behavior": "allow", "destination": "session"});
    let allow = answer(json!({"behavior": "allow", "updatedInput": {"command": "pwd"},
        "updatedPermissions": [update, {"type": "surprise"}, update]}));
    let requested = requested(&[command(&prints(&allow))]).await;
    assert_eq!(requested.answer.unwrap().changed, Some(Call::shell("pwd")));
    assert_eq!(serde_json::to_value(&requested.updates).unwrap(), json!([update]));
    assert_eq!(requested.problems.len(), 1, "{:?}", requested.problems);
}

#[tokio::test]
async fn allows_of_different_inputs_answer_nothing() {
    let allow =
        |input: &str| command(&prints(&answer(json!({"behavior": "allow", "updatedInput": {"command": input}}))));
    let same = requested(&[allow("pwd"), with(allow("pwd"), json!({"timeout": 9}))]).await;
    assert_eq!(same.answer.unwrap().changed, Some(Call::shell("pwd")));
    let different = requested(&[allow("pwd"), allow("date")]).await;
    assert_eq!((different.answer, different.problems.len()), (None, 1));
}
