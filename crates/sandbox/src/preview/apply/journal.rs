//! The journal of applying: which phase it is in, and the steps. Each step can be found done or not done by looking,
//! so that the journal is written once per phase, not once per step.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::super::beneath::Held;
use super::super::{PreviewError, manifest, written};

const JOURNAL: &str = "journal.json";

/// What a process that comes later must know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Journal {
    pub(super) phase: Phase,
    pub(super) steps: Vec<Step>,
}

/// How far it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Phase {
    /// Nothing is changed; the staging folder may hold anything.
    Staging,
    /// All that is new is staged; some steps may be done.
    Committing,
    /// A step failed; some steps may still have to be undone.
    TakingBack,
    /// All steps are done; the staging folder holds what was there before.
    Done,
}

/// A step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Step {
    /// The place of the change among the changes.
    pub(super) change: usize,
    /// The previewed folder.
    pub(super) root: usize,
    /// Where in it.
    #[serde(with = "written")]
    pub(super) path: PathBuf,
    /// What is done.
    pub(super) deed: Deed,
}

/// What a step does. `staged` is a name in the staging folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Deed {
    /// Something staged is put where nothing is.
    Put { staged: String, new: Which },
    /// Something staged and what is there change places.
    Swap { staged: String, new: Which },
    /// What is there is moved to the staging folder.
    Take { staged: String },
    /// What is there gets another mode.
    Mode { of: Which, from: u32, to: u32 },
}

/// Which file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Which {
    pub(super) device: u64,
    pub(super) inode: u64,
}

impl Which {
    pub(super) fn of(held: &Held) -> Self {
        let (device, inode) = held.identity();
        Self { device, inode }
    }
}

impl Journal {
    /// The journal, or the one of a preview that nobody has begun to apply.
    pub(super) fn read(folder: &Path) -> Result<Self, PreviewError> {
        let fresh = Self { phase: Phase::Staging, steps: Vec::new() };
        Ok(Self::read_if_any(folder)?.unwrap_or(fresh))
    }

    pub(super) fn read_if_any(folder: &Path) -> Result<Option<Self>, PreviewError> {
        manifest::read(&folder.join(JOURNAL))
    }

    pub(super) fn write(&self, folder: &Path) -> Result<(), PreviewError> {
        manifest::write(&folder.join(JOURNAL), self)
    }

    pub(super) fn enter(&mut self, phase: Phase, folder: &Path) -> Result<(), PreviewError> {
        self.phase = phase;
        self.write(folder)
    }

    /// Forgets that anything was begun. Where that fails, the next try finds nothing to undo.
    pub(super) fn remove(folder: &Path) {
        let _ = fs::remove_file(folder.join(JOURNAL));
    }
}
