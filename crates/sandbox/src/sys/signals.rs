//! What this process does with signals: asked, and changed so that one is noted when it arrives.
#![allow(unsafe_code, reason = "a handler runs at any time, on whatever was going on")]

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::net::SendFlags;
use signal_hook::{SigId, low_level};

/// What a signal does here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Habit {
    /// What it usually does.
    Usual,
    /// Nothing.
    Ignored,
    /// Somebody's own code runs.
    Caught,
}

impl Habit {
    /// As the kernel knows it.
    pub(crate) fn of(signal: i32) -> Self {
        // SAFETY: all bytes nought is a valid action, and the kernel's own is only asked for.
        let action = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &raw mut action);
            action.sa_sigaction
        };
        match action {
            libc::SIG_DFL => Habit::Usual,
            libc::SIG_IGN => Habit::Ignored,
            _ => Habit::Caught,
        }
    }
}

/// From now on, what is written beyond the limit on a file's size fails; it does not kill. The handler does nothing and goes with
/// this program: one that it starts has the usual habit, which it would not if the signal were ignored.
pub fn outlive_file_limit() {
    extern "C" fn nothing(_: libc::c_int) {}
    let handler = nothing as extern "C" fn(libc::c_int) as *const ();
    // SAFETY: it does nothing, so it may run at any time.
    unsafe { libc::signal(libc::SIGXFSZ, handler as libc::sighandler_t) };
}

/// Has `arrived` set and then a byte sent on a line, whenever a signal arrives: whoever is woken finds it set.
pub(crate) fn note(signal: i32, arrived: Arc<AtomicBool>, line: Arc<UnixStream>) -> io::Result<SigId> {
    let handler = move || {
        arrived.store(true, Ordering::SeqCst);
        // Where it is full there is a byte already.
        let _ = rustix::net::send(&*line, &[0], SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
    };
    // SAFETY: stores a flag and makes one system call, by an instruction of its own that leaves `errno` alone.
    unsafe { low_level::register(signal, handler) }
}
