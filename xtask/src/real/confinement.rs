//! The place a test with real parts runs in: no network but its own loopback, a file system that can be written in
//! the scratch folder alone, and nothing of the person's home.
//!
//! It stands around the whole test, stand-in servers included, as the runner that cargo starts test programs with.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::run::{root, succeeds};

use super::python;

/// The file of configuration that makes cargo run a test program confined, or nothing where bubblewrap cannot be used:
/// then only the environment of the clients keeps them on loopback.
pub(crate) fn runner(scratch: &Path, target: &Path) -> Result<Option<PathBuf>> {
    if !succeeds("bwrap", &["--ro-bind", "/", "/", "--unshare-user", "--unshare-net", "--uid", "1000", "true"]) {
        eprintln!("programs of others are not confined: bubblewrap cannot be used here, and their environment must do");
        return Ok(None);
    }
    let words: Vec<String> = bubblewrap(scratch, target).iter().map(|word| quoted(word)).collect();
    let file = scratch.with_extension("toml");
    fs::write(&file, format!("[target.'cfg(all())']\nrunner = [{}]\n", words.join(", ")))?;
    Ok(Some(file))
}

/// The walls, as words for bubblewrap.
pub(crate) fn bubblewrap(scratch: &Path, target: &Path) -> Vec<String> {
    let mut words: Vec<String> =
        ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
            .map(String::from)
            .into();
    // What a person or an administrator has set up for these programs is no part of the test.
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let masked = [home, Some("/etc/claude-code".into()), Some("/etc/codex".into()), Some("/etc/gemini-cli".into())];
    for folder in masked.into_iter().flatten().filter(|folder| folder.is_dir()) {
        words.extend(["--tmpfs".to_owned(), folder.display().to_string()]);
    }
    let needed = [Some(root()), Some(target.to_owned()), node_home(), python::home()];
    for folder in needed.into_iter().flatten() {
        let folder = folder.display().to_string();
        words.extend(["--ro-bind".to_owned(), folder.clone(), folder]);
    }
    let scratch = scratch.display().to_string();
    words.extend(["--bind".to_owned(), scratch.clone(), scratch]);
    // Some clients refuse to work for the superuser; inside, nobody is.
    let alone = ["--unshare-user", "--uid", "1000", "--gid", "1000", "--unshare-net", "--unshare-pid", "--unshare-ipc"];
    words.extend(alone.map(String::from));
    words.extend(["--die-with-parent", "--new-session"].map(String::from));
    words
}

/// The folder node is installed in, which may be inside the home that is masked.
fn node_home() -> Option<PathBuf> {
    let output = Command::new("node").args(["-p", "process.execPath"]).output().ok()?;
    let program = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let home = program.parent()?.parent()?.to_path_buf();
    home.is_dir().then_some(home)
}

/// A string in the notation of cargo's configuration.
fn quoted(word: &str) -> String {
    format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""))
}
