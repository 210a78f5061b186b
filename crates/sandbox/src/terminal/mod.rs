//! The terminal of a confined command: it feels as if the command had been started directly.
//!
//! The command gets a terminal of its own, so that it can neither type into ours nor change it; what is typed and
//! what is shown is passed on. Where there is no terminal, [`Signals`] are passed on alone.
//!
//! INVARIANT: whatever happens, the user's terminal is left as it was found.

mod aside;
mod mode;
mod orphan;
mod relay;
mod signals;

#[cfg(test)]
mod tests;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::OFlags;
use rustix::pty::OpenptFlags;
use rustix::termios::{OptionalActions, isatty, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize};

pub use aside::Aside;
pub use signals::Signals;

use crate::run::Running;

/// A command that runs behind a terminal.
pub trait Job {
    /// Sends a signal to it and what it started.
    fn signal(&self, signal: i32);
    /// A descriptor that can be read when it has ended.
    fn ended(&self) -> BorrowedFd<'_>;
}

impl Job for Running {
    fn signal(&self, signal: i32) {
        Running::signal(self, signal);
    }

    fn ended(&self) -> BorrowedFd<'_> {
        self.as_fd()
    }
}

/// A terminal for a command, and the one that the user sits at.
#[derive(Debug)]
pub struct Terminal {
    /// Our side of the command's terminal. It never blocks.
    master: OwnedFd,
    /// The command's side, until the command has it.
    slave: OwnedFd,
    signals: Signals,
    asked: aside::Asked,
    aside: Option<Aside>,
}

impl Terminal {
    /// A terminal for a command that is about to start; `None` where standard input or output is not one. From here
    /// until the end of [`Terminal::relay`], signals are kept for the command.
    pub fn open() -> io::Result<Option<Self>> {
        if !isatty(io::stdin()) || !isatty(io::stdout()) {
            return Ok(None);
        }
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = rustix::pty::openpt(flags)?;
        rustix::pty::grantpt(&master)?;
        rustix::pty::unlockpt(&master)?;
        let slave = rustix::pty::ioctl_tiocgptpeer(&master, flags)?;
        tcsetattr(&slave, OptionalActions::Now, &tcgetattr(io::stdin())?)?;
        rustix::fs::fcntl_setfl(&master, rustix::fs::fcntl_getfl(&master)? | OFlags::NONBLOCK)?;
        fit(master.as_fd());
        let (aside, asked) = aside::pair()?;
        Ok(Some(Self { master, slave, signals: Signals::listen()?, asked, aside: Some(aside) }))
    }

    /// The command's side, to be its standard streams and its controlling terminal.
    pub fn slave(&self) -> io::Result<OwnedFd> {
        self.slave.try_clone()
    }

    /// The way to the user while the command has the terminal. Given once.
    pub fn aside(&mut self) -> Option<Aside> {
        self.aside.take()
    }

    /// Passes on what is typed and shown until the command has ended and all it said is shown.
    pub fn relay(self, job: &impl Job) -> io::Result<()> {
        // As long as we hold it, too, the end of the command's output could not be seen.
        drop(self.slave);
        relay::Relay::new(self.master, (self.signals, self.asked), job).run()
    }
}

/// Gives the command's terminal the size of the user's.
fn fit(master: BorrowedFd<'_>) {
    if let Ok(size) = tcgetwinsize(io::stdin()) {
        // A terminal without a size is one that nobody looks at.
        let _ = tcsetwinsize(master, size);
    }
}
