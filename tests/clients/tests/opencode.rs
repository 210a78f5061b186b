//! opencode with mayi's plugin.

use anyhow::{Context, Result};
use mayi_clients_tests::agent::opencode::{bash, play, prepare};
use mayi_clients_tests::settings::{changing, interrupting};
use mayi_clients_tests::{Hook, Script, Stage};
use serde_json::{Value, json};

/// A stage where mayi's plugin is, with these settings of mayi.
fn with_mayi(name: &str, settings: &Value) -> Result<Stage> {
    with(Hook::Mayi, name, settings)
}

fn with(hook: Hook, name: &str, settings: &Value) -> Result<Stage> {
    Stage::with(name, settings, |stage| prepare(stage, hook))
}

#[test]
fn an_allowed_call_runs_and_its_result_reaches_the_model() -> Result<()> {
    let stage = with_mayi("allow", &json!({"permissions": {"allow": ["Bash(touch *)"]}}))?;
    let seen = play(&stage, &Script::one_by_one([bash("call_1", "touch ran.txt && echo it-ran")]))?;
    assert!(stage.has("ran.txt") && seen.result("call_1")?.text.contains("it-ran"), "{seen:#?}");
    assert_eq!(stage.decision("call_1")?["verdict"], "allow");
    Ok(())
}

#[test]
fn a_denied_call_does_not_run_and_the_model_reads_why() -> Result<()> {
    let stage = with_mayi("deny", &json!({"permissions": {"deny": ["Bash(git push *)"]}}))?;
    let seen = play(&stage, &Script::one_by_one([bash("call_1", "touch ran.txt; git push --force")]))?;
    let (result, decision) = (seen.result("call_1")?, stage.decision("call_1")?);
    let why = decision["message"].as_str().context("no message")?;
    assert!(result.text.contains("mayi: ") && result.text.contains(why), "{result:?}\n{decision}");
    assert!(!stage.has("ran.txt"), "it ran");
    Ok(())
}

#[test]
fn an_ask_becomes_a_denial() -> Result<()> {
    let stage = with_mayi("ask", &json!({"permissions": {"ask": ["Bash(touch *)"]}}))?;
    let seen = play(&stage, &Script::one_by_one([bash("call_1", "touch ran.txt")]))?;
    assert!(!stage.has("ran.txt") && seen.result("call_1")?.text.contains("mayi: "), "{seen:#?}");
    assert_eq!(stage.decision("call_1")?["verdict"], "ask");
    Ok(())
}

#[test]
fn changed_input_is_what_runs() -> Result<()> {
    let hooks = changing(&json!({"command": "touch changed.txt", "description": "changed"}));
    let stage = with_mayi("changed", &json!({"permissions": {"allow": ["Bash(touch *)"]}, "hooks": hooks}))?;
    let seen = play(&stage, &Script::one_by_one([bash("call_1", "touch ran.txt")]))?;
    assert!(stage.has("changed.txt") && !stage.has("ran.txt"), "{seen:#?}");
    Ok(())
}

#[test]
fn an_interruption_denies_this_call_and_the_rest_of_the_run() -> Result<()> {
    let permissions = json!({"ask": ["Bash(touch *)"], "allow": ["Bash(mkdir *)"]});
    let stage = with(Hook::Unattended, "interrupt", &json!({"permissions": permissions, "hooks": interrupting()}))?;
    let script = Script::one_by_one([bash("call_1", "touch ran.txt"), bash("call_2", "mkdir after")]);
    let seen = play(&stage, &script)?;
    assert!(!stage.has("ran.txt") && !stage.has("after"), "{seen:#?}");
    assert!(seen.result("call_1")?.text.contains("that is enough"), "{seen:#?}");
    Ok(())
}

#[test]
fn calls_of_one_turn_are_each_decided_and_recorded() -> Result<()> {
    let stage = with_mayi(
        "parallel",
        &json!({"permissions": {"allow": ["Bash(touch *)", "Bash(ls *)"], "deny": ["Bash(git push *)"]}}),
    )?;
    let commands = ["touch a.txt", "ls -a", "git push --force", "ls -l", "touch b.txt", "ls -la"];
    let uses = commands.iter().enumerate().map(|(number, command)| bash(&format!("call_{number}"), command));
    let seen = play(&stage, &Script::at_once(uses))?;
    for (number, command) in commands.iter().enumerate() {
        let id = format!("call_{number}");
        let verdict = if command.starts_with("git") { "deny" } else { "allow" };
        assert_eq!(stage.decision(&id)?["verdict"], verdict, "{command}");
        assert_eq!(seen.result(&id)?.text.contains("mayi: "), verdict == "deny", "{command}: {seen:#?}");
    }
    assert!(stage.has("a.txt") && stage.has("b.txt"));
    Ok(())
}

#[test]
fn a_hook_that_fails_stops_the_call() -> Result<()> {
    let failing = [
        ("killed", "kill -9 $$"),
        ("panicked", "exit 101"),
        ("missing", "/nowhere/mayi hook opencode"),
        ("garbage", "echo '{\"verdict\": \"al'"),
        ("hanging", "sleep 30"),
        ("blocking", "echo mayi: no >&2; exit 2"),
    ];
    for (name, line) in failing {
        let stage = Stage::set(&format!("failing-{name}"))?;
        prepare(&stage, Hook::Instead(line))?;
        let seen = play(&stage, &Script::one_by_one([bash("call_1", "touch ran.txt")]))?;
        assert!(!stage.has("ran.txt"), "{name}: {seen:#?}");
        assert!(seen.result("call_1")?.text.contains("mayi gave no answer"), "{name}: {seen:#?}");
    }
    Ok(())
}
