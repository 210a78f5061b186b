//! Paths below one folder that is held open. Nothing here ever follows a link, leaves the folder or crosses into
//! another file system, and what was looked at is what is read: the same descriptor serves both.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, RawMode, RenameFlags, ResolveFlags};
use rustix::io::Errno;

use crate::scoped;

/// A folder that is held open, and everything below it.
#[derive(Debug)]
pub(super) struct Root {
    descriptor: OwnedFd,
    path: PathBuf,
}

/// Something below a root, held open without being read: a link stays a link.
#[derive(Debug)]
pub(super) struct Held {
    descriptor: File,
    pub(super) metadata: Metadata,
}

impl Root {
    /// Opens a folder. Its path must be free of links, as a canonical one is.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let descriptor = rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve)?;
        Ok(Self { descriptor, path: path.to_owned() })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Holds what is at a path, or says that there is nothing. A link or a file on the way is nothing, too.
    pub(super) fn hold(&self, path: &Path) -> io::Result<Option<Held>> {
        match self.opened(path, OFlags::PATH | OFlags::NOFOLLOW) {
            Ok(descriptor) => Held::of(descriptor).map(Some),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn opened(&self, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
        scoped::open(&self.descriptor, own(path), flags, resolve)
    }

    /// The folder that a path is in, held open, and the path's last name.
    fn parent<'a>(&self, path: &'a Path) -> io::Result<(OwnedFd, &'a OsStr)> {
        let name = path.file_name().ok_or(Errno::INVAL)?;
        let parent = path.parent().unwrap_or(Path::new(""));
        Ok((self.opened(parent, OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW)?, name))
    }

    /// Makes a folder that only its owner can use.
    pub(super) fn make_folder(&self, path: &Path) -> io::Result<()> {
        let (parent, name) = self.parent(path)?;
        Ok(rustix::fs::mkdirat(parent, name, Mode::RWXU)?)
    }

    /// Makes a new file that only its owner can use, and opens it for writing.
    pub(super) fn make_file(&self, path: &Path) -> io::Result<File> {
        let (parent, name) = self.parent(path)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(parent, name, flags, Mode::RUSR | Mode::WUSR)?))
    }

    /// Makes a symbolic link.
    pub(super) fn make_link(&self, path: &Path, target: &Path) -> io::Result<()> {
        let (parent, name) = self.parent(path)?;
        Ok(rustix::fs::symlinkat(target, parent, name)?)
    }

    /// Gives a file another name.
    pub(super) fn make_name(&self, path: &Path, file: &Path) -> io::Result<()> {
        let (old, old_name) = self.parent(file)?;
        let (new, new_name) = self.parent(path)?;
        Ok(rustix::fs::linkat(old, old_name, new, new_name, AtFlags::empty())?)
    }

    /// Moves something to where nothing is.
    pub(super) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.renamed(from, to, RenameFlags::NOREPLACE)
    }

    /// Lets two things change places, in one step.
    pub(super) fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        self.renamed(one, other, RenameFlags::EXCHANGE)
    }

    fn renamed(&self, from: &Path, to: &Path, flags: RenameFlags) -> io::Result<()> {
        let (old, old_name) = self.parent(from)?;
        let (new, new_name) = self.parent(to)?;
        Ok(rustix::fs::renameat_with(old, old_name, new, new_name, flags)?)
    }

    /// Removes something with all below it, also where modes stand in the way. Nothing there is fine.
    pub(super) fn remove(&self, path: &Path) -> io::Result<()> {
        let Some(held) = self.hold(path)? else { return Ok(()) };
        let (parent, name) = self.parent(path)?;
        if held.is_folder() {
            held.empty()?;
            return Ok(rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR)?);
        }
        Ok(rustix::fs::unlinkat(parent, name, AtFlags::empty())?)
    }

    /// Brings everything on this file system to the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        let folder = self.opened(Path::new(""), OFlags::RDONLY | OFlags::DIRECTORY)?;
        Ok(rustix::fs::syncfs(folder)?)
    }
}

