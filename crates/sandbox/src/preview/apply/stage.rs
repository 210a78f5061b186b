//! Staging: all that is new is written to a folder beside the originals, on their file system, with its final content,
//! owner, mode and times. The originals are not touched.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, XattrFlags};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use super::super::beneath::{Held, Root};
use super::super::change::{Change, ChangeSet, Sort};
use super::super::node::{self, Node, Shape};
use super::super::walk::Lent;
use super::super::{PreviewError, layer, name_of};
use super::journal::{Deed, Step, Which};
use super::{Site, failed};

/// Stages everything and says the steps, in the order they are to be done.
pub(super) fn stage(set: &ChangeSet, site: &Site<'_>) -> Result<Vec<Step>, PreviewError> {
    let mut steps = Vec::new();
    for number in 0..site.roots.len() {
        let root = site.root(number)?;
        let upper = layer(site.folder, number).upper;
        let upper = Root::open(&upper).map_err(|source| PreviewError::Kept { path: name_of(&upper), source })?;
        let failed = |source| failed(&root.path().join(&site.staging), source);
        root.make_folder(&site.staging).map_err(failed)?;
        let mut stage = Stage {
            number,
            root,
            upper,
            staging: &site.staging,
            names: HashMap::new(),
            folders: Vec::new(),
            first: Vec::new(),
            middle: Vec::new(),
            last: Vec::new(),
        };
        for (place, change) in set.changes.iter().enumerate() {
            if change.root == number && change.withheld.is_none() {
                stage.change(place, change)?;
            }
        }
        stage.finish_folders()?;
        // Folders that become writable come first; those that stop being so come last, the deepest before.
        steps.append(&mut stage.first);
        steps.append(&mut stage.middle);
        steps.extend(stage.last.into_iter().rev());
    }
    Ok(steps)
}

struct Stage<'a> {
    number: usize,
    root: &'a Root,
    upper: Root,
    staging: &'a Path,
    /// Where a file with several names was staged first.
    names: HashMap<(u64, u64), PathBuf>,
    /// Folders, whose modes are set when all is in them.
    folders: Vec<Folder>,
    first: Vec<Step>,
    middle: Vec<Step>,
    last: Vec<Step>,
}

struct Folder {
    change: usize,
    path: PathBuf,
    staged: PathBuf,
    after: Node,
    place: Place,
}

/// Where something staged goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// To its path, by a step of its own.
    Alone,
    /// Along with the new folder that it is in.
    Within,
}

impl Stage<'_> {
    fn change(&mut self, number: usize, change: &Change) -> Result<(), PreviewError> {
        let Some(after) = &change.after else {
            let staged = number.to_string();
            self.middle.push(step(number, change, Deed::Take { staged }));
            return Ok(());
        };
        if let (Some(before), Sort::Mode) = (&change.before, change.sort()) {
            let of = Which { device: before.stamp.device, inode: before.stamp.inode };
            let opens = after.is_folder() && before.mode & 0o300 != 0o300;
            let deed = step(number, change, Deed::Mode { of, from: before.mode, to: after.mode });
            if opens {
                self.first.push(deed)
            } else {
                self.last.push(deed)
            }
            return Ok(());
        }
        let (staged, place) = self.staged_at(number, &change.path);
        self.make(change, after, &staged).map_err(|problem| self.told(change, problem))?;
        if change.is_new_folder() {
            let path = change.path.clone();
            self.folders.push(Folder { change: number, path, staged: staged.clone(), after: after.clone(), place });
        }
        if place == Place::Alone {
            let new = self.which(&staged).map_err(|source| self.told(change, Problem::Io(source)))?;
            let staged = number.to_string();
            let deed = match change.before {
                Some(_) => Deed::Swap { staged, new },
                None => Deed::Put { staged, new },
            };
            self.middle.push(step(number, change, deed));
        }
        Ok(())
    }

    /// Where a path is staged: in the new folder that it is in, or by itself.
    fn staged_at(&self, number: usize, path: &Path) -> (PathBuf, Place) {
        for folder in self.folders.iter().rev() {
            if let Ok(below) = path.strip_prefix(&folder.path) {
                return (folder.staged.join(below), Place::Within);
            }
        }
        (self.staging.join(number.to_string()), Place::Alone)
    }

    fn make(&mut self, change: &Change, after: &Node, staged: &Path) -> Result<(), Problem> {
        match &after.shape {
            Shape::Folder => self.root.make_folder(staged)?,
            Shape::Link { target } => {
                self.root.make_link(staged, target)?;
                self.held(staged)?.set_owner(after.stamp.owner, after.stamp.group)?;
            }
            Shape::File { .. } => {
                let key = (after.stamp.device, after.stamp.inode);
                if let Some(first) = self.names.get(&key) {
                    return Ok(self.root.make_name(staged, first)?);
                }
                self.file(change, after, staged)?;
                if after.stamp.links > 1 {
                    self.names.insert(key, staged.to_owned());
                }
            }
            // They are withheld.
            Shape::Special => return Err(Problem::Io(Errno::INVAL.into())),
        }
        Ok(())
    }

    fn file(&self, change: &Change, after: &Node, staged: &Path) -> Result<(), Problem> {
        let held = self.upper.hold(&change.path)?.ok_or(Problem::Tampered)?;
        let source = Lent::new(held)?;
        let mut target = self.root.make_file(staged)?;
        let Shape::File { size, sha256 } = &after.shape else { return Err(Problem::Tampered) };
        let is_same = match sha256 {
            Some(shown) => copied(source.held.file()?, &mut target)? == *shown,
            None => {
                copy_data(source.held.file()?, &mut target, *size)?;
                source.held.identity() == (after.stamp.device, after.stamp.inode)
            }
        };
        if !is_same {
            return Err(Problem::Tampered);
        }
        let staged = self.held(staged)?;
        copy_attributes(&source.held, &staged)?;
        Ok(finish(&staged, after, after.mode)?)
    }

    fn held(&self, staged: &Path) -> io::Result<Held> {
        self.root.hold(staged)?.ok_or_else(|| Errno::NOENT.into())
    }

    fn which(&self, staged: &Path) -> io::Result<Which> {
        Ok(Which::of(&self.held(staged)?))
    }

    /// Gives folders their owner, mode and times, the deepest first. One that is moved by a step of its own must be
    /// writable until then: it holds the name of its parent.
    fn finish_folders(&mut self) -> Result<(), PreviewError> {
        for folder in std::mem::take(&mut self.folders).into_iter().rev() {
            let told = |source| failed(&self.root.path().join(&folder.path), source);
            let held = self.held(&folder.staged).map_err(told)?;
            let mode = folder.after.mode;
            if folder.place == Place::Within || mode & 0o200 != 0 {
                finish(&held, &folder.after, mode).map_err(told)?;
                continue;
            }
            finish(&held, &folder.after, mode | 0o200).map_err(told)?;
            let of = Which::of(&held);
            let deed = Deed::Mode { of, from: mode | 0o200, to: mode };
            self.last.push(Step { change: folder.change, root: self.number, path: folder.path, deed });
        }
        Ok(())
    }

    fn told(&self, change: &Change, problem: Problem) -> PreviewError {
        let path = self.root.path().join(&change.path);
        match problem {
            Problem::Io(source) => failed(&path, source),
            Problem::Tampered => PreviewError::Tampered { path: name_of(&path) },
        }
    }
}

