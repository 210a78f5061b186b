//! Tries, in a process that does nothing else, what the kernel permits here.
#![allow(unsafe_code, reason = "clones a process")]

use rustix::io::Errno;

use super::inside;
use super::launch::let_leave;
use super::mounts;
use super::raw;
use super::script::Identity;
use crate::plan::Nesting;

/// What was tried.
#[derive(Clone, Copy)]
pub(crate) struct Tried {
    /// User and mount namespaces, and changing mounts in them.
    pub(crate) mounts: Result<(), Errno>,
    /// A fresh `/proc`.
    pub(crate) processes: Result<(), Errno>,
}

/// What the process that tries and the one that asks both see.
struct Shared {
    identity: Identity,
    tried: Tried,
}

/// Tries namespaces as a sandbox would use them; without a network, which costs most and is never refused alone.
pub(crate) fn namespaces() -> Tried {
    let refused = Tried { mounts: Err(Errno::PERM), processes: Err(Errno::PERM) };
    let mut shared = Shared { identity: Identity::own(Nesting::Refused), tried: refused };
    let how = libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWPID;
    // SAFETY: `attempt` makes system calls on `shared`, which is passed, outlives it and is not touched meanwhile.
    match unsafe { raw::clone_sharing(attempt, (&raw mut shared).cast(), how) } {
        // Its end is not waited for: the kernel takes its time with that.
        Ok((_, process)) => let_leave(Some(process.into())),
        Err(error) => return Tried { mounts: Err(error), processes: Err(error) },
    }
    // SAFETY: read anew, for the child wrote it.
    unsafe { std::ptr::read_volatile(&raw const shared.tried) }
}

extern "C" fn attempt(shared: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `namespaces` passes its own `Shared` and stands still.
    let shared = unsafe { &mut *shared.cast::<Shared>() };
    shared.tried.mounts =
        inside::become_known(&shared.identity).and_then(|()| raw::restrict_mounts(rustix::fs::CWD, c"/", 0));
    // Never dropped: closing it would be waited for.
    shared.tried.processes = mounts::new_mount(c"proc", &[]).map(std::mem::forget);
    raw::leave(0)
}

/// Whether the kernel knows filters with the answers that are used.
pub(crate) fn filter() -> Result<(), Errno> {
    let wanted = libc::SECCOMP_RET_ERRNO;
    // SAFETY: the kernel reads one number.
    let done = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0, &raw const wanted) };
    raw::outcome(done).map(drop)
}
