//! The real binary with a server behind it: hooks that people elsewhere answer, a policy that comes from there, records
//! that go there, and an agent that never waits for any of it longer than it should.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

#[path = "../../engine/tests/counterpart/mod.rs"]
mod counterpart;
mod support;

use std::fs;
use std::io::Write;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use counterpart::{Counterpart, Fault, TOKEN, says};
use mayi_core::verdict::Verdict;
use mayi_engine::remote::wire::{Answer, Question, Remember, State};
use serde_json::{Value, json};
use support::World;

const SETTINGS: &str = ".config/mayi/settings.json";

fn world(server: &Counterpart, beside: Value) -> World {
    let world = World::new();
    let mut settings = json!({"server": {"url": server.url()}});
    settings["server"].as_object_mut().unwrap().extend(beside.as_object().unwrap().clone());
    world.write_home(SETTINGS, settings.to_string());
    world
}

fn message(world: &World, command: &str) -> String {
    json!({
        "session_id": "5e55-10", "transcript_path": "/nonexistent", "cwd": world.path(""),
        "permission_mode": "default", "hook_event_name": "PreToolUse",
        "tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "call-1",
    })
    .to_string()
}

/// What a hook says and why, and what it says beside.
struct Said {
    decision: String,
    reason: String,
    errors: String,
    took: Duration,
}

