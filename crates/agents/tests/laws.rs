//! What holds for every dialect, whatever the message: nothing panics, every answer is one the client can read, and
//! no answer is milder than its verdict.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::path::PathBuf;

use mayi_agents::adapter::Surroundings;
use mayi_agents::{Dialect, Event, Message, Reply, Told, dialect};
use mayi_core::call::Call;
use mayi_core::catalogue::{self, Kind};
use mayi_core::verdict::Verdict;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Words that messages are made of, so that arbitrary ones come close to real ones.
const WORDS: &[&str] = &[
    "hook_event_name",
    "event",
    "hookName",
    "tool_name",
    "toolName",
    "tool",
    "tool_input",
    "toolArgs",
    "toolInput",
    "input",
    "parameters",
    "preToolUse",
    "postToolUse",
    "permission_mode",
    "mode",
    "cwd",
    "directory",
    "workspace_roots",
    "workspaceRoots",
    "working_dir",
    "session_id",
    "sessionId",
    "taskId",
    "mcp_context",
    "server_name",
    "arguments",
    "command",
    "cmd",
    "workdir",
    "dir_path",
    "path",
    "file_path",
    "filePath",
    "prompt",
    "url",
    "patchText",
    "description",
    "agent",
    "id",
    "unattended",
    "PreToolUse",
    "PermissionRequest",
    "PermissionDenied",
    "PostToolUse",
    "BeforeTool",
    "AfterTool",
    "beforeShellExecution",
    "beforeMCPExecution",
    "beforeReadFile",
    "before",
    "permission",
    "after",
    "Bash",
    "shell",
    "apply_patch",
    "run_shell_command",
    "web_fetch",
    "use_mcp_tool",
    "bash",
    "Shell",
    "MCP:x",
    "developer__shell",
    "AskUserQuestion",
    "ask_user",
    "question",
    "ask_followup_question",
    "bypassPermissions",
    "/p",
    "ls",
    "*** Begin Patch\n*** Delete File: a\n*** End Patch",
    "network-access a.example",
    "https://a.example",
];

