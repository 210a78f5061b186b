//! The errands that a server needs: records carried there, its policy fetched. Never on the way of an answer: a hook
//! leaves them to a process of their own, a desk that stays to a thread.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, SystemTime};

use super::Server;
use super::keeping;
use super::spool::{Shipped, Spool, SpoolError};
use crate::desk::Desk;

/// How often errands are run at most.
const EVERY: Duration = Duration::from_secs(15);
/// How long fetching the policy may take.
const FETCHING: Duration = Duration::from_secs(20);
/// How long a thread that nobody waits for may carry records.
const CARRYING: Duration = Duration::from_secs(60);

/// What came of the errands.
#[derive(Debug)]
pub struct Round {
    /// Of the records, where there are any.
    pub shipped: Option<Result<Shipped, SpoolError>>,
    /// What somebody should be told about the policy.
    pub policy: Option<String>,
}

/// Runs the errands of a server once. The policy comes first: it is what answers wait for.
pub async fn round(server: &mut Server, spool: Option<&Spool>, within: Duration) -> Round {
    fetch(server, within).await;
    let shipped = match (server.client(), spool) {
        (Some(client), Some(spool)) => Some(spool.ship(client, within).await),
        (None, _) | (_, None) => None,
    };
    Round { shipped, policy: server.trouble().or_else(|| server.warning.clone()) }
}

/// Asks the server for its policy, where what is known of it has grown old.
pub(crate) async fn fetch(server: &mut Server, within: Duration) {
    if server.is_due() {
        server.refresh(FETCHING.min(within)).await;
    }
}

/// Whether it is time for errands. Whoever is told so runs them: others are told no for a while.
pub fn is_time(state: &Path) -> bool {
    let stamp = state.join("server/errands");
    let modified = fs::metadata(&stamp).and_then(|facts| facts.modified());
    // A time to come is no reason to wait for it.
    let is_young = modified.is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age < EVERY));
    !is_young && keeping::write(&stamp, "").is_ok()
}

/// Starts a program that nobody waits for: it holds none of our streams, and a signal to our group misses it.
pub fn send_off(program: &Path, arguments: &[String]) -> std::io::Result<()> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn().map(drop)
}

/// A thread that runs the errands of a desk until it is dropped.
#[derive(Debug)]
pub struct Courier {
    /// Once it is gone, the thread ends before its next round. Nobody waits for one that has begun.
    _stop: Sender<()>,
}

impl Courier {
    /// Runs the errands of a desk that stays, now and every so often. It costs nothing while settings name no server.
    pub fn accompany(desk: &Arc<Desk>) -> Self {
        let (stop, stopped) = channel::<()>();
        let desk: Weak<Desk> = Arc::downgrade(desk);
        thread::spawn(move || {
            loop {
                let Some(desk) = desk.upgrade() else { return };
                desk.run_errands(CARRYING);
                drop(desk);
                if stopped.recv_timeout(EVERY) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
        });
        Self { _stop: stop }
    }
}
