//! What the first process inside a sandbox will do, prepared down to the last byte before that process exists.
//! Data only: nothing here speaks to the kernel.

use std::ffi::{CStr, CString};
use std::fmt;
use std::os::fd::OwnedFd;

use crate::plan::Nesting;

/// Everything that happens inside, in order.
pub(crate) struct Script {
    /// Who builds the walls.
    pub(crate) walls: Walls,
    /// Ports of 127.0.0.1 to listen on, for whoever filters the network outside.
    pub(crate) ports: Vec<u16>,
    /// What every sandbox stands on, where it was not laid ahead.
    pub(crate) ground: Vec<Step>,
    /// What the file system becomes.
    pub(crate) steps: Vec<Step>,
    /// The rest of it, when placeholders are in their places.
    pub(crate) veils: Vec<Step>,
    /// How many trees the steps carry from one to another.
    pub(crate) slots: usize,
    /// The command.
    pub(crate) command: Command,
    /// When placeholders are waited for.
    pub(crate) placeholders: Waiting,
}

/// Who builds the walls.
pub(crate) enum Walls {
    /// The first process, in namespaces of its own; the one user and the one group that exist in them.
    Own(Identity),
    /// The program that is executed, which needs its rights for that.
    Theirs,
    /// Nobody: Landlock and the filter are all there is.
    None,
}

/// When the keeper of the placeholders must be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// Never: there is none.
    Never,
    /// Before anything else: nothing may change in a folder any more that a layer lies over.
    First,
    /// Before placeholders are covered.
    Last,
}

/// Lines for `/proc/self/uid_map` and `gid_map`.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) user: CString,
    pub(crate) group: CString,
}

/// What root is called where sandboxes can be made inside: without rights, the kernel lets nobody pass the number of
/// root on to a further namespace.
const ROOT_IN_DISGUISE: u32 = 1000;

impl Identity {
    /// The caller's own, unchanged where that is possible.
    pub(crate) fn own(nesting: Nesting) -> Self {
        let line = |id: u32| {
            let inner = match (id, nesting) {
                (0, Nesting::Possible) => ROOT_IN_DISGUISE,
                (_, Nesting::Possible | Nesting::Refused) => id,
            };
            CString::new(format!("{inner} {id} 1")).unwrap_or_default()
        };
        let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
        Self { user: line(user.as_raw()), group: line(group.as_raw()) }
    }
}

/// A path relative to a tree, with every folder on the way.
pub(crate) type Trail = Vec<CString>;

/// Where the private file system keeps what covers folders that hold a place.
pub(crate) const VEIL_FOLDER: &CStr = c"veils/folder";
/// The same for names of a socket.
pub(crate) const VEIL_SOCKET: &CStr = c"veils/socket";

/// The slot of the private file system.
pub(crate) const SCRATCH: usize = 0;
/// The slot of what covers names and hides files.
pub(crate) const VEILS: usize = 1;
/// The slot of the sandbox's own `/dev`, when it is in its place.
pub(crate) const OWN_DEVICES: usize = 2;
/// The slot of the host's, which it covers.
pub(crate) const HOST_DEVICES: usize = 3;
/// The slot of `/dev/shm`.
pub(crate) const SHARED_MEMORY: usize = 4;
/// The slot of `/dev/pts`.
pub(crate) const TERMINALS: usize = 5;
/// How many slots the ground fills.
pub(crate) const GROUND: usize = 6;

/// One change of the file system.
pub(crate) enum Step {
    /// Holds the tree at a path, as it is now, in a slot.
    Take { path: CString, slot: usize },
    /// The same at a path in the host's `/dev`, which is covered already.
    TakeDevices { path: CString, slot: usize },
    /// Holds a path itself in a slot.
    Hold { path: CString, slot: usize },
    /// Makes the whole file system read-only and cuts it off from the host's changes.
    FreezeRoot,
    /// Only cuts it off.
    PartRoot,
    /// A small file system in memory for everything private, over `/dev`. Nothing on it can be executed.
    Scratch,
    /// Folders in a tree, each but the last with mode 755.
    Folders { slot: usize, trail: Trail, mode: u32 },
    /// An empty file in a tree.
    File { slot: usize, path: CString, mode: u32 },
    /// A socket in a tree, which nobody listens at.
    Socket { slot: usize, path: CString },
    /// A symbolic link in a tree.
    Link { slot: usize, path: CString, to: CString },
    /// Holds a part of one tree in another slot.
    Part { from: usize, path: CString, slot: usize },
    /// Sets flags on a tree that is held.
    Restrict { slot: usize, flags: u64 },
    /// Takes flags from a mount that is held, and from none below it.
    Free { slot: usize, flags: u64 },
    /// A device of the host's at its place in the sandbox's own `/dev`, where the host has it: its name, and its place in
    /// the private file system.
    Device { name: CString, path: CString },
    /// Puts the tree of a slot where it belongs.
    Attach { slot: usize, target: CString },
    /// Puts the tree of a slot at a path in another tree that is in its place.
    AttachIn { slot: usize, tree: usize, path: CString },
    /// Covers a placeholder in the folder of a slot with one of the [veils](VEIL_FOLDER), and anything else with itself,
    /// read-only. What covers it stays open in a slot, if it has one: closing takes time for which the command would wait.
    Veil { folder: usize, name: CString, slot: Option<usize> },
    /// Permits writing beneath the tree of a slot.
    Permit { slot: usize, rights: u64 },
    /// A fresh view of the processes inside, held in a slot.
    Processes { slot: usize },
    /// Fresh terminals, held in a slot.
    Terminals { slot: usize },
    /// A layer above a folder that takes all changes, held in a slot.
    Overlay { slot: usize, lower: CString, upper: CString, work: CString },
}

