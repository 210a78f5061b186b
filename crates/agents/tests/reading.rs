//! Messages of every agent, and the calls they amount to. The messages are our own, shaped like the clients'.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod support;

use mayi_agents::Event;
use mayi_core::mode::Mode;
use mayi_core::session::Attendance;
use serde_json::{Value, json};

use support::{read, try_read};

/// A message about a tool, in the agent's form.
fn before(agent: &str, tool: &str, input: Value) -> Value {
    match agent {
        "gemini" => {
            json!({ "hook_event_name": "BeforeTool", "session_id": "s", "cwd": "/p", "tool_name": tool, "tool_input": input })
        }
        "copilot" => {
            json!({ "sessionId": "s", "timestamp": 1, "cwd": "/p", "toolName": tool, "toolArgs": input.to_string() })
        }
        "cursor" => {
            json!({ "hook_event_name": "preToolUse", "conversation_id": "s", "workspace_roots": ["/p"], "tool_name": tool, "tool_input": input })
        }
        "opencode" => {
            json!({ "event": "before", "session": "s", "directory": "/p", "tool": tool, "input": input, "callId": "c" })
        }
        "cline" => {
            json!({ "hookName": "PreToolUse", "taskId": "s", "workspaceRoots": ["/p"], "preToolUse": { "toolName": tool, "parameters": input } })
        }
        "goose" => {
            json!({ "event": "PreToolUse", "session_id": "s", "working_dir": "/p", "tool_name": tool, "tool_input": input })
        }
        "generic" => json!({ "event": "before", "session": "s", "cwd": "/p", "tool": tool, "input": input }),
        _ => {
            json!({ "hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/p", "tool_name": tool, "tool_input": input })
        }
    }
}

/// The calls as lines: the tool and its input.
fn lines(message: &mayi_agents::Message) -> Vec<String> {
    message.calls.iter().map(|call| format!("{} {}", call.tool, call.input)).collect()
}

#[track_caller]
fn reads(agent: &str, tool: &str, input: Value, expected: &[&str]) {
    let message = read(agent, &before(agent, tool, input.clone()));
    assert_eq!(lines(&message), expected, "{agent} {tool} {input}");
    assert_eq!(message.event, Event::Before, "{agent}");
    assert_eq!(message.session, "s", "{agent}");
    assert_eq!(message.directory.as_deref(), Some(std::path::Path::new("/p")), "{agent}");
    assert_eq!((message.original.tool.as_str(), &message.original.input), (tool, &input), "{agent} keeps the original");
}

