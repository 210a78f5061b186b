//! What every request shares: the store, the settings in force, the clock, and the word that it is time to stop.
//!
//! Nothing here is held across a request: whatever must survive is in the store.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use mayi_core::verdict::Verdict;
use mayi_engine::remote::wire::Moment;
use tokio::sync::{Semaphore, watch};

use crate::api::news::News;
use crate::deciding::policies::Policies;
use crate::herald::Herald;
use crate::notify::Notices;
use crate::store::Store;

/// How much heavy work is done at a time.
const TURNS: usize = 2;

/// What an [`App`] is made of.
#[derive(Debug)]
pub struct AppOptions {
    /// What the server keeps.
    pub store: Arc<dyn Store>,
    /// The server's own settings, read again when they change.
    pub settings: Arc<mayi_settings::store::Store>,
    /// Where people find the page, for links in notifications.
    pub address: Option<String>,
    /// The clock.
    pub clock: Clock,
}

/// Tells the time. Tests bring their own.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Moment + Send + Sync>);

impl Clock {
    /// A clock that tells what `tell` says.
    pub fn told(tell: impl Fn() -> Moment + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    /// The time now.
    pub fn now(&self) -> Moment {
        (self.0)()
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::told(|| {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        })
    }
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Clock")
    }
}

/// What this process has done, for the metrics.
#[derive(Debug, Default)]
pub struct Tally {
    allowed: AtomicU64,
    asked: AtomicU64,
    denied: AtomicU64,
    /// Lines that could not be decided.
    pub failed: AtomicU64,
    /// Questions that were put.
    pub questions: AtomicU64,
    /// Questions that somebody answered here.
    pub answers: AtomicU64,
    /// Questions whose time this process saw run out.
    pub expired: AtomicU64,
    /// Notifications that could not be sent.
    pub unsent: AtomicU64,
}

impl Tally {
    /// Counts a decision.
    pub fn decided(&self, verdict: Verdict) {
        self.of(verdict).fetch_add(1, Ordering::Relaxed);
    }

    /// How many decisions ended so.
    pub fn decisions(&self, verdict: Verdict) -> u64 {
        self.of(verdict).load(Ordering::Relaxed)
    }

    fn of(&self, verdict: Verdict) -> &AtomicU64 {
        match verdict {
            Verdict::Allow => &self.allowed,
            Verdict::Ask => &self.asked,
            Verdict::Deny => &self.denied,
        }
    }
}

/// What every request shares.
#[derive(Debug)]
pub struct App {
    /// What the server keeps.
    pub store: Arc<dyn Store>,
    /// The server's own settings.
    pub settings: Arc<mayi_settings::store::Store>,
    /// Where people find the page.
    pub address: Option<String>,
    /// The clock.
    pub clock: Clock,
    /// What calls are decided by.
    pub policies: Policies,
    /// Questions that somebody is to be told of.
    pub notices: Notices,
    /// Turns for heavy work: few at a time, so that decisions go on beside it.
    pub turns: Arc<Semaphore>,
    /// What this process has done.
    pub tally: Tally,
    /// Who tells of what happens.
    pub herald: Arc<Herald>,
    /// What those who listen are told.
    pub news: News,
    stopping: watch::Sender<bool>,
    listeners: Arc<()>,
}

/// A place among those who listen, given back when it is dropped.
#[derive(Debug)]
pub struct Seat(#[expect(dead_code, reason = "it is counted, not looked at")] Arc<()>);

impl App {
    /// Brings the parts together. Nothing runs yet: see [`App::work`].
    pub fn open(options: AppOptions) -> Arc<Self> {
        let AppOptions { store, settings, address, clock } = options;
        let (stopping, _) = watch::channel(false);
        let policies = Policies::new(settings.clone());
        Arc::new(Self {
            store,
            settings,
            address,
            clock,
            policies,
            notices: Notices::default(),
            turns: Arc::new(Semaphore::new(TURNS)),
            tally: Tally::default(),
            herald: Arc::default(),
            news: News::default(),
            stopping,
            listeners: Arc::new(()),
        })
    }

    /// The time now.
    pub fn now(&self) -> Moment {
        self.clock.now()
    }

    /// Starts what runs beside requests, on the present runtime: overdue questions, retention, notifications, changed
    /// settings. All of it ends with [`App::stop`].
    pub fn work(self: &Arc<Self>) {
        crate::work::start(self);
    }

    /// Ends streams, waiting requests and everything that runs beside them.
    pub fn stop(&self) {
        self.stopping.send_replace(true);
    }

    /// A place among those who listen, if fewer than `most` do.
    pub fn seat(&self, most: usize) -> Option<Seat> {
        (Arc::strong_count(&self.listeners) <= most).then(|| Seat(self.listeners.clone()))
    }

    /// Told when it is time to stop.
    pub fn stopping(&self) -> watch::Receiver<bool> {
        self.stopping.subscribe()
    }
}
