//! The keeper of placeholders: makes a folder or a file where a protected name is absent, so that the name can be covered inside,
//! and removes it after the run, also when the program that wanted it was killed.
//!
//! Several runs may share a placeholder: each keeper holds a shared lock on it, and the last one removes it. Making and
//! removing a folder costs a file system much, a further name for something that is there costs it little: where a
//! folder has a `.mayi`, in its place or held by a placeholder, all other names in it are names of one socket, and the
//! lock on `.mayi` counts for all of them. It must never remove what is not a placeholder, and never touch anything
//! while the sandbox lives.

use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, RawDir, Stat};
use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvFlags, SendFlags};

use super::mounts::open_exactly;
use super::raw;

/// What stands at an absent name. All are known by their mode: nobody makes such an empty thing by accident.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A folder, or a name of a socket: most programs pass both by, and git takes no notice of either.
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
    let is_own = [Form::Folder, Form::File].iter().any(|form| form.is(kind) && mode & 0o1700 == form.mode() & 0o1700);
    is_own || is_shared(mode)
}

/// Whether a mode is that of the socket whose names are placeholders.
fn is_shared(mode: u32) -> bool {
    FileType::from_raw_mode(mode) == FileType::Socket && mode & 0o1700 == SOCKET & 0o1700
}

/// The mode of a socket whose names are placeholders.
const SOCKET: u32 = 0o1444;

/// What holds the lock for all other names in a folder. It is our own, so that nobody else locks it.
pub(crate) const ANCHOR: &CStr = c".mayi";

/// How often a placeholder may vanish while it is being taken, because another run ended.
const TRIES: usize = 16;

/// Absent names in one folder.
pub(crate) struct Places {
    /// The folder.
    pub(crate) folder: CString,
    /// The names; [`ANCHOR`] first, if it is among them.
    pub(crate) names: Vec<Placeholder>,
    /// The folder itself, while they are held.
    pub(crate) opened: Option<OwnedFd>,
    /// What is locked for those that are names of a socket.
    pub(crate) anchor: Anchor,
}

/// What is locked for all names of sockets in a folder.
#[derive(Debug)]
pub(crate) enum Anchor {
    /// Nothing, so there are none.
    None,
    /// The first placeholder.
    First,
    /// The folder that is there.
    Folder(OwnedFd),
}

/// An absent name.
pub(crate) struct Placeholder {
    /// The name.
    pub(crate) name: CString,
    /// What stands there meanwhile.
    pub(crate) form: Form,
    /// How it is held.
    pub(crate) hold: Hold,
}

/// How an absent name is held.
#[derive(Debug)]
pub(crate) enum Hold {
    /// Not at all: not yet, or because something else is there.
    None,
    /// By the lock on what stands there.
    Alone(OwnedFd),
    /// By the lock on the anchor.
    Shared,
}

/// What a keeper is connected to.
pub(crate) struct Lines<'a> {
    /// To the first process inside: the placeholders are there. From it: all others inside have ended.
    pub(crate) inside: BorrowedFd<'a>,
    /// From the parent: who lives inside, or that nobody does. To it: everything is cleaned up.
    pub(crate) master: BorrowedFd<'a>,
}

/// Lives as a keeper. Never returns.
pub(crate) fn live(places: &mut [Places], lines: &Lines<'_>) -> ! {
    let _ = rustix::process::setsid();
    raw::block_signals();
    let made = places.iter_mut().try_for_each(Places::take);
    let byte = made.map_or_else(|error| u8::try_from(error.raw_os_error()).unwrap_or(u8::MAX), |()| 0);
    let _ = rustix::net::send(lines.inside, &[byte], SendFlags::NOSIGNAL);
    wait(lines);
    for places in places {
        places.release();
    }
    let _ = rustix::net::send(lines.master, &[0], SendFlags::NOSIGNAL);
    raw::leave(0)
}

impl Places {
    fn take(&mut self) -> Result<(), Errno> {
        let Self { folder, names, opened, anchor } = self;
        let opened = &*opened.insert(open_exactly(folder)?);
        let folder = opened.as_fd();
        let mut names = names.iter_mut().peekable();
        if let Some(first) = names.next_if(|first| first.name.as_c_str() == ANCHOR) {
            first.hold = take(folder, first)?;
            *anchor = if matches!(first.hold, Hold::Alone(_)) { Anchor::First } else { Anchor::None };
        }
        if matches!(anchor, Anchor::None) && names.peek().is_some() {
            *anchor = lock_folder(folder).map_or(Anchor::None, Anchor::Folder);
        }
        let mut link = Link { folder, source: None };
        for placeholder in names {
            let may_share = !matches!(anchor, Anchor::None) && placeholder.form == Form::Folder;
            let shares = may_share && link.name(&placeholder.name);
            placeholder.hold = if shares { Hold::Shared } else { take(folder, placeholder)? };
        }
        Ok(())
    }

