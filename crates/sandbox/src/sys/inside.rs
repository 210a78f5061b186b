//! The first process inside: builds the walls, starts the command, reaps, passes signals on, tells how it ended.
//!
//! It must never allocate, and never outlive its parent: when it ends, the kernel ends everything inside.
#![allow(unsafe_code, reason = "runs between clone and exec")]

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::SendFlags;
use rustix::process::{Pid, WaitOptions, WaitStatus};

use super::command;
use super::mounts;
use super::raw;
use super::script::{Identity, Script, Step, Waiting, Walls};

/// What it tells its parent. Each message is a kind and a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Kind {
    /// A listening socket comes with this message.
    Listener,
    /// The descriptor of the filter's notifications comes with this message.
    Notifications,
    /// The file system could not be prepared: the number of the step, and the error.
    Step,
    /// Something else could not be prepared: a `Stage`, and the error.
    Stage,
    /// The command runs.
    Started,
    /// It ended by itself.
    Exited,
    /// It was ended by a signal.
    Killed,
}

impl Kind {
    pub(crate) const ALL: [Kind; 7] =
        [Kind::Listener, Kind::Notifications, Kind::Step, Kind::Stage, Kind::Started, Kind::Exited, Kind::Killed];
}

/// Preparations other than the file system's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Stage {
    Identity,
    Network,
    Placeholders,
    Rights,
    Fork,
    Terminal,
    Streams,
    Directory,
    Limits,
    Landlock,
    Filter,
    Execute,
}

impl Stage {
    /// What went on, in words.
    pub(crate) fn doing(self) -> &'static str {
        match self {
            Stage::Identity => "keeping the user's identity",
            Stage::Network => "making a network of its own",
            Stage::Placeholders => "holding the places of protected files that do not exist",
            Stage::Rights => "giving up rights",
            Stage::Fork => "starting a process",
            Stage::Terminal => "making a session",
            Stage::Streams => "passing the streams on",
            Stage::Directory => "entering the folder",
            Stage::Limits => "limiting resources",
            Stage::Landlock => "setting Landlock up",
            Stage::Filter => "filtering system calls",
            Stage::Execute => "executing",
        }
    }

    pub(crate) const ALL: [Stage; 12] = [
        Stage::Identity,
        Stage::Network,
        Stage::Placeholders,
        Stage::Rights,
        Stage::Fork,
        Stage::Terminal,
        Stage::Streams,
        Stage::Directory,
        Stage::Limits,
        Stage::Landlock,
        Stage::Filter,
        Stage::Execute,
    ];
}

/// What could not be done, for the parent to put in words.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Failure {
    Step(u32, Errno),
    Stage(Stage, Errno),
}

/// What it is connected to.
pub(crate) struct Lines<'a> {
    /// Messages to the parent, and signals from it.
    pub(crate) control: BorrowedFd<'a>,
    /// The parent itself: readable when it is gone.
    pub(crate) leash: BorrowedFd<'a>,
    /// The keeper says here that the placeholders are in their places, and hears that all others inside have ended.
    pub(crate) keeper: BorrowedFd<'a>,
    /// What it finds.
    pub(crate) ground: Ground,
}

/// What a first process finds of the namespaces that it makes itself otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ground {
    /// Nothing but its own.
    Bare,
    /// All of them, with its identity and its network in them, and the ground laid.
    Made,
}

/// Namespaces that the first process makes itself, while its parent goes on: the network's takes longest of all.
pub(super) const LATER: i32 = libc::CLONE_NEWNET | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS | libc::CLONE_NEWCGROUP;

/// Lives as the first process. Never returns.
pub(crate) fn live(script: &mut Script, slots: &mut [Option<OwnedFd>], lines: &Lines<'_>) -> ! {
    let _ = rustix::process::setsid();
    let start = |children| match is_alone(lines) {
        true => raw::leave(1),
        false => Ok((children, command::start(&script.command, lines.control)?)),
    };
    let children = match prepare(script, slots, lines).and_then(start) {
        Ok(started) => started,
        Err(failure) => {
            tell_failure(lines.control, failure);
            raw::leave(1)
        }
    };
    tell(lines.control, Kind::Started, 0, 0);
    let reach = match script.walls {
        Walls::Own(_) => Reach::Namespace,
        Walls::Theirs | Walls::None => Reach::Children,
    };
    watch(children, reach, lines)
}

