//! Running other programs, loudly: what runs is printed, and what fails says so.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

/// Runs cargo in the root of the repository.
pub(crate) fn cargo(arguments: &[&str]) -> Result<()> {
    run("cargo", arguments, &[])
}

/// Runs a program in the root of the repository, with extra variables.
pub(crate) fn run(program: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Result<()> {
    let line = format!("{program} {}", arguments.join(" "));
    eprintln!("+ {line}");
    let status = Command::new(program)
        .args(arguments)
        .envs(variables.iter().copied())
        .current_dir(root())
        .status()
        .with_context(|| format!("cannot run `{line}`"))?;
    if !status.success() {
        bail!("`{line}` failed: {status}");
    }
    Ok(())
}

/// Whether a program runs and succeeds, silently.
pub(crate) fn succeeds(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
