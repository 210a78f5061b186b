//! Starts a script: makes the keeper and the first process inside, and listens until the command runs or cannot.
#![allow(unsafe_code, reason = "clones processes")]

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvAncillaryBuffer, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions};

use super::inside::{self, Ground, Kind, Stage};
use super::keeper::Places;
use super::raw::{self, Clone};
use super::script::{Script, Walls};
use super::service::Keeper;
use super::vacancy::{Trees, Undone, Vacancy};
use crate::report::Ending;

/// The namespaces that a first process is born in. It makes the others itself.
const NAMESPACES: i32 = libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWPID;

/// A command that runs.
pub(crate) struct Launched {
    /// The first process inside, as the host numbers it.
    pub(crate) id: u32,
    /// The same as a descriptor.
    pub(crate) process: OwnedFd,
    /// Listening sockets inside, by port.
    pub(crate) listeners: Vec<(u16, OwnedFd)>,
    /// What the filter tells.
    pub(crate) notifications: Option<OwnedFd>,
    control: OwnedFd,
    keeper: Option<Keeper>,
    state: State,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Something may live inside.
    Going,
    /// The first process said that all is over, and is leaving.
    Over,
    /// Nothing is left of it.
    Gone,
}

/// Processes that said their last word or are not needed any more, and whom the kernel still takes apart. Nobody waits for
/// that; they are taken in at the next chance.
static LEAVING: Mutex<Vec<Leaver>> = Mutex::new(Vec::new());

/// A process that is leaving.
pub(super) struct Leaver {
    process: OwnedFd,
    /// What it works with, where it shares this process's memory: given up when it is gone.
    _memory: Option<Box<dyn Send>>,
}

impl Leaver {
    /// One that works with some of this process's memory.
    pub(super) fn with(process: OwnedFd, memory: impl Send + 'static) -> Self {
        Self { process, _memory: Some(Box::new(memory)) }
    }
}

impl From<OwnedFd> for Leaver {
    fn from(process: OwnedFd) -> Self {
        Self { process, _memory: None }
    }
}

/// Remembers somebody who has only just begun to leave.
pub(super) fn remember(process: Leaver) {
    LEAVING.lock().unwrap_or_else(PoisonError::into_inner).push(process);
}

/// Takes in whoever has left, and remembers one more.
pub(super) fn let_leave(process: Option<Leaver>) {
    let mut leaving = LEAVING.lock().unwrap_or_else(PoisonError::into_inner);
    leaving.extend(process);
    leaving.retain(|leaver| {
        let options = WAITED | WaitIdOptions::NOHANG;
        matches!(rustix::process::waitid(WaitId::PidFd(leaver.process.as_fd()), options), Ok(None))
    });
}

/// Why nothing runs.
#[derive(Debug)]
pub(crate) enum Broken {
    /// The namespaces were refused.
    Namespaces(Errno),
    /// A step on the file system failed: what it was.
    Step(String, Errno),
    /// Another preparation failed.
    Stage(Stage, Errno),
    /// Pipes and the like could not be made.
    Lines(Errno),
    /// The first process ended without a word.
    Silent,
}

impl From<Errno> for Broken {
    fn from(error: Errno) -> Self {
        Broken::Lines(error)
    }
}

pub(super) fn pair() -> Result<(OwnedFd, OwnedFd), Errno> {
    rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
}

/// Has a process run on another processor than this one, where there is another. Left to itself, the kernel may let a new
/// process wait behind the one that made it, although what keeps the others busy is over in a moment.
pub(super) fn send_elsewhere(id: i32) {
    let Ok(all) = rustix::thread::sched_getaffinity(None) else { return };
    let mut others = all;
    others.unset(rustix::thread::sched_getcpu());
    if others.count() > 0 {
        let id = Pid::from_raw(id);
        let _ = rustix::thread::sched_setaffinity(id, &others);
        // It has moved, and may go where it likes.
        let _ = rustix::thread::sched_setaffinity(id, &all);
    }
}

/// Their end raises no signal, so they must be asked for among such children too.
const WAITED: WaitIdOptions = WaitIdOptions::EXITED.union(WaitIdOptions::from_bits_retain(libc::__WALL as u32));

/// Waits until a child has ended, and leaves it to be taken in.
pub(super) fn await_end(process: &OwnedFd) {
    let options = WAITED | WaitIdOptions::NOWAIT;
    while matches!(rustix::process::waitid(WaitId::PidFd(process.as_fd()), options), Err(Errno::INTR)) {}
}

/// Waits for the end of a child.
pub(super) fn reap(process: &OwnedFd) {
    while matches!(rustix::process::waitid(WaitId::PidFd(process.as_fd()), WAITED), Err(Errno::INTR)) {}
}

