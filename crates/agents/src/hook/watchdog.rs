//! The watchdog: answers for the hook when its time is up or when it panics. Only one of them ever speaks.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use mayi_core::verdict::Verdict;

use crate::adapter::{Dialect, Message, Reply, Told};

/// The right to answer, which can be taken once, and the message to answer, once it was read.
#[derive(Clone, Default)]
pub(super) struct Watchdog {
    taken: Arc<AtomicBool>,
    message: Arc<Mutex<Option<Message>>>,
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
            barking.refuse(dialect, verdict, &late);
        };
        if let Err(error) = thread::Builder::new().name("watchdog".to_owned()).stack_size(64 * 1024).spawn(watch) {
            let unwatched = format!("mayi cannot watch its own time: {error}");
            watchdog.refuse(dialect, verdict, &unwatched);
        }
        let barking = watchdog.clone();
        std::panic::set_hook(Box::new(move |panic| {
            let fault = format!("mayi has a fault: {panic}");
            barking.refuse(dialect, verdict, &super::words::plain(&fault));
        }));
        watchdog
    }

    /// Told which message is to be answered.
    pub(super) fn heard(&self, message: &Message) {
        *self.message.lock().unwrap_or_else(PoisonError::into_inner) = Some(message.clone());
    }

    /// Answers that nothing could be decided, and why.
    pub(super) fn refuse(&self, dialect: &Dialect, verdict: Verdict, why: &str) -> ! {
        // A lock that is held by a thread that is stuck must not hold up the answer.
        let message = self.message.try_lock().ok().and_then(|message| message.clone());
        let reply = match message {
            Some(message) => (dialect.write)(&message, &Told::new(verdict, why)),
            None => (dialect.refuse)(verdict, why),
        };
        self.answer(&reply)
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
