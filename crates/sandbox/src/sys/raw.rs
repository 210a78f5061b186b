//! System calls that no crate wraps safely, each in its smallest form. All may run between clone and exec.
#![allow(unsafe_code, reason = "system calls that rustix does not offer")]

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, SendAncillaryBuffer, SendAncillaryMessage, SendFlags};

/// The kernel's `struct mount_attr`.
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    namespace: u64,
}

/// Flags of a mount.
pub(crate) mod attribute {
    /// Nothing can be written through it.
    pub(crate) const READ_ONLY: u64 = 1;
    /// Set-user-id means nothing on it.
    pub(crate) const NO_SUID: u64 = 2;
    /// Programs on it cannot be executed.
    pub(crate) const NO_EXEC: u64 = 8;
}

/// Sets `flags` on the mount at `path` below `folder` and on all below it, and cuts them off from the host's.
pub(crate) fn restrict_mounts(folder: BorrowedFd<'_>, path: &CStr, flags: u64) -> Result<(), Errno> {
    const MS_PRIVATE: u64 = 1 << 18;
    let wanted = MountAttributes { set: flags, clear: 0, propagation: MS_PRIVATE, namespace: 0 };
    set_attributes(folder, path, libc::AT_RECURSIVE, &wanted)
}

/// Takes `flags` from a mount, and from none below it.
pub(crate) fn free_mount(mount: BorrowedFd<'_>, flags: u64) -> Result<(), Errno> {
    let wanted = MountAttributes { set: 0, clear: flags, propagation: 0, namespace: 0 };
    set_attributes(mount, c"", 0, &wanted)
}

fn set_attributes(folder: BorrowedFd<'_>, path: &CStr, how: i32, wanted: &MountAttributes) -> Result<(), Errno> {
    // SAFETY: the pointers are to a live string and a live structure of the size that is given.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            folder.as_raw_fd(),
            path.as_ptr(),
            how | libc::AT_EMPTY_PATH,
            &raw const *wanted,
            size_of::<MountAttributes>(),
        )
    };
    outcome(done).map(drop)
}

/// The kernel's `struct clone_args`, as far as it is used.
#[repr(C)]
#[derive(Default)]
struct CloneArguments {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
}

/// Which of the two a clone returned in.
pub(crate) enum Clone {
    /// The new process.
    Child,
    /// The old one, with the new one's id and descriptor.
    Parent(u32, OwnedFd),
}

/// A copy of this process, with new namespaces where `flags` say so. Its end raises no signal: the caller may have
/// children of its own to wait for.
///
/// # Safety
/// In the child nothing may be called but system calls, on memory prepared before, until it executes or exits: other
/// threads may have held any lock.
pub(crate) unsafe fn clone(flags: i32) -> Result<Clone, Errno> {
    // Every signal with its default effect, but for those that are ignored.
    const CLEAR_SIGNALS: u64 = 1 << 32;
    let mut descriptor: i32 = -1;
    let arguments = CloneArguments {
        flags: flags as u64 | libc::CLONE_PIDFD as u64 | CLEAR_SIGNALS,
        pidfd: (&raw mut descriptor) as u64,
        ..CloneArguments::default()
    };
    // SAFETY: without a stack of its own the child continues on a copy of this one, as after fork.
    let done = unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<CloneArguments>()) };
    let id = match outcome(done) {
        // Refused by a container or a sandbox around this one, which cannot look into its arguments.
        Err(Errno::NOSYS) => plain_clone(flags, &mut descriptor)?,
        done => done?,
    };
    match id {
        0 => Ok(Clone::Child),
        // SAFETY: the kernel made this descriptor for us just now.
        id => Ok(Clone::Parent(id as u32, unsafe { OwnedFd::from_raw_fd(descriptor) })),
    }
}