/// Runs a script, in namespaces made ahead where there are any, and returns when its command has started. While walls are
/// built for it, there is time for something else: `meanwhile`.
pub(crate) fn launch(
    mut script: Script,
    places: Vec<Places>,
    vacancy: Option<Vacancy>,
    meanwhile: impl FnOnce(),
) -> Result<Launched, Broken> {
    let_leave(None);
    let leash = rustix::process::pidfd_open(rustix::process::getpid(), PidfdFlags::empty())?;
    let (control, inner) = pair()?;
    let (line, keepers) = pair()?;
    let mut slots: Vec<Option<OwnedFd>> = (0..script.slots).map(|_| None).collect();
    let mut birth = Birth {
        script: &mut script,
        slots: &mut slots,
        lines: [&inner, &leash, &line],
        keepers: &keepers,
        born: Err(Errno::CHILD),
    };
    let mut keeper = None;
    let born = birth.somewhere(vacancy.as_ref(), || {
        keeper = (!places.is_empty()).then(|| Keeper::hire(places, &keepers));
    });
    let born = born.inspect_err(|_| slots.clear());
    drop((inner, line, keepers));
    let ((id, process), keeper, control) = together(born, keeper.transpose(), control)?;
    // It may be waiting for this very processor, and more waits for it than for what is left to do here.
    rustix::thread::sched_yield();
    // From here on, whatever goes wrong ends the first process too.
    if let Some(keeper) = &keeper {
        keeper.introduce(process.as_fd());
    }
    drop((slots, vacancy));
    let mut launched =
        Launched { id, process, listeners: Vec::new(), notifications: None, control, keeper, state: State::Going };
    meanwhile();
    match launched.listen(&script) {
        Ok(()) => Ok(launched),
        Err(broken) => {
            launched.finish();
            Err(broken)
        }
    }
}

/// All that a first process is born with.
struct Birth<'a> {
    script: &'a mut Script,
    slots: &'a mut [Option<OwnedFd>],
    /// Messages, the leash, and the line to the keeper.
    lines: [&'a OwnedFd; 3],
    /// The keeper's end of it, which is not for the first process: it would wait for its own word.
    keepers: &'a OwnedFd,
    /// The first process, when it is there.
    born: Result<Born, Errno>,
}

/// A first process: its number, and what it is held by.
type Born = (u32, OwnedFd);

/// Why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NotBorn {
    /// The kernel refused.
    Refused(Errno),
    /// There may be one, but nobody knows it.
    Unknown,
}

impl Birth<'_> {
    /// In namespaces that were made ahead, or else on bare ground. Something else is done beside it.
    fn somewhere(&mut self, vacancy: Option<&Vacancy>, meanwhile: impl FnOnce()) -> Result<Born, NotBorn> {
        match vacancy {
            Some(vacancy) => match self.in_vacancy(vacancy, meanwhile) {
                Ok(born) => Ok(born),
                Err(Undone::Unmade(_)) => self.on_bare_ground().map_err(NotBorn::Refused),
                // Somebody may have been born, and the command must not run twice.
                Err(Undone::Unknown) => Err(NotBorn::Unknown),
            },
            None => {
                meanwhile();
                self.on_bare_ground().map_err(NotBorn::Refused)
            }
        }
    }

    /// In namespaces that it is born with or makes itself.
    fn on_bare_ground(&mut self) -> Result<Born, Errno> {
        self.slots.fill_with(|| None);
        let namespaces = match self.script.walls {
            Walls::Own(_) => NAMESPACES,
            Walls::Theirs | Walls::None => 0,
        };
        self.clone(namespaces, Ground::Bare)
    }

    /// In namespaces that were made ahead, by whoever stands in them.
    fn in_vacancy(&mut self, vacancy: &Vacancy, meanwhile: impl FnOnce()) -> Result<Born, Undone> {
        // SAFETY: `bear` makes system calls on this, which nobody touches meanwhile.
        unsafe { vacancy.perform((bear, (&raw mut *self).cast()), meanwhile) }?;
        std::mem::replace(&mut self.born, Err(Errno::CHILD)).map_err(Undone::Unmade)
    }

    fn clone(&mut self, flags: i32, ground: Ground) -> Result<Born, Errno> {
        // SAFETY: the child goes straight into `live`, which makes system calls on what was prepared, and never returns.
        match unsafe { raw::clone(flags) }? {
            Clone::Child => {
                // SAFETY: its own copy, which nobody uses any more.
                unsafe { rustix::io::close(self.keepers.as_raw_fd()) };
                let [control, leash, keeper] = self.lines.map(AsFd::as_fd);
                inside::live(self.script, self.slots, &inside::Lines { control, leash, keeper, ground })
            }
            Clone::Parent(id, process) => Ok((id, process)),
        }
    }
}

