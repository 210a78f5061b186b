//! The release build: one static binary that starts without a dynamic linker and without relocations, because a hook
//! is started afresh for every call of a tool.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::run::{root, run, succeeds};

const TARGET: &str = "x86_64-unknown-linux-musl";
/// Bound to fixed addresses: there is nothing to relocate at every start.
const FLAGS: &str = "-C target-feature=+crt-static -C relocation-model=static";

/// Builds it, and says where it is.
pub(crate) fn dist() -> Result<()> {
    let binary = build()?;
    eprintln!("{}", binary.display());
    Ok(())
}

pub(crate) fn build() -> Result<PathBuf> {
    run("rustup", &["target", "add", TARGET], &[])?;
    if !succeeds("musl-gcc", &["--version"]) {
        bail!("`musl-gcc` is not installed\nhelp: on Debian it is in the package musl-tools");
    }
    let build = ["build", "--profile", "dist", "--package", "mayi", "--target", TARGET];
    run("cargo", &build, &[("RUSTFLAGS", FLAGS), ("CC_x86_64_unknown_linux_musl", "musl-gcc")])?;
    Ok(root().join("target").join(TARGET).join("dist/mayi"))
}
