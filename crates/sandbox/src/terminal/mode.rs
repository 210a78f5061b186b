//! The mode of the user's terminal while a command has it: raw, so that every key reaches the command, and back to
//! what it was at the end, after a stop and in a panic.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::panic;
use std::sync::{Mutex, Once, PoisonError};

use rustix::io::Errno;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};

/// What the terminal was, while it is raw. One for the process: a process has one controlling terminal.
static BEFORE: Mutex<Option<Saved>> = Mutex::new(None);

#[derive(Debug)]
struct Saved {
    terminal: OwnedFd,
    mode: Termios,
}

/// The terminal is raw as long as this lives.
#[derive(Debug)]
pub(super) struct Raw(());

impl Raw {
    /// Makes the terminal raw, if we are in its foreground: elsewhere it belongs to somebody else.
    pub(super) fn enter() -> io::Result<Option<Self>> {
        if !is_foreground() {
            return Ok(None);
        }
        restore_on_panic();
        let terminal = io::stdin().as_fd().try_clone_to_owned()?;
        let mode = tcgetattr(&terminal)?;
        let mut raw = mode.clone();
        raw.make_raw();
        *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(Saved { terminal, mode });
        let guard = Self(());
        set(&io::stdin(), &raw)?;
        Ok(Some(guard))
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        restore();
    }
}

/// Whether the terminal listens to our process group.
pub(super) fn is_foreground() -> bool {
    tcgetpgrp(io::stdin()).is_ok_and(|group| group == rustix::process::getpgrp())
}

fn restore() {
    // In a panic the lock may be held by the very thread that panics; then it is being restored already.
    if let Ok(mut before) = BEFORE.try_lock()
        && let Some(saved) = before.take()
    {
        let _ = set(&saved.terminal, &saved.mode);
    }
}

fn set(terminal: &impl AsFd, mode: &Termios) -> Result<(), Errno> {
    loop {
        match tcsetattr(terminal, OptionalActions::Now, mode) {
            Err(Errno::INTR) => {}
            answer => return answer,
        }
    }
}

/// A panic may end the process without unwinding.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let next = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            restore();
            next(info);
        }));
    });
}
