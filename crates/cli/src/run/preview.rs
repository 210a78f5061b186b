//! `mayi run --preview`, `--apply` and `--discard`: what a command would change, and then exactly that.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use mayi_sandbox::preview::{Applied, ChangeSet, Preview, Tone};
use mayi_sandbox::run::Stream;
use mayi_settings::Places;
use serde_json::json;

use crate::arguments::Run;
use crate::exit::Exit;
use crate::{Out, paint, surroundings};

use super::{Decided, ended, errand, record};

/// How long a preview is kept.
const KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Runs the command on a throw-away layer, and shows what it would change.
pub(super) fn run(task: &Run, decided: &Decided, out: Out<'_>) -> Result<Exit> {
    let folder = previews(&decided.directory)?;
    // Old ones that cannot be removed today are removed another day.
    let _ = Preview::expire(&folder, KEPT);
    let (prepared, mut preview) = errand(decided).preview(task.mechanism, &folder)?;
    let since = Instant::now();
    let report = prepared.run_over(&preview, output(task)?)?;
    record(decided, &report, since.elapsed())?;
    let changes = preview.changes(&report)?;
    show(task, changes, out)?;
    if changes.is_empty() {
        preview.discard()?;
    } else if !task.json {
        writeln!(out, "mayi run --apply {0}  makes these changes; --discard {0} forgets them", preview.id())?;
    }
    Ok(ended(report.ending))
}

/// Where the command's own output goes: not between what a program reads.
fn output(task: &Run) -> Result<Stream> {
    Ok(if task.json { Stream::Fd(std::io::stderr().as_fd().try_clone_to_owned()?) } else { Stream::Inherit })
}

fn show(task: &Run, changes: &ChangeSet, out: Out<'_>) -> Result<()> {
    if task.json {
        writeln!(out, "{:#}", changes.json())?;
        return Ok(());
    }
    for line in changes.lines() {
        let text = match line.tone {
            Tone::Added => paint::verdict(mayi_core::verdict::Verdict::Allow, &line.text),
            Tone::Removed => paint::alarm(&line.text),
            Tone::Changed | Tone::Caution => paint::caution(&line.text),
            Tone::Heading => paint::strong(&line.text),
            Tone::Plain => line.text.clone(),
        };
        writeln!(out, "{text}")?;
    }
    Ok(())
}

/// Makes the changes of a preview.
pub(super) fn apply(id: &str, task: &Run, out: Out<'_>) -> Result<Exit> {
    let folder = previews(&surroundings::directory(None)?)?;
    let Applied { changed, withheld } = Preview::load(&folder, id)?.apply()?;
    if task.json {
        let withheld: Vec<_> =
            withheld.iter().map(|(path, why)| json!({ "path": path, "why": why.to_string() })).collect();
        writeln!(out, "{:#}", json!({ "changed": changed, "withheld": withheld }))?;
        return Ok(Exit::Done);
    }
    for path in &changed {
        writeln!(out, "changed  {}", paint::visible(&path.display().to_string()))?;
    }
    for (path, why) in &withheld {
        writeln!(
            out,
            "left     {}: {}",
            paint::visible(&path.display().to_string()),
            paint::visible(&why.to_string())
        )?;
    }
    Ok(Exit::Done)
}

/// Forgets a preview.
pub(super) fn discard(id: &str, out: Out<'_>) -> Result<Exit> {
    let folder = previews(&surroundings::directory(None)?)?;
    Preview::load(&folder, id)?.discard()?;
    writeln!(out, "forgotten")?;
    Ok(Exit::Done)
}

/// Where previews are kept.
fn previews(directory: &Path) -> Result<PathBuf> {
    let state = Places::of_this_machine(directory).state;
    Ok(state.context("there is no home directory to keep previews in\nhelp: set HOME")?.join("previews"))
}
