//! A bar for long work, on a terminal only.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// How wide the bar is.
const WIDTH: usize = 32;
/// How often it is drawn.
const PAUSE: Duration = Duration::from_millis(80);

/// A bar on standard error.
pub(super) struct Progress {
    all: usize,
    drawn: Option<Instant>,
    is_shown: bool,
}

impl Progress {
    pub(super) fn new(all: usize) -> Self {
        Self { all, drawn: None, is_shown: std::io::stderr().is_terminal() }
    }

    /// So many are done.
    pub(super) fn show(&mut self, done: usize) {
        let is_due = self.drawn.is_none_or(|drawn| drawn.elapsed() >= PAUSE);
        if self.is_shown && is_due {
            self.drawn = Some(Instant::now());
            let full = WIDTH * done / self.all.max(1);
            // A terminal that went away is no reason to stop.
            let _ = write!(
                std::io::stderr(),
                "\r  [{}{}] {done} of {}",
                "#".repeat(full),
                " ".repeat(WIDTH.saturating_sub(full)),
                self.all
            );
        }
    }

    /// Takes the bar away.
    pub(super) fn finish(&self) {
        if self.drawn.is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}
