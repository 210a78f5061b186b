//! What is at a path: its shape, its mode, and enough to tell later whether it is still the same.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::beneath::{Held, Root};
use super::{clock, written};

/// Larger files are told apart by size and times alone.
const DIGESTED: u64 = 1 << 30;

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// What it is.
    #[serde(flatten)]
    pub shape: Shape,
    /// Its permission bits.
    pub mode: u32,
    /// Which one it is.
    pub stamp: Stamp,
}

/// What something is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "type")]
pub enum Shape {
    /// A file.
    File {
        /// Its bytes.
        size: u64,
        /// The SHA-256 of its content, where it was read.
        sha256: Option<String>,
    },
    /// A folder.
    Folder,
    /// A symbolic link.
    Link {
        /// Where it points.
        #[serde(with = "written")]
        target: PathBuf,
    },
    /// A pipe, a socket or a device.
    Special,
}

/// Which one it is: the identity of a file and when it was last changed, in nanoseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// The file system.
    pub device: u64,
    /// The file in it.
    pub inode: u64,
    /// How many names it has.
    pub links: u64,
    /// Who owns it.
    pub owner: u32,
    /// The group it belongs to.
    pub group: u32,
    /// When its content changed.
    pub modified: i64,
    /// When anything of it changed.
    pub changed: i64,
}

/// Which content is read to tell files apart.
pub(super) enum Reading {
    /// Every file's.
    All,
    /// Files' until so many bytes were read.
    UpTo(u64),
}

impl Node {
    /// What is at a path below a root, if anything.
    pub(super) fn at(root: &Root, path: &Path, reading: &mut Reading) -> io::Result<Option<Self>> {
        root.hold(path)?.map(|held| Self::of(&held, reading)).transpose()
    }

    /// What is held.
    pub(super) fn of(held: &Held, reading: &mut Reading) -> io::Result<Self> {
        let metadata = &held.metadata;
        let shape = if metadata.is_file() {
            let size = metadata.len();
            Shape::File { size, sha256: reading.wants(size).then(|| digest_of(held)).transpose()?.flatten() }
        } else if metadata.is_dir() {
            Shape::Folder
        } else if metadata.is_symlink() {
            Shape::Link { target: held.target()? }
        } else {
            Shape::Special
        };
        let stamp = Stamp {
            device: metadata.dev(),
            inode: metadata.ino(),
            links: metadata.nlink(),
            owner: metadata.uid(),
            group: metadata.gid(),
            modified: clock::stamp(metadata.mtime(), metadata.mtime_nsec()),
            changed: clock::stamp(metadata.ctime(), metadata.ctime_nsec()),
        };
        Ok(Self { shape, mode: held.mode(), stamp })
    }

    /// Whether it is a folder.
    pub fn is_folder(&self) -> bool {
        self.shape == Shape::Folder
    }

    /// Whether somebody who looks at content and mode sees a difference.
    pub(super) fn looks_like(&self, other: &Self) -> bool {
        self.mode == other.mode && self.holds_the_same(other)
    }

    /// Whether the content is the same, whatever the mode.
    pub(super) fn holds_the_same(&self, other: &Self) -> bool {
        match (&self.shape, &other.shape) {
            // Where the content was not read, the file is taken to differ.
            (Shape::File { sha256: None, .. }, Shape::File { .. }) => false,
            (one, other) => one == other,
        }
    }

    /// Whether this is untouched since `before` was taken. What a folder holds is not part of it.
    pub(super) fn is_still(&self, before: &Self) -> bool {
        let changed = before.is_folder() || self.stamp.changed == before.stamp.changed;
        changed && self.is_moved(before)
    }

    /// The same for something that was renamed since: that alone changes its time of change.
    pub(super) fn is_moved(&self, before: &Self) -> bool {
        let (now, then) = (&self.stamp, &before.stamp);
        let same_file = (now.device, now.inode, now.owner, now.group)
            == (then.device, then.inode, then.owner, then.group)
            && self.mode == before.mode;
        let same_content = match (&self.shape, &before.shape) {
            (Shape::Folder, Shape::Folder) => true,
            (Shape::File { size, sha256 }, Shape::File { size: old_size, sha256: old }) => {
                let same = sha256.is_none() || old.is_none() || sha256 == old;
                same && size == old_size && now.modified == then.modified
            }
            (now, then) => now == then,
        };
        same_file && same_content
    }
}

impl Reading {
    fn wants(&mut self, size: u64) -> bool {
        match self {
            Self::All => size <= DIGESTED,
            Self::UpTo(left) => match left.checked_sub(size) {
                Some(rest) => {
                    *left = rest;
                    true
                }
                None => false,
            },
        }
    }
}

/// The digest of a file, or nothing when it may not be read.
fn digest_of(held: &Held) -> io::Result<Option<String>> {
    match held.file() {
        Ok(file) => digest(file).map(Some),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(None),
        Err(error) => Err(error),
    }
}

/// The digest of all that can be read.
fn digest(mut file: File) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut block = vec![0; 1 << 16];
    loop {
        match file.read(&mut block)? {
            0 => return Ok(hexadecimal(hasher)),
            length => hasher.update(block.get(..length).unwrap_or_default()),
        }
    }
}

/// What a hasher came to, as people write it.
pub(super) fn hexadecimal(hasher: Sha256) -> String {
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