fn hook(world: &World, options: &[&str], command: &str) -> Said {
    let begun = Instant::now();
    let mut hook = world.command("mayi");
    hook.args(["hook", "claude-code"]).args(options).env("MAYI_SERVER_TOKEN", TOKEN);
    hook.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = hook.spawn().unwrap();
    child.stdin.take().unwrap().write_all(message(world, command).as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let took = begun.elapsed();
    let value: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let word = |name: &str| value["hookSpecificOutput"][name].as_str().unwrap_or_default().to_owned();
    let errors = String::from_utf8(output.stderr).unwrap();
    Said { decision: word("permissionDecision"), reason: word("permissionDecisionReason"), errors, took }
}

fn mayi(world: &World, arguments: &[&str]) -> Output {
    let mut command = world.command("mayi");
    command.args(arguments).env("MAYI_SERVER_TOKEN", TOKEN).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn people_elsewhere_answer_a_hook_that_nobody_watches() {
    let server = Counterpart::start();
    let world = world(&server, json!({}));
    server.answer(|_| Some(says(Verdict::Allow)));
    let said = hook(&world, &["--unattended"], "make install");
    assert_eq!(said.decision, "allow", "{}", said.reason);
    server.answer(|_| Some(Answer { comment: Some("not on a Friday".to_owned()), ..says(Verdict::Deny) }));
    let said = hook(&world, &["--unattended"], "make install");
    assert_eq!(said.decision, "deny");
    assert!(said.reason.contains("not on a Friday"), "{}", said.reason);
    let question = &server.approvals()[0].question;
    assert_eq!((question.agent.as_str(), question.call_id.as_deref()), ("claude-code", Some("call-1")));
    assert!(server.seen().iter().all(|seen| seen.path == "/v1/policy/key" || seen.token.is_some()));
    // Somebody at the prompt is asked there.
    assert_eq!(hook(&world, &[], "make install").decision, "ask");
    assert_eq!(server.approvals().len(), 2);
}

#[test]
fn a_yes_for_good_is_written_down_and_not_asked_for_again() {
    let server = Counterpart::start();
    let world = world(&server, json!({}));
    server.answer(|question| {
        let rule = Some(question.offers[0].rule.clone());
        let layer = Some(mayi_core::policy::Layer::Local);
        Some(Answer { remember: Remember::Always, rule, layer, ..says(Verdict::Allow) })
    });
    for _ in 0..2 {
        assert_eq!(hook(&world, &["--unattended"], "make install").decision, "allow");
    }
    assert_eq!(server.approvals().len(), 1);
    assert!(text(&world.read(".mayi/settings.local.json")).contains("Bash(make install)"));
}

#[test]
fn people_are_offered_the_rules_that_help_beyond_one_call() {
    let server = Counterpart::start();
    let world = world(&server, json!({}));
    server.answer(|_| Some(says(Verdict::Deny)));
    let table = [
        ("git checkout -b feature", &["Bash(git checkout -b:*)", "Bash(git checkout -b feature)"][..]),
        ("make install", &["Bash(make install)"]),
        // What a person should look at each time is offered for no other.
        ("git push --force origin main", &[]),
    ];
    for (command, expected) in table {
        hook(&world, &["--unattended"], command);
        let is_about = |question: &Question| question.input["command"] == command;
        let mut questions = server.approvals().into_iter().map(|approval| approval.question);
        let question = questions.find(is_about).unwrap();
        let rules: Vec<&str> = question.offers.iter().map(|offer| offer.rule.as_str()).collect();
        assert_eq!(rules, expected, "{command}");
    }
}

#[test]
fn a_hook_keeps_its_deadline_whoever_thinks_or_hangs() {
    let server = Counterpart::start();
    let world = world(&server, json!({"approvals": "always"}));
    assert_eq!(hook(&world, &[], "ls").decision, "allow");
    for (options, decision) in [(&["--unattended", "--deadline", "3"][..], "deny"), (&["--deadline", "3"], "ask")] {
        let said = hook(&world, options, "make install");
        assert_eq!(said.decision, decision, "{}", said.reason);
        assert!(said.took < Duration::from_secs(12), "{:?}", said.took);
    }
    assert!(server.approvals().iter().all(|approval| approval.state == State::Withdrawn), "{:?}", server.approvals());
    server.fault("/v1/approvals", Fault::Hang);
    let said = hook(&world, &["--unattended", "--deadline", "2"], "make install");
    assert_eq!(said.decision, "deny");
    assert!(said.took < Duration::from_secs(12), "{:?}", said.took);
}

#[test]
fn without_the_servers_policy_a_hook_lets_nothing_through_and_does_not_hang() {
    let server = Counterpart::start();
    let world = world(&server, json!({}));
    server.go_away();
    let said = hook(&world, &[], "ls");
    assert_eq!(said.decision, "ask");
    assert!(said.reason.contains("policy is not known here"), "{}", said.reason);
    assert_eq!(hook(&world, &["--unattended"], "ls").decision, "deny");
    server.govern(json!({"permissions": {"deny": ["Bash(ls:*)"]}}));
    server.come_back();
    assert_eq!(hook(&world, &[], "ls").decision, "deny");
}

#[test]
fn a_server_that_never_speaks_of_its_policy_is_not_waited_for() {
    for path in ["/v1/policy/key", "/v1/policy/bundle"] {
        let server = Counterpart::start();
        let world = world(&server, json!({}));
        server.fault(path, Fault::Hang);
        let said = hook(&world, &["--deadline", "1"], "ls");
        assert_eq!(said.decision, "ask", "{path}");
        assert!(said.took < Duration::from_secs(10), "{:?}", said.took);
    }
}

#[test]
fn records_go_to_the_server_without_the_agent_waiting() {
    let server = Counterpart::start();
    let world = world(&server, json!({}));
    server.fault("/v1/audit", Fault::Hang);
    let said = hook(&world, &[], "ls");
    assert_eq!(said.decision, "allow");
    server.wait_until("a process of its own carries records", |server| server.count("/v1/audit") > 0);
    // The one that hangs holds the turn; another one says so and carries nothing.
    let output = mayi(&world, &["ship", "--json"]);
    assert!(output.status.success(), "{output:?}");
    server.go_away();
    server.come_back();
    hook(&world, &[], "pwd");
    server.wait_until("every record is there once", |server| {
        let _ = mayi(&world, &["ship"]);
        server.records().len() == 2
    });
    let output = mayi(&world, &["ship"]);
    assert!(text(&output.stdout).contains("has every record"), "{output:?}");
    assert_eq!(server.records().len(), 2);
    assert!(server.records().iter().all(|record| record["kind"] == "decision" && record.get("link").is_none()));
}

#[test]
fn what_another_key_signed_is_told_by_hook_ship_and_doctor() {
    let server = Counterpart::start();
    server.govern(json!({"permissions": {"deny": ["Bash(ls:*)"]}}));
    let world = world(&server, json!({"bundleMaxAgeSeconds": 1}));
    assert_eq!(hook(&world, &[], "ls").decision, "deny");
    server.change_key();
    server.govern(json!({}));
    // Whoever has time asks anew once it has grown old.
    server.wait_until("the other signature is noticed", |_| {
        text(&mayi(&world, &["ship"]).stderr).contains("not signed by the key")
    });
    let said = hook(&world, &[], "ls");
    assert_eq!(said.decision, "deny", "the last good policy goes on serving");
    assert!(said.errors.contains("not signed by the key"), "{}", said.errors);
    let examined: Value = serde_json::from_slice(&mayi(&world, &["doctor", "--json"]).stdout).unwrap();
    assert!(examined.to_string().contains("not signed by the key"), "{examined}");
    assert_eq!(examined["well"], json!(false));
}

#[test]
fn the_command_line_decides_by_the_servers_policy_or_not_at_all() {
    let server = Counterpart::start();
    server.govern(json!({"permissions": {"deny": ["Bash(ls:*)"]}}));
    let world = world(&server, json!({}));
    assert_eq!(mayi(&world, &["check", "ls"]).status.code(), Some(11));
    assert_eq!(mayi(&world, &["run", "--unattended", "--", "ls"]).status.code(), Some(11));
    assert!(text(&mayi(&world, &["rules", "list"]).stdout).contains(&server.url()));
    server.answer(|_| Some(says(Verdict::Allow)));
    let output = mayi(&world, &["run", "--unattended", "--", "touch made"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(world.path("made").exists());
    server.go_away();
    assert_eq!(mayi(&world, &["check", "ls"]).status.code(), Some(11), "the kept policy serves");
    fs::remove_dir_all(world.home().join(".local/state/mayi/server")).unwrap();
    let output = mayi(&world, &["check", "pwd"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("policy is not known here"), "{output:?}");
    assert_eq!(mayi(&world, &["run", "--unattended", "--", "true"]).status.code(), Some(1));
}

#[test]
fn the_doctor_looks_at_the_server() {
    let server = Counterpart::start();
    let world = world(&server, json!({}));
    let section = |world: &World| -> Value {
        let output = mayi(world, &["doctor", "--json"]);
        let examined: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        let sections = examined["sections"].as_array().unwrap().clone();
        sections.into_iter().find(|section| section["name"] == "server").unwrap_or_default()
    };
    let found = section(&world);
    let states: Vec<&str> =
        found["findings"].as_array().unwrap().iter().map(|it| it["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["ok", "ok", "ok", "ok"], "{found}");
    let words = found.to_string();
    for word in ["answers", "role agent", "policy vvvv", "has every record"] {
        assert!(words.contains(word), "{word}: {words}");
    }
    server.go_away();
    let found = section(&world);
    assert_eq!(found["findings"][0]["state"], "wrong", "{found}");
    assert_eq!(section(&World::new()), Value::Null, "nothing is said where there is no server");
}
