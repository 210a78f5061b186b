//! What one `mayi serve` does: decisions and records a second with everything durable, and what waiting costs, on SQLite
//! and on PostgreSQL. The load comes from `wrk` on the same machine, so both share its cores.

mod page;
mod plot;

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::real::{Installed, debian, postgres, target};
use crate::run::{cargo, root};

/// Measures, prints, and writes page and plot.
pub(crate) fn server() -> Result<()> {
    for installed in [debian::programs(&[("wrk", "wrk")]), postgres::installed()] {
        if let Installed::Unavailable(why) = installed {
            bail!("the server cannot be measured: {why}");
        }
    }
    cargo(&["build", "--release", "--package", "mayi"])?;
    cargo(&["build", "--release", "--package", "mayi-server-tests", "--features", "live", "--bin", "measure"])?;
    let figures = measured()?;
    let folder = root().join("docs/benchmarks");
    let page = folder.join("server.md");
    let text = fs::read_to_string(&page).with_context(|| page.display().to_string())?;
    fs::write(&page, page::with_figures(&text, &figures)?)?;
    fs::write(folder.join("server.svg"), plot::drawn(&figures)?)?;
    eprintln!("written: docs/benchmarks/server.md and server.svg");
    Ok(())
}

/// Runs the measurement on a real disk: a record is durable when the disk has it.
fn measured() -> Result<Value> {
    let scratch = target().join("server/bench");
    if scratch.exists() {
        fs::remove_dir_all(&scratch)?;
    }
    fs::create_dir_all(&scratch)?;
    let release = target().join("release");
    let output = Command::new(release.join("measure"))
        .env("MAYI_BINARY", release.join("mayi"))
        .env("MAYI_SERVER_SCRATCH", &scratch)
        .env("MAYI_POSTGRES_BIN", postgres::programs().context("no PostgreSQL")?)
        .env("TMPDIR", &scratch)
        .stderr(std::process::Stdio::inherit())
        .output()
        .context("cannot measure")?;
    ensure!(output.status.success(), "the measurement failed: {}", output.status);
    serde_json::from_slice(&output.stdout).context("the figures cannot be read")
}

/// A figure, by its pointer.
fn figure(figures: &Value, pointer: &str) -> Result<f64> {
    figures.pointer(pointer).and_then(Value::as_f64).with_context(|| format!("there is no figure `{pointer}`"))
}