/// The same by the older call, which leaves the handlers of signals in place: the child takes them away itself.
fn plain_clone(flags: i32, descriptor: &mut i32) -> Result<i64, Errno> {
    let all = (flags | libc::CLONE_PIDFD) as u64;
    // SAFETY: as above; the descriptor is written where this call puts it.
    let id = outcome(unsafe { libc::syscall(libc::SYS_clone, all, 0, &raw mut *descriptor, 0, 0) })?;
    if id == 0 {
        for signal in 1..libc::SIGRTMAX() {
            // SAFETY: asks, and sets the default effect.
            unsafe {
                let mut known: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, std::ptr::null(), &raw mut known);
                if known.sa_sigaction != libc::SIG_IGN {
                    libc::signal(signal, libc::SIG_DFL);
                }
            }
        }
    }
    Ok(id)
}

/// What a process runs that shares this one's memory.
pub(crate) type Start = extern "C" fn(*mut libc::c_void) -> libc::c_int;

/// A stack for a process that shares this one's memory.
#[derive(Debug)]
pub(crate) struct Stack(*mut libc::c_void);

// SAFETY: a mapping belongs to the process, whichever thread unmaps it.
unsafe impl Send for Stack {}

impl Stack {
    /// Enough for a handful of calls of system calls. Only what is touched becomes memory.
    const SIZE: usize = 256 * 1024;

    pub(crate) fn new() -> Result<Self, Errno> {
        let how = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK;
        // SAFETY: a fresh private mapping.
        let mapped =
            unsafe { libc::mmap(std::ptr::null_mut(), Self::SIZE, libc::PROT_READ | libc::PROT_WRITE, how, -1, 0) };
        if mapped == libc::MAP_FAILED { Err(Errno::NOMEM) } else { Ok(Self(mapped)) }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this size; who dropped it vouches that nobody runs on it any more.
        unsafe { libc::munmap(self.0, Self::SIZE) };
    }
}

/// A new process that runs `start` on this one's memory, while this one stands still until it has executed or ended.
/// No page of memory is copied for that. `flags` may add namespaces and the signal of its end.
///
/// # Safety
/// `start` may make system calls only, on what `shared` points to, and must execute or exit.
pub(crate) unsafe fn clone_sharing(
    start: Start,
    shared: *mut libc::c_void,
    flags: i32,
) -> Result<(i32, OwnedFd), Errno> {
    let stack = Stack::new()?;
    // SAFETY: the caller vouches for `start` and `shared`; when this returns, the new process has left this memory.
    unsafe { clone_on(&stack, (start, shared), libc::CLONE_VFORK | flags) }
}

/// The same on a given stack, and unless `flags` say so this process does not stand still.
///
/// # Safety
/// As for [`clone_sharing`]. Where both go on, `start` may touch nothing that this process writes, `errno` included,
/// and the stack must outlive it.
pub(crate) unsafe fn clone_on(
    stack: &Stack,
    (start, shared): (Start, *mut libc::c_void),
    flags: i32,
) -> Result<(i32, OwnedFd), Errno> {
    let how = libc::CLONE_VM | libc::CLONE_PIDFD | flags;
    let mut descriptor: i32 = -1;
    // A handler of this process's must not run in the new one, on memory that both have.
    // SAFETY: the set is filled before it is used, and the old one before it is set again.
    let before = unsafe {
        let mut before = std::mem::zeroed();
        let mut all = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        before
    };
    // SAFETY: the stack grows down from its end; the caller vouches for `start` and `shared`.
    let id = unsafe { libc::clone(start, stack.0.byte_add(Stack::SIZE), how, shared, &raw mut descriptor) };
    let id = outcome(i64::from(id));
    // SAFETY: the set is the one from before.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut()) };
    // SAFETY: the kernel made this descriptor for us just now.
    id.map(|id| (id as i32, unsafe { OwnedFd::from_raw_fd(descriptor) }))
}

/// Ends this process at once: no destructors, no flushing.
pub(crate) fn leave(code: i32) -> ! {
    // SAFETY: ends the process; nothing of it runs after.
    unsafe { libc::_exit(code) }
}

