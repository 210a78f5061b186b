//! Asking the kernel directly, for the static build. musl reads the time from a page that the kernel keeps up to date for
//! that: looking up where it lies and fetching it takes a hook, which asks for the time a few times, longer than asking does.
//! And it says of every file that it opens twice that no other program gets it, for kernels of long ago that did not listen
//! the first time.
//!
//! These stand in for musl's `clock_gettime` and `open`.
#![allow(unsafe_code, reason = "C calls these")]

use std::ffi::{c_char, c_int};

/// # Safety
/// There is room for a time at `time`.
// SAFETY: nothing else is called so, because musl's own is taken only where nobody else's is there.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: libc::clockid_t, time: *mut libc::timespec) -> c_int {
    // SAFETY: as whoever calls this says.
    returned(unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) })
}

/// # Safety
/// There is a text at `path`, with a zero at its end.
// SAFETY: as above. C hands over a mode where there is one and anything where there is none, which nobody looks at then.
#[unsafe(no_mangle)]
unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int {
    // SAFETY: as whoever calls this says.
    returned(unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path, flags | libc::O_LARGEFILE, mode) })
}

/// What the kernel says is never more than that: a descriptor, or none.
fn returned(said: libc::c_long) -> c_int {
    c_int::try_from(said).unwrap_or(-1)
}
