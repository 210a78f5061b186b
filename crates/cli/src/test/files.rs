//! The files that tests stand in.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// The largest file of tests.
const LARGEST: u64 = 16 * 1024 * 1024;
/// So deep below the directory, and so many files at most.
const DEEPEST: usize = 12;
const MOST: usize = 2_000;
/// Folders that hold other people's files.
const SKIPPED: [&str; 3] = ["node_modules", "target", "vendor"];

/// The files that were named, or those that are found below a directory.
pub(super) fn found(named: &[PathBuf], directory: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    if named.is_empty() {
        look(directory, 0, Tests::Named, &mut files);
    }
    for path in named {
        match path.is_dir() {
            true => look(path, 0, Tests::All, &mut files),
            false => files.push(path.clone()),
        }
    }
    files.sort();
    files.dedup();
    Ok(files)
}

/// Which files of a folder are tests.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tests {
    /// Those whose names say so.
    Named,
    /// Every page and sheet.
    All,
}

fn look(folder: &Path, depth: usize, tests: Tests, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(kind) = entry.file_type() else { continue };
        if files.len() >= MOST || (name.starts_with('.') && name != ".mayi") {
            continue;
        }
        if kind.is_dir() && depth < DEEPEST && !SKIPPED.contains(&name.as_str()) {
            let within = if name == "mayi-tests" { Tests::All } else { tests };
            look(&entry.path(), depth + 1, within, files);
        }
        let says = name.ends_with(".mayi.md") || name.ends_with(".mayi.toml");
        let may = name.ends_with(".md") || name.ends_with(".toml");
        if kind.is_file() && (says || tests == Tests::All && may) {
            files.push(entry.path());
        }
    }
}

/// The text of a file of tests.
pub(super) fn text(path: &Path) -> Result<String> {
    let cannot = || format!("`{}` cannot be read", path.display());
    let mut bytes = Vec::new();
    File::open(path).with_context(cannot)?.take(LARGEST + 1).read_to_end(&mut bytes).with_context(cannot)?;
    if bytes.len() as u64 > LARGEST {
        bail!("`{}` is larger than {} MiB", path.display(), LARGEST >> 20);
    }
    String::from_utf8(bytes).with_context(cannot)
}
