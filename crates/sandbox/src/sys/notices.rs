//! What the filter of system calls tells: takes one notice after another and answers each.
//!
//! Nothing here permits a refused call: a notice of one is answered with its error, and without anybody to answer the
//! kernel refuses it by itself. Calls that are only watched always go on, and are then refused or not by the walls.
#![allow(unsafe_code, reason = "talks to the kernel's notification interface, and reads another process's memory")]

use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::raw;

/// A call that somebody inside makes right now, and waits in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Notice {
    id: u64,
    /// Who, as the host numbers it.
    pub(crate) process: u32,
    /// Which call.
    pub(crate) number: i64,
    /// Its arguments.
    pub(crate) arguments: [u64; 6],
}

/// What a notice is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// The kernel goes on with the call.
    GoOn,
    /// It fails with this error.
    Fail(i32),
}

/// Answers on the same processor as the one who asks, which waits meanwhile: two to three times as fast.
pub(crate) fn answer_at_once(filter: BorrowedFd<'_>) {
    const SET_FLAGS: u64 = 0x4008_2104;
    const SYNC_WAKE_UP: u64 = 1;
    // SAFETY: takes numbers only. Older kernels do not know it, and are slower.
    let _ = unsafe { libc::ioctl(filter.as_raw_fd(), SET_FLAGS as _, SYNC_WAKE_UP) };
}

/// The next notice; `None` when nobody is left who could make one.
pub(crate) fn next(filter: BorrowedFd<'_>) -> Option<Notice> {
    const RECEIVE: u64 = 0xc050_2100;
    loop {
        let mut polled = [PollFd::from_borrowed_fd(filter, PollFlags::IN)];
        match poll(&mut polled, None) {
            Ok(_) | Err(Errno::INTR) => (),
            Err(_) => return None,
        }
        let [polled] = polled;
        if !polled.revents().contains(PollFlags::IN) {
            if polled.revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
                return None;
            }
            continue;
        }
        // SAFETY: the kernel wants it zeroed, and fills a structure of exactly this size.
        let mut told: libc::seccomp_notif = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        let done = unsafe { libc::ioctl(filter.as_raw_fd(), RECEIVE as _, &raw mut told) };
        // Whoever made the call may have been killed meanwhile; then there is nothing to take.
        if done == 0 {
            let number = i64::from(told.data.nr);
            return Some(Notice { id: told.id, process: told.pid, number, arguments: told.data.args });
        }
    }
}

/// Answers a notice.
pub(crate) fn reply(filter: BorrowedFd<'_>, notice: Notice, reply: Reply) {
    const SEND: u64 = 0xc018_2101;
    const CONTINUE: u32 = 1;
    let (error, flags) = match reply {
        Reply::GoOn => (0, CONTINUE),
        Reply::Fail(error) => (-error, 0),
    };
    let answer = libc::seccomp_notif_resp { id: notice.id, val: 0, error, flags };
    // SAFETY: the answer is live and has the kernel's layout.
    let _ = unsafe { libc::ioctl(filter.as_raw_fd(), SEND as _, &raw const answer) };
}

/// A string in another process's memory, up to a bound; `None` if it cannot be read.
pub(crate) fn string(process: u32, place: u64) -> Option<Vec<u8>> {
    const PAGE: u64 = 4096;
    let mut text = Vec::new();
    let mut place = place;
    while text.len() < PAGE as usize {
        // Never across a page in one go: the next one may not be there.
        let length = PAGE - place % PAGE;
        let mut part = [0u8; PAGE as usize];
        let own = libc::iovec { iov_base: part.as_mut_ptr().cast(), iov_len: length as usize };
        let other = libc::iovec { iov_base: place as *mut libc::c_void, iov_len: length as usize };
        // SAFETY: writes at most `length` bytes into `part`, which is that long at least; the other side is not ours.
        let read = unsafe { libc::process_vm_readv(process.cast_signed(), &raw const own, 1, &raw const other, 1, 0) };
        let read = usize::try_from(raw::outcome(read as i64).ok()?).ok()?;
        let part = part.get(..read)?;
        match part.iter().position(|byte| *byte == 0) {
            Some(end) => {
                text.extend_from_slice(part.get(..end)?);
                return Some(text);
            }
            None if read == 0 => return None,
            None => text.extend_from_slice(part),
        }
        place += length;
    }
    None
}
