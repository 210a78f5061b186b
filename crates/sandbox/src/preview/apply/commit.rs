//! Putting staged things in place, step by step. A step that is found done is not done again, so that a process that
//! died is followed by one that goes on; and every step can be undone.

use std::io;
use std::path::{Path, PathBuf};

use super::super::PreviewError;
use super::super::beneath::Root;
use super::super::change::Change;
use super::super::name_of;
use super::super::node::{Node, Reading};
use super::journal::{Deed, Journal, Phase, Step, Which};
use super::{Site, failed, holds_the_same};

/// Does all steps, or none of them.
pub(super) fn commit(site: &Site<'_>, journal: &mut Journal) -> Result<(), PreviewError> {
    for step in &journal.steps {
        let Err(problem) = done(site, step) else { continue };
        journal.enter(Phase::TakingBack, site.folder)?;
        take_back(site, journal)?;
        return Err(problem);
    }
    for root in &site.roots {
        root.sync().map_err(|source| PreviewError::Halfway { path: name_of(root.path()), source })?;
    }
    Ok(())
}

/// Undoes all steps, the last first, and forgets that anything was begun.
pub(super) fn take_back(site: &Site<'_>, journal: &mut Journal) -> Result<(), PreviewError> {
    journal.enter(Phase::TakingBack, site.folder)?;
    for step in journal.steps.iter().rev() {
        let root = site.root(step.root)?;
        let path = root.path().join(&step.path);
        undone(root, site, step).map_err(|source| PreviewError::Halfway { path: name_of(&path), source })?;
    }
    site.clear().map_err(|(path, source)| PreviewError::Halfway { path, source })?;
    journal.steps.clear();
    journal.enter(Phase::Staging, site.folder)
}

pub(super) fn done(site: &Site<'_>, step: &Step) -> Result<(), PreviewError> {
    let root = site.root(step.root)?;
    let failed = |source| failed(&root.path().join(&step.path), source);
    match &step.deed {
        Deed::Put { staged, new } => {
            if is_at(root, &step.path, *new).map_err(failed)? {
                return Ok(());
            }
            match root.rename(&site.staged(staged), &step.path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(overtaken(root, step)),
                moved => moved.map_err(failed),
            }
        }
        Deed::Swap { staged, new } => {
            let staged = site.staged(staged);
            if is_at(root, &step.path, *new).map_err(failed)? {
                return Ok(());
            }
            root.exchange(&staged, &step.path).map_err(|error| gone_or_failed(root, step, error))?;
            if was_the_original(site, step, &staged)? {
                return Ok(());
            }
            root.exchange(&staged, &step.path).map_err(failed)?;
            Err(overtaken(root, step))
        }
        Deed::Take { staged } => {
            let staged = site.staged(staged);
            if root.hold(&staged).map_err(failed)?.is_some() {
                return Ok(());
            }
            root.rename(&step.path, &staged).map_err(|error| gone_or_failed(root, step, error))?;
            if was_the_original(site, step, &staged)? {
                return Ok(());
            }
            root.rename(&staged, &step.path).map_err(failed)?;
            Err(overtaken(root, step))
        }
        Deed::Mode { of, to, .. } => match root.hold(&step.path).map_err(failed)? {
            Some(held) if Which::of(&held) == *of => held.set_mode(*to).map_err(failed),
            Some(_) | None => Err(overtaken(root, step)),
        },
    }
}

/// Whether what was moved out of the way is what was there when the command was previewed: whoever changed it between
/// the check and this moment is noticed here.
fn was_the_original(site: &Site<'_>, step: &Step, staged: &Path) -> Result<bool, PreviewError> {
    let root = site.root(step.root)?;
    let failed = |source| failed(&root.path().join(&step.path), source);
    let Some(change) = site.change(step) else { return Ok(false) };
    let now = Node::at(root, staged, &mut Reading::UpTo(0)).map_err(failed)?;
    match (&change.before, now) {
        // A file in a folder may have another name, by which an earlier step touched it.
        (Some(before), Some(now)) if now.is_moved(before) => holds_the_same((root, staged), change, Node::is_moved),
        (Some(_) | None, Some(_) | None) => Ok(false),
    }
}

fn undone(root: &Root, site: &Site<'_>, step: &Step) -> io::Result<()> {
    match &step.deed {
        Deed::Put { staged, new } => {
            if is_at(root, &step.path, *new)? {
                root.rename(&step.path, &site.staged(staged))?;
            }
        }
        Deed::Swap { staged, new } => {
            if is_at(root, &step.path, *new)? {
                root.exchange(&site.staged(staged), &step.path)?;
            }
        }
        Deed::Take { staged } => {
            let staged = site.staged(staged);
            if root.hold(&staged)?.is_some() {
                root.rename(&staged, &step.path)?;
            }
        }
        Deed::Mode { of, from, .. } => {
            if let Some(held) = root.hold(&step.path)?.filter(|held| Which::of(held) == *of) {
                held.set_mode(*from)?;
            }
        }
    }
    Ok(())
}

impl Site<'_> {
    fn staged(&self, name: &str) -> PathBuf {
        self.staging.join(name)
    }

    fn change(&self, step: &Step) -> Option<&Change> {
        self.manifest.found.as_ref()?.changes.get(step.change)
    }
}

fn is_at(root: &Root, path: &Path, file: Which) -> io::Result<bool> {
    Ok(root.hold(path)?.is_some_and(|held| Which::of(&held) == file))
}

fn overtaken(root: &Root, step: &Step) -> PreviewError {
    PreviewError::Changed { paths: vec![name_of(&root.path().join(&step.path))] }
}

fn gone_or_failed(root: &Root, step: &Step, error: io::Error) -> PreviewError {
    if error.kind() == io::ErrorKind::NotFound {
        overtaken(root, step)
    } else {
        failed(&root.path().join(&step.path), error)
    }
}
