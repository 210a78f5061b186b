//! After a run: removes what must not have appeared. A folder with the parts of a repository makes git run what stands
//! in it, and a repository that the command made itself may hold hooks.
//!
//! Works only when nothing inside lives any more, never follows a link, and never touches what was there before.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::layout::Layout;

/// Settings of a repository that make git run nothing. Everything else in a new configuration is taken out.
const HARMLESS: [(&str, &[&str]); 6] = [
    (
        "core",
        &[
            "repositoryformatversion",
            "filemode",
            "bare",
            "logallrefupdates",
            "ignorecase",
            "symlinks",
            "precomposeunicode",
            "autocrlf",
            "eol",
        ],
    ),
    ("remote", &["url", "fetch", "pushurl"]),
    ("branch", &["remote", "merge", "rebase"]),
    ("user", &["name", "email"]),
    ("init", &["defaultbranch"]),
    ("submodule", &["active", "url"]),
];

/// What was not there before a run.
#[derive(Debug, Default)]
pub(crate) struct Scrub {
    absent: Vec<PathBuf>,
    unborn: Vec<PathBuf>,
}

impl Scrub {
    /// Looks before the run.
    pub(crate) fn before(layout: &Layout) -> Self {
        let absent = layout.scrubbed.iter().filter(|path| !exists(path)).cloned().collect();
        Self { absent, unborn: layout.unborn.clone() }
    }

    /// Removes what appeared, and tells it.
    pub(crate) fn after(self) -> Vec<PathBuf> {
        let appeared: Vec<PathBuf> = self.absent.into_iter().filter(|path| makes_a_repository(path)).collect();
        let mut removed: Vec<PathBuf> = appeared.into_iter().filter(|path| remove(path)).collect();
        for folder in self.unborn {
            removed.extend(clean_repository(&folder));
        }
        removed
    }
}

/// Whether a name that must not appear matters where it stands. `config` and `hooks` are what many projects call
/// folders of their own, and git looks at them only beside the other parts of a repository.
pub(crate) fn makes_a_repository(path: &Path) -> bool {
    let is_ordinary = path.file_name().is_some_and(|name| name == "config" || name == "hooks");
    let beside = |name: &str| path.parent().is_some_and(|folder| exists(&folder.join(name)));
    !is_ordinary || ["HEAD", "objects", "refs"].into_iter().any(beside)
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Removes whatever is at a path; whether there was something.
fn remove(path: &Path) -> bool {
    match path.symlink_metadata() {
        Ok(found) if found.is_dir() => {
            if fs::remove_dir_all(path).is_ok() {
                return true;
            }
            // The command may have taken its own permissions away.
            if let Some(held) = Held::of(path) {
                held.open_up();
            }
            fs::remove_dir_all(path).is_ok()
        }
        Ok(_) => fs::remove_file(path).is_ok(),
        Err(_) => false,
    }
}

/// A folder that stays the same one whatever happens to its name: another run in the same project may be at work.
struct Held {
    /// Leads to the folder itself, for as long as it is open.
    path: PathBuf,
    _folder: OwnedFd,
}

impl Held {
    /// Takes hold of a folder, never of what a link leads to.
    fn of(path: &Path) -> Option<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = rustix::fs::open(path, flags, Mode::empty()).ok()?;
        Some(Self { path: PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())), _folder: folder })
    }

    /// Makes sure that it can be looked into: what cannot be read could not be cleaned either.
    fn enter(&self) {
        let Ok(found) = fs::metadata(&self.path) else { return };
        let mode = found.permissions().mode();
        if mode & 0o700 != 0o700 {
            let _ = fs::set_permissions(&self.path, fs::Permissions::from_mode(mode | 0o700));
        }
    }

    /// The same for every folder in it.
    fn open_up(&self) {
        self.enter();
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            if let Some(inner) = Held::of(&entry.path()) {
                inner.open_up();
            }
        }
    }
}

