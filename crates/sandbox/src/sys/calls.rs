//! System calls that a confined command is refused, each with its reason. Data only.
//!
//! Everything else is permitted: the list names what could take a wall down, reach what the walls do not cover, or
//! attack the kernel where hardly any program needs it. A refused call fails as if the user lacked the right to it.

use libc::{EAFNOSUPPORT, ENOSYS, EPERM};

/// A call, or a use of it, that is refused.
pub(crate) struct Refused {
    /// Its name.
    pub(crate) name: &'static str,
    /// Its number here.
    pub(crate) number: i64,
    /// Which uses.
    pub(crate) uses: Uses,
    /// The error it gets.
    pub(crate) error: i32,
    /// Whether it is worth telling.
    pub(crate) voice: Voice,
    /// Whether it is refused even where sandboxes may be made inside.
    pub(crate) when: When,
}

/// Which uses of a call are meant, by the lower half of an argument: the kernel looks no further at any of these.
pub(crate) enum Uses {
    /// All.
    All,
    /// Where an argument has one of these bits.
    Bits(u8, u32),
    /// Where an argument is one of these.
    Is(u8, &'static [u32]),
    /// Where these bits of an argument are one of these.
    IsMasked(u8, u32, &'static [u32]),
    /// Where an argument is none of these.
    IsNot(u8, &'static [u32]),
}

/// Whether a refusal is told in the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Voice {
    /// It is.
    Told,
    /// It is not: ordinary programs try it and do without.
    Quiet,
}

/// When a call is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// Always.
    Always,
    /// Unless sandboxes may be made inside.
    NotNested,
    /// Unless Unix sockets may be reached.
    NoSockets,
}

/// Flags that make namespaces, for `clone` and `unshare`.
const NAMESPACES: u32 = 0x7e02_0000;
/// `CLONE_NEWTIME`, which is part of the signal for `clone`.
const TIME: u32 = 0x80;
/// The bits of a socket's type that are no flags.
const TYPE: u32 = 0xf;

const fn always(name: &'static str, number: i64, voice: Voice) -> Refused {
    Refused { name, number, uses: Uses::All, error: EPERM, voice, when: When::Always }
}

const fn walls(name: &'static str, number: i64) -> Refused {
    Refused { name, number, uses: Uses::All, error: EPERM, voice: Voice::Told, when: When::NotNested }
}

const fn some(name: &'static str, number: i64, uses: Uses) -> Refused {
    Refused { name, number, uses, error: EPERM, voice: Voice::Told, when: When::Always }
}

/// All of them. Those that depend on arguments come first: the kernel remembers by itself which calls are always
/// permitted, and walks through the list for the others only.
pub(crate) const REFUSED: &[Refused] = &[
    // Types a command into the terminal that started all this, or pastes into a console.
    some("ioctl", libc::SYS_ioctl, Uses::Is(1, &[0x5412, 0x541c])),
    // Namespaces: a new user would have every capability in it.
    Refused { when: When::NotNested, ..some("clone", libc::SYS_clone, Uses::Bits(0, NAMESPACES)) },
    // Its flags are in memory, where a filter cannot look. The C library then uses `clone`.
    Refused { error: ENOSYS, voice: Voice::Quiet, ..walls("clone3", libc::SYS_clone3) },
    Refused { when: When::NotNested, ..some("unshare", libc::SYS_unshare, Uses::Bits(0, NAMESPACES | TIME)) },
    walls("setns", libc::SYS_setns),
    // Families: Internet, and netlink for looking up routes. Others reach the kernel's far corners, or the host (vsock).
    Refused {
        error: EAFNOSUPPORT,
        voice: Voice::Quiet,
        ..some("socket", libc::SYS_socket, Uses::IsNot(0, &[1, 2, 10, 16]))
    },
    // A socket in the file system is not in a network namespace: docker, ssh-agent, X11 and D-Bus listen on such.
    Refused { when: When::NoSockets, ..some("socket", libc::SYS_socket, Uses::Is(0, &[1])) },
    // Raw sockets and packets.
    some("socket", libc::SYS_socket, Uses::IsMasked(1, TYPE, &[3, 10])),
    // A pair of datagram sockets can still be sent to any address; streams and packets are bound to each other.
    Refused { when: When::NoSockets, ..some("socketpair", libc::SYS_socketpair, Uses::IsMasked(1, TYPE, &[2, 3])) },
    // Other than the plain ones, personalities bring back old weaknesses.
    some("personality", libc::SYS_personality, Uses::IsNot(0, &[0, 8, 0x2_0000, 0x2_0008, 0xffff_ffff])),
    // Into the memory and the files of other processes.
    always("ptrace", libc::SYS_ptrace, Voice::Told),
    always("process_vm_readv", libc::SYS_process_vm_readv, Voice::Told),
    always("process_vm_writev", libc::SYS_process_vm_writev, Voice::Told),
    always("process_madvise", libc::SYS_process_madvise, Voice::Told),
    always("pidfd_getfd", libc::SYS_pidfd_getfd, Voice::Told),
    always("kcmp", libc::SYS_kcmp, Voice::Told),
    // Mounts: they are the walls.
    walls("mount", libc::SYS_mount),
    walls("umount2", libc::SYS_umount2),
    walls("pivot_root", libc::SYS_pivot_root),
    walls("chroot", libc::SYS_chroot),
    walls("fsopen", libc::SYS_fsopen),
    walls("fsconfig", libc::SYS_fsconfig),
    walls("fsmount", libc::SYS_fsmount),
    walls("fspick", libc::SYS_fspick),
    walls("move_mount", libc::SYS_move_mount),
    walls("open_tree", libc::SYS_open_tree),
    walls("open_tree_attr", 467),
    walls("mount_setattr", libc::SYS_mount_setattr),
    // A file by its number, past every folder that hides it.
    always("open_by_handle_at", libc::SYS_open_by_handle_at, Voice::Told),
    // Keys are the user's, not the sandbox's: no namespace parts them.
    always("add_key", libc::SYS_add_key, Voice::Told),
    always("request_key", libc::SYS_request_key, Voice::Told),
    always("keyctl", libc::SYS_keyctl, Voice::Told),
    // Large parts of the kernel with a history, which programs do without. `io_uring` would pass by this very filter.
    always("bpf", libc::SYS_bpf, Voice::Told),
    always("perf_event_open", libc::SYS_perf_event_open, Voice::Told),
    always("userfaultfd", libc::SYS_userfaultfd, Voice::Quiet),
    always("io_uring_setup", libc::SYS_io_uring_setup, Voice::Quiet),
    always("io_uring_enter", libc::SYS_io_uring_enter, Voice::Quiet),
    always("io_uring_register", libc::SYS_io_uring_register, Voice::Quiet),
    always("fanotify_init", libc::SYS_fanotify_init, Voice::Told),
    // The machine itself.
    always("kexec_load", libc::SYS_kexec_load, Voice::Told),
    always("kexec_file_load", libc::SYS_kexec_file_load, Voice::Told),
    always("init_module", libc::SYS_init_module, Voice::Told),
    always("finit_module", libc::SYS_finit_module, Voice::Told),
    always("delete_module", libc::SYS_delete_module, Voice::Told),
    always("reboot", libc::SYS_reboot, Voice::Told),
    always("swapon", libc::SYS_swapon, Voice::Told),
    always("swapoff", libc::SYS_swapoff, Voice::Told),
    always("acct", libc::SYS_acct, Voice::Told),
    always("quotactl", libc::SYS_quotactl, Voice::Told),
    always("quotactl_fd", libc::SYS_quotactl_fd, Voice::Told),
    always("syslog", libc::SYS_syslog, Voice::Told),
    always("settimeofday", libc::SYS_settimeofday, Voice::Told),
    always("clock_settime", libc::SYS_clock_settime, Voice::Told),
    always("vhangup", libc::SYS_vhangup, Voice::Told),
    always("lookup_dcookie", libc::SYS_lookup_dcookie, Voice::Told),
    always("nfsservctl", libc::SYS_nfsservctl, Voice::Told),
    #[cfg(target_arch = "x86_64")]
    always("iopl", libc::SYS_iopl, Voice::Told),
    #[cfg(target_arch = "x86_64")]
    always("ioperm", libc::SYS_ioperm, Voice::Told),
    #[cfg(target_arch = "x86_64")]
    always("uselib", libc::SYS_uselib, Voice::Told),
    #[cfg(target_arch = "x86_64")]
    always("modify_ldt", libc::SYS_modify_ldt, Voice::Quiet),
];

/// A call that changes a path: it is never refused here, only watched, so that the report can name the path.
pub(crate) struct Watched {
    /// Its number here.
    pub(crate) number: i64,
    /// The argument that is the path.
    pub(crate) path: u8,
    /// The argument that is the folder the path starts in, where there is one.
    pub(crate) folder: Option<u8>,
    /// The argument with the bits that make it a change; without one it always is.
    pub(crate) writes: Option<u8>,
    /// Whether a link at the end of the path is followed.
    pub(crate) follows: Follows,
}

/// Whether a link at the end of a path is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Follows {
    /// It is.
    Yes,
    /// The link itself is meant.
    No,
}

