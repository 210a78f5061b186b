//! Forgetting sessions that nobody has seen for long.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::{Sessions, StoreError, private};

/// How often the folder is swept at most.
const EVERY: Duration = Duration::from_secs(24 * 60 * 60);

impl Sessions {
    /// Forgets sessions whose card was not written for `age`; at most once a day. Call it where a session begins:
    /// the calls within one have no time for it.
    pub fn sweep(&self, now: SystemTime, age: Duration) -> Result<(), StoreError> {
        let stamp = self.folder.join("swept");
        if is_younger(&stamp, now, EVERY) {
            return Ok(());
        }
        let io = |source| StoreError::Io { path: stamp.clone(), source };
        private().create(true).truncate(true).open(&stamp).map_err(io)?.set_modified(now).map_err(io)?;
        let lives = |id: &str| is_younger(&self.card_file(id), now, age);
        if self.folder.join("sessions.db").exists() {
            self.with_database(|database| database.forget(&lives))?;
        }
        for entry in fs::read_dir(&self.folder).map_err(io)?.flatten() {
            let path = entry.path();
            let is_session = path.extension().is_some_and(|extension| extension == "card" || extension == "record");
            let card = path.with_extension("card");
            if is_session && !is_younger(&card, now, age) && !is_younger(&path, now, age) {
                // It may have been removed by another process just now.
                let _ = fs::remove_file(&path);
            }
        }
        Ok(())
    }
}

/// Whether a card was not written for so long that it should be, to keep the session from being forgotten.
pub(crate) fn is_fading(written: Option<SystemTime>, now: SystemTime) -> bool {
    !written.is_some_and(|written| is_within(written, now, EVERY))
}

fn is_younger(path: &Path, now: SystemTime, age: Duration) -> bool {
    let modified = fs::symlink_metadata(path).and_then(|metadata| metadata.modified());
    modified.is_ok_and(|modified| is_within(modified, now, age))
}

/// Whether a time is no longer ago than that. One in the future is not.
fn is_within(time: SystemTime, now: SystemTime, age: Duration) -> bool {
    now.duration_since(time).is_ok_and(|since| since < age) || time > now
}
