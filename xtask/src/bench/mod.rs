//! Benchmarks: measured side by side in one run, never asserted in a test.

mod hook;
mod peers;
mod sandbox;
mod server;

use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::run::{cargo, root, run, succeeds};

pub(crate) use hook::hook;
pub(crate) use peers::peers;
pub(crate) use sandbox::sandbox;
pub(crate) use server::server;

/// Decisions against growing rule sets beside other engines, auto mode's layers, instructions a decision, and lines of
/// a batch a second.
pub(crate) fn core() -> Result<()> {
    measure("benches/core/Cargo.toml", &[])?;
    measure("benches/core/Cargo.toml", &["auto"])?;
    if succeeds("valgrind", &["--version"]) {
        instructions()?;
    } else {
        eprintln!("instructions are not counted: valgrind is not installed");
    }
    cargo(&["build", "--release"])?;
    batch()
}

/// Reading shell text beside other parsers, and how it grows.
pub(crate) fn shell() -> Result<()> {
    measure("benches/shell/Cargo.toml", &[])
}

/// Lint over ten thousand rules of several shapes, and over patterns made to explode.
pub(crate) fn lint() -> Result<()> {
    cargo(&["run", "--release", "-p", "mayi-analysis", "--example", "lint_times"])
}

fn measure(manifest: &str, arguments: &[&str]) -> Result<()> {
    run("cargo", &[&["run", "--release", "--manifest-path", manifest, "--"], arguments].concat(), &[])
}

/// Instructions a decision, from the difference of two runs, so that start-up does not count.
#[expect(clippy::print_stdout, reason = "the table is the output")]
fn instructions() -> Result<()> {
    println!("\n| rules | instructions a decision |\n| ---: | ---: |");
    for size in ["20", "200", "2000", "10000"] {
        let few = counted(size, "1000")?;
        let many = counted(size, "11000")?;
        println!("| {size} | {} |", many.saturating_sub(few) / 10_000);
    }
    Ok(())
}

fn counted(size: &str, times: &str) -> Result<u64> {
    let binary = root().join("benches/core/target/release/bench-core");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(binary)
        .args(["count", size, times])
        .output()
        .context("valgrind cannot be run")?;
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| line.contains("Collected")).context("valgrind counted nothing")?;
    Ok(line.split_whitespace().last().unwrap_or_default().parse()?)
}

/// How many typical lines one process decides a second.
#[expect(clippy::print_stdout, reason = "the figure is the output")]
fn batch() -> Result<()> {
    const LINES: usize = 200_000;
    let lines = Command::new(root().join("benches/core/target/release/bench-core"))
        .args(["lines", &LINES.to_string()])
        .output()
        .context("the lines cannot be made")?;
    let file = std::env::temp_dir().join("mayi-bench-lines.jsonl");
    std::fs::write(&file, lines.stdout)?;
    let start = Instant::now();
    let status = Command::new(root().join("target/release/mayi"))
        .args(["check", "--batch"])
        .stdin(std::fs::File::open(&file)?)
        .stdout(Stdio::null())
        .status()?;
    let seconds = start.elapsed().as_secs_f64();
    std::fs::remove_file(&file)?;
    if !status.success() {
        bail!("`mayi check --batch` failed: {status}");
    }
    #[expect(clippy::cast_precision_loss, reason = "two hundred thousand is exact")]
    let rate = LINES as f64 / seconds;
    println!("\n`check --batch`: {LINES} lines in {seconds:.2} s, {rate:.0} a second");
    Ok(())
}
