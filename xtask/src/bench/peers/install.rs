//! Bringing peers here: into `target/peers`, pinned, kept between runs. What cannot be had says why and is left out.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::table::{Peer, Source};
use crate::bench::hook::found;
use crate::real::{Installed, debian, npm, python, target};

/// The program of a peer, or why there is none.
pub(super) fn program(peer: &Peer) -> Result<Result<PathBuf, String>> {
    let folder = target().join("peers").join(folder(peer.source));
    let installed = match peer.source {
        Source::Crate(package, variables) => built(&folder, package, variables)?,
        Source::Npm(package, others) => match debian::programs(others) {
            Installed::Ready => npm::npm_install(&folder, &[package])?,
            unavailable @ Installed::Unavailable(_) => unavailable,
        },
        Source::PyPi(package) => python::pip_install(&folder, &[package])?,
        Source::Debian(package) => debian::programs(&[(peer.program, package)]),
    };
    Ok(match installed {
        Installed::Unavailable(why) => Err(why),
        Installed::Ready => located(peer, &folder),
    })
}

/// The program of a peer that is here already.
pub(super) fn present(peer: &Peer) -> Option<PathBuf> {
    located(peer, &target().join("peers").join(folder(peer.source))).ok()
}

fn located(peer: &Peer, folder: &Path) -> Result<PathBuf, String> {
    let path = match peer.source {
        Source::Debian(_) => found(peer.program).map(PathBuf::from),
        Source::Crate(..) | Source::Npm(..) | Source::PyPi(_) => {
            Some(folder.join(peer.program)).filter(|path| path.is_file())
        }
    };
    path.ok_or_else(|| format!("it has no program `{}`", peer.program))
}

/// One folder a package: they must not meet.
fn folder(source: Source) -> String {
    let (Source::Crate(package, _) | Source::Npm(package, _) | Source::PyPi(package) | Source::Debian(package)) =
        source;
    package.replace(['/', '@', '='], "-")
}

/// Builds a crate with its own lock file. One that cannot be built is not a failure of ours, and is not tried again: that
/// takes minutes. `refused.txt` in its folder says why.
fn built(folder: &Path, package: &str, variables: &[(&str, &str)]) -> Result<Installed> {
    let (marker, refused) = (folder.join("installed.txt"), folder.join("refused.txt"));
    if let Ok(why) = fs::read_to_string(&refused) {
        return Ok(Installed::Unavailable(why));
    }
    if fs::read_to_string(&marker).is_ok_and(|present| present == package) {
        return Ok(Installed::Ready);
    }
    eprintln!("+ cargo install {package}");
    let output = Command::new("cargo")
        .args(["install", "--locked", "--quiet", package, "--root"])
        .arg(folder)
        .arg("--target-dir")
        .arg(target().join("peers/build"))
        .envs(variables.iter().copied())
        .output()
        .context("cannot run `cargo install`")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let why = said.lines().find_map(|line| line.strip_prefix("error: ")).unwrap_or_default();
        let why = format!("it cannot be built: {why}");
        fs::create_dir_all(folder)?;
        fs::write(&refused, &why)?;
        return Ok(Installed::Unavailable(why));
    }
    fs::write(marker, package)?;
    Ok(Installed::Ready)
}