/// The path as the kernel wants it: the root itself is a dot.
fn own(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

impl Held {
    fn of(descriptor: OwnedFd) -> io::Result<Self> {
        let descriptor = File::from(descriptor);
        Ok(Self { metadata: descriptor.metadata()?, descriptor })
    }

    /// Which file it is: the file system, and the file in it.
    pub(super) fn identity(&self) -> (u64, u64) {
        (self.metadata.dev(), self.metadata.ino())
    }

    /// Its permission bits.
    pub(super) fn mode(&self) -> u32 {
        self.metadata.mode() & 0o7777
    }

    /// Whether it is a folder.
    pub(super) fn is_folder(&self) -> bool {
        self.metadata.is_dir()
    }

    /// The way to this very thing, whatever happens to its name.
    pub(super) fn way(&self) -> String {
        format!("/proc/self/fd/{}", self.descriptor.as_raw_fd())
    }

    /// Where a symbolic link points.
    pub(super) fn target(&self) -> io::Result<PathBuf> {
        let target = rustix::fs::readlinkat(&self.descriptor, "", Vec::new())?;
        Ok(PathBuf::from(OsStr::from_bytes(target.as_bytes())))
    }

    /// Opens a file for reading.
    pub(super) fn file(&self) -> io::Result<File> {
        File::open(self.way())
    }

    /// The names in a folder, sorted.
    pub(super) fn names(&self) -> io::Result<Vec<OsString>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::openat(self.descriptor.as_fd(), ".", flags, Mode::empty())?;
        let mut names = Vec::new();
        for entry in Dir::new(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(OsStr::from_bytes(name).to_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    /// Removes everything in a folder. Folders inside are moved up before they are emptied, so that no depth, however
    /// absurd, makes a path too long or a stack too small.
    fn empty(&self) -> io::Result<()> {
        self.set_mode(0o700)?;
        let mut moved = 0_u64;
        let mut waiting = self.names()?;
        while let Some(name) = waiting.pop() {
            let inner = self.child(&name)?;
            if !inner.is_folder() {
                rustix::fs::unlinkat(&self.descriptor, &name, AtFlags::empty())?;
                continue;
            }
            inner.set_mode(0o700)?;
            for below in inner.names()? {
                let held = inner.child(&below)?;
                if !held.is_folder() {
                    rustix::fs::unlinkat(&inner.descriptor, &below, AtFlags::empty())?;
                    continue;
                }
                // A folder that is moved must be writable: it holds the name of its parent.
                held.set_mode(0o700)?;
                waiting.push(self.taken_up(&inner, &below, &mut moved)?);
            }
            rustix::fs::unlinkat(&self.descriptor, &name, AtFlags::REMOVEDIR)?;
        }
        Ok(())
    }

    /// Moves a folder out of one below into this one, under a name that is free.
    fn taken_up(&self, inner: &Held, name: &OsStr, moved: &mut u64) -> io::Result<OsString> {
        loop {
            *moved += 1;
            let free = OsString::from(format!(".moved-{moved}"));
            let flags = RenameFlags::NOREPLACE;
            match rustix::fs::renameat_with(&inner.descriptor, name, &self.descriptor, &free, flags) {
                Ok(()) => return Ok(free),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn child(&self, name: &OsStr) -> io::Result<Held> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let descriptor = rustix::fs::openat(&self.descriptor, name, flags, Mode::empty())?;
        Held::of(descriptor)
    }

    /// Sets the mode of a file or folder.
    pub(super) fn set_mode(&self, mode: RawMode) -> io::Result<()> {
        Ok(rustix::fs::chmod(self.way(), Mode::from_raw_mode(mode))?)
    }

    /// Gives it to an owner and a group, if it is not theirs.
    pub(super) fn set_owner(&self, owner: u32, group: u32) -> io::Result<()> {
        if (self.metadata.uid(), self.metadata.gid()) == (owner, group) {
            return Ok(());
        }
        std::os::unix::fs::lchown(self.way(), Some(owner), Some(group))
    }
}
