//! The table of attempts, as the attempts themselves tell it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// The interpreter: the system's own, which every user can execute.
pub const PYTHON: &str = "/usr/bin/python3";

/// One way out that is tried.
#[derive(Clone, Debug, Deserialize)]
pub struct Attempt {
    /// Its name, which reads as what it does.
    pub name: String,
    /// What it does.
    pub what: String,
    /// What the report must name as missing where it gets through.
    pub lack: Option<String>,
    /// Whether it is shown to work where there are no walls.
    pub proved: bool,
    /// Whether it means something for root.
    pub who: Who,
    /// What it finds.
    pub policy: Policy,
    /// Whether it would be in the way of others in the same sandbox.
    pub alone: bool,
    /// The file it is in.
    pub group: String,
}

/// For whom an attempt means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Who {
    /// For everybody.
    Anyone,
    /// For everybody but root.
    Ordinary,
}

/// What an attempt finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// A project that is a repository.
    Usual,
    /// A project that is none yet.
    Unborn,
}

/// Where the attempts are.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("attempts")
}

/// All attempts.
pub fn all() -> Result<Vec<Attempt>> {
    let output = Command::new(PYTHON).arg("-IS").arg(folder().join("escape.py")).arg("--list").output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).context("the attempts cannot be listed")
}
