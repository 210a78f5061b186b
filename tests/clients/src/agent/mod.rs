//! The agents, one file each: how mayi becomes their hook, and how they are started without a person.

pub mod claude_code;
pub mod codex;
pub mod gemini;
pub mod opencode;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

use crate::stage::{Stage, mayi};

/// What stands in the agent's settings as its hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// mayi.
    Mayi,
    /// mayi, told that nobody can be asked.
    Unattended,
    /// A command line in mayi's place, to see what the agent makes of a hook that fails. It is given five seconds.
    Instead(&'static str),
}

/// Seconds that a hook in mayi's place is given.
const SHORT: u64 = 5;

impl Hook {
    /// Installs the hook as a person would, by `mayi install`. The file is where the installation put it; a command
    /// line in mayi's place goes into the very same entries.
    fn install(self, stage: &Stage, agent: &str, file: &str) -> Result<()> {
        let mut command = Command::new(mayi()?);
        command.args(["install", agent]).current_dir(stage.project()).env_clear().env("HOME", stage.home());
        if self == Self::Unattended {
            command.arg("--unattended");
        }
        let output = command.output().context("cannot run `mayi install`")?;
        if !output.status.success() {
            bail!("`mayi install {agent}` failed: {}", String::from_utf8_lossy(&output.stderr));
        }
        let file = stage.home().join(file);
        match self {
            Self::Mayi | Self::Unattended => Ok(()),
            Self::Instead(line) if file.extension().is_some_and(|extension| extension == "json") => {
                in_entries(&file, line)
            }
            Self::Instead(line) => in_plugin(&file, line),
        }
    }
}

/// Puts a command line, and a short time-out in the unit that stands there, into every entry of a settings file.
fn in_entries(file: &PathBuf, line: &str) -> Result<()> {
    let mut settings: Value = serde_json::from_slice(&fs::read(file)?)?;
    let mut entries = 0;
    replace(&mut settings, line, &mut entries);
    if entries == 0 {
        bail!("`{}` has no hook: {settings:#}", file.display());
    }
    Ok(fs::write(file, settings.to_string())?)
}

fn replace(value: &mut Value, line: &str, entries: &mut usize) {
    if let Some(list) = value.as_array_mut() {
        list.iter_mut().for_each(|one| replace(one, line, entries));
    }
    let Some(members) = value.as_object_mut() else { return };
    if members.contains_key("command") {
        *entries += 1;
        members.insert("command".to_owned(), line.into());
        shorten(members);
    }
    members.values_mut().for_each(|member| replace(member, line, entries));
}

fn shorten(members: &mut Map<String, Value>) {
    if let Some(limit) = members.get_mut("timeout") {
        let in_milliseconds = limit.as_u64().is_some_and(|limit| limit >= 1000);
        *limit = if in_milliseconds { (SHORT * 1000).into() } else { SHORT.into() };
    }
}

/// Puts a command line into a plugin, and its time-out.
fn in_plugin(file: &PathBuf, line: &str) -> Result<()> {
    let text = fs::read_to_string(file)?;
    let command = serde_json::json!(["/bin/sh", "-c", line]);
    let changed: Vec<String> = text
        .lines()
        .map(|one| match one.split(" = ").next() {
            Some("const COMMAND") => format!("const COMMAND = {command}"),
            Some("const DEADLINE_MS") => format!("const DEADLINE_MS = {}", SHORT * 1000),
            Some(_) | None => one.to_owned(),
        })
        .collect();
    let changed = changed.join("\n");
    if !changed.contains(&command.to_string()) {
        bail!("`{}` names no command", file.display());
    }
    Ok(fs::write(file, changed)?)
}