/// Has the first process born where this runs, as a child of whoever waits for it, with what the ground left open.
fn bear(birth: *mut libc::c_void, ground: &mut Trees) {
    // SAFETY: `in_vacancy` passes its own, and waits.
    let birth = unsafe { &mut *birth.cast::<Birth<'_>>() };
    for (slot, tree) in birth.slots.iter_mut().zip(ground) {
        *slot = tree.take();
    }
    birth.born = birth.clone(libc::CLONE_NEWPID | libc::CLONE_PARENT, Ground::Made);
}

/// The first process, its keeper and the line to it; none is left without the others.
fn together(
    born: Result<Born, NotBorn>,
    keeper: Result<Option<Keeper>, Errno>,
    control: OwnedFd,
) -> Result<(Born, Option<Keeper>, OwnedFd), Broken> {
    match (born, keeper) {
        (Ok(born), Ok(keeper)) => Ok((born, keeper, control)),
        (Ok((_, process)), Err(error)) => {
            let _ = rustix::process::pidfd_send_signal(&process, rustix::process::Signal::KILL);
            reap(&process);
            Err(Broken::Lines(error))
        }
        (Err(NotBorn::Refused(error)), keeper) => {
            if let Ok(Some(keeper)) = keeper {
                keeper.send_home();
                keeper.dismiss();
            }
            Err(Broken::Namespaces(error))
        }
        // Whoever may live inside ends without this line, and the keeper waits for that.
        (Err(NotBorn::Unknown), keeper) => {
            drop(control);
            if let Ok(Some(keeper)) = keeper {
                keeper.dismiss();
            }
            Err(Broken::Silent)
        }
    }
}

impl Launched {
    /// Takes in what comes from inside until the command runs or something failed.
    fn listen(&mut self, script: &Script) -> Result<(), Broken> {
        loop {
            let (kind, detail, number, handed) = self.message().ok_or(Broken::Silent)?;
            let error = raw::error(number);
            match (kind, handed) {
                (Kind::Listener, Some(socket)) => {
                    self.listeners.push((u16::try_from(detail).unwrap_or_default(), socket));
                }
                (Kind::Notifications, Some(descriptor)) => self.notifications = Some(descriptor),
                (Kind::Step, _) => {
                    let mut steps = script.ground.iter().chain(&script.steps).chain(&script.veils);
                    let step = usize::try_from(detail).ok().and_then(|number| steps.nth(number));
                    return Err(Broken::Step(step.map(ToString::to_string).unwrap_or_default(), error));
                }
                (Kind::Stage, _) => {
                    let stage = Stage::ALL.into_iter().find(|stage| *stage as u32 == detail);
                    return Err(stage.map_or(Broken::Silent, |stage| Broken::Stage(stage, error)));
                }
                (Kind::Started, _) => return Ok(()),
                (Kind::Listener | Kind::Notifications | Kind::Exited | Kind::Killed, _) => return Err(Broken::Silent),
            }
        }
    }

    /// The next message from inside; `None` when there will be no more.
    fn message(&self) -> Option<(Kind, u32, i32, Option<OwnedFd>)> {
        let mut space = [MaybeUninit::<u8>::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut bytes = [0u8; 12];
        let received = loop {
            let mut parts = [std::io::IoSliceMut::new(&mut bytes)];
            match rustix::net::recvmsg(&self.control, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
                // The first process ended before it read a signal that was on its way; its last word still follows.
                Err(Errno::INTR | Errno::CONNRESET) => (),
                done => break done.ok()?.bytes,
            }
        };
        let [kind, detail, number] = (received == bytes.len()).then(|| numbers(bytes))?;
        let kind = Kind::ALL.into_iter().find(|known| *known as u32 == kind)?;
        let handed = raw::handed(&mut ancillary).next();
        Some((kind, detail, number.cast_signed(), handed))
    }

    /// Readable when everything inside has ended. The first process itself may still be leaving: the kernel takes apart
    /// what it was in, and nobody has to wait for that.
    pub(crate) fn ended(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }

    /// Waits until the first process has left too, and everything it held with it.
    pub(crate) fn see_off(&self) {
        reap(&self.process);
    }

    /// Sends a signal to the command's process group.
    pub(crate) fn signal(&self, signal: i32) {
        let _ = rustix::net::send(&self.control, &signal.to_ne_bytes(), SendFlags::NOSIGNAL);
    }

    /// Waits for the end of the command, and of everything inside; `None` when the first process was killed.
    pub(crate) fn wait(&mut self) -> Option<Ending> {
        let ending = match self.message() {
            Some((Kind::Exited, _, code, _)) => Some(Ending::Code(code)),
            Some((Kind::Killed, _, signal, _)) => Some(Ending::Signal(signal)),
            Some(_) | None => None,
        };
        if ending.is_some() {
            self.state = State::Over;
        }
        ending
    }

    /// Ends whatever lives inside, and cleans up.
    pub(crate) fn finish(&mut self) {
        match self.state {
            State::Going => {
                let _ = rustix::process::pidfd_send_signal(&self.process, rustix::process::Signal::KILL);
                reap(&self.process);
            }
            State::Over => (),
            State::Gone => return,
        }
        if self.state == State::Over {
            let_leave(self.process.try_clone().ok().map(Leaver::from));
        }
        if let Some(keeper) = self.keeper.take() {
            keeper.dismiss();
        }
        self.state = State::Gone;
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        self.finish();
    }
}

fn numbers(bytes: [u8; 12]) -> [u32; 3] {
    let [a, b, c, d, e, f, g, h, i, j, k, l] = bytes;
    [[a, b, c, d], [e, f, g, h], [i, j, k, l]].map(u32::from_ne_bytes)
}
