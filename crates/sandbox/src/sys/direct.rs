//! Asking the kernel directly, for the static build. musl reads the time from a page that the kernel keeps up to date for
//! that: looking up where it lies and fetching it takes a hook, which asks for the time a few times, longer than asking does.
//! And it says of every file that it opens twice that no other program gets it, for kernels of long ago that did not listen
//! the first time.
//!
//! These stand in for musl's `clock_gettime` and `open`, which are taken only where nobody else's are there.
#![allow(unsafe_code, reason = "C calls these")]

use std::ffi::{c_char, c_int};

#[cfg(target_env = "musl")]
unsafe extern "C" {
    /// musl's own.
    fn __clock_gettime(clock: libc::clockid_t, time: *mut libc::timespec) -> c_int;
}

/// Whoever stays longer than a hook asks more often, and is better off with musl's.
///
/// # Safety
/// There is room for a time at `time`.
#[cfg(target_env = "musl")]
#[unsafe(export_name = "clock_gettime")]
unsafe extern "C" fn time(clock: libc::clockid_t, time: *mut libc::timespec) -> c_int {
    // SAFETY: as whoever calls this says.
    unsafe { if super::heap::is_open() { time_by_kernel(clock, time) } else { __clock_gettime(clock, time) } }
}

/// # Safety
/// There is room for a time at `time`.
unsafe fn time_by_kernel(clock: libc::clockid_t, time: *mut libc::timespec) -> c_int {
    // SAFETY: as whoever calls this says.
    returned(unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) })
}

/// C hands over a mode where there is one and anything where there is none, which nobody looks at then.
///
/// # Safety
/// There is a text at `path`, with a zero at its end.
#[cfg_attr(target_env = "musl", unsafe(export_name = "open"))]
unsafe extern "C" fn opened(path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int {
    // SAFETY: as whoever calls this says.
    returned(unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path, flags | libc::O_LARGEFILE, mode) })
}

/// What the kernel says is never more than that: a descriptor, or none.
fn returned(said: libc::c_long) -> c_int {
    c_int::try_from(said).unwrap_or(-1)
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::fs::{self, File};
    use std::io;
    use std::os::fd::{AsFd, FromRawFd};
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use super::*;

    fn open(path: &Path, flags: c_int, mode: libc::mode_t) -> io::Result<File> {
        let path = CString::new(path.as_os_str().as_bytes()).unwrap();
        // SAFETY: the text has its zero; a descriptor that is given is nobody else's.
        unsafe {
            match opened(path.as_ptr(), flags, mode) {
                -1 => Err(io::Error::last_os_error()),
                descriptor => Ok(File::from_raw_fd(descriptor)),
            }
        }
    }

    #[test]
    fn files_are_opened_as_the_library_opens_them() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        let absent = open(&file, libc::O_RDONLY, 0).unwrap_err();
        assert_eq!(absent.raw_os_error(), Some(libc::ENOENT));
        let made = open(&file, libc::O_WRONLY | libc::O_CREAT | libc::O_CLOEXEC, 0o600).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let is_kept =
            |file: &File| !rustix::io::fcntl_getfd(file.as_fd()).unwrap().contains(rustix::io::FdFlags::CLOEXEC);
        assert!(!is_kept(&made) && is_kept(&open(&file, libc::O_RDONLY, 0).unwrap()));
        let taken = open(&file, libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL, 0o600).unwrap_err();
        assert_eq!(taken.raw_os_error(), Some(libc::EEXIST));
        assert_eq!(open(folder.path(), libc::O_WRONLY, 0).unwrap_err().raw_os_error(), Some(libc::EISDIR));
    }

    #[test]
    fn the_time_is_the_time() {
        let ask = |clock| {
            let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            // SAFETY: there is room for it.
            (unsafe { time_by_kernel(clock, &raw mut time) }, time.tv_sec)
        };
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        let (said, seconds) = ask(libc::CLOCK_REALTIME);
        assert!(said == 0 && seconds.abs_diff(now.cast_signed()) <= 2, "{seconds} is not about {now}");
        assert_eq!(ask(-1).0, -1);
        assert_eq!(io::Error::last_os_error().raw_os_error(), Some(libc::EINVAL));
    }
}