/// Whether whoever wanted the command is gone.
fn is_alone(lines: &Lines<'_>) -> bool {
    let mut leash = [PollFd::from_borrowed_fd(lines.leash, PollFlags::IN)];
    poll(&mut leash, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}

/// Everything up to the point where the command can start.
fn prepare(script: &Script, slots: &mut [Option<OwnedFd>], lines: &Lines<'_>) -> Result<OwnedFd, Failure> {
    let at = |stage| move |error| Failure::Stage(stage, error);
    let children = raw::children_descriptor().map_err(at(Stage::Rights))?;
    match &script.walls {
        Walls::Own(identity) => {
            if lines.ground == Ground::Bare {
                become_known(identity).map_err(at(Stage::Identity))?;
                raw::part(LATER).and_then(|()| loopback_up()).map_err(at(Stage::Network))?;
            }
            listen(&script.ports, lines.control).map_err(at(Stage::Network))?;
        }
        Walls::Theirs | Walls::None => raw::adopt_orphans().map_err(at(Stage::Rights))?,
    }
    raw::close_memory();
    let mut perform = |steps: &[Step], before: usize| {
        steps.iter().enumerate().try_for_each(|(number, step)| {
            let number = u32::try_from(before + number).unwrap_or(u32::MAX);
            mounts::perform(step, slots, script.command.landlock.as_ref()).map_err(|error| Failure::Step(number, error))
        })
    };
    if script.placeholders == Waiting::First {
        wait_for_keeper(lines).map_err(at(Stage::Placeholders))?;
    }
    if lines.ground == Ground::Bare {
        perform(&script.ground, 0)?;
    }
    perform(&script.steps, script.ground.len())?;
    if script.placeholders == Waiting::Last {
        wait_for_keeper(lines).map_err(at(Stage::Placeholders))?;
    }
    perform(&script.veils, script.ground.len() + script.steps.len())?;
    match &script.walls {
        Walls::Own(_) | Walls::None => {
            raw::drop_capabilities().map_err(at(Stage::Rights))?;
            raw::no_new_privileges().map_err(at(Stage::Rights))?;
        }
        Walls::Theirs => (),
    }
    Ok(children)
}

/// The user and group are the caller's own, inside as outside.
pub(super) fn become_known(identity: &Identity) -> Result<(), Errno> {
    // Absent on kernels that need no such promise.
    match write(c"/proc/self/setgroups", c"deny") {
        Ok(()) | Err(Errno::NOENT) => (),
        Err(error) => return Err(error),
    }
    write(c"/proc/self/uid_map", &identity.user)?;
    write(c"/proc/self/gid_map", &identity.group)
}

fn write(path: &CStr, text: &CStr) -> Result<(), Errno> {
    let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, text.to_bytes()).map(drop)
}

/// Hands a listening socket for every port to the parent.
fn listen(ports: &[u16], control: BorrowedFd<'_>) -> Result<(), Errno> {
    for port in ports {
        let socket = rustix::net::socket_with(
            rustix::net::AddressFamily::INET,
            rustix::net::SocketType::STREAM,
            rustix::net::SocketFlags::CLOEXEC,
            None,
        )?;
        let address = rustix::net::SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, *port);
        rustix::net::bind(&socket, &address)?;
        rustix::net::listen(&socket, 128)?;
        tell_with(control, (Kind::Listener, u32::from(*port)), socket.as_fd());
    }
    Ok(())
}

/// Brings the loopback up. Touches no `errno`: it may run beside a process that shares its memory.
pub(super) fn loopback_up() -> Result<(), Errno> {
    const SET_FLAGS: rustix::ioctl::Opcode = libc::SIOCSIFFLAGS as rustix::ioctl::Opcode;
    let socket = rustix::net::socket_with(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::DGRAM,
        rustix::net::SocketFlags::CLOEXEC,
        None,
    )?;
    // SAFETY: all bytes nought is a valid request.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(c"lo".to_bytes()) {
        *to = *from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: this operation reads a request of this kind.
    unsafe { rustix::ioctl::ioctl(&socket, rustix::ioctl::Setter::<SET_FLAGS, libc::ifreq>::new(request)) }
}

/// One byte from the keeper, or its end. Only the byte counts.
fn wait_for_keeper(lines: &Lines<'_>) -> Result<(), Errno> {
    let mut byte = [0u8; 1];
    match rustix::io::read(lines.keeper, &mut byte)? {
        0 => Err(Errno::CANCELED),
        _ => match byte {
            [0] => Ok(()),
            [error] => Err(raw::error(i32::from(error))),
        },
    }
}

/// How everything inside is reached, to end it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// It is alone in its namespace with this process.
    Namespace,
    /// Only as children: whoever loses its parent becomes one.
    Children,
}

/// Reaps and passes signals on until the command ends or the parent is gone.
fn watch((children, id): (OwnedFd, Pid), reach: Reach, lines: &Lines<'_>) -> ! {
    // Nothing of the command's may be held open from here: whoever reads its output waits for its end.
    // SAFETY: only these are used from here on, and nothing that owns another is dropped: this never returns.
    let [control, leash, watched, keeper] =
        unsafe { raw::keep_only([lines.control, lines.leash, children.as_fd(), lines.keeper]) };
    std::mem::forget(children);
    loop {
        let mut polled = [
            PollFd::from_borrowed_fd(watched, PollFlags::IN),
            PollFd::from_borrowed_fd(control, PollFlags::IN),
            PollFd::from_borrowed_fd(leash, PollFlags::IN),
        ];
        let broken = poll(&mut polled, None).is_err_and(|error| error != Errno::INTR);
        let [child, said, gone] = polled.map(|one| !one.revents().is_empty());
        if broken || gone || said && pass_on(control, id) == Passed::Over {
            end_all(reach);
            raw::leave(1);
        }
        if child && let Some(status) = reap(watched, id) {
            end_all(reach);
            let _ = rustix::net::send(keeper, &[0], SendFlags::NOSIGNAL);
            tell_ending(control, status);
            raw::leave(0);
        }
    }
}

