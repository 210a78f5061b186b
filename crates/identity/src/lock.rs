//! One renewal at a time, across processes: a file that one of them holds locked. The system lets go of the lock when
//! its holder ends, however it ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use crate::problem::Problem;

/// How long somebody else may hold it: as long as a renewal with all its tries.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long to wait between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// A turn, which ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    _file: File,
}

impl Turn {
    /// Waits for a turn.
    pub(crate) async fn take(folder: &Path) -> Result<Self, Problem> {
        let path = folder.join("lock");
        let failed = |what: String| Problem::Lock { path: path.clone(), what };
        mayi_settings::trust::make_private(folder).map_err(|error| failed(error.to_string()))?;
        let follow_no_link = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or_default();
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600).custom_flags(follow_no_link);
        let file = options.open(&path).map_err(|error| failed(error.to_string()))?;
        let start = tokio::time::Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::WouldBlock) if start.elapsed() < PATIENCE => {}
                Err(TryLockError::WouldBlock) => return Err(failed("somebody else holds it".to_owned())),
                Err(TryLockError::Error(error)) => return Err(failed(error.to_string())),
            }
            tokio::time::sleep(varied(LOOK)).await;
        }
    }
}

/// A time between half of this and all of it, so that those who wait do not move in step.
pub(crate) fn varied(most: Duration) -> Duration {
    let chance = RandomState::new().hash_one(0) % 1_000;
    most / 2 + most / 2 * u32::try_from(chance).unwrap_or_default() / 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn turns_are_taken_one_after_the_other() {
        let folder = tempfile::tempdir().unwrap();
        let inside = std::sync::atomic::AtomicU32::new(0);
        let visit = async || {
            let _turn = Turn::take(folder.path()).await.unwrap();
            assert_eq!(inside.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0);
            tokio::task::yield_now().await;
            inside.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
        };
        tokio::join!(visit(), visit(), visit());
    }

    #[tokio::test]
    async fn a_link_in_place_of_the_lock_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(folder.path().join("elsewhere"), folder.path().join("lock")).unwrap();
        assert!(matches!(Turn::take(folder.path()).await, Err(Problem::Lock { .. })));
        assert!(!folder.path().join("elsewhere").exists());
    }
}
