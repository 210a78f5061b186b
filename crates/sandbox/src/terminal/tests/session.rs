//! Somebody who sits at a terminal: a shell with job control, what is typed into it, and what it shows.

use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::OpenptFlags;
use rustix::termios::{Winsize, tcsetwinsize};

/// How the program under test is called.
pub(super) fn program() -> String {
    let program = std::env::current_exe().unwrap();
    format!("{} --exact terminal::tests::stands_for_the_program_under_test --nocapture", program.display())
}

/// What a process does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Condition {
    Stopped,
    Running,
}

/// Somebody who sits at a terminal with a shell.
pub(super) struct Session {
    master: OwnedFd,
    shell: Child,
    /// What is on the screen and was not looked at yet.
    screen: String,
}

impl Session {
    pub(super) fn new() -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = rustix::pty::openpt(flags).unwrap();
        rustix::pty::grantpt(&master).unwrap();
        rustix::pty::unlockpt(&master).unwrap();
        let slave = rustix::pty::ioctl_tiocgptpeer(&master, flags).unwrap();
        let side = || Stdio::from(slave.try_clone().unwrap());
        let mut command = Command::new("setsid");
        command.args(["--ctty", "bash", "--norc", "--noprofile", "--noediting", "-i"]);
        command.env("PS1", "PROMPT> ").env("PROGRAM", program()).env_remove("HISTFILE");
        let shell = command.stdin(side()).stdout(side()).stderr(side()).spawn().unwrap();
        let mut session = Self { master, shell, screen: String::new() };
        session.resize(24, 80);
        session.sees("PROMPT> ");
        session
    }

    pub(super) fn resize(&self, rows: u16, columns: u16) {
        tcsetwinsize(&self.master, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    }

    pub(super) fn types(&self, text: &str) {
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let length = rustix::io::write(&self.master, rest).unwrap();
            rest = &rest[length..];
        }
    }

    /// Starts the program under test with a command.
    pub(super) fn runs(&self, script: &str) {
        assert!(!script.contains('\''));
        self.types(&format!("MAYI_TEST_COMMAND='{script}' $PROGRAM\n"));
    }

    /// Waits until a text is on the screen, and says what was before it.
    pub(super) fn sees(&mut self, text: &str) -> String {
        let end = Instant::now() + Duration::from_secs(30);
        loop {
            if let Some(place) = self.screen.find(text) {
                let rest = self.screen.split_off(place + text.len());
                return std::mem::replace(&mut self.screen, rest);
            }
            assert!(Instant::now() < end, "`{text}` does not appear; the screen shows:\n{}", self.screen);
            let patience = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
            if poll(&mut [PollFd::new(&self.master, PollFlags::IN)], Some(&patience)).unwrap() > 0 {
                let mut block = vec![0; 1 << 16];
                let length = rustix::io::read(&self.master, &mut block).unwrap_or(0);
                self.screen += &String::from_utf8_lossy(&block[..length]);
            }
        }
    }

    /// Waits for the shell, and asks it how the last command ended. The answer is computed, so that the echo of the
    /// question is none.
    pub(super) fn ended_with(&mut self, code: i32) {
        self.sees("PROMPT> ");
        self.types("echo code $((1000 + $?))\n");
        self.sees(&format!("code {}", 1000 + code));
        self.sees("PROMPT> ");
    }

    /// Checks that the terminal is the user's again. The shell must be waiting.
    pub(super) fn is_restored(&mut self) {
        self.types("for w in $(stty -a); do case $w in *icanon|*echo|*isig|*opost|*icrnl) echo \"<$w>\";; esac; done; echo over $((1 + 1))\n");
        let modes = self.sees("over 2");
        for mode in ["icanon", "echo", "isig", "opost", "icrnl"] {
            assert!(modes.contains(&format!("<{mode}>")), "{mode} in {modes}");
        }
        self.sees("PROMPT> ");
    }

    /// Stops what runs.
    pub(super) fn stops(&mut self) {
        self.types("\x1a");
        self.sees("Stopped");
        self.sees("PROMPT> ");
    }

    /// Waits until a process is stopped, or is not: what it was told takes a moment to happen.
    pub(super) fn waits_for(&self, process: &str, condition: Condition) {
        let end = Instant::now() + Duration::from_secs(30);
        loop {
            let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
            let (_, rest) = stat.rsplit_once(") ").unwrap();
            if rest.starts_with('T') == (condition == Condition::Stopped) {
                return;
            }
            assert!(Instant::now() < end, "{condition:?} is expected: {stat}\n{}", self.screen);
            std::thread::yield_now();
        }
    }

    /// Brings what was stopped back.
    pub(super) fn continues(&mut self) {
        self.types("fg\n");
        self.sees("fg\r\n");
        // The shell names what it continues.
        self.sees("PROGRAM");
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}
