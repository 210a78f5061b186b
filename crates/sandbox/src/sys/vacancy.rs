//! Namespaces made ahead: a process makes them, lays the ground in them, holds them and does nothing else, while whoever
//! wants them still decides what is to run. A network takes the kernel longer than all the rest, and nobody has to wait for
//! it this way.
//!
//! Nothing runs in them but the holder, and nothing is decided here: without a permit they are given up unused, and after a
//! second in any case.
#![allow(unsafe_code, reason = "clones a process that shares this one's memory")]

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvFlags, SendFlags};
use rustix::pipe::PipeFlags;
use rustix::thread::UnshareFlags;

use super::inside::{self, LATER};
use super::launch::{Leaver, let_leave, pair, reap, send_elsewhere};
use super::mounts;
use super::raw::{self, Stack};
use super::script::{GROUND, Identity, Step};
use crate::plan::Nesting;

/// The namespaces that the holder makes for itself, beside its user's.
const NAMESPACES: i32 = LATER | libc::CLONE_NEWNS;

/// How long they are held for somebody. Whoever is still waiting for an answer then, perhaps a person's, gets others: what
/// the host mounted meanwhile is missing in these, and they keep what it unmounted.
const PATIENCE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// How many descriptors the holder hands over: the root of its file system, and what the ground fills slots with.
const HANDED: usize = 1 + GROUND;
const _: () = assert!(HANDED <= raw::HANDED, "they come with one message");

/// Namespaces that nobody lives in yet.
#[derive(Debug)]
pub(crate) struct Vacancy {
    holder: OwnedFd,
    /// The holder says here that they are made, and hands over what leads into them, or says why not.
    made: OwnedFd,
    /// When this is closed, because this program is no more, the holder ends by itself.
    _leash: OwnedFd,
    /// What the holder works with, for as long as it lives.
    memory: Option<(Box<Orders>, Stack)>,
}

/// What the holder sees of this process's memory.
struct Orders {
    identity: Identity,
    ground: Vec<Step>,
    /// Descriptors in its own table, by number.
    made: i32,
    leash: i32,
    leashed: i32,
}

impl std::fmt::Debug for Orders {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Orders").finish_non_exhaustive()
    }
}

impl Vacancy {
    /// Begins to make them, with this ground, and does not wait for it.
    pub(crate) fn begin(ground: Vec<Step>) -> Result<Self, Errno> {
        let (made, making) = pair()?;
        let (leashed, leash) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        let mut orders = Box::new(Orders {
            identity: Identity::own(Nesting::Refused),
            ground,
            made: making.as_raw_fd(),
            leash: leash.as_raw_fd(),
            leashed: leashed.as_raw_fd(),
        });
        let stack = Stack::new()?;
        let shared = (hold as raw::Start, (&raw mut *orders).cast());
        // SAFETY: `hold` makes system calls that touch no `errno`, on its orders, which nobody writes; these and its stack
        // are given up only when it has ended.
        let (id, holder) = unsafe { raw::clone_on(&stack, shared, libc::CLONE_NEWUSER) }?;
        send_elsewhere(id);
        Ok(Self { holder, made, _leash: leash, memory: Some((orders, stack)) })
    }

    /// Enters them, down to the root of the file system in there. Only for a process with a single thread, as one is that
    /// was just cloned.
    pub(crate) fn enter(&self, root: BorrowedFd<'_>) -> Result<(), Errno> {
        raw::join(self.holder.as_fd(), NAMESPACES | libc::CLONE_NEWUSER)?;
        // Whoever enters is put at the root of all mounts, which need not be the root that this program has.
        rustix::process::fchdir(root)?;
        rustix::process::chroot(c".")
    }

    /// Waits until they are made: the root of the file system in there, and what the ground filled slots with.
    pub(crate) fn ready(&self) -> Result<[OwnedFd; HANDED], Errno> {
        let mut space = [MaybeUninit::<u8>::uninit(); rustix::cmsg_space!(ScmRights(HANDED))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let read = loop {
            let mut parts = [std::io::IoSliceMut::new(&mut byte)];
            match rustix::net::recvmsg(&self.made, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
                Err(Errno::INTR) => (),
                done => break done?.bytes,
            }
        };
        match (read, byte) {
            (1, [0]) => raw::handed(&mut ancillary).collect::<Vec<_>>().try_into().map_err(|_| Errno::CHILD),
            (1, [error]) => Err(raw::error(i32::from(error))),
            (_, _) => Err(Errno::CHILD),
        }
    }
}

impl Drop for Vacancy {
    fn drop(&mut self) {
        let _ = rustix::process::pidfd_send_signal(&self.holder, rustix::process::Signal::KILL);
        // Nobody waits for its end, unless there is no other way to know when its memory is free.
        match self.holder.try_clone() {
            Ok(holder) => let_leave(Some(Leaver::with(holder, self.memory.take()))),
            Err(_) => reap(&self.holder),
        }
    }
}

/// Lives as the holder. It has every signal blocked.
extern "C" fn hold(orders: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `begin` passes its own, and keeps them as long as this lives.
    let orders = unsafe { &*orders.cast::<Orders>() };
    // SAFETY: this and the other two are open in this process's own table, which was copied when it was made.
    let line = unsafe { BorrowedFd::borrow_raw(orders.made) };
    if let Err(error) = make(orders, line) {
        let byte = u8::try_from(error.raw_os_error()).unwrap_or(u8::MAX);
        let _ = rustix::net::send(line, &[byte], SendFlags::NOSIGNAL);
    }
    // SAFETY: as above.
    unsafe {
        rustix::io::close(orders.made);
        // Or it would wait for its own end.
        rustix::io::close(orders.leash);
        let mut leash = [PollFd::from_borrowed_fd(BorrowedFd::borrow_raw(orders.leashed), PollFlags::IN)];
        while poll(&mut leash, Some(&PATIENCE)) == Err(Errno::INTR) {}
    }
    raw::leave(0)
}

/// Makes them, lays the ground and hands it over. Everything here leaves `errno` alone.
fn make(orders: &Orders, line: BorrowedFd<'_>) -> Result<(), Errno> {
    inside::become_known(&orders.identity)?;
    // SAFETY: none of these changes what descriptors or memory mean.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::from_bits_retain(NAMESPACES.cast_unsigned())) }?;
    inside::loopback_up()?;
    let mut slots = [const { None }; GROUND];
    for step in &orders.ground {
        mounts::perform(step, &mut slots, None)?;
    }
    let root = rustix::fs::open(c"/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let mut handed = [root.as_fd(); HANDED];
    for (one, slot) in handed.iter_mut().skip(1).zip(&slots) {
        *one = slot.as_ref().ok_or(Errno::BADF)?.as_fd();
    }
    raw::hand(line, &[0], &handed);
    Ok(())
}
