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
use super::vacancy::Vacancy;
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
    // First of all, because it has the longest way to go.
    let keeper = if places.is_empty() { None } else { Some(Keeper::hire(places, &keepers)?) };
    let mut slots: Vec<Option<OwnedFd>> = (0..script.slots).map(|_| None).collect();
    let mut birth = Birth { script: &mut script, slots: &mut slots, lines: [&inner, &leash, &line], keepers: &keepers };
    let (id, process) = match birth.somewhere(vacancy.as_ref()) {
        Ok(born) => born,
        Err(error) => {
            if let Some(keeper) = keeper {
                keeper.send_home();
                keeper.dismiss();
            }
            return Err(Broken::Namespaces(error));
        }
    };
    // It may be waiting for this very processor, and more waits for it than for what is left to do here.
    rustix::thread::sched_yield();
    // From here on, whatever goes wrong ends the first process too.
    if let Some(keeper) = &keeper {
        keeper.introduce(process.as_fd());
    }
    drop((inner, line, keepers, slots, vacancy));
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
}

/// A birth by way of a process that enters namespaces first: a process cannot do that for its children alone.
struct Passage<'a, 'b> {
    birth: &'a mut Birth<'b>,
    vacancy: &'a Vacancy,
    /// The root of the file system in there.
    root: OwnedFd,
    born: Result<(u32, OwnedFd), Errno>,
}

impl Birth<'_> {
    /// In namespaces that were made ahead, or else on bare ground.
    fn somewhere(&mut self, vacancy: Option<&Vacancy>) -> Result<(u32, OwnedFd), Errno> {
        match vacancy.map(|vacancy| self.in_vacancy(vacancy)) {
            Some(Ok(born)) => Ok(born),
            Some(Err(_)) | None => self.on_bare_ground(),
        }
    }

    /// In namespaces that it is born with or makes itself.
    fn on_bare_ground(&mut self) -> Result<(u32, OwnedFd), Errno> {
        self.slots.fill_with(|| None);
        let namespaces = match self.script.walls {
            Walls::Own(_) => NAMESPACES,
            Walls::Theirs | Walls::None => 0,
        };
        self.clone(namespaces, Ground::Bare)
    }

    /// In namespaces that were made ahead.
    fn in_vacancy(&mut self, vacancy: &Vacancy) -> Result<(u32, OwnedFd), Errno> {
        let [root, ground @ ..] = vacancy.ready()?;
        for (slot, tree) in self.slots.iter_mut().zip(ground) {
            *slot = Some(tree);
        }
        let mut passage = Passage { birth: self, vacancy, root, born: Err(Errno::CHILD) };
        // SAFETY: `pass` makes system calls on `passage`, which is passed, outlives it and is not touched meanwhile.
        let (_, gone) = unsafe { raw::clone_sharing(pass, (&raw mut passage).cast(), libc::CLONE_FILES) }?;
        let_leave(Some(gone.into()));
        passage.born
    }

    fn clone(&mut self, flags: i32, ground: Ground) -> Result<(u32, OwnedFd), Errno> {
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

/// Enters the namespaces, and has the first process born there as a child of whoever stands still meanwhile.
extern "C" fn pass(passage: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `in_vacancy` passes its own `Passage` and stands still.
    let passage = unsafe { &mut *passage.cast::<Passage<'_, '_>>() };
    let flags = libc::CLONE_NEWPID | libc::CLONE_PARENT;
    let entered = passage.vacancy.enter(passage.root.as_fd());
    passage.born = entered.and_then(|()| passage.birth.clone(flags, Ground::Made));
    raw::leave(0)
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
