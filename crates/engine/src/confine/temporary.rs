//! The private temporary folder of a run: nobody else's, and gone when the run is over. A run that was killed cannot
//! clean up; whoever runs next does it then.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// How often a name may be taken already.
const TRIES: usize = 16;

/// A folder that is removed with all that is in it.
#[derive(Debug)]
pub struct Temporary {
    path: PathBuf,
    /// Locked while the run lives, so that nobody else takes the folder for one that was left behind.
    _held: Option<fs::File>,
}

/// What every such folder's name begins with.
const PREFIX: &str = "mayi-";

impl Temporary {
    /// A new folder in the machine's place for such.
    pub fn new() -> io::Result<Self> {
        // Where it leads matters, not how it is spelled: plans know real paths.
        let place = real(&std::env::temp_dir())?;
        for _ in 0..TRIES {
            let mut bytes = [0; 8];
            getrandom::fill(&mut bytes).map_err(io::Error::other)?;
            let path = place.join(format!("{PREFIX}{:016x}", u64::from_ne_bytes(bytes)));
            match create(&path) {
                Ok(()) => return Ok(Self { _held: hold(&path), path }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "every name that was tried is taken"))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Where a folder really is. The kernel knows the way to what is open; the C library, which would look for it part by part,
/// sets up memory of its own first.
#[cfg(target_os = "linux")]
fn real(folder: &Path) -> io::Result<PathBuf> {
    use rustix::fs::{Mode, OFlags};
    use std::os::fd::AsRawFd;
    let opened = rustix::fs::open(folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    fs::read_link(format!("/proc/self/fd/{}", opened.as_raw_fd())).or_else(|_| folder.canonicalize())
}

#[cfg(not(target_os = "linux"))]
fn real(folder: &Path) -> io::Result<PathBuf> {
    folder.canonicalize()
}

fn create(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Most commands leave it empty.
        if fs::remove_dir(&self.path).is_ok() {
            return;
        }
        if fs::remove_dir_all(&self.path).is_err() {
            // A command may have taken its own permissions away.
            open_up(&self.path);
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Removes folders that runs left behind because they were killed. Those of others, and of runs that live, stay. It reads
/// the whole of a folder that may be large, and so nobody should have to wait for it.
pub(super) fn sweep() {
    sweep_in(&std::env::temp_dir());
}

#[cfg(unix)]
fn sweep_in(place: &Path) {
    use rustix::fs::{Dir, Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let listed = rustix::fs::open(place, flags, Mode::empty()).and_then(Dir::new);
    for entry in listed.into_iter().flatten().flatten() {
        let Ok(name) = entry.file_name().to_str() else { continue };
        if !name.strip_prefix(PREFIX).is_some_and(is_number) {
            continue;
        }
        let path = place.join(name);
        let found = fs::symlink_metadata(&path);
        let is_own = found.is_ok_and(|found| found.is_dir() && owner(&found) == rustix::process::geteuid().as_raw());
        if is_own && hold(&path).is_some() {
            // Another run may be removing it as well.
            let _ = fs::remove_dir_all(path);
        }
    }
}

#[cfg(not(unix))]
fn sweep_in(_place: &Path) {}

/// Locks a folder for as long as the file is open; nothing where somebody else has it.
#[cfg(unix)]
fn hold(folder: &Path) -> Option<fs::File> {
    use rustix::fs::{FlockOperation, Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::open(folder, flags, Mode::empty()).ok()?;
    rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(fs::File::from(folder))
}

#[cfg(not(unix))]
fn hold(_folder: &Path) -> Option<fs::File> {
    None
}

#[cfg(unix)]
fn owner(found: &fs::Metadata) -> u32 {
    std::os::unix::fs::MetadataExt::uid(found)
}

fn is_number(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Makes every folder below one that can be entered and emptied again. Links are not followed.
#[cfg(unix)]
fn open_up(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path());
        }
    }
}

#[cfg(not(unix))]
fn open_up(_folder: &Path) {}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_folder_that_a_killed_run_left_goes_with_the_next_one_and_that_of_a_living_run_stays() {
        let place = tempfile::tempdir().unwrap();
        let (left, living, foreign) = ("mayi-0123456789abcdef", "mayi-0123456789abcdee", "mayi-somebody-elses-matter");
        for name in [left, living, foreign] {
            fs::create_dir_all(place.path().join(name).join("deep")).unwrap();
        }
        let held = hold(&place.path().join(living)).unwrap();
        sweep_in(place.path());
        let stays = |name: &str| place.path().join(name).exists();
        assert!(!stays(left) && stays(living) && stays(foreign));
        drop(held);
    }

    #[test]
    fn a_folder_is_private_and_goes_with_all_that_is_in_it() {
        let kept = tempfile::tempdir().unwrap();
        fs::write(kept.path().join("file"), "x").unwrap();
        let temporary = Temporary::new().unwrap();
        let path = temporary.path().to_owned();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        fs::create_dir_all(path.join("a/b")).unwrap();
        fs::write(path.join("a/b/c"), "x").unwrap();
        symlink(kept.path(), path.join("link")).unwrap();
        fs::set_permissions(path.join("a/b"), fs::Permissions::from_mode(0o000)).unwrap();
        drop(temporary);
        assert!(!path.exists());
        assert!(kept.path().join("file").exists(), "what a link leads to stays");
    }
}