/// A repository that the command made: what git would run in it is taken out.
fn clean_repository(folder: &Path) -> Vec<PathBuf> {
    let Some(held) = Held::of(folder) else {
        // A file or a link would lead git to a repository elsewhere, with hooks that nobody looked at.
        return remove(folder).then(|| folder.to_owned()).into_iter().collect();
    };
    held.enter();
    let mut removed: Vec<PathBuf> = ["commondir", "config.worktree"]
        .iter()
        .filter(|name| remove(&held.path.join(name)))
        .map(|name| folder.join(name))
        .collect();
    removed.extend(clean_hooks(&held.path.join("hooks")).into_iter().map(|hook| folder.join("hooks").join(hook)));
    if clean_configuration(&held.path.join("config")) {
        removed.push(folder.join("config"));
    }
    removed
}

/// Hooks, but for the samples that git puts there and does not run; their names. All of them, where it is no folder.
fn clean_hooks(hooks: &Path) -> Vec<OsString> {
    let Some(held) = Held::of(hooks) else {
        return remove(hooks).then(OsString::new).into_iter().collect();
    };
    held.enter();
    let Ok(entries) = fs::read_dir(&held.path) else { return Vec::new() };
    entries
        .flatten()
        .filter(|entry| entry.path().extension().is_none_or(|ending| ending != "sample"))
        .filter(|entry| remove(&entry.path()))
        .map(|entry| entry.file_name())
        .collect()
}

/// Keeps only harmless settings; whether anything was taken out.
fn clean_configuration(file: &Path) -> bool {
    match file.symlink_metadata() {
        Ok(found) if found.is_file() => (),
        Ok(_) | Err(_) => return remove(file),
    }
    let Ok(text) = fs::read_to_string(file) else { return remove(file) };
    let kept = harmless(&text);
    if kept == text {
        return false;
    }
    // Not written in place: it may be a hard link to something else. Nor through what appeared meanwhile.
    if remove(file)
        && let Ok(mut new) = fs::File::options().write(true).create_new(true).open(file)
    {
        let _ = new.write_all(kept.as_bytes());
    }
    true
}

/// A configuration without all that git could run. Lines that are not plainly harmless go.
fn harmless(text: &str) -> String {
    let mut section = String::new();
    let mut continued = false;
    let mut kept = String::new();
    for line in text.split_inclusive('\n') {
        let plain = line.trim();
        let follows = std::mem::replace(&mut continued, plain.ends_with('\\'));
        let keeps = if follows || continued {
            false
        } else if let Some(header) = plain.strip_prefix('[') {
            section = header.split([' ', '"', ']', '.']).next().unwrap_or_default().to_ascii_lowercase();
            plain.ends_with(']') && is_known(&section)
        } else {
            plain.is_empty() || is_harmless(&section, plain)
        };
        if keeps {
            kept.push_str(line);
        }
    }
    kept
}

fn is_known(section: &str) -> bool {
    HARMLESS.iter().any(|(known, _)| *known == section)
}

fn is_harmless(section: &str, line: &str) -> bool {
    let name = line.split(['=', ' ', '\t']).next().unwrap_or_default().to_ascii_lowercase();
    // A remote with a helper in its address runs that helper.
    let helper = line.contains("::");
    !helper && HARMLESS.iter().any(|(known, names)| *known == section && names.contains(&name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_keeps_only_what_runs_nothing() {
        for (given, wanted) in [
            ("[core]\n\tbare = false\n", "[core]\n\tbare = false\n"),
            ("[core]\n\tfsmonitor = ./x\n\tbare = false\n", "[core]\n\tbare = false\n"),
            ("[core] fsmonitor = ./x\n", ""),
            ("[include]\n\tpath = ../x\n", ""),
            ("[core]\n\tbare = \\\nfsmonitor = x\n", "[core]\n"),
            ("[alias]\n\tst = !x\n[user]\n\tname = A\n", "[user]\n\tname = A\n"),
            ("[remote \"o\"]\n\turl = ext::sh -c x\n", "[remote \"o\"]\n"),
            ("[remote \"o\"]\n\turl = https://a.org/b\n", "[remote \"o\"]\n\turl = https://a.org/b\n"),
        ] {
            assert_eq!(harmless(given), wanted, "{given}");
        }
    }
}
