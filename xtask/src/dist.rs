//! The release build: one static binary that starts without a dynamic linker and without relocations, because a hook
//! is started afresh for every call of a tool.

mod practice;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::man::man;
use crate::run::{root, run, succeeds};

const TARGET: &str = "x86_64-unknown-linux-musl";
/// Bound to fixed addresses: there is nothing to relocate at every start.
const FLAGS: &str = "-C target-feature=+crt-static -C relocation-model=static";

/// What goes with the program as it is.
const BESIDE: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// Builds it, packs it with its manual pages and completions, and says where both are.
pub(crate) fn dist() -> Result<()> {
    let binary = build()?;
    let archive = packed(&binary, &root().join("target/dist"))?;
    eprintln!("{}\n{}", binary.display(), archive.display());
    Ok(())
}

/// The archive that is published. Its bytes depend on what is in it alone, not on when or by whom it was packed.
fn packed(binary: &Path, home: &Path) -> Result<PathBuf> {
    let name = format!("mayi-{}-{TARGET}", version()?);
    let folder = home.join(&name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    man(&folder)?;
    fs::copy(binary, folder.join("mayi")).with_context(|| format!("cannot copy `{}`", binary.display()))?;
    for file in BESIDE {
        fs::copy(root().join(file), folder.join(file))?;
    }
    let archive = home.join(format!("{name}.tar.gz"));
    let (to, from) = (archive.display().to_string(), home.display().to_string());
    let bare = ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner"];
    // gzip would write down the time.
    let words =
        [&["--use-compress-program=gzip -n", "--create", "--file", &to, "--directory", &from], &bare[..], &[&name]];
    run("tar", &words.concat(), &[])?;
    Ok(archive)
}

/// The version of the workspace.
fn version() -> Result<String> {
    let manifest = fs::read_to_string(root().join("Cargo.toml"))?;
    let line = manifest.lines().find_map(|line| line.strip_prefix("version = "));
    Ok(line.context("Cargo.toml names no version")?.trim_matches('"').to_owned())
}

/// The binary alone.
pub(crate) fn build() -> Result<PathBuf> {
    run("rustup", &["target", "add", TARGET], &[])?;
    if !succeeds("musl-gcc", &["--version"]) {
        bail!("`musl-gcc` is not installed\nhelp: on Debian it is in the package musl-tools");
    }
    let flags = format!("{FLAGS} -C profile-use={}", practice::practised()?.display());
    compile(&flags, &root().join("target"))
}

/// Compiles into a folder and says where the binary is.
fn compile(flags: &str, folder: &Path) -> Result<PathBuf> {
    let build = ["build", "--profile", "dist", "--package", "mayi", "--target", TARGET];
    let into = folder.display().to_string();
    let how = [("RUSTFLAGS", flags), ("CC_x86_64_unknown_linux_musl", "musl-gcc"), ("CARGO_TARGET_DIR", &into)];
    run("cargo", &build, &how)?;
    Ok(folder.join(TARGET).join("dist/mayi"))
}
