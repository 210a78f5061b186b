//! `mayi install` and `mayi uninstall`: the hook in an agent's own configuration.

use anyhow::{Context, Result};
use mayi_agents::install::{self, Change, Ground, Manner, Order, Outcome};
use serde_json::{Map, Value, json};

use crate::arguments::{Install, Target, Uninstall};
use crate::exit::Exit;
use crate::{Out, paint, surroundings};

pub(crate) fn install(task: &Install, out: Out<'_>) -> Result<Exit> {
    let target = &task.target;
    let ground = Ground::of_this_machine(&surroundings::project(target.cwd.as_deref())?);
    let program = std::env::current_exe().context("where mayi itself is cannot be found out")?;
    let command = install::command(&ground.lasting(&program), target.agent, &options(task))?;
    let order = Order { agent: target.agent, scope: target.scope, command };
    let command = install::settled(&order, &ground);
    let outcomes = install::install(&order, &ground, manner(target))?;
    let is_new = outcomes.is_empty() || outcomes.iter().any(|outcome| outcome.change != Change::Unchanged);
    let notes = if is_new { target.agent.notes } else { &[] };
    if target.json {
        let mut report = report(target, &outcomes);
        report.insert("command".to_owned(), json!(command));
        report.insert("notes".to_owned(), json!(notes));
        writeln!(out, "{:#}", Value::Object(report))?;
        return Ok(Exit::Done);
    }
    if outcomes.is_empty() {
        writeln!(out, "{}", paint::strong(paint::visible(&order.command.join(" "))))?;
    }
    told(target, &outcomes, "already installed", out)?;
    if let Some(kept) = command.get(order.command.len()..).filter(|kept| !kept.is_empty()) {
        writeln!(out, "  with the options it had: {}", paint::visible(&kept.join(" ")))?;
    }
    for note in notes.iter().filter(|_| !target.dry_run) {
        writeln!(out, "{note}")?;
    }
    if is_new && !target.dry_run && !outcomes.is_empty() {
        writeln!(out, "{}", paint::quiet(format!("to see whether it works: mayi doctor {}", target.agent.name)))?;
    }
    Ok(Exit::Done)
}

pub(crate) fn uninstall(task: &Uninstall, out: Out<'_>) -> Result<Exit> {
    let target = &task.target;
    let ground = Ground::of_this_machine(&surroundings::project(target.cwd.as_deref())?);
    let outcomes = install::uninstall(target.agent, target.scope, &ground, manner(target))?;
    if target.json {
        writeln!(out, "{:#}", Value::Object(report(target, &outcomes)))?;
        return Ok(Exit::Done);
    }
    if outcomes.is_empty() {
        writeln!(out, "mayi wrote no file for {}: take the command out where you put it", target.agent.title)?;
    }
    told(target, &outcomes, "not installed", out)?;
    Ok(Exit::Done)
}

/// The options that the hook itself is to be run with.
fn options(task: &Install) -> Vec<String> {
    let unattended = task.unattended.then(|| "--unattended".to_owned());
    let mode = task.mode.iter().flat_map(|mode| ["--mode".to_owned(), mode.word().to_owned()]);
    unattended.into_iter().chain(mode).collect()
}

fn manner(target: &Target) -> Manner {
    if target.dry_run { Manner::DryRun } else { Manner::Real }
}

/// Says what became of each file, or shows what would.
fn told(target: &Target, outcomes: &[Outcome], idle: &str, out: Out<'_>) -> Result<()> {
    for outcome in outcomes {
        let path = paint::visible(&outcome.path.display().to_string());
        let word = match outcome.change {
            Change::Unchanged => idle,
            Change::Created | Change::Changed | Change::Restored | Change::Removed if target.dry_run => {
                for line in outcome.diff.lines() {
                    writeln!(out, "{}", painted(line))?;
                }
                continue;
            }
            Change::Created => "created",
            Change::Changed => "changed",
            Change::Restored => "restored",
            Change::Removed => "removed",
        };
        writeln!(out, "{word}: {path}")?;
        if let Some(backup) = &outcome.backup {
            writeln!(out, "  what it was: {}", paint::visible(&backup.display().to_string()))?;
        }
    }
    Ok(())
}

/// A line of a diff in its colour.
fn painted(line: &str) -> String {
    use mayi_core::verdict::Verdict;
    let shown = paint::visible(line);
    match line.chars().next() {
        Some('+') => paint::verdict(Verdict::Allow, shown),
        Some('-') => paint::verdict(Verdict::Deny, shown),
        Some('@') => paint::quiet(shown),
        Some(_) | None => shown,
    }
}

fn report(target: &Target, outcomes: &[Outcome]) -> Map<String, Value> {
    let file = |outcome: &Outcome| {
        let change = match outcome.change {
            Change::Created => "created",
            Change::Changed => "changed",
            Change::Restored => "restored",
            Change::Removed => "removed",
            Change::Unchanged => "unchanged",
        };
        json!({
            "path": outcome.path.display().to_string(),
            "change": change,
            "backup": outcome.backup.as_ref().map(|path| path.display().to_string()),
            "diff": outcome.diff,
        })
    };
    Map::from_iter([
        ("agent".to_owned(), json!(target.agent.name)),
        ("scope".to_owned(), json!(target.scope.to_string())),
        ("dryRun".to_owned(), json!(target.dry_run)),
        ("files".to_owned(), outcomes.iter().map(file).collect()),
    ])
}
