//! Namespaces made ahead: a process makes them, lays the ground in them and holds them, while whoever wants them still
//! decides what is to run. A network takes the kernel longer than all the rest, and nobody has to wait for it this way.
//!
//! The holder has this process's memory and descriptors, but stands in the namespaces: whoever is born there is its child,
//! given to this process at once. Nothing else runs in them, and nothing is decided here: without a permit they are given up
//! unused, and after a second in any case.
#![allow(unsafe_code, reason = "clones a process that shares this one's memory")]

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use rustix::process::{Pid, PidfdFlags};
use rustix::thread::UnshareFlags;

use super::inside::{self, LATER};
use super::launch::{Leaver, await_end, let_leave, pair, reap, send_elsewhere};
use super::mounts;
use super::raw::{self, Stack};
use super::script::{GROUND, Identity, Step};
use crate::plan::Nesting;

/// The namespaces that the holder makes for itself, beside its user's.
const NAMESPACES: i32 = LATER | libc::CLONE_NEWNS;

/// How long they are held for somebody. Whoever is still waiting for an answer then, perhaps a person's, gets others: what
/// the host mounted meanwhile is missing in these, and they keep what it unmounted.
const PATIENCE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// The word that there is something to do in them.
const WANTED: u8 = 1;
/// The word that there never will be.
const UNWANTED: u8 = 0;

/// Namespaces that nobody lives in yet.
#[derive(Debug)]
pub(crate) struct Vacancy {
    holder: OwnedFd,
    /// To the holder, whether they are wanted; from it, that it is done or why not.
    line: OwnedFd,
    /// What the holder works with, for as long as it lives.
    memory: Option<(Box<Orders>, Stack)>,
}

/// What the holder sees of this process's memory. Its descriptors are closed when it has ended: their numbers are this
/// process's, too.
struct Orders {
    identity: Identity,
    ground: Vec<Step>,
    /// What is to be done in them.
    task: AtomicPtr<Task>,
    /// Nobody waits for them any more.
    given_up: AtomicBool,
    /// The holder left before anybody wanted them.
    left: AtomicBool,
    /// Its end of the line.
    line: OwnedFd,
    /// This process: readable when it is gone.
    master: OwnedFd,
    /// The thread of it whose place for errors the holder has, and all that are born of it.
    thread: Pid,
}

impl std::fmt::Debug for Orders {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Orders").finish_non_exhaustive()
    }
}

/// What the ground left open.
pub(super) type Trees = [Option<OwnedFd>; GROUND];

/// Why the holder did not do what it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Undone {
    /// There are no such namespaces, or not any more.
    Unmade(Errno),
    /// It was ended, and nobody knows how far it came.
    Unknown,
}

/// Something that the holder does where it stands.
struct Task {
    act: fn(*mut libc::c_void, &mut Trees),
    with: *mut libc::c_void,
}

impl Vacancy {
    /// Begins to make them, with this ground, and does not wait for it.
    pub(crate) fn begin(ground: Vec<Step>) -> Result<Self, Errno> {
        let (line, own) = pair()?;
        let mut orders = Box::new(Orders {
            identity: Identity::own(Nesting::Refused),
            ground,
            task: AtomicPtr::default(),
            given_up: AtomicBool::new(false),
            left: AtomicBool::new(false),
            line: own,
            master: rustix::process::pidfd_open(rustix::process::getpid(), PidfdFlags::empty())?,
            thread: rustix::thread::gettid(),
        });
        let stack = Stack::new()?;
        let shared = (hold as raw::Start, (&raw mut *orders).cast());
        // SAFETY: `hold` makes system calls on its orders; these and its stack are given up only when it has ended. It touches
        // no `errno` unless it performs something, and then its thread waits for that.
        let (id, holder) = unsafe { raw::clone_on(&stack, shared, libc::CLONE_NEWUSER | libc::CLONE_FILES) }?;
        send_elsewhere(id);
        Ok(Self { holder, line, memory: Some((orders, stack)) })
    }

    /// Has the holder do something in them when they are made, goes on with something else meanwhile, and waits for it. Once
    /// only, and by the thread that began.
    ///
    /// # Safety
    /// `act` may make system calls only, on `with` and what it is given. Nobody else may touch `with` until this returns.
    /// `meanwhile` must come back, and take no error for another's: both have one `errno`.
    pub(crate) unsafe fn perform(
        &self,
        (act, with): (fn(*mut libc::c_void, &mut Trees), *mut libc::c_void),
        meanwhile: impl FnOnce(),
    ) -> Result<(), Undone> {
        let own = rustix::thread::gettid();
        let Some((orders, _)) = self.memory.as_ref().filter(|(orders, _)| orders.thread == own) else {
            meanwhile();
            return Err(Undone::Unmade(Errno::CHILD));
        };
        let mut task = Task { act, with };
        orders.task.store(&raw mut task, Ordering::Release);
        let _ = rustix::net::send(&self.line, &[WANTED], SendFlags::NOSIGNAL);
        meanwhile();
        let mut polled = [PollFd::new(&self.line, PollFlags::IN), PollFd::new(&self.holder, PollFlags::IN)];
        loop {
            match poll(&mut polled, None) {
                Ok(_) => break,
                Err(Errno::INTR) => (),
                // It works with what lives here, so there is no going on before it has ended.
                Err(_) => await_end(&self.holder),
            }
        }
        let mut byte = [0];
        match (rustix::net::recv(&self.line, &mut byte, RecvFlags::DONTWAIT), byte) {
            (Ok((1, _)), [0]) => Ok(()),
            (Ok((1, _)), [error]) => Err(Undone::Unmade(raw::error(i32::from(error)))),
            (_, _) if orders.left.load(Ordering::Acquire) => Err(Undone::Unmade(Errno::CHILD)),
            (_, _) => Err(Undone::Unknown),
        }
    }
}

