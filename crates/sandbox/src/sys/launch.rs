//! Starts a script: makes the keeper and the first process inside, and listens until the command runs or cannot.
#![allow(unsafe_code, reason = "clones processes")]

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvAncillaryBuffer, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::pipe::PipeFlags;
use rustix::process::{PidfdFlags, WaitId, WaitIdOptions};

use super::inside::{self, Ground, Kind, Stage};
use super::keeper::{self, Places};
use super::raw::{self, Clone, Stack};
use super::script::{Script, Walls};
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

struct Keeper {
    orders: OwnedFd,
    process: OwnedFd,
    memory: (Box<Service>, Stack),
}

impl Keeper {
    /// Has it clean up.
    fn order(&self) {
        let _ = rustix::net::send(&self.orders, &[0], SendFlags::NOSIGNAL);
    }

    /// Waits until it has cleaned up.
    fn dismiss(self) {
        let mut byte = [0];
        // Its word, or its end: either way there is nothing more to come.
        while rustix::io::read(&self.orders, &mut byte) == Err(Errno::INTR) {}
        let_leave(Some(Leaver::with(self.process, self.memory)));
    }
}

fn pair() -> Result<(OwnedFd, OwnedFd), Errno> {
    rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
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
    let (ready, announce) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    let (control, inner) = pair()?;
    let mut slots: Vec<Option<OwnedFd>> = (0..script.slots).map(|_| None).collect();
    let orders = if places.is_empty() { None } else { Some(pair()?) };
    let mut birth = Birth {
        script: &mut script,
        slots: &mut slots,
        lines: [&inner, &leash, &ready],
        keeper: orders.as_ref().map(|(orders, _)| orders),
        announce: &announce,
    };
    let entered = vacancy.as_ref().and_then(|vacancy| birth.in_vacancy(vacancy).ok());
    let (id, process) = match entered {
        Some(born) => born,
        None => birth.on_bare_ground()?,
    };
    drop(inner);
    let mut launched = Launched {
        id,
        process,
        listeners: Vec::new(),
        notifications: None,
        control,
        keeper: None,
        state: State::Going,
    };
    // From here on, whatever goes wrong ends the first process too.
    if let Some((orders, inner)) = orders {
        launched.keeper = Some(hire(places, orders, [&inner, &leash, &announce, &launched.process])?);
    }
    drop(announce);
    drop(vacancy);
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
    /// Messages, the leash, and what the keeper says.
    lines: [&'a OwnedFd; 3],
    /// The way to the keeper, if there is to be one.
    keeper: Option<&'a OwnedFd>,
    /// The keeper's end, which is not for the first process: it would wait for its own word.
    announce: &'a OwnedFd,
}

/// A birth by way of a process that enters namespaces first: a process cannot do that for its children alone.
struct Passage<'a, 'b> {
    birth: &'a mut Birth<'b>,
    holder: BorrowedFd<'a>,
    born: Result<(u32, OwnedFd), Errno>,
}

impl Birth<'_> {
    /// In namespaces that it is born with or makes itself.
    fn on_bare_ground(&mut self) -> Result<(u32, OwnedFd), Broken> {
        let namespaces = match self.script.walls {
            Walls::Own(_) => NAMESPACES,
            Walls::Theirs | Walls::None => 0,
        };
        self.clone(namespaces, Ground::Bare).map_err(Broken::Namespaces)
    }

    /// In namespaces that were made ahead.
    fn in_vacancy(&mut self, vacancy: &Vacancy) -> Result<(u32, OwnedFd), Errno> {
        let holder = vacancy.holder()?;
        let mut passage = Passage { birth: self, holder, born: Err(Errno::CHILD) };
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
                unsafe { rustix::io::close(self.announce.as_raw_fd()) };
                let [control, leash, ready] = self.lines.map(AsFd::as_fd);
                let keeper = self.keeper.map(AsFd::as_fd);
                inside::live(self.script, self.slots, &inside::Lines { control, leash, ready, keeper, ground })
            }
            Clone::Parent(id, process) => Ok((id, process)),
        }
    }
}

/// Enters the namespaces, and has the first process born there as a child of whoever stands still meanwhile.
extern "C" fn pass(passage: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `in_vacancy` passes its own `Passage` and stands still.
    let passage = unsafe { &mut *passage.cast::<Passage<'_, '_>>() };
    let flags = libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_PARENT;
    passage.born = Vacancy::enter(passage.holder).and_then(|()| passage.birth.clone(flags, Ground::Made));
    raw::leave(0)
}

/// Clones the keeper. It shares this process's memory, so that none has to be copied.
fn hire(places: Vec<Places>, orders: OwnedFd, lines: [&OwnedFd; 4]) -> Result<Keeper, Broken> {
    let mut service = Box::new(Service { places, lines: lines.map(AsRawFd::as_raw_fd) });
    let stack = Stack::new()?;
    let shared = (serve as raw::Start, (&raw mut *service).cast());
    // SAFETY: `serve` makes system calls that touch no `errno`, on its service, which nobody else looks at; this and its
    // stack are given up only when it has ended.
    let (_, process) = unsafe { raw::clone_on(&stack, shared, 0) }?;
    Ok(Keeper { orders, process, memory: (service, stack) })
}

/// What a keeper works with.
pub(super) struct Service {
    places: Vec<Places>,
    lines: [i32; 4],
}

impl Drop for Service {
    fn drop(&mut self) {
        self.places.iter_mut().for_each(Places::disown);
    }
}

extern "C" fn serve(service: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `hire` passes its own, and keeps it as long as this lives.
    let service = unsafe { &mut *service.cast::<Service>() };
    // SAFETY: they are open in this process's own table, which was copied when it was made. From here on only these are
    // used, and nothing that owns another is dropped.
    let [orders, leash, ready, inside] =
        unsafe { raw::keep_only(service.lines.map(|line| BorrowedFd::borrow_raw(line))) };
    keeper::live(&mut service.places, &keeper::Lines { orders, inside, leash, ready })
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
                    let mut steps = script.steps.iter().chain(&script.veils);
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
        let handed = raw::handed(&mut ancillary);
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
            // It cleans up while its master looks at what is left.
            if let Some(keeper) = &self.keeper {
                keeper.order();
            }
        }
        ending
    }

    /// Ends whatever lives inside, and cleans up.
    pub(crate) fn finish(&mut self) {
        match self.state {
            State::Going => {
                let _ = rustix::process::pidfd_send_signal(&self.process, rustix::process::Signal::KILL);
                reap(&self.process);
                if let Some(keeper) = &self.keeper {
                    keeper.order();
                }
            }
            State::Over => (),
            State::Gone => return,
        }
        if let Some(keeper) = self.keeper.take() {
            keeper.dismiss();
        }
        if self.state == State::Over {
            let_leave(self.process.try_clone().ok().map(Leaver::from));
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
