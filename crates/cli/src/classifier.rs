//! `mayi classifier`: auto mode measured on labelled cases, and counted as it was used.

mod figures;
mod progress;

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use mayi_engine::classifier::Classifier as Model;
use mayi_engine::evaluate::{self, Report};
use mayi_engine::stats::Tally;
use mayi_engine::store::Sessions;
use mayi_settings::{Loaded, Places, load};
use serde_json::json;

use crate::arguments::{Classifier, ClassifierTask, Eval, Since, Stats};
use crate::exit::Exit;
use crate::{Out, paint, surroundings};
use progress::Progress;

/// The largest file of cases.
const FILE_LIMIT: u64 = 256 * 1024 * 1024;
/// So many bad lines are shown one by one.
const SHOWN: usize = 20;

pub(crate) fn run(task: Classifier, out: Out<'_>) -> Result<Exit> {
    match task.task {
        ClassifierTask::Eval(eval) => evaluate(&eval, out),
        ClassifierTask::Stats(stats) => count(&stats, out),
    }
}

fn evaluate(eval: &Eval, out: Out<'_>) -> Result<Exit> {
    let files = eval.files.iter().map(|path| read(path)).collect::<Result<Vec<_>>>()?;
    let (cases, bad) = evaluate::read(&files);
    for bad in bad.iter().take(SHOWN) {
        paint::tell(format!("{}: {}", paint::caution("bad line"), paint::visible(&bad.to_string())));
    }
    if bad.len() > SHOWN {
        paint::tell(format!("and {} more bad lines", bad.len() - SHOWN));
    }
    if cases.is_empty() && bad.is_empty() {
        bail!("there are no cases in {}", names(&eval.files));
    }
    if cases.is_empty() {
        bail!("every line is bad ({} of them)", bad.len());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let judge = judge(eval)?;
    let mut progress = Progress::new(cases.len());
    let outcomes = runtime.block_on(evaluate::evaluate(&cases, judge.as_ref(), |seen| progress.show(seen)));
    progress.finish();
    surroundings::report_credential(judge.as_ref().and_then(Model::warning));
    let report = Report::of(&cases, &outcomes, bad);
    if let Some(plot) = &eval.plot {
        std::fs::write(plot, evaluate::svg(&report))
            .with_context(|| format!("`{}` cannot be written", plot.display()))?;
        paint::tell(format!("drew {}", paint::visible(&plot.display().to_string())));
    }
    if eval.json {
        writeln!(out, "{:#}", json!(report))?;
    } else {
        figures::print_report(&report, out)?;
    }
    Ok(Exit::Done)
}

/// The model that is asked what the static layers leave open; `None` for the static layers alone.
fn judge(eval: &Eval) -> Result<Option<Model>> {
    if eval.without_model {
        return Ok(None);
    }
    let loaded = surroundings::loaded(&eval.place)?;
    surroundings::report(&loaded);
    let environment: Vec<_> = std::env::vars_os().collect();
    Ok(Model::configured(&loaded.settings, &environment)?)
}

fn names(files: &[PathBuf]) -> String {
    files.iter().map(|file| format!("`{}`", file.display())).collect::<Vec<_>>().join(", ")
}

fn read(path: &Path) -> Result<evaluate::File> {
    let name = path.display().to_string();
    let cannot = || format!("`{name}` cannot be read");
    let file = File::open(path).with_context(cannot)?;
    let mut bytes = Vec::new();
    file.take(FILE_LIMIT + 1).read_to_end(&mut bytes).with_context(cannot)?;
    if bytes.len() as u64 > FILE_LIMIT {
        bail!("`{name}` is larger than {} MiB", FILE_LIMIT >> 20);
    }
    // A letter that is none spoils its line and no other.
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(evaluate::File { name, text })
}

fn count(stats: &Stats, out: Out<'_>) -> Result<Exit> {
    let (places, given) = surroundings::sources(&stats.place)?;
    let loaded = load(&places, &given);
    surroundings::report(&loaded);
    let Some(file) = audit_file(&loaded, &places) else {
        bail!("there is no state folder on this machine\nhelp: set HOME or XDG_STATE_HOME");
    };
    let mut tally = Tally::default();
    match File::open(&file) {
        Ok(open) => tally.read(BufReader::new(open), since(stats.since)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
    .with_context(|| format!("the record `{}` cannot be read", file.display()))?;
    add_books(&mut tally, &places)?;
    let counted = tally.stats();
    if stats.json {
        writeln!(out, "{:#}", json!(counted))?;
    } else if counted.decisions == 0 {
        writeln!(out, "no decisions are recorded")?;
        paint::tell(format!("note: they are read from {}", paint::visible(&file.display().to_string())));
    } else {
        figures::print_stats(&counted, out)?;
    }
    Ok(Exit::Done)
}

/// Where decisions are recorded.
fn audit_file(loaded: &Loaded, places: &Places) -> Option<PathBuf> {
    match &loaded.settings.audit.file {
        Some(file) => Some(places.directory.join(file)),
        None => places.state.as_ref().map(|folder| folder.join("audit.jsonl")),
    }
}

/// Adds what the classifier used. Books have no dates, so they count for all the time that sessions are kept.
fn add_books(tally: &mut Tally, places: &Places) -> Result<()> {
    let Some(state) = &places.state else { return Ok(()) };
    for (_, books) in Sessions::in_folder(state).all_kept("ledger")? {
        tally.add_books(&books);
    }
    Ok(())
}

/// The moment from which records count, in milliseconds of the Unix clock.
fn since(age: Option<Since>) -> u64 {
    let Some(Since(age)) = age else { return 0 };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.saturating_sub(age).as_millis()).unwrap_or(u64::MAX)
}