/// `O_WRONLY`, `O_RDWR`, `O_CREAT` and `O_TRUNC`.
pub(crate) const WRITING: u32 = 0o1103;

const fn at(number: i64, folder: u8, follows: Follows) -> Watched {
    Watched { number, path: folder + 1, folder: Some(folder), writes: None, follows }
}

#[cfg(target_arch = "x86_64")]
const fn plain(number: i64, path: u8, follows: Follows) -> Watched {
    Watched { number, path, folder: None, writes: None, follows }
}

/// All of them. `openat2` is missing: its flags are in memory, and hardly any program uses it to write.
pub(crate) const WATCHED: &[Watched] = &[
    Watched { writes: Some(2), ..at(libc::SYS_openat, 0, Follows::Yes) },
    at(libc::SYS_mkdirat, 0, Follows::No),
    at(libc::SYS_unlinkat, 0, Follows::No),
    at(libc::SYS_renameat2, 2, Follows::No),
    at(libc::SYS_linkat, 2, Follows::No),
    at(libc::SYS_symlinkat, 1, Follows::No),
    #[cfg(target_arch = "x86_64")]
    Watched { writes: Some(1), ..plain(libc::SYS_open, 0, Follows::Yes) },
    #[cfg(target_arch = "x86_64")]
    plain(libc::SYS_creat, 0, Follows::Yes),
    #[cfg(target_arch = "x86_64")]
    plain(libc::SYS_mkdir, 0, Follows::No),
    #[cfg(target_arch = "x86_64")]
    plain(libc::SYS_rmdir, 0, Follows::No),
    #[cfg(target_arch = "x86_64")]
    plain(libc::SYS_unlink, 0, Follows::No),
    #[cfg(target_arch = "x86_64")]
    plain(libc::SYS_rename, 1, Follows::No),
    #[cfg(target_arch = "x86_64")]
    at(libc::SYS_renameat, 2, Follows::No),
    #[cfg(target_arch = "x86_64")]
    plain(libc::SYS_link, 1, Follows::No),
    #[cfg(target_arch = "x86_64")]
    plain(libc::SYS_symlink, 1, Follows::No),
    #[cfg(target_arch = "x86_64")]
    plain(libc::SYS_truncate, 0, Follows::Yes),
];
