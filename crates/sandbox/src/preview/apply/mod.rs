//! Applying a change set: all of it or nothing.
//!
//! ```text
//! check every original ──► stage all that is new, in a folder beside ──► put it in place, step by step ──► tidy up
//!                             a full disk is noticed here                 each step can be done again or undone
//! ```
//!
//! A journal in the preview's folder says which phase it is in, so that whoever comes after a crash goes on or goes
//! back. What is replaced or deleted is moved to the staging folder, and is gone only when everything is in place.

mod commit;
mod journal;
mod stage;

use std::io;
use std::path::{Path, PathBuf};

use super::beneath::Root;
use super::change::{Change, ChangeSet, Inside, Withheld};
use super::manifest::Manifest;
use super::node::{Node, Reading};
use super::walk::{self, InsideProblem, Lent};
use super::{PreviewError, name_of, opened};
use journal::{Journal, Phase};

/// What was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// What is changed now.
    pub changed: Vec<PathBuf>,
    /// What was shown and never applied.
    pub withheld: Vec<(PathBuf, Withheld)>,
}

/// What applying works on.
struct Site<'a> {
    manifest: &'a Manifest,
    /// The preview's folder.
    folder: &'a Path,
    /// The originals.
    roots: Vec<Root>,
    /// The name of the staging folder in each of them.
    staging: PathBuf,
}

/// Applies what was shown, or goes on with it.
pub(super) fn apply(manifest: &Manifest, folder: &Path) -> Result<Applied, PreviewError> {
    let unseen = || PreviewError::Unseen { id: manifest.id.clone() };
    let set = manifest.found.as_ref().ok_or_else(unseen)?;
    let site = Site::of(manifest, folder)?;
    let mut journal = Journal::read(folder)?;
    if journal.phase == Phase::TakingBack {
        commit::take_back(&site, &mut journal)?;
    }
    if journal.phase == Phase::Staging {
        site.clear().map_err(unwritable)?;
        check(set, &site)?;
        journal.write(folder)?;
        journal.steps = stage::stage(set, &site).inspect_err(|_| site.leave())?;
        for root in &site.roots {
            let synced = root.sync();
            synced.map_err(|source| failed(root.path(), source)).inspect_err(|_| site.leave())?;
        }
        journal.enter(Phase::Committing, folder).inspect_err(|_| site.leave())?;
    }
    if journal.phase == Phase::Committing {
        commit::commit(&site, &mut journal)?;
        journal.enter(Phase::Done, folder)?;
    }
    site.clear().map_err(|(path, source)| PreviewError::Leftover { path, source })?;
    Ok(Applied {
        changed: set.applied().map(|change| set.path_of(change)).collect(),
        withheld: set.withheld().map(|(change, why)| (set.path_of(change), why.clone())).collect(),
    })
}

/// Undoes what a process that died had begun to apply. What was applied in full stays.
pub(super) fn take_back(manifest: &Manifest, folder: &Path) -> Result<(), PreviewError> {
    let mut journal = match Journal::read_if_any(folder)? {
        Some(journal) => journal,
        None => return Ok(()),
    };
    let site = Site::of(manifest, folder)?;
    match journal.phase {
        Phase::Committing | Phase::TakingBack => commit::take_back(&site, &mut journal),
        Phase::Staging | Phase::Done => site.clear().map_err(unwritable),
    }
}

/// Whether a process died while it put things in place, and nobody has decided yet whether to go on or back.
pub(super) fn is_underway(folder: &Path) -> bool {
    !matches!(Journal::read_if_any(folder), Ok(None))
}

impl<'a> Site<'a> {
    fn of(manifest: &'a Manifest, folder: &'a Path) -> Result<Self, PreviewError> {
        let roots = manifest.roots.iter().map(opened).collect::<Result<_, _>>()?;
        let staging = PathBuf::from(format!(".mayi-preview-{}", manifest.id));
        Ok(Self { manifest, folder, roots, staging })
    }

    fn root(&self, number: usize) -> Result<&Root, PreviewError> {
        self.roots.get(number).ok_or_else(|| PreviewError::Damaged {
            path: name_of(self.folder),
            problem: format!("there is no folder {number}"),
        })
    }

