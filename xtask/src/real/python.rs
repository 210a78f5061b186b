//! Programs from PyPI, each in an environment of its own under `target/`, kept between runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::run::succeeds;

use super::Installed;

/// Installs packages (`name==version`) into an environment, unless exactly these are there already. Their programs are
/// in `PREFIX/bin`. No Python and no registry are `Unavailable`; a package that cannot be installed is an error.
pub(crate) fn pip_install(prefix: &Path, packages: &[&str]) -> Result<Installed> {
    let marker = prefix.join("installed.txt");
    let wanted = packages.join("\n");
    if fs::read_to_string(&marker).is_ok_and(|present| present == wanted) && works(prefix) {
        return Ok(Installed::Ready);
    }
    if prefix.exists() {
        fs::remove_dir_all(prefix).with_context(|| format!("cannot clear `{}`", prefix.display()))?;
    }
    let environment = prefix.display().to_string();
    if !succeeds("python3", &["-m", "venv", &environment]) {
        return Ok(Installed::Unavailable("Python cannot make an environment".to_owned()));
    }
    eprintln!("+ pip install {}", packages.join(" "));
    let quiet = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1"];
    let output = Command::new(prefix.join("bin/python")).args(quiet).args(packages).output()?;
    if output.status.success() {
        fs::write(marker, wanted)?;
        return Ok(Installed::Ready);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    // pip says that it found no version also where it could not ask anybody.
    if said.contains("NewConnectionError") || said.contains("ConnectTimeout") || said.contains("ProxyError") {
        return Ok(Installed::Unavailable("the Python registry cannot be reached".to_owned()));
    }
    bail!("`pip install {}` failed: {}", packages.join(" "), said.trim())
}

/// An environment is a set of links: it ends with the Python that it was made of.
fn works(prefix: &Path) -> bool {
    succeeds(&prefix.join("bin/python").display().to_string(), &["--version"])
}

/// The folder Python is installed in, which may be inside a home.
pub(crate) fn home() -> Option<PathBuf> {
    let output = Command::new("python3").args(["-c", "import sys; print(sys.base_prefix)"]).output().ok()?;
    let home = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    home.is_dir().then_some(home)
}