/// Gives up every capability, in every set, for good.
pub(crate) fn drop_capabilities() -> Result<(), Errno> {
    const VERSION_3: u32 = 0x2008_0522;
    // More than the kernel has; it says so at the first that it does not know.
    for capability in 0..64 {
        // SAFETY: takes numbers only.
        if unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) } != 0 {
            break;
        }
    }
    let header: [u32; 2] = [VERSION_3, 0];
    let nothing = [0u32; 6];
    // SAFETY: the header and the three pairs of sets have the sizes of this version.
    outcome(unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), nothing.as_ptr()) }).map(drop)
}

/// No program executed from here gains rights.
pub(crate) fn no_new_privileges() -> Result<(), Errno> {
    // SAFETY: takes numbers only.
    outcome(i64::from(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })).map(drop)
}

/// Whoever loses its parent below this process becomes its child.
pub(crate) fn adopt_orphans() -> Result<(), Errno> {
    // SAFETY: takes numbers only.
    outcome(i64::from(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) })).map(drop)
}

/// Nobody may look into this process's memory, not even the same user.
pub(crate) fn close_memory() {
    // SAFETY: takes numbers only.
    let _ = unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) };
}

/// No signal but the one that nobody can block reaches this process.
pub(crate) fn block_signals() {
    // SAFETY: the set is initialised by sigfillset before it is used.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
    }
}

/// All signals blocked; `SIGCHLD` arrives on the descriptor instead. Where it is ignored, it would not arrive at all.
pub(crate) fn children_descriptor() -> Result<OwnedFd, Errno> {
    block_signals();
    // SAFETY: the set is initialised by sigemptyset before it is used; the disposition is the default one.
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        let mut children = std::mem::zeroed();
        libc::sigemptyset(&raw mut children);
        libc::sigaddset(&raw mut children, libc::SIGCHLD);
        let descriptor = libc::signalfd(-1, &raw const children, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        outcome(i64::from(descriptor))?;
        Ok(OwnedFd::from_raw_fd(descriptor))
    }
}

/// No signal blocked, and `SIGPIPE` as programs expect it.
pub(crate) fn default_signals() {
    // SAFETY: the set is initialised before it is used; the disposition is the default one.
    unsafe {
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

/// Marks every descriptor from `first` on to be closed by exec.
pub(crate) fn close_on_exec_from(first: u32) -> Result<(), Errno> {
    // SAFETY: takes numbers only; no descriptor is closed under anybody's feet.
    outcome(unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) }).map(drop)
}

/// Closes every descriptor from `first` on.
///
/// # Safety
/// Nothing that owns one of them may be used or dropped afterwards.
unsafe fn close_from(first: u32) {
    // SAFETY: the caller vouches for the owners.
    let _ = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) };
}

