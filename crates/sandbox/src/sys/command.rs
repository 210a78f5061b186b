//! The last steps of a command before it executes: its streams, its limits, Landlock and the filter of calls.
//!
//! Runs on the memory of the first process, which stands still meanwhile; must never allocate.
#![allow(unsafe_code, reason = "runs between clone and exec")]

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::{Errno, FdFlags};
use rustix::process::Pid;

use super::inside::{Failure, Kind, Stage, tell_with};
use super::raw::{self, Listen};
use super::script::Command;

/// What both processes see.
struct Shared<'a> {
    command: &'a Command,
    control: BorrowedFd<'a>,
    failure: Option<Failure>,
}

/// Starts the command, and returns when it has executed or could not.
pub(crate) fn start(command: &Command, control: BorrowedFd<'_>) -> Result<Pid, Failure> {
    let fork = |error| Failure::Stage(Stage::Fork, error);
    let mut shared = Shared { command, control, failure: None };
    // SAFETY: `run` makes system calls on `shared`, which is passed, outlives it and is not touched meanwhile.
    let (id, _) = unsafe { raw::clone_sharing(run, (&raw mut shared).cast(), libc::SIGCHLD) }.map_err(fork)?;
    // SAFETY: read anew, for the child may have written it.
    match unsafe { std::ptr::read_volatile(&raw const shared.failure) } {
        Some(failure) => Err(failure),
        None => Pid::from_raw(id).ok_or(fork(Errno::CHILD)),
    }
}

extern "C" fn run(shared: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `start` passes its own `Shared` and stands still.
    let shared = unsafe { &mut *shared.cast::<Shared<'_>>() };
    shared.failure = Some(execute(shared.command, shared.control));
    raw::leave(127)
}

/// Returns only when something failed.
fn execute(command: &Command, control: BorrowedFd<'_>) -> Failure {
    match prepare(command, control) {
        Err(failure) => failure,
        Ok(()) => {
            // SAFETY: the program is a string, the arrays end in null pointers, all of it lives.
            unsafe {
                libc::execve(command.program.as_ptr(), command.words.as_ptr(), command.environment.as_ptr());
                Failure::Stage(Stage::Execute, raw::error(*libc::__errno_location()))
            }
        }
    }
}

fn prepare(command: &Command, control: BorrowedFd<'_>) -> Result<(), Failure> {
    let at = |stage| move |error| Failure::Stage(stage, error);
    rustix::process::setsid().map_err(at(Stage::Terminal))?;
    streams(command).map_err(at(Stage::Streams))?;
    rustix::process::chdir(&command.directory).map_err(at(Stage::Directory))?;
    for (resource, limit) in &command.limits {
        rustix::process::setrlimit(*resource, *limit).map_err(at(Stage::Limits))?;
    }
    raw::default_signals();
    raw::close_on_exec_from(3).map_err(at(Stage::Streams))?;
    for passed in &command.passed {
        rustix::io::fcntl_setfd(passed, FdFlags::empty()).map_err(at(Stage::Streams))?;
    }
    if let Some(ruleset) = &command.landlock {
        landlock(command, ruleset.as_fd()).map_err(at(Stage::Landlock))?;
    }
    let listener = filter(command).map_err(at(Stage::Filter))?;
    if let Some(listener) = listener {
        tell_with(control, (Kind::Notifications, 0), listener.as_fd());
    }
    Ok(())
}

fn filter(command: &Command) -> Result<Option<OwnedFd>, Errno> {
    if let Some(telling) = &command.telling
        && let Ok(listener) = raw::filter_calls(telling, Listen::Yes)
    {
        return Ok(listener);
    }
    match command.silent.is_empty() {
        true => Ok(None),
        false => raw::filter_calls(&command.silent, Listen::No),
    }
}

fn streams(command: &Command) -> Result<(), Errno> {
    for (target, source) in command.streams.iter().enumerate() {
        // SAFETY: takes numbers only; the sources are 0 to 2 themselves or lie above them.
        raw::outcome(i64::from(unsafe { libc::dup2(*source, target as i32) }))?;
    }
    if let Some(terminal) = command.terminal {
        // SAFETY: takes numbers only.
        raw::outcome(i64::from(unsafe { libc::ioctl(terminal, libc::TIOCSCTTY as _, 0) }))?;
    }
    Ok(())
}

fn landlock(command: &Command, ruleset: BorrowedFd<'_>) -> Result<(), Errno> {
    for stream in &command.reopened {
        // SAFETY: 0 to 2, which were just put there.
        let stream = unsafe { BorrowedFd::borrow_raw(*stream) };
        raw::landlock_add(ruleset, stream, command.file_rights)?;
    }
    raw::landlock_enter(ruleset)
}
