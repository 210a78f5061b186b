//! Whoever sits before a confined command: what they type and see, and the signals they send, pass through. With a
//! terminal the command gets one of its own; without, only signals have to be passed on.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, PoisonError};

use mayi_sandbox::proxy::Doorkeeper;
use mayi_sandbox::run::{Io, Running, Stream};
use mayi_sandbox::terminal::{Aside, Job, Signals, Terminal};

/// The terminal of a run, or what there is without one.
pub(super) enum Screen {
    /// The command has a terminal of its own.
    Terminal(Box<Terminal>),
    /// There is none; the signals, when they are kept.
    Signals(Option<Signals>),
}

impl Screen {
    /// Before the command starts.
    pub(super) fn open(io: &mut Io) -> io::Result<Self> {
        let inherits = matches!((&io.stdin, &io.stdout), (Stream::Inherit, Stream::Inherit));
        let terminal = if inherits { Terminal::open()? } else { None };
        match terminal {
            Some(terminal) => {
                io.terminal = Some(terminal.slave()?);
                Ok(Screen::Terminal(Box::new(terminal)))
            }
            None => Ok(Screen::Signals(None)),
        }
    }

    /// From here on signals are kept for the command. Until then they mean to us what they always do, and a command that has
    /// started ends with us.
    pub(super) fn keep_signals(&mut self) -> io::Result<()> {
        if let Screen::Signals(signals @ None) = self {
            *signals = Some(Signals::listen()?);
        }
        Ok(())
    }

    /// The same doorkeeper, with its questions put aside of what the command shows.
    pub(super) fn aside(&mut self, keeper: Arc<dyn Doorkeeper>) -> Arc<dyn Doorkeeper> {
        let aside = match self {
            Screen::Terminal(terminal) => terminal.aside(),
            Screen::Signals(_) => None,
        };
        match aside {
            Some(aside) => Arc::new(Whispering { keeper, aside: Mutex::new(aside) }),
            None => keeper,
        }
    }

    /// Passes everything on until the command has ended.
    pub(super) fn attend(self, running: &Running) -> io::Result<()> {
        match self {
            Screen::Terminal(terminal) => terminal.relay(&Inside(running)),
            Screen::Signals(Some(signals)) => signals.pass_on(&Inside(running)),
            Screen::Signals(None) => Ok(()),
        }
    }
}

/// A running command, as its terminal knows it.
struct Inside<'a>(&'a Running);

impl Job for Inside<'_> {
    fn signal(&self, signal: i32) {
        self.0.signal(signal);
    }

    fn ended(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A doorkeeper who asks somebody whose terminal the command has.
struct Whispering {
    keeper: Arc<dyn Doorkeeper>,
    aside: Mutex<Aside>,
}

impl Doorkeeper for Whispering {
    fn may_reach(&self, host: &str, port: u16) -> bool {
        let (keeper, host) = (self.keeper.clone(), host.to_owned());
        let aside = self.aside.lock().unwrap_or_else(PoisonError::into_inner);
        aside.perform(move || keeper.may_reach(&host, port)).unwrap_or(false)
    }
}
