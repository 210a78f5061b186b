//! Namespaces made ahead: a process makes them, holds them and does nothing else, while whoever wants them still decides
//! what is to run. A network takes the kernel longer than all the rest, and nobody has to wait for it this way.
//!
//! Nothing runs in them but the holder, and nothing is decided here: without a permit they are given up unused.
#![allow(unsafe_code, reason = "clones a process that shares this one's memory")]

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::pipe::PipeFlags;
use rustix::thread::UnshareFlags;

use super::inside::{self, LATER};
use super::launch::{Leaver, let_leave, reap};
use super::raw::{self, Stack};
use super::script::Identity;
use crate::plan::Nesting;

/// Namespaces that nobody lives in yet.
#[derive(Debug)]
pub(crate) struct Vacancy {
    holder: OwnedFd,
    /// The holder says here that they are made, or why not.
    made: OwnedFd,
    /// When this is closed, because this program is no more, the holder ends by itself.
    _leash: OwnedFd,
    /// What the holder works with, for as long as it lives.
    memory: Option<(Box<Orders>, Stack)>,
}

/// What the holder sees of this process's memory.
#[derive(Debug)]
struct Orders {
    identity: Identity,
    /// Descriptors in its own table, by number.
    made: i32,
    leash: i32,
    leashed: i32,
}

impl Vacancy {
    /// Begins to make them, and does not wait for it.
    pub(crate) fn begin() -> Result<Self, Errno> {
        let (made, making) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        let (leashed, leash) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        let mut orders = Box::new(Orders {
            identity: Identity::own(Nesting::Refused),
            made: making.as_raw_fd(),
            leash: leash.as_raw_fd(),
            leashed: leashed.as_raw_fd(),
        });
        let stack = Stack::new()?;
        let shared = (hold as raw::Start, (&raw mut *orders).cast());
        // SAFETY: `hold` makes system calls that touch no `errno`, on its orders, which nobody writes; these and its stack
        // are given up only when it has ended.
        let (_, holder) = unsafe { raw::clone_on(&stack, shared, libc::CLONE_NEWUSER) }?;
        Ok(Self { holder, made, _leash: leash, memory: Some((orders, stack)) })
    }

    /// Enters what a process holds. Only for a process with a single thread, as one is that was just cloned.
    pub(crate) fn enter(holder: BorrowedFd<'_>) -> Result<(), Errno> {
        raw::join(holder, LATER | libc::CLONE_NEWUSER)
    }

    /// Who holds them, when they are made.
    pub(crate) fn holder(&self) -> Result<BorrowedFd<'_>, Errno> {
        let mut byte = [0];
        let read = loop {
            match rustix::io::read(&self.made, &mut byte) {
                Err(Errno::INTR) => (),
                done => break done?,
            }
        };
        match (read, byte) {
            (1, [0]) => Ok(self.holder.as_fd()),
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
    let byte =
        make(&orders.identity).map_or_else(|error| u8::try_from(error.raw_os_error()).unwrap_or(u8::MAX), |()| 0);
    // SAFETY: these are open in this process's own table, which was copied when it was made.
    unsafe {
        let _ = rustix::io::write(BorrowedFd::borrow_raw(orders.made), &[byte]);
        rustix::io::close(orders.made);
        // Or it would wait for its own end.
        rustix::io::close(orders.leash);
        let _ = rustix::io::read(BorrowedFd::borrow_raw(orders.leashed), &mut [0u8; 1]);
    }
    raw::leave(0)
}

fn make(identity: &Identity) -> Result<(), Errno> {
    inside::become_known(identity)?;
    // SAFETY: none of these changes what descriptors or memory mean.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::from_bits_retain(LATER.cast_unsigned())) }?;
    inside::loopback_up()
}
