//! Claude Code with mayi as its hook.

use anyhow::{Context, Result};
use mayi_clients_tests::agent::claude_code::{bash, play, prepare, with_prompt};
use mayi_clients_tests::script::Use;
use mayi_clients_tests::settings::{changing, interrupting};
use mayi_clients_tests::{Hook, Script, Stage};
use serde_json::{Value, json};

/// The program that answers for a person.
const PROMPT: &str = env!("CARGO_BIN_EXE_permission-prompt");

/// Makes the agent allow its shell by itself. Not by its mode that bypasses permissions, which it refuses to a
/// superuser.
const BY_ITSELF: &[&str] = &["--allowedTools", "Bash"];

/// A stage where mayi is the hook, with these settings of mayi.
fn with_mayi(name: &str, settings: &Value) -> Result<Stage> {
    with(Hook::Mayi, name, settings)
}

fn with(hook: Hook, name: &str, settings: &Value) -> Result<Stage> {
    Stage::with(name, settings, |stage| prepare(stage, hook))
}

#[test]
fn an_allowed_call_runs_and_its_result_reaches_the_model() -> Result<()> {
    let stage = with_mayi("allow", &json!({"permissions": {"allow": ["Bash(touch *)"]}}))?;
    let seen = play(&stage, &Script::one_by_one([bash("toolu_1", "touch ran.txt && echo it-ran")]), &[])?;
    let result = seen.result("toolu_1")?;
    assert!(stage.has("ran.txt"), "{seen:#?}");
    assert!(!result.is_error && result.text.contains("it-ran"), "{result:?}");
    assert_eq!(stage.decision("toolu_1")?["verdict"], "allow");
    Ok(())
}

#[test]
fn a_denied_call_does_not_run_and_the_model_reads_why() -> Result<()> {
    let stage = with_mayi("deny", &json!({"permissions": {"deny": ["Bash(git push *)"]}}))?;
    let script = Script::one_by_one([bash("toolu_1", "touch ran.txt; git push --force")]);
    let seen = play(&stage, &script, BY_ITSELF)?;
    let (result, decision) = (seen.result("toolu_1")?, stage.decision("toolu_1")?);
    let why = decision["message"].as_str().context("no message")?;
    assert!(result.is_error && result.text.contains("mayi: ") && result.text.contains(why), "{result:?}\n{decision}");
    assert!(!stage.has("ran.txt"), "it ran");
    Ok(())
}

#[test]
fn an_ask_reaches_the_permission_prompt() -> Result<()> {
    for (answer, runs) in [("deny", false), ("allow", true)] {
        let stage = with_mayi(&format!("ask-{answer}"), &json!({"permissions": {"ask": ["Bash(touch *)"]}}))?;
        let script = Script::one_by_one([bash("toolu_1", "touch ran.txt")]);
        let seen = with_prompt(&stage, &script, &[PROMPT, answer])?;
        let asked = stage.lines("prompt.jsonl")?;
        assert_eq!(asked.len(), 1, "{seen:#?}");
        assert_eq!(asked[0]["input"]["command"], "touch ran.txt");
        assert_eq!(stage.has("ran.txt"), runs, "{answer}: {seen:#?}");
        assert_eq!(seen.result("toolu_1")?.is_error, !runs);
    }
    Ok(())
}

#[test]
fn an_ask_without_anybody_does_not_run() -> Result<()> {
    let stage = with_mayi("ask-nobody", &json!({"permissions": {"ask": ["Bash(touch *)"]}}))?;
    let seen = play(&stage, &Script::one_by_one([bash("toolu_1", "touch ran.txt")]), &[])?;
    assert!(seen.result("toolu_1")?.is_error && !stage.has("ran.txt"), "{seen:#?}");
    Ok(())
}

#[test]
fn changed_input_is_what_runs() -> Result<()> {
    let hooks = changing(&json!({"command": "touch changed.txt", "description": "changed"}));
    let stage = with_mayi("changed", &json!({"permissions": {"allow": ["Bash(touch *)"]}, "hooks": hooks}))?;
    let seen = play(&stage, &Script::one_by_one([bash("toolu_1", "touch ran.txt")]), &[])?;
    assert!(stage.has("changed.txt") && !stage.has("ran.txt"), "{seen:#?}");
    Ok(())
}

#[test]
fn changed_input_is_decided_again() -> Result<()> {
    let permissions = json!({"allow": ["Bash(touch *)"], "deny": ["Bash(git push *)"]});
    let hooks = changing(&json!({"command": "touch changed.txt; git push --force"}));
    let stage = with_mayi("changed-denied", &json!({"permissions": permissions, "hooks": hooks}))?;
    let seen = play(&stage, &Script::one_by_one([bash("toolu_1", "touch ran.txt")]), &[])?;
    assert!(!stage.has("changed.txt") && !stage.has("ran.txt"), "{seen:#?}");
    assert!(seen.result("toolu_1")?.text.contains("mayi: "), "{seen:#?}");
    Ok(())
}

