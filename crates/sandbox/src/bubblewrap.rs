//! A layout as arguments of bubblewrap, for hosts that let only that program make namespaces. Pure but for one trial.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::layout::{Cover, Layout};
use crate::native;
use crate::plan::{Files, Nesting, Plan};

/// Namespaces and rights, the same for every run.
const ALWAYS: [&str; 9] = [
    "--unshare-user",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--die-with-parent",
    "--cap-drop",
    "ALL",
];

/// Whether bubblewrap works here. Tried: it may be there and be refused what it needs.
pub(crate) fn works(program: &Path) -> Result<(), String> {
    let tried = Command::new(program)
        .args(ALWAYS)
        .args(["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "true"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    match tried.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&tried.stderr).trim().to_owned()),
    }
}

/// The arguments for a layout, up to the command. `filter` is the descriptor of the filter of system calls.
pub(crate) fn arguments(plan: &Plan, layout: &Layout, filter: i32) -> Vec<OsString> {
    let mut words: Vec<OsString> = ALWAYS.map(OsString::from).into();
    match plan.files {
        Files::Open => words.extend(["--bind", "/", "/", "--dev-bind", "/dev", "/dev"].map(OsString::from)),
        Files::Confined(_) => {
            let root = if layout.covers.contains(Path::new("/")) { "--bind" } else { "--ro-bind" };
            words.extend([root, "/", "/", "--dev", "/dev"].map(OsString::from));
        }
    }
    // A view of the host's processes would lead to the host's files, so there is no other choice.
    words.extend(["--proc", "/proc"].map(OsString::from));
    // Without any capability, root is still the owner of these, and bubblewrap leaves them open.
    for path in native::machine() {
        words.extend(["--ro-bind".into(), path.clone().into_os_string(), path.into_os_string()]);
    }
    match plan.nesting {
        // Bubblewrap's own first process has no filter of calls: nobody may write into its memory.
        Nesting::Refused => words.extend(["--remount-ro", "/proc"].map(OsString::from)),
        Nesting::Possible => (),
    }
    let mut sealed = Vec::new();
    for (path, cover) in layout.covers.iter().filter(|(path, _)| *path != Path::new("/")) {
        words.extend(cover_words(path, cover));
        if matches!(cover, Cover::HiddenFolder | Cover::Emptied) {
            sealed.push(path);
        }
    }
    for path in sealed {
        words.extend(["--remount-ro".into(), path.into()]);
    }
    words.extend(["--chdir".into(), plan.directory.clone().into_os_string()]);
    words.extend(["--seccomp".into(), filter.to_string().into(), "--".into()]);
    words
}

/// Links that should stay in their place and that bubblewrap cannot hold: it follows them.
pub(crate) fn loose_links(layout: &Layout) -> Vec<PathBuf> {
    let pinned = layout.covers.iter().filter(|(_, cover)| **cover == Cover::Pinned);
    pinned.map(|(path, _)| path).filter(|path| path.is_symlink()).map(Path::to_owned).collect()
}

fn cover_words(path: &Path, cover: &Cover) -> Vec<OsString> {
    let two = |how: &str, from: &Path| vec![how.into(), from.into(), path.into()];
    match cover {
        Cover::Pinned if path.is_symlink() => Vec::new(),
        Cover::Writable | Cover::Pinned if path.starts_with("/dev") => two("--dev-bind", path),
        Cover::Writable | Cover::Pinned => two("--bind", path),
        Cover::ReadOnly => two("--ro-bind", path),
        Cover::HiddenFolder => {
            ["--perms", "0000", "--tmpfs"].map(OsString::from).into_iter().chain([path.into()]).collect()
        }
        Cover::Emptied => vec!["--tmpfs".into(), path.into()],
        // Devices do not work on such a mount, so this one cannot even be opened.
        Cover::HiddenFile => two("--ro-bind", Path::new("/dev/null")),
        Cover::Temporary(None) => {
            ["--perms", "1777", "--tmpfs"].map(OsString::from).into_iter().chain([path.into()]).collect()
        }
        Cover::Temporary(Some(folder)) => two("--bind", folder),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cover_becomes_arguments_in_order_and_hidden_folders_are_sealed_last() {
        let covers = [
            ("/h", Cover::HiddenFolder),
            ("/h2", Cover::Emptied),
            ("/h2/open", Cover::ReadOnly),
            ("/w", Cover::Writable),
            ("/w/.env", Cover::HiddenFile),
            ("/w/.git", Cover::Pinned),
        ];
        let covers = covers.map(|(path, cover)| (PathBuf::from(path), cover)).into_iter().collect();
        let layout = Layout { covers, ..Layout::default() };
        let words: Vec<String> = layout
            .covers
            .iter()
            .flat_map(|(path, cover)| cover_words(path, cover))
            .map(|word| word.into_string().unwrap())
            .collect();
        let wanted = "--perms 0000 --tmpfs /h --tmpfs /h2 --ro-bind /h2/open /h2/open --bind /w /w \
                      --ro-bind /dev/null /w/.env --bind /w/.git /w/.git";
        assert_eq!(words.join(" "), wanted);
    }
}
