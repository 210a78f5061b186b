//! The keeper of placeholders: makes a folder or a file where a protected name is absent, so that the name can be covered inside,
//! and removes it after the run, also when the program that wanted it was killed.
//!
//! Several runs may share a placeholder: each keeper holds a shared lock on it, and the last one removes it. It must
//! never remove what is not a placeholder, and never touch anything while the sandbox lives.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};

use super::inside::open_exactly;
use super::raw;

/// What stands at an absent name. Both are known by their mode: nobody makes such an empty thing by accident.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A folder: most programs pass it by.
    Folder,
    /// A file, for names that programs insist on reading.
    File,
}

impl Form {
    fn mode(self) -> u32 {
        match self {
            Form::Folder => 0o1555,
            Form::File => 0o1444,
        }
    }

    /// What makes it.
    fn make(self, folder: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
        let mode = Mode::from_raw_mode(self.mode());
        match self {
            Form::Folder => rustix::fs::mkdirat(folder, name, mode),
            Form::File => {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                rustix::fs::openat(folder, name, flags, mode).map(drop)
            }
        }
    }

    /// The kind of file that it is.
    fn is(self, found: FileType) -> bool {
        match self {
            Form::Folder => found == FileType::Directory,
            Form::File => found == FileType::RegularFile,
        }
    }
}

/// Whether a mode is a placeholder's. The caller's umask may have taken away what others may do.
pub(crate) fn is_mark(mode: u32) -> bool {
    let kind = FileType::from_raw_mode(mode);
    [Form::Folder, Form::File].iter().any(|form| form.is(kind) && mode & 0o1700 == form.mode() & 0o1700)
}

/// How often a placeholder may vanish while it is being taken, because another run ended.
const TRIES: usize = 16;

/// An absent name.
pub(crate) struct Placeholder {
    /// The folder it would be in.
    pub(crate) folder: CString,
    /// The name.
    pub(crate) name: CString,
    /// What stands there meanwhile.
    pub(crate) form: Form,
    /// The placeholder, while it is held.
    pub(crate) held: Option<OwnedFd>,
}

/// What a keeper is connected to.
pub(crate) struct Lines<'a> {
    /// From the parent, that the run is over; to it, that everything is cleaned up.
    pub(crate) orders: BorrowedFd<'a>,
    /// The first process inside: readable when it has ended, and with it all others inside.
    pub(crate) inside: BorrowedFd<'a>,
    /// The parent itself: readable when it is gone.
    pub(crate) leash: BorrowedFd<'a>,
    /// To the first process inside: the placeholders are there.
    pub(crate) ready: BorrowedFd<'a>,
}

/// Lives as a keeper. Never returns.
pub(crate) fn live(placeholders: &mut [Placeholder], lines: &Lines<'_>) -> ! {
    let _ = rustix::process::setsid();
    raw::block_signals();
    let made = placeholders.iter_mut().try_for_each(take);
    let byte = made.map_or_else(|error| u8::try_from(error.raw_os_error()).unwrap_or(u8::MAX), |()| 0);
    let _ = rustix::io::write(lines.ready, &[byte]);
    if made.is_ok() {
        wait(lines);
    }
    for placeholder in placeholders {
        release(placeholder);
    }
    let _ = rustix::net::send(lines.orders, &[0], SendFlags::NOSIGNAL);
    raw::leave(0)
}

/// Makes a placeholder or joins the one that another run made. Something else at its place is left alone: it exists
/// now, and is covered as it is.
fn take(placeholder: &mut Placeholder) -> Result<(), Errno> {
    let folder = open_exactly(&placeholder.folder)?;
    for _ in 0..TRIES {
        match placeholder.form.make(folder.as_fd(), &placeholder.name) {
            Ok(()) | Err(Errno::EXIST) => (),
            Err(error) => return Err(error),
        }
        match join(folder.as_fd(), &placeholder.name)? {
            Joined::Held(held) => {
                placeholder.held = Some(held);
                return Ok(());
            }
            Joined::Foreign => return Ok(()),
            Joined::Gone => (),
        }
    }
    Err(Errno::BUSY)
}

enum Joined {
    /// It is a placeholder, and stays while this is held.
    Held(OwnedFd),
    /// It is something else.
    Foreign,
    /// It vanished meanwhile.
    Gone,
}

fn join(folder: BorrowedFd<'_>, name: &CStr) -> Result<Joined, Errno> {
    // Nothing is waited for: it may have become a pipe.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let held = match rustix::fs::openat(folder, name, flags, Mode::empty()) {
        Ok(held) => held,
        Err(Errno::NOENT) => return Ok(Joined::Gone),
        Err(Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => return Ok(Joined::Foreign),
        Err(error) => return Err(error),
    };
    let seen = rustix::fs::fstat(&held)?;
    if !is_mark(seen.st_mode) || (FileType::from_raw_mode(seen.st_mode).is_file() && seen.st_size > 0) {
        return Ok(Joined::Foreign);
    }
    rustix::fs::flock(&held, FlockOperation::LockShared)?;
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(now) if same(&now, &seen) => Ok(Joined::Held(held)),
        _ => Ok(Joined::Gone),
    }
}

fn same(one: &Stat, other: &Stat) -> bool {
    one.st_dev == other.st_dev && one.st_ino == other.st_ino
}

/// Until the run is over and nothing inside lives any more.
fn wait(lines: &Lines<'_>) {
    let mut polled =
        [PollFd::from_borrowed_fd(lines.orders, PollFlags::IN), PollFd::from_borrowed_fd(lines.leash, PollFlags::IN)];
    while poll(&mut polled, None) == Err(Errno::INTR) {}
    // The parent says a word only when all inside is over; when it is gone, it says none.
    let mut byte = [0];
    let said = rustix::net::recv(lines.orders, &mut byte, RecvFlags::DONTWAIT);
    if !said.is_ok_and(|(read, _)| read > 0) {
        let mut polled = [PollFd::from_borrowed_fd(lines.inside, PollFlags::IN)];
        while poll(&mut polled, None) == Err(Errno::INTR) {}
    }
}

/// Removes a placeholder, unless another run still holds it or somebody put something else at its place. What was
/// removed stays open until this process ends: closing it takes the file system longer than all the rest, and nobody
/// waits for that.
fn release(placeholder: &mut Placeholder) {
    let Some(held) = &placeholder.held else { return };
    if rustix::fs::flock(held, FlockOperation::NonBlockingLockExclusive).is_err() {
        placeholder.held = None;
        return;
    }
    let Ok(folder) = open_exactly(&placeholder.folder) else { return };
    let now = rustix::fs::statat(&folder, &placeholder.name, AtFlags::SYMLINK_NOFOLLOW);
    let was = rustix::fs::fstat(held);
    if let (Ok(now), Ok(was)) = (now, was)
        && same(&now, &was)
    {
        // A folder with something in it stays by itself; a file must be looked at.
        let how = if FileType::from_raw_mode(was.st_mode).is_dir() { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        if how.is_empty() && was.st_size > 0 {
            return;
        }
        let _ = rustix::fs::unlinkat(&folder, &placeholder.name, how);
    }
}
