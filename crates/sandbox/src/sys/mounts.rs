//! Changes of the file system inside, one step after another: trees are held, restricted, and put where they belong.
//!
//! Must never allocate, and never follow a link.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags};

use super::keeper::is_mark;
use super::raw;
use super::script::{HOST_DEVICES, OWN_DEVICES, SCRATCH, Step, VEIL_FOLDER, VEIL_SOCKET};

/// The descriptor of a slot that an earlier step filled.
fn held(slots: &[Option<OwnedFd>], slot: usize) -> Result<BorrowedFd<'_>, Errno> {
    slots.get(slot).and_then(Option::as_ref).map(AsFd::as_fd).ok_or(Errno::BADF)
}

fn fill(slots: &mut [Option<OwnedFd>], slot: usize, tree: OwnedFd) -> Result<(), Errno> {
    *slots.get_mut(slot).ok_or(Errno::BADF)? = Some(tree);
    Ok(())
}

/// A path on which no link is followed: what was looked at beforehand is what is used, or nothing.
pub(super) fn open_exactly(path: &CStr) -> Result<OwnedFd, Errno> {
    open_exactly_in(CWD, path)
}

fn open_exactly_in(folder: BorrowedFd<'_>, path: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    // A link as the last part is opened as what it is.
    rustix::fs::openat2(folder, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

/// Makes one change of the file system.
pub(super) fn perform(step: &Step, slots: &mut [Option<OwnedFd>], landlock: Option<&OwnedFd>) -> Result<(), Errno> {
    match step {
        Step::Take { path, slot } => {
            let place = open_exactly(path)?;
            fill(slots, *slot, clone_tree(place.as_fd(), c"")?)
        }
        Step::TakeDevices { path, slot } => {
            let place = open_exactly_in(held(slots, HOST_DEVICES)?, path)?;
            fill(slots, *slot, clone_tree(place.as_fd(), c"")?)
        }
        Step::Hold { path, slot } => fill(slots, *slot, open_exactly(path)?),
        Step::FreezeRoot => raw::restrict_mounts(CWD, c"/", raw::attribute::READ_ONLY | raw::attribute::NO_SUID),
        Step::PartRoot => {
            let all = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
            rustix::mount::mount_change(c"/", all)
        }
        Step::Scratch => {
            let tree = new_mount(c"tmpfs", &[(c"mode", c"0755")])?;
            attach(tree.as_fd(), c"/dev")?;
            fill(slots, SCRATCH, tree)
        }
        Step::Folders { slot, trail, mode } => folders(held(slots, *slot)?, trail, *mode),
        Step::File { slot, path, mode } => empty_file(held(slots, *slot)?, path, *mode),
        Step::Socket { slot, path } => {
            rustix::fs::mknodat(held(slots, *slot)?, path, FileType::Socket, Mode::from_raw_mode(0o444), 0)
        }
        Step::Link { slot, path, to } => rustix::fs::symlinkat(to, held(slots, *slot)?, path),
        Step::Part { from, path, slot } => {
            let tree = clone_tree(held(slots, *from)?, path)?;
            fill(slots, *slot, tree)
        }
        Step::Restrict { slot, flags } => raw::restrict_mounts(held(slots, *slot)?, c"", *flags),
        Step::Free { slot, flags } => raw::free_mount(held(slots, *slot)?, *flags),
        Step::Device { name, path } => device(slots, name, path),
        Step::Attach { slot, target } => attach(held(slots, *slot)?, target),
        Step::AttachIn { slot, tree, path } => attach_in(held(slots, *slot)?, held(slots, *tree)?, path),
        Step::Veil { folder, name, slot } => {
            let tree = veil(held(slots, SCRATCH)?, held(slots, *folder)?, name)?;
            slot.map_or(Ok(()), |slot| fill(slots, slot, tree))
        }
        Step::Permit { slot, rights } => match landlock {
            Some(ruleset) => raw::landlock_add(ruleset.as_fd(), held(slots, *slot)?, *rights),
            None => Ok(()),
        },
        Step::Processes { slot } => fill(slots, *slot, new_mount(c"proc", &[])?),
        Step::Terminals { slot } => {
            let options = [(c"newinstance", c""), (c"ptmxmode", c"0666"), (c"mode", c"0620")];
            fill(slots, *slot, new_mount(c"devpts", &options)?)
        }
        Step::Overlay { slot, lower, upper, work } => {
            let options =
                [(c"lowerdir", lower.as_c_str()), (c"upperdir", upper), (c"workdir", work), (c"userxattr", c"")];
            fill(slots, *slot, new_mount(c"overlay", &options)?)
        }
    }
}

fn clone_tree(folder: BorrowedFd<'_>, path: &CStr) -> Result<OwnedFd, Errno> {
    let how = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
    rustix::mount::open_tree(folder, path, how)
}

/// A new file system that is not attached anywhere yet. Options without a value are flags.
pub(super) fn new_mount(kind: &CStr, options: &[(&CStr, &CStr)]) -> Result<OwnedFd, Errno> {
    let context = rustix::mount::fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (name, value) in options {
        if value.is_empty() {
            rustix::mount::fsconfig_set_flag(&context, *name)?;
        } else {
            rustix::mount::fsconfig_set_string(&context, *name, *value)?;
        }
    }
    rustix::mount::fsconfig_create(&context)?;
    let mut flags = MountAttrFlags::MOUNT_ATTR_NOSUID;
    // Terminals are devices; the other kinds hold none that should work.
    flags.set(MountAttrFlags::MOUNT_ATTR_NODEV, kind != c"devpts");
    flags.set(MountAttrFlags::MOUNT_ATTR_NOEXEC, kind == c"tmpfs");
    rustix::mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, flags)
}

/// Mounts a device of the host's in the sandbox's own `/dev`. A link is not followed, and mounting it would be in vain.
fn device(slots: &[Option<OwnedFd>], name: &CStr, path: &CStr) -> Result<(), Errno> {
    let host = held(slots, HOST_DEVICES)?;
    match rustix::fs::statat(host, name, AtFlags::SYMLINK_NOFOLLOW).map(|found| FileType::from_raw_mode(found.st_mode))
    {
        Ok(FileType::Symlink | FileType::Directory) | Err(Errno::NOENT) => return Ok(()),
        Ok(_) => (),
        Err(error) => return Err(error),
    }
    let tree = clone_tree(host, name)?;
    empty_file(held(slots, SCRATCH)?, path, 0o444)?;
    attach_in(tree.as_fd(), held(slots, OWN_DEVICES)?, name)
}

fn attach(tree: BorrowedFd<'_>, target: &CStr) -> Result<(), Errno> {
    let place = open_exactly(target)?;
    let how = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    rustix::mount::move_mount(tree, c"", &place, c"", how)
}

/// The same at a path in a folder. A link at its end is not followed.
fn attach_in(tree: BorrowedFd<'_>, folder: BorrowedFd<'_>, path: &CStr) -> Result<(), Errno> {
    rustix::mount::move_mount(tree, c"", folder, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

/// Covers a name, so that it can be neither filled nor moved nor removed. All placeholders have the same cover, which is
/// read-only already.
fn veil(scratch: BorrowedFd<'_>, folder: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    let mode = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode;
    let kind = FileType::from_raw_mode(mode);
    let tree = if is_mark(mode) && kind == FileType::Socket {
        clone_tree(scratch, VEIL_SOCKET)?
    } else if is_mark(mode) && kind == FileType::Directory {
        clone_tree(scratch, VEIL_FOLDER)?
    } else {
        let tree = clone_tree(folder, name)?;
        raw::restrict_mounts(tree.as_fd(), c"", raw::attribute::READ_ONLY)?;
        tree
    };
    attach_in(tree.as_fd(), folder, name)?;
    Ok(tree)
}

fn folders(tree: BorrowedFd<'_>, trail: &[std::ffi::CString], mode: u32) -> Result<(), Errno> {
    for path in trail {
        match rustix::fs::mkdirat(tree, path, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => (),
            Err(error) => return Err(error),
        }
    }
    match trail.last() {
        // The umask may have taken away what is wanted.
        Some(path) if mode != 0o755 => rustix::fs::chmodat(tree, path, Mode::from_raw_mode(mode), AtFlags::empty()),
        _ => Ok(()),
    }
}

/// What the umask takes away is not missed: it is a place to mount something at, or nobody may read it.
fn empty_file(tree: BorrowedFd<'_>, path: &CStr, mode: u32) -> Result<(), Errno> {
    match rustix::fs::mknodat(tree, path, FileType::RegularFile, Mode::from_raw_mode(mode), 0) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error),
    }
}
