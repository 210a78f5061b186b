//! `cargo xtask escape`: the suite of attempts to break out of the sandbox, through the built `mayi run`.
//!
//! What cannot be tried here says so loudly and is never counted as stopped.

use std::path::Path;

use anyhow::Result;

use crate::run::{cargo, root, run};

/// Builds mayi and tries everything.
pub(crate) fn escape() -> Result<()> {
    if !cfg!(target_os = "linux") || !Path::new("/usr/bin/python3").exists() {
        return untested("the attempts need Linux and /usr/bin/python3");
    }
    cargo(&["build", "--package", "mayi"])?;
    let target = root().join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()));
    let binary = target.join("debug/mayi").display().to_string();
    let test = ["test", "--quiet", "--package", "mayi-escape-tests", "--features", "live", "--", "--nocapture"];
    run("cargo", &test, &[("MAYI_BINARY", &binary)])
}

/// Nobody may take it for a pass; with `MAYI_REQUIRE_ESCAPE=1` it is a failure.
fn untested(why: &str) -> Result<()> {
    let line = format!("ESCAPES NOT TESTED: {why}");
    if std::env::var_os("MAYI_REQUIRE_ESCAPE").is_some_and(|value| value == "1") {
        anyhow::bail!("{line}");
    }
    let rule = "=".repeat(line.chars().count());
    eprintln!("{rule}\n{line}\n{rule}");
    Ok(())
}
