//! From the upper folder of an overlay to changes: what the kernel left there, compared with the originals.
//!
//! The kernel writes a deleted name as a character device 0:0 (a *whiteout*), and a folder that replaced another with
//! an attribute (*opaque*). Everything else in an upper folder is what the command left, or a copy that the kernel
//! made and nobody changed.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::beneath::{Held, Root};
use super::change::{Change, Inside, Withheld};
use super::clock::Instant;
use super::diff::{self, Content};
use super::guard::{Guard, Guarded};
use super::node::{Node, Reading, Shape};
use super::{PreviewError, name_of};

/// More changes than this are neither shown nor applied.
const CHANGES: usize = 100_000;
/// Folders in folders, more than this deep, are neither shown nor applied.
const DEPTH: usize = 256;
/// How many bytes of a folder that would be gone are read, to know it again.
const READ_OF_DELETED: u64 = 64 << 20;

/// Where changes are looked for.
pub(super) struct Ground<'a> {
    /// The place of the root among the roots.
    pub(super) number: usize,
    /// The originals.
    pub(super) lower: &'a Root,
    /// What the command left.
    pub(super) upper: &'a Root,
    /// When the preview began.
    pub(super) began: Instant,
    /// What must not be changed.
    pub(super) guard: &'a Guard,
}

/// Something in an upper folder.
enum Found {
    /// The name is gone.
    Whiteout,
    /// What is below it in the original does not show through.
    OpaqueFolder,
    /// What is below it in the original shows through.
    Folder,
    /// A file, a link, a pipe.
    Leaf,
}

/// All changes of one root, parents before what is in them.
pub(super) fn changes(ground: &Ground<'_>) -> Result<Vec<Change>, PreviewError> {
    let mut walk = Walk { ground, changes: Vec::new(), placeholders: Vec::new() };
    let top = Path::new("");
    if let Some(upper) = walk.upper(top)? {
        walk.entry(top, &upper)?;
    }
    Ok(walk.without_stand_ins())
}

struct Walk<'a> {
    ground: &'a Ground<'a>,
    changes: Vec<Change>,
    /// Stand-ins of protected names, which the sandbox made itself.
    placeholders: Vec<PathBuf>,
}

