//! Programs from their npm packages, installed under `target/` and kept between runs.
//!
//! [`npm_install`] is for every test that needs a published program. It never installs outside the prefix it is given,
//! and never lets a package run a script: the one package that needs its script is handed to [`npm_finish`] by name.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, Result, bail};

use crate::run::succeeds;

use super::{Installed, is_superuser};

/// Installs packages (`name@version`) into a prefix, unless exactly these are there already. Their programs are in
/// `PREFIX/node_modules/.bin`. A registry out of reach is `Unavailable`; any other failure is an error.
pub(crate) fn npm_install(prefix: &Path, packages: &[&str]) -> Result<Installed> {
    let marker = prefix.join("installed.txt");
    let wanted = packages.join("\n");
    if fs::read_to_string(&marker).is_ok_and(|present| present == wanted) {
        return Ok(Installed::Ready);
    }
    if !node_is_there() {
        return Ok(Installed::Unavailable("node and npm are not installed".to_owned()));
    }
    if prefix.exists() {
        fs::remove_dir_all(prefix).with_context(|| format!("cannot clear `{}`", prefix.display()))?;
    }
    fs::create_dir_all(prefix)?;
    eprintln!("+ npm install {}", packages.join(" "));
    let output = npm(prefix, "install", packages)?;
    if !output.status.success() {
        return failed(prefix, packages, &output);
    }
    fs::write(marker, wanted)?;
    Ok(Installed::Ready)
}

/// Runs the install script of one package, once, for a program that is not whole without it.
pub(crate) fn npm_finish(prefix: &Path, package: &str) -> Result<()> {
    let marker = prefix.join("finished.txt");
    if fs::read_to_string(&marker).is_ok_and(|finished| finished == package) {
        return Ok(());
    }
    let output = Command::new("npm").args(["rebuild", "--prefix"]).arg(prefix).arg(package).output()?;
    if !output.status.success() {
        bail!("`npm rebuild {package}` failed: {}", said(&output));
    }
    fs::write(marker, package)?;
    Ok(())
}

fn npm(prefix: &Path, verb: &str, packages: &[&str]) -> Result<Output> {
    Command::new("npm")
        .args([verb, "--prefix"])
        .arg(prefix)
        .args(["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--save-exact"])
        .args(packages)
        .output()
        .context("cannot run `npm`")
}

/// Tells a registry out of reach from an installation that failed: a second, small question to the registry.
fn failed(prefix: &Path, packages: &[&str], output: &Output) -> Result<Installed> {
    let name = packages.first().map_or("npm", |package| unversioned(package));
    let asked = Command::new("npm")
        .args(["view", name, "name", "--fetch-retries=0", "--fetch-timeout=20000", "--prefix"])
        .arg(prefix)
        .output()?;
    if asked.status.success() || said(&asked).contains("E404") {
        bail!("`npm install {}` failed: {}", packages.join(" "), said(output));
    }
    Ok(Installed::Unavailable("the npm registry cannot be reached".to_owned()))
}

/// The package without its version; a leading `@` belongs to the name.
fn unversioned(package: &str) -> &str {
    match package.rfind('@') {
        Some(at) if at > 0 => package.get(..at).unwrap_or(package),
        Some(_) | None => package,
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).trim().to_owned()
}

/// Whether node and npm can be run; where the system's package manager may be used, it is asked to bring them.
fn node_is_there() -> bool {
    let present = || succeeds("node", &["--version"]) && succeeds("npm", &["--version"]);
    if present() {
        return true;
    }
    is_superuser() && succeeds("apt-get", &["install", "-y", "nodejs", "npm"]) && present()
}

#[cfg(test)]
mod tests {
    use super::unversioned;

    #[test]
    fn a_scope_is_not_a_version() {
        assert_eq!(unversioned("@scope/name@1.2.3"), "@scope/name");
        assert_eq!(unversioned("@scope/name"), "@scope/name");
        assert_eq!(unversioned("name@1.2.3"), "name");
    }
}
