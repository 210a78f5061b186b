//! `mayi run` with the real sandbox: what it decides, what it confines, what it tells and how it ends.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod support;

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::thread;

use serde_json::{Value, json};
use support::{Said, World};

/// Settings of the person, in mayi's own file.
fn world(settings: &Value) -> World {
    let world = World::outside_tmp();
    world.write_home(".config/mayi/settings.json", settings.to_string());
    world
}

fn allowing(rules: &[&str]) -> World {
    world(&json!({ "permissions": { "allow": rules } }))
}

/// Runs a command to its end, with what it says as it is: paths in it are used.
fn said(mut command: Command, input: &str) -> Said {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // Whoever needs no input has closed its end.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    Said {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Runs `mayi run`, without a terminal.
fn run(world: &World, arguments: &[&str]) -> Said {
    let mayi = world.command("mayi").get_program().to_owned();
    let mut command = world.command("setsid");
    command.arg("-w").arg(mayi).arg("run").args(arguments);
    said(command, "")
}

fn audit(world: &World, kind: &str) -> Vec<Value> {
    let text = fs::read_to_string(world.home().join(".local/state/mayi/audit.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["kind"] == kind).collect()
}

#[test]
fn what_is_allowed_runs_and_ends_with_its_own_code() {
    let world = allowing(&["Bash"]);
    world.write("tool", "no program");
    for (arguments, code, out) in [
        (&["--", "echo", "a b", "$HOME"][..], 0, "a b $HOME\n"),
        (&["echo one | cat; echo two"], 0, "one\ntwo\n"),
        (&["--", "sh", "-c", "exit 7"], 7, ""),
        (&["sh -c 'kill -TERM $$'"], 143, ""),
        (&["--", "nosuch", "x"], 127, ""),
        (&["--", "./tool"], 126, ""),
    ] {
        let said = run(&world, arguments);
        assert_eq!((said.code, said.out.as_str()), (code, out), "{arguments:?}: {}", said.err);
    }
    let runs = audit(&world, "run");
    assert_eq!(runs.len(), 6);
    assert_eq!(runs[2]["ending"], json!({ "code": 7 }));
    assert_eq!(runs[3]["command"], "sh -c 'kill -TERM $$'");
    assert_eq!(runs[0]["mechanism"], "native");
    assert_eq!(audit(&world, "decision").len(), 6);
}

/// Some parents ignore the ends of their children, and what they start inherits that.
#[test]
fn a_run_ends_where_the_ends_of_children_are_ignored() {
    let world = allowing(&["Bash"]);
    let mayi = world.command("mayi").get_program().to_owned();
    let mut command = world.command("timeout");
    command.args(["-s", "KILL", "20", "setsid", "-w", "env", "--ignore-signal=CHLD"]);
    command.arg(mayi).args(["run", "--", "sh", "-c", "exit 7"]);
    let said = said(command, "");
    assert_eq!(said.code, 7, "{}", said.err);
}

#[test]
fn what_is_denied_or_asked_does_not_run() {
    let world = world(&json!({ "permissions": { "deny": ["Bash(touch:*)"] } }));
    let denied = run(&world, &["--", "touch", "made"]);
    assert_eq!(denied.code, 11);
    assert!(denied.err.contains("Bash(touch:*)") && denied.out.is_empty(), "{}{}", denied.err, denied.out);
    let asked = run(&world, &["--", "mkdir", "made"]);
    assert_eq!(asked.code, 10, "{}", asked.err);
    assert!(asked.err.contains("mkdir made"), "{}", asked.err);
    let nobody = run(&world, &["--unattended", "--", "mkdir", "made"]);
    assert_eq!(nobody.code, 11, "{}", nobody.err);
    let json = run(&world, &["--json", "--", "mkdir", "made"]);
    assert_eq!((json.code, json.json()["verdict"].as_str()), (10, Some("ask")));
    assert!(!world.path("made").exists());
    assert!(audit(&world, "run").is_empty());
    assert_eq!(audit(&world, "decision").len(), 4);
}

#[test]
fn a_command_writes_in_its_project_and_nowhere_else() {
    let world = allowing(&["Bash"]);
    let outside = world.home().join("outside");
    world.write_home(".ssh/id_ed25519", "SECRET");
    world.write_home("readable", "plain");
    let script = format!(
        "echo x > inside; echo x > {0}; cat {1}/.ssh/id_ed25519; cat {1}/readable; echo x > .git/hooks/post-commit; \
         mkdir -p .claude; echo x > .claude/settings.json; echo x > $TMPDIR/t && cat $TMPDIR/t",
        outside.display(),
        world.home().display()
    );
    fs::create_dir_all(world.path(".git/hooks")).unwrap();
    // In words that the analysis does not follow, so that the kernel alone stands against it.
    world.write("x.py", format!("import os; os.system({script:?})"));
    let said = run(&world, &["--", "python3", "x.py"]);
    assert_eq!(said.out, "plainx\n", "{}", said.err);
    assert_eq!(world.read("inside"), b"x\n");
    assert!(!outside.exists() && !world.path(".git/hooks/post-commit").exists());
    assert!(!world.path(".claude/settings.json").exists(), "a settings file that was not there cannot be made");
}

#[test]
fn files_that_make_a_bare_repository_are_removed_and_reported() {
    let world = allowing(&["Bash(touch:*)"]);
    let report = world.path("report.json");
    let said = run(&world, &["--report", report.to_str().unwrap(), "--", "touch", "HEAD", "kept"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.err.contains("removed") && said.err.contains("HEAD"), "{}", said.err);
    assert!(!world.path("HEAD").exists() && world.path("kept").exists());
    let report: Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();
    assert_eq!(report["scrubbed"], json!([world.path("HEAD")]));
    assert_eq!(report["enforcement"], "full");
    let silent = world_silencing("HEAD");
    let said = run(&silent, &["--", "touch", "HEAD"]);
    assert_eq!((said.code, said.err.as_str()), (0, ""));
}

fn world_silencing(what: &str) -> World {
    world(&json!({
        "permissions": { "allow": ["Bash(touch:*)"] },
        "sandbox": { "ignoreViolations": { "touch": [what] } },
    }))
}

/// Answers one request after another, until the test is over.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 1024];
            let _ = stream.read(&mut request);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
        }
    });
    port
}