    /// Removes what no other run holds. What was removed stays open until this process ends: closing it takes the file
    /// system longer than all the rest, and nobody waits for that.
    fn release(&mut self) {
        let Some(folder) = self.opened.as_ref().map(AsFd::as_fd) else { return };
        let first = self.names.first().map(|first| &first.hold);
        let anchor = match (&self.anchor, first) {
            (Anchor::Folder(folder), _) | (Anchor::First, Some(Hold::Alone(folder))) => Some(folder),
            (Anchor::None, _) | (Anchor::First, _) => None,
        };
        let is_last = |anchor: &OwnedFd| rustix::fs::flock(anchor, FlockOperation::NonBlockingLockExclusive).is_ok();
        if anchor.is_some_and(is_last) {
            self.unname(folder);
        }
        for placeholder in &mut self.names {
            release(folder, placeholder);
        }
    }

    /// Forgets what another process had open: here its numbers mean something else.
    pub(super) fn disown(&mut self) {
        let holds = self.names.iter_mut().map(|name| std::mem::replace(&mut name.hold, Hold::None));
        let held = holds.filter_map(|hold| match hold {
            Hold::Alone(held) => Some(held),
            Hold::None | Hold::Shared => None,
        });
        let anchor = match std::mem::replace(&mut self.anchor, Anchor::None) {
            Anchor::Folder(folder) => Some(folder),
            Anchor::None | Anchor::First => None,
        };
        held.chain(anchor).chain(self.opened.take()).for_each(std::mem::forget);
    }

    /// Takes the names of sockets away.
    fn unname(&self, folder: BorrowedFd<'_>) {
        let (mut taken, mut known) = (0, 0);
        for placeholder in self.names.iter().filter(|placeholder| matches!(placeholder.hold, Hold::Shared)) {
            if let Some(names) = unname(folder, &placeholder.name) {
                (taken, known) = (taken + 1, names.max(known));
            }
        }
        // Another run had names that this one has not, and left them to the last.
        if known > taken {
            unname_all(folder);
        }
    }
}

/// Locks the folder of ours that is there for all names beside it. One that only holds a place is for those who have it
/// among their names.
fn lock_folder(folder: BorrowedFd<'_>) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let anchor = rustix::fs::openat(folder, ANCHOR, flags, Mode::empty()).ok()?;
    let is_real = rustix::fs::fstat(&anchor).is_ok_and(|found| !is_mark(found.st_mode));
    (is_real && rustix::fs::flock(&anchor, FlockOperation::LockShared).is_ok()).then_some(anchor)
}

/// A socket that gets one name after another.
struct Link<'a> {
    folder: BorrowedFd<'a>,
    /// A name that it has.
    source: Option<&'a CStr>,
}

impl<'a> Link<'a> {
    /// Gives it a name, or finds that it has it already; whether it has it then. Some file systems have no further names.
    fn name(&mut self, name: &'a CStr) -> bool {
        for _ in 0..TRIES {
            let made = match self.source {
                Some(source) => rustix::fs::linkat(self.folder, source, self.folder, name, AtFlags::empty()),
                None => {
                    let mode = Mode::from_raw_mode(SOCKET);
                    rustix::fs::mknodat(self.folder, name, FileType::Socket, mode, 0)
                }
            };
            match (made, self.source) {
                (Ok(()), _) => (),
                (Err(Errno::EXIST), _) => match rustix::fs::statat(self.folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(found) if is_shared(found.st_mode) => (),
                    Err(Errno::NOENT) => continue,
                    Ok(_) | Err(_) => return false,
                },
                // Somebody took the other name away.
                (Err(Errno::NOENT), Some(_)) => {
                    self.source = None;
                    continue;
                }
                (Err(_), _) => return false,
            }
            self.source = Some(name);
            return true;
        }
        false
    }
}

/// Takes a name of a socket away; how many it had.
fn unname(folder: BorrowedFd<'_>, name: &CStr) -> Option<usize> {
    let found = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let taken = is_shared(found.st_mode) && rustix::fs::unlinkat(folder, name, AtFlags::empty()).is_ok();
    taken.then(|| usize::try_from(found.st_nlink).unwrap_or(usize::MAX))
}

/// Takes every name in a folder away that is one of our sockets'.
fn unname_all(folder: BorrowedFd<'_>) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(listed) = rustix::fs::openat(folder, c".", flags, Mode::empty()) else { return };
    let mut space = [MaybeUninit::<u8>::uninit(); 4096];
    let mut entries = RawDir::new(listed, &mut space);
    while let Some(Ok(entry)) = entries.next() {
        if matches!(entry.file_type(), FileType::Socket | FileType::Unknown) {
            unname(folder, entry.file_name());
        }
    }
}

