//! What each hook says about the same commands. The commands are text in a message; nothing runs them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::stage::Stage;
use crate::run::root;

/// How long a hook may take before it counts as silent: agents go on then.
const PATIENCE: Duration = Duration::from_secs(20);

/// What should become of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Label {
    /// Harmless.
    Run,
    /// A person should see it first.
    Stop,
}

/// What a hook said. Not a verdict of ours: silence is none, and leaves the command to the agent's own rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Allowed,
    Asked,
    Denied,
    Silent,
    /// No answer in time, or none that can be read.
    Broken,
}

/// A command and what should become of it.
pub(super) struct Line {
    pub(super) label: Label,
    pub(super) command: String,
}

/// A hook, and how it is called.
pub(super) struct Hook {
    pub(super) name: String,
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<String>,
}

/// The commands.
pub(super) fn lines() -> Result<Vec<Line>> {
    let file = root().join("benches/peers/commands.txt");
    let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    read(&text)
}

fn read(text: &str) -> Result<Vec<Line>> {
    let meant = text.lines().map(str::trim_end).filter(|line| !line.is_empty() && !line.starts_with('#'));
    meant
        .map(|line| {
            let (label, command) = line.split_once(' ').with_context(|| format!("no command: `{line}`"))?;
            let label = match label {
                "run" => Label::Run,
                "stop" => Label::Stop,
                other => bail!("`{other}` is neither `run` nor `stop`: `{line}`"),
            };
            Ok(Line { label, command: command.trim_start().to_owned() })
        })
        .collect()
}

/// Asks a hook about every command.
pub(super) fn of(stage: &Stage, hook: &Hook, lines: &[Line]) -> Result<Vec<Word>> {
    lines.iter().map(|line| ask(stage, hook, &line.command)).collect()
}

fn ask(stage: &Stage, hook: &Hook, command: &str) -> Result<Word> {
    let message = stage.message(command)?;
    let answer = stage.file("answer.txt");
    let mut child = stage
        .command(&hook.program)?
        .args(&hook.arguments)
        .stdin(fs::File::open(message)?)
        .stdout(fs::File::create(&answer)?)
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot run `{}`", hook.program.display()))?;
    let deadline = Instant::now() + PATIENCE;
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if Instant::now() > deadline => {
                child.kill()?;
                child.wait()?;
                return Ok(Word::Broken);
            }
            None => thread::sleep(Duration::from_millis(2)),
        }
    };
    Ok(word(status.code(), &fs::read_to_string(Path::new(&answer)).unwrap_or_default()))
}

/// What an answer means to Claude Code: its documentation of hooks.
fn word(code: Option<i32>, answer: &str) -> Word {
    match (code, answer.trim()) {
        (Some(2), _) => Word::Denied,
        (Some(0), "") => Word::Silent,
        (Some(0), text) => match serde_json::from_str::<Value>(text) {
            Ok(value) => decided(&value),
            Err(_) => Word::Broken,
        },
        _ => Word::Broken,
    }
}

fn decided(value: &Value) -> Word {
    match value.pointer("/hookSpecificOutput/permissionDecision").and_then(Value::as_str) {
        Some("allow") => Word::Allowed,
        Some("ask") => Word::Asked,
        Some("deny") => Word::Denied,
        Some(_) => Word::Broken,
        None => Word::Silent,
    }
}

impl Word {
    /// For the table.
    pub(super) fn shown(self) -> &'static str {
        match self {
            Word::Allowed => "allow",
            Word::Asked => "ask",
            Word::Denied => "deny",
            Word::Silent => "–",
            Word::Broken => "no answer",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Label, Word, lines, read, word};

    #[test]
    fn an_answer_is_read_as_the_agent_reads_it() {
        let allow = r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}"#;
        for (code, answer, expected) in [
            (Some(0), allow, Word::Allowed),
            (Some(0), "", Word::Silent),
            (Some(0), "{}", Word::Silent),
            (Some(2), "", Word::Denied),
            (Some(1), allow, Word::Broken),
            (Some(0), "hello", Word::Broken),
            (None, allow, Word::Broken),
        ] {
            assert_eq!(word(code, answer), expected, "{code:?} {answer}");
        }
    }

    #[test]
    fn a_label_that_is_not_one_is_an_error() {
        assert!(read("walk ls\n").is_err());
        assert!(read("run\n").is_err());
    }

    #[test]
    fn the_commands_are_of_both_kinds_and_none_is_there_twice() {
        let lines = lines().unwrap();
        for label in [Label::Run, Label::Stop] {
            assert!(lines.iter().filter(|line| line.label == label).count() >= 25, "{label:?}");
        }
        let mut commands: Vec<&str> = lines.iter().map(|line| line.command.as_str()).collect();
        commands.sort_unstable();
        commands.dedup();
        assert_eq!(commands.len(), lines.len());
    }
}