    /// Removes the staging folders, or says which one cannot be.
    fn clear(&self) -> Result<(), (String, io::Error)> {
        for root in &self.roots {
            let told = |source| (name_of(&root.path().join(&self.staging)), source);
            if root.hold(&self.staging).map_err(told)?.is_none() {
                continue;
            }
            // The change itself may have taken away the right to remove anything here.
            let _open = root.hold(Path::new("")).map_err(told)?.map(Lent::new).transpose().map_err(told)?;
            root.remove(&self.staging).map_err(told)?;
        }
        Ok(())
    }

    /// The same after a failure, which is what is told; the next try clears again.
    fn leave(&self) {
        if self.clear().is_ok() {
            Journal::remove(self.folder);
        }
    }
}

/// Refuses unless every original is as it was.
fn check(set: &ChangeSet, site: &Site<'_>) -> Result<(), PreviewError> {
    let mut changed = Vec::new();
    for change in set.applied() {
        if change.overtaken || !is_still(site.root(change.root)?, change)? {
            changed.push(name_of(&set.path_of(change)));
        }
    }
    if changed.is_empty() { Ok(()) } else { Err(PreviewError::Changed { paths: changed }) }
}

fn is_still(root: &Root, change: &Change) -> Result<bool, PreviewError> {
    let unreadable = |source| PreviewError::Unreadable { path: name_of(&root.path().join(&change.path)), source };
    let now = Node::at(root, &change.path, &mut Reading::All).map_err(unreadable)?;
    match (&change.before, now) {
        (None, None) => Ok(true),
        (Some(before), Some(now)) if now.is_still(before) => {
            holds_the_same((root, &change.path), change, Node::is_still)
        }
        (Some(_), Some(_) | None) | (None, Some(_)) => Ok(false),
    }
}

/// Whether a folder that would be gone, now at a place, holds exactly what it held.
fn holds_the_same(
    (root, place): (&Root, &Path),
    change: &Change,
    same: fn(&Node, &Node) -> bool,
) -> Result<bool, PreviewError> {
    let unreadable = |path: &Path, source| PreviewError::Unreadable { path: name_of(&root.path().join(path)), source };
    let is_gone = change.after.as_ref().is_none_or(|after| !after.is_folder());
    let Some(held) = root.hold(place).map_err(|source| unreadable(place, source))? else { return Ok(false) };
    if !is_gone || !held.is_folder() {
        return Ok(true);
    }
    let now = match walk::inside(root, place, &held) {
        Ok(now) => now,
        Err(InsideProblem::TooMany) => return Ok(false),
        Err(InsideProblem::Io(path, source)) => return Err(unreadable(&path, source)),
    };
    let is_same = |(now, before): (&Inside, &Inside)| {
        now.path.strip_prefix(place).ok() == before.path.strip_prefix(&change.path).ok()
            && same(&now.node, &before.node)
    };
    Ok(now.len() == change.inside.len() && now.iter().zip(&change.inside).all(is_same))
}

fn unwritable((path, source): (String, io::Error)) -> PreviewError {
    PreviewError::Failed { path, source }
}

fn failed(path: &Path, source: io::Error) -> PreviewError {
    PreviewError::Failed { path: name_of(path), source }
}

/// Applying that stops in the middle, for tests.
#[cfg(test)]
pub(super) mod trial {
    use super::*;

    /// Does what `apply` does up to so many steps, and stops as a process that is killed would. Says how many there are.
    pub(in super::super) fn die_after(manifest: &Manifest, folder: &Path, count: usize) -> Result<usize, PreviewError> {
        let site = Site::of(manifest, folder)?;
        let set = manifest.found.as_ref().unwrap();
        check(set, &site)?;
        let mut journal = Journal::read(folder)?;
        journal.steps = stage::stage(set, &site)?;
        journal.enter(Phase::Committing, folder)?;
        for step in journal.steps.iter().take(count) {
            commit::done(&site, step)?;
        }
        Ok(journal.steps.len())
    }
}
