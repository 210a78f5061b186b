//! The watchdog: answers for the hook when its time is up or when it panics. Only one of them ever speaks.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use mayi_core::verdict::Verdict;

use super::errands::Errands;
use crate::adapter::{Dialect, Message, Reply, Told};

/// The exit code by which a hook stops a call without a word on its standard output.
const BLOCKING: i32 = 2;

/// The right to answer, which can be taken once, and the message to answer, once it was read.
#[derive(Clone)]
pub(super) struct Watchdog {
    dialect: &'static Dialect,
    verdict: Verdict,
    deadline: Duration,
    since: Instant,
    watching: Arc<Once>,
    taken: Arc<AtomicBool>,
    message: Arc<Mutex<Option<Arc<Message>>>>,
}

impl Watchdog {
    /// Answers `verdict` on a panic from now on; after `deadline` once it watches.
    pub(super) fn new(dialect: &'static Dialect, verdict: Verdict, deadline: Duration) -> Self {
        let watchdog = Self {
            dialect,
            verdict,
            deadline,
            since: Instant::now(),
            watching: Arc::new(Once::new()),
            taken: Arc::default(),
            message: Arc::default(),
        };
        let barking = watchdog.clone();
        std::panic::set_hook(Box::new(move |panic| {
            let fault = format!("mayi has a fault: {panic}");
            barking.refuse(&super::words::plain(&fault));
        }));
        watchdog
    }

    /// What is left of the time.
    pub(super) fn rest(&self) -> Duration {
        self.deadline.saturating_sub(self.since.elapsed())
    }

    /// Watches the time from now on. Called before anything that may wait or take long, and not before: a second
    /// thread costs a hook more than most decisions do.
    pub(super) fn watch(&self) {
        self.watching.call_once(|| {
            let barking = self.clone();
            let watch = move || {
                while !barking.rest().is_zero() {
                    thread::sleep(barking.rest());
                }
                barking.refuse_late()
            };
            if let Err(error) = thread::Builder::new().name("watchdog".to_owned()).stack_size(64 * 1024).spawn(watch) {
                self.refuse(&format!("mayi cannot watch its own time: {error}"));
            }
        });
    }

    /// Watches the time if a file there may keep whoever asks for it waiting: one on another machine, or one that a
    /// program makes up.
    pub(super) fn watch_unless_local(&self, path: &Path) {
        if !is_local(path) {
            self.watch();
        }
    }

    /// Told which message is to be answered.
    pub(super) fn heard(&self, message: &Arc<Message>) {
        *self.message.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(message));
    }

    /// Answers that the time is up.
    pub(super) fn refuse_late(&self) -> ! {
        self.refuse(&format!("mayi did not decide within {} seconds", self.deadline.as_secs_f64()))
    }

    /// Answers that nothing could be decided, and why.
    pub(super) fn refuse(&self, why: &str) -> ! {
        let Self { dialect, verdict, .. } = *self;
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
        self.answer_then(reply, None)
    }

    /// The same, seeing that errands are run once the answer is given.
    pub(super) fn answer_then(&self, reply: &Reply, errands: Option<Errands>) -> ! {
        if self.taken.swap(true, Ordering::SeqCst) {
            // The other thread ends the process in a moment.
            loop {
                thread::sleep(Duration::from_secs(1));
            }
        }
        // Whoever does not listen there cannot be told.
        let _ = std::io::stderr().write_all(reply.stderr.as_bytes());
        let mut out = std::io::stdout();
        let given = out.write_all(reply.stdout.as_bytes()).and_then(|()| out.flush());
        if let Some(errands) = errands {
            errands.leave();
        }
        if let Err(error) = given {
            // Silence would let the call run. This code stops it at most agents, with what is said here for a reason.
            let _ = writeln!(std::io::stderr(), "mayi: the answer cannot be written: {error}");
            std::process::exit(BLOCKING)
        }
        std::process::exit(reply.code.into())
    }
}

/// Whether a path lies on a file system that answers at once.
#[cfg(target_os = "linux")]
fn is_local(path: &Path) -> bool {
    /// ext, XFS, Btrfs, F2FS, ZFS, bcachefs, memory, and layers of these: their magic numbers.
    const LOCAL: [u64; 9] = [
        0xef53,
        0x5846_5342,
        0x9123_683e,
        0xf2f5_2010,
        0x2fc1_2fc1,
        0xca45_1a4e,
        0x0102_1994,
        0x8584_58f6,
        0x794c_7630,
    ];
    rustix::fs::statfs(path).is_ok_and(|facts| u64::try_from(facts.f_type).is_ok_and(|kind| LOCAL.contains(&kind)))
}

#[cfg(not(target_os = "linux"))]
fn is_local(_: &Path) -> bool {
    false
}
