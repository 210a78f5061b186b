//! Passing on what is typed and shown, signals, sizes and stops, until the command has ended.

use std::io::{self, Stdin, Stdout};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Signal, kill_current_process_group};
use rustix::termios::{LocalModes, SpecialCodeIndex, tcgetattr, tcgetpgrp, tcgetsid};
use signal_hook::consts::signal;

use super::aside::Asked;
use super::mode::{self, Raw};
use super::orphan::is_orphaned;
use super::signals::{Signals, is_ignored_by};
use super::{Job, fit};

/// How much is read at once.
const BLOCK: usize = 1 << 14;
/// As long as this much waits for the command, nothing more is read from the user.
const WAITING: usize = 1 << 16;
/// How often somebody in the background looks whether he is in the foreground again.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 250_000_000 };
/// How long a command that is silent may take to tidy up its screen before it is stopped, and how long in all.
const TIDY_QUIET: Duration = Duration::from_millis(30);
const TIDY: Duration = Duration::from_millis(300);
/// How long the last output may take when the command has ended and somebody else holds its terminal.
const LAST: Duration = Duration::from_millis(200);

/// A command's terminal and the user's.
pub(super) struct Relay<'a, J> {
    master: OwnedFd,
    signals: Signals,
    asked: Asked,
    job: &'a J,
    stdin: Stdin,
    stdout: Stdout,
    /// While the terminal is ours.
    raw: Option<Raw>,
    /// What was typed and is not with the command yet.
    waiting: Vec<u8>,
    /// The user.
    input: Side,
    /// The command.
    output: Side,
}

/// Whether somebody still speaks there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Open,
    Closed,
}

/// What came out of the command's terminal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Output {
    /// Something was shown.
    Shown,
    /// There is nothing at the moment.
    Silent,
    /// Nobody holds the other side any more.
    Closed,
}

/// What there is to do.
struct Ready {
    ended: bool,
    signals: bool,
    asked: bool,
    output: bool,
    input: bool,
}

impl<'a, J: Job> Relay<'a, J> {
    pub(super) fn new(master: OwnedFd, (signals, asked): (Signals, Asked), job: &'a J) -> Self {
        let (stdin, stdout) = (io::stdin(), io::stdout());
        let (input, output) = (Side::Open, Side::Open);
        Self { master, signals, asked, job, stdin, stdout, raw: None, waiting: Vec::new(), input, output }
    }

    /// Until the command has ended and all it said is shown.
    pub(super) fn run(mut self) -> io::Result<()> {
        loop {
            if self.raw.is_none() {
                self.raw = Raw::enter()?;
            }
            let ready = self.wait()?;
            if ready.signals {
                self.take_signals()?;
            }
            if ready.asked {
                self.step_aside()?;
            }
            if ready.output && self.show()? == Output::Closed {
                self.output = Side::Closed;
            }
            if ready.ended {
                return self.show_for(LAST, LAST);
            }
            if ready.input {
                self.take_input()?;
            }
            self.give()?;
        }
    }