#[test]
fn only_listed_hosts_are_reached_and_only_through_the_proxy() {
    let port = server();
    let fetch = format!("curl -sS --noproxy '' http://127.0.0.1:{port}/");
    let direct = format!("curl -sS --noproxy '*' http://127.0.0.1:{port}/");
    let settings = |domains: &[&str]| {
        world(&json!({
            "permissions": { "allow": ["Bash(curl:*)"] },
            "sandbox": { "network": { "allowedDomains": domains } },
        }))
    };
    let listed = settings(&["127.0.0.1"]);
    let said = run(&listed, &[&fetch]);
    assert_eq!((said.code, said.out.as_str()), (0, "hello"), "{}", said.err);
    assert_ne!(run(&listed, &[&direct]).code, 0, "past the proxy there is no network");
    let unlisted = settings(&[]);
    let said = run(&unlisted, &[&fetch]);
    assert!(!said.out.contains("hello"), "{}", said.out);
    assert!(said.err.contains(&format!("connect 127.0.0.1:{port}")), "{}", said.err);
    assert!(said.err.contains("sandbox.network.allowedDomains"), "{}", said.err);
    assert_eq!(audit(&unlisted, "run")[0]["violations"][0]["kind"], "connect");
}

#[test]
fn a_proxy_of_the_users_own_is_reached_and_nothing_else_is() {
    let (own, other) = (server(), server());
    let world = world(&json!({
        "permissions": { "allow": ["Bash(curl:*)"] },
        "sandbox": { "network": { "httpProxyPort": own } },
    }));
    let said = run(&world, &["curl -sS http://example.org/"]);
    assert_eq!((said.code, said.out.as_str()), (0, "hello"), "{}", said.err);
    assert_ne!(run(&world, &[&format!("curl -sS --noproxy '*' http://127.0.0.1:{other}/")]).code, 0);
}

