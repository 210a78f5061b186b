//! What is kept of a preview between two commands: files in its folder, each written whole.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::change::ChangeSet;
use super::clock::Instant;
use super::guard::Guard;
use super::{PreviewError, name_of, written};

const MANIFEST: &str = "manifest.json";
/// The form of the files. Another one is not read.
const FORM: u32 = 1;

/// What is kept of a preview.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub(super) form: u32,
    pub(super) id: String,
    /// The command, for people.
    pub(super) command: String,
    /// When it began, on the clock of files.
    pub(super) began: Instant,
    pub(super) roots: Vec<Ground>,
    pub(super) guard: Guard,
    /// What was found when the command had ended, and shown.
    pub(super) found: Option<ChangeSet>,
}

/// A previewed folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Ground {
    /// Where it is, free of links.
    #[serde(with = "written")]
    pub(super) path: PathBuf,
    /// Which one it is.
    pub(super) device: u64,
    pub(super) inode: u64,
}

impl Manifest {
    pub(super) fn new(id: String, command: String) -> Self {
        Self { form: FORM, id, command, began: 0, roots: Vec::new(), guard: Guard::default(), found: None }
    }

    pub(super) fn read(folder: &Path) -> Result<Self, PreviewError> {
        let path = folder.join(MANIFEST);
        let manifest: Option<Self> = read(&path)?;
        match manifest {
            Some(manifest) if manifest.form == FORM => Ok(manifest),
            Some(_) => Err(damaged(&path, "it was written by another version of mayi")),
            None => Err(damaged(&path, "it is missing")),
        }
    }

    pub(super) fn write(&self, folder: &Path) -> Result<(), PreviewError> {
        write(&folder.join(MANIFEST), self)
    }
}

/// Reads a file, if it is there.
pub(super) fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, PreviewError> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(PreviewError::Kept { path: name_of(path), source }),
    };
    serde_json::from_slice(&text).map(Some).map_err(|error| damaged(path, &error.to_string()))
}

/// Writes a file whole: whatever goes wrong, it is the old one or the new one.
pub(super) fn write(path: &Path, value: &impl Serialize) -> Result<(), PreviewError> {
    let kept = |source| PreviewError::Kept { path: name_of(path), source };
    let text = serde_json::to_vec(value).map_err(|error| kept(error.into()))?;
    let draft = path.with_extension("draft");
    let mut file = File::create(&draft).map_err(kept)?;
    file.write_all(&text).map_err(kept)?;
    file.sync_all().map_err(kept)?;
    fs::rename(&draft, path).map_err(kept)?;
    let folder = File::open(path.parent().unwrap_or(path)).map_err(kept)?;
    folder.sync_all().map_err(kept)
}

fn damaged(path: &Path, problem: &str) -> PreviewError {
    PreviewError::Damaged { path: name_of(path), problem: problem.to_owned() }
}