fn word() -> impl Strategy<Value = String> {
    prop_oneof![4 => prop::sample::select(WORDS).prop_map(str::to_owned), 1 => ".{0,8}"]
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((word(), inner), 0..8)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// A message that is right but for its tool and its input.
fn message(tool: &str, input: &Value, event: usize) -> Value {
    let events = ["PreToolUse", "PermissionRequest", "BeforeTool", "preToolUse", "before", "beforeMCPExecution"];
    let event = events[event % events.len()];
    json!({ "hook_event_name": event, "event": event, "tool_name": tool, "toolName": tool, "tool": tool, "tool_input": input,
        "toolArgs": input, "input": input, "preToolUse": { "toolName": tool, "parameters": input } })
}

fn verdict() -> impl Strategy<Value = Verdict> {
    prop::sample::select(Verdict::ALL.to_vec())
}

prop_compose! {
    fn told()(verdict in verdict(), reason in ".{0,20}", changed in prop::option::of((word(), json_value())),
        ends_run in any::<bool>(), may_retry in any::<bool>(), context in prop::collection::vec(".{0,5}", 0..2)) -> Told {
        let changed = changed.map(|(tool, input)| Call { tool, input });
        Told { changed, ends_run, may_retry, context, ..Told::new(verdict, reason) }
    }
}

fn read(dialect: &Dialect, value: &Value) -> Option<Message> {
    let surroundings = Surroundings { variable: &|_| None, directory: PathBuf::from("/p") };
    (dialect.read)(value, &surroundings).ok()
}

/// Whether the client takes the answer for an allow. Silence is one where the client then runs the call by itself.
fn allows(agent: &str, event: Event, reply: &Reply) -> bool {
    let answer: Value = serde_json::from_str(&reply.stdout).unwrap_or_default();
    let specific = |field: &str| answer.pointer(&format!("/hookSpecificOutput/{field}")).cloned().unwrap_or_default();
    let is_request = event == Event::Request;
    match agent {
        _ if reply.code == 2 => false,
        "claude-code" if is_request => specific("decision/behavior") == "allow",
        "claude-code" => !["ask", "deny"].contains(&specific("permissionDecision").as_str().unwrap_or_default()),
        "codex" if is_request => specific("decision/behavior") == "allow",
        "codex" => specific("permissionDecision") != "deny",
        "gemini" => !["ask", "deny"].contains(&answer["decision"].as_str().unwrap_or_default()),
        "copilot" if is_request => answer["behavior"] == "allow",
        "copilot" => !["ask", "deny"].contains(&answer["permissionDecision"].as_str().unwrap_or_default()),
        "cursor" => answer["permission"] != "deny",
        "opencode" | "generic" => answer["verdict"] == "allow",
        "cline" => answer["cancel"] != true,
        "goose" => answer["decision"] != "block",
        other => panic!("{other}"),
    }
}

fn speaks_to_a_person(message: &Message) -> bool {
    message.calls.iter().all(|call| catalogue::built_in(&call.tool).is_some_and(|tool| tool.kind == Kind::Person))
}

fn check(dialect: &Dialect, value: &Value, told: &Told) {
    let Some(message) = read(dialect, value) else { return };
    let reply = (dialect.write)(&message, told);
    let is_object = serde_json::from_str::<Value>(&reply.stdout).is_ok_and(|answer| answer.is_object());
    assert!(reply.stdout.is_empty() || is_object, "{}: {}", dialect.name, reply.stdout);
    let decides = matches!(message.event, Event::Before | Event::Request);
    if !decides {
        return;
    }
    assert!(!message.calls.is_empty(), "{}: {value}", dialect.name);
    let asks_itself =
        told.verdict == Verdict::Ask && !told.ends_run && told.changed.is_none() && speaks_to_a_person(&message);
    if allows(dialect.name, message.event, &reply) && !asks_itself {
        assert_eq!((told.verdict, told.ends_run), (Verdict::Allow, false), "{}: {}", dialect.name, reply.stdout);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn no_message_makes_an_answer_milder_than_its_verdict(value in json_value(), told in told()) {
        for dialect in dialect::ALL {
            check(dialect, &value, &told);
        }
    }

    #[test]
    fn no_tool_and_no_input_makes_an_answer_milder(tool in word(), input in json_value(), event in 0usize..6, told in told()) {
        for dialect in dialect::ALL {
            check(dialect, &message(&tool, &input, event), &told);
        }
    }

    #[test]
    fn a_refusal_is_never_an_allow(verdict in verdict(), reason in ".{0,40}") {
        for dialect in dialect::ALL {
            let reply = (dialect.refuse)(verdict, &reason);
            prop_assert!(!allows(dialect.name, Event::Before, &reply), "{}: {:?}", dialect.name, reply);
            prop_assert!(reply.code != 2 || !reply.stderr.is_empty(), "{}", dialect.name);
        }
    }

    #[test]
    fn only_names_of_the_table_become_ours(tool in word(), input in json_value(), event in 0usize..6) {
        for dialect in dialect::ALL.iter().filter(|dialect| !["claude-code", "generic"].contains(&dialect.name)) {
            let read = read(dialect, &message(&tool, &input, event)).filter(|message| message.event == Event::Before);
            let Some(message) = read else { continue };
            let table = mayi_agents::translate::catalogue::AGENTS.iter().find(|(agent, _)| *agent == dialect.name);
            let known = table.is_some_and(|(_, tools)| tools.iter().any(|named| named.name == message.original.tool));
            let ours = message.calls.iter().any(|call| catalogue::built_in(&call.tool).is_some());
            prop_assert!(known || !ours, "{}: {} {:?}", dialect.name, tool, message.calls);
        }
    }
}
