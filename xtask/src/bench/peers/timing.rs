//! Times of cold processes, by hyperfine without a shell, in turns so that what else the machine does meets all alike.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::stage::Stage;
use crate::bench::hook::hyperfine;

/// How often everything is measured in turn; the best median counts.
pub(super) const TURNS: usize = 5;

/// One thing that is measured.
pub(super) struct Subject {
    pub(super) name: String,
    pub(super) command: Vec<String>,
}

/// What it took.
pub(super) struct Timed {
    pub(super) name: String,
    pub(super) seconds: f64,
}

/// Measures all; `input` is fed to each. The quickest comes first.
pub(super) fn measured(stage: &Stage, subjects: Vec<Subject>, input: &Path) -> Result<Vec<Timed>> {
    let hyperfine = fs::canonicalize(which(hyperfine()?)?)?;
    let mut timed: Vec<Timed> =
        subjects.iter().map(|subject| Timed { name: subject.name.clone(), seconds: f64::MAX }).collect();
    for turn in 1..=TURNS {
        for (subject, timed) in subjects.iter().zip(&mut timed) {
            let median = median(stage, &hyperfine, subject, input)?;
            eprintln!("turn {turn} of {TURNS}: {}: {:.0} µs", subject.name, median * 1e6);
            timed.seconds = timed.seconds.min(median);
        }
    }
    timed.sort_by(|one, other| one.seconds.total_cmp(&other.seconds));
    Ok(timed)
}

fn which(program: PathBuf) -> Result<PathBuf> {
    if program.is_absolute() {
        return Ok(program);
    }
    let name = program.display().to_string();
    crate::bench::hook::found(&name).map(PathBuf::from).with_context(|| format!("`{name}` is not there"))
}

/// The median of one turn: three seconds, at least ten runs.
fn median(stage: &Stage, hyperfine: &Path, subject: &Subject, input: &Path) -> Result<f64> {
    let results = stage.file("results.json");
    let mut run = stage.command(hyperfine)?;
    run.args(["--shell=none", "--warmup", "3", "--min-runs", "10", "--max-runs", "300", "--style", "none", "--input"]);
    run.arg(input).arg("--export-json").arg(&results);
    let output = run.arg(subject.command.join(" ")).output().context("hyperfine cannot be run")?;
    if !output.status.success() {
        bail!("`{}` failed: {}", subject.name, String::from_utf8_lossy(&output.stderr).trim());
    }
    let value: Value = serde_json::from_str(&fs::read_to_string(&results)?)?;
    value.pointer("/results/0/median").and_then(Value::as_f64).context("hyperfine gave no median")
}
