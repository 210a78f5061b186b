//! `mayi diff`: what a change of settings means.

mod side;

use std::collections::HashMap;

use anyhow::{Result, bail};
use mayi_analysis::diff::{Because, Came, Diff, Direction, Region, Undecided, add_recorded, diff, rebased};
use mayi_core::mode::Mode;
use mayi_core::step::Step;
use mayi_core::trace::{Finding, Trace};
use mayi_core::verdict::Verdict;
use mayi_engine::observe::Imagined;
use mayi_settings::{Loaded, Severity};
use serde_json::json;

use crate::arguments::Diff as Task;
use crate::exit::Exit;
use crate::records::{self, Reading, counted};
use crate::{Out, paint, surroundings};

pub(crate) fn run(task: &Task, out: Out<'_>) -> Result<Exit> {
    let directory = surroundings::directory(task.cwd.as_deref())?;
    let old = side::loaded(&task.old, &directory)?;
    let new = side::loaded(&task.new, &directory)?;
    refuse_broken(&task.old, &old)?;
    refuse_broken(&task.new, &new)?;
    // Both are about rules alone: an empty machine, so that the answer is the same everywhere.
    let mut found = diff(&old, &new, &Imagined::default());
    if task.audit {
        add_audit(task, (&old, &new), &mut found)?;
    }
    if task.json {
        writeln!(out, "{:#}", json!(found))?;
    } else if task.markdown {
        print_markdown(&found, out)?;
    } else {
        print(&found, out)?;
    }
    Ok(match found.direction() {
        Direction::Equal => Exit::Done,
        Direction::Narrowed => Exit::Ask,
        Direction::Widened => Exit::Deny,
        Direction::Undecided => Exit::Error,
    })
}

/// Settings that cannot be read are nothing to compare: nobody knows what they were meant to say.
fn refuse_broken(name: &str, loaded: &Loaded) -> Result<()> {
    if loaded.policy.options.broken.is_empty() {
        return Ok(());
    }
    for problem in loaded.problems().iter().filter(|problem| problem.severity == Severity::Error) {
        paint::tell(paint::problem(problem));
    }
    bail!("`{name}` cannot be read, so it cannot be compared")
}

/// Decides the recorded calls under both, as if the settings lay in the directory of each call.
fn add_audit(task: &Task, (old, new): (&Loaded, &Loaded), found: &mut Diff) -> Result<()> {
    let mut reading = Reading::of(&task.records)?;
    let machine = records::machine();
    let mut moved: HashMap<String, (Loaded, Loaded)> = HashMap::new();
    while let Some(recorded) = reading.next_decision() {
        if moved.len() >= 64 {
            moved.clear();
        }
        let here = |loaded: &Loaded| rebased(loaded.clone(), &loaded.policy.workspace.directory, &recorded.cwd);
        let (old, new) = moved.entry(recorded.cwd.clone()).or_insert_with(|| (here(old), here(new)));
        add_recorded(found, (old, new), &recorded, &machine);
    }
    reading.report();
    Ok(())
}

fn print(found: &Diff, out: Out<'_>) -> Result<()> {
    print_regions("widened", &found.widened, out)?;
    print_regions("narrowed", &found.narrowed, out)?;
    if !found.undecided.is_empty() {
        writeln!(out, "{}", paint::caution("undecided"))?;
        for Undecided { region, why, because } in &found.undecided {
            writeln!(out, "  {region}: {}", paint::visible(why))?;
            print_because(because, out)?;
        }
        writeln!(out)?;
    }
    if !found.audit.is_empty() {
        writeln!(out, "{}", paint::strong("recorded calls"))?;
        for changed in &found.audit {
            let arrow = arrow(changed.old.verdict, changed.new.verdict);
            let times = if changed.times > 1 { paint::quiet(format!("  ×{}", changed.times)) } else { String::new() };
            let tool = paint::visible(&changed.call.tool);
            writeln!(out, "  {arrow}  {tool}  {}{times}", records::subject(&changed.call, 72))?;
        }
        writeln!(out)?;
    }
    writeln!(out, "{}", summary(found))?;
    Ok(())
}

fn summary(found: &Diff) -> String {
    let changed = found.audit.iter().map(|changed| changed.times).sum();
    let past = match (found.replayed, changed) {
        (0, _) => String::new(),
        (replayed, 0) => format!("; {} decided alike", counted(replayed, "recorded call")),
        (replayed, changed) => format!("; {changed} of {} decided otherwise", counted(replayed, "recorded call")),
    };
    let regions = |regions: &[Region], word: &str| format!("{} {word}", regions.len());
    match found.direction() {
        Direction::Equal => format!("both mean the same{past}"),
        Direction::Narrowed | Direction::Widened | Direction::Undecided => format!(
            "{}, {}, {} undecided{past}",
            regions(&found.widened, "widened"),
            regions(&found.narrowed, "narrowed"),
            found.undecided.len()
        ),
    }
}

