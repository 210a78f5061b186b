//! What every agent is told: exact answers, because several clients run a call when the answer is not to their taste.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod support;

use mayi_agents::Told;
use mayi_agents::remedy::Remedy;
use mayi_core::call::Call;
use mayi_core::mode::Mode;
use mayi_core::verdict::Verdict;
use mayi_settings::update::{Destination, PermissionUpdate};
use serde_json::{Value, json};

use support::{answer, answered, changed, speaker, told};

const ALLOW: Verdict = Verdict::Allow;
const ASK: Verdict = Verdict::Ask;
const DENY: Verdict = Verdict::Deny;

/// A shell command in each agent's words.
fn command(agent: &str) -> Value {
    let input = json!({ "command": "make" });
    match agent {
        "claude-code" | "codex" => json!({ "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": input }),
        "gemini" => json!({ "hook_event_name": "BeforeTool", "tool_name": "run_shell_command", "tool_input": input }),
        "copilot" => json!({ "sessionId": "s", "toolName": "bash", "toolArgs": r#"{"command":"make"}"# }),
        "cursor" => json!({ "hook_event_name": "preToolUse", "tool_name": "Shell", "tool_input": input }),
        "opencode" => json!({ "event": "before", "tool": "bash", "input": input }),
        "cline" => json!({ "preToolUse": { "toolName": "execute_command", "parameters": input } }),
        "goose" => json!({ "event": "PreToolUse", "tool_name": "developer__shell", "tool_input": input }),
        "generic" => json!({ "event": "before", "tool": "Bash", "input": input }),
        other => panic!("{other}"),
    }
}

fn asked(title: &str) -> String {
    format!(
        "because\nA person has to decide this, and a hook cannot make {title} ask one, so the answer is no.\n\
         help: a person can run it"
    )
}

#[test]
fn a_denial_that_stands_for_a_question_names_a_rule_only_where_one_would_help() {
    let rows = [
        (Remedy::AllowRule, "help: a person can run it, or allow it with a rule in mayi's settings"),
        (Remedy::RuleThatAsks, "help: a person can run it; no allow rule overrules the rule that asks"),
        (Remedy::Person, "help: a person can run it; no rule can allow it"),
    ];
    for agent in ["codex", "cursor", "opencode", "cline", "goose"] {
        for (remedy, help) in rows {
            let told = Told { remedy: Some(remedy), ..told(ASK) };
            let said = answered(agent, &command(agent), &told).to_string();
            assert!(said.contains(help), "{agent}: {said}");
        }
    }
}

fn unchanged(title: &str) -> String {
    format!("because\nA hook changed the call, and {title} cannot be given the changed one, so the answer is no.")
}

fn pre(decision: &str, reason: &str) -> Value {
    json!({ "hookSpecificOutput": { "hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": reason } })
}

#[test]
fn each_verdict_is_put_in_the_clients_words() {
    let copilot = |decision: &str| json!({ "permissionDecision": decision, "permissionDecisionReason": "because" });
    let rows = [
        ("claude-code", ALLOW, pre("allow", "because")),
        ("claude-code", ASK, pre("ask", "because")),
        ("claude-code", DENY, pre("deny", "because")),
        ("codex", ALLOW, Value::Null),
        ("codex", ASK, pre("deny", &asked("Codex"))),
        ("codex", DENY, pre("deny", "because")),
        ("gemini", ALLOW, json!({ "decision": "allow" })),
        ("gemini", ASK, json!({ "decision": "ask", "reason": "because" })),
        ("gemini", DENY, json!({ "decision": "deny", "reason": "because" })),
        ("copilot", ALLOW, copilot("allow")),
        ("copilot", ASK, copilot("ask")),
        ("copilot", DENY, copilot("deny")),
        ("cursor", ALLOW, json!({ "permission": "allow" })),
        (
            "cursor",
            ASK,
            json!({ "permission": "deny", "user_message": asked("Cursor"), "agent_message": asked("Cursor") }),
        ),
        ("cursor", DENY, json!({ "permission": "deny", "user_message": "because", "agent_message": "because" })),
        ("opencode", ALLOW, json!({ "verdict": "allow", "reason": "because" })),
        ("opencode", ASK, json!({ "verdict": "deny", "reason": asked("opencode") })),
        ("opencode", DENY, json!({ "verdict": "deny", "reason": "because" })),
        ("cline", ALLOW, json!({ "cancel": false })),
        (
            "cline",
            ASK,
            json!({ "cancel": true, "errorMessage": asked("Cline"), "contextModification": asked("Cline") }),
        ),
        ("cline", DENY, json!({ "cancel": true, "errorMessage": "because", "contextModification": "because" })),
        ("goose", ALLOW, json!({ "decision": "allow" })),
        ("goose", ASK, json!({ "decision": "block", "reason": asked("Goose") })),
        ("goose", DENY, json!({ "decision": "block", "reason": "because" })),
        ("generic", ALLOW, json!({ "verdict": "allow", "reason": "because", "ends_run": false })),
        ("generic", ASK, json!({ "verdict": "ask", "reason": "because", "ends_run": false })),
        ("generic", DENY, json!({ "verdict": "deny", "reason": "because", "ends_run": false })),
    ];
    for (agent, verdict, expected) in rows {
        assert_eq!(answered(agent, &command(agent), &told(verdict)), expected, "{agent} {verdict}");
    }
}

#[test]
fn only_the_generic_agent_is_told_by_exit_code() {
    for dialect in mayi_agents::dialect::ALL {
        for verdict in Verdict::ALL {
            let expected = match (dialect.name, verdict) {
                ("generic", ASK) => 10,
                ("generic", DENY) => 11,
                _ => 0,
            };
            let reply = answer(dialect.name, &command(dialect.name), &told(verdict));
            assert_eq!((reply.code, reply.stderr.as_str()), (expected, ""), "{} {verdict}", dialect.name);
        }
    }
}

#[test]
fn a_changed_input_is_given_to_those_who_take_one() {
    let now = json!({ "command": "make -n" });
    let mut claude = pre("allow", "because");
    claude["hookSpecificOutput"]["updatedInput"] = now.clone();
    let rows = [
        ("claude-code", claude.clone()),
        ("codex", claude),
        (
            "gemini",
            json!({ "decision": "allow", "hookSpecificOutput": { "hookEventName": "BeforeTool", "tool_input": now } }),
        ),
        (
            "copilot",
            json!({ "permissionDecision": "allow", "permissionDecisionReason": "because", "modifiedArgs": now }),
        ),
        ("cursor", json!({ "permission": "allow", "updated_input": now })),
        ("opencode", json!({ "verdict": "allow", "reason": "because", "input": now })),
        (
            "cline",
            json!({ "cancel": true, "errorMessage": unchanged("Cline"), "contextModification": unchanged("Cline") }),
        ),
        ("goose", json!({ "decision": "block", "reason": unchanged("Goose") })),
        ("generic", json!({ "verdict": "allow", "reason": "because", "input": now, "ends_run": false })),
    ];
    for (agent, expected) in rows {
        assert_eq!(answered(agent, &command(agent), &changed("Bash", now.clone())), expected, "{agent}");
    }
}

#[test]
fn a_changed_input_goes_back_in_the_clients_words() {
    let edit =
        json!({ "event": "before", "tool": "edit", "input": { "filePath": "a", "oldString": "x", "newString": "y" } });
    let now = json!({ "file_path": "b", "old_string": "x", "new_string": "z", "replace_all": true });
    let expected = json!({ "filePath": "b", "oldString": "x", "newString": "z", "replaceAll": true });
    assert_eq!(answered("opencode", &edit, &changed("Edit", now))["input"], expected);

    let codex = |input: Value| json!({ "hook_event_name": "PreToolUse", "cwd": "/p", "tool_name": "shell", "tool_input": input });
    let given = |input: Value, now: Value| {
        let answer = answered("codex", &codex(input), &changed("Bash", now));
        answer["hookSpecificOutput"].get("updatedInput").cloned()
    };
    let list = json!({ "command": ["bash", "-lc", "make"] });
    assert_eq!(given(list, json!({ "command": "make -n" })), Some(json!({ "command": ["bash", "-lc", "make -n"] })));
    assert_eq!(given(json!({ "command": ["make", "all"] }), json!({ "command": "make -n" })), None);

    let there = json!({ "command": "make", "workdir": "sub" });
    let same = json!({ "command": "cd -- sub\nmake -n", "workdir": "sub" });
    assert_eq!(given(there.clone(), same), Some(json!({ "command": "make -n", "workdir": "sub" })));
    let elsewhere = json!({ "command": "make -n", "workdir": "sub" });
    assert_eq!(given(there.clone(), elsewhere), None, "it was judged where it would not run");
    let moved = json!({ "command": "cd -- sub\nmake -n", "workdir": "/etc" });
    assert_eq!(given(there, moved), None);
}

#[test]
fn a_change_that_cannot_be_put_in_the_clients_words_is_denied() {
    let patch = "*** Begin Patch\n*** Delete File: a\n*** End Patch";
    let patch =
        json!({ "hook_event_name": "PreToolUse", "tool_name": "apply_patch", "tool_input": { "command": patch } });
    let now = changed("Edit", json!({ "file_path": "b" }));
    assert_eq!(answered("codex", &patch, &now), pre("deny", &unchanged("Codex")));

    let other_tool = changed("Write", json!({ "file_path": "a" }));
    for agent in ["claude-code", "codex"] {
        let expected = pre("deny", &unchanged(speaker(agent).title));
        assert_eq!(answered(agent, &command(agent), &other_tool), expected, "{agent}");
    }
    let less = json!({ "hook_event_name": "BeforeTool", "tool_name": "run_shell_command",
        "tool_input": { "command": "make", "is_background": true } });
    let answer = answered("gemini", &less, &changed("Bash", json!({ "command": "make" })));
    assert_eq!(answer["decision"], "deny", "the client merges: `is_background` would stay");
    let shell = json!({ "hook_event_name": "beforeShellExecution", "command": "make", "cwd": "" });
    assert_eq!(answered("cursor", &shell, &changed("Bash", json!({ "command": "ls" })))["permission"], "deny");
}

#[test]
fn a_command_of_cursor_can_be_changed_wherever_it_runs() {
    let message = |cwd: &str| {
        json!({ "hook_event_name": "preToolUse", "workspace_roots": ["/p"], "cwd": cwd, "tool_name": "Shell",
            "tool_input": { "command": "ls" } })
    };
    let given = |cwd: &str, now: Value| {
        let answer = answered("cursor", &message(cwd), &changed("Bash", now));
        answer.get("updated_input").cloned()
    };
    let expected = Some(json!({ "command": "ls -l" }));
    assert_eq!(given("/p", json!({ "command": "ls -l" })), expected);
    assert_eq!(given("/p/", json!({ "command": "ls -l" })), expected);
    assert_eq!(given("/etc", json!({ "command": "cd -- /etc\nls -l", "cwd": "/etc" })), expected);
    assert_eq!(given("/etc", json!({ "command": "cd -- /etc\nls -l" })), expected, "the input never named a directory");
    assert_eq!(given("/etc", json!({ "command": "ls -l" })), None, "it was judged elsewhere than it would run");
    assert_eq!(given("/etc", json!({ "command": "cd -- /etc\nls -l", "cwd": "/p" })), None);
    assert_eq!(given("/p", json!({ "command": "ls -l", "working_directory": "/etc" })), None);
}

#[test]
fn the_end_of_a_run_is_told_where_it_can_be() {
    let end = Told { ends_run: true, ..told(DENY) };
    let mut claude = pre("deny", "because");
    claude["continue"] = json!(false);
    claude["stopReason"] = json!("because");
    let rows = [
        ("claude-code", claude),
        ("codex", pre("deny", "because")),
        ("gemini", json!({ "continue": false, "stopReason": "because", "decision": "deny", "reason": "because" })),
        ("generic", json!({ "verdict": "deny", "reason": "because", "ends_run": true })),
    ];
    for (agent, expected) in rows {
        assert_eq!(answered(agent, &command(agent), &end), expected, "{agent}");
    }
    let allowed = Told { ends_run: true, ..told(ALLOW) };
    for dialect in mayi_agents::dialect::ALL {
        let (agent, message) = (dialect.name, command(dialect.name));
        assert_eq!(
            answer(agent, &message, &allowed),
            answer(agent, &message, &end),
            "{agent}: an ended run runs nothing"
        );
    }
}

#[test]
fn tools_that_speak_to_a_person_are_left_to_their_own_dialogue() {
    let rows = [
        (
            "claude-code",
            json!({ "hook_event_name": "PreToolUse", "tool_name": "AskUserQuestion", "tool_input": {} }),
            Value::Null,
        ),
        (
            "claude-code",
            json!({ "hook_event_name": "PreToolUse", "tool_name": "ExitPlanMode", "tool_input": {} }),
            Value::Null,
        ),
        ("gemini", json!({ "hook_event_name": "BeforeTool", "tool_name": "ask_user", "tool_input": {} }), Value::Null),
        ("copilot", json!({ "toolName": "ask_user", "toolArgs": "{}" }), Value::Null),
        (
            "opencode",
            json!({ "event": "before", "tool": "question", "input": {} }),
            json!({ "verdict": "allow", "reason": "because" }),
        ),
        (
            "cline",
            json!({ "preToolUse": { "toolName": "ask_followup_question", "parameters": {} } }),
            json!({ "cancel": false }),
        ),
    ];
    for (agent, message, expected) in rows {
        assert_eq!(answered(agent, &message, &told(ASK)), expected, "{agent}");
        assert_ne!(answered(agent, &message, &told(DENY)), expected, "{agent}: a denial is one");
    }
    let message = json!({ "hook_event_name": "PreToolUse", "tool_name": "ExitPlanMode", "tool_input": {} });
    let now = Told { verdict: ASK, ..changed("ExitPlanMode", json!({ "plan": "less" })) };
    let answer = answered("claude-code", &message, &now);
    assert_eq!(answer["hookSpecificOutput"]["updatedInput"], json!({ "plan": "less" }), "a change is not lost");
}

#[test]
fn claude_code_is_not_asked_about_edits_in_bypass() {
    let message = |tool: &str, mode: Mode| json!({ "hook_event_name": "PreToolUse", "tool_name": tool, "permission_mode": mode, "tool_input": { "file_path": "/p/.git/config" } });
    let denied = pre("deny", &asked("Claude Code in bypassPermissions"));
    assert_eq!(answered("claude-code", &message("Write", Mode::BypassPermissions), &told(ASK)), denied);
    assert_eq!(answered("claude-code", &message("Write", Mode::AcceptEdits), &told(ASK)), pre("ask", "because"));
    assert_eq!(answered("claude-code", &message("Read", Mode::BypassPermissions), &told(ASK)), pre("ask", "because"));
}

#[test]
fn requests_are_answered_in_their_own_form() {
    let request =
        |input: Value| json!({ "hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": input });
    let message = request(json!({ "command": "make" }));
    let decision = |decision: Value| json!({ "hookSpecificOutput": { "hookEventName": "PermissionRequest", "decision": decision } });
    let rows = [
        ("claude-code", told(ALLOW), decision(json!({ "behavior": "allow" }))),
        ("claude-code", told(ASK), Value::Null),
        ("claude-code", told(DENY), decision(json!({ "behavior": "deny", "message": "because" }))),
        (
            "claude-code",
            Told { ends_run: true, ..told(DENY) },
            decision(json!({ "behavior": "deny", "message": "because", "interrupt": true })),
        ),
        (
            "claude-code",
            changed("Bash", json!({ "command": "ls" })),
            decision(json!({ "behavior": "allow", "updatedInput": { "command": "ls" } })),
        ),
        ("codex", told(ALLOW), decision(json!({ "behavior": "allow" }))),
        ("codex", told(ASK), Value::Null),
        ("codex", told(DENY), decision(json!({ "behavior": "deny", "message": "because" }))),
        (
            "codex",
            changed("Bash", json!({ "command": "ls" })),
            decision(json!({ "behavior": "deny", "message": unchanged("Codex") })),
        ),
        ("copilot", told(ALLOW), Value::Null),
        ("copilot", told(ASK), Value::Null),
        ("copilot", told(DENY), json!({ "behavior": "deny", "message": "because" })),
    ];
    for (agent, told, expected) in rows {
        assert_eq!(answered(agent, &message, &told), expected, "{agent} {told:?}");
    }
    let opencode = json!({ "event": "permission", "tool": "bash", "input": { "command": "make" } });
    for verdict in Verdict::ALL {
        let expected = json!({ "verdict": verdict, "reason": "because" });
        assert_eq!(answered("opencode", &opencode, &told(verdict)), expected);
    }
}

#[test]
fn claude_code_keeps_what_hooks_want_it_to_keep() {
    let update = PermissionUpdate::SetMode { mode: Mode::AcceptEdits, destination: Destination::Session };
    let told = Told { updates: vec![update], ..told(ALLOW) };
    let message = json!({ "hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": {} });
    let expected = json!([{ "type": "setMode", "mode": "acceptEdits", "destination": "session" }]);
    let answer = answered("claude-code", &message, &told);
    assert_eq!(answer["hookSpecificOutput"]["decision"]["updatedPermissions"], expected);
}

#[test]
fn a_denial_of_the_clients_classifier_may_be_tried_again() {
    let message = json!({ "hook_event_name": "PermissionDenied", "tool_name": "Bash", "tool_input": {} });
    let retry = Told { may_retry: true, ..told(ALLOW) };
    let expected = json!({ "hookSpecificOutput": { "hookEventName": "PermissionDenied", "retry": true } });
    assert_eq!(answered("claude-code", &message, &retry), expected);
    assert_eq!(answered("claude-code", &message, &told(ALLOW)), Value::Null);
}

#[test]
fn what_the_model_should_read_goes_where_there_is_a_place_for_it() {
    let noted = Told { context: vec!["one".to_owned(), "two".to_owned()], ..told(ALLOW) };
    let claude = answered("claude-code", &command("claude-code"), &noted);
    assert_eq!(claude["hookSpecificOutput"]["additionalContext"], "one\ntwo");
    let codex = json!({ "hookSpecificOutput": { "hookEventName": "PreToolUse", "additionalContext": "one\ntwo" } });
    assert_eq!(answered("codex", &command("codex"), &noted), codex);
    assert_eq!(
        answered("cline", &command("cline"), &noted),
        json!({ "cancel": false, "contextModification": "one\ntwo" })
    );
    let after = json!({ "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {} });
    let expected = json!({ "hookSpecificOutput": { "hookEventName": "PostToolUse", "additionalContext": "one\ntwo" } });
    assert_eq!(answered("claude-code", &after, &noted), expected);
    assert_eq!(answered("claude-code", &after, &told(ALLOW)), Value::Null);
}

#[test]
fn copilot_is_answered_in_both_forms_under_the_widespread_name() {
    let message = json!({ "hook_event_name": "PreToolUse", "tool_name": "bash", "tool_input": { "command": "make" } });
    let mut expected = pre("deny", "because");
    expected["permissionDecision"] = json!("deny");
    expected["permissionDecisionReason"] = json!("because");
    assert_eq!(answered("copilot", &message, &told(DENY)), expected);
}

#[test]
fn a_denial_never_comes_without_a_reason_nor_with_an_endless_one() {
    let empty = Told::new(DENY, "  ");
    assert_eq!(answered("codex", &command("codex"), &empty), pre("deny", "mayi gave no reason"));
    let endless = Told::new(DENY, "é".repeat(100_000));
    for dialect in mayi_agents::dialect::ALL {
        let reply = answer(dialect.name, &command(dialect.name), &endless);
        assert!(reply.stdout.len() < 20_000, "{}", dialect.name);
    }
}

#[test]
fn a_refusal_is_what_the_client_honours_without_a_message() {
    let rows = [
        ("claude-code", ASK, pre("ask", "why").to_string(), "", 0),
        ("claude-code", DENY, pre("deny", "why").to_string(), "", 0),
        ("codex", ASK, String::new(), "why\n", 2),
        ("gemini", ASK, json!({ "decision": "ask", "reason": "why" }).to_string(), "", 0),
        (
            "cursor",
            ASK,
            json!({ "permission": "deny", "user_message": "why", "agent_message": "why" }).to_string(),
            "",
            0,
        ),
        ("opencode", ASK, json!({ "verdict": "deny", "reason": "why" }).to_string(), "", 0),
        (
            "cline",
            ASK,
            json!({ "cancel": true, "errorMessage": "why", "contextModification": "why" }).to_string(),
            "",
            0,
        ),
        ("goose", ASK, json!({ "decision": "block", "reason": "why" }).to_string(), "", 0),
        ("generic", ASK, json!({ "verdict": "ask", "reason": "why", "ends_run": false }).to_string(), "", 10),
    ];
    for (agent, verdict, stdout, stderr, code) in rows {
        let reply = (speaker(agent).refuse)(verdict, "why");
        assert_eq!((reply.stdout, reply.stderr.as_str(), reply.code), (stdout, stderr, code), "{agent}");
    }
    for dialect in mayi_agents::dialect::ALL {
        let asked = (dialect.refuse)(ASK, "why");
        assert_eq!((dialect.refuse)(ALLOW, "why"), asked, "{}: a refusal is never an allow", dialect.name);
    }
}

#[test]
fn deadlines_are_inside_the_clients_own() {
    for dialect in mayi_agents::dialect::ALL {
        let own = if ["copilot", "cursor", "cline", "goose"].contains(&dialect.name) { 30 } else { 60 };
        assert!(dialect.deadline.as_secs() + 5 <= own, "{}", dialect.name);
    }
}

#[test]
fn a_change_of_the_same_tool_under_its_old_name_is_one() {
    let message =
        json!({ "hook_event_name": "PreToolUse", "tool_name": "Task", "tool_input": { "subagent_type": "a" } });
    let now = Told { changed: Some(Call::new("Task", json!({ "subagent_type": "b" }))), ..told(ALLOW) };
    assert_eq!(
        answered("claude-code", &message, &now)["hookSpecificOutput"]["updatedInput"],
        json!({ "subagent_type": "b" })
    );
}