impl Drop for Vacancy {
    fn drop(&mut self) {
        if let Some((orders, _)) = &self.memory {
            orders.given_up.store(true, Ordering::Release);
        }
        // It closes what it opened, and leaves.
        let _ = rustix::net::send(&self.line, &[UNWANTED], SendFlags::NOSIGNAL);
        // Nobody waits for its end, unless there is no other way to know when its memory is free.
        match self.holder.try_clone() {
            Ok(holder) => let_leave(Some(Leaver::with(holder, self.memory.take()))),
            Err(_) => reap(&self.holder),
        }
    }
}

/// Lives as the holder. It has every signal blocked.
extern "C" fn hold(orders: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `begin` passes its own, and keeps them as long as this lives.
    let orders = unsafe { &*orders.cast::<Orders>() };
    let mut trees = [const { None }; GROUND];
    let made = make(orders, &mut trees);
    match wanted(orders) {
        Some(task) => {
            if made.is_ok() {
                (task.act)(task.with, &mut trees);
            }
            let byte = made.map_or_else(|error| u8::try_from(error.raw_os_error()).unwrap_or(u8::MAX), |()| 0);
            let _ = rustix::net::send(&orders.line, &[byte], SendFlags::NOSIGNAL);
        }
        None => orders.left.store(true, Ordering::Release),
    }
    drop(trees);
    raw::leave(0)
}

/// Makes them and lays the ground. Everything here leaves `errno` alone.
fn make(orders: &Orders, trees: &mut Trees) -> Result<(), Errno> {
    let still = || if orders.given_up.load(Ordering::Acquire) { Err(Errno::CANCELED) } else { Ok(()) };
    still()?;
    inside::become_known(&orders.identity)?;
    // SAFETY: none of these changes what descriptors or memory mean.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::from_bits_retain(NAMESPACES.cast_unsigned())) }?;
    inside::loopback_up()?;
    for step in &orders.ground {
        still()?;
        mounts::perform(step, trees, None)?;
    }
    Ok(())
}

/// What somebody wants them for; nothing where nobody does, or not any more.
fn wanted(orders: &Orders) -> Option<&Task> {
    let mut polled = [PollFd::new(&orders.line, PollFlags::IN), PollFd::new(&orders.master, PollFlags::IN)];
    while poll(&mut polled, Some(&PATIENCE)) == Err(Errno::INTR) {}
    let [_, master] = polled;
    let mut byte = [UNWANTED];
    match (rustix::net::recv(&orders.line, &mut byte, RecvFlags::DONTWAIT), byte) {
        // Whoever is gone wants nothing any more.
        (_, _) if !master.revents().is_empty() => None,
        // SAFETY: whoever sent this word waits until the task is done.
        (Ok((1, _)), [WANTED]) => unsafe { orders.task.load(Ordering::Acquire).as_ref() },
        (_, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;

    /// Counts what the ground left open.
    fn count(counted: *mut libc::c_void, trees: &mut Trees) {
        // SAFETY: every caller passes a number of its own.
        unsafe { *counted.cast::<usize>() = trees.iter().flatten().count() };
    }

    fn performed(vacancy: &Vacancy) -> (Result<(), Undone>, usize) {
        let mut counted = 0;
        // SAFETY: the number lives, and nobody touches it meanwhile.
        let done = unsafe { vacancy.perform((count, (&raw mut counted).cast()), || ()) };
        (done, counted)
    }

    #[test]
    fn what_is_asked_for_is_done_on_the_ground() {
        let vacancy = Vacancy::begin(crate::native::ground()).unwrap();
        assert_eq!(performed(&vacancy), (Ok(()), GROUND));
    }

    #[test]
    fn where_the_ground_cannot_be_laid_nothing_is_done() {
        let nowhere = Step::Hold { path: c"/no/such/place".into(), slot: 0 };
        let vacancy = Vacancy::begin(vec![nowhere]).unwrap();
        assert_eq!(performed(&vacancy), (Err(Undone::Unmade(Errno::NOENT)), 0));
    }

    #[test]
    fn a_holder_that_was_killed_is_not_taken_for_one_that_left() {
        let vacancy = Vacancy::begin(crate::native::ground()).unwrap();
        rustix::process::pidfd_send_signal(&vacancy.holder, rustix::process::Signal::KILL).unwrap();
        assert_eq!(performed(&vacancy), (Err(Undone::Unknown), 0));
    }

    #[test]
    fn another_thread_gets_nothing() {
        let vacancy = Vacancy::begin(crate::native::ground()).unwrap();
        let elsewhere = std::thread::spawn(move || performed(&vacancy));
        assert_eq!(elsewhere.join().unwrap(), (Err(Undone::Unmade(Errno::CHILD)), 0));
    }

    #[test]
    fn one_that_nobody_wants_leaves_nothing_open() {
        let open = || fs::read_dir("/proc/self/fd").unwrap().count();
        let before = open();
        for pause in [0, 2, 20].into_iter().cycle().take(48) {
            let vacancy = Vacancy::begin(crate::native::ground()).unwrap();
            std::thread::sleep(Duration::from_millis(pause));
            drop(vacancy);
        }
        std::thread::sleep(Duration::from_millis(200));
        let_leave(None);
        // Other tests open files, too, but not as many as this would have left.
        assert!(open() < before + 48, "{before} before, {} now", open());
    }
}