impl Walk<'_> {
    fn entry(&mut self, path: &Path, upper: &Lent) -> Result<(), PreviewError> {
        let found = found(&upper.held).map_err(|source| self.unreadable(path, source))?;
        let before = match self.original(path)? {
            Ok(before) => before,
            Err(Mounted) => return self.push(Change { withheld: Some(Withheld::Mounted), ..self.blank(path) }),
        };
        match found {
            Found::Whiteout => match before {
                Some(before) => self.deleted(path, &before),
                None => Ok(()),
            },
            Found::Leaf => self.leaf(path, before.as_ref(), upper),
            Found::Folder | Found::OpaqueFolder => {
                if path.components().count() > DEPTH {
                    return Err(PreviewError::TooDeep { limit: DEPTH });
                }
                let is_merged = before.as_ref().is_some_and(Held::is_folder);
                self.folder(path, before.as_ref(), upper)?;
                let names = upper.held.names().map_err(|source| self.unreadable(path, source))?;
                if matches!(found, Found::OpaqueFolder) && is_merged {
                    self.covered(path, before.as_ref(), &names)?;
                }
                for name in names {
                    let path = path.join(name);
                    if let Some(upper) = self.upper(&path)? {
                        self.entry(&path, &upper)?;
                    }
                }
                Ok(())
            }
        }
    }

    /// A folder itself: new, in the place of something else, or with another mode.
    fn folder(&mut self, path: &Path, before: Option<&Held>, upper: &Lent) -> Result<(), PreviewError> {
        let after = self.node(path, &upper.held)?;
        let Some(held) = before else {
            return self.push(Change { after: Some(after), ..self.blank(path) });
        };
        let node = self.node(path, held)?;
        if node.is_folder() && node.mode == after.mode {
            return Ok(());
        }
        let overtaken = self.is_overtaken(&node);
        self.push(Change { before: Some(node), after: Some(after), overtaken, ..self.blank(path) })
    }

    /// Names of the original that an opaque folder covers.
    fn covered(
        &mut self,
        path: &Path,
        before: Option<&Held>,
        upper: &[std::ffi::OsString],
    ) -> Result<(), PreviewError> {
        let Some(before) = before else { return Ok(()) };
        let kept: BTreeSet<_> = upper.iter().collect();
        let names = before.names().map_err(|source| self.unreadable(path, source))?;
        for name in names.iter().filter(|name| !kept.contains(name)) {
            let path = path.join(name);
            if let Ok(Some(held)) = self.original(&path)? {
                self.deleted(&path, &held)?;
            }
        }
        Ok(())
    }

    /// A file, a link or something special.
    fn leaf(&mut self, path: &Path, before: Option<&Held>, upper: &Lent) -> Result<(), PreviewError> {
        let after = self.node(path, &upper.held)?;
        let node = before.map(|held| self.node(path, held)).transpose()?;
        if node.as_ref().is_some_and(|node| node.looks_like(&after)) {
            return Ok(());
        }
        let withheld = (after.shape == Shape::Special).then_some(Withheld::Special);
        let is_text = |node: &Node| matches!(node.shape, Shape::File { .. });
        let same = node.as_ref().is_some_and(|node| node.holds_the_same(&after));
        let content = if is_text(&after) && !same {
            let old = before.filter(|_| node.as_ref().is_some_and(is_text));
            diff::content(old, Some(&upper.held)).map_err(|source| self.unreadable(path, source))?
        } else {
            Content::Nothing
        };
        let inside = match before {
            Some(held) if held.is_folder() => self.inside(path, held)?,
            Some(_) | None => Vec::new(),
        };
        let overtaken = self.overtaken(node.as_ref(), &inside);
        let change =
            Change { before: node, after: Some(after), inside, content, withheld, overtaken, ..self.blank(path) };
        self.push(change)
    }

    fn deleted(&mut self, path: &Path, held: &Held) -> Result<(), PreviewError> {
        let before = self.node(path, held)?;
        let inside = if before.is_folder() { self.inside(path, held)? } else { Vec::new() };
        let content = match &before.shape {
            Shape::File { .. } => diff::content(Some(held), None).map_err(|source| self.unreadable(path, source))?,
            Shape::Folder | Shape::Link { .. } | Shape::Special => Content::Nothing,
        };
        let overtaken = self.overtaken(Some(&before), &inside);
        self.push(Change { before: Some(before), inside, content, overtaken, ..self.blank(path) })
    }

    /// Everything in a folder of the original, to know it again.
    fn inside(&self, path: &Path, held: &Held) -> Result<Vec<Inside>, PreviewError> {
        inside(self.ground.lower, path, held).map_err(|problem| match problem {
            InsideProblem::TooMany => PreviewError::TooMany { limit: CHANGES },
            InsideProblem::Io(path, source) => self.unreadable(&path, source),
        })
    }

    fn push(&mut self, mut change: Change) -> Result<(), PreviewError> {
        if self.changes.len() >= CHANGES {
            return Err(PreviewError::TooMany { limit: CHANGES });
        }
        match self.ground.guard.look(&self.ground.lower.path().join(&change.path), &change) {
            Guarded::Free => {}
            Guarded::Placeholder => {
                self.placeholders.push(change.path);
                return Ok(());
            }
            Guarded::Withheld(why) => change.withheld = change.withheld.or(Some(why)),
        }
        self.changes.push(change);
        Ok(())
    }

    /// The changes without folders that hold nothing but the sandbox's own stand-ins.
    fn without_stand_ins(self) -> Vec<Change> {
        let Self { mut changes, placeholders, .. } = self;
        for placeholder in &placeholders {
            for folder in placeholder.ancestors().skip(1) {
                let mut below = changes.iter().filter(|change| change.path.starts_with(folder));
                let is_alone = below.next().is_some_and(|change| change.path == folder && change.is_new_folder());
                if !is_alone || below.next().is_some() {
                    break;
                }
                changes.retain(|change| change.path != folder);
            }
        }
        changes
    }

    fn blank(&self, path: &Path) -> Change {
        Change {
            root: self.ground.number,
            path: path.to_owned(),
            before: None,
            after: None,
            inside: Vec::new(),
            content: Content::Nothing,
            withheld: None,
            overtaken: false,
        }
    }

    fn overtaken(&self, before: Option<&Node>, inside: &[Inside]) -> bool {
        before.is_some_and(|node| self.is_overtaken(node)) || inside.iter().any(|entry| self.is_overtaken(&entry.node))
    }

    /// Whether somebody changed an original after the preview began. A folder's time says nothing: any name in it that
    /// comes or goes moves it.
    fn is_overtaken(&self, node: &Node) -> bool {
        !node.is_folder() && node.stamp.changed > self.ground.began
    }

    fn node(&self, path: &Path, held: &Held) -> Result<Node, PreviewError> {
        Node::of(held, &mut Reading::All).map_err(|source| self.unreadable(path, source))
    }

    fn original(&self, path: &Path) -> Result<Result<Option<Held>, Mounted>, PreviewError> {
        match self.ground.lower.hold(path) {
            Ok(held) => Ok(Ok(held)),
            Err(error) if error.raw_os_error() == Some(Errno::XDEV.raw_os_error()) => Ok(Err(Mounted)),
            Err(source) => Err(self.unreadable(path, source)),
        }
    }

    fn upper(&self, path: &Path) -> Result<Option<Lent>, PreviewError> {
        let held = self.ground.upper.hold(path).map_err(|source| self.unreadable(path, source))?;
        held.map(Lent::new).transpose().map_err(|source| self.unreadable(path, source))
    }

    fn unreadable(&self, path: &Path, source: io::Error) -> PreviewError {
        PreviewError::Unreadable { path: name_of(&self.ground.lower.path().join(path)), source }
    }
}

