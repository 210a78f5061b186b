//! Carrying out the steps: a copy of what was there, then the new text in one piece. Whatever goes wrong, a file is
//! the old one or the new one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use mayi_settings::document;
use mayi_settings::write::SaveError;
use mayi_settings::write::replace::{self, Privacy};
use similar::TextDiff;

use super::InstallError;
use super::ground::Location;
use super::plan::{Old, Step};

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It was made.
    Created,
    /// It was changed.
    Changed,
    /// It is again what it was before the installation, byte for byte.
    Restored,
    /// It is gone.
    Removed,
    /// Nothing had to be done.
    Unchanged,
}

/// What became of a file, with all that a person wants to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The file.
    pub path: PathBuf,
    /// What became of it.
    pub change: Change,
    /// The copy of what was there.
    pub backup: Option<PathBuf>,
    /// The change, as lines.
    pub diff: String,
}

impl Outcome {
    /// What a step would do.
    pub(super) fn shown(step: &Step) -> Self {
        let change = match (&step.before, &step.after, &step.old) {
            (None, None, _) => Change::Unchanged,
            (Some(_), Some(_), _) if step.is_idle() => Change::Unchanged,
            (Some(_), Some(_), Old::Restored(_)) => Change::Restored,
            (Some(_), Some(_), Old::Kept | Old::Dropped) => Change::Changed,
            (None, Some(_), _) => Change::Created,
            (Some(_), None, _) => Change::Removed,
        };
        Self { path: step.path.clone(), change, backup: None, diff: diff(step) }
    }

    /// A step that has nothing left to do.
    pub(super) fn unchanged(step: &Step) -> Self {
        Self { path: step.path.clone(), change: Change::Unchanged, backup: None, diff: String::new() }
    }
}

/// How far the steps came.
pub(super) enum Performed {
    /// Every step was done.
    Fully(Vec<Outcome>),
    /// Somebody changed a file after it was read; the steps before it were done.
    Partly(Vec<Outcome>),
}

/// Does every step.
pub(super) fn perform(steps: &[Step]) -> Result<Performed, InstallError> {
    let mut outcomes = Vec::new();
    for step in steps {
        match done(step)? {
            Some(outcome) => outcomes.push(outcome),
            None => return Ok(Performed::Partly(outcomes)),
        }
    }
    Ok(Performed::Fully(outcomes))
}

/// Does a step; `None` when somebody changed the file meanwhile.
fn done(step: &Step) -> Result<Option<Outcome>, SaveError> {
    let mut outcome = Outcome::shown(step);
    if outcome.change == Change::Unchanged {
        return Ok(Some(outcome));
    }
    let Some(after) = &step.after else {
        return Ok(removed(step)?.then_some(outcome));
    };
    let path = replace::prepared(&step.location.path, &step.location.within)?;
    let copy = match (&step.before, &step.old) {
        (Some(before), Old::Kept) => Some(kept(&path, before)?),
        (Some(_) | None, Old::Kept | Old::Dropped | Old::Restored(_)) => None,
    };
    if !replace::replace(&path, step.before.as_deref(), after, step.privacy)? {
        // The copy stays: another mayi may rely on it by now.
        return Ok(None);
    }
    if step.privacy == Privacy::Program {
        make_runnable(&path).map_err(|source| SaveError::Io { path: path.clone(), source })?;
    }
    if let Old::Restored(copy) = &step.old {
        // The file holds all that the copy did.
        let _ = fs::remove_file(copy);
    }
    outcome.backup = copy;
    Ok(Some(outcome))
}

/// Removes a file, if it is still the one that was read, and the folders of ours that are empty without it.
fn removed(step: &Step) -> Result<bool, SaveError> {
    let io = |source| SaveError::Io { path: step.path.clone(), source };
    let now = document::read_text(&step.path);
    let now = now.map_err(|error| SaveError::Unreadable { path: step.path.clone(), error })?;
    if now != step.before {
        return Ok(false);
    }
    fs::remove_file(&step.path).map_err(io)?;
    for folder in own_folders(step).map_err(io)? {
        // A folder that holds anything is not removed, and neither is one above it.
        if fs::remove_dir(folder).is_err() {
            break;
        }
    }
    Ok(true)
}

/// The folders of a file that nobody but mayi makes, the innermost first: the one with its name and what is in it. Any
/// other may have been there before, and so may whatever a link leads to.
fn own_folders(step: &Step) -> io::Result<Vec<PathBuf>> {
    let Location { path, within } = &step.location;
    let Ok(below) = path.strip_prefix(within) else { return Ok(Vec::new()) };
    let root = within.canonicalize()?;
    let is_plain = root.join(below) == step.path;
    let is_own = |folder: &&Path| folder.iter().any(|name| name == "mayi");
    let own = below.ancestors().skip(1).take_while(is_own).filter(|_| is_plain);
    Ok(own.map(|folder| root.join(folder)).collect())
}

/// The most copies that are kept of one file.
const COPIES: usize = 99;

fn copy_name(path: &Path, number: usize) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let number = if number == 1 { String::new() } else { format!("-{number}") };
    path.with_file_name(format!("{name}.mayi-backup{number}"))
}

/// The copies of a file, oldest first.
pub(super) fn backups(path: &Path) -> Vec<PathBuf> {
    (1..=COPIES).map(|number| copy_name(path, number)).filter(|copy| copy.is_file()).collect()
}

/// Keeps what a file holds beside it, with its mode. A copy that says the same already is enough.
fn kept(path: &Path, text: &str) -> Result<PathBuf, SaveError> {
    let io = |source| SaveError::Io { path: path.to_owned(), source };
    for copy in (1..=COPIES).map(|number| copy_name(path, number)) {
        let is_same = || document::read_text(&copy).is_ok_and(|kept| kept.as_deref() == Some(text));
        if copy.symlink_metadata().is_ok() {
            if is_same() {
                return Ok(copy);
            }
            continue;
        }
        if replace::replace(&copy, None, text, Privacy::Own)? {
            fs::set_permissions(&copy, fs::metadata(path).map_err(io)?.permissions()).map_err(io)?;
            return Ok(copy);
        }
        // Another mayi was faster, most likely with the same.
        if is_same() {
            return Ok(copy);
        }
    }
    Err(io(io::Error::other("there are too many copies of it; remove some")))
}

#[cfg(unix)]
fn make_runnable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(path)?.permissions().mode();
    // Whoever can read it can run it.
    fs::set_permissions(path, fs::Permissions::from_mode(mode | ((mode & 0o444) >> 2)))
}

#[cfg(not(unix))]
fn make_runnable(_path: &Path) -> io::Result<()> {
    Ok(())
}

fn diff(step: &Step) -> String {
    let name = |text: &Option<String>| match text {
        Some(_) => step.path.display().to_string(),
        None => "/dev/null".to_owned(),
    };
    let (before, after) = (step.before.as_deref().unwrap_or_default(), step.after.as_deref().unwrap_or_default());
    let lines = TextDiff::from_lines(before, after);
    lines.unified_diff().context_radius(3).header(&name(&step.before), &name(&step.after)).to_string()
}
