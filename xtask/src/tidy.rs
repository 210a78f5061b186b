//! The house rules that no lint knows. Each check names the file and line and says what to do.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::run::root;

/// Lines a file may have before its tests.
const FILE_LINES: usize = 500;

/// Which crates a crate may use: arrows point down only.
const ARROWS: [(&str, &[&str]); 11] = [
    ("shell", &[]),
    ("core", &["mayi-shell"]),
    ("settings", &["mayi-core", "mayi-shell"]),
    ("sandbox", &["mayi-core", "mayi-shell", "mayi-settings"]),
    ("identity", &["mayi-settings"]),
    ("engine", &["mayi-core", "mayi-shell", "mayi-settings", "mayi-sandbox", "mayi-identity"]),
    ("agents", &["mayi-core", "mayi-shell", "mayi-settings", "mayi-engine"]),
    ("analysis", &["mayi-core", "mayi-shell", "mayi-settings", "mayi-engine"]),
    ("server", &["mayi-core", "mayi-shell", "mayi-settings", "mayi-identity", "mayi-engine", "mayi-analysis"]),
    (
        "cli",
        &[
            "mayi-core",
            "mayi-shell",
            "mayi-settings",
            "mayi-sandbox",
            "mayi-identity",
            "mayi-engine",
            "mayi-agents",
            "mayi-analysis",
            "mayi-server",
        ],
    ),
    ("spec", &["mayi-core", "mayi-shell", "mayi-settings", "mayi-engine", "mayi-analysis"]),
];

/// File names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 7] =
    ["utils.rs", "util.rs", "helpers.rs", "common.rs", "misc.rs", "manager.rs", "handler.rs"];

pub(crate) fn tidy() -> Result<()> {
    let mut found = Vec::new();
    for file in rust_files(&root())? {
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let name = file.strip_prefix(root()).unwrap_or(&file).display().to_string();
        check_file(&name, &text, &mut found);
    }
    check_arrows(&mut found)?;
    check_verdicts(&mut found)?;
    if found.is_empty() {
        eprintln!("tidy: nothing to do");
        return Ok(());
    }
    bail!("tidy found {} things:\n{}", found.len(), found.join("\n"))
}

fn rust_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            files.extend(rust_files(&path)?);
        } else if name.ends_with(".rs") {
            files.push(path);
        }
    }
    Ok(files)
}

fn check_file(name: &str, text: &str, found: &mut Vec<String>) {
    let is_test = name.contains("/tests/");
    let code = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]")).count();
    if code > FILE_LINES && !is_test {
        found.push(format!(
            "{name}: {code} lines before its tests, {FILE_LINES} at most: which part is a room of its own?"
        ));
    }
    if !text.starts_with("//!") {
        found.push(format!("{name}:1: opens without saying what it is for (`//! …`)"));
    }
    if EMPTY_NAMES.iter().any(|empty| name.ends_with(&format!("/{empty}"))) {
        found.push(format!("{name}: the name says nothing about what is inside"));
    }
    if name == "xtask/src/tidy.rs" {
        return;
    }
    check_purity(name, text, found);
    let forbidden =
        [("#[ignore", "tests are not switched off"), ("FIXME", "mend it or leave it"), ("XXX", "say it in words")];
    for (number, line) in text.lines().enumerate() {
        for (word, why) in forbidden {
            if line.contains(word) {
                found.push(format!("{name}:{}: `{word}`: {why}", number + 1));
            }
        }
        if line.contains("unsafe ") && !line.contains("//") && !name.starts_with("crates/sandbox/src/sys/") {
            found.push(format!("{name}:{}: unsafe lives in crates/sandbox/src/sys/ alone", number + 1));
        }
    }
}

/// The core and the shell reader do no I/O, read no clock and no environment: the same input, the same answer.
fn check_purity(name: &str, text: &str, found: &mut Vec<String>) {
    const OUTSIDE: [&str; 7] =
        ["std::fs", "std::env", "std::net", "std::process", "std::io", "std::time", "std::thread"];
    let pure = ["crates/core/src/", "crates/shell/src/"].iter().any(|folder| name.starts_with(folder));
    // Compiled for tests alone; it times the reader.
    if !pure || name == "crates/shell/src/knowledge/examples.rs" {
        return;
    }
    let code = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]"));
    for (number, line) in code.enumerate() {
        for word in OUTSIDE.iter().filter(|word| line.contains(**word)) {
            found.push(format!("{name}:{}: `{word}`: this crate does no I/O", number + 1));
        }
    }
}

/// Arrows between crates point down only.
fn check_arrows(found: &mut Vec<String>) -> Result<()> {
    for (crate_name, allowed) in ARROWS {
        let manifest = root().join("crates").join(crate_name).join("Cargo.toml");
        let text = fs::read_to_string(&manifest).with_context(|| manifest.display().to_string())?;
        let normal = text.split("[dev-dependencies]").next().unwrap_or_default();
        for line in normal.lines().filter(|line| line.starts_with("mayi-")) {
            let dependency = line.split(['.', ' ', '=']).next().unwrap_or_default();
            if !allowed.contains(&dependency) {
                found.push(format!("crates/{crate_name}/Cargo.toml: `{dependency}` is above it"));
            }
        }
    }
    Ok(())
}

/// One enumeration of allow and deny in the whole repository.
fn check_verdicts(found: &mut Vec<String>) -> Result<()> {
    for file in rust_files(&root().join("crates"))? {
        let text = fs::read_to_string(&file)?;
        for piece in text.split("enum ").skip(1) {
            let body = piece.split('}').next().unwrap_or_default();
            let names = |word: &str| body.lines().any(|line| line.trim().trim_end_matches(',') == word);
            if names("Allow") && names("Deny") && !piece.starts_with("Verdict ") {
                let name = piece.split_whitespace().next().unwrap_or_default();
                found.push(format!("{}: `{name}` is a second Verdict", file.display()));
            }
        }
    }
    Ok(())
}
