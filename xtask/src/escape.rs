//! `cargo xtask escape`: the suite of attempts to break out of the sandbox, through the built `mayi run`.
//!
//! What cannot be tried here says so loudly and is never counted as stopped.

use std::path::Path;

use anyhow::Result;

use crate::real::{LIVE_TESTS, build};
use crate::run::{root, run};

/// Builds mayi and tries everything.
pub(crate) fn escape() -> Result<()> {
    if !cfg!(target_os = "linux") || !Path::new("/usr/bin/python3").exists() {
        return untested("the attempts need Linux and /usr/bin/python3");
    }
    build()?;
    let target = root().join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()));
    let binary = target.join("debug/mayi").display().to_string();
    let tests = ["--test", "attempts", "--test", "controls", "--test", "trouble", "--", "--nocapture"];
    let test = [LIVE_TESTS.as_slice(), &tests].concat();
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