/// Another file system is mounted at an original.
struct Mounted;

/// Something that can be read, and a folder that can be written, whatever its mode. The mode comes back at the end.
pub(super) struct Lent {
    pub(super) held: Held,
    back: Option<u32>,
}

impl Lent {
    pub(super) fn new(held: Held) -> io::Result<Self> {
        let mode = held.mode();
        let wanted = if held.is_folder() {
            mode | 0o700
        } else if held.metadata.is_file() {
            mode | 0o400
        } else {
            mode
        };
        if wanted == mode {
            return Ok(Self { held, back: None });
        }
        held.set_mode(wanted)?;
        Ok(Self { held, back: Some(mode) })
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(mode) = self.back {
            // Nothing more can be done about it here, and whoever looks next finds a mode that is too open to ourselves.
            let _ = self.held.set_mode(mode);
        }
    }
}

/// Why the inside of a folder could not be noted.
pub(super) enum InsideProblem {
    /// There is too much.
    TooMany,
    /// Something cannot be read.
    Io(PathBuf, io::Error),
}

/// Everything in a folder, parents before what is in them, with as much of the content read as is reasonable.
pub(super) fn inside(root: &Root, path: &Path, held: &Held) -> Result<Vec<Inside>, InsideProblem> {
    let mut reading = Reading::UpTo(READ_OF_DELETED);
    let mut inside: Vec<Inside> = Vec::new();
    let names = held.names().map_err(|source| InsideProblem::Io(path.to_owned(), source))?;
    let mut waiting: Vec<PathBuf> = names.into_iter().rev().map(|name| path.join(name)).collect();
    while let Some(path) = waiting.pop() {
        let problem = |source| InsideProblem::Io(path.clone(), source);
        let Some(held) = root.hold(&path).map_err(problem)? else { continue };
        let node = Node::of(&held, &mut reading).map_err(problem)?;
        if node.is_folder() {
            waiting.extend(held.names().map_err(problem)?.into_iter().rev().map(|name| path.join(name)));
        }
        if inside.len() >= CHANGES {
            return Err(InsideProblem::TooMany);
        }
        inside.push(Inside { path, node });
    }
    Ok(inside)
}

fn found(held: &Held) -> io::Result<Found> {
    let kind = held.metadata.file_type();
    if kind.is_char_device() && held.metadata.rdev() == 0 {
        return Ok(Found::Whiteout);
    }
    if kind.is_dir() {
        refuse_tricks(held)?;
        // The value `x` says that whiteouts inside are attributes; names of the original show through.
        let opaque = attribute(held, "opaque")?.is_some_and(|value| value == b"y");
        return Ok(if opaque { Found::OpaqueFolder } else { Found::Folder });
    }
    if kind.is_file() {
        refuse_tricks(held)?;
        let whiteout = held.metadata.len() == 0 && attribute(held, "whiteout")?.is_some();
        return Ok(if whiteout { Found::Whiteout } else { Found::Leaf });
    }
    Ok(Found::Leaf)
}

/// A redirect or a copy of the metadata alone would mean that the content is elsewhere. They are never made under the
/// options we mount with; where there is one, guessing would show something else than what is there.
fn refuse_tricks(held: &Held) -> io::Result<()> {
    for trick in ["redirect", "metacopy"] {
        if attribute(held, trick)?.is_some() {
            return Err(io::Error::other(format!("the overlay has a `{trick}`, which cannot be previewed")));
        }
    }
    Ok(())
}

/// An attribute of the overlay, written by the kernel for an ordinary user or for root.
fn attribute(held: &Held, name: &str) -> io::Result<Option<Vec<u8>>> {
    for family in ["user.overlay", "trusted.overlay"] {
        let mut value = vec![0; 4096];
        match rustix::fs::getxattr(held.way(), format!("{family}.{name}"), &mut value[..]) {
            Ok(length) => {
                value.truncate(length);
                return Ok(Some(value));
            }
            Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::PERM) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}
