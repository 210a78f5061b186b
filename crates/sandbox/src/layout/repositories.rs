//! Repositories inside writable folders: nested ones, submodules and linked worktrees have hooks and configuration
//! that git runs, at places that only a look at the machine can tell.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsString;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::{Draft, Kind, LayoutError, listing};
use crate::plan::{Access, Confined, Why};

/// How deep below a working directory repositories are looked for.
const DEPTH: usize = 3;
/// As many entries as are looked at. Enough for most; a bound, because every run pays for it.
const MOST_ENTRIES: usize = 4_000;
/// Folders in which nobody works.
const SKIPPED: [&str; 3] = [".git", "node_modules", "target"];
/// What says, inside a repository's folder, where the rest of it is.
const POINTERS: [&str; 2] = ["commondir", "gitdir"];

/// What makes a folder a repository without a working tree.
const BARE: [&str; 3] = ["HEAD", "objects", "refs"];

/// Whether a folder is what git takes for a repository's own.
fn is_repository(folder: &Path) -> bool {
    folder.join("HEAD").symlink_metadata().is_ok()
}

/// Protects, in every repository found, what the plan protects in `.git`.
pub(super) fn protect(draft: &mut Draft, confined: &Confined) -> Result<(), LayoutError> {
    let roots: Vec<&Path> = confined
        .places
        .iter()
        .filter(|place| place.access == Access::Writable && place.why == Why::WorkingDirectory)
        .map(|place| place.path.as_path())
        .collect();
    for root in &roots {
        let names = protected_names(confined, root);
        if names.is_empty() {
            continue;
        }
        if BARE.iter().all(|name| root.join(name).exists()) {
            // The working directory is itself what git keeps elsewhere in `.git`.
            for name in &names {
                draft.place(&root.join(name), Access::ReadOnly, Kind::Protected)?;
            }
        }
        for marker in markers(root)? {
            protect_one(draft, root, &marker, &names)?;
        }
    }
    Ok(())
}

/// The names below `.git` that the plan protects in a working directory.
fn protected_names(confined: &Confined, root: &Path) -> BTreeSet<OsString> {
    let git = root.join(".git");
    confined
        .places
        .iter()
        .filter(|place| matches!(place.why, Why::Protected(_)))
        .filter_map(|place| place.path.strip_prefix(&git).ok())
        .filter_map(|below| below.file_name().map(OsString::from))
        .collect()
}

/// Every `.git` in and below a folder, within bounds; the nearest first.
fn markers(root: &Path) -> Result<Vec<PathBuf>, LayoutError> {
    let mut found = Vec::new();
    let mut looked = 0;
    let mut left = VecDeque::from([(root.to_owned(), 0)]);
    while let Some((folder, depth)) = left.pop_front() {
        let listed = listing::each(&folder, |entry| {
            looked += 1;
            if looked > MOST_ENTRIES {
                return ControlFlow::Break(());
            }
            if entry.name == ".git" {
                found.push(folder.join(entry.name));
            }
            let skipped = SKIPPED.iter().any(|known| entry.name == *known);
            if depth < DEPTH && !skipped && entry.is_folder() {
                left.push_back((folder.join(entry.name), depth + 1));
            }
            ControlFlow::Continue(())
        })?;
        if listed.is_some_and(|listed| listed.is_break()) {
            break;
        }
    }
    Ok(found)
}

fn protect_one(draft: &mut Draft, root: &Path, marker: &Path, names: &BTreeSet<OsString>) -> Result<(), LayoutError> {
    let folder = match pointed(marker, "gitdir: ") {
        None => marker.to_owned(),
        Some(folder) => {
            draft.place(marker, Access::ReadOnly, Kind::Protected)?;
            let shared = shared_folder(&folder);
            if marker.parent() == Some(root) && is_linked(&shared, &folder, marker) {
                draft.place(&shared, Access::Writable, Kind::Plain)?;
            }
            for pointer in POINTERS {
                if folder.join(pointer).symlink_metadata().is_ok() {
                    draft.place(&folder.join(pointer), Access::ReadOnly, Kind::Protected)?;
                }
            }
            shared
        }
    };
    for name in names {
        draft.place(&folder.join(name), Access::ReadOnly, Kind::Protected)?;
    }
    Ok(())
}

/// The path in a small file that points elsewhere, without links.
fn pointed(file: &Path, prefix: &str) -> Option<PathBuf> {
    if !file.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let text = fs::read_to_string(file).ok()?;
    let path = text.strip_prefix(prefix)?.trim_end_matches(['\n', '\r']);
    fs::canonicalize(file.parent()?.join(path)).ok()
}

/// Where a worktree's hooks and configuration are: in the repository it belongs to.
fn shared_folder(folder: &Path) -> PathBuf {
    pointed(&folder.join("commondir"), "").unwrap_or_else(|| folder.to_owned())
}

/// Whether a repository knows this worktree as its own. A `.git` file alone proves nothing: it could point anywhere.
fn is_linked(shared: &Path, folder: &Path, marker: &Path) -> bool {
    let back = pointed(&folder.join("gitdir"), "");
    folder.parent() == Some(&shared.join("worktrees"))
        && is_repository(shared)
        && back.is_some_and(|back| fs::canonicalize(marker).is_ok_and(|marker| marker == back))
}
