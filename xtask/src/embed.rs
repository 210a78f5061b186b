//! The smallest embedding: decisions alone, as a stranger's crate takes them. Its examples must build, and what it brings
//! along must stay little.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::real::target;
use crate::run::{cargo, root, run};

/// Crates that the smallest embedding may bring along, our own four among them. A new one needs a reason.
const AT_MOST: usize = 56;
/// What it must never bring along: runtimes, networks, cryptography, databases.
const NEVER: [&str; 8] = ["hyper", "libsqlite3-sys", "mayi-sandbox", "reqwest", "ring", "rusqlite", "rustls", "tokio"];
/// The features of each embedding, as arguments of cargo.
const SIZES: [(&str, &[&str]); 2] = [("decisions alone", &["--no-default-features"]), ("everything", &[])];

/// Builds the examples with the smallest features, and counts what they bring along.
pub(crate) fn embed() -> Result<()> {
    let brought = dependencies(&["--no-default-features"])?;
    for name in NEVER {
        ensure!(!brought.contains(name), "the smallest embedding brings `{name}`\nhelp: put its user behind `desk`");
    }
    ensure!(
        brought.len() <= AT_MOST,
        "the smallest embedding brings {} crates, {AT_MOST} at most\nhelp: `cargo tree -p mayi-engine -e normal \
         --no-default-features` shows who brings them",
        brought.len()
    );
    cargo(&["check", "--quiet", "--package", "mayi-embed-tests", "--features", "alone", "--examples"])
}

/// What a first build of each embedding takes, one after the other in one run. Time of the processors, not of the clock:
/// other programs disturb it little.
#[expect(clippy::print_stdout, reason = "the table is the output")]
pub(crate) fn bench() -> Result<()> {
    let folder = target().join("embed-bench");
    let folder = folder.display().to_string();
    let mut base = None;
    println!("| `mayi-engine` | crates | first build (s of CPU) | ratio |\n| --- | ---: | ---: | ---: |");
    for (name, features) in SIZES {
        if std::fs::exists(&folder)? {
            std::fs::remove_dir_all(&folder)?;
        }
        let build = [&["build", "--quiet", "--package", "mayi-engine", "--target-dir", &folder], features].concat();
        let before = spent_by_children()?;
        run("cargo", &build, &[])?;
        let seconds = spent_by_children()? - before;
        let ratio = seconds / *base.get_or_insert(seconds);
        println!("| {name} | {} | {seconds:.0} | {ratio:.1} |", dependencies(features)?.len());
    }
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

/// Seconds of processor time that programs which we started, and theirs, have used so far.
fn spent_by_children() -> Result<f64> {
    // In hundredths, fields 16 and 17; the second, the name, ends with the last bracket.
    let text = std::fs::read_to_string("/proc/self/stat").context("this needs Linux")?;
    let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
    let hundredths: Vec<f64> = fields.skip(13).take(2).filter_map(|field| field.parse().ok()).collect();
    ensure!(hundredths.len() == 2, "the times of children cannot be read");
    Ok(hundredths.iter().sum::<f64>() / 100.0)
}

/// The names of all crates that the engine is built of, itself among them; those that only run while building are not.
fn dependencies(features: &[&str]) -> Result<BTreeSet<String>> {
    let output = Command::new("cargo")
        .args(["tree", "--package", "mayi-engine", "--edges", "normal", "--prefix", "none", "--format", "{p}"])
        .args(features)
        .current_dir(root())
        .output()
        .context("cannot run `cargo tree`")?;
    ensure!(output.status.success(), "`cargo tree` failed: {}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8(output.stdout)?;
    Ok(names.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect())
}
