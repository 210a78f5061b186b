//! `mayi replay`: recorded calls decided again, and what changes.

use anyhow::Result;
use mayi_analysis::replay::{Bench, Change, Replay, Report};
use mayi_engine::audit::Recorded;
use serde_json::json;

use crate::arguments::Replay as Task;
use crate::exit::Exit;
use crate::records::{self, Reading, Settings, counted};
use crate::{Out, paint};

/// So many changes are shown one by one.
const SHOWN: usize = 40;

pub(crate) fn run(task: &Task, out: Out<'_>) -> Result<Exit> {
    let mut settings = Settings::new(task.settings.as_deref(), task.policy_dir.as_deref())?;
    let mut of = |recorded: &Recorded| settings.of(recorded);
    let machine = records::machine();
    let mut replay = Replay::on(Bench { settings: &mut of, mode: task.mode, observer: &machine });
    let mut reading = Reading::of(&task.records)?;
    while let Some(recorded) = reading.next_decision() {
        replay.add(&recorded);
    }
    reading.report();
    let report = replay.report();
    if task.json {
        writeln!(out, "{:#}", json!(report))?;
        return Ok(Exit::Done);
    }
    print(&report, out)?;
    Ok(Exit::Done)
}

fn print(report: &Report, out: Out<'_>) -> Result<()> {
    for change in report.changes.iter().take(SHOWN) {
        print_change(change, out)?;
    }
    let hidden = report.changes.len().saturating_sub(SHOWN) + report.more;
    if hidden > 0 {
        writeln!(out, "{}", paint::quiet(format!("and {} more (--json for all)", counted(hidden, "change"))))?;
    }
    if !report.changes.is_empty() {
        writeln!(out)?;
    }
    for ((old, new), count) in report.counts() {
        let (from, to) = (paint::verdict(old, format!("{:>5}", old.word())), paint::verdict(new, new.word()));
        writeln!(out, "{from} → {to}  {}", counted(count, "call"))?;
    }
    let replayed = counted(report.replayed, "recorded call");
    match report.changes.is_empty() {
        true => writeln!(out, "nothing changes: {replayed} decided again")?,
        false => writeln!(out, "{} of {replayed} stay as they were", report.unchanged)?,
    }
    for (lost, count) in &report.lost {
        writeln!(out, "{}", paint::quiet(format!("{} not decided again: {lost}", counted(*count, "call"))))?;
    }
    if report.bare > 0 {
        let words = "without what they rested on: decided as if here, with a person there";
        writeln!(out, "{}", paint::quiet(format!("{} {words}", counted(report.bare, "record"))))?;
    }
    Ok(())
}

fn print_change(change: &Change, out: Out<'_>) -> Result<()> {
    let (old, new) = (change.old.verdict, change.new.verdict);
    let from = paint::verdict(old, format!("{:>5}", old.word()));
    let to = paint::verdict(new, format!("{:<5}", new.word()));
    let times = if change.times > 1 { format!("  ×{}", change.times) } else { String::new() };
    let subject = records::subject(&change.call, 72);
    let tool = paint::strong(paint::visible(&change.call.tool));
    writeln!(out, "{from} → {to}  {tool}  {subject}{}", paint::quiet(times))?;
    let asked = if change.unheard { "; the classifier would be asked" } else { "" };
    let because = paint::visible(&change.because).replace('\n', " ");
    writeln!(out, "               {}", paint::quiet(format!("{}: {because}{asked}", change.new.step)))?;
    Ok(())
}
