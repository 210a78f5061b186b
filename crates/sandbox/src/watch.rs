//! Watches what a confined command is refused, and keeps it for the report. Only tells: every wall stands without it.

use std::ffi::OsString;
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};

use crate::layout::Layout;
use crate::plan::{Access, Plan};
use crate::report::Violation;
use crate::scoped;
use crate::sys::calls::{Follows, REFUSED, Refused, Uses, Voice, WATCHED, Watched};
use crate::sys::filter;
use crate::sys::notices::{self, Notice, Reply};

/// As many writes as are looked at. Unpacking an archive makes far more of them, and each look costs some microseconds;
/// whoever writes that much has shown what it does.
const MOST_LOOKED_AT: usize = 10_000;

/// As many violations as a report lists.
const MOST_LISTED: usize = 50;

/// What was seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Each once, in the order it happened.
    pub(crate) violations: Vec<Violation>,
    /// How many more there were.
    pub(crate) more: usize,
    looked: usize,
}

impl Seen {
    fn add(&mut self, violation: Violation) {
        if self.violations.contains(&violation) {
            return;
        }
        match self.violations.len() {
            MOST_LISTED.. => self.more += 1,
            _ => self.violations.push(violation),
        }
    }
}

/// A thread that answers notices until nobody inside is left.
#[derive(Debug)]
pub(crate) struct Watcher {
    thread: JoinHandle<Seen>,
    filter: SyncSender<OwnedFd>,
}

impl Watcher {
    /// Makes the thread, which waits for something to watch. Without one, the descriptor is closed when it comes, and
    /// every refused call is still refused.
    pub(crate) fn ready(plan: &Plan, layout: Arc<Layout>) -> Option<Self> {
        let (filter, given) = sync_channel::<OwnedFd>(1);
        let refused: Vec<&'static Refused> =
            REFUSED.iter().filter(|refused| refused.voice == Voice::Told && filter::applies(refused, plan)).collect();
        let watch = move || {
            let mut seen = Seen::default();
            let Ok(filter) = given.recv() else { return seen };
            notices::answer_at_once(filter.as_fd());
            while let Some(notice) = notices::next(filter.as_fd()) {
                let answer = consider(notice, &refused, &layout, &mut seen);
                notices::reply(filter.as_fd(), notice, answer);
            }
            seen
        };
        let thread = std::thread::Builder::new().name("mayi-watch".into()).spawn(watch).ok()?;
        Some(Self { thread, filter })
    }

    /// Watches from now on.
    pub(crate) fn watch(&self, filter: OwnedFd) {
        // A thread that is gone takes nothing, and the descriptor is closed.
        let _ = self.filter.send(filter);
    }

    /// What was seen, when everything inside has ended.
    pub(crate) fn end(self) -> Seen {
        drop(self.filter);
        self.thread.join().unwrap_or_default()
    }
}

fn consider(notice: Notice, refused: &[&Refused], layout: &Layout, seen: &mut Seen) -> Reply {
    if let Some(watched) = WATCHED.iter().find(|watched| watched.number == notice.number) {
        seen.looked += 1;
        if seen.looked <= MOST_LOOKED_AT
            && let Some(path) = refused_path(notice, watched, layout)
        {
            seen.add(Violation::Write { path });
        }
        return Reply::GoOn;
    }
    match refused.iter().find(|refused| refused.number == notice.number && is_meant(&refused.uses, notice)) {
        Some(refused) => {
            if let Some(violation) = violation(refused, notice) {
                seen.add(violation);
            }
            Reply::Fail(refused.error)
        }
        None => Reply::Fail(libc::EPERM),
    }
}

fn is_meant(uses: &Uses, notice: Notice) -> bool {
    let low = |place: u8| notice.arguments.get(usize::from(place)).map_or(0, |value| *value as u32);
    match uses {
        Uses::All => true,
        Uses::Bits(place, bits) => low(*place) & bits != 0,
        Uses::Is(place, values) => values.contains(&low(*place)),
        Uses::IsMasked(place, mask, values) => values.contains(&(low(*place) & mask)),
        Uses::IsNot(place, values) => !values.contains(&low(*place)),
    }
}

