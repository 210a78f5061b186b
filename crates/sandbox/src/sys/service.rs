//! The keeper of placeholders as its master knows it: hired before anybody lives inside, told who does, and waited for at the
//! end.
#![allow(unsafe_code, reason = "clones a process that shares this one's memory")]

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::SendFlags;

use super::keeper::{self, Places};
use super::launch::{Leaver, pair, remember};
use super::raw::{self, Stack};

/// A keeper at work.
pub(super) struct Keeper {
    /// To it, who lives inside; from it, that it has cleaned up.
    line: OwnedFd,
    process: OwnedFd,
    memory: (Box<Service>, Stack),
}

impl Keeper {
    /// Clones one, which begins at once. It shares this process's memory, so that none has to be copied. `inside` is its line
    /// to the first process.
    pub(super) fn hire(places: Vec<Places>, inside: &OwnedFd) -> Result<Self, Errno> {
        let (line, master) = pair()?;
        let mut service = Box::new(Service { places, lines: [inside, &master].map(AsRawFd::as_raw_fd) });
        let stack = Stack::new()?;
        let shared = (serve as raw::Start, (&raw mut *service).cast());
        // SAFETY: `serve` makes system calls that touch no `errno`, on its service, which nobody else looks at; this and
        // its stack are given up only when it has ended.
        let (_, process) = unsafe { raw::clone_on(&stack, shared, 0) }?;
        Ok(Self { line, process, memory: (service, stack) })
    }

    /// Tells it who lives inside.
    pub(super) fn introduce(&self, first: BorrowedFd<'_>) {
        raw::hand(self.line.as_fd(), &[1], &[first]);
    }

    /// Tells it that nobody ever will.
    pub(super) fn send_home(&self) {
        let _ = rustix::net::send(&self.line, &[0], SendFlags::NOSIGNAL);
    }

    /// Waits until it has cleaned up, which it does when nobody lives inside any more.
    pub(super) fn dismiss(self) {
        let mut byte = [0];
        // Its word, or its end: either way there is nothing more to come.
        while rustix::io::read(&self.line, &mut byte) == Err(Errno::INTR) {}
        remember(Leaver::with(self.process, self.memory));
    }
}

/// What a keeper works with.
struct Service {
    places: Vec<Places>,
    lines: [i32; 2],
}

impl Drop for Service {
    fn drop(&mut self) {
        self.places.iter_mut().for_each(Places::disown);
    }
}

extern "C" fn serve(service: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `hire` passes its own, and keeps it as long as this lives.
    let service = unsafe { &mut *service.cast::<Service>() };
    // SAFETY: they are open in this process's own table, which was copied when it was made. From here on only these are
    // used, and nothing that owns another is dropped.
    let [inside, master] = unsafe { raw::keep_only(service.lines.map(|line| BorrowedFd::borrow_raw(line))) };
    keeper::live(&mut service.places, &keeper::Lines { inside, master })
}
