//! `mayi run`: decides a command, then runs it confined. Nothing runs unconfined here unless settings name the command
//! or a person at the terminal says so.

mod decided;
mod door;
#[cfg_attr(not(target_os = "linux"), path = "run/preview_elsewhere.rs")]
mod preview;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use mayi_core::session::Attendance;
use mayi_core::verdict::Bounds;
use mayi_engine::audit::Ran;
use mayi_engine::confine::errand::{Errand, Prepared, Trial, Unprepared};
use mayi_engine::confine::run::{Ended, RunError};
use mayi_engine::confine::{is_required, unconfined, words};
use mayi_sandbox::enforcement::{Enforcement, Mechanism};
use mayi_sandbox::report::{Ending, Report};
use mayi_sandbox::run::{Ahead, SpawnError};
use serde_json::json;

use crate::arguments::Run;
use crate::exit::{Exit, usage};
use crate::person::{self, Said};
use crate::{Out, paint};

use decided::Decided;

pub(crate) fn run(task: &Run, out: Out<'_>) -> Result<Exit> {
    if let Some(id) = &task.apply {
        return preview::apply(id, task, out);
    }
    if let Some(id) = &task.discard {
        return preview::discard(id, out);
    }
    if task.command.is_empty() {
        return Err(usage("run", "there is nothing to run\nhelp: mayi run -- npm test"));
    }
    // Beside the decision: unused it vanishes.
    let ahead = if task.plan || task.preview { None } else { Ahead::begin() };
    let decided = match decided::decided(task, out)? {
        Ok(decided) => decided,
        Err(exit) => return Ok(exit),
    };
    if task.plan {
        return show_plan(task, &decided, out);
    }
    match decided.permit.terms().bounds {
        Bounds::Inside if task.preview => preview::run(task, &decided, out),
        Bounds::Inside => inside(task, &decided, ahead),
        Bounds::Excluded | Bounds::Waived => {
            drop(ahead);
            paint::tell("mayi: this runs unconfined: `sandbox.excludedCommands` names it");
            outside(&decided, "excludedCommands")
        }
    }
}

fn errand(decided: &Decided) -> Errand<'_> {
    let Decided { loaded, session, permit, directory, .. } = decided;
    Errand { loaded, session, permit, directory }
}

fn show_plan(task: &Run, decided: &Decided, out: Out<'_>) -> Result<Exit> {
    // The folder is made when the command runs, and every run has another.
    let plan = errand(decided).plan(&std::env::temp_dir().join("mayi-…"));
    if task.json {
        writeln!(out, "{:#}", json!(plan))?;
    } else {
        let home = decided.loaded.policy.workspace.home.as_deref().map(Path::new);
        write!(out, "{}", paint::visible(&plan.show(home).to_string()))?;
    }
    Ok(Exit::Done)
}

fn inside(task: &Run, decided: &Decided, ahead: Option<Ahead>) -> Result<Exit> {
    match errand(decided).prepare(task.mechanism, Trial::Presumed) {
        Ok(prepared) => confined(task, decided, prepared.with(ahead)),
        Err(missing) => without_means(decided, &missing.to_string()),
    }
}

fn confined(task: &Run, decided: &Decided, prepared: Prepared) -> Result<Exit> {
    let file = task.report.as_deref().map(report_file).transpose()?;
    let since = Instant::now();
    let presumed = means(&prepared);
    let ran = match prepared.run(door::keeper(decided)) {
        Err(error @ RunError::Spawn(SpawnError::Walls { .. })) => {
            match errand(decided).prepare(task.mechanism, Trial::Live) {
                Err(Unprepared::Host(missing)) => return without_means(decided, &missing.to_string()),
                // The host has less than was presumed, but enough.
                Ok(other) if means(&other) != presumed => other.run(door::keeper(decided)),
                Ok(_) | Err(Unprepared::Temporary(_)) => Err(error),
            }
        }
        ran => ran,
    };
    let Ended { report, cleaning } = match ran {
        Ok(ended) => ended,
        Err(error) => return not_started(decided, &error),
    };
    record(decided, &report, since.elapsed())?;
    if let Some(file) = file {
        write_report(file, &report).context("the report cannot be written")?;
    }
    tell(task, decided, &report);
    drop(cleaning);
    Ok(ended(report.ending))
}

