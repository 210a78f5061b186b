//! Gemini CLI with mayi as its hook. Its own approval is off (`yolo`): without a person it would not even offer its
//! shell to the model, and mayi's is the decision under test.

use anyhow::{Context, Result};
use mayi_clients_tests::agent::gemini::{play, prepare, shell};
use mayi_clients_tests::settings::{changing, interrupting};
use mayi_clients_tests::{Hook, Runs, Script, Stage};
use serde_json::{Value, json};

const YOLO: &[&str] = &["--approval-mode", "yolo"];

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
    let seen = play(&stage, &Script::one_by_one([shell("c1", "touch ran.txt && echo it-ran")]), YOLO)?;
    let result = seen.result("c1")?;
    assert!(stage.has("ran.txt") && result.text.contains("it-ran"), "{seen:#?}");
    assert_eq!(stage.decisions()?[0]["verdict"], "allow");
    Ok(())
}

#[test]
fn a_denied_call_does_not_run_and_the_model_reads_why() -> Result<()> {
    let stage = with_mayi("deny", &json!({"permissions": {"deny": ["Bash(git push *)"]}}))?;
    let seen = play(&stage, &Script::one_by_one([shell("c1", "touch ran.txt; git push --force")]), YOLO)?;
    let (result, decision) = (seen.result("c1")?, &stage.decisions()?[0]);
    let why = decision["message"].as_str().context("no message")?;
    assert!(result.is_error && result.text.contains("mayi: ") && result.text.contains(why), "{result:?}\n{decision}");
    assert!(!stage.has("ran.txt"), "it ran");
    Ok(())
}

#[test]
fn an_ask_without_anybody_ends_the_run_in_silence() -> Result<()> {
    let stage = with_mayi("ask", &json!({"permissions": {"ask": ["Bash(touch *)"]}}))?;
    let seen = play(&stage, &Script::one_by_one([shell("c1", "touch ran.txt")]), YOLO)?;
    assert!(!stage.has("ran.txt") && seen.heard.results.is_empty() && seen.ended(), "{seen:#?}");
    assert_eq!(stage.decisions()?[0]["verdict"], "ask");
    Ok(())
}

#[test]
fn an_ask_is_a_denial_with_words_when_mayi_is_told_that_nobody_attends() -> Result<()> {
    let stage = with(Hook::Unattended, "unattended", &json!({"permissions": {"ask": ["Bash(touch *)"]}}))?;
    let seen = play(&stage, &Script::one_by_one([shell("c1", "touch ran.txt")]), YOLO)?;
    let result = seen.result("c1")?;
    assert!(!stage.has("ran.txt") && result.is_error && result.text.contains("mayi: "), "{seen:#?}");
    Ok(())
}

#[test]
fn changed_input_is_what_runs() -> Result<()> {
    let hooks = changing(&json!({"command": "touch changed.txt", "description": "changed"}));
    let stage = with_mayi("changed", &json!({"permissions": {"allow": ["Bash(touch *)"]}, "hooks": hooks}))?;
    let seen = play(&stage, &Script::one_by_one([shell("c1", "touch ran.txt")]), YOLO)?;
    assert!(stage.has("changed.txt") && !stage.has("ran.txt"), "{seen:#?}");
    Ok(())
}

#[test]
fn an_interruption_ends_the_run() -> Result<()> {
    let permissions = json!({"ask": ["Bash(touch *)"], "allow": ["Bash(mkdir *)"]});
    let stage = with(Hook::Unattended, "interrupt", &json!({"permissions": permissions, "hooks": interrupting()}))?;
    let script = Script::one_by_one([shell("c1", "touch ran.txt"), shell("c2", "mkdir after")]);
    let seen = play(&stage, &script, YOLO)?;
    assert!(seen.ended() && !stage.has("ran.txt") && !stage.has("after"), "{seen:#?}");
    assert!(seen.heard.results.is_empty() && seen.stdout.contains("that is enough"), "{seen:#?}");
    Ok(())
}

#[test]
fn calls_of_one_turn_are_each_decided_and_recorded() -> Result<()> {
    let stage = with_mayi(
        "parallel",
        &json!({"permissions": {"allow": ["Bash(touch *)", "Bash(ls *)"], "deny": ["Bash(git push *)"]}}),
    )?;
    let commands = ["touch a.txt", "ls -a", "git push --force", "ls -l", "touch b.txt", "ls -la"];
    let uses = commands.iter().enumerate().map(|(number, command)| shell(&format!("c{number}"), command));
    let seen = play(&stage, &Script::at_once(uses), YOLO)?;
    let decisions = stage.decisions()?;
    for (number, command) in commands.iter().enumerate() {
        let verdict = if command.starts_with("git") { "deny" } else { "allow" };
        assert!(
            decisions.iter().any(|line| line["input"]["command"] == *command && line["verdict"] == verdict),
            "{command}: {decisions:#?}"
        );
        assert_eq!(seen.result(&format!("c{number}"))?.is_error, verdict == "deny", "{command}: {seen:#?}");
    }
    assert!(stage.has("a.txt") && stage.has("b.txt"));
    Ok(())
}

#[test]
fn a_hook_that_fails_lets_the_call_pass_unless_it_says_something_and_ends_with_two_or_more() -> Result<()> {
    let rows = [
        ("killed", "echo a fault >&2; kill -9 $$", Runs::Yes),
        ("panicked", "echo a fault >&2; exit 101", Runs::No),
        ("silent", "exit 101", Runs::Yes),
        ("refused", "echo a fault >&2; exit 1", Runs::Yes),
        ("missing", "/nowhere/mayi hook gemini", Runs::No),
        ("garbage", "echo '{\"decision\": \"de'", Runs::Yes),
        ("hanging", "sleep 30", Runs::Yes),
        ("killed-guarded", "sh -c 'kill -9 $$' || { echo 'mayi: the hook failed' >&2; exit 2; }", Runs::No),
        ("missing-guarded", "/nowhere/mayi hook gemini || { echo 'mayi: the hook failed' >&2; exit 2; }", Runs::No),
    ];
    for (name, line, runs) in rows {
        let stage = Stage::set(&format!("failing-{name}"))?;
        prepare(&stage, Hook::Instead(line))?;
        let seen = play(&stage, &Script::one_by_one([shell("c1", "touch ran.txt")]), YOLO)?;
        assert_eq!(stage.has("ran.txt"), runs == Runs::Yes, "{name}: {seen:#?}");
        assert_eq!(seen.result("c1")?.is_error, runs == Runs::No, "{name}: {seen:#?}");
    }
    Ok(())
}
