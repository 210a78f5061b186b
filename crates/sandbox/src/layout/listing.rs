//! What is in a folder, entry by entry, in one buffer: folders are listed at every run, and most are small.

use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, RawDir};
use rustix::io::Errno;

use super::LayoutError;

/// As many bytes as are asked for at once.
const BUFFER: usize = 16 * 1024;

/// Something in a folder.
pub(super) struct Entry<'a> {
    pub(super) name: &'a OsStr,
    folder: &'a Path,
    kind: FileType,
}

impl Entry<'_> {
    /// Whether it is itself a folder.
    pub(super) fn is_folder(&self) -> bool {
        // Some file systems do not say.
        let look = || self.folder.join(self.name).symlink_metadata().is_ok_and(|found| found.is_dir());
        self.kind == FileType::Directory || self.kind == FileType::Unknown && look()
    }
}

/// Shows everything in a folder until it was enough; `None` where it cannot be listed to the end. That this process can open
/// nothing more says nothing about the folder, and is an error.
pub(super) fn each(
    folder: &Path,
    mut show: impl FnMut(&Entry<'_>) -> ControlFlow<()>,
) -> Result<Option<ControlFlow<()>>, LayoutError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = match rustix::fs::open(folder, flags, Mode::empty()) {
        Ok(opened) => opened,
        Err(error @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM)) => {
            return Err(LayoutError::Lost(format!("cannot list `{}`: {error}", folder.display())));
        }
        Err(_) => return Ok(None),
    };
    let mut space = Vec::with_capacity(BUFFER);
    let mut entries = RawDir::new(opened, space.spare_capacity_mut());
    while let Some(entry) = entries.next() {
        let Ok(entry) = entry else { return Ok(None) };
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        if show(&Entry { name, folder, kind: entry.file_type() }).is_break() {
            return Ok(Some(ControlFlow::Break(())));
        }
    }
    Ok(Some(ControlFlow::Continue(())))
}

/// All names in a folder; `None` where they are longer than `most` bytes together, or cannot be listed.
pub(super) fn names<C: Default + Extend<OsString>>(folder: &Path, most: usize) -> Option<C> {
    let mut names = C::default();
    let mut bytes = 0;
    let all = each(folder, |entry| {
        bytes += entry.name.len();
        names.extend([entry.name.to_owned()]);
        if bytes > most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    all.ok()??.is_continue().then_some(names)
}