/// Why something cannot be staged.
enum Problem {
    Io(io::Error),
    Tampered,
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

fn step(number: usize, change: &Change, deed: Deed) -> Step {
    Step { change: number, root: change.root, path: change.path.clone(), deed }
}

/// Copies a file and says its digest. Blocks of nothing but zeros stay holes.
fn copied(mut source: File, target: &mut File) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut block = vec![0; 1 << 16];
    loop {
        let length = match source.read(&mut block)? {
            0 => break,
            length => length,
        };
        let bytes = block.get(..length).unwrap_or_default();
        hasher.update(bytes);
        if length == block.len() && bytes.iter().all(|byte| *byte == 0) {
            target.seek_relative(i64::try_from(length).unwrap_or(0))?;
        } else {
            target.write_all(bytes)?;
        }
    }
    let end = target.stream_position()?;
    target.set_len(end)?;
    Ok(node::hexadecimal(hasher))
}

/// Copies a file that may be vast and hold next to nothing: only where it has data.
fn copy_data(mut source: File, target: &mut File, size: u64) -> io::Result<()> {
    let mut position = 0;
    target.set_len(size)?;
    loop {
        let start = match rustix::fs::seek(&source, rustix::fs::SeekFrom::Data(position)) {
            Ok(start) => start,
            Err(Errno::NXIO) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let end = rustix::fs::seek(&source, rustix::fs::SeekFrom::Hole(start))?;
        source.seek(SeekFrom::Start(start))?;
        target.seek(SeekFrom::Start(start))?;
        io::copy(&mut (&mut source).take(end - start), target)?;
        position = end;
    }
}

/// Attributes and access lists that the command left, but for the overlay's own.
fn copy_attributes(from: &Held, to: &Held) -> io::Result<()> {
    let mut names = vec![0; 1 << 16];
    let length = match rustix::fs::listxattr(from.way(), &mut names[..]) {
        Ok(length) => length,
        Err(Errno::OPNOTSUPP) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    for name in names.get(..length).unwrap_or_default().split(|byte| *byte == 0) {
        let is_users = name.starts_with(b"user.") && !name.starts_with(b"user.overlay.");
        if !is_users && name != b"system.posix_acl_access" {
            continue;
        }
        let mut value = vec![0; 1 << 16];
        let length = rustix::fs::getxattr(from.way(), name, &mut value[..])?;
        let value = value.get(..length).unwrap_or_default();
        rustix::fs::setxattr(to.way(), name, value, XattrFlags::empty())?;
    }
    Ok(())
}

/// Gives something staged its owner, mode and times, in the order in which none undoes another.
fn finish(held: &Held, after: &Node, mode: u32) -> io::Result<()> {
    held.set_owner(after.stamp.owner, after.stamp.group)?;
    held.set_mode(mode)?;
    let time = Timespec {
        tv_sec: after.stamp.modified.div_euclid(1_000_000_000),
        tv_nsec: after.stamp.modified.rem_euclid(1_000_000_000),
    };
    let times = Timestamps { last_access: time, last_modification: time };
    Ok(rustix::fs::utimensat(CWD, held.way(), &times, AtFlags::empty())?)
}
