//! `mayi test`: tests of the policy.

mod files;

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};
use mayi_analysis::policy_test::{Coverage, Outcome, Runner, junit, read, to_json};
use mayi_settings::{Loaded, load};

use crate::arguments::{Records, Test};
use crate::exit::Exit;
use crate::records::{Reading, counted};
use crate::{Out, paint, surroundings};

/// How often files are looked at while watching.
const EVERY: Duration = Duration::from_millis(400);

pub(crate) fn run(task: &Test, out: Out<'_>) -> Result<Exit> {
    if !task.watch {
        return once(task, out);
    }
    loop {
        // A file that is being written may not be readable for a moment; the next change runs everything again.
        if let Err(error) = once(task, out) {
            crate::exit::failed(&error);
        }
        out.flush()?;
        let before = stamps(task)?;
        paint::tell(paint::quiet("waiting for a change (Ctrl-C ends)"));
        while stamps(task)? == before {
            std::thread::sleep(EVERY);
        }
        writeln!(out)?;
    }
}

fn once(task: &Test, out: Out<'_>) -> Result<Exit> {
    let (places, given) = surroundings::sources(&task.place)?;
    let loaded = load(&places, &given);
    surroundings::report(&loaded);
    let found = files::found(&task.files, &places.directory)?;
    if found.is_empty() {
        bail!(
            "there are no tests here\nhelp: *.mayi.md, *.mayi.toml and files in mayi-tests/ are found by themselves; \
             any other is named: mayi test FILE"
        );
    }
    let mut runner = Runner::new(&loaded);
    let mut outcomes = Vec::new();
    for path in &found {
        outcomes.push(runner.run(read(&name(path, &places.directory), &files::text(path)?)));
    }
    let coverage = task.coverage.then(|| with_past(runner.coverage(), &loaded));
    if let Some(file) = &task.junit {
        std::fs::write(file, junit(&outcomes)).with_context(|| format!("`{}` cannot be written", file.display()))?;
    }
    if task.json {
        writeln!(out, "{:#}", to_json(&outcomes, coverage.as_ref()))?;
    } else {
        print(&outcomes, coverage.as_ref(), out)?;
    }
    Ok(if outcomes.iter().all(Outcome::is_good) { Exit::Done } else { Exit::Error })
}

fn name(path: &Path, directory: &Path) -> String {
    path.strip_prefix(directory).unwrap_or(path).display().to_string()
}

/// Adds what recorded calls of this directory hit. Without a record nothing was.
fn with_past(mut coverage: Coverage, loaded: &Loaded) -> Coverage {
    if let Ok(mut reading) = Reading::of(&Records::default()) {
        while let Some(recorded) = reading.next_decision() {
            if recorded.cwd == loaded.policy.workspace.directory {
                coverage.note_past(&recorded);
            }
        }
        reading.report();
    }
    coverage
}

/// When every file that matters was changed last.
fn stamps(task: &Test) -> Result<Vec<(PathBuf, Option<SystemTime>, u64)>> {
    let (places, _) = surroundings::sources(&task.place)?;
    let settings = places.files().into_iter().map(|file| file.path);
    let given = task.place.settings.iter().map(PathBuf::from);
    let tests = files::found(&task.files, &places.directory).unwrap_or_default();
    let stamp = |path: PathBuf| {
        let facts = std::fs::metadata(&path).ok();
        let changed = facts.as_ref().and_then(|facts| facts.modified().ok());
        (path, changed, facts.map_or(0, |facts| facts.len()))
    };
    Ok(settings.chain(given).chain(tests).map(stamp).collect())
}

fn print(outcomes: &[Outcome], coverage: Option<&Coverage>, out: Out<'_>) -> Result<()> {
    for outcome in outcomes {
        for problem in &outcome.problems {
            writeln!(out, "{}  {}\n", paint::alarm("unread"), paint::visible(&problem.to_string()))?;
        }
        for failure in outcome.failures() {
            writeln!(out, "{}  {}", paint::alarm("failed"), paint::visible(&failure.to_string()))?;
        }
        let (passed, all) = (outcome.passed(), outcome.tests.len());
        let word = if outcome.is_good() { paint::strong("ok") } else { paint::alarm("no") };
        writeln!(out, "{word}  {}  {passed} of {all} passed", paint::visible(&outcome.name))?;
    }
    if let Some(coverage) = coverage {
        print_coverage(coverage, out)?;
    }
    let passed: usize = outcomes.iter().map(Outcome::passed).sum();
    let failed: usize = outcomes.iter().map(|outcome| outcome.failures().count()).sum();
    let unread: usize = outcomes.iter().map(|outcome| outcome.problems.len()).sum();
    let mut summary = format!("{} passed", counted(passed, "test"));
    if failed > 0 {
        summary.push_str(&format!(", {failed} failed"));
    }
    if unread > 0 {
        summary.push_str(&format!(", {unread} could not be read"));
    }
    writeln!(out, "\n{}", paint::strong(summary))?;
    Ok(())
}

fn print_coverage(coverage: &Coverage, out: Out<'_>) -> Result<()> {
    let (all, missed) = (coverage.rules().len(), coverage.missed().count());
    writeln!(out, "\n{}", paint::strong(format!("{} of {} hit", all - missed, counted(all, "rule"))))?;
    for covered in coverage.missed() {
        let list = paint::verdict(covered.rule.verdict, format!("{:<5}", covered.rule.verdict.word()));
        let origin = paint::quiet(paint::visible(&covered.rule.origin.to_string()));
        writeln!(out, "  {list}  {}  {origin}", paint::visible(&covered.rule.text))?;
    }
    if missed > 0 {
        writeln!(out, "  {}", paint::quiet("no test and no recorded call here has hit these"))?;
    }
    Ok(())
}
