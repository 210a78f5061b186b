//! The sessions that were put lately, as they are durable: every call asks for its own, and hardly any changes it.
//!
//! INVARIANT: nobody but this process changes sessions, which the lock of the file makes sure of, and a session gets
//! here after its commit and before anybody hears of it. So what is here is what the file holds.

use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::super::{SessionState, StoreError};

/// How many sessions are remembered at least, of those that are in use.
const KEPT: usize = 8192;

/// How long one server waits for another to end, and how often it looks.
const PATIENCE: Duration = Duration::from_secs(2);
const TRY: Duration = Duration::from_millis(20);

/// Sessions by their names. Those of the generation before are let go when this one is full.
#[derive(Debug, Default)]
pub(super) struct Remembered(Mutex<Generations>);

#[derive(Debug, Default)]
struct Generations {
    now: HashMap<String, SessionState>,
    before: HashMap<String, SessionState>,
}

impl Remembered {
    /// A session as it is in the file, if it was put lately.
    pub(super) fn session(&self, id: &str) -> Option<SessionState> {
        let generations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        generations.now.get(id).or_else(|| generations.before.get(id)).cloned()
    }

    /// Sessions that are durable now.
    pub(super) fn put(&self, sessions: Vec<SessionState>) {
        if sessions.is_empty() {
            return;
        }
        let mut generations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for session in sessions {
            generations.before.remove(&session.id);
            if generations.now.len() >= KEPT {
                generations.before = std::mem::take(&mut generations.now);
            }
            generations.now.insert(session.id.clone(), session);
        }
    }
}

/// The right to serve from a file, which one process has until it ends, however it ends.
pub(super) fn lock(path: &Path) -> Result<File, StoreError> {
    let mut name = path.as_os_str().to_owned();
    name.push("-serving");
    let name = PathBuf::from(name);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let unusable = |error: std::io::Error| StoreError::Away(format!("`{}` cannot be used: {error}", name.display()));
    let file = options.open(&name).map_err(unusable)?;
    let until = Instant::now() + PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            // One that is being started again may meet the one before.
            Err(TryLockError::WouldBlock) if Instant::now() < until => std::thread::sleep(TRY),
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::Away(format!(
                    "another `mayi serve` uses `{}`\nhelp: end it, or give each a file of its own; several that share \
                     their state need PostgreSQL",
                    path.display()
                )));
            }
            Err(TryLockError::Error(error)) => return Err(unusable(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(id: usize, version: u64) -> SessionState {
        SessionState { id: id.to_string(), version, ..SessionState::default() }
    }

    #[test]
    fn the_newest_state_of_a_session_is_remembered_and_memory_is_bounded() {
        let remembered = Remembered::default();
        for round in 1..4 {
            for id in 0..KEPT * 3 {
                remembered.put(vec![session(id, round)]);
                assert_eq!(remembered.session(&id.to_string()).map(|session| session.version), Some(round));
            }
        }
        let generations = remembered.0.lock().unwrap();
        assert!(generations.now.len() + generations.before.len() <= 2 * KEPT);
        assert!(generations.now.keys().all(|id| !generations.before.contains_key(id)), "each has one state");
    }
}
