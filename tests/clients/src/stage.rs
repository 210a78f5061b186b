//! The stage of one test: a home and a project of its own, mayi's settings in them, and mayi's audit to look at.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// A home with a project in it.
#[derive(Debug)]
pub struct Stage {
    folder: PathBuf,
}

/// A variable that `cargo xtask clients` sets.
fn told(name: &str) -> Result<PathBuf> {
    let value = std::env::var_os(name);
    value.map(PathBuf::from).with_context(|| format!("`{name}` is not set\nhelp: run this by `cargo xtask clients`"))
}

/// The program under test.
pub fn mayi() -> Result<PathBuf> {
    told("MAYI_BINARY")
}

/// The folder of packages that the client would fetch by itself.
pub fn companion() -> Result<PathBuf> {
    Ok(told("MAYI_CLIENT_PREFIX")?.join("companion"))
}

/// A program of the client's packages.
pub fn program(name: &str) -> Result<PathBuf> {
    let path = told("MAYI_CLIENT_PREFIX")?.join("node_modules/.bin").join(name);
    if !path.exists() {
        bail!("`{}` is not there\nhelp: remove `target/clients` and run `cargo xtask clients` again", path.display());
    }
    Ok(path)
}

impl Stage {
    /// Sets an empty stage.
    pub fn set(name: &str) -> Result<Self> {
        let folder = told("MAYI_CLIENT_SCRATCH")?.join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        let stage = Self { folder };
        fs::create_dir_all(stage.project())?;
        let made = Command::new("git").args(["init", "--quiet"]).current_dir(stage.project()).status();
        if !made.context("cannot run `git`")?.success() {
            bail!("`git init` failed in `{}`", stage.project().display());
        }
        Ok(stage)
    }

    /// The home.
    pub fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    /// The project.
    pub fn project(&self) -> PathBuf {
        self.home().join("project")
    }

    /// Writes a file below the home.
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.home().join(name);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
        fs::write(&path, text).with_context(|| format!("cannot write `{}`", path.display()))?;
        Ok(path)
    }

    /// A stage with these settings of mayi, on which an agent was prepared.
    pub fn with(name: &str, settings: &Value, prepare: impl FnOnce(&Self) -> Result<()>) -> Result<Self> {
        let stage = Self::set(name)?;
        stage.settings(settings)?;
        prepare(&stage)?;
        Ok(stage)
    }

    /// Writes the person's mayi settings.
    pub fn settings(&self, settings: &Value) -> Result<()> {
        self.write(".config/mayi/settings.json", &settings.to_string()).map(drop)
    }

    /// Whether a file is in the project.
    pub fn has(&self, name: &str) -> bool {
        self.project().join(name).exists()
    }

    /// The lines of a file below the home that holds one JSON document a line; none where there is no file.
    pub fn lines(&self, name: &str) -> Result<Vec<Value>> {
        let text = fs::read_to_string(self.home().join(name)).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).with_context(|| format!("`{name}`: `{line}`"))).collect()
    }

    /// The decisions in mayi's audit.
    pub fn decisions(&self) -> Result<Vec<Value>> {
        let mut lines = self.lines(".local/state/mayi/audit.jsonl")?;
        lines.retain(|line| line.get("kind").and_then(Value::as_str) == Some("decision"));
        Ok(lines)
    }

    /// The first decision about a call.
    pub fn decision(&self, call: &str) -> Result<Value> {
        let decisions = self.decisions()?;
        let about = |line: &&Value| line.get("call_id").and_then(Value::as_str) == Some(call);
        decisions
            .iter()
            .find(about)
            .cloned()
            .with_context(|| format!("nothing was decided about `{call}`: {decisions:#?}"))
    }
}