/// By what means a command is confined, and how far.
fn means(prepared: &Prepared) -> (Mechanism, Enforcement) {
    (prepared.sandbox().mechanism(), prepared.sandbox().enforcement().clone())
}

/// Says why the command was not started; the exit code is what a shell would give.
fn not_started(decided: &Decided, error: &RunError) -> Result<Exit> {
    let ending = Ending::Code(error.code());
    decided.record(Ran { ending, ..NOTHING })?;
    paint::tell(format!("{}: {}", paint::alarm("error"), paint::visible(&error.to_string())));
    Ok(ended(ending))
}

/// Writes the run down. It has happened, so what cannot be written is an error that is told, and the exit code says so.
fn record(decided: &Decided, report: &Report, took: Duration) -> Result<()> {
    let Report { ending, mechanism, enforcement, violations, more, scrubbed } = report;
    decided.record(Ran {
        mechanism: Some(*mechanism),
        enforcement,
        ending: *ending,
        violations,
        more: *more,
        scrubbed,
        took,
        ..NOTHING
    })
}

const NOTHING: Ran<'static> = Ran {
    agent: "",
    session: "",
    child: None,
    call_id: None,
    cwd: "",
    command: "",
    mechanism: None,
    enforcement: &Enforcement::None,
    unconfined: None,
    ending: Ending::Code(0),
    violations: &[],
    more: 0,
    scrubbed: &[],
    took: Duration::ZERO,
};

/// The file for the report, opened before the command can put something else in its place. A link is not followed: an
/// earlier command may have made it.
fn report_file(path: &Path) -> Result<fs::File> {
    let mut options = fs::File::options();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        let no_follow = rustix::fs::OFlags::NOFOLLOW.bits();
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, i32::try_from(no_follow)?);
    }
    options.open(path).with_context(|| format!("the report `{}` cannot be written", path.display()))
}

fn write_report(mut file: fs::File, report: &Report) -> Result<()> {
    file.set_len(0)?;
    Ok(file.write_all(format!("{:#}\n", json!(report)).as_bytes())?)
}

/// Says what was refused, for whoever reads: a person or an agent in words, a program as JSON.
fn tell(task: &Run, decided: &Decided, report: &Report) {
    if task.json {
        paint::tell(json!(report));
    } else if let Some(text) =
        words::told(report, decided.command(), &decided.loaded.settings.sandbox.ignore_violations)
    {
        paint::tell(paint::visible(&text));
    }
}

/// Nothing here can confine. It runs unconfined only where nothing requires otherwise, and a person says so.
fn without_means(decided: &Decided, missing: &str) -> Result<Exit> {
    let required = is_required(&decided.loaded.settings.sandbox) || decided.permit.terms().confined;
    if required || decided.attendance == Attendance::Unattended {
        return Err(anyhow!("it cannot run confined: {missing}"));
    }
    let question = format!("It cannot run confined: {}\nRun it unconfined?", paint::visible(missing));
    match person::asked(&question) {
        Said::Yes => outside(decided, "a person said so"),
        Said::No | Said::Nothing => Err(anyhow!("it cannot run confined: {missing}")),
    }
}

fn outside(decided: &Decided, why: &str) -> Result<Exit> {
    let since = Instant::now();
    let ending = unconfined::run(&decided.permit, &decided.directory)?;
    decided.record(Ran { unconfined: Some(why), ending, took: since.elapsed(), ..NOTHING })?;
    Ok(ended(ending))
}

fn ended(ending: Ending) -> Exit {
    Exit::Ended(u8::try_from(ending.code()).unwrap_or(1))
}