/// Takes in whoever ended; the command's status, if it is among them.
fn reap(children: BorrowedFd<'_>, id: Pid) -> Option<WaitStatus> {
    let mut told = [MaybeUninit::<u8>::uninit(); 256];
    let _ = rustix::io::read(children, &mut told);
    while let Ok(Some((ended, status))) = rustix::process::wait(WaitOptions::NOHANG) {
        if ended == id {
            return Some(status);
        }
    }
    None
}

/// Ends everything else inside, and takes it in: after the last word nothing inside does anything.
fn end_all(reach: Reach) {
    match reach {
        // Anywhere else than in a namespace of its own, this would reach the host.
        Reach::Namespace if rustix::process::getpid().is_init() => {
            // Whoever is left is a child, of this process or of another one that is; or it came in from outside, and ends
            // with this process.
            if matches!(rustix::process::wait(WaitOptions::NOHANG), Err(Errno::CHILD)) {
                return;
            }
            // SAFETY: takes numbers only. From the first process, it reaches all in its namespace but itself.
            let _ = unsafe { libc::kill(-1, libc::SIGKILL) };
            while !matches!(rustix::process::wait(WaitOptions::empty()), Err(Errno::CHILD)) {}
        }
        Reach::Namespace | Reach::Children => while end_children() == Left::Some {},
    }
}

#[derive(PartialEq, Eq)]
enum Left {
    Some,
    None,
}

/// Ends the present children, and takes in one of them. Its own children become this process's.
fn end_children() -> Left {
    let mut listed = [0u8; 4096];
    let list = rustix::fs::open(c"/proc/thread-self/children", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    let read = list.and_then(|list| rustix::io::read(&list, &mut listed)).unwrap_or(0);
    let mut id: i32 = 0;
    for byte in listed.iter().take(read) {
        match byte {
            b'0'..=b'9' => id = id.saturating_mul(10).saturating_add(i32::from(byte - b'0')),
            _ => {
                if id > 1 {
                    // SAFETY: takes numbers only; a child of ours keeps its number until it is taken in.
                    let _ = unsafe { libc::kill(id, libc::SIGKILL) };
                }
                id = 0;
            }
        }
    }
    match rustix::process::wait(WaitOptions::empty()) {
        Err(Errno::CHILD) => Left::None,
        Ok(_) | Err(_) => Left::Some,
    }
}

fn tell_ending(control: BorrowedFd<'_>, status: WaitStatus) {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => tell(control, Kind::Exited, 0, code),
        (None, Some(signal)) => tell(control, Kind::Killed, 0, signal),
        (None, None) => tell(control, Kind::Killed, 0, libc::SIGKILL),
    }
}

/// Whether the parent is still there.
#[derive(PartialEq, Eq)]
enum Passed {
    On,
    Over,
}

/// A signal from the parent, to the command's process group.
fn pass_on(control: BorrowedFd<'_>, id: Pid) -> Passed {
    let mut number = [0u8; 4];
    match rustix::io::read(control, &mut number) {
        Ok(4) => {
            // SAFETY: takes numbers only.
            let _ = unsafe { libc::kill(-id.as_raw_nonzero().get(), i32::from_ne_bytes(number)) };
            Passed::On
        }
        Err(Errno::AGAIN | Errno::INTR) => Passed::On,
        Ok(_) | Err(_) => Passed::Over,
    }
}

/// A message of three numbers, in the order of the machine: both ends are the same program.
fn words(kind: Kind, detail: u32, number: i32) -> [u8; 12] {
    let mut bytes = [0u8; 12];
    let (first, rest) = bytes.split_at_mut(4);
    let (second, third) = rest.split_at_mut(4);
    first.copy_from_slice(&(kind as u32).to_ne_bytes());
    second.copy_from_slice(&detail.to_ne_bytes());
    third.copy_from_slice(&number.to_ne_bytes());
    bytes
}

pub(crate) fn tell(control: BorrowedFd<'_>, kind: Kind, detail: u32, number: i32) {
    let _ = rustix::net::send(control, &words(kind, detail, number), SendFlags::NOSIGNAL);
}

/// The same, with a descriptor.
pub(crate) fn tell_with(control: BorrowedFd<'_>, (kind, detail): (Kind, u32), handed: BorrowedFd<'_>) {
    raw::hand(control, &words(kind, detail, 0), handed);
}

fn tell_failure(control: BorrowedFd<'_>, failure: Failure) {
    match failure {
        Failure::Step(number, error) => tell(control, Kind::Step, number, error.raw_os_error()),
        Failure::Stage(stage, error) => tell(control, Kind::Stage, stage as u32, error.raw_os_error()),
    }
}
