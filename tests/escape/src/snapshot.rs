//! What a folder holds, in every respect that a command could change, and what became different.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::Result;

/// Everything in a folder, by its path below it.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    found: BTreeMap<PathBuf, Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    mode: u32,
    owner: (u32, u32),
    number: u64,
    attributes: bool,
    content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Content {
    Folder,
    Link(PathBuf),
    File { bytes: Vec<u8>, changed: (i64, i64), names: u64 },
    Other,
}

impl Snapshot {
    /// Looks at all of a folder. Links are not followed.
    pub fn of(folder: &Path) -> Result<Self> {
        let mut snapshot = Self::default();
        let mut left = vec![folder.to_owned()];
        while let Some(place) = left.pop() {
            for entry in fs::read_dir(&place)? {
                let path = entry?.path();
                let seen = look(&path)?;
                if seen.content == Content::Folder {
                    left.push(path.clone());
                }
                snapshot.found.insert(path.strip_prefix(folder)?.to_owned(), seen);
            }
        }
        Ok(snapshot)
    }

    /// Every path that is new, gone or different, but for those that `is_free` names.
    pub fn differences(&self, now: &Self, is_free: impl Fn(&Path) -> bool) -> Vec<String> {
        let gone = self.found.keys().filter(|path| !now.found.contains_key(*path)).map(|path| (path, "gone"));
        let new = now.found.keys().filter(|path| !self.found.contains_key(*path)).map(|path| (path, "new"));
        let changed =
            self.found.iter().filter(|(path, entry)| now.found.get(*path).is_some_and(|other| other != *entry));
        let changed = changed.map(|(path, _)| (path, "changed"));
        gone.chain(new)
            .chain(changed)
            .filter(|(path, _)| !is_free(path))
            .map(|(path, how)| format!("{} is {how}", path.display()))
            .collect()
    }

    /// The bytes of a file.
    pub fn bytes(&self, path: &Path) -> Option<&[u8]> {
        match &self.found.get(path)?.content {
            Content::File { bytes, .. } => Some(bytes),
            Content::Folder | Content::Link(_) | Content::Other => None,
        }
    }
}

fn look(path: &Path) -> Result<Entry> {
    let seen = path.symlink_metadata()?;
    let content = if seen.is_dir() {
        Content::Folder
    } else if seen.is_symlink() {
        Content::Link(fs::read_link(path)?)
    } else if seen.is_file() {
        let changed = (seen.mtime(), seen.mtime_nsec());
        Content::File { bytes: fs::read(path)?, changed, names: seen.nlink() }
    } else {
        Content::Other
    };
    let mut none = [0u8; 0];
    let attributes = rustix::fs::llistxattr(path, &mut none).is_ok_and(|length| length > 0);
    let mode = seen.permissions().mode();
    Ok(Entry { mode, owner: (seen.uid(), seen.gid()), number: seen.ino(), attributes, content })
}