#[test]
fn a_shell_command_is_bash_for_every_agent() {
    let rows = [
        ("claude-code", "Bash"),
        ("codex", "Bash"),
        ("codex", "shell"),
        ("codex", "local_shell"),
        ("codex", "exec_command"),
        ("codex", "unified_exec"),
        ("gemini", "run_shell_command"),
        ("copilot", "bash"),
        ("cursor", "Shell"),
        ("opencode", "bash"),
        ("cline", "execute_command"),
        ("goose", "developer__shell"),
        ("generic", "Bash"),
    ];
    for (agent, tool) in rows {
        reads(agent, tool, json!({ "command": "make all" }), &[r#"Bash {"command":"make all"}"#]);
    }
}

#[test]
fn fields_are_renamed_and_the_rest_is_kept() {
    reads(
        "gemini",
        "replace",
        json!({ "file_path": "a", "old_string": "x", "new_string": "y" }),
        &[r#"Edit {"file_path":"a","old_string":"x","new_string":"y"}"#],
    );
    reads(
        "gemini",
        "write_file",
        json!({ "file_path": "a", "content": "x" }),
        &[r#"Write {"file_path":"a","content":"x"}"#],
    );
    reads("gemini", "read_file", json!({ "absolute_path": "/p/a" }), &[r#"Read {"file_path":"/p/a"}"#]);
    reads("gemini", "list_directory", json!({ "dir_path": "src" }), &[r#"Glob {"path":"src"}"#]);
    reads("gemini", "glob", json!({ "pattern": "*.rs" }), &[r#"Glob {"pattern":"*.rs"}"#]);
    reads(
        "gemini",
        "search_file_content",
        json!({ "pattern": "x", "path": "src" }),
        &[r#"Grep {"path":"src","pattern":"x"}"#],
    );
    reads("gemini", "grep_search", json!({ "pattern": "x" }), &[r#"Grep {"pattern":"x"}"#]);
    reads("gemini", "google_web_search", json!({ "query": "q" }), &[r#"WebSearch {"query":"q"}"#]);
    reads(
        "copilot",
        "view",
        json!({ "path": "/p/a", "view_range": [1, 2] }),
        &[r#"Read {"file_path":"/p/a","view_range":[1,2]}"#],
    );
    reads("copilot", "create", json!({ "path": "a", "file_text": "x" }), &[r#"Write {"content":"x","file_path":"a"}"#]);
    reads(
        "copilot",
        "edit",
        json!({ "path": "a", "old_str": "x", "new_str": "y" }),
        &[r#"Edit {"file_path":"a","new_string":"y","old_string":"x"}"#],
    );
    reads("cursor", "Delete", json!({ "path": "a" }), &[r#"Edit {"file_path":"a"}"#]);
    reads("opencode", "read", json!({ "filePath": "/p/a", "limit": 3 }), &[r#"Read {"file_path":"/p/a","limit":3}"#]);
    reads(
        "opencode",
        "edit",
        json!({ "filePath": "a", "oldString": "x", "newString": "y" }),
        &[r#"Edit {"file_path":"a","new_string":"y","old_string":"x"}"#],
    );
    reads(
        "cline",
        "write_to_file",
        json!({ "path": "a", "content": "x" }),
        &[r#"Write {"file_path":"a","content":"x"}"#],
    );
    reads(
        "cline",
        "search_files",
        json!({ "path": "src", "regex": "x", "file_pattern": "*.rs" }),
        &[r#"Grep {"glob":"*.rs","path":"src","pattern":"x"}"#],
    );
    reads(
        "goose",
        "developer__edit",
        json!({ "path": "a", "before": "x", "after": "y" }),
        &[r#"Edit {"file_path":"a","new_string":"y","old_string":"x"}"#],
    );
}

#[test]
fn a_field_that_only_looks_like_ours_is_not_believed() {
    reads(
        "copilot",
        "view",
        json!({ "path": "/etc/shadow", "file_path": "README.md" }),
        &[r#"Read {"file_path":"/etc/shadow"}"#],
    );
    reads("copilot", "view", json!({ "file_path": "README.md" }), &["Read {}"]);
    reads("opencode", "grep", json!({ "pattern": "x", "path": null }), &[r#"Grep {"pattern":"x"}"#]);
}

#[test]
fn two_names_for_one_field_must_agree() {
    reads(
        "gemini",
        "read_file",
        json!({ "file_path": "a", "absolute_path": "/p/b" }),
        &[r#"read_file {"file_path":"a","absolute_path":"/p/b"}"#],
    );
    reads("gemini", "read_file", json!({ "file_path": "a", "absolute_path": "a" }), &[r#"Read {"file_path":"a"}"#]);
}

#[test]
fn unknown_tools_keep_their_name_and_never_take_one_of_ours() {
    let rows = [
        ("claude-code", "Frobnicate", "Frobnicate"),
        ("codex", "write_stdin", "write_stdin"),
        ("codex", "Shell", "Shell"),
        ("codex", "BASH", "BASH"),
        ("codex", "Read", "codex:Read"),
        ("codex", "Task", "codex:Task"),
        ("codex", "TodoWrite", "codex:TodoWrite"),
        ("codex", "mcp__tracker__list", "mcp__tracker__list"),
        ("gemini", "Run_Shell_Command", "Run_Shell_Command"),
        ("gemini", "run_shell_command ", "run_shell_command "),
        ("gemini", "run_she\u{217c}l_command", "run_she\u{217c}l_command"),
        ("gemini", "read_many_files", "read_many_files"),
        ("gemini", "Bash", "gemini:Bash"),
        ("gemini", "mcp__tracker__list", "gemini:mcp__tracker__list"),
        ("gemini", "mcp_tracker_list", "mcp_tracker_list"),
        ("copilot", "tracker-list_all", "tracker-list_all"),
        ("copilot", "Bash", "copilot:Bash"),
        ("cursor", "Bash", "cursor:Bash"),
        ("cursor", "Shel", "Shel"),
        ("opencode", "Read", "opencode:Read"),
        ("opencode", "tracker_list", "tracker_list"),
        ("cline", "Glob", "cline:Glob"),
        ("goose", "shell", "shell"),
        ("goose", "Sleep", "goose:Sleep"),
    ];
    for (agent, tool, expected) in rows {
        reads(agent, tool, json!({ "command": "ls" }), &[&format!(r#"{expected} {{"command":"ls"}}"#)]);
    }
}

#[test]
fn input_that_is_no_object_is_kept_as_it_came() {
    for input in [json!("ls"), json!(["ls"]), json!(7), json!(null)] {
        reads("claude-code", "Bash", input.clone(), &[&format!("Bash {input}")]);
        reads("codex", "shell", input.clone(), &[&format!("shell {input}")]);
        reads("gemini", "run_shell_command", input.clone(), &[&format!("run_shell_command {input}")]);
    }
}

#[test]
fn a_list_of_words_is_its_script_or_its_words() {
    let script = json!({ "command": ["bash", "-lc", "git log | head"] });
    reads("codex", "shell", script, &[r#"Bash {"command":"git log | head"}"#]);
    let words = json!({ "command": ["rm", "-rf", "a b", "$HOME"] });
    reads("codex", "shell", words, &[r#"Bash {"command":"rm -rf 'a b' '$HOME'"}"#]);
    let odd = json!({ "command": ["ls", 1] });
    reads("codex", "shell", odd, &[r#"shell {"command":["ls",1]}"#]);
}

#[test]
fn a_command_with_a_directory_of_its_own_is_judged_there() {
    let rows = [
        ("codex", "shell", "workdir"),
        ("gemini", "run_shell_command", "dir_path"),
        ("gemini", "run_shell_command", "directory"),
        ("opencode", "bash", "workdir"),
        ("cursor", "Shell", "working_directory"),
    ];
    for (agent, tool, field) in rows {
        let in_directory = |directory: Value| json!({ "command": "rm -r x & ls", field: directory });
        let judged = |prefix: &str, directory: Value| {
            format!("Bash {}", json!({ "command": format!("{prefix}rm -r x & ls"), field: directory }))
        };
        reads(agent, tool, in_directory(json!("/etc")), &[&judged("cd -- /etc\n", json!("/etc"))]);
        reads(agent, tool, in_directory(json!("a b")), &[&judged("cd -- 'a b'\n", json!("a b"))]);
        reads(agent, tool, in_directory(json!("/p/")), &[&judged("", json!("/p/"))]);
        reads(agent, tool, in_directory(json!(".")), &[&judged("", json!("."))]);
        reads(agent, tool, in_directory(json!("")), &[&judged("", json!(""))]);
        let odd = in_directory(json!(["/etc"]));
        reads(agent, tool, odd.clone(), &[&format!("{tool} {odd}")]);
    }
}

#[test]
fn a_patch_is_a_call_for_every_path_it_touches() {
    let patch = "*** Begin Patch\n*** Add File: a\n+x\n*** Update File: b\n*** Move to: /etc/c\n@@\n-x\n+y\n*** Delete File: d\n*** End Patch";
    let touched = |agent: &str, tool: &str, input: Value| -> Vec<String> {
        let message = read(agent, &before(agent, tool, input));
        message.calls.iter().map(|call| format!("{} {}", call.tool, call.text("file_path").unwrap())).collect()
    };
    let expected = ["Write a", "Edit b", "Write /etc/c", "Edit d"];
    assert_eq!(touched("codex", "apply_patch", json!({ "command": patch })), expected);
    assert_eq!(touched("codex", "apply_patch", json!({ "input": patch })), expected);
    assert_eq!(touched("opencode", "apply_patch", json!({ "patchText": patch })), expected);
    assert_eq!(touched("cline", "apply_patch", json!({ "input": patch })), expected);
    assert_eq!(touched("copilot", "apply_patch", json!({ "input": patch })), expected);
    let below = ["Write /w/a", "Edit /w/b", "Write /etc/c", "Edit /w/d"];
    assert_eq!(touched("codex", "apply_patch", json!({ "command": patch, "workdir": "/w" })), below);
    let broken = json!({ "command": "*** Begin Patch\n*** Chmod File: a\n*** End Patch" });
    reads("codex", "apply_patch", broken.clone(), &[&format!("apply_patch {broken}")]);
    let raw = json!({ "hook_event_name": "PreToolUse", "tool_name": "apply_patch", "tool_input": patch });
    assert_eq!(read("codex", &raw).calls.len(), 4, "a patch may be the whole input");
}

#[test]
fn a_patch_inside_a_command_stays_a_command_and_its_files_are_judged_too() {
    let text = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a\n+x\n*** Delete File: b\n*** End Patch\nEOF";
    let command = json!({ "command": text });
    let added = r#"Write {"file_path":"a","content":"x\n"}"#;
    let removed = r#"Edit {"file_path":"b","patch":""}"#;
    for tool in ["Bash", "shell", "shell_command", "local_shell", "exec_command", "unified_exec"] {
        reads("codex", tool, command.clone(), &[&format!("Bash {command}"), added, removed]);
    }
    let listed = json!({ "command": ["bash", "-lc", text], "workdir": "/w" });
    let message = read("codex", &before("codex", "shell", listed));
    let paths: Vec<_> = message.calls.iter().filter_map(|call| call.text("file_path")).collect();
    assert_eq!((message.calls[0].tool.as_str(), paths), ("Bash", vec!["/w/a", "/w/b"]));

    let broken = json!({ "command": "apply_patch <<'EOF'\n*** Begin Patch\n*** End Patch\nEOF" });
    reads("codex", "Bash", broken.clone(), &[&format!("Bash {broken}"), &format!("apply_patch {broken}")]);
}

#[test]
fn every_url_of_a_prose_is_fetched() {
    let prose = "compare https://a.example/x with http://b.example;@c.example/ please";
    let message = read("gemini", &before("gemini", "web_fetch", json!({ "prompt": prose })));
    let urls: Vec<_> = message.calls.iter().map(|call| call.text("url").unwrap()).collect();
    assert_eq!(urls, ["https://a.example/x", "http://b.example;@c.example/"]);
    reads("gemini", "web_fetch", json!({ "prompt": "hello" }), &[r#"WebFetch {"prompt":"hello"}"#]);
}

#[test]
fn tools_of_mcp_servers_are_named_by_server_and_tool() {
    let mut gemini = before("gemini", "mcp_my_tracker_list", json!({ "n": 1 }));
    gemini["mcp_context"] = json!({ "server_name": "my_tracker", "tool_name": "list" });
    assert_eq!(lines(&read("gemini", &gemini)), [r#"mcp__my_tracker__list {"n":1}"#]);
    gemini["mcp_context"] = json!({ "server_name": "my__tracker", "tool_name": "list" });
    assert_eq!(lines(&read("gemini", &gemini)), [r#"mcp_my_tracker_list {"n":1}"#]);

    let cline = json!({ "server_name": "tracker", "tool_name": "list", "arguments": r#"{"n":1}"# });
    reads("cline", "use_mcp_tool", cline, &[r#"mcp__tracker__list {"n":1}"#]);
    reads("cline", "use_mcp_tool", json!({ "tool_name": "list" }), &[r#"use_mcp_tool {"tool_name":"list"}"#]);

    reads("goose", "tracker__list", json!({ "n": 1 }), &[r#"mcp__tracker__list {"n":1}"#]);
    reads("goose", "developer__other", json!({}), &["mcp__developer__other {}"]);

    let cursor = json!({ "hook_event_name": "beforeMCPExecution", "conversation_id": "s", "tool_name": "Read",
        "tool_input": r#"{"file_path":"a"}"#, "command": "npx server" });
    assert_eq!(lines(&read("cursor", &cursor)), [r#"mcp__unnamed__Read {"file_path":"a"}"#]);
    reads("cursor", "MCP:list", json!({ "n": 1 }), &[r#"mcp__unnamed__list {"n":1}"#]);
}

#[test]
fn the_older_events_of_cursor_are_read() {
    let common = json!({ "conversation_id": "s", "workspace_roots": ["/p"] });
    let rows = [
        (
            json!({ "hook_event_name": "beforeShellExecution", "command": "ls", "cwd": "/p" }),
            Event::Before,
            r#"Bash {"command":"ls","cwd":"/p"}"#,
        ),
        (
            json!({ "hook_event_name": "beforeShellExecution", "command": "ls", "cwd": "" }),
            Event::Before,
            r#"Bash {"command":"ls","cwd":""}"#,
        ),
        (
            json!({ "hook_event_name": "beforeShellExecution", "command": "ls", "cwd": "/etc" }),
            Event::Before,
            r#"Bash {"command":"cd -- /etc\nls","cwd":"/etc"}"#,
        ),
        (
            json!({ "hook_event_name": "beforeReadFile", "file_path": "/p/a", "content": "x" }),
            Event::Before,
            r#"Read {"file_path":"/p/a"}"#,
        ),
        (
            json!({ "hook_event_name": "afterFileEdit", "file_path": "/p/a", "edits": [] }),
            Event::After,
            r#"Write {"file_path":"/p/a"}"#,
        ),
    ];
    for (fields, event, expected) in rows {
        let mut message = common.clone();
        message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let message = read("cursor", &message);
        assert_eq!((message.event, lines(&message)), (event, vec![expected.to_owned()]), "{fields}");
    }
}

#[test]
fn a_command_of_cursor_runs_where_its_message_says() {
    let mut message = before("cursor", "Shell", json!({ "command": "ls" }));
    message["cwd"] = json!("/etc");
    assert_eq!(lines(&read("cursor", &message)), [r#"Bash {"command":"cd -- /etc\nls","cwd":"/etc"}"#]);
    message["cwd"] = json!("/p/");
    assert_eq!(lines(&read("cursor", &message)), [r#"Bash {"command":"ls"}"#]);
}

#[test]
fn a_request_for_the_network_is_about_its_host_too() {
    let request = |description: &str| {
        json!({ "hook_event_name": "PermissionRequest", "session_id": "s", "tool_name": "Bash",
            "tool_input": { "command": "npm ci", "description": description } })
    };
    let message = read("codex", &request("network-access evil.example"));
    assert_eq!(message.event, Event::Request);
    assert_eq!(lines(&message).last().unwrap(), r#"WebFetch {"url":"https://evil.example"}"#);
    assert_eq!(message.calls.len(), 2);
    assert_eq!(read("codex", &request("installs packages")).calls.len(), 1);
}

#[test]
fn events_are_told_apart() {
    let tool = |field: &str, event: &str| json!({ field: event, "tool_name": "Bash", "tool_input": {} });
    let copilot = |more: Value| {
        let mut message = json!({ "sessionId": "s", "cwd": "/p" });
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        message
    };
    let rows = [
        ("claude-code", tool("hook_event_name", "PermissionRequest"), Event::Request),
        ("claude-code", tool("hook_event_name", "PermissionDenied"), Event::Denied),
        ("claude-code", tool("hook_event_name", "PostToolUse"), Event::After),
        ("claude-code", tool("hook_event_name", "PostToolUseFailure"), Event::Failed),
        ("claude-code", json!({ "hook_event_name": "SessionStart" }), Event::Other),
        ("claude-code", json!({ "hook_event_name": "PostToolBatch", "tool_calls": [] }), Event::Other),
        ("codex", tool("hook_event_name", "PostToolUse"), Event::After),
        ("codex", json!({ "hook_event_name": "Stop" }), Event::Other),
        ("gemini", tool("hook_event_name", "AfterTool"), Event::After),
        (
            "gemini",
            json!({ "hook_event_name": "AfterTool", "tool_name": "glob", "tool_response": { "error": {} } }),
            Event::Failed,
        ),
        ("gemini", json!({ "hook_event_name": "Notification", "details": {} }), Event::Other),
        ("copilot", copilot(json!({ "toolName": "bash", "toolArgs": "{}" })), Event::Before),
        (
            "copilot",
            copilot(json!({ "toolName": "bash", "toolArgs": "{}", "toolResult": { "resultType": "success" } })),
            Event::After,
        ),
        ("copilot", copilot(json!({ "toolName": "bash", "toolArgs": "{}", "error": "no" })), Event::Failed),
        ("copilot", copilot(json!({ "source": "new" })), Event::Other),
        ("copilot", copilot(json!({ "prompt": "hello" })), Event::Other),
        ("copilot", tool("hook_event_name", "PreToolUse"), Event::Before),
        ("copilot", tool("hook_event_name", "PermissionRequest"), Event::Request),
        ("opencode", json!({ "event": "permission", "tool": "bash", "input": {} }), Event::Request),
        ("opencode", json!({ "event": "after", "tool": "bash", "input": {} }), Event::After),
        ("cline", json!({ "preToolUse": { "tool": "read_file", "parameters": { "path": "a" } } }), Event::Before),
        ("cline", json!({ "postToolUse": { "toolName": "read_file", "success": true } }), Event::After),
        ("cline", json!({ "postToolUse": { "toolName": "read_file", "success": false } }), Event::Failed),
        ("cline", json!({ "taskStart": { "task": "x" } }), Event::Other),
        ("goose", tool("event", "PostToolUse"), Event::After),
        ("goose", tool("event", "PostToolUseFailure"), Event::Failed),
        ("goose", tool("event", "PreToolUseResult"), Event::Other),
        ("goose", json!({ "event": "Stop" }), Event::Other),
        ("generic", json!({ "event": "request", "tool": "Bash", "input": {} }), Event::Request),
        ("generic", json!({ "event": "other" }), Event::Other),
    ];
    for (agent, message, expected) in rows {
        assert_eq!(read(agent, &message).event, expected, "{agent} {message}");
    }
}

#[test]
fn what_nobody_can_read_is_foreign() {
    let rows = [
        ("claude-code", json!({ "tool_name": "Bash" })),
        ("claude-code", json!({ "hook_event_name": "PreToolUse" })),
        ("claude-code", json!({ "hook_event_name": "PreToolUse", "tool_name": 7 })),
        ("claude-code", json!({ "hook_event_name": "BeforeEverything", "tool_name": "Bash" })),
        ("claude-code", json!([])),
        ("codex", json!({})),
        ("codex", json!({ "hook_event_name": "PermissionRequest" })),
        ("gemini", json!({ "hook_event_name": "BeforeTool" })),
        ("gemini", json!({ "hook_event_name": "BeforeEverything", "tool_name": "glob" })),
        ("copilot", json!({ "sessionId": "s", "timestamp": 1, "cwd": "/p" })),
        ("copilot", json!({ "toolName": 7 })),
        ("cursor", json!({ "hook_event_name": "beforeShellExecution" })),
        ("cursor", json!({ "hook_event_name": "beforeReadFile", "content": "x" })),
        ("cursor", json!({ "hook_event_name": "beforeMCPExecution", "tool_name": "" })),
        ("opencode", json!({ "event": "later", "tool": "bash" })),
        ("opencode", json!({ "event": "before" })),
        ("cline", json!({ "hookName": "PreToolUse" })),
        ("cline", json!({ "preToolUse": { "tool": "read_file", "toolName": "list_files" } })),
        ("goose", json!({ "event": "PreToolUse" })),
        ("generic", json!({ "event": "sometime", "tool": "Bash" })),
        ("generic", json!("before")),
    ];
    for (agent, message) in rows {
        assert!(try_read(agent, &message).is_err(), "{agent} {message}");
    }
}

#[test]
fn a_message_that_may_be_a_call_is_one() {
    let call = json!({ "toolName": "execute_command", "parameters": { "command": "git push" } });
    let cline = |more: Value| {
        let mut message = json!({ "taskId": "t", "workspaceRoots": ["/p"], "preToolUse": call });
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        message
    };
    let copilot = |more: Value| {
        let mut message =
            json!({ "sessionId": "s", "cwd": "/p", "toolName": "bash", "toolArgs": "{\"command\":\"git push\"}" });
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        message
    };
    let snake = json!({ "sessionId": "s", "cwd": "/p", "tool_name": "bash", "tool_input": { "command": "git push" },
        "reason": "x", "prompt": "y" });
    let rows = [
        ("cline", cline(json!({ "postToolUse": null }))),
        ("cline", cline(json!({ "postToolUse": {} }))),
        ("cline", cline(json!({ "postToolUse": { "toolName": "read_file", "success": true } }))),
        ("cline", cline(json!({ "taskStart": {}, "hookName": "PostToolUse" }))),
        ("copilot", copilot(json!({ "toolResult": null }))),
        ("copilot", copilot(json!({ "error": null }))),
        ("copilot", copilot(json!({ "error": "", "toolResult": "" }))),
        ("copilot", copilot(json!({ "error": false, "toolResult": false }))),
        ("copilot", copilot(json!({ "reason": "x", "prompt": "y" }))),
        ("copilot", copilot(json!({ "tool_name": null, "hookName": "" }))),
        ("copilot", snake),
    ];
    for (agent, message) in rows {
        let read = read(agent, &message);
        assert_eq!(read.event, Event::Before, "{agent} {message}");
        assert_eq!(lines(&read), [r#"Bash {"command":"git push"}"#], "{agent} {message}");
    }
}

/// Whatever empty member comes beside a call, the message stays that call or is refused.
#[test]
fn no_empty_member_makes_a_call_anything_else() {
    let members = [
        "postToolUse",
        "preToolUse",
        "taskStart",
        "taskCancel",
        "toolResult",
        "tool_result",
        "tool_response",
        "error",
        "response",
        "source",
        "reason",
        "prompt",
        "stopReason",
        "trigger",
        "hook_event_name",
        "hookEventName",
        "hookName",
        "event",
        "tool_name",
        "toolName",
        "tool_input",
        "toolArgs",
        "toolInput",
        "mcp_context",
        "agent_id",
    ];
    for dialect in mayi_agents::dialect::ALL {
        let plain = before(dialect.name, "shell", json!({ "command": "git push" }));
        let calls = lines(&read(dialect.name, &plain));
        for member in members.iter().filter(|member| plain.get(**member).is_none()) {
            for value in [json!(null), json!({}), json!([]), json!(""), json!(false), json!(0)] {
                let mut message = plain.clone();
                message[*member] = value.clone();
                let Ok(read) = try_read(dialect.name, &message) else { continue };
                assert_eq!(read.event, Event::Before, "{} {member} {value}", dialect.name);
                let is_asked = read.calls.len() == 1 && (lines(&read) == calls || *member == "mcp_context");
                assert!(is_asked, "{} {member} {value}: {:?}", dialect.name, lines(&read));
            }
        }
    }
}

#[test]
fn a_message_that_contradicts_itself_is_foreign() {
    let tool = |more: Value| {
        let mut message = json!({ "tool_name": "bash", "tool_input": { "command": "git push" } });
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        message
    };
    let two_events = json!({ "hook_event_name": "PostToolUse", "hookEventName": "PreToolUse" });
    let rows = [
        ("copilot", tool(two_events.clone())),
        ("claude-code", tool(two_events.clone())),
        ("codex", tool(two_events)),
        ("gemini", tool(json!({ "hook_event_name": "AfterTool", "hookName": "BeforeTool" }))),
        ("cursor", tool(json!({ "hook_event_name": "postToolUse", "hookName": "preToolUse" }))),
        ("copilot", tool(json!({ "toolName": "view" }))),
        ("copilot", tool(json!({ "toolArgs": "{}" }))),
        ("copilot", json!({ "toolArgs": "{}", "reason": "x" })),
        ("claude-code", json!({ "hook_event_name": "BeforeEverything", "tool_input": {} })),
        ("claude-code", json!({ "hook_event_name": "BeforeEverything", "toolName": "Bash" })),
        ("cursor", json!({ "hook_event_name": "beforeTerminal", "command": "git push" })),
        ("cline", json!({ "hookName": "PreToolUse", "postToolUse": { "toolName": "read_file" } })),
        ("cline", json!({ "hookName": "PreToolUse", "taskStart": {} })),
        ("cline", json!({ "preToolUse": null, "postToolUse": null })),
        ("cline", json!({ "postToolUse": null, "taskStart": null })),
    ];
    for (agent, message) in rows {
        assert!(try_read(agent, &message).is_err(), "{agent} {message}");
    }
    let same = json!({ "hook_event_name": "PreToolUse", "hookEventName": "preToolUse", "toolName": "bash" });
    assert_eq!(read("copilot", &tool(same)).event, Event::Before, "two spellings of one event");
}

#[test]
fn a_message_without_a_session_is_still_judged() {
    let message =
        read("claude-code", &json!({ "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {} }));
    assert_eq!((message.session.as_str(), message.calls.len()), ("", 1));
}

#[test]
fn modes_are_taken_only_from_the_agent_itself() {
    let rows = [
        ("claude-code", json!("plan"), Some(Mode::Plan)),
        ("claude-code", json!("bypassPermissions"), Some(Mode::BypassPermissions)),
        ("claude-code", json!("yolo"), Some(Mode::Default)),
        ("claude-code", json!(["auto"]), Some(Mode::Default)),
        ("claude-code", json!(null), None),
        ("codex", json!("default"), None),
        ("codex", json!("yolo"), None),
        ("codex", json!("bypassPermissions"), None),
        ("codex", json!("plan"), Some(Mode::Plan)),
        ("codex", json!("acceptEdits"), Some(Mode::AcceptEdits)),
    ];
    for (agent, word, expected) in rows {
        let mut message = before(agent, "Bash", json!({}));
        message["permission_mode"] = word.clone();
        assert_eq!(read(agent, &message).mode, expected, "{agent} {word}");
    }
    assert_eq!(read("gemini", &before("gemini", "glob", json!({}))).mode, None);
    let generic = json!({ "event": "before", "tool": "Bash", "input": {}, "mode": "acceptEdits" });
    assert_eq!(read("generic", &generic).mode, Some(Mode::AcceptEdits));
}

#[test]
fn the_generic_message_says_who_is_there() {
    let rows = [
        (json!(true), Some(Attendance::Unattended)),
        (json!(false), Some(Attendance::Attended)),
        (json!("no"), Some(Attendance::Unattended)),
        (json!(null), None),
    ];
    for (word, expected) in rows {
        let message = json!({ "event": "before", "tool": "Bash", "input": {}, "unattended": word,
            "agent": { "id": "a1", "type": "reviewer" }, "call_id": "c1" });
        let message = read("generic", &message);
        assert_eq!(message.attendance, expected);
        assert_eq!(message.call_id.as_deref(), Some("c1"));
        let child = message.child.unwrap();
        assert_eq!((child.id.as_str(), child.kind.as_deref()), ("a1", Some("reviewer")));
    }
}

#[test]
fn the_environment_does_not_decide_that_nobody_is_there() {
    let message = before("claude-code", "Bash", json!({ "command": "ls" }));
    let surroundings = mayi_agents::adapter::Surroundings {
        variable: &|name| (name == "CLAUDE_CODE_SESSION_ATTENDED").then(|| "0".to_owned()),
        directory: "/p".into(),
    };
    let read = (support::speaker("claude-code").read)(&message, &surroundings).unwrap();
    assert_eq!(read.attendance, None);
}
