//! Signals that are meant for the command: kept while it runs and passed on to it.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::signal;
use signal_hook::{SigId, flag, low_level};

use super::Job;
use super::orphan::is_orphaned;
use crate::sys::signals::{Habit, note};

/// The signals that are kept for the command.
const KEPT: [i32; 9] = [
    signal::SIGINT,
    signal::SIGTERM,
    signal::SIGHUP,
    signal::SIGQUIT,
    signal::SIGUSR1,
    signal::SIGUSR2,
    signal::SIGWINCH,
    signal::SIGTSTP,
    signal::SIGCONT,
];

/// Whether nobody keeps signals, so that they mean to us what they always do.
static IDLE: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| Arc::new(AtomicBool::new(true)));
/// The signals that we gave their usual meaning back for such times.
static USUAL: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// Signals that arrive, kept for a command from before it starts until this is dropped.
///
/// Signals that the process ignores stay ignored, by the command too: `nohup` means both.
#[derive(Debug)]
pub struct Signals {
    reader: UnixStream,
    arrived: Vec<(i32, Arc<AtomicBool>)>,
    registered: Vec<SigId>,
}

impl Signals {
    /// Begins to keep signals.
    pub fn listen() -> io::Result<Self> {
        let (reader, writer) = UnixStream::pair()?;
        reader.set_nonblocking(true)?;
        let writer = Arc::new(writer);
        let mut signals = Self { reader, arrived: Vec::new(), registered: Vec::new() };
        IDLE.store(false, Ordering::SeqCst);
        for (signal, habit) in KEPT.map(|signal| (signal, Habit::of(signal))) {
            if habit == Habit::Ignored {
                continue;
            }
            give_usual_meaning(signal, habit)?;
            let arrived = Arc::new(AtomicBool::new(false));
            signals.registered.push(note(signal, Arc::clone(&arrived), Arc::clone(&writer))?);
            signals.arrived.push((signal, arrived));
        }
        Ok(signals)
    }

    /// Passes signals on to a command until it has ended. ^Z stops it and us, and it goes on when we do.
    pub fn pass_on(self, job: &impl Job) -> io::Result<()> {
        loop {
            let mut polled =
                [PollFd::from_borrowed_fd(job.ended(), PollFlags::IN), PollFd::new(&self.reader, PollFlags::IN)];
            match poll(&mut polled, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let [ended, _] = polled;
            if !ended.revents().is_empty() {
                return Ok(());
            }
            for signal in self.arrived() {
                self.pass(signal, job);
            }
        }
    }

    fn pass(&self, signal: i32, job: &impl Job) {
        job.signal(signal);
        if signal == signal::SIGTSTP && !is_orphaned() {
            // Its process group has no shell above it, and is not stopped by what a terminal sends.
            job.signal(signal::SIGSTOP);
            let _ = kill_process(rustix::process::getpid(), Signal::STOP);
            self.wait_to_go_on();
            job.signal(signal::SIGCONT);
        }
    }

    /// The signals that arrived since the last time.
    pub(super) fn arrived(&self) -> Vec<i32> {
        let mut bytes = [0; 64];
        while (&self.reader).read(&mut bytes).is_ok_and(|length| length > 0) {}
        let arrived = self.arrived.iter().filter(|(_, arrived)| arrived.swap(false, Ordering::SeqCst));
        arrived.map(|(signal, _)| *signal).collect()
    }

    /// Waits for the signal to go on, after we were stopped. Another thread may be the one that the kernel stops
    /// first, so that we would run on for a moment.
    pub(super) fn wait_to_go_on(&self) {
        let goes_on = || {
            self.arrived
                .iter()
                .any(|(signal, arrived)| *signal == signal::SIGCONT && arrived.swap(false, Ordering::SeqCst))
        };
        for _ in 0..20 {
            if goes_on() {
                return;
            }
            let patience = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
            let _ = poll(&mut [PollFd::new(&self.reader, PollFlags::IN)], Some(&patience));
            let mut bytes = [0; 64];
            while (&self.reader).read(&mut bytes).is_ok_and(|length| length > 0) {}
        }
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for registered in self.registered.drain(..) {
            low_level::unregister(registered);
        }
        IDLE.store(true, Ordering::SeqCst);
    }
}

/// Lets a signal mean what it always does while nobody keeps it. Once caught, a signal stays caught.
fn give_usual_meaning(signal: i32, habit: Habit) -> io::Result<()> {
    let mut usual = USUAL.lock().unwrap_or_else(PoisonError::into_inner);
    if habit == Habit::Caught || !usual.insert(signal) {
        return Ok(());
    }
    flag::register_conditional_default(signal, Arc::clone(&IDLE)).map(drop)
}

/// Whether another process ignores a signal, as the kernel knows it.
pub(super) fn is_ignored_by(process: Pid, signal: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    u32::try_from(signal - 1).is_ok_and(|place| mask.checked_shr(place).is_some_and(|bits| bits & 1 == 1))
}