#[test]
fn a_plan_is_shown_and_nothing_runs() {
    let world = world(&json!({ "sandbox": { "filesystem": { "allowWrite": ["/srv/x"] } } }));
    let said = run(&world, &["--plan", "--", "mkdir", "made"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains("/srv/x") && said.out.contains("settings.json:1"), "{}", said.out);
    let json = run(&world, &["--plan", "--json", "--", "mkdir", "made"]).json();
    assert!(json["files"]["confined"]["places"].is_array(), "{json}");
    assert!(!world.path("made").exists());
}

#[test]
fn excluded_commands_run_outside_by_the_ordinary_rules_and_say_so() {
    let settings = |allow: &[&str]| {
        world(&json!({
            "permissions": { "allow": allow },
            "sandbox": { "enabled": true, "excludedCommands": ["tee *"] },
        }))
    };
    let free = settings(&["Bash(tee:*)", "Edit(~/**)"]);
    let outside = free.home().join("outside");
    let said = run(&free, &["--", "tee", outside.to_str().unwrap()]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.err.contains("unconfined") && outside.exists(), "{}", said.err);
    let line = &audit(&free, "run")[0];
    assert_eq!((&line["mechanism"], &line["unconfined"]), (&Value::Null, &json!("excludedCommands")));
    let bound = settings(&[]);
    let inside = bound.path("inside");
    let said = run(&bound, &["--", "tee", inside.to_str().unwrap()]);
    assert_eq!(said.code, 10, "the sandbox answers no question for what runs outside: {}", said.err);
    assert!(!inside.exists());
}

#[test]
fn a_confined_command_needs_no_question_where_settings_say_so() {
    let world = world(&json!({ "sandbox": { "enabled": true } }));
    let said = run(&world, &["--", "mkdir", "made"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(world.path("made").is_dir());
    assert_eq!(audit(&world, "decision")[0]["reason"]["kind"], "confined");
    assert_eq!(world.mayi(&["check", "mkdir made"]).code, 0, "check says what run does");
    assert_eq!(run(&world, &["--mode", "plan", "--", "mkdir", "made"]).code, 10);
}

/// One message of Claude Code, and its answer.
fn hook(world: &World, event: &str, command: &str) -> Value {
    let message = json!({
        "session_id": "5e55", "cwd": world.path(""), "permission_mode": "default", "hook_event_name": event,
        "tool_name": "Bash", "tool_input": { "command": command, "description": "d" }, "tool_use_id": "t1",
    });
    let mut command = world.command("mayi");
    command.args(["hook", "claude-code"]);
    let said = said(command, &message.to_string());
    let mut value = if said.out.is_empty() { Value::Null } else { said.json() };
    value["hookSpecificOutput"].take()
}

/// Runs a text as an agent's shell would.
fn shell(world: &World, text: &str) -> Said {
    let mut command = world.command("bash");
    command.arg("-c").arg(text);
    said(command, "")
}

fn replacement(answer: &Value) -> String {
    answer["updatedInput"]["command"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_hook_puts_a_confined_run_in_the_commands_place() {
    let world = world(&json!({ "sandbox": { "enabled": true } }));
    let outside = world.home().join("outside");
    let original = format!("echo it\\'s > made; echo x > {}", outside.display());
    let answer = hook(&world, "PreToolUse", &original);
    assert_eq!(answer["permissionDecision"], "allow", "{answer}");
    assert_eq!(answer["updatedInput"]["description"], "d", "the rest of the input stays");
    let text = replacement(&answer);
    // The agent shows the text again when it is about to ask; it is known, and runs as it is.
    let request = hook(&world, "PermissionRequest", &text);
    assert_eq!(request["decision"], json!({ "behavior": "allow" }), "{request}");
    let said = shell(&world, &text);
    assert_ne!(said.code, 0);
    assert_eq!(world.read("made"), b"it's\n");
    assert!(!outside.exists(), "{}", said.err);
    let again = shell(&world, &text);
    assert_eq!(again.code, 1, "a permit counts once");
    assert!(again.err.contains("no permit that still counts"), "{}", again.err);
    let line = &audit(&world, "run")[0];
    assert_eq!(
        (&line["agent"], &line["session"], &line["call_id"]),
        (&json!("claude-code"), &json!("5e55"), &json!("t1"))
    );
    assert_eq!(line["command"], original.as_str());
}

#[test]
fn a_command_of_cursor_is_confined_wherever_its_message_says_it_runs() {
    let world = world(&json!({ "sandbox": { "enabled": true } }));
    std::fs::create_dir(world.path("sub")).unwrap();
    for directory in ["", "sub"] {
        let message = json!({
            "conversation_id": "c", "hook_event_name": "preToolUse", "workspace_roots": [world.path("")],
            "cwd": world.path(directory), "tool_name": "Shell", "tool_input": { "command": "mkdir made" },
        });
        let mut command = world.command("mayi");
        command.args(["hook", "cursor"]);
        let answer = said(command, &message.to_string()).json();
        assert_eq!(answer["permission"], "allow", "{answer}");
        let text = answer["updated_input"]["command"].as_str().unwrap().to_owned();
        let mut agent = world.command("bash");
        agent.arg("-c").arg(&text).current_dir(world.path(directory));
        let said = said(agent, "");
        assert_eq!(said.code, 0, "{}", said.err);
        assert!(world.path(directory).join("made").is_dir(), "{directory}");
    }
}

#[test]
fn a_question_is_put_by_the_agent_and_its_yes_counts_for_the_confined_run() {
    let settings = json!({ "permissions": { "ask": ["Bash(mkdir:*)"] }, "sandbox": { "enabled": true } });
    let world = world(&settings);
    let answer = hook(&world, "PreToolUse", "mkdir made");
    assert_eq!(answer["permissionDecision"], "ask");
    let text = replacement(&answer);
    assert_eq!(hook(&world, "PermissionRequest", &text), Value::Null, "the person is asked about it");
    assert_eq!(shell(&world, &text).code, 0);
    assert!(world.path("made").is_dir());
    let answers = audit(&world, "answer");
    assert_eq!((&answers[0]["verdict"], &answers[0]["by"]), (&json!("allow"), &json!("agent")));
}

#[test]
fn a_permit_is_for_its_own_text_and_its_own_program_alone() {
    let world = world(&json!({ "permissions": { "deny": ["Bash(rm:*)"] }, "sandbox": { "enabled": true } }));
    world.write("precious", "x");
    let text = replacement(&hook(&world, "PreToolUse", "mkdir made"));
    let other = text.replace("'mkdir made'", "'rm precious'");
    assert_ne!(other, text);
    assert_eq!(shell(&world, &other).code, 1);
    assert_eq!(hook(&world, "PreToolUse", &other)["permissionDecision"], "deny", "it is judged by what is inside");
    assert_eq!(hook(&world, "PermissionRequest", &other)["decision"]["behavior"], "deny");
    assert!(world.path("precious").exists());
    assert_eq!(shell(&world, &text).code, 0, "the true permit was not used up by that");
}

#[test]
fn what_stays_outside_is_left_as_it_is() {
    let settings = json!({
        "permissions": { "allow": ["Bash(ls:*)", "Bash(mkdir:*)"] },
        "sandbox": { "enabled": true, "excludedCommands": ["mkdir *"] },
    });
    let world = world(&settings);
    let excluded = hook(&world, "PreToolUse", "mkdir made");
    assert_eq!((excluded["permissionDecision"].as_str(), &excluded["updatedInput"]), (Some("allow"), &Value::Null));
    assert!(!replacement(&hook(&world, "PreToolUse", "ls")).is_empty(), "also what only reads runs confined");
    let message = |input: Value| {
        json!({ "hook_event_name": "PreToolUse", "session_id": "s", "cwd": world.path(""), "tool_name": "Bash",
                "tool_input": input, "permission_mode": "default" })
    };
    let waived = message(json!({ "command": "rmdir x", "dangerouslyDisableSandbox": true }));
    let said = world.fed(&["hook", "claude-code"], waived.to_string()).json();
    let said = &said["hookSpecificOutput"];
    assert_eq!((said["permissionDecision"].as_str(), &said["updatedInput"]), (Some("ask"), &Value::Null));
}

#[test]
fn claude_codes_own_sandbox_is_left_to_it() {
    let world = World::new();
    world.write_home(".claude/settings.json", r#"{"sandbox": {"enabled": true}}"#);
    let answer = hook(&world, "PreToolUse", "mkdir made");
    assert_eq!(answer["permissionDecision"], "ask", "it may go on without its sandbox");
    assert_eq!(answer["updatedInput"], Value::Null);
    world.write_home(".claude/settings.json", r#"{"sandbox": {"enabled": true, "failIfUnavailable": true}}"#);
    let answer = hook(&world, "PreToolUse", "mkdir made");
    assert_eq!((answer["permissionDecision"].as_str(), &answer["updatedInput"]), (Some("allow"), &Value::Null));
}

/// The answer of another agent's hook to a message.
fn hook_of(world: &World, agent: &str, message: &Value) -> Value {
    let mut command = world.command("mayi");
    command.args(["hook", agent]);
    let said = said(command, &message.to_string());
    if said.out.is_empty() { Value::Null } else { said.json() }
}

#[test]
fn every_agent_gets_the_replacement_where_its_command_was_and_in_its_own_directory() {
    let world = world(&json!({ "sandbox": { "enabled": true } }));
    fs::create_dir(world.path("sub")).unwrap();
    let (cwd, sub) = (world.path(""), world.path("sub"));
    let codex = |input: Value| {
        let message = json!({ "hook_event_name": "PreToolUse", "session_id": "s", "cwd": cwd, "tool_name": "Bash",
                              "tool_input": input, "permission_mode": "default" });
        hook_of(&world, "codex", &message)["hookSpecificOutput"]["updatedInput"].clone()
    };
    let plain = codex(json!({ "command": "mkdir a" }));
    let listed = codex(json!({ "command": ["bash", "-lc", "mkdir b"] }));
    let moved = codex(json!({ "command": "mkdir c", "workdir": sub }));
    let gemini = hook_of(
        &world,
        "gemini",
        &json!({ "hook_event_name": "BeforeTool", "session_id": "s", "cwd": cwd, "tool_name": "run_shell_command",
                 "tool_input": { "command": "mkdir d", "dir_path": sub } }),
    );
    let gemini = gemini["hookSpecificOutput"]["tool_input"].clone();
    let cursor = |event: &str, command: &str| {
        let message = json!({ "hook_event_name": event, "conversation_id": "s", "workspace_roots": [cwd],
                              "tool_name": "Shell", "tool_input": { "command": command }, "command": command });
        hook_of(&world, "cursor", &message)
    };
    let asked = cursor("preToolUse", "mkdir e");
    let e = asked["updated_input"]["command"].as_str().unwrap().to_owned();
    assert_eq!(cursor("beforeShellExecution", &e)["permission"], "allow", "the text is known again");
    assert_eq!(listed["command"][1], "-lc");
    assert_eq!((&moved["workdir"], &gemini["dir_path"]), (&json!(sub), &json!(sub)));
    for (text, directory, made) in [
        (plain["command"].as_str(), &cwd, "a"),
        (listed["command"][2].as_str(), &cwd, "b"),
        (moved["command"].as_str(), &sub, "c"),
        (gemini["command"].as_str(), &sub, "d"),
        (Some(e.as_str()), &cwd, "e"),
    ] {
        let text = text.unwrap_or_else(|| panic!("{made}: {plain} {listed} {moved} {gemini}"));
        assert!(!text.starts_with("cd "), "{text}");
        let mut command = world.command("bash");
        command.arg("-c").arg(text).current_dir(directory);
        let said = said(command, "");
        assert_eq!(said.code, 0, "{text}: {}", said.err);
        assert!(directory.join(made).is_dir(), "{text}");
    }
}

#[test]
fn an_agent_that_cannot_be_given_a_changed_call_is_not_confined_and_not_spared_a_question() {
    let message = |world: &World| {
        json!({ "event": "PreToolUse", "session_id": "s", "working_dir": world.path(""),
                "tool_name": "developer__shell", "tool_input": { "command": "mkdir made" } })
    };
    let world = world(&json!({ "permissions": { "allow": ["Bash(mkdir:*)"] }, "sandbox": { "enabled": true } }));
    let said = world.fed(&["hook", "goose"], message(&world).to_string()).json();
    assert_eq!(said["decision"], "allow", "{said}");
    world.write_home(
        ".config/mayi/settings.json",
        r#"{"permissions": {"allow": ["Bash(mkdir:*)"]}, "sandbox": {"enabled": true, "failIfUnavailable": true}}"#,
    );
    let said = world.fed(&["hook", "goose"], message(&world).to_string()).json();
    assert_eq!(said["decision"], "block", "{said}");
    assert!(said["reason"].as_str().unwrap().contains("cannot be given a changed call"), "{said}");
}

/// Runs a line where no namespace can be made: the limit holds for this run alone.
fn without_namespaces(world: &World, line: &str) -> Said {
    let mut command = world.command("unshare");
    command.args(["-r", "sh", "-c", &format!("echo 0 > /proc/sys/user/max_user_namespaces; exec {line}")]);
    said(command, "")
}

#[test]
fn a_host_that_cannot_confine_runs_nothing_by_itself() {
    for sandbox in [json!({}), json!({ "failIfUnavailable": true }), json!({ "allowUnsandboxedCommands": false })] {
        let world = world(&json!({ "permissions": { "allow": ["Bash(mkdir:*)"] }, "sandbox": sandbox }));
        let said = without_namespaces(&world, "setsid -w mayi run --mechanism native -- mkdir made");
        assert_eq!(said.code, 1, "{}{}", said.out, said.err);
        assert!(said.err.contains("cannot run confined") && said.err.contains("help: "), "{}", said.err);
        assert!(!world.path("made").exists());
    }
}

/// Runs a line at a terminal, where somebody types.
fn at_terminal(world: &World, line: &str, typed: &str) -> Said {
    let mut command = world.command("script");
    command.args(["-qec", line, "/dev/null"]);
    said(command, typed)
}

/// The same, where the typing begins when a question is there.
fn answering(world: &World, line: &str, typed: &str) -> Said {
    let mut command = world.command("script");
    command.args(["-qec", line, "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (mut keys, mut screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (mut shown, mut block) = (String::new(), [0; 1024]);
    let mut typed = Some(typed);
    while let Ok(length @ 1..) = screen.read(&mut block) {
        shown.push_str(&String::from_utf8_lossy(&block[..length]));
        if let Some(typed) = typed.take_if(|_| shown.contains("[y/N]")) {
            keys.write_all(typed.as_bytes()).unwrap();
        }
    }
    let code = child.wait().unwrap().code().unwrap_or(-1);
    Said { code, out: shown, err: String::new() }
}

#[test]
fn a_person_is_asked_about_hosts_while_the_command_waits() {
    let world = allowing(&["Bash(curl:*)"]);
    let line = "mayi run -- curl -sS --max-time 30 http://host.invalid/";
    let no = answering(&world, line, "n\n");
    assert!(no.out.contains("wants to reach host.invalid:80"), "{}", no.out);
    assert!(no.out.contains("connect host.invalid:80") && no.out.contains("the answer was no"), "{}", no.out);
    let yes = answering(&world, line, "y\n");
    assert!(!yes.out.contains("the answer was no"), "there is no such host, but it was looked for: {}", yes.out);
    let unattended = at_terminal(&world, "mayi run --unattended -- curl -sS http://host.invalid/", "");
    assert!(!unattended.out.contains("[y/N]") && unattended.out.contains("not listed"), "{}", unattended.out);
}

#[test]
fn a_person_at_the_terminal_is_asked() {
    let world = world(&json!({}));
    let no = at_terminal(&world, "mayi run -- mkdir made", "n\n");
    assert_eq!(no.code, 11, "{}", no.out);
    assert!(no.out.contains("mkdir made") && no.out.contains("[y/N]"), "{}", no.out);
    assert!(!world.path("made").exists());
    let yes = at_terminal(&world, "mayi run -- mkdir made", "y\n");
    assert_eq!(yes.code, 0, "{}", yes.out);
    assert!(world.path("made").is_dir());
    let answers: Vec<Value> = audit(&world, "answer").iter().map(|line| line["verdict"].clone()).collect();
    assert_eq!(answers, ["deny", "allow"]);
    assert_eq!(at_terminal(&world, "mayi run --unattended -- mkdir other", "y\n").code, 11);
}

#[test]
fn only_a_person_makes_it_run_unconfined_and_not_where_settings_forbid_it() {
    let line = "mayi run --mechanism native -- mkdir made";
    let shell = format!("unshare -r sh -c 'echo 0 > /proc/sys/user/max_user_namespaces; exec {line}'");
    let free = allowing(&["Bash(mkdir:*)"]);
    assert_eq!(at_terminal(&free, &shell, "n\n").code, 1);
    assert!(!free.path("made").exists());
    let said = at_terminal(&free, &shell, "y\n");
    assert_eq!(said.code, 0, "{}", said.out);
    assert!(said.out.contains("unconfined?") && free.path("made").is_dir(), "{}", said.out);
    assert_eq!(audit(&free, "run")[0]["unconfined"], "a person said so");
    let strict = world(&json!({
        "permissions": { "allow": ["Bash(mkdir:*)"] },
        "sandbox": { "failIfUnavailable": true },
    }));
    assert_eq!(at_terminal(&strict, &shell, "y\n").code, 1);
    assert!(!strict.path("made").exists());
}

#[test]
fn a_preview_shows_what_would_change_and_apply_does_just_that() {
    let world = allowing(&["Bash"]);
    world.write("kept", "old\n");
    let said = run(&world, &["--preview", "--json", "echo new > kept; echo x > added; exit 3"]);
    assert_eq!(said.code, 3, "{}{}", said.out, said.err);
    let id = said.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(world.read("kept"), b"old\n");
    assert!(!world.path("added").exists());
    let applied = run(&world, &["--apply", &id]);
    assert_eq!(applied.code, 0, "{}", applied.err);
    assert_eq!((world.read("kept"), world.read("added")), (b"new\n".to_vec(), b"x\n".to_vec()));
    assert_eq!(run(&world, &["--apply", &id]).code, 1, "it is gone");
    let shown = run(&world, &["--preview", "rm kept"]);
    assert!(shown.out.contains("--apply") && shown.out.contains("kept"), "{}", shown.out);
    assert!(world.path("kept").exists());
}