    /// Waits for something to do. A terminal that everybody has let go of would wake us for ever.
    fn wait(&self) -> io::Result<Ready> {
        let is_open = self.output == Side::Open;
        let mut wanted = PollFlags::IN;
        if !self.waiting.is_empty() {
            wanted |= PollFlags::OUT;
        }
        let listens = self.raw.is_some() && self.input == Side::Open && self.waiting.len() < WAITING;
        let mut polled = vec![
            PollFd::from_borrowed_fd(self.job.ended(), PollFlags::IN),
            PollFd::new(&self.signals, PollFlags::IN),
            PollFd::new(&self.asked, PollFlags::IN),
        ];
        if is_open {
            polled.push(PollFd::new(&self.master, wanted));
        }
        if listens {
            polled.push(PollFd::new(&self.stdin, PollFlags::IN));
        }
        let patience = self.raw.is_none().then_some(&LOOK);
        match poll(&mut polled, patience) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut woken = polled.iter().map(|one| one.revents());
        let mut next = |is_there: bool| is_there.then(|| woken.next()).flatten().unwrap_or(PollFlags::empty());
        let [ended, signals, asked] = [next(true), next(true), next(true)];
        let [output, input] = [next(is_open), next(listens)];
        Ok(Ready {
            ended: !ended.is_empty(),
            signals: !signals.is_empty(),
            asked: asked.contains(PollFlags::IN),
            output: output.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR),
            input: !input.is_empty(),
        })
    }

    fn take_signals(&mut self) -> io::Result<()> {
        for signal in self.signals.arrived() {
            match signal {
                // The command's terminal tells it.
                signal::SIGWINCH => fit(self.master.as_fd()),
                signal::SIGTSTP => self.stop()?,
                signal::SIGCONT => self.go_on()?,
                other => self.job.signal(other),
            }
        }
        Ok(())
    }

    /// Lets a question be put to the user, on the terminal as it was. In the background nobody is asked.
    fn step_aside(&mut self) -> io::Result<()> {
        let mut was_ours = false;
        while let Some(question) = self.asked.next() {
            if mode::is_foreground() {
                was_ours = self.raw.take().is_some() || was_ours;
                question();
            }
        }
        if was_ours {
            self.raw = Raw::enter()?;
            self.job.signal(signal::SIGWINCH);
        }
        Ok(())
    }

    /// Takes what was typed. ^Z stops all of us, unless somebody inside would want to do that with a part.
    fn take_input(&mut self) -> io::Result<()> {
        let mut block = vec![0; BLOCK];
        let typed = match rustix::io::read(&self.stdin, &mut block) {
            Ok(0) | Err(Errno::IO) => {
                self.input = Side::Closed;
                return Ok(());
            }
            Ok(length) => block.get(..length).unwrap_or_default(),
            Err(Errno::INTR | Errno::AGAIN) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let Some(stop) = self.stop_key().and_then(|key| typed.iter().position(|byte| *byte == key)) else {
            self.waiting.extend_from_slice(typed);
            return Ok(());
        };
        let (before, after) = typed.split_at(stop + 1);
        self.waiting.extend_from_slice(before);
        self.give()?;
        self.stop()?;
        self.waiting.extend_from_slice(after);
        Ok(())
    }

    /// The key that stops all of us, if there is one at the moment: the command's terminal knows it, the command
    /// itself is in the foreground there, and it does not ignore such a stop. A shell inside that runs jobs has put
    /// one of them there instead, or waits for a line and ignores it.
    fn stop_key(&self) -> Option<u8> {
        let mode = tcgetattr(&self.master).ok().filter(|mode| mode.local_modes.contains(LocalModes::ISIG))?;
        let leader = tcgetsid(&self.master).ok().filter(|leader| tcgetpgrp(&self.master) == Ok(*leader))?;
        if is_ignored_by(leader, signal::SIGTSTP) {
            return None;
        }
        Some(mode.special_codes[SpecialCodeIndex::VSUSP]).filter(|key| *key != 0)
    }

    /// Stops the command and us, and goes on when we are continued.
    fn stop(&mut self) -> io::Result<()> {
        if is_orphaned() {
            return Ok(());
        }
        // It has been told, and may want to leave a tidy screen; its process group has no shell above it, and only
        // this stops it.
        self.show_for(TIDY_QUIET, TIDY)?;
        self.job.signal(signal::SIGSTOP);
        self.show_for(Duration::ZERO, TIDY)?;
        self.raw = None;
        kill_current_process_group(Signal::STOP)?;
        self.signals.wait_to_go_on();
        self.go_on()
    }

    /// After a stop: in the foreground the terminal is ours again, with whatever size it has now.
    fn go_on(&mut self) -> io::Result<()> {
        // What the shell made of the terminal meanwhile is what it shall be in the end.
        self.raw = None;
        self.raw = Raw::enter()?;
        fit(self.master.as_fd());
        self.job.signal(signal::SIGCONT);
        if mode::is_foreground() {
            // Most programs that draw a screen draw it anew.
            self.job.signal(signal::SIGWINCH);
        }
        Ok(())
    }

    /// Gives the command what was typed, as far as it takes it.
    fn give(&mut self) -> io::Result<()> {
        while !self.waiting.is_empty() {
            match rustix::io::write(&self.master, &self.waiting) {
                Ok(length) => drop(self.waiting.drain(..length)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(()),
                // Nobody will read it any more.
                Err(Errno::IO) => self.waiting.clear(),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Shows what the command said.
    fn show(&self) -> io::Result<Output> {
        let mut block = vec![0; BLOCK];
        let said = match rustix::io::read(&self.master, &mut block) {
            Ok(0) | Err(Errno::IO) => return Ok(Output::Closed),
            Ok(length) => block.get(..length).unwrap_or_default(),
            Err(Errno::INTR | Errno::AGAIN) => return Ok(Output::Silent),
            Err(error) => return Err(error.into()),
        };
        self.write(said)?;
        Ok(Output::Shown)
    }

    /// Shows what the command says until it is silent for a while, or for so long in all.
    fn show_for(&self, quiet: Duration, whole: Duration) -> io::Result<()> {
        let end = Instant::now() + whole;
        loop {
            match self.show()? {
                Output::Closed => return Ok(()),
                // A command that has ended is heard out, however much it said.
                Output::Shown => {}
                Output::Silent if Instant::now() >= end => return Ok(()),
                Output::Silent => {
                    let patience = Timespec { tv_sec: 0, tv_nsec: i64::from(quiet.subsec_nanos()) };
                    if poll(&mut [PollFd::new(&self.master, PollFlags::IN)], Some(&patience)) == Ok(0) {
                        return Ok(());
                    }
                }
            }
        }
    }

    fn write(&self, mut said: &[u8]) -> io::Result<()> {
        while !said.is_empty() {
            match rustix::io::write(&self.stdout, said) {
                Ok(length) => said = said.get(length..).unwrap_or_default(),
                Err(Errno::INTR) => {}
                // Somebody who shares the terminal wants it not to block.
                Err(Errno::AGAIN) => {
                    let _ = poll(&mut [PollFd::new(&self.stdout, PollFlags::OUT)], None);
                }
                // The user's terminal is gone; the command goes on, or is told by a signal.
                Err(Errno::IO | Errno::PIPE) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}