fn violation(refused: &Refused, notice: Notice) -> Option<Violation> {
    let [family, kind, ..] = notice.arguments;
    if refused.name != "socket" || family as u32 != libc::AF_UNIX as u32 {
        return Some(Violation::Call { name: refused.name.to_owned() });
    }
    // The C library asks a cache of names like this before it reads the files itself.
    let cache = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    (kind as i32 != cache).then_some(Violation::UnixSocket { path: None })
}

/// The path that a call would write to, if a wall is in its way and the user's own rights are not.
fn refused_path(notice: Notice, watched: &Watched, layout: &Layout) -> Option<PathBuf> {
    let argument = |place: u8| notice.arguments.get(usize::from(place)).copied();
    let named = PathBuf::from(OsString::from_vec(notices::string(notice.process, argument(watched.path)?)?));
    let folder = match watched.folder {
        Some(place) => argument(place)? as i32,
        None => libc::AT_FDCWD,
    };
    let whole = absolute(notice.process, folder, &named)?;
    if is_plain(&whole) && layout.access(&whole) == Access::Writable {
        return None;
    }
    let real = resolved(notice.process, &whole, watched.follows)?;
    // What programs say about themselves there is a courtesy, and devices are the sandbox's own.
    if real.path.starts_with("/proc") || real.path.starts_with("/dev") {
        return None;
    }
    let refused = layout.access(&real.path) != Access::Writable && real.kind.is_none_or(is_kept_on_disk);
    (refused && is_users_own(&real)).then_some(real.path)
}

/// Where a path starts, from inside.
fn absolute(process: u32, folder: i32, named: &Path) -> Option<PathBuf> {
    if named.is_absolute() {
        return Some(named.to_owned());
    }
    let link = match folder {
        libc::AT_FDCWD => format!("/proc/{process}/cwd"),
        folder => format!("/proc/{process}/fd/{folder}"),
    };
    Some(fs::read_link(link).ok()?.join(named))
}

/// Nothing in it that would have to be resolved but links.
fn is_plain(path: &Path) -> bool {
    !path.as_os_str().as_bytes().windows(3).any(|part| part == b"/..")
}

struct Resolved {
    path: PathBuf,
    /// What is there, if anything.
    kind: Option<FileType>,
}

/// Whether a call follows a link at the end of its path.
fn resolved(process: u32, whole: &Path, follows: Follows) -> Option<Resolved> {
    let root = rustix::fs::open(format!("/proc/{process}/root"), OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let last = match follows {
        Follows::Yes => OFlags::PATH,
        Follows::No => OFlags::PATH | OFlags::NOFOLLOW,
    };
    let open = |path: &Path, flags| scoped::open(&root, path, flags, ResolveFlags::IN_ROOT).ok();
    let name = |file: &OwnedFd| fs::read_link(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(file))).ok();
    if let Some(file) = open(whole, last) {
        let kind = rustix::fs::fstat(&file).ok().map(|found| FileType::from_raw_mode(found.st_mode));
        return Some(Resolved { path: name(&file)?, kind });
    }
    let folder = open(whole.parent()?, OFlags::PATH)?;
    Some(Resolved { path: name(&folder)?.join(whole.file_name()?), kind: None })
}

/// Devices, pipes and sockets are written to wherever they are.
fn is_kept_on_disk(kind: FileType) -> bool {
    matches!(kind, FileType::RegularFile | FileType::Directory | FileType::Symlink)
}

/// Whether the user could do it without any wall.
fn is_users_own(real: &Resolved) -> bool {
    let place = match real.kind {
        Some(FileType::RegularFile | FileType::Directory) => real.path.as_path(),
        Some(_) | None => real.path.parent().unwrap_or(&real.path),
    };
    rustix::fs::access(place, rustix::fs::Access::WRITE_OK).is_ok()
}