/// The step for a device of this name.
pub(crate) fn device(name: &CStr) -> Step {
    let path = [b"dev/", name.to_bytes_with_nul()].concat();
    Step::Device { name: name.into(), path: CString::from_vec_with_nul(path).unwrap_or_default() }
}

/// The command and all it starts with.
pub(crate) struct Command {
    /// What is executed.
    pub(crate) program: CString,
    /// Its words.
    pub(crate) words: Strings,
    /// Its variables.
    pub(crate) environment: Strings,
    /// Where it starts.
    pub(crate) directory: CString,
    /// Descriptors that become 0, 1 and 2.
    pub(crate) streams: [i32; 3],
    /// Streams that are files and may be opened again by name, as `/dev/stdout` does.
    pub(crate) reopened: Vec<i32>,
    /// What Landlock permits on these.
    pub(crate) file_rights: u64,
    /// The terminal it controls, where it has one.
    pub(crate) terminal: Option<i32>,
    /// Limits, as the kernel takes them.
    pub(crate) limits: Vec<(rustix::process::Resource, rustix::process::Rlimit)>,
    /// The second wall, where it stands.
    pub(crate) landlock: Option<OwnedFd>,
    /// The filter of system calls that tells what it saw, where that is wanted.
    pub(crate) telling: Option<Vec<libc::sock_filter>>,
    /// The same, silent: for where nobody can be told, as inside another sandbox that is told already. Empty where
    /// somebody else sets it.
    pub(crate) silent: Vec<libc::sock_filter>,
    /// Descriptors that are passed on beside the streams.
    pub(crate) passed: Vec<OwnedFd>,
}

/// Strings with the array of pointers that exec wants.
pub(crate) struct Strings {
    /// INVARIANT: never changed after `pointers` was made, which points into it.
    _held: Vec<CString>,
    pointers: Vec<*const libc::c_char>,
}

impl Strings {
    pub(crate) fn new(held: Vec<CString>) -> Self {
        let pointers = held.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect();
        Self { _held: held, pointers }
    }

    /// The array, ended by a null pointer.
    pub(crate) fn as_ptr(&self) -> *const *const libc::c_char {
        self.pointers.as_ptr()
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = CStr::to_string_lossy;
        match self {
            Step::Take { path, .. } | Step::Hold { path, .. } => write!(f, "looking at `{}`", shown(path)),
            Step::TakeDevices { path, .. } => write!(f, "looking at `/dev/{}`", shown(path)),
            Step::FreezeRoot => f.write_str("making the file system read-only"),
            Step::PartRoot => f.write_str("parting from the host's mounts"),
            Step::Scratch => f.write_str("making a private file system in memory"),
            Step::Folders { trail, .. } => {
                write!(f, "making the folder `{}`", trail.last().map(|path| shown(path)).unwrap_or_default())
            }
            Step::File { path, .. } => write!(f, "making the file `{}`", shown(path)),
            Step::Socket { path, .. } => write!(f, "making the socket `{}`", shown(path)),
            Step::Link { path, .. } => write!(f, "making the link `{}`", shown(path)),
            Step::Part { path, .. } => write!(f, "holding `{}`", shown(path)),
            Step::Restrict { .. } => f.write_str("restricting a mount"),
            Step::Free { .. } => f.write_str("opening a mount"),
            Step::Device { name, .. } => write!(f, "mounting the device `{}`", shown(name)),
            Step::Attach { target: path, .. } | Step::AttachIn { path, .. } => {
                write!(f, "mounting at `{}`", shown(path))
            }
            Step::Veil { name, .. } => write!(f, "covering `{}`", shown(name)),
            Step::Permit { .. } => f.write_str("adding a rule to Landlock"),
            Step::Processes { .. } => f.write_str("mounting a fresh `/proc`"),
            Step::Terminals { .. } => f.write_str("mounting fresh terminals"),
            Step::Overlay { lower, .. } => write!(f, "laying a layer over `{}`", shown(lower)),
        }
    }
}
