//! The beginning of a program, as far as this one needs it.
//!
//! The standard library does more before `main`: it asks where the stack ends, so that it can tell an overflow from other
//! faults. With the GNU C library that means reading and parsing `/proc/self/maps` and takes longer than most decisions.
//! Without it an overflow still ends the program, and the shell says why.
#![allow(unsafe_code, reason = "the C library hands over its arguments")]

use std::ffi::{CStr, OsStr, c_char, c_int};
use std::fs::File;
use std::os::fd::IntoRawFd;
use std::os::unix::ffi::OsStrExt;

/// Makes a function the beginning of the program: it gets the words of the command line, the program's name among them,
/// and says the exit code. The crate is `no_main`.
#[macro_export]
macro_rules! program {
    ($program:path) => {
        // SAFETY: nothing else is called so, because the crate has no other `main`.
        #[unsafe(no_mangle)]
        extern "C" fn main(count: core::ffi::c_int, words: *const *const core::ffi::c_char) -> core::ffi::c_int {
            // SAFETY: the C library calls this, with as many words as it counts.
            unsafe { $crate::begin(count, words, $program) }
        }
    };
}

/// The words of the command line, where the C library keeps them.
#[derive(Clone, Debug)]
pub struct Words {
    next: *const *const c_char,
    left: c_int,
}

impl Iterator for Words {
    type Item = &'static OsStr;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1).filter(|left| *left >= 0)?;
        // SAFETY: there is one more, as whoever made this said, and it stays there until the process ends.
        let word = unsafe { CStr::from_ptr(*self.next) };
        self.next = self.next.wrapping_add(1);
        Some(OsStr::from_bytes(word.to_bytes()))
    }
}

/// Begins the program and ends it.
///
/// # Safety
/// There are `count` texts at `words`, each with a zero at its end, for as long as the process lasts.
#[doc(hidden)]
pub unsafe fn begin(count: c_int, words: *const *const c_char, program: fn(Words) -> u8) -> ! {
    hold_standard_streams();
    forget_empty_home();
    // What is written to a reader that has gone fails; it does not kill.
    // SAFETY: no handler of ours is called.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    let code = program(Words { next: words, left: count });
    // Writes what is still held back.
    std::process::exit(code.into())
}

/// An empty `HOME` says as little as none. The standard library asks the system's list of users only where there is none.
fn forget_empty_home() {
    // SAFETY: nobody else looks at the environment yet, because the program has one thread and has just begun.
    unsafe {
        let home = libc::getenv(c"HOME".as_ptr());
        if !home.is_null() && *home == 0 {
            libc::unsetenv(c"HOME".as_ptr());
        }
    }
}

/// Opens those of the three that are closed: the first file to be opened would take their place, and get what is meant for
/// them.
fn hold_standard_streams() {
    for stream in [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()] {
        if rustix::io::fcntl_getfd(stream).is_err() {
            // The lowest number that is free, so this one.
            match File::options().read(true).write(true).open("/dev/null") {
                Ok(nothing) => drop(nothing.into_raw_fd()),
                Err(_) => std::process::abort(),
            }
        }
    }
}
