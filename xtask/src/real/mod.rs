//! Real parts for tests: programs that others publish, the confined place they run in, and an honest word about what
//! could not be tried.

pub(crate) mod browser;
pub(crate) mod confinement;
pub(crate) mod debian;
pub(crate) mod npm;
pub(crate) mod postgres;
pub(crate) mod python;
mod trial;

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail};

use crate::run::{cargo, root};

pub(crate) use trial::{Trial, are_known};

/// What became of an installation.
pub(crate) enum Installed {
    /// It is there, from now or from before.
    Ready,
    /// It cannot be had on this machine: why.
    Unavailable(String),
}

/// The tests that need real parts. A plain `cargo test` leaves them out.
pub(crate) const LIVE: &str =
    "mayi-clients-tests/live,mayi-escape-tests/live,mayi-identity-tests/live,mayi-server-tests/live";

/// How such tests are run: as tests of the whole workspace. A package alone would be built with fewer features of what it
/// uses, and so everything below it once more.
pub(crate) const LIVE_TESTS: [&str; 5] = ["test", "--quiet", "--workspace", "--features", LIVE];

/// Builds the program and the tests that drive it.
pub(crate) fn build() -> Result<()> {
    cargo(&[LIVE_TESTS.as_slice(), &["--no-run"]].concat())
}

/// Where cargo builds.
pub(crate) fn target() -> PathBuf {
    // A relative one is taken from the root, where every cargo is started.
    root().join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// Whether the system's package manager may be used.
fn is_superuser() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout.trim_ascii() == b"0")
}

/// Says what was not tested. Nobody may take it for a pass; with `MAYI_REQUIRE_WHAT=1` it is a failure.
pub(crate) fn report(what: &str, untested: &[String]) -> Result<()> {
    if untested.is_empty() {
        return Ok(());
    }
    let line = format!("{what} NOT TESTED: {}", untested.join(", "));
    if std::env::var_os(format!("MAYI_REQUIRE_{what}")).is_some_and(|value| value == "1") {
        bail!("{line}");
    }
    let rule = "=".repeat(line.chars().count());
    eprintln!("{rule}\n{line}\n{rule}");
    Ok(())
}