/// Makes a placeholder or joins the one that another run made. Something else at its place is left alone: it exists
/// now, and is covered as it is.
fn take(folder: BorrowedFd<'_>, placeholder: &Placeholder) -> Result<Hold, Errno> {
    for _ in 0..TRIES {
        match placeholder.form.make(folder, &placeholder.name) {
            Ok(()) | Err(Errno::EXIST) => (),
            Err(error) => return Err(error),
        }
        match join(folder, &placeholder.name)? {
            Joined::Held(held) => return Ok(Hold::Alone(held)),
            Joined::Foreign => return Ok(Hold::None),
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

/// How long the kernel usually takes from the last word of the first process until it has taken down all mounts inside.
/// A name that something is mounted on in another namespace can be taken away, but the kernel then waits for all processors,
/// every time; waiting for the very end of the process takes longer still.
const MOMENT: Timespec = Timespec { tv_sec: 0, tv_nsec: 40_000 };

/// Much longer than the kernel takes to end what lived inside with its first process.
const AGES: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// Until nothing inside lives any more.
fn wait(lines: &Lines<'_>) {
    let first = match who_lives_inside(lines.master) {
        Lives::First(first) => first,
        Lives::Nobody => return,
        Lives::Unknown => {
            // The parent was killed before it could tell, or what it handed over was lost. Whoever lives inside closes
            // this line when it goes.
            let mut byte = [0];
            while matches!(rustix::io::read(lines.inside, &mut byte), Ok(1) | Err(Errno::INTR)) {}
            return wait_for(&mut [], Some(&AGES));
        }
    };
    let (line, end) = (PollFd::from_borrowed_fd(lines.inside, PollFlags::IN), PollFd::new(&first, PollFlags::IN));
    wait_for(&mut [line, end], None);
    let mut byte = [0];
    let said = rustix::net::recv(lines.inside, &mut byte, RecvFlags::DONTWAIT);
    // After its word the first process only leaves. Without one, its end ends the others.
    let patience = said.is_ok_and(|(read, _)| read > 0).then_some(&MOMENT);
    wait_for(&mut [PollFd::new(&first, PollFlags::IN)], patience);
    // Nothing is closed here that nobody waits for.
    std::mem::forget(first);
}

fn wait_for(polled: &mut [PollFd<'_>], patience: Option<&Timespec>) {
    while poll(polled, patience) == Err(Errno::INTR) {}
}

/// The word that nobody was made.
pub(super) const NOBODY: u8 = 0;
/// The word that comes with the first process.
pub(super) const SOMEBODY: u8 = 1;

/// Whom a keeper has to wait for.
enum Lives {
    /// The first process inside: readable when it has ended, and with it all others inside.
    First(OwnedFd),
    /// Nobody: none was made.
    Nobody,
    /// The parent never said so that it was understood.
    Unknown,
}

fn who_lives_inside(master: BorrowedFd<'_>) -> Lives {
    let mut space = [MaybeUninit::<u8>::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let read = loop {
        let mut parts = [std::io::IoSliceMut::new(&mut byte)];
        match rustix::net::recvmsg(master, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => (),
            done => break done.map_or(0, |received| received.bytes),
        }
    };
    match (read, byte, raw::handed(&mut ancillary).next()) {
        (1, [NOBODY], None) => Lives::Nobody,
        (1, [_], Some(first)) => Lives::First(first),
        // Nothing, or somebody whose descriptor found no room.
        (_, _, _) => Lives::Unknown,
    }
}

/// Removes a placeholder with a lock of its own, unless another run still holds it or somebody put something else at its
/// place.
fn release(folder: BorrowedFd<'_>, placeholder: &mut Placeholder) {
    let Hold::Alone(held) = &placeholder.hold else { return };
    if rustix::fs::flock(held, FlockOperation::NonBlockingLockExclusive).is_err() {
        placeholder.hold = Hold::None;
        return;
    }
    let now = rustix::fs::statat(folder, &placeholder.name, AtFlags::SYMLINK_NOFOLLOW);
    let was = rustix::fs::fstat(held);
    if let (Ok(now), Ok(was)) = (now, was)
        && same(&now, &was)
    {
        // A folder with something in it stays by itself; a file must be looked at.
        let how = if FileType::from_raw_mode(was.st_mode).is_dir() { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        if how.is_empty() && was.st_size > 0 {
            return;
        }
        let _ = rustix::fs::unlinkat(folder, &placeholder.name, how);
    }
}
