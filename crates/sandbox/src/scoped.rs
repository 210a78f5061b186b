//! Opens what lies within a folder, as the kernel alone can tell it.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// The kernel asks for another try when anything anywhere was renamed or mounted while it went up a path, and a program
/// that does nothing but rename spoils many of them.
const TRIES: usize = 64;

/// Opens a path in a folder without leaving it, as `resolve` says. Never makes anything.
pub(crate) fn open(folder: impl AsFd, path: &Path, flags: OFlags, resolve: ResolveFlags) -> Result<OwnedFd, Errno> {
    let once = || rustix::fs::openat2(&folder, path, flags | OFlags::CLOEXEC, Mode::empty(), resolve);
    let spoiled = |answer: &Result<OwnedFd, Errno>| matches!(answer, Err(Errno::AGAIN));
    std::iter::repeat_with(once).take(TRIES).find(|answer| !spoiled(answer)).unwrap_or(Err(Errno::AGAIN))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn somebody_who_renames_all_the_time_hinders_nothing() {
        let stage = tempfile::tempdir().unwrap();
        fs::create_dir_all(stage.path().join("work/deep")).unwrap();
        fs::write(stage.path().join("a"), "").unwrap();
        let root = fs::File::open("/").unwrap();
        let path = stage.path().canonicalize().unwrap().join("work/deep/../../work");
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let [one, other] = ["a", "b"].map(|name| stage.path().join(name));
                while !done.load(Ordering::Relaxed) {
                    fs::rename(&one, &other).and_then(|()| fs::rename(&other, &one)).unwrap();
                }
            });
            let failed = (0..20_000).find_map(|_| open(&root, &path, OFlags::PATH, ResolveFlags::IN_ROOT).err());
            done.store(true, Ordering::Relaxed);
            assert_eq!(failed, None);
        });
    }
}
