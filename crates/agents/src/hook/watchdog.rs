//! The watchdog: answers for the hook when its time is up or when it panics. Only one of them ever speaks.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mayi_core::verdict::Verdict;

use crate::adapter::{Dialect, Reply};

/// The right to answer, which can be taken once.
#[derive(Clone, Default)]
pub(super) struct Watchdog {
    taken: Arc<AtomicBool>,
}

impl Watchdog {
    /// Starts watching. After `deadline`, or on a panic, the agent is told `verdict`.
    pub(super) fn start(dialect: &'static Dialect, verdict: Verdict, deadline: Duration) -> Self {
        let watchdog = Self::default();
        let ends = Instant::now() + deadline;
        let barking = watchdog.clone();
        let watch = move || {
            while let Some(rest) = ends.checked_duration_since(Instant::now()).filter(|rest| !rest.is_zero()) {
                thread::sleep(rest);
            }
            let late = format!("mayi did not decide within {} seconds", deadline.as_secs_f64());
            barking.answer(&(dialect.refuse)(verdict, &late));
        };
        if let Err(error) = thread::Builder::new().name("watchdog".to_owned()).stack_size(64 * 1024).spawn(watch) {
            let unwatched = format!("mayi cannot watch its own time: {error}");
            watchdog.answer(&(dialect.refuse)(verdict, &unwatched));
        }
        let barking = watchdog.clone();
        std::panic::set_hook(Box::new(move |panic| {
            let fault = format!("mayi has a fault: {panic}");
            barking.answer(&(dialect.refuse)(verdict, &super::words::plain(&fault)));
        }));
        watchdog
    }

    /// Gives the answer and ends the process, unless another thread does so already.
    pub(super) fn answer(&self, reply: &Reply) -> ! {
        if self.taken.swap(true, Ordering::SeqCst) {
            // The other thread ends the process in a moment.
            loop {
                thread::sleep(Duration::from_secs(1));
            }
        }
        // An agent that does not listen any more cannot be told.
        let _ = std::io::stderr().write_all(reply.stderr.as_bytes());
        let mut out = std::io::stdout();
        let _ = out.write_all(reply.stdout.as_bytes()).and_then(|()| out.flush());
        std::process::exit(reply.code.into())
    }
}