fn arrow(old: Verdict, new: Verdict) -> String {
    let from = paint::verdict(old, format!("{:>5}", old.word()));
    format!("{from} → {}", paint::verdict(new, format!("{:<5}", new.word())))
}

fn print_regions(title: &str, regions: &[Region], out: Out<'_>) -> Result<()> {
    if regions.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", paint::strong(title))?;
    for region in regions {
        let tool = paint::strong(paint::visible(&region.tool));
        let subject = records::subject(&region.witness, 72);
        writeln!(out, "  {}  {tool}  {subject}{}", arrow(region.old, region.new), paint::quiet(when(region)))?;
        for (word, trace) in [("old", &region.old_trace), ("new", &region.new_trace)] {
            writeln!(out, "      {}", paint::quiet(format!("{word}  {}", settled(trace))))?;
        }
        print_because(&region.because, out)?;
    }
    writeln!(out)?;
    Ok(())
}

/// The mode, where the difference shows in another than the default.
fn when(region: &Region) -> String {
    let mode = if region.mode == Mode::Default { String::new() } else { format!("  in mode {}", region.mode) };
    match region.attendance {
        mayi_core::session::Attendance::Attended => mode,
        mayi_core::session::Attendance::Unattended => format!("{mode}  unattended"),
    }
}

/// The step that settled it, and why.
fn settled(trace: &Trace) -> String {
    // That a person would be asked in the end says nothing about why.
    let lines = trace.lines().iter().filter(|(step, _)| *step != Step::Human);
    let last = lines.rev().find_map(|(step, finding)| match finding {
        Finding::Settle(_, reason) => Some(format!("{:<4} {}", step.id(), paint::visible(&reason.to_string()))),
        Finding::Pass(_) => None,
    });
    last.unwrap_or_default().replace('\n', "\\n")
}

fn print_because(because: &[Because], out: Out<'_>) -> Result<()> {
    for Because { change, what, list, origin } in because {
        let sign = match change {
            Came::Added => "+",
            Came::Removed => "-",
        };
        let list = list.map(|list| format!("{list} ")).unwrap_or_default();
        let origin = origin.as_ref().map(|origin| format!("  {}", paint::visible(&origin.to_string())));
        writeln!(out, "      {sign} {list}{}{}", paint::visible(what), paint::quiet(origin.unwrap_or_default()))?;
    }
    Ok(())
}

fn print_markdown(found: &Diff, out: Out<'_>) -> Result<()> {
    writeln!(out, "### What this change of settings means\n\n{}\n", summary(found))?;
    for (title, regions) in [("Lets more pass", &found.widened), ("Lets less pass", &found.narrowed)] {
        if regions.is_empty() {
            continue;
        }
        writeln!(out, "**{title}**\n\n| call | before | after | because |\n| --- | --- | --- | --- |")?;
        for region in regions {
            let because: Vec<String> = region
                .because
                .iter()
                .map(|because| {
                    format!("{} {}", if because.change == Came::Added { "+" } else { "−" }, code(&because.what))
                })
                .collect();
            let call = format!("{} {}{}", region.tool, code(&records::subject(&region.witness, 200)), when(region));
            writeln!(out, "| {call} | {} | {} | {} |", region.old, region.new, because.join("<br>"))?;
        }
        writeln!(out)?;
    }
    if !found.undecided.is_empty() {
        writeln!(out, "**Undecided**\n")?;
        for undecided in &found.undecided {
            writeln!(out, "- {}: {}", undecided.region, undecided.why)?;
        }
        writeln!(out)?;
    }
    if !found.audit.is_empty() {
        writeln!(out, "**Recorded calls**\n\n| call | before | after | times |\n| --- | --- | --- | --- |")?;
        for changed in &found.audit {
            let call = format!("{} {}", changed.call.tool, code(&records::subject(&changed.call, 200)));
            writeln!(out, "| {call} | {} | {} | {} |", changed.old.verdict, changed.new.verdict, changed.times)?;
        }
    }
    Ok(())
}

/// A text as a code span in a cell: whatever it holds, it ends neither.
fn code(text: &str) -> String {
    let text = paint::visible(text).replace('\n', " ").replace('|', "\\|");
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    if longest > 0 { format!("{fence} {text} {fence}") } else { format!("{fence}{text}{fence}") }
}
