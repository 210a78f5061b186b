//! Saving to settings files: an approval kept as a rule, `mayi rules add`. A file is replaced whole or not at all,
//! everything else in it stays, and nothing is ever written through a link that leads out of its folder.

mod edit;
pub mod mend;
pub mod replace;

use std::path::{Path, PathBuf};

use mayi_core::mode::Mode;
use mayi_core::policy::Layer;

use crate::document::{self, Unreadable};
use crate::places::Places;
use crate::update::PermissionUpdate;

use replace::{Privacy, replace};

/// Why nothing was saved.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// Only user, project and local settings are files that mayi writes.
    #[error("{0} settings are not written by mayi\nhelp: save to localSettings, projectSettings or userSettings")]
    NotWritable(&'static str),
    /// A mode that no file may start a session in.
    #[error("`{0}` is never saved as a starting mode\nhelp: start a session with it instead")]
    Mode(Mode),
    /// A mode that only the person's own settings may start sessions in.
    #[error("`{0}` is a starting mode in user settings alone\nhelp: save it there (mayi mode {0} --to user)")]
    UserMode(Mode),
    /// The file cannot be read, so it cannot be changed with care.
    #[error("{}\nhelp: mend the file first; nothing was changed", error.located(path))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: Unreadable,
    },
    /// A key that holds something else than it should.
    #[error("`{0}` does not hold what it should\nhelp: mend the file first; `mayi rules lint` shows where")]
    Shape(&'static str),
    /// A link that leads elsewhere.
    #[error("`{}` leads out of `{}` through a symbolic link", path.display(), within.display())]
    Link {
        /// The file.
        path: PathBuf,
        /// The folder it must stay in.
        within: PathBuf,
    },
    /// A link that leads nowhere.
    #[error("`{}` goes through a symbolic link to something that is not there\nhelp: make what it leads to, or remove the link", .0.display())]
    Dangling(PathBuf),
    /// Somebody else kept changing the file.
    #[error("`{}` was changed by somebody else each time we tried\nhelp: try again", .0.display())]
    Changed(PathBuf),
    /// The system refused.
    #[error("`{}` cannot be written: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// How often a change is tried when somebody else changes the file at the same time.
const TRIES: usize = 8;

/// Saves updates, each to the file of its destination. Those of one file are saved together; the first file that
/// cannot be written ends the saving. Gives the files that changed.
pub fn save(places: &Places, updates: &[PermissionUpdate]) -> Result<Vec<PathBuf>, SaveError> {
    for update in updates {
        check(update)?;
    }
    let mut changed = Vec::new();
    for layer in [Layer::Local, Layer::Project, Layer::User] {
        let of_layer: Vec<PermissionUpdate> =
            updates.iter().filter(|update| update.destination().layer() == Some(layer)).cloned().collect();
        if of_layer.is_empty() {
            continue;
        }
        let path = places.writable(layer).ok_or(SaveError::NotWritable(layer.word()))?;
        if save_to(&Target { within: within(places, layer, &path), path: path.clone(), layer }, &of_layer)? {
            changed.push(path);
        }
    }
    Ok(changed)
}

/// Whether an update may be saved at all.
fn check(update: &PermissionUpdate) -> Result<(), SaveError> {
    let Some(layer) = update.destination().layer() else { return Err(SaveError::NotWritable("session and option")) };
    match update {
        PermissionUpdate::SetMode { mode: mode @ Mode::BypassPermissions, .. } => Err(SaveError::Mode(*mode)),
        PermissionUpdate::SetMode { mode: mode @ Mode::Auto, .. } if layer != Layer::User => {
            Err(SaveError::UserMode(*mode))
        }
        PermissionUpdate::SetMode { .. }
        | PermissionUpdate::AddRules(_)
        | PermissionUpdate::ReplaceRules(_)
        | PermissionUpdate::RemoveRules(_)
        | PermissionUpdate::AddDirectories(_)
        | PermissionUpdate::RemoveDirectories(_) => Ok(()),
    }
}

/// The folder that a layer's file must not leave.
fn within(places: &Places, layer: Layer, path: &Path) -> PathBuf {
    let beside = || path.parent().unwrap_or(path).to_owned();
    match layer {
        Layer::Project => places.directory.clone(),
        Layer::Local => places.repository.clone().unwrap_or_else(|| places.directory.clone()),
        Layer::User => places.home.clone().filter(|home| path.starts_with(home)).unwrap_or_else(beside),
        Layer::Managed | Layer::Flag | Layer::Cli | Layer::Command | Layer::Session => beside(),
    }
}

struct Target {
    path: PathBuf,
    within: PathBuf,
    layer: Layer,
}

/// Replaces a settings file of a layer by a mended text, if it still holds the text that was read.
pub fn save_mended(places: &Places, (layer, path): (Layer, &Path), texts: (&str, &str)) -> Result<(), SaveError> {
    match layer {
        Layer::Local | Layer::Project | Layer::User | Layer::Flag => {}
        Layer::Managed | Layer::Cli | Layer::Command | Layer::Session => {
            return Err(SaveError::NotWritable(layer.word()));
        }
    }
    let file = replace::located(path, &within(places, layer, path))?;
    match replace(&file, Some(texts.0), texts.1, Privacy::Own)? {
        true => Ok(()),
        false => Err(SaveError::Changed(file)),
    }
}

/// Whether an update can change a file that is not there.
fn adds(update: &PermissionUpdate) -> bool {
    match update {
        PermissionUpdate::RemoveRules(_) | PermissionUpdate::RemoveDirectories(_) => false,
        PermissionUpdate::AddRules(_)
        | PermissionUpdate::ReplaceRules(_)
        | PermissionUpdate::SetMode { .. }
        | PermissionUpdate::AddDirectories(_) => true,
    }
}

/// Saves to one file. True when it changed.
fn save_to(target: &Target, updates: &[PermissionUpdate]) -> Result<bool, SaveError> {
    if target.path.symlink_metadata().is_err() && !updates.iter().any(adds) {
        return Ok(false);
    }
    let privacy = match target.layer {
        Layer::Project => Privacy::Shared,
        Layer::Managed | Layer::Flag | Layer::Cli | Layer::Command | Layer::Session | Layer::Local | Layer::User => {
            Privacy::Own
        }
    };
    let path = replace::prepared(&target.path, &target.within)?;
    let is_new = !path.exists();
    for _ in 0..TRIES {
        let unreadable = |error| SaveError::Unreadable { path: path.clone(), error };
        let before = document::read_text(&path).map_err(unreadable)?;
        let after = edit::edited(before.as_deref().unwrap_or_default(), updates, &path)?;
        if before.as_deref() == Some(after.as_str()) {
            return Ok(false);
        }
        if replace(&path, before.as_deref(), &after, privacy)? {
            if is_new && target.layer == Layer::Local {
                ignore(&path, &target.within)?;
            }
            return Ok(true);
        }
    }
    Err(SaveError::Changed(path))
}

/// Keeps a new local file of mayi's out of the repository.
fn ignore(path: &Path, within: &Path) -> Result<(), SaveError> {
    let folder = path.parent().unwrap_or(path);
    if folder.file_name().is_none_or(|name| name != ".mayi") {
        return Ok(());
    }
    const LINE: &str = "settings.local.json";
    let list = replace::prepared(&folder.join(".gitignore"), within)?;
    for _ in 0..TRIES {
        let unreadable = |error| SaveError::Unreadable { path: list.clone(), error };
        let before = document::read_text(&list).map_err(unreadable)?;
        let text = before.clone().unwrap_or_default();
        if text.lines().any(|line| line.trim() == LINE) {
            return Ok(());
        }
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        if replace(&list, before.as_deref(), &format!("{text}{gap}{LINE}\n"), Privacy::Shared)? {
            return Ok(());
        }
    }
    Err(SaveError::Changed(list))
}