#[test]
fn an_interruption_ends_the_run() -> Result<()> {
    let permissions = json!({"ask": ["Bash(touch *)"], "allow": ["Bash(mkdir *)"]});
    let stage = with(Hook::Unattended, "interrupt", &json!({"permissions": permissions, "hooks": interrupting()}))?;
    let script = Script::one_by_one([bash("toolu_1", "touch ran.txt"), bash("toolu_2", "mkdir after")]);
    let seen = play(&stage, &script, &[])?;
    assert!(seen.ended() && !stage.has("ran.txt") && !stage.has("after"), "{seen:#?}");
    assert!(!seen.heard.results.contains_key("toolu_2"), "{seen:#?}");
    assert!(seen.stdout.contains("that is enough"), "{seen:#?}");
    Ok(())
}

#[test]
fn a_subagent_is_decided_under_its_own_name() -> Result<()> {
    let stage = with_mayi(
        "subagent",
        &json!({"permissions": {"allow": ["Agent", "Task", "Bash(touch *)"], "deny": ["Bash(git push *)"]}}),
    )?;
    let errand = json!({"description": "an errand", "prompt": "an errand for you", "subagent_type": "general-purpose"});
    let script = Script::one_by_one([Use::new("toolu_lead", "Agent", errand)]).with_child(
        "an errand for you",
        [bash("toolu_child", "touch child.txt"), bash("toolu_push", "touch pushed.txt; git push --force")],
    );
    let seen = play(&stage, &script, &[])?;
    assert!(stage.has("child.txt") && !stage.has("pushed.txt"), "{seen:#?}");
    assert!(seen.result("toolu_push")?.text.contains("mayi: "), "{seen:#?}");
    let (lead, child) = (stage.decision("toolu_lead")?, stage.decision("toolu_child")?);
    assert!(lead["child"].is_null(), "{lead}");
    assert!(child["child"].as_str().is_some_and(|id| !id.is_empty()), "{child}");
    assert_eq!(lead["session"], child["session"]);
    Ok(())
}

#[test]
fn calls_of_one_turn_are_each_decided_and_recorded() -> Result<()> {
    let stage = with_mayi(
        "parallel",
        &json!({"permissions": {"allow": ["Bash(touch *)", "Bash(ls *)"], "deny": ["Bash(git push *)"]}}),
    )?;
    let commands = ["touch a.txt", "ls -a", "git push --force", "ls -l", "touch b.txt", "ls -la"];
    let uses = commands.iter().enumerate().map(|(number, command)| bash(&format!("toolu_{number}"), command));
    let seen = play(&stage, &Script::at_once(uses), &[])?;
    for (number, command) in commands.iter().enumerate() {
        let id = format!("toolu_{number}");
        let verdict = if command.starts_with("git") { "deny" } else { "allow" };
        assert_eq!(stage.decision(&id)?["verdict"], verdict, "{command}");
        assert_eq!(seen.result(&id)?.is_error, verdict == "deny", "{command}: {seen:#?}");
    }
    assert!(stage.has("a.txt") && stage.has("b.txt"));
    Ok(())
}

/// Hooks that fail, one way each. They would all have to be stopped by the agent.
const FAILING: [(&str, &str); 6] = [
    ("killed", "kill -9 $$"),
    ("panicked", "exit 101"),
    ("missing", "/nowhere/mayi hook claude-code"),
    ("garbage", "echo '{\"hookSpecificOutput\": {\"permis'"),
    ("hanging", "sleep 30"),
    ("blocking", "echo mayi: no >&2; exit 2"),
];

#[test]
fn a_hook_that_fails_does_not_allow_by_itself() -> Result<()> {
    for (name, line) in FAILING {
        let stage = Stage::set(&format!("failing-{name}"))?;
        prepare(&stage, Hook::Instead(line))?;
        let seen = play(&stage, &Script::one_by_one([bash("toolu_1", "touch ran.txt")]), &[])?;
        assert!(!stage.has("ran.txt") && seen.result("toolu_1")?.is_error, "{name}: {seen:#?}");
    }
    Ok(())
}

#[test]
fn a_hook_that_fails_stops_the_call_even_where_the_agent_would_allow_it() -> Result<()> {
    for (name, line) in FAILING {
        let stage = Stage::set(&format!("bypassed-{name}"))?;
        prepare(&stage, Hook::Instead(line))?;
        let script = Script::one_by_one([bash("toolu_1", "touch ran.txt")]);
        let seen = play(&stage, &script, BY_ITSELF)?;
        // The agent takes output that is no JSON, from a hook that ends well, for a remark.
        let open = name == "garbage";
        assert_eq!(stage.has("ran.txt"), open, "{name}: {seen:#?}");
        assert_eq!(seen.result("toolu_1")?.is_error, !open, "{name}: {seen:#?}");
    }
    Ok(())
}