/// Keeps some descriptors, as the first numbers, and closes every other.
///
/// # Safety
/// Nothing that owns any descriptor may be used or dropped afterwards: the process must end without unwinding.
pub(crate) unsafe fn keep_only<const MANY: usize>(kept: [BorrowedFd<'_>; MANY]) -> [BorrowedFd<'static>; MANY] {
    // Out of the way first, lest one is overwritten before it is copied.
    // SAFETY: takes numbers only.
    let lifted = kept.map(|one| unsafe { libc::fcntl(one.as_raw_fd(), libc::F_DUPFD_CLOEXEC, MANY as i32) });
    let mut target = 0;
    let placed = lifted.map(|source| {
        // SAFETY: takes numbers only, and the number stays open.
        let placed = unsafe {
            libc::dup2(source, target);
            BorrowedFd::borrow_raw(target)
        };
        target += 1;
        placed
    });
    // SAFETY: the caller vouches for the owners.
    unsafe { close_from(MANY as u32) };
    placed
}

/// Puts this process into further new namespaces.
pub(crate) fn part(namespaces: i32) -> Result<(), Errno> {
    // SAFETY: takes numbers only.
    outcome(i64::from(unsafe { libc::unshare(namespaces) })).map(drop)
}

/// Sends a message with a descriptor.
pub(crate) fn hand(line: BorrowedFd<'_>, message: &[u8], descriptor: BorrowedFd<'_>) {
    let mut space = [MaybeUninit::<u8>::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let descriptor = [descriptor];
    let _ = ancillary.push(SendAncillaryMessage::ScmRights(&descriptor));
    let _ = rustix::net::sendmsg(line, &[std::io::IoSlice::new(message)], &mut ancillary, SendFlags::NOSIGNAL);
}

/// The descriptors that came with a message.
pub(crate) fn handed(ancillary: &mut RecvAncillaryBuffer<'_>) -> impl Iterator<Item = OwnedFd> {
    let descriptors =
        |message| if let RecvAncillaryMessage::ScmRights(descriptors) = message { Some(descriptors) } else { None };
    ancillary.drain().filter_map(descriptors).flatten()
}

/// Puts a filter of system calls on this process; with `listen`, the descriptor of its notifications.
pub(crate) fn filter_calls(program: &[libc::sock_filter], listen: Listen) -> Result<Option<OwnedFd>, Errno> {
    const WAIT_KILLABLE: u64 = 1 << 5;
    let handed = libc::sock_fprog {
        len: u16::try_from(program.len()).map_err(|_| Errno::INVAL)?,
        filter: program.as_ptr().cast_mut(),
    };
    let flags = match listen {
        Listen::No => 0,
        Listen::Yes => libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | WAIT_KILLABLE,
    };
    // SAFETY: the program is live and as long as it says; the kernel copies it.
    let done = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const handed) };
    let descriptor = outcome(done)?;
    match listen {
        Listen::No => Ok(None),
        // SAFETY: the kernel made this descriptor for us just now.
        Listen::Yes => Ok(Some(unsafe { OwnedFd::from_raw_fd(descriptor as i32) })),
    }
}

/// Whether a filter tells somebody of what it saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listen {
    /// It refuses in silence.
    No,
    /// It tells.
    Yes,
}

/// Adds what may be done beneath `place` to a Landlock ruleset.
pub(crate) fn landlock_add(ruleset: BorrowedFd<'_>, place: BorrowedFd<'_>, rights: u64) -> Result<(), Errno> {
    const PATH_BENEATH: u32 = 1;
    #[repr(C, packed)]
    struct Beneath {
        rights: u64,
        place: i32,
    }
    let rule = Beneath { rights, place: place.as_raw_fd() };
    // SAFETY: the rule is live and has the layout of this kind.
    let done =
        unsafe { libc::syscall(libc::SYS_landlock_add_rule, ruleset.as_raw_fd(), PATH_BENEATH, &raw const rule, 0) };
    outcome(done).map(drop)
}

/// Puts a Landlock ruleset on this process.
pub(crate) fn landlock_enter(ruleset: BorrowedFd<'_>) -> Result<(), Errno> {
    // SAFETY: takes numbers only.
    outcome(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0) }).map(drop)
}

/// The newest Landlock that the kernel speaks; nought where there is none.
pub(crate) fn landlock_version() -> u32 {
    const VERSION: u32 = 1;
    // SAFETY: with this flag the kernel reads no structure.
    let done = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0, VERSION) };
    u32::try_from(done).unwrap_or(0)
}

/// The result of a call through `libc`, whose error is in `errno`.
pub(crate) fn outcome(done: i64) -> Result<i64, Errno> {
    if done >= 0 {
        return Ok(done);
    }
    // SAFETY: the address is this thread's own.
    Err(error(unsafe { *libc::__errno_location() }))
}

/// An error by its number. What is no such number is an error all the same.
pub(crate) fn error(number: i32) -> Errno {
    match number {
        1..=4095 => Errno::from_raw_os_error(number),
        _ => Errno::IO,
    }
}
